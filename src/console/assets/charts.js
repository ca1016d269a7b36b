// The four charts of the last 60 minutes. They share their points and their cursor.

import { Chart } from "./chart.js";
import { rate, short, size } from "./format.js";

const POINTS_MAX = 720;

const perClass = (name) => (point) => point.classes?.[name];

const CHARTS = [
  {
    title: "Speed",
    unit: "per second",
    format: rate,
    series: [
      { name: "pages", kind: "s1", of: (point) => point.pages_s },
      { name: "requests", kind: "s2", of: (point) => point.requests_s },
    ],
  },
  {
    title: "Received",
    unit: "per second",
    format: size,
    base: 1_024,
    least: 1_024,
    stacked: true,
    series: [{ name: "bytes", kind: "s1", of: (point) => point.bytes_s }],
  },
  {
    title: "Answers",
    unit: "per second, by status",
    format: rate,
    stacked: true,
    series: [
      { name: "2xx", kind: "s1", of: perClass("2xx") },
      { name: "3xx", kind: "s2", of: perClass("3xx") },
      { name: "4xx", kind: "s3", of: perClass("4xx") },
      { name: "5xx", kind: "s4", of: perClass("5xx") },
      { name: "none", kind: "s5", of: perClass("error") },
    ],
  },
  {
    title: "Hosts",
    unit: "number",
    format: short,
    least: 2,
    whole: true,
    series: [
      { name: "in flight", kind: "s1", of: (point) => point.in_flight },
      { name: "ready", kind: "s3", of: (point) => point.ready },
      { name: "waiting", kind: "s2", of: (point) => point.waiting },
    ],
  },
];

export class Charts {
  #points = [];
  #stepMs = 5_000;
  #charts;

  constructor(parent) {
    const onCursor = (at) => this.#charts.forEach((chart) => chart.look(at));
    this.#charts = CHARTS.map((options) => new Chart({ ...options, onCursor }));
    parent.replaceChildren(...this.#charts.map((chart) => chart.element));
  }

  /** All points that the console has, after a start or a loss of the stream. */
  load({ step_ms: stepMs, points }) {
    this.#stepMs = stepMs;
    this.#points = points.slice(-POINTS_MAX);
    this.#show();
  }

  get isEmpty() {
    return this.#points.length === 0;
  }

  /** One more point; the oldest goes when there are 60 minutes of them. */
  add(point) {
    if (this.#points.length > 0 && point.at <= this.#points.at(-1).at) return;
    this.#points.push(point);
    if (this.#points.length > POINTS_MAX) this.#points.shift();
    this.#show();
  }

  #show() {
    for (const chart of this.#charts) chart.show(this.#points, this.#stepMs);
  }
}
