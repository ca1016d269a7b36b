// Opens an archived page once the worker controls this origin. The page is in the fragment: /TIME/URL.
"use strict";
const PATIENCE_MS = 3000;
const to = location.hash.slice(1);
const go = () => location.replace(/^\/\d+(id_|rd_)?\//.test(to) ? to : "/");
const workers = navigator.serviceWorker;

async function controlled() {
  await workers.register("/replay-worker.js", { scope: "/" });
  if (workers.controller) return;
  await new Promise((done) => {
    workers.addEventListener("controllerchange", done, { once: true });
    setTimeout(done, PATIENCE_MS);
  });
}

// without a worker the page is shown all the same: absolute paths that its scripts make are not found then
if (workers) controlled().catch(() => {}).then(go);
else go();
