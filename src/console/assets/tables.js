// The tables below the charts: what each asks the console for, and how its rows read.

import { get } from "./api.js";
import { byId, el, setText } from "./dom.js";
import { brief, clock, count, counted, date, NONE, size, span, statusText, words } from "./format.js";
import { Table } from "./table.js";

const SEEDS_A_PAGE = 100;

/** "in 12 s", "now", or "2 s ago", as seen at the moment `asOf`. */
function until(at, asOf) {
  if (typeof at !== "number") return NONE;
  const ms = at - asOf;
  if (Math.abs(ms) < 500) return "now";
  const text = Math.abs(ms) < 60_000 ? brief(Math.abs(ms)) : span(Math.abs(ms) / 1_000);
  return ms > 0 ? `in ${text}` : "now";
}

/** The class of a status for its colour; the text beside it says the same. */
function statusMark({ status }) {
  if (status <= 0 || status >= 500) return "bad";
  return status >= 400 ? "warn" : status >= 300 ? "quiet" : "";
}

const number = (name, of, title) => ({ name, kind: "number", of, title });
const foreign = (name, of) => ({ name, kind: "long", of });
const when = (of) => ({ name: "Time", kind: "time", of: (row) => clock(of(row)), title: (row) => date(of(row)) });

function hosts(parent) {
  let asOf = 0;
  const table = new Table(parent, {
    caption: "Hosts with the longest queues",
    empty: "No host has URLs queued.",
    columns: [
      { name: "Host", kind: "name", of: (row) => row.host, title: (row) => row.host },
      number("Queued", (row) => count(row.queued)),
      {
        name: "State",
        of: (row) => words(row.state),
        mark: ({ state }) => (/back|rest|gone/.test(state) ? "warn" : ""),
      },
      number(
        "Next request",
        (row) => until(row.next_request, asOf),
        (row) => date(row.next_request),
      ),
      number("Delay", (row) => brief(row.delay_ms)),
      foreign("Reason", (row) => row.reason),
      number("Pages", (row) => count(row.pages)),
      number("Bytes", (row) => size(row.bytes)),
      number("Errors", (row) => count(row.errors)),
    ],
  });
  return async () => {
    const answer = await get("/api/hosts", { limit: 50 });
    asOf = answer.as_of;
    table.fill(answer.hosts);
  };
}

function requests(parent) {
  const table = new Table(parent, {
    caption: "Last requests, the newest first",
    empty: "No request yet.",
    columns: [
      when((row) => row.at),
      {
        name: "Status",
        kind: "status",
        of: ({ status, failure }) => failure ?? statusText(status),
        mark: statusMark,
      },
      { name: "URL", kind: "url", of: (row) => row.url },
      number("Bytes", (row) => size(row.bytes)),
      { name: "Type", kind: "type", of: (row) => row.mime, title: (row) => row.mime },
      number("Time taken", (row) => brief(row.millis)),
      { name: "Found on", kind: "url", of: (row) => row.via ?? "" },
    ],
  });
  return async () => table.fill((await get("/api/requests", { limit: 100 })).rows);
}

function budgets(parent) {
  let most = 1;
  const value = (what) => (/byte/.test(what) ? size : count);
  const table = new Table(parent, {
    caption: "Budgets that were reached",
    empty: "No budget was reached: no URL was left out for one.",
    columns: [
      { name: "Of", kind: "name", of: (row) => row.scope, title: (row) => row.scope },
      { name: "Budget", of: (row) => row.what },
      number("Limit", (row) => value(row.what)(row.limit)),
      number("URLs left out", (row) => count(row.left_out)),
      { name: "", kind: "gauge", of: (row) => row.left_out / most },
    ],
  });
  return async () => {
    const { rows } = await get("/api/budgets");
    most = Math.max(1, ...rows.map((row) => row.left_out));
    table.fill(rows);
  };
}

function warnings(parent) {
  const table = new Table(parent, {
    caption: "Warnings, the newest first",
    empty: "No warnings.",
    columns: [
      when((row) => row.at),
      { name: "Level", of: (row) => words(row.level), mark: ({ level }) => (/err/i.test(level) ? "bad" : "warn") },
      foreign("Message", (row) => row.message),
    ],
  });
  return async () => table.fill((await get("/api/warnings")).rows);
}

