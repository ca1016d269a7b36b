// What the crawler does in a page: in a world of its own, where no script of the page changes what is called here.
// Names of elements can still stand before those of the document (`<img name="querySelectorAll">`), so getters and
// methods are taken from the prototypes.
(() => {
  // an element may have this name too, but not as a property of the window itself
  if (Object.hasOwn(globalThis, "crawler")) return;
  const method = (prototype, name) => Function.prototype.call.bind(prototype[name]);
  const getter = (prototype, name) => {
    const property = Object.getOwnPropertyDescriptor(prototype, name);
    return property?.get ? Function.prototype.call.bind(property.get) : () => null;
  };
  const all = {
    [Node.DOCUMENT_NODE]: method(Document.prototype, "querySelectorAll"),
    [Node.DOCUMENT_FRAGMENT_NODE]: method(DocumentFragment.prototype, "querySelectorAll"),
  };
  const nodeType = getter(Node.prototype, "nodeType");
  const parentNode = getter(Node.prototype, "parentNode");
  const baseURI = getter(Node.prototype, "baseURI");
  const localName = getter(Element.prototype, "localName");
  const shadowRoot = getter(Element.prototype, "shadowRoot");
  const attribute = method(Element.prototype, "getAttribute");
  const documentElement = getter(Document.prototype, "documentElement");
  const scrollingElement = getter(Document.prototype, "scrollingElement");
  const select = (root, selector) => all[nodeType(root)](root, selector);

  // The document and all open shadow roots in it.
  const roots = () => {
    const found = [document];
    for (let at = 0; at < found.length; at++) {
      for (const element of select(found[at], "*")) {
        const root = shadowRoot(element);
        if (root) found.push(root);
      }
    }
    return found;
  };

  let changes = 0;
  let changed = performance.now();
  let scanned = -1;
  const observed = new WeakSet();
  const observer = new MutationObserver(() => {
    changes++;
    changed = performance.now();
  });
  const observe = (root) => {
    if (observed.has(root)) return;
    observed.add(root);
    observer.observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: ["href", "src"] });
  };
  observe(document);

  // Milliseconds since the DOM changed, and how often it did.
  const idle = () => {
    if (scanned !== changes) {
      scanned = changes;
      roots().forEach(observe);
    }
    return { idle: performance.now() - changed, changes };
  };

  const absolute = (element) => {
    const value = attribute(element, "href") ?? attribute(element, "src") ?? attribute(element, "xlink:href");
    try {
      return value === null ? null : new URL(value, baseURI(element)).href;
    } catch {
      return null;
    }
  };

  // Targets of links and frames.
  const links = (max) => {
    const found = new Set();
    for (const root of roots()) {
      for (const element of select(root, "a, area[href], iframe[src], frame[src]")) {
        if (found.size >= max) break;
        const url = absolute(element);
        if (url && url.length <= 8192) found.add(url.toWellFormed());
      }
    }
    return [...found];
  };

  const treeWalker = method(Document.prototype, "createTreeWalker");
  const mute = new Set(["script", "style", "noscript", "template", "title"]);
  const textLength = (found) => {
    let length = 0;
    for (const root of found) {
      const walker = treeWalker(document, root, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = parentNode(node);
        if (nodeType(parent) === Node.ELEMENT_NODE && mute.has(localName(parent))) continue;
        length += node.data.trim().replace(/\s+/g, " ").length;
      }
    }
    return length;
  };

  // The DOM as HTML with its open shadow roots, cut at `max` units.
  const html = (found, max) => {
    const root = documentElement(document);
    if (!root) return "";
    const inner = method(Element.prototype, "getHTML")(root, { shadowRoots: found.slice(1) });
    const tags = getter(Element.prototype, "outerHTML")(method(Node.prototype, "cloneNode")(root, false));
    const end = tags.lastIndexOf("</");
    const doctype = getter(Document.prototype, "doctype")(document);
    const head = doctype ? new XMLSerializer().serializeToString(doctype) + "\n" : "";
    return (head + tags.slice(0, end) + inner + tags.slice(end)).slice(0, max).toWellFormed();
  };

  const harvest = (domMax, linksMax) => {
    const found = roots();
    const dom = html(found, domMax + 1);
    return { dom, url: location.href, links: links(linksMax), text: textLength(found) };
  };

  // Two frames that were drawn, or a second where none is: observers of what is seen are asked once a frame.
  const drawn = () =>
    new Promise((done) => {
      setTimeout(done, 1000);
      requestAnimationFrame(() => requestAnimationFrame(done));
    });

  // What scrolls: the page, or the largest box in it that does.
  const scroller = () => {
    const page = scrollingElement(document) ?? documentElement(document);
    if (page.scrollHeight > page.clientHeight + 1) return page;
    let best = page;
    let area = 0;
    for (const element of select(document, "*")) {
      if (element.scrollHeight <= element.clientHeight + 1) continue;
      const size = element.clientHeight * element.clientWidth;
      if (size > area && /auto|scroll/.test(getComputedStyle(element).overflowY)) [best, area] = [element, size];
    }
    return best;
  };

  // One window further down: whether that was the end, and how high all is.
  const scroll = async () => {
    const element = scroller();
    element.scrollTo({ top: element.scrollTop + element.clientHeight, behavior: "instant" });
    await drawn();
    const height = element.scrollHeight;
    return { end: element.scrollTop + element.clientHeight >= height - 2, height };
  };

  const top = async () => {
    scroller().scrollTo({ top: 0, behavior: "instant" });
    await drawn();
  };

  // Clicks the first element of `selector` that can be seen.
  const click = (selector) => {
    for (const root of roots()) {
      let matches = [];
      try {
        matches = select(root, selector);
      } catch {
        return "invalid";
      }
      for (const element of matches) {
        if (!(element instanceof HTMLElement) || element.disabled === true) continue;
        if (!method(Element.prototype, "checkVisibility")(element)) continue;
        method(Element.prototype, "scrollIntoView")(element, { block: "center", behavior: "instant" });
        method(HTMLElement.prototype, "click")(element);
        return "clicked";
      }
    }
    return "none";
  };

  globalThis.crawler = { idle, links, harvest, scroll, top, click, drawn };
})();
