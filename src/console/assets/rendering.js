// Pages that a browser renders: what came of it, in a crawl that has rendered any.

import { byId, el, setFigure, setText } from "./dom.js";
import { count, counted, NONE } from "./format.js";

/** `[id, name, value of the renderings, what stands below it]`. */
const FIGURES = [
  ["rendered", "Rendered", (r) => r.pages, () => "pages"],
  ["showed-more", "Showed more", (r) => r.showed_more, () => "links or text than as served"],
  ["not-rendered", "Failed", (r) => r.failed, () => "stored as served"],
  ["rendering", "In progress", (r) => r.under_way, () => "or waiting for a browser"],
  ["resources", "Requests of pages", (r) => r.resources, (r) => `${counted(r.refused, "other")} refused or failed`],
];

export class Rendering {
  #cells = [];

  constructor() {
    for (const [id, name] of FIGURES) {
      const value = el("data", { id: `figure-${id}` }, NONE);
      const below = el("dd", { class: "below" });
      this.#cells.push({ value, below });
      byId("rendering").append(el("div", { class: "figure" }, el("dt", {}, name), el("dd", {}, value), below));
    }
  }

  /** Shows the renderings of a state as `/api/state` has it. */
  show(state) {
    const live = state.live?.status ?? state.live;
    const renderings = live?.figures?.gauges?.rendering;
    byId("rendering-section").hidden = !renderings;
    if (!renderings) return;
    FIGURES.forEach(([, , of, below], n) => {
      const { value, below: line } = this.#cells[n];
      setFigure(value, of(renderings), count(of(renderings)));
      setText(line, below(renderings));
    });
  }
}
