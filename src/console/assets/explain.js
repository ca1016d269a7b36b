// Everything that the crawl knows of one URL: the verdict, the facts behind it, its archived versions and a replay of
// one. The frame of the replay is at another origin, which answers from the archive alone.

import { get } from "./api.js";
import { byId, el, setText, urlLink } from "./dom.js";
import { brief, count, counted, date, size, span, statusText } from "./format.js";

// types of which a first look is worth a request; others are shown when they are asked for
const SHOWN_AT_ONCE = /^(text\/|image\/|application\/(xhtml\+xml|json|xml))/;

const HOPS = { L: "link", R: "redirect", E: "embedded", P: "robots.txt", M: "sitemap", I: "embedded" };

const joined = (...parts) => parts.filter(Boolean).join(", ");

/** Facts as `[name, text or elements]`; a fact without text is left out. */
function facts(e) {
  const { scope = {}, robots = {}, dns = {}, seen = {}, host, queue, found } = e;
  return [
    ["Scope", joined(scope.refused ? `left out: ${scope.refused}` : "belongs to the crawl", scope.rule)],
    ["robots.txt", robotsText(robots)],
    [
      "DNS",
      dns.answer
        ? joined(dns.answer, (dns.addresses ?? []).join(" "), !dns.fresh && "must be asked again")
        : "not asked yet",
    ],
    [
      "Seen",
      seen.seen === null || seen.seen === undefined
        ? ""
        : seen.seen
          ? "admitted before the checkpoint"
          : "not admitted",
    ],
    [
      "Queue",
      queue ? joined(queue.place, `${counted(queue.before, "URL")} of its host before it`, attempts(queue)) : "",
    ],
    ["Rendering", e.rendering ?? ""],
    ["Recrawl", e.recrawl ? recrawlText(e.recrawl) : ""],
    ["Host", host ? hostText(host) : ""],
    ["Found", found ? foundParts(found) : ""],
    ["Fetched as", e.fetched_as ? urlLink(e.fetched_as) : ""],
    ["Redirects to", hops(e.redirects_to)],
    ["Redirected from", hops(e.redirected_from)],
    ["Left out", e.skipped ? joined(e.skipped.reason, e.skipped.rule) : ""],
    ["Log", e.crawl_log ? el("code", {}, e.crawl_log) : ""],
    ["Notes", (e.notes ?? []).join("; ")],
  ].filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
}

function recrawlText({ place, due, last_visit: visit, interval_s: interval, why }) {
  if (place === "ended") return "not visited any more: missing too often, or out of the crawl";
  return joined(
    place === "calendar" ? `due ${date(due)}` : `queued, was due ${date(due)}`,
    `last visit ${date(visit)}`,
    interval && `interval ${span(interval)} (${why})`,
  );
}

const attempts = ({ attempts, not_before: at }) =>
  joined(attempts > 0 && counted(attempts, "attempt"), at && `not before ${date(at)}`);

function robotsText({ allowed, obeyed, rule, line, group, crawl_delay_ms: delay, unreachable_since: since }) {
  const word = allowed === true ? "allowed" : allowed === false ? "disallowed" : "not known yet";
  return joined(
    word,
    rule && `by ${line ? `line ${line}, ` : ""}“${rule}”`,
    group && `for ${group}`,
    delay && `crawl delay ${brief(delay)}`,
    since && `unreachable since ${date(since)}`,
    obeyed === false && "not obeyed in this crawl",
  );
}

function hostText(host) {
  const of = (number, max) => (max ? `${count(number)} of ${count(max)}` : count(number));
  return joined(
    `${of(host.pages, host.pages_max)} pages`,
    size(host.bytes),
    `${count(host.queued)} queued`,
    `delay ${brief(host.delay_ms)}`,
    host.backoff_until &&
      `back-off until ${date(host.backoff_until)}${host.backoff_reason ? `: ${host.backoff_reason}` : ""}`,
    host.blame,
    host.failures > 0 && `${counted(host.failures, "failure")} in a row`,
    host.gone && `given up: ${host.gone}`,
  );
}

function foundParts({ hops, depth, via, seed }) {
  const way = [...(hops ?? "")].map((hop) => HOPS[hop] ?? hop).join(", then ");
  const parts = [`${counted(depth, "link")} from a seed${way ? ` (${way})` : ""}`];
  if (via) parts.push(", on ", urlLink(via));
  if (seed && seed !== via) parts.push(", seed ", urlLink(seed));
  return parts;
}

