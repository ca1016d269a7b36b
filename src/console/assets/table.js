// A table that is filled again and again. Rows and cells stay the same elements, so that nothing flickers and the
// focus stays where it is; and a table that somebody reads stands still.

import { bar, el, setText, setUrl, urlLink } from "./dom.js";

/**
 * `columns`: `{name, kind, of: (row) => value, title: (row) => text, mark: (row) => class}`. A kind is "text",
 * "number", "url", "long" (foreign text that may wrap) or "gauge" (a share of 1).
 */
export class Table {
  #columns;
  #body;
  #note;
  #waiting = null;

  constructor(parent, { caption, columns, empty }) {
    this.#columns = columns;
    this.empty = empty;
    const heads = columns.map(({ name, kind = "text" }) =>
      el("th", { scope: "col", role: "columnheader", class: kind }, name),
    );
    this.#body = el("tbody", { role: "rowgroup" });
    this.#note = el("p", { class: "note", hidden: true });
    this.table = el(
      "table",
      { role: "table" },
      el("caption", { class: "hidden" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
      this.#body,
    );
    this.table.hidden = true;
    parent.append(this.table, this.#note);
    for (const name of ["pointerleave", "focusout"]) {
      this.table.addEventListener(name, () => setTimeout(() => this.#waiting && this.fill(this.#waiting)));
    }
  }

  #isRead() {
    const isPointedAt = matchMedia("(hover: hover)").matches && this.#body.matches(":hover");
    return isPointedAt || this.#body.contains(document.activeElement);
  }

  /** Shows these rows, at once or when the reader has left. */
  fill(rows) {
    const isHeld = this.#body.rows.length > 0 && this.#isRead();
    this.#waiting = isHeld ? rows : null;
    if (isHeld) return this.note("Held while you read. It goes on when pointer and focus have left the table.");
    while (this.#body.rows.length > rows.length) this.#body.deleteRow(-1);
    while (this.#body.rows.length < rows.length) this.#body.append(this.#row());
    rows.forEach((row, n) => this.#fillRow(this.#body.rows[n], row));
    this.table.hidden = rows.length === 0;
    this.note(rows.length === 0 ? this.empty : "");
  }

  note(text) {
    setText(this.#note, text);
    this.#note.hidden = !text;
  }

  #row() {
    const cell = ({ name, kind = "text" }) =>
      el("td", { role: "cell", class: kind, "data-name": name }, kind === "url" ? urlLink("") : null);
    return el("tr", { role: "row" }, this.#columns.map(cell));
  }

  #fillRow(element, row) {
    this.#columns.forEach((column, n) => {
      const cell = element.cells[n];
      const value = column.of(row);
      if (column.kind === "url") setUrl(cell.firstChild, value);
      else if (column.kind === "gauge") cell.replaceChildren(bar(value, column.mark?.(row)));
      else setText(cell, value);
      if (column.kind !== "gauge" && column.mark) cell.className = `${column.kind ?? "text"} ${column.mark(row)}`;
      if (column.title) cell.title = column.title(row);
      cell.classList.toggle("void", value === "" || value === null || value === undefined);
    });
  }
}
