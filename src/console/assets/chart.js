// One chart over time, drawn as SVG: lines or a stack of areas, axes with units, and a cursor for mouse, finger and
// keyboard. Colours come from the style sheet, so that a change of scheme needs no drawing.

import { el, setAttribute, setText, svg } from "./dom.js";
import { clock } from "./format.js";

const LEFT = 46;
const RIGHT = 6;
const TOP = 8;
const BOTTOM = 20;
const SPAN_MIN_MS = 2 * 60_000;
const MINUTES = [1, 2, 5, 10, 15, 20, 30];
// values that far apart belong to two runs of the console: nothing is known of the time between
const GAP_STEPS = 3;

/**
 * The least number that is not below `most` and whose half is round as well; for bytes, round in their unit, and even
 * where only whole numbers are shown.
 */
export function roundAbove(most, { base, least, whole }) {
  const wanted = Math.max(most, least);
  const unit = base === 1_024 ? 1_024 ** Math.floor(Math.log(wanted) / Math.log(1_024)) : 1;
  const power = 10 ** Math.floor(Math.log10(wanted / unit));
  const isShown = (factor) => !whole || (factor * power) % 2 === 0;
  const factors = [1, 2, 3, 4, 5, 6, 8, 10].filter(isShown);
  const factor = factors.find((factor) => factor * power * unit >= wanted * 0.999) ?? 10;
  return factor * power >= 1_000 && base === 1_024 ? 1_024 * unit : factor * power * unit;
}

