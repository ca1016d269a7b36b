// Stands in for the stream of events and for time, before the page's own code runs: `tell(n)` sends n states, a second
// apart by the crawl's clock, and a point after each fifth. What the page does every few seconds it does all the time.
(() => {
  const sources = new Set();
  class Stream extends EventTarget {
    constructor() {
      super();
      sources.add(this);
    }
    close() {
      sources.delete(this);
    }
  }
  window.EventSource = Stream;
  const slowly = window.setTimeout;
  window.setTimeout = (act, ms, ...rest) => slowly(act, ms < 10_000 ? ms / 40 : ms, ...rest);
  let second = 0;
  const start = Date.now();
  const say = (name, data) => {
    for (const source of sources) source.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  };
  window.tell = async (states) => {
    const state = await (await fetch("/api/state")).json();
    for (const end = second + states; second < end; second += 1) {
      const { statistics, gauges } = state.live.figures;
      statistics.pages_stored += second % 97;
      statistics.requests += second % 101;
      statistics.bytes_received += 31_000 * (second % 89);
      statistics.statuses[404] = second;
      gauges.queued = 1_000_000 - 7 * second;
      state.running = true;
      state.live.phase = second % 300 < 290 ? "crawling" : "paused";
      state.bottleneck = { code: "politeness", phrase: `politeness: ${second} hosts wait` };
      say("state", state);
      if (second % 5 === 0) {
        const n = (second / 5) % 60;
        const classes = { "2xx": n, "3xx": n / 9, "4xx": n / 17, "5xx": n / 31, error: n / 50 };
        const rates = { pages_s: n, requests_s: n * 1.3, bytes_s: n * 31_000 };
        say("point", { at: start + second * 1_000, ...rates, classes, ready: n, waiting: 700 - n, in_flight: 64 });
      }
      // the page paints now and then, as it would in an hour
      if (second % 20 === 0) await new Promise((next) => slowly(next));
    }
    return sources.size;
  };
})();