function seeds(parent) {
  let offset = 0;
  let total = 0;
  const range = el("span", { "aria-live": "polite" });
  const step = (by) => () => {
    offset = Math.max(0, offset + by * SEEDS_A_PAGE);
    load().catch((error) => table.note(error.message));
  };
  const [back, next] = [
    ["Previous", -1],
    ["Next", 1],
  ].map(([name, by]) => el("button", { type: "button", onclick: step(by) }, name));
  const outcome = { failed: "bad", "left-out": "quiet", waiting: "quiet" };
  const table = new Table(parent, {
    caption: "Seeds with their outcome",
    empty: "No seeds are known before the first checkpoint.",
    columns: [
      { name: "Seed", kind: "url", of: (row) => row.seed },
      { name: "Outcome", of: (row) => words(row.outcome).replace("-", " "), mark: (row) => outcome[row.outcome] ?? "" },
      foreign("Detail", (row) => row.detail),
    ],
  });
  parent.append(el("div", { class: "pager" }, back, range, next));
  const load = async () => {
    const answer = await get("/api/seeds", { offset, limit: SEEDS_A_PAGE });
    total = answer.total;
    table.fill(answer.rows);
    const last = offset + answer.rows.length;
    setText(range, total > 0 ? `${count(offset + 1)} to ${count(last)} of ${counted(total, "seed")}` : "");
    back.disabled = offset === 0;
    next.disabled = last >= total;
  };
  return load;
}

function disk(parent) {
  const columns = (most) => [
    { name: "What", of: (row) => row.what },
    { name: "", kind: "gauge", of: (row) => row.bytes / most() },
    number("Bytes", (row) => size(row.bytes)),
  ];
  const half = (title, told) => {
    let most = 1;
    const aside = el("small");
    const section = el("section", {}, el("h3", {}, title, " ", aside));
    const table = new Table(section, {
      caption: title,
      empty: "Known only while a crawl runs.",
      columns: columns(() => most),
    });
    const fill = (rows, answer) => {
      most = Math.max(1, ...rows.map((row) => row.bytes));
      setText(aside, told(rows, answer));
      table.fill(rows);
    };
    return [section, fill];
  };
  // what the settings permit is no part of what is taken
  const isLimit = ({ what }) => what.startsWith("most ");
  const permitted = (_, { memory }) =>
    memory
      .filter(isLimit)
      .map(({ bytes }) => `at most ${size(bytes)}`)
      .join();
  const [left, fillMemory] = half("Memory", permitted);
  const taken = (rows, { free_bytes: free }) =>
    `${size(rows.reduce((sum, row) => sum + row.bytes, 0))}, ${size(free)} free`;
  const [right, fillDisk] = half("Disk", taken);
  parent.append(el("div", { class: "halves" }, left, right));
  return async () => {
    const answer = await get("/api/disk");
    fillMemory(
      answer.memory.filter((row) => !isLimit(row)),
      answer,
    );
    fillDisk(answer.disk, answer);
  };
}

/** A table by the name of its tab: `load` asks for it and shows it, each `everyMs` while a crawl runs. */
export function tables() {
  const all = { hosts: [hosts, 2_000], requests: [requests, 2_000], budgets: [budgets, 5_000] };
  Object.assign(all, { warnings: [warnings, 5_000], seeds: [seeds, 10_000], disk: [disk, 5_000] });
  const made = Object.entries(all).map(([name, [make, everyMs]]) => {
    const panel = byId(`panel-${name}`);
    const problem = el("p", { class: "problem", role: "alert", hidden: true });
    panel.append(problem);
    const load = make(panel);
    const guarded = async () => {
      const said = await load().then(
        () => "",
        (error) => error.message,
      );
      setText(problem, said && `This table cannot be shown: ${said}.`);
      problem.hidden = !said;
    };
    return [name, { load: guarded, everyMs }];
  });
  return Object.fromEntries(made);
}
