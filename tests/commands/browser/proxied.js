const add = (id, text) => { const p = document.createElement("p"); p.id = id; p.textContent = text; document.body.append(p) };
addEventListener("message", (event) => add("inner", event.data));
fetch("/data.json").then((answer) => answer.json()).then((data) => add("own", data.name));
fetch("@CDN@/other.json", { credentials: "include" }).then((answer) => answer.json()).then((data) => add("other", data.name));
fetch("@CDN@/api", { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' })
  .then((answer) => answer.json()).then((data) => add("post", data.name));
import(`${location.origin}/module.js`).then((module) => add("module", module.name));
new Worker("/worker.js").onmessage = (event) => add("worker", event.data);
document.cookie = "a=b; path=/"; add("cookie", document.cookie);
new WebSocket(`wss://${location.host}/socket`).onclose = () => add("socket", "closed");
