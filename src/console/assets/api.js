// Requests to the console itself, and the token that lets this page give orders.

const KEY = "crawler-token";
let token = null;

// storage can be forbidden: the token then lasts as long as the page
function store(value) {
  token = value;
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // see above
  }
}

/** Takes the token out of the address, where it would be seen, kept in the history and passed on. */
export function takeToken() {
  try {
    token = sessionStorage.getItem(KEY);
  } catch {
    token = null;
  }
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return;
  store(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

export const hasToken = () => Boolean(token);

/** JSON of `path`; an error says what the console says. */
export async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return read(await fetch(query ? `${path}?${query}` : path, { cache: "no-store" }));
}

/** Gives an order as the control socket takes it, and returns the reply. */
export async function order(command) {
  const answer = await fetch("/api/ctl", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Crawler-Token": token ?? "" },
    body: JSON.stringify(command),
  });
  if (answer.status === 403) store(null);
  return read(answer);
}

async function read(answer) {
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(body?.error ?? body?.message ?? `the console answers with status ${answer.status}`);
  if (body === null) throw new Error("the answer of the console cannot be read");
  return body;
}