/** A value at an axis, without zeros that say nothing: "50", not "50.0". */
function tick(text) {
  return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

export class Chart {
  /**
   * `series`: `{name, kind, of: (point) => number}`; `format` writes a value; `base` is 1024 for bytes, and the axis
   * ends at `least` or above, at an even number where values are `whole`. A `stacked` chart shows sums. `onCursor` hears
   * the time at which a reader looks, or null.
   */
  constructor({ title, unit, series, format, base = 10, least = 1, whole = false, stacked = false, onCursor }) {
    Object.assign(this, { title, unit, series, format, base, least, whole, stacked, onCursor });
    this.points = [];
    this.stepMs = 5_000;
    this.cursor = null;
    this.size = [0, 0];
    this.#build();
  }

  #build() {
    this.values = this.series.map(() => el("span", { class: "key-value" }));
    const keys = this.series.map(({ name, kind }, n) =>
      el("li", {}, el("span", { class: "key" }, el("span", { class: `swatch ${kind}` }), `${name} `), this.values[n]),
    );
    this.when = el("span", { class: "when" });
    this.grid = svg("g", { class: "grid" });
    this.paths = this.series.map(({ kind }) => svg("path", { class: `${this.stacked ? "area" : "line"} ${kind}` }));
    this.rule = svg("line", { class: "cursor" });
    // the first series is drawn last: it is what most people look for
    this.drawing = svg("svg", { "aria-hidden": "true" }, this.grid, [...this.paths].reverse(), this.rule);
    this.plot = el("div", { class: "plot", tabindex: "0", role: "slider", "aria-label": `${this.title}, over time` });
    this.plot.append(this.drawing);
    this.empty = el("p", { class: "empty" }, "No figures yet");
    this.element = el(
      "figure",
      { class: "chart" },
      el("figcaption", {}, el("h3", {}, this.title, " ", el("small", {}, this.unit)), this.when),
      this.plot,
      this.empty,
      el("ul", { class: "keys" }, keys),
    );
    this.plot.addEventListener("pointermove", (event) => this.#point(event));
    this.plot.addEventListener("pointerdown", (event) => this.#point(event));
    this.plot.addEventListener("pointerleave", () => this.onCursor(null));
    this.plot.addEventListener("blur", () => this.onCursor(null));
    this.plot.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(([{ contentRect }]) => {
      this.size = [Math.floor(contentRect.width), Math.floor(contentRect.height)];
      this.#draw();
    }).observe(this.plot);
  }

  /** Shows these points, the oldest first. The array is only read. */
  show(points, stepMs) {
    this.points = points;
    this.stepMs = stepMs;
    this.#draw();
  }

  /** Shows the values of the time `at`, or the newest for null. */
  look(at) {
    this.cursor = at;
    this.#look();
  }

  #point(event) {
    const x = event.clientX - this.plot.getBoundingClientRect().left;
    this.onCursor(this.#nearest(this.from + ((x - LEFT) / this.width) * (this.to - this.from))?.at ?? null);
  }

  #key(event) {
    const last = this.points.length - 1;
    if (last < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const here = this.cursor === null ? last : this.points.indexOf(this.#nearest(this.cursor));
    const to = {
      ArrowLeft: here - 1,
      ArrowRight: here + 1,
      PageUp: here - 12,
      PageDown: here + 12,
      Home: 0,
      End: last,
    };
    if (!(event.key in to)) return;
    event.preventDefault();
    this.onCursor(this.points[Math.max(0, Math.min(last, to[event.key]))].at);
  }

  #nearest(at) {
    let found = null;
    for (const point of this.points) {
      if (found && Math.abs(point.at - at) > Math.abs(found.at - at)) break;
      found = point;
    }
    return found;
  }

  #draw() {
    const [width, height] = this.size;
    this.empty.hidden = this.points.length > 0;
    setAttribute(this.drawing, "visibility", this.points.length > 0 ? "visible" : "hidden");
    if (width <= LEFT + RIGHT || height <= TOP + BOTTOM) return;
    setAttribute(this.drawing, "viewBox", `0 0 ${width} ${height}`);
    this.width = width - LEFT - RIGHT;
    this.height = height - TOP - BOTTOM;
    this.to = this.points.at(-1)?.at ?? Date.now();
    this.from = Math.min(this.points[0]?.at ?? this.to, this.to - SPAN_MIN_MS);
    const rows = this.points.map((point) => this.series.map(({ of }) => of(point) || 0));
    const most = rows.reduce(
      (most, row) => Math.max(most, this.stacked ? row.reduce((a, b) => a + b, 0) : Math.max(...row)),
      0,
    );
    this.top = roundAbove(most, this);
    this.#drawGrid();
    if (this.stacked) this.#drawStack(rows);
    else this.paths.forEach((path, n) => path.setAttribute("d", this.#line(rows, n)));
    this.#look();
  }

  #x(at) {
    return LEFT + ((at - this.from) / (this.to - this.from)) * this.width;
  }

  #y(value) {
    return TOP + this.height - (value / this.top) * this.height;
  }

  #drawGrid() {
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const y = Math.round(this.#y(share * this.top)) + 0.5;
      parts.push(svg("line", { x1: LEFT, x2: LEFT + this.width, y1: y, y2: y, class: share === 0 ? "base" : "" }));
      parts.push(svg("text", { x: LEFT - 6, y: y + 3.5, "text-anchor": "end" }, tick(this.format(share * this.top))));
    }
    const minutes = (this.to - this.from) / 60_000;
    const step = (MINUTES.find((step) => minutes / step <= Math.max(3, this.width / 50)) ?? 60) * 60_000;
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
      const x = this.#x(at);
      if (x < LEFT + 12 || x > LEFT + this.width - 12) continue;
      parts.push(svg("line", { x1: x, x2: x, y1: TOP + this.height, y2: TOP + this.height + 4, class: "base" }));
      parts.push(svg("text", { x, y: TOP + this.height + 15, "text-anchor": "middle" }, clock(at, false)));
    }
    this.grid.replaceChildren(...parts);
  }

  /** Stretches of points without a gap between them, as ranges of indexes. */
  *#stretches() {
    let start = 0;
    for (let n = 1; n <= this.points.length; n += 1) {
      const isWhole = n < this.points.length && this.points[n].at - this.points[n - 1].at <= GAP_STEPS * this.stepMs;
      if (isWhole) continue;
      yield [start, n];
      start = n;
    }
  }

  #line(rows, series) {
    let path = "";
    for (const [start, end] of this.#stretches()) {
      for (let n = start; n < end; n += 1) {
        path += `${n === start ? "M" : "L"}${this.#place(n, rows[n][series])}`;
      }
      // a lone point is seen as a dot, by the round ends of its line
      if (end === start + 1) path += "h0";
    }
    return path;
  }

  #place(n, value) {
    return `${this.#x(this.points[n].at).toFixed(1)} ${this.#y(value).toFixed(1)}`;
  }

  #drawStack(rows) {
    const below = rows.map(() => 0);
    this.paths.forEach((path, series) => {
      let drawn = "";
      for (const [start, end] of this.#stretches()) {
        let [over, under] = ["", ""];
        for (let n = start; n < end; n += 1) {
          const sum = below[n] + rows[n][series];
          over += `${n === start ? "M" : "L"}${this.#place(n, sum)}`;
          under = `L${this.#place(n, below[n])}${under}`;
          below[n] = sum;
        }
        drawn += `${over}${under}Z`;
      }
      path.setAttribute("d", drawn);
    });
  }

  #look() {
    const last = this.points.length - 1;
    const point = this.cursor === null ? this.points[last] : this.#nearest(this.cursor);
    this.series.forEach(({ of }, n) => setText(this.values[n], point ? this.format(of(point) || 0) : ""));
    setText(this.when, this.cursor === null || !point ? "" : clock(point.at));
    setAttribute(this.rule, "visibility", this.cursor === null || !point ? "hidden" : "visible");
    if (!point) return;
    const text = this.series.map(({ name, of }) => `${name} ${this.format(of(point) || 0)}`).join(", ");
    setAttribute(this.plot, "aria-valuemin", 0);
    setAttribute(this.plot, "aria-valuemax", last);
    setAttribute(this.plot, "aria-valuenow", this.points.indexOf(point));
    setAttribute(this.plot, "aria-valuetext", `${clock(point.at)}: ${text} (${this.unit})`);
    if (this.cursor === null || !this.width) return;
    const x = this.#x(point.at);
    for (const [name, value] of [
      ["x1", x],
      ["x2", x],
      ["y1", TOP],
      ["y2", TOP + this.height],
    ]) {
      setAttribute(this.rule, name, value);
    }
  }
}
