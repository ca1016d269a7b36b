// The commands of `crawler ctl`. They are there for who has the token of the start line, and for nobody else.

import { hasToken, order } from "./api.js";
import { byId, el, setText } from "./dom.js";
import { count, counted } from "./format.js";

const REFUSED_SHOWN = 20;

export class Controls {
  #state = null;
  #busy = false;

  constructor() {
    const on = (id, act) => byId(id).addEventListener("click", act);
    on("ctl-pause", () => this.#give({ command: this.#isPaused() ? "resume" : "pause" }));
    on("ctl-checkpoint", () => this.#give({ command: "checkpoint" }));
    on("ctl-reload", () => this.#give({ command: "reload" }));
    on("ctl-seeds", () => byId("seeds-dialog").showModal());
    on("ctl-stop", () => byId("stop-dialog").showModal());
    for (const dialog of document.querySelectorAll("dialog")) {
      dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
    }
    on("stop-yes", () => {
      byId("stop-dialog").close();
      this.#give({ command: "stop" });
    });
    on("seeds-add", () => this.#addSeeds());
  }

  #isPaused() {
    return this.#state?.live?.phase === "paused";
  }

  /** Fits the buttons to a state. */
  show(state) {
    this.#state = state;
    const isOpen = hasToken() && Boolean(state.controls) && Boolean(state.running);
    byId("controls").hidden = !isOpen;
    byId("read-only").hidden = isOpen || !state.running;
    setText(byId("ctl-pause"), this.#isPaused() ? "Resume" : "Pause");
    this.#enable();
  }

  #enable() {
    for (const button of byId("controls").querySelectorAll("button")) {
      // not `disabled`: that would throw the focus away in the middle of a command
      button.setAttribute("aria-disabled", String(this.#busy));
    }
  }

  #say(text, isProblem = false) {
    setText(byId("reply"), text);
    byId("reply").classList.toggle("bad", isProblem);
  }

  async #give(command) {
    if (this.#busy) return null;
    this.#busy = true;
    this.#enable();
    this.#say(`${command.command}: waiting for the crawl …`);
    try {
      const reply = await order(command);
      this.#say(summary(reply), !reply.ok);
      return reply;
    } catch (error) {
      this.#say(`${command.command}: ${error.message}`, true);
      return null;
    } finally {
      this.#busy = false;
      if (this.#state) this.show(this.#state);
    }
  }

  async #addSeeds() {
    const input = byId("seeds-input");
    const lines = input.value
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line && !line.startsWith("#"));
    if (lines.length === 0) return input.focus();
    const reply = await this.#give({ command: "add-seeds", seeds: lines });
    const refused = reply?.seeds?.refused ?? [];
    const shown = refused.slice(0, REFUSED_SHOWN).map(({ seed, why }) => el("li", {}, `${seed}: ${why}`));
    if (refused.length > shown.length) shown.push(el("li", {}, `and ${count(refused.length - shown.length)} more`));
    byId("seeds-refused").replaceChildren(...shown);
    byId("seeds-problem").hidden = shown.length === 0 && Boolean(reply);
    setText(byId("seeds-said"), reply ? `${counted(refused.length, "line")} rejected:` : byId("reply").textContent);
    // what was rejected stays for correction, what was taken goes
    if (reply) input.value = lines.filter((line) => refused.some(({ seed }) => line.startsWith(seed))).join("\n");
    if (reply && refused.length === 0) byId("seeds-dialog").close();
  }
}

/** A reply in a sentence. */
function summary({ ok, message, seeds, checkpoint, settings }) {
  const parts = [message || (ok ? "Done" : "Rejected")];
  if (seeds?.refused.length > 0) parts.push(`${counted(seeds.refused.length, "line")} rejected`);
  if (checkpoint && !/checkpoint/.test(message)) parts.push(`in checkpoint ${count(checkpoint)}`);
  for (const { key, old, new: now } of settings?.changed ?? []) parts.push(`${key}: ${old} is now ${now}`);
  for (const { key, why } of settings?.refused ?? []) parts.push(`${key} ${why}`);
  return parts.join("; ");
}
