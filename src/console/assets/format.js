// Figures as people read them, in the words and units of the command line.

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
export const NONE = "–";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** 1,234,567 */
export function count(value) {
  return isNumber(value) ? GROUPED.format(value) : NONE;
}

/** 9,999, 12.3k, 4.56M */
export function short(value) {
  if (!isNumber(value)) return NONE;
  if (value < 10_000) return count(value);
  const [scale, unit] = value < 1e6 ? [1e3, "k"] : value < 1e9 ? [1e6, "M"] : [1e9, "G"];
  const scaled = value / scale;
  return scaled.toFixed(scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0) + unit;
}

/** 17 B, 1.4 MiB, 512 GiB */
export function size(bytes) {
  if (!isNumber(bytes)) return NONE;
  let [scaled, unit] = [bytes, 0];
  while (scaled >= 999.5 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${scaled.toFixed(scaled < 9.95 && unit > 0 ? 1 : 0)} ${UNITS[unit]}`;
}

/** 0.52, 8.4, 310 */
export function rate(perSecond) {
  if (!isNumber(perSecond)) return NONE;
  if (perSecond === 0) return "0";
  return perSecond < 0.995 ? perSecond.toFixed(2) : perSecond < 99.5 ? perSecond.toFixed(1) : count(perSecond);
}

/** 7 s, 3 min 05 s, 2 h 10 min, 5 d 07 h */
export function span(seconds) {
  if (!isNumber(seconds)) return NONE;
  const s = Math.max(0, Math.floor(seconds));
  const two = (value) => String(value).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${two(Math.floor(s / 60) % 60)} min`;
  return `${Math.floor(s / 86_400)} d ${two(Math.floor(s / 3_600) % 24)} h`;
}

/** 97 %, and the first digit behind the point where that counts: 99.8 % */
export function percent(share) {
  if (!isNumber(share)) return NONE;
  const value = Math.min(1, Math.max(0, share)) * 100;
  return `${value.toFixed(value >= 1 && value < 99 ? 0 : 1)} %`;
}

/** A short time: 50 ms, 1.5 s, 2 min 00 s */
export function brief(ms) {
  if (!isNumber(ms)) return NONE;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(ms < 9_950 ? 1 : 0)} s` : span(ms / 1_000);
}

/** The time of day in the reader's zone: 18:04:05 */
export function clock(ms, seconds = true) {
  if (!isNumber(ms)) return NONE;
  const date = new Date(ms);
  const parts = [date.getHours(), date.getMinutes(), ...(seconds ? [date.getSeconds()] : [])];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** 2026-11-21 04:38:00 UTC, of milliseconds or of an ISO date. */
export function date(moment) {
  const date = new Date(moment);
  if (moment === null || moment === undefined || Number.isNaN(date.getTime())) return NONE;
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** "1 host", "1,234 hosts" */
export function counted(value, one) {
  return `${count(value)} ${one}${value === 1 ? "" : "s"}`;
}

/** About how long something takes: "40 s", "31 min", "5 h", "3 days". */
export function about(seconds) {
  if (!isNumber(seconds)) return NONE;
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  return seconds < 36 * 3_600 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** What a name of the crawler says: HostPages and host_pages become "host pages". */
export function words(name) {
  return String(name ?? "")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/_+/g, " ")
    .toLowerCase();
}

/** What a status code means, in the words of HTTP. */
export function meaning(status) {
  return MEANINGS[status] ?? CLASSES[Math.floor(status / 100)] ?? "unknown status";
}

/** A status as a reader needs it: "404 not found". */
export function statusText(status) {
  return status > 0 ? `${status} ${meaning(status)}` : "no answer";
}

const CLASSES = { 1: "interim", 2: "success", 3: "redirect", 4: "client error", 5: "server error" };
const MEANINGS = {
  200: "OK",
  204: "no content",
  206: "partial content",
  301: "moved permanently",
  302: "found elsewhere",
  303: "see other",
  304: "not modified",
  307: "temporary redirect",
  308: "permanent redirect",
  400: "bad request",
  401: "unauthorized",
  403: "forbidden",
  404: "not found",
  410: "gone",
  421: "misdirected request",
  429: "too many requests",
  500: "server error",
  502: "bad gateway",
  503: "service unavailable",
  504: "gateway timeout",
};
