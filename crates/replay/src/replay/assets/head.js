// Runs before all scripts of an archived page: what they ask for, wherever it is, is asked of the archive at the time of
// the page. The policy of the page is what keeps it from the network; this makes it work all the same.
(function install() {
  "use strict";
  const PATH = /^\/(\d{1,14})(id_|rd_)?\/(.*)$/s;
  const OWN = /^\/(replay-[a-z.]+|timegate\/|timemap\/)/;
  // a frame without a document of its own is a part of the page around it
  const isInner = location.protocol === "about:";
  const { origin, pathname, search } = isInner ? new URL(document.baseURI) : location;
  const here = PATH.exec(pathname + search);
  if (!here) return;
  const [, time, , page] = here;
  const isOuter = parent !== window && parent === top && !isInner;
  let workers;
  try {
    workers = navigator.serviceWorker;
    // a reload past the worker comes back with it, once
    const tried = sessionStorage.getItem("replay-tried");
    if (isOuter && workers && !workers.controller && !tried) {
      sessionStorage.setItem("replay-tried", "1");
      window.stop();
      location.replace(`/replay-start#${pathname}${search}`);
      return;
    }
    if (isOuter) sessionStorage.removeItem("replay-tried");
  } catch {
    // a frame in a sandbox has neither
  }
  if (isOuter) parent.postMessage({ path: pathname + search }, "*");

  // The address in the archive of what a reference of the page means.
  const map = (reference) => {
    const text = String(reference);
    let url;
    try {
      url = new URL(text, document.baseURI);
    } catch {
      return text;
    }
    if (url.protocol !== "http:" && url.protocol !== "https:") return text;
    const rest = url.pathname + url.search;
    if (url.origin !== origin) return `${origin}/${time}/${url.href}`;
    if (PATH.test(rest) || OWN.test(rest)) return text;
    try {
      return `${origin}/${time}/${new URL(rest, page).href}${url.hash}`;
    } catch {
      return text;
    }
  };
  // The URL that an address in the archive stands for.
  const unmap = (text) => {
    const found = typeof text === "string" && text.startsWith(`${origin}/`) && PATH.exec(text.slice(origin.length));
    return found ? found[3] : text;
  };
  const mapSet = (text) =>
    String(text).replace(/(^|,\s*)([^\s,]\S*)/g, (_, before, url) => {
      const comma = url.endsWith(",") ? "," : "";
      return before + map(comma ? url.slice(0, -1) : url) + comma;
    });
  const ATTRIBUTES = { src: map, href: map, data: map, poster: map, action: map, formaction: map, srcset: mapSet };
  const VALUES = /(\s(src|href|data|poster|action|formaction|srcset)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)/gi;
  const mapMarkup = (text) =>
    String(text).replace(VALUES, (_, before, name, value) => {
      const plain = value.replace(/^["']|["']$/g, "");
      return `${before}"${ATTRIBUTES[name.toLowerCase()](plain).replaceAll('"', "&quot;")}"`;
    });

  const define = (object, name, value) =>
    object && Object.defineProperty(object, name, { value, writable: true, configurable: true });
  // Replaces a function; `arguments_` changes what it is called with.
  const wrap = (object, name, arguments_) => {
    const own = object?.[name];
    if (typeof own !== "function") return;
    define(object, name, function (...given) {
      return own.apply(this, arguments_.call(this, given));
    });
  };
  // New windows without a document have functions of their own: they get these before anyone can call those.
  const covered = new WeakSet();
  const cover = () => {
    for (let at = 0; at < window.length; at++) {
      try {
        const { document: inner, location: there } = window[at];
        if (there.protocol !== "about:" || covered.has(inner)) continue;
        covered.add(inner);
        window[at].eval(`(${install})()`);
      } catch {
        // of another origin: in a sandbox
      }
    }
  };
  const coverAfter = (object, ...names) => {
    for (const name of names) {
      const own = object[name];
      define(object, name, function (...given) {
        const result = own.apply(this, given);
        if (window.length) cover();
        return result;
      });
    }
  };
  // Replaces a property that is written.
  const wrapSetter = (constructor, name, written, read) => {
    const own = constructor && Object.getOwnPropertyDescriptor(constructor.prototype, name);
    if (!own?.set) return;
    Object.defineProperty(constructor.prototype, name, {
      ...own,
      get() {
        return read ? read(own.get.call(this)) : own.get.call(this);
      },
      set(value) {
        own.set.call(this, written(value));
        if (window.length) cover();
      },
    });
  };
  const wrapConstructor = (name) => {
    const own = window[name];
    if (!own) return;
    define(window, name, class extends own {
      constructor(url, ...rest) {
        super(map(url), ...rest);
      }
    });
  };

  // what loads by a URL
  const asked = (input) => {
    if (!(input instanceof Request)) return map(input);
    const to = map(input.url);
    return to === input.url ? input : new Request(to, input);
  };
  wrap(window, "fetch", ([input, ...rest]) => [asked(input), ...rest]);
  wrap(XMLHttpRequest.prototype, "open", ([method, url, ...rest]) => [method, map(url), ...rest]);
  for (const name of ["EventSource", "Worker", "SharedWorker"]) wrapConstructor(name);
  for (const [name, property] of [
    ["Image", "src"], ["Script", "src"], ["IFrame", "src"], ["Frame", "src"], ["Media", "src"], ["Source", "src"],
    ["Embed", "src"], ["Input", "src"], ["Track", "src"], ["Link", "href"], ["Object", "data"], ["Video", "poster"],
  ]) {
    wrapSetter(window[`HTML${name}Element`], property, map, unmap);
  }
  for (const name of ["Image", "Source"]) wrapSetter(window[`HTML${name}Element`], "srcset", mapSet);
  const written = (element, name, value) => {
    const mapped = element.localName !== "a" && ATTRIBUTES[String(name).toLowerCase()];
    return mapped ? mapped(value) : value;
  };
  wrap(Element.prototype, "setAttribute", function ([name, value]) {
    return [name, written(this, name, value)];
  });
  wrap(Element.prototype, "setAttributeNS", function ([space, name, value]) {
    return [space, name, written(this, name, value)];
  });

  // markup that scripts write
  for (const name of ["innerHTML", "outerHTML"]) wrapSetter(Element, name, mapMarkup);
  wrapSetter(ShadowRoot, "innerHTML", mapMarkup);
  const HEAD = `<script src="${origin}/replay-head.js"></script>`;
  wrapSetter(HTMLIFrameElement, "srcdoc", (text) => HEAD + mapMarkup(text));
  wrap(Element.prototype, "insertAdjacentHTML", ([where, text, ...rest]) => [where, mapMarkup(text), ...rest]);
  wrap(Range.prototype, "createContextualFragment", ([text, ...rest]) => [mapMarkup(text), ...rest]);
  wrap(DOMParser.prototype, "parseFromString", ([text, ...rest]) => [mapMarkup(text), ...rest]);
  for (const name of ["write", "writeln"]) wrap(Document.prototype, name, (texts) => texts.map(mapMarkup));

  coverAfter(Node.prototype, "appendChild", "insertBefore", "replaceChild");
  for (const parent of [Element, Document, DocumentFragment]) {
    coverAfter(parent.prototype, "append", "prepend", "replaceChildren");
  }
  coverAfter(Element.prototype, "before", "after", "replaceWith", "insertAdjacentElement", "insertAdjacentHTML");
  coverAfter(Document.prototype, "write", "writeln");
  coverAfter(Range.prototype, "insertNode");
  for (const name of ["contentWindow", "contentDocument"]) {
    const own = Object.getOwnPropertyDescriptor(HTMLIFrameElement.prototype, name);
    const get = function () {
      cover();
      return own.get.call(this);
    };
    Object.defineProperty(HTMLIFrameElement.prototype, name, { ...own, get });
  }
  new MutationObserver(cover).observe(document, { childList: true, subtree: true });

  // where the page goes
  window.navigation?.addEventListener("navigate", (event) => {
    const to = map(event.destination.url);
    if (!event.cancelable || event.hashChange || to === event.destination.url) return;
    event.preventDefault();
    if (event.navigationType === "replace") location.replace(to);
    else location.assign(to);
  });
  for (const name of ["pushState", "replaceState"]) {
    wrap(History.prototype, name, ([state, unused, url]) => [state, unused, url == null ? url : map(url)]);
  }
  define(window, "open", (url) => {
    if (url && navigator.userActivation?.isActive) location.assign(map(url));
    return null;
  });
  const stay = (element) => {
    if (/^_(blank|top|parent)$/i.test(element.target)) element.target = "_self";
  };
  const lead = (form) => {
    stay(form);
    form.setAttribute("action", map(form.getAttribute("action") ?? document.baseURI));
  };
  wrap(HTMLFormElement.prototype, "submit", function () {
    lead(this);
    return [];
  });
  addEventListener("submit", (event) => lead(event.target), true);
  addEventListener("click", (event) => {
    const link = event.composedPath().find((node) => node.localName === "a" || node.localName === "area");
    if (link) stay(link);
  }, true);

  // what would leave, or be shared by pages of different sites
  class Closed extends EventTarget {
    constructor() {
      super();
      setTimeout(() => {
        for (const type of ["error", "close"]) {
          const event = new Event(type);
          this[`on${type}`]?.(event);
          this.dispatchEvent(event);
        }
      });
    }
    readyState = 3;
    send() {}
    close() {}
  }
  define(window, "WebSocket", Closed);
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "WebSocketStream", "fetchLater"]) {
    if (name in window) define(window, name, undefined);
  }
  define(Navigator.prototype, "sendBeacon", () => true);
  if (workers) {
    const container = ServiceWorkerContainer.prototype;
    define(container, "register", () => new Promise(() => {}));
    define(container, "getRegistration", () => Promise.resolve(undefined));
    define(container, "getRegistrations", () => Promise.resolve([]));
  }
  const cookies = new Map();
  Object.defineProperty(Document.prototype, "cookie", {
    configurable: true,
    get: () => [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
    set: (text) => {
      const [, name, value] = /^\s*([^=;]*)=?([^;]*)/.exec(String(text));
      if (/;\s*max-age\s*=\s*(0|-)/i.test(text)) cookies.delete(name.trim());
      else cookies.set(name.trim(), value.trim());
    },
  });
})();
