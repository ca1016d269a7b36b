// Opens an archived page, which is in the fragment: /TIME/URL. The browser may resolve names of this machine: then the
// page has an origin of its own. Otherwise it is opened once the worker controls this origin.
"use strict";
const PATIENCE_MS = 3000;
const GO = "@GO@";
const to = location.hash.slice(1);
const isPage = /^\/\d+\//.test(to);
const workers = navigator.serviceWorker;

async function isResolved() {
  if (!GO || !isPage) return false;
  return await fetch(`${GO}/`, { mode: "no-cors", signal: AbortSignal.timeout(PATIENCE_MS) }).then(() => true);
}

async function controlled() {
  await workers?.register("/replay-worker.js", { scope: "/" });
  if (!workers || workers.controller) return;
  await new Promise((done) => {
    workers.addEventListener("controllerchange", done, { once: true });
    setTimeout(done, PATIENCE_MS);
  });
}

(async () => {
  if (await isResolved().catch(() => false)) return location.replace(GO + to);
  // without a worker the page is shown all the same: absolute paths that its scripts make are not found then
  await controlled().catch(() => {});
  location.replace(isPage || /^\/\d+(id_|rd_)\//.test(to) ? to : "/");
})();
