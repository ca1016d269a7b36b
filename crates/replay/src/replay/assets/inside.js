// Runs at the beginning of an archived worker at an origin of its own: what it asks for is asked of the archive.
(() => {
  "use strict";
  const SITE = /^(.+)\.(https?)(?:-(\d+))?\.(\d{1,14})\.(\w+\.localhost:\d+)$/;
  const real = self.location;
  const site = SITE.exec(new URL(real.origin).host);
  if (!site) return;
  const [, host, scheme, port, time, sites] = site;
  const page = `${scheme}://${host}${port ? `:${port}` : ""}`;
  const map = (reference) => {
    const text = String(reference);
    const url = URL.canParse(text, real.href) && new URL(text, real.href);
    if (!url || !/^https?:$/.test(url.protocol) || url.host.endsWith(sites)) return text;
    const { hostname, pathname, search, hash } = url;
    const behind = `${url.protocol.slice(0, -1)}${url.port && `-${url.port}`}.${time}.${sites}`;
    return `http://${hostname}.${behind}${pathname}${search}${hash}`;
  };
  const define = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true });
  const wrap = (object, name, change) => {
    const own = object?.[name];
    if (!own) return;
    define(object, name, function (...given) {
      return own.apply(this, change(given));
    });
  };
  const asked = (input) => (input instanceof Request ? new Request(map(input.url), input) : map(input));
  wrap(self, "fetch", ([input, ...rest]) => [asked(input), ...rest]);
  wrap(self.XMLHttpRequest?.prototype, "open", ([method, url, ...rest]) => [method, map(url), ...rest]);
  wrap(self, "importScripts", (urls) => urls.map(map));
  for (const name of ["Worker", "EventSource"]) {
    const own = self[name];
    if (own) {
      define(self, name, class extends own {
        constructor(url, ...rest) {
          super(map(url), ...rest);
        }
      });
    }
  }
  for (const name of ["WebSocket", "WebTransport", "WebSocketStream"]) if (name in self) define(self, name, undefined);
  const shown = Object.create(WorkerLocation.prototype);
  const url = new URL(real.protocol === "blob:" ? real.href : page + real.pathname + real.search);
  for (const name of ["href", "origin", "protocol", "host", "hostname", "port", "pathname", "search", "hash"]) {
    define(shown, name, url[name]);
  }
  define(shown, "toString", () => url.href);
  Object.defineProperty(Object.prototype, "replayLocation", {
    configurable: true,
    get() {
      return this === self ? shown : this.location;
    },
    set(value) {
      this.location = value;
    },
  });
  define(self, "replayLead", map);
})();
