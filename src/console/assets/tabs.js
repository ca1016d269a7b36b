// Tabs after the ARIA Authoring Practices: arrow keys move between them, and the address names the one that is shown.

import { byId } from "./dom.js";

/** Calls `onShow` with the name of the tab that is shown, each time another one is. */
export class Tabs {
  #tabs;
  #onShow;
  shown = null;

  constructor(list, onShow) {
    this.#tabs = [...list.querySelectorAll("[role=tab]")];
    this.#onShow = onShow;
    for (const tab of this.#tabs) tab.addEventListener("click", () => this.#go(this.#tabs.indexOf(tab)));
    list.addEventListener("keydown", (event) => {
      const here = this.#tabs.indexOf(document.activeElement);
      const last = this.#tabs.length - 1;
      const to = { ArrowLeft: here > 0 ? here - 1 : last, ArrowRight: here < last ? here + 1 : 0, Home: 0, End: last };
      if (here < 0 || !(event.key in to)) return;
      event.preventDefault();
      this.#go(to[event.key]);
      this.#tabs[to[event.key]].focus();
    });
  }

  #go(index) {
    const { name } = this.#tabs[index].dataset;
    history.replaceState(null, "", `#${name}`);
    this.show(name);
  }

  /** Shows the tab of this name, or the first one. */
  show(name) {
    const shown = this.#tabs.find((tab) => tab.dataset.name === name) ?? this.#tabs[0];
    for (const tab of this.#tabs) {
      tab.setAttribute("aria-selected", String(tab === shown));
      tab.tabIndex = tab === shown ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== shown;
    }
    const isNew = this.shown !== shown.dataset.name;
    this.shown = shown.dataset.name;
    if (isNew) this.#onShow(this.shown);
  }
}