function hops(list) {
  return (list ?? []).flatMap(({ url, status }, n) => [
    n > 0 && ", ",
    urlLink(url),
    status ? ` (${status})` : " (not stored)",
  ]);
}

export class Explain {
  #asked = 0;

  /** Explains this URL; an answer that comes after the next question is dropped. */
  async show(url) {
    const asked = (this.#asked += 1);
    byId("ask-url").value = url;
    const out = byId("explanation");
    out.setAttribute("aria-busy", "true");
    this.#problem("");
    try {
      const [explanation, versions] = await Promise.all([
        get("/api/explain", { url }),
        get("/api/versions", { url }).catch((error) => ({ versions: [], error: error.message })),
      ]);
      if (asked !== this.#asked) return;
      this.#fill(explanation, versions);
    } catch (error) {
      if (asked !== this.#asked) return;
      out.replaceChildren();
      this.#problem(`This URL cannot be explained: ${error.message}.`);
    } finally {
      if (asked === this.#asked) out.removeAttribute("aria-busy");
    }
  }

  #problem(text) {
    setText(byId("explain-problem"), text);
    byId("explain-problem").hidden = !text;
    byId("explain-hint").hidden = true;
  }

  #fill(explanation, { versions, error, replay_port: port }) {
    this.replay = `${location.protocol}//${location.hostname}:${port}`;
    const { url, verdict, text } = explanation;
    const list = facts(explanation).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
    this.preview = el("div", { class: "preview" });
    const parts = [
      el("h2", { class: "explained", tabindex: "-1", id: "explained" }, url),
      el("p", { class: "verdict" }, verdict),
      el("div", { class: "halves wide-right" }, [
        el("section", {}, el("dl", { class: "facts" }, list), text && fullText(text)),
        el("section", {}, this.#versions(url, versions, error), this.preview),
      ]),
    ];
    byId("explanation").replaceChildren(...parts.flat());
    const newest = versions[0];
    if (newest && SHOWN_AT_ONCE.test(newest.mime ?? "")) this.#show(url, newest);
  }

  #versions(url, versions, error) {
    if (error) return el("p", { class: "problem" }, `The archive cannot be read: ${error}.`);
    if (versions.length === 0) return el("p", { class: "note" }, "No version of it is in the archive.");
    const row = (version) =>
      el(
        "li",
        {},
        el(
          "button",
          { type: "button", onclick: () => this.#show(url, version), "data-number": version.number },
          date(version.at),
        ),
        el("span", {}, statusText(version.status)),
        el(
          "span",
          { class: "quiet" },
          joined(
            version.mime,
            size(version.bytes),
            version.revisit && "same as before",
            version.truncated && "cut short",
          ),
        ),
        version.title ? el("span", { class: "title" }, version.title) : null,
      );
    return [
      el("h3", {}, `In the archive: ${counted(versions.length, "version")}`),
      el("ul", { class: "versions", role: "list" }, versions.map(row)),
    ];
  }

  #show(url, { number, at, url: stored }) {
    const path = replayPath(at, stored ?? url);
    const frame = el("iframe", {
      sandbox: "allow-scripts allow-same-origin allow-forms allow-modals",
      referrerpolicy: "no-referrer",
      title: `The archived page of ${date(at)}`,
      src: `${this.replay}/replay-start#${path}`,
    });
    const caption = el("p", { class: "note" }, [
      `As it was on ${date(at)}. All that it loads comes from the archive. `,
      el("a", { href: path, target: "_blank", rel: "noopener" }, "Show it alone"),
    ]);
    this.preview.replaceChildren(frame, caption);
    for (const button of document.querySelectorAll(".versions button")) {
      button.setAttribute("aria-pressed", String(button.dataset.number === String(number)));
    }
  }
}

/** /20261121043800/URL; a URL that has a request behind it is one part of the path. */
function replayPath(at, url) {
  const time = new Date(at).toISOString().slice(0, 19).replace(/\D/g, "");
  return `/${time}/${url.includes("#") ? encodeURIComponent(url) : url}`;
}

const fullText = (text) =>
  el("details", {}, el("summary", {}, "Everything, as crawler explain prints it"), el("pre", { tabindex: "0" }, text));
