// A list of figures: a name, a value, and what is below it.

import { byId, el, setFigure, setText } from "./dom.js";
import { NONE } from "./format.js";

export class Figures {
  #figures;
  #cells = [];

  /** In the list `id`, figures that are `[id, name, value of it, how it reads, what stands below it]`. */
  constructor(id, figures) {
    this.#figures = figures;
    for (const [figure, name] of figures) {
      const value = el("data", { id: `figure-${figure}` }, NONE);
      const below = el("dd", { class: "below" });
      this.#cells.push({ value, below });
      byId(id).append(el("div", { class: "figure" }, el("dt", {}, name), el("dd", {}, value), below));
    }
  }

  /** Shows what `source` says; below a value stands nothing where that is not known. */
  show(source) {
    this.#figures.forEach(([, , of, format, below], n) => {
      const { value, below: line } = this.#cells[n];
      setFigure(value, of(source), format(of(source)));
      const text = below(source);
      setText(line, text.startsWith(NONE) ? "" : text);
    });
  }
}
