// How fresh the archive is: what the recrawl calendar says, of a crawl that has one.

import { byId } from "./dom.js";
import { Figures } from "./figures.js";
import { count, counted, NONE, percent, size, span } from "./format.js";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function untilNext({ is_on: isOn, due_now: due, next_due_ms: ms }) {
  if (!isOn) return "recrawl is off";
  if (due > 0 || !isNumber(ms)) return "";
  return `next in ${span(Math.ceil(ms / 1_000))}`;
}

/** `[id, name, value of the calendar, how it reads, what stands below it]`. */
const FIGURES = [
  ["calendar", "In the calendar", (c) => c.pages, count, (c) => size(c.bytes)],
  ["due-now", "Due now", (c) => c.due_now, count, untilNext],
  [
    "due-today",
    "Due within a day",
    (c) => c.due_today,
    count,
    (c) => (c.late_ms >= 90_000 ? `oldest ${span(c.late_ms / 1_000)} late` : ""),
  ],
  ["fresh", "Fresh, estimated", (c) => c.freshness, percent, () => "pages as last fetched"],
  ["age", "Mean age", (c) => c.mean_age_ms, (ms) => (isNumber(ms) ? span(ms / 1_000) : NONE), () => "of newest versions"],
  ["visits", "Visits", (c) => c.visits.visits, count, (c) => `${count(c.visits.same)} the same`],
  ["changed", "Changed", (c) => c.visits.changed, count, (c) => `${count(c.visits.missing)} missing`],
  [
    "saved",
    "Saved by 304",
    (c) => c.visits.not_modified_bytes,
    size,
    (c) => `${counted(c.visits.not_modified, "answer")} without a body`,
  ],
  [
    "stretch",
    "Stretch",
    (c) => c.stretch,
    (factor) => (isNumber(factor) ? factor.toFixed(2) : NONE),
    (c) => (c.stretch >= 1.005 ? "more is due than it can do" : "intervals as planned"),
  ],
];

export class Freshness {
  #figures = new Figures("freshness", FIGURES);

  /** Shows the calendar of a state as `/api/state` has it. */
  show(state) {
    const live = state.live?.status ?? state.live;
    const calendar = live?.figures?.gauges?.calendar;
    byId("freshness-section").hidden = !calendar;
    if (calendar) this.#figures.show(calendar);
  }
}
