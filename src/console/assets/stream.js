// The stream of states. A stream that is lost is opened again, sooner or later; meanwhile everyone is told.

const RETRY_MS = [500, 1_000, 2_000, 5_000];
// a crawl that runs tells its state each second: after this time something is stuck
const SILENCE_MS = 15_000;

/**
 * Calls `onState` and `onPoint` with what comes, and `onChange` with "live", "lost" or "ended". After a loss it asks
 * for `/api/state` as well: a console that has too many streams still tells its state.
 */
export class Stream {
  #handlers;
  #source = null;
  #retries = 0;
  #timer = 0;
  #silence = 0;

  constructor(handlers) {
    this.#handlers = handlers;
  }

  open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const source = new EventSource("/api/events");
    this.#source = source;
    source.addEventListener("state", (event) => {
      this.#heard();
      this.#handlers.onState(JSON.parse(event.data));
    });
    source.addEventListener("point", (event) => {
      this.#heard();
      this.#handlers.onPoint(JSON.parse(event.data));
    });
    source.addEventListener("end", () => this.#lost("ended"));
    source.addEventListener("error", () => this.#lost("lost"));
    this.#watch();
  }

  #heard() {
    this.#retries = 0;
    this.#watch();
    this.#handlers.onChange("live");
  }

  #watch() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#lost("lost"), SILENCE_MS);
  }

  #lost(how) {
    clearTimeout(this.#silence);
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.#handlers.onChange(how);
    const wait = RETRY_MS[Math.min(this.#retries, RETRY_MS.length - 1)];
    this.#retries += 1;
    this.#timer = setTimeout(() => {
      this.#handlers.onRetry();
      this.open();
    }, wait);
  }
}
