// How the crawl stands: the sentence at the top, progress against its limits, and the figures of the moment.

import { byId, el, setAttribute, setText } from "./dom.js";
import { Figures } from "./figures.js";
import { about, count, counted, date, rate, size, span } from "./format.js";

const PHASES = {
  crawling: "Crawling",
  paused: "Paused",
  stopping: "Stopping",
  closing: "Writing the last checkpoint",
  done: "Ended",
};
// where the phase says already what limits the crawl, this says what that means
const MEANINGS = {
  starting: "The directory is being opened, or the last checkpoint written",
  paused: "No new requests until it is resumed",
  stopping: "Requests in flight may finish, then the last checkpoint is written",
  nothing: "No URL is left",
  calendar: "Up to date: the next page is not due yet",
};

/** Sums of the values of an object of counts. */
const sum = (counts) => Object.values(counts ?? {}).reduce((sum, value) => sum + value, 0);

const ofClass = (statuses, digit) =>
  sum(Object.fromEntries(Object.entries(statuses ?? {}).filter(([status]) => status.startsWith(digit))));

const checkpointText = (number) => (number ? count(number) : number === 0 ? "none yet" : "last");

/** How it ended, of a crawl that does not run. */
function ending(status, bottleneck) {
  // "stopped: stopped by a signal" says it twice
  const phrase = (bottleneck?.phrase ?? "no crawl runs in this directory").replace(/^stopped: /, "");
  const asOf = status ? ` The figures are of ${date(status.figures.updated_ms)}.` : "";
  return `${phrase[0].toUpperCase()}${phrase.slice(1)}.${asOf}`;
}

/** Pages a second, and how many of the pages are only there because others embed them: no limit counts those. */
function pagesBelow({ rates, statistics }) {
  const embedded = statistics.requisites_stored ?? 0;
  const parts = [typeof rates.pages_per_second === "number" && `${rate(rates.pages_per_second)}/s`];
  return [...parts, embedded > 0 && `${count(embedded)} embedded`].filter(Boolean).join(", ");
}

/** Which round of budgets goes on, and who waits for the next one, in a crawl that has rounds. */
function belowQueued({ gauges }) {
  const rounds = gauges.rounds;
  if (!rounds) return `${counted(gauges.keys_seen, "URL")} seen`;
  return `round ${count(rounds.number)}, ${counted(rounds.resting_hosts, "host")} waiting for the next`;
}

/** `[id, name, value of the state, how it reads, what stands below it]`. */
const FIGURES = [
  ["pages", "Pages stored", (f) => f.statistics.pages_stored, count, pagesBelow],
  ["requests", "Requests", (f) => f.statistics.requests, count, (f) => `${rate(f.rates.requests_per_second)}/s`],
  ["received", "Received", (f) => f.statistics.bytes_received, size, (f) => `${size(f.rates.bytes_per_second)}/s`],
  ["queued", "Queued", (f) => f.gauges.queued, count, belowQueued],
  [
    "hosts",
    "Hosts",
    (f) => f.statistics.hosts,
    count,
    (f) => (f.running ? `${count(f.gauges.hosts_ready)} ready, ${count(f.gauges.hosts_waiting)} waiting` : ""),
  ],
  [
    "in-flight",
    "In flight",
    (f) => f.gauges.in_flight,
    count,
    (f) => (!f.running ? "" : f.workers ? `of ${count(f.workers)} workers` : "requests"),
  ],
  [
    "errors",
    "Not answered",
    (f) => sum(f.statistics.failures),
    count,
    (f) => `${count(ofClass(f.statistics.statuses, "4"))} 4xx, ${count(ofClass(f.statistics.statuses, "5"))} 5xx`,
  ],
  [
    "left-out",
    "Left out",
    (f) => sum(f.statistics.dropped),
    count,
    (f) => (f.mostLeftOut ? `most: ${f.mostLeftOut}` : "of scope, by robots.txt"),
  ],
  ["checkpoint", "Checkpoint", (f) => f.checkpoint, checkpointText, (f) => f.checkpointAge],
];

export class Overview {
  #figures = new Figures("figures", FIGURES);
  #announced = "";

  /** Shows a state as `/api/state` has it. */
  show(state) {
    setText(byId("dir"), state.dir ?? "");
    byId("dir").title = state.dir ?? "";
    this.#showSentence(state);
    const live = state.live?.status ?? state.live;
    byId("figures").hidden = !live;
    if (!live) return;
    this.#showProgress(state, live);
    const { statistics, gauges } = live.figures;
    const { checkpoint, checkpointed_ms: at } = live;
    const updated = live.figures.updated_ms;
    const { running } = state;
    const rates = running ? (live.rates ?? {}) : {};
    const f = { running, statistics, gauges, rates, workers: gauges.workers?.now };
    // a directory has its last one, without a number
    f.checkpoint = running ? checkpoint : null;
    f.mostLeftOut = state.most_left_out;
    f.checkpointAge = at ? (running ? `${span((updated - at) / 1_000)} ago` : date(at)) : "";
    this.#figures.show(f);
  }

  #showSentence({ running, live, bottleneck }) {
    const status = live?.status ?? live;
    const phase = running ? (PHASES[status?.phase] ?? "Starting") : "Not running";
    setText(byId("phase"), phase);
    setAttribute(byId("now"), "data-phase", running ? (status?.phase ?? "starting") : "off");
    let text = "";
    if (!running) text = ending(status, bottleneck);
    else if (bottleneck?.phrase) text = MEANINGS[bottleneck.code] ?? `Limited by ${bottleneck.phrase}`;
    setText(byId("limit"), text);
    document.title = `${phase} – ${count(status?.figures.statistics.pages_stored)} pages – crawler`;
    // the phase alone: what limits the crawl changes too often to be read out each time
    if (phase === this.#announced) return;
    this.#announced = phase;
    setText(byId("announcement"), `The crawl: ${phase}.`);
  }

  #showProgress({ limits, left_s: left, coverage, running }, live) {
    const { statistics, gauges } = live.figures;
    const uncounted = (statistics.requisites_stored ?? 0) + (statistics.redirects_stored ?? 0);
    const pages = statistics.pages_stored - uncounted;
    const rows = [];
    if (limits?.max_pages) rows.push(["Pages", count(pages), count(limits.max_pages), pages / limits.max_pages]);
    if (limits?.max_time_s) {
      const elapsed = statistics.elapsed_s;
      rows.push(["Time", span(elapsed), span(limits.max_time_s), elapsed / limits.max_time_s]);
    }
    const known = pages + gauges.queued;
    if (rows.length === 0 && known > 0)
      rows.push(["Pages", count(pages), `${count(known)} known so far`, pages / known]);
    this.#fillProgress(rows);
    const parts = [];
    if (!limits?.max_time_s) parts.push(`Crawled for ${span(statistics.elapsed_s)}`);
    if (running && live.phase === "crawling" && typeof left === "number") parts.push(`about ${about(left)} left`);
    if (coverage) parts.push(coverage);
    setText(byId("left"), parts.join(", "));
  }

  #fillProgress(rows) {
    const list = byId("progress");
    while (list.children.length > rows.length) list.lastChild.remove();
    while (list.children.length < rows.length) {
      list.append(el("li", {}, el("span"), el("progress", { max: "1" })));
    }
    rows.forEach(([name, now, limit, share], n) => {
      const [text, progress] = list.children[n].children;
      setText(text, `${name}: ${now} of ${limit}`);
      progress.value = Math.min(1, share);
      setAttribute(progress, "aria-label", `${name}: ${now} of ${limit}`);
    });
  }
}
