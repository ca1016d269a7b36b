// Shows of which page, and of which time, the frame is: archived pages say so when they begin.
"use strict";
const PATH = /^\/(\d{14})(rd_)?\/(.+)$/s;
const frame = document.getElementById("replay");

addEventListener("message", (event) => {
  const isArchived = event.origin === frame.dataset.origin || /^http:\/\/[^/]+\.localhost:\d+$/.test(event.origin);
  if (event.source !== frame.contentWindow || !isArchived) return;
  const found = typeof event.data?.path === "string" && PATH.exec(event.data.path);
  if (!found) return;
  const [path, time, letters = "", url] = found;
  history.replaceState(null, "", path);
  document.title = url;
  document.getElementById("q").value = url;
  document.getElementById("time").innerText = time.replace(/(....)(..)(..)(..)(..)(..)/, "$1-$2-$3 $4:$5:$6");
  document.getElementById("calendar").href = `/calendar?url=${encodeURIComponent(url)}`;
  document.getElementById("switch").href = `/${time}${letters ? "" : "rd_"}/${url}`;
});
