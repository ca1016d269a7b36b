const add = (id, text) => { const p = document.createElement("p"); p.id = id; p.textContent = text; document.body.append(p) };
fetch("/data.json").then((answer) => answer.json()).then((data) => add("own", data.name));
fetch("@OTHER@/other.json").then((answer) => answer.json()).then((data) => add("other", data.name));
fetch("/api", { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' })
  .then((answer) => answer.json()).then((data) => add("post", data.name));
const image = new Image(); image.onload = () => add("image", image.naturalWidth); image.src = "@OTHER@/q.gif";
import("/module.js").then((module) => add("module", module.name));
const request = new XMLHttpRequest(); request.open("GET", "/data.json"); request.onload = () => add("xhr", request.status); request.send();
document.cookie = "a=b; path=/"; add("cookie", document.cookie);
document.querySelector("#written").innerHTML = '<img id=inner src="@OTHER@/q.gif">';
addEventListener("load", () => add("frame", frames[0].document.body.innerText));
