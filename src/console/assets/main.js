// The page: wires the stream of states to what shows them, and the address to the tab that is shown.

import { get, takeToken } from "./api.js";
import { Charts } from "./charts.js";
import { Controls } from "./controls.js";
import { byId, setText } from "./dom.js";
import { Explain } from "./explain.js";
import { clock } from "./format.js";
import { Freshness } from "./freshness.js";
import { Overview } from "./overview.js";
import { Rendering } from "./rendering.js";
import { Stream } from "./stream.js";
import { tables } from "./tables.js";
import { Tabs } from "./tabs.js";
import { Tree } from "./tree.js";

takeToken();

const overview = new Overview();
const freshness = new Freshness();
const rendering = new Rendering();
const controls = new Controls();
const charts = new Charts(byId("charts"));
const explain = new Explain();
const tree = new Tree();
const views = { ...tables(), tree: { load: () => tree.load(), everyMs: 0 } };

let state = null;
let heardAt = 0;
let connection = "";
let timer = 0;

function onState(next) {
  state = next;
  heardAt = Date.now();
  overview.show(state);
  freshness.show(state);
  rendering.show(state);
  // without a crawl there are no rates, unless one ended while this page was open
  byId("charts-section").hidden = !state.running && charts.isEmpty;
  controls.show(state);
}

function onChange(how) {
  // a crawl that has ended is not heard again; that its console is gone is part of that
  if (how === connection || (connection === "ended" && how === "lost")) return;
  const wasLost = connection === "lost" || connection === "ended";
  connection = how;
  document.documentElement.dataset.connection = how;
  const since = heardAt ? ` The figures are of ${clock(heardAt)}.` : "";
  const dir = state?.dir ?? "DIR";
  const said = {
    live: "",
    lost: `No connection to the console.${since} Trying again …`,
    ended: `The crawl has ended, and its console with it.${since} To look at it: crawler console --dir ${dir}`,
  };
  setText(byId("connection"), said[how]);
  byId("connection").hidden = how === "live";
  byId("controls").inert = how !== "live";
  if (how === "live" && wasLost) {
    loadHistory();
    refresh();
  }
}

async function loadState() {
  try {
    onState(await get("/api/state"));
  } catch {
    // the stream says that nothing is heard
  }
}

async function loadHistory() {
  try {
    charts.load(await get("/api/history"));
  } catch {
    // the stream goes on with single points
  }
}

/** Loads the tab that is shown, and again and again while a crawl runs and somebody looks. */
async function refresh() {
  clearTimeout(timer);
  const view = views[tabs.shown];
  if (!view) return;
  const name = tabs.shown;
  if (!document.hidden && connection !== "lost" && connection !== "ended") await view.load();
  if (tabs.shown !== name || !view.everyMs || (state && !state.running)) return;
  clearTimeout(timer);
  timer = setTimeout(refresh, view.everyMs);
}

const tabs = new Tabs(byId("tabs"), refresh);

/** Goes where the address says: to a tab, or to the explanation of a URL. */
function route() {
  takeToken();
  if (state) controls.show(state);
  const [name, url] = location.hash.slice(1).split(/=(.*)/s);
  tabs.show(name);
  if (name !== "explain" || !url) return;
  let decoded = url;
  try {
    decoded = decodeURIComponent(url);
  } catch {
    // an address that somebody typed
  }
  byId("tab-explain").scrollIntoView({ block: "nearest" });
  explain.show(decoded);
}

addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => document.hidden || refresh());
byId("ask").addEventListener("submit", (event) => {
  const url = byId("ask-url").value.trim();
  if (event.submitter === byId("search") || /\s/.test(url)) return;
  event.preventDefault();
  if (!url) return;
  const hash = `#explain=${encodeURIComponent(/^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `http://${url}`)}`;
  if (location.hash === hash) route();
  else location.hash = hash;
});

const stream = new Stream({ onState, onChange, onPoint: (point) => charts.add(point), onRetry: loadState });
await Promise.all([loadState(), loadHistory()]);
route();
stream.open();
