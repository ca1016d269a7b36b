// Elements made from values. Text becomes text nodes and nothing else: no string of the crawl is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

// Control characters and those that turn the direction of text: they would make a line say what it does not say.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text of the crawl with every character visible. */
export function shown(value) {
  return String(value ?? "").replace(UNSEEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** An element with attributes and children; strings and numbers are text, nothing is left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for a part of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : shown(child));
  }
  return element;
}

/** Sets the text of an element where it differs: what did not change is not painted again, nor read out. */
export function setText(element, value) {
  const text = shown(value);
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute where it differs. */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

export const byId = (id) => document.getElementById(id);

/** A figure that machines can read as well: `<data value="1234">1,234</data>`. */
export function setFigure(element, value, text) {
  setAttribute(element, "value", value ?? "");
  setText(element, text);
}

/**
 * A URL of the crawl. It leads to its explanation on this page and never outside: a click tells the site nothing, and
 * nobody is led to a page that was not looked at.
 */
export function urlLink(url) {
  const link = el("a", { class: "url" });
  setUrl(link, url);
  return link;
}

export function setUrl(link, url) {
  const text = shown(url);
  if (link.dataset.url === text) return;
  link.dataset.url = text;
  link.setAttribute("href", `#explain=${encodeURIComponent(url)}`);
  link.title = text;
  const [, origin, path] = /^([a-z]+:\/\/[^/]*)?(.*)$/su.exec(text);
  link.replaceChildren(el("span", { class: "origin" }, origin ?? ""), el("span", { class: "path" }, path));
}

/** A bar whose length is a share of 1. */
export function bar(share, kind = "") {
  const inner = el("span", { class: `bar-part ${kind}` });
  inner.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}
