// Runs before all scripts of an archived page: what they ask for, wherever it is, is asked of the archive at the time of
// the page. The policy of the page is what keeps it from the network; this makes it work all the same.
(function install() {
  "use strict";
  const PATH = /^\/(\d{1,14})(id_|rd_)?\/(.*)$/s;
  const OWN = /^\/(replay-[a-z.]+|timegate\/|timemap\/)/;
  // an archived origin that has an origin of its own: its host, scheme, port, time, and what is behind
  const SITE = /^(.+)\.(https?)(?:-(\d+))?\.(\d{1,14})\.(\w+\.localhost:\d+)$/;
  // a frame without a document of its own is a part of the page around it; Firefox gives it a location only later
  const isInner = document.URL.startsWith("about:");
  const own = isInner ? new URL(document.baseURI) : location;
  const { origin, pathname, search } = own;
  const site = SITE.exec(own.host);
  const here = site ? [] : PATH.exec(pathname + search);
  if (!here) return;
  const time = site ? site[4] : here[1];
  const page = site ? undefined : here[3];
  const isOuter = parent !== window && parent === top && !isInner;
  let workers;
  try {
    workers = navigator.serviceWorker;
    // a reload past the worker comes back with it, once
    const tried = sessionStorage.getItem("replay-tried");
    if (isOuter && !site && workers && !workers.controller && !tried) {
      sessionStorage.setItem("replay-tried", "1");
      window.stop();
      location.replace(`/replay-start#${pathname}${search}`);
      return;
    }
    if (isOuter && !site) sessionStorage.removeItem("replay-tried");
  } catch {
    // a frame in a sandbox has neither
  }

  const siteOf = ({ protocol, hostname, port }) => {
    const name = hostname.startsWith("[") ? `ip6-${hostname.slice(1, -1).replaceAll(":", "-")}` : hostname;
    return `http://${name}.${protocol.slice(0, -1)}${port && `-${port}`}.${time}.${site[5]}`;
  };
  const baseOf = Object.getOwnPropertyDescriptor(Node.prototype, "baseURI").get;
  // The address in the archive of what a reference of the page means.
  const map = (reference) => {
    const text = String(reference);
    let url;
    try {
      url = new URL(text, baseOf.call(document));
    } catch {
      return text;
    }
    if (url.protocol !== "http:" && url.protocol !== "https:") return text;
    const rest = url.pathname + url.search;
    if (site) return url.host.endsWith(site[5]) ? text : siteOf(url) + rest + url.hash;
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
    if (typeof text !== "string") return text;
    if (!site) {
      const found = text.startsWith(`${origin}/`) && PATH.exec(text.slice(origin.length));
      return found ? found[3] : text;
    }
    const [, host, rest] = /^http:\/\/([^/]+)(.*)$/s.exec(text) ?? [];
    const found = host?.endsWith(site[5]) && SITE.exec(host);
    if (!found) return text;
    const name = found[1].startsWith("ip6-") ? `[${found[1].slice(4).replaceAll("-", ":")}]` : found[1];
    return `${found[2]}://${name}${found[3] ? `:${found[3]}` : ""}${rest}`;
  };
  if (isOuter) {
    const exact = document.currentScript?.dataset.time ?? time;
    parent.postMessage({ path: site ? `/${exact}/${unmap(own.href)}` : pathname + search }, "*");
  }
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
        const { document: inner } = window[at];
        if (!inner.URL.startsWith("about:") || covered.has(inner)) continue;
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
        super(name === "EventSource" ? map(url) : started(url, rest[0]), ...rest);
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
  // a worker out of a blob begins as those of the archive do
  const blobs = new Map();
  const { createObjectURL, revokeObjectURL } = URL;
  const started = (url, options) => {
    const blob = site && options?.type !== "module" && blobs.get(String(url));
    if (!blob) return map(url);
    return createObjectURL(new Blob([`importScripts("${origin}/replay-inside.js");`, blob], { type: blob.type }));
  };
  define(URL, "createObjectURL", (object) => {
    const url = createObjectURL.call(URL, object);
    if (object instanceof Blob) blobs.set(url, object);
    return url;
  });
  define(URL, "revokeObjectURL", (url) => {
    blobs.delete(String(url));
    revokeObjectURL.call(URL, url);
  });
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

  // what the page is told about itself and others
  const wrapGetter = (prototype, name, read) => {
    const property = prototype && Object.getOwnPropertyDescriptor(prototype, name);
    if (!property?.get) return;
    Object.defineProperty(prototype, name, {
      ...property,
      get() {
        return read(property.get.call(this), this);
      },
    });
  };
  wrapGetter(Response.prototype, "url", unmap);
  wrapGetter(XMLHttpRequest.prototype, "responseURL", unmap);
  for (const name of ["URL", "documentURI", "referrer"]) wrapGetter(Document.prototype, name, unmap);
  wrapGetter(Node.prototype, "baseURI", unmap);
  let reach = (other) => other;
  if (site) {
    const isSame = unmap(`${origin}/`);
    wrapGetter(MessageEvent.prototype, "origin", (from) => unmap(`${from}/`).replace(/\/$/, ""));
    Object.defineProperty(window, "origin", { value: isSame.slice(0, -1), writable: true, configurable: true });
    for (const element of [HTMLAnchorElement, HTMLAreaElement]) {
      const { get } = Object.getOwnPropertyDescriptor(element.prototype, "href");
      for (const name of ["href", "origin", "protocol", "host", "hostname", "port"]) {
        wrapGetter(element.prototype, name, (value, link) => {
          const to = get.call(link);
          return SITE.test(to.split("/")[2]) ? new URL(unmap(to))[name] : value;
        });
      }
    }
    wrapGetter(Document.prototype, "domain", (name) => SITE.exec(`${name}:${location.port}`)?.[1] ?? name);
    const domain = Object.getOwnPropertyDescriptor(Document.prototype, "domain");
    const behind = site[0].slice(site[1].length).replace(/:\d+$/, "");
    Object.defineProperty(Document.prototype, "domain", {
      ...domain,
      set(name) {
        domain.set.call(this, name + behind);
      },
    });
    const getAttribute = Element.prototype.getAttribute;
    define(Element.prototype, "getAttribute", function (name) {
      return unmap(getAttribute.call(this, name));
    });
    // messages to an archived origin go to the origin that it has here
    const target = (to) => (/^https?:/.test(to) ? new URL(map(to)).origin : to);
    const post = window.postMessage;
    const posted = (to) => (typeof to === "string" ? target(to) : to && "targetOrigin" in to
      ? { ...to, targetOrigin: target(to.targetOrigin) } : to);
    define(window, "postMessage", (message, to, ...rest) => post.call(window, message, posted(to), ...rest));
    const known = new WeakMap();
    reach = (other) => {
      try {
        if (!other || other.document) return other;
      } catch {
        // of another origin
      }
      if (!known.has(other)) {
        const say = (message, to, ...rest) => other.postMessage(message, posted(to), ...rest);
        known.set(other, new Proxy(other, {
          get: (_, name) => (name === "postMessage" ? say : other[name === "replayLocation" ? "location" : name]),
          set: (_, name, value) => {
            if (/^(replayL|l)ocation$/.test(name)) other.location = map(value);
            else other[name] = value;
            return true;
          },
        }));
      }
      return known.get(other);
    };
    for (const name of ["IFrame", "Frame"]) wrapGetter(window[`HTML${name}Element`]?.prototype, "contentWindow", reach);
    wrapGetter(MessageEvent.prototype, "source", reach);
  }

  // What rewritten scripts have for `location`: the URL that the page had. Members of this name that are not those of a
  // window or a document are what they were.
  if (site) {
    const real = location;
    const url = () => new URL(unmap(real.href));
    const shown = Object.create(Location.prototype);
    const accessor = (name, set) =>
      Object.defineProperty(shown, name, { get: () => url()[name], set, enumerable: true });
    accessor("origin");
    accessor("href", (to) => (real.href = map(to)));
    for (const name of ["pathname", "search", "hash"]) accessor(name, (value) => (real[name] = value));
    for (const name of ["protocol", "host", "hostname", "port"]) {
      accessor(name, (value) => (real.href = map(Object.assign(url(), { [name]: value }).href)));
    }
    for (const name of ["assign", "replace"]) define(shown, name, (to) => real[name](map(to)));
    define(shown, "reload", () => real.reload());
    for (const name of ["toString", "valueOf"]) define(shown, name, () => url().href);
    const isPlace = (object) => object === window || object === document;
    Object.defineProperty(Object.prototype, "replayLocation", {
      configurable: true,
      get() {
        return isPlace(this) ? shown : this.location;
      },
      set(to) {
        if (isPlace(this)) real.href = map(to);
        else this.location = to;
      },
    });
    define(window, "replayLead", map);
    let outermost = window;
    while (outermost.parent !== top && outermost.parent !== outermost) outermost = outermost.parent;
    const around = isOuter ? window : reach(parent);
    Object.defineProperty(window, "parent", { get: () => around, configurable: true });
    Object.defineProperty(window, "replayTop", { value: reach(outermost), writable: true, configurable: true });
  }

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
    const target = element.target || document.querySelector("base[target]")?.target;
    if (/^_(blank|top|parent)$/i.test(target)) element.target = "_self";
  };
  const lead = (form) => {
    stay(form);
    form.setAttribute("action", map(form.getAttribute("action") ?? baseOf.call(document)));
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
