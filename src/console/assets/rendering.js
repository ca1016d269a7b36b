// Pages that a browser renders: what came of it, in a crawl that has rendered any.

import { byId } from "./dom.js";
import { Figures } from "./figures.js";
import { count, counted } from "./format.js";

/** `[id, name, value of the renderings, how it reads, what stands below it]`. */
const FIGURES = [
  ["rendered", "Rendered", (r) => r.pages, count, () => "pages"],
  ["showed-more", "Showed more", (r) => r.showed_more, count, () => "links or text than as served"],
  ["not-rendered", "Failed", (r) => r.failed, count, () => "stored as served"],
  ["rendering", "In progress", (r) => r.under_way, count, () => "or waiting for a browser"],
  ["resources", "Requests of pages", (r) => r.resources, count, (r) => `${counted(r.refused, "other")} refused or failed`],
];

export class Rendering {
  #figures = new Figures("rendering", FIGURES);

  /** Shows the renderings of a state as `/api/state` has it. */
  show(state) {
    const live = state.live?.status ?? state.live;
    const renderings = live?.figures?.gauges?.rendering;
    byId("rendering-section").hidden = !renderings;
    if (renderings) this.#figures.show(renderings);
  }
}
