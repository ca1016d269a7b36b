// The crawl as a tree: domains, hosts, paths, each with a bar for its pages. Children are asked for when a branch is
// opened. Keys are those of the tree view in the ARIA Authoring Practices.

import { get } from "./api.js";
import { bar, byId, el, setText } from "./dom.js";
import { count, counted, size } from "./format.js";

const number = (value, one) =>
  el("span", { class: "number" }, count(value), el("span", { class: "unit" }, ` ${one}${value === 1 ? "" : "s"}`));

const explainable = (prefix) => /^https?:\/\//.test(prefix ?? "");

export class Tree {
  #root = byId("tree");
  #note = byId("tree-note");
  #again = 0;
  #typed = "";
  #typedAt = 0;

  constructor() {
    this.#root.addEventListener("keydown", (event) => this.#key(event));
    this.#root.addEventListener("click", (event) => {
      const line = event.target.closest(".line");
      if (!line || !this.#root.contains(line)) return;
      const item = line.parentElement;
      this.#focus(item);
      this.#toggle(item);
    });
    byId("tree-refresh").addEventListener("click", () => this.load());
  }

  /** Shows the first level, with all branches closed; again and again while the archive is still being read. */
  async load() {
    clearTimeout(this.#again);
    try {
      const { rows, complete, records } = await get("/api/tree");
      const hadFocus = this.#root.contains(document.activeElement);
      this.#root.replaceChildren(...this.#items(rows, 1));
      const [first] = this.#root.children;
      if (first) first.tabIndex = 0;
      if (first && hadFocus) first.focus();
      const isPart = complete === false;
      const empty = first ? "" : "No page is stored yet.";
      this.#say(isPart ? `Reading the archive: ${counted(records, "record")} so far …` : empty);
      // a reader who has opened a branch meanwhile keeps it
      const isUsed = () => this.#root.querySelector("[role=group]") || this.#root.closest("[hidden]");
      if (isPart) this.#again = setTimeout(() => isUsed() || this.load(), 1_000);
    } catch (error) {
      this.#say(`The tree cannot be shown: ${error.message}.`);
    }
  }

  #say(text) {
    setText(this.#note, text);
    this.#note.hidden = !text;
  }

  #items(rows, level) {
    const most = Math.max(1, ...rows.map((row) => row.pages));
    return rows.map((row, n) => this.#item(row, level, most, [n + 1, rows.length]));
  }

  #item(row, level, most, [place, of]) {
    // errors are pages too: theirs is the end of the bar
    const both = bar((row.pages - row.errors) / most);
    const errors = bar(row.errors / most, "bad").firstChild;
    both.append(errors);
    const line = el(
      "div",
      { class: "line" },
      el("span", { class: "node", title: row.prefix || row.name }, el("span", { class: "twig" }), row.name),
      both,
      number(row.pages, "page"),
      el("span", { class: "number" }, size(row.bytes)),
      number(row.errors, "error"),
    );
    line.style.setProperty("--level", level - 1);
    const item = el("li", {
      role: "treeitem",
      tabindex: "-1",
      "aria-level": level,
      "aria-posinset": place,
      "aria-setsize": of,
      "aria-expanded": row.leaf ? null : "false",
      "aria-label": `${row.name}: ${counted(row.pages, "page")}, ${size(row.bytes)}, ${counted(row.errors, "error")}`,
    });
    item.append(line);
    Object.assign(item.dataset, { prefix: row.prefix ?? "", name: row.name, level });
    return item;
  }

  #toggle(item) {
    const state = item.getAttribute("aria-expanded");
    if (state === null) this.#explain(item);
    else if (state === "true") this.#close(item);
    else this.#open(item);
  }

  #explain(item) {
    if (explainable(item.dataset.prefix)) location.hash = `#explain=${encodeURIComponent(item.dataset.prefix)}`;
  }

  #close(item) {
    item.setAttribute("aria-expanded", "false");
    item.querySelector("[role=group]")?.remove();
  }

  async #open(item) {
    if (item.getAttribute("aria-busy")) return;
    item.setAttribute("aria-busy", "true");
    try {
      const { rows } = await get("/api/tree", { under: item.dataset.prefix });
      const items = this.#items(rows, Number(item.dataset.level) + 1);
      item.querySelector("[role=group]")?.remove();
      item.append(el("ul", { role: "group" }, items));
      item.setAttribute("aria-expanded", "true");
      this.#say("");
    } catch (error) {
      this.#say(`${item.dataset.name} cannot be opened: ${error.message}.`);
    } finally {
      item.removeAttribute("aria-busy");
    }
  }

  #focus(item) {
    for (const other of this.#root.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
  }

  #key(event) {
    const item = document.activeElement?.closest("[role=treeitem]");
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    const all = [...this.#root.querySelectorAll("[role=treeitem]")];
    const here = all.indexOf(item);
    const isOpen = item.getAttribute("aria-expanded");
    const parent = item.parentElement.closest("[role=treeitem]");
    const acts = {
      ArrowDown: () => all[here + 1],
      ArrowUp: () => all[here - 1],
      Home: () => all[0],
      End: () => all.at(-1),
      ArrowRight: () => (isOpen === "false" ? void this.#open(item) : isOpen === "true" ? all[here + 1] : null),
      ArrowLeft: () => (isOpen === "true" ? void this.#close(item) : parent),
      Enter: () => void this.#toggle(item),
      " ": () => void this.#toggle(item),
    };
    const letter = event.key.length === 1 && event.key !== " ";
    const act = letter ? () => this.#named(event.key, all, here) : acts[event.key];
    if (!act) return;
    event.preventDefault();
    const to = act();
    if (to) this.#focus(to);
  }

  /** The next node whose name starts with what was typed. */
  #named(letter, all, here) {
    const now = performance.now();
    this.#typed = (now - this.#typedAt < 700 ? this.#typed : "") + letter.toLowerCase();
    this.#typedAt = now;
    const from = this.#typed.length > 1 ? here : here + 1;
    return [...all.slice(from), ...all.slice(0, from)].find((item) =>
      item.dataset.name.toLowerCase().startsWith(this.#typed),
    );
  }
}
