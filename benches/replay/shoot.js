// Opens pages in headless Chromium, takes a screenshot of each, and notes every request that it makes.
//
//     node shoot.js JOB.json
//
// The job: { chromium, proxy, framed, hosts, width, height, pages: [{ url, png }], report }. With `proxy`, every
// request goes there, those to loopback too. With `framed`, the picture is that of the page's first frame, at this size.
// `hosts` has addresses of names.
// The report is an array in the order of the pages: { url, error, requests, named }.
//   requests: { url, type, by, cause, status, memento }; `cause` and `by` are CDP's initiator: what asked for it
//             ("parser", "script", ...), and the document, sheet or script that did
//   named:    what markup and sheets of the page name for a browser to load, asked for by this one or not (icons, other
//             sizes in srcset, fonts and pictures of rules that do not apply): { url, by, how }
"use strict";

const fs = require("fs");
const { chromium } = require("playwright-core");

const FRAME_MS = 1500;
const FRAME_MS_MAX = 30000;
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
  // frames of other sites in the same process, so that one session sees their requests
  "--disable-site-isolation-trials", "--disable-features=IsolateOrigins,site-per-process",
];
// nothing but loopback is looked up or reached
const NOWHERE = ["MAP * ~NOTFOUND", "EXCLUDE 127.*", "EXCLUDE *.localhost"];

/// Runs in the page: what its markup, as it was served, and its sheets name.
async function whatPagesName() {
  const found = new Map();
  const add = (url, base, how, by) => {
    try {
      const full = new URL(url.trim(), base);
      full.hash = "";
      if (/^https?:$/.test(full.protocol) && !found.has(full.href)) found.set(full.href, { url: full.href, by, how });
    } catch { /* no URL */ }
  };
  const page = location.href;
  const markup = new DOMParser().parseFromString(await (await fetch(page)).text(), "text/html");
  const base = new URL(markup.querySelector("base[href]")?.getAttribute("href") ?? "", page).href;
  const embeds = {
    src: "img, source, script, iframe, frame, embed, video, audio, track, input[type=image i]",
    href: "link, image, use, feImage", "xlink:href": "image, use, feImage", data: "object", poster: "video",
    srcset: "img, source", imagesrcset: "link", background: "body, table, thead, tbody, tfoot, tr, td, th",
  };
  const loads = /^(stylesheet|icon|apple-touch-icon(-precomposed)?|mask-icon|manifest|preload|modulepreload)$/i;
  for (const [attribute, elements] of Object.entries(embeds)) {
    for (const element of markup.querySelectorAll(elements)) {
      const value = element.getAttribute(attribute);
      if (!value) continue;
      const name = element.localName;
      const rel = element.getAttribute("rel") ?? "";
      if (name === "link" && !rel.split(/\s+/).some((word) => loads.test(word))) continue;
      const how = name === "link" ? `link[rel="${rel}"]` : `${name}[${attribute}]`;
      const urls = attribute.endsWith("srcset") ? value.split(/,\s+|,$/).map((c) => c.trim().split(/\s/)[0]) : [value];
      for (const url of urls) add(url, base, how, page);
    }
  }
  if (!markup.querySelector("link[rel~=icon i]")) add("/favicon.ico", page, "favicon.ico", page);

  const values = (text, from, how, by) => {
    for (const [, quoted, bare] of text.matchAll(/url\(\s*(?:"([^"]*)"|([^)"'\s]*))\s*\)/g)) {
      const url = quoted ?? bare;
      if (url && !url.startsWith("#")) add(url, from, how, by);
    }
  };
  const rules = (list, from, by) => {
    for (const rule of list) {
      if (rule instanceof CSSImportRule) {
        add(rule.href, from, "@import", by);
        if (rule.styleSheet) sheet(rule.styleSheet);
      } else if (rule.style && !rule.cssRules?.length) {
        values(rule.cssText, from, rule instanceof CSSFontFaceRule ? "@font-face" : rule.selectorText ?? "rule", by);
      } else if (rule.cssRules) {
        rules(rule.cssRules, from, by);
      }
    }
  };
  function sheet(one) {
    try {
      rules(one.cssRules, one.href ?? base, one.href ?? page);
    } catch { /* a sheet of another origin */ }
  }
  for (const one of document.styleSheets) if (one.href && found.has(one.href)) sheet(one);
  for (const style of markup.querySelectorAll("style")) {
    for (const [, url] of style.textContent.matchAll(/@import\s+(?:url\()?\s*["']?([^"')\s;]+)/g)) {
      add(url, base, "@import in style", page);
    }
    const parsed = new CSSStyleSheet();
    parsed.replaceSync(style.textContent);
    rules(parsed.cssRules, base, page);
  }
  for (const element of markup.querySelectorAll("[style]")) values(element.style.cssText, base, "style=", page);
  return [...found.values()];
}

/// Notes requests of `session` into the array that it returns.
async function noted(session) {
  const all = [];
  const open = new Map();
  session.on("Network.requestWillBeSent", ({ requestId, request, type, initiator, redirectResponse }) => {
    if (!/^https?:/.test(request.url)) return;
    if (redirectResponse && open.has(requestId)) ended(open.get(requestId), redirectResponse);
    const frame = initiator.stack?.callFrames[0] ?? initiator.stack?.parent?.callFrames[0];
    const by = redirectResponse ? open.get(requestId)?.url : initiator.url || frame?.url || null;
    const one = { url: request.url.split("#")[0], type, by, cause: redirectResponse ? "redirect" : initiator.type };
    open.set(requestId, one);
    all.push(one);
  });
  const ended = (one, response) => {
    one.status = response.status;
    const names = Object.keys(response.headers).map((name) => name.toLowerCase());
    one.memento = names.includes("memento-datetime");
  };
  session.on("Network.responseReceived", ({ requestId, response }) => {
    if (open.has(requestId)) ended(open.get(requestId), response);
  });
  session.on("Network.loadingFailed", ({ requestId, errorText }) => {
    if (open.has(requestId)) open.get(requestId).failed = errorText;
  });
  await session.send("Network.enable");
  return all;
}

/// A screenshot of `page` when it has come to rest, after scripts: the same twice in a row.
async function shot(page, png, clip) {
  let last = null;
  for (let tries = 0; tries < 10; tries++) {
    const now = await page.screenshot({ animations: "disabled", caret: "hide", timeout: 60000, clip });
    const still = last !== null && now.equals(last);
    fs.writeFileSync(png, now);
    if (still) return true;
    last = now;
    await new Promise((done) => setTimeout(done, 300));
  }
  return false;
}

// the size of a window whose frame has the size of the job, after the first page
let framing = null;

/// Gives the first frame of `page` the size of the job, and returns its place.
async function frameSized(page, job) {
  await page.locator("iframe").first().waitFor();
  const box = async () => await page.locator("iframe").first().boundingBox();
  const { width, height } = await box();
  const whole = page.viewportSize();
  await page.setViewportSize({
    width: Math.ceil(whole.width + job.width - width),
    height: Math.ceil(whole.height + job.height - height),
  });
  const { x, y } = await box();
  const { width: across, height: down } = page.viewportSize();
  // a frame that begins between two pixels would lose its last line
  if (Math.round(y) + job.height > down) await page.setViewportSize({ width: across, height: down + 1 });
  return { x: Math.round(x), y: Math.round(y), width: job.width, height: job.height };
}

async function shoot(browser, job, { url, png }) {
  // its own context: nothing is in a cache, so that each page asks for all that it needs
  const context = await browser.newContext({
    viewport: framing ?? { width: job.width, height: job.height }, reducedMotion: "reduce",
    serviceWorkers: job.framed ? "allow" : "block",
    ignoreHTTPSErrors: true, locale: "en-US", timezoneId: "UTC",
  });
  const result = { url, error: null, requests: [], named: [] };
  try {
    const page = await context.newPage();
    const requests = await noted(await context.newCDPSession(page));
    await page.goto(url, { waitUntil: "load", timeout: 60000 });
    if (job.framed) {
      const before = page.viewportSize();
      await frameSized(page, job);
      framing = page.viewportSize();
      // pages that scroll when they begin have to begin at this size
      if (framing.height !== before.height || framing.width !== before.width) await page.reload({ timeout: 60000 });
      // a worker reads its archive before the frame has a page
      const hasPage = () => /^http/.test(page.frames()[1]?.url() ?? "");
      for (const until = Date.now() + FRAME_MS_MAX; !hasPage() && Date.now() < until;) await page.waitForTimeout(100);
      // the frame may begin only now
      await page.waitForTimeout(FRAME_MS);
    }
    await page.waitForLoadState("networkidle", { timeout: job.framed ? 5000 : 15000 }).catch(() => { result.busy = true; });
    await page.evaluate("document.fonts.ready.then(() => true)");
    // what is around the frame may have grown meanwhile
    const clip = job.framed ? await frameSized(page, job) : undefined;
    result.still = await shot(page, png, clip);
    result.requests = [...requests];
    if (!job.proxy && !job.framed) result.named = await page.evaluate(whatPagesName);
  } catch (error) {
    result.error = String(error.message ?? error).split("\n")[0];
  } finally {
    await context.close();
  }
  return result;
}

const TABS = 3;

async function main() {
  const job = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
  const proxy = job.proxy ? { server: job.proxy, bypass: "<-loopback>" } : undefined;
  const named = Object.entries(job.hosts).map(([name, address]) => `MAP ${name} ${address}`);
  const args = [...FLAGS, `--host-resolver-rules=${[...named, ...NOWHERE].join(", ")}`];
  const browser = await chromium.launch({ executablePath: job.chromium, headless: true, args, proxy });
  // several at a time: a page mostly waits until its network is quiet
  const results = [];
  let next = 0;
  const one = async () => {
    for (let number = next++; number < job.pages.length; number = next++) {
      results[number] = await shoot(browser, job, job.pages[number]);
    }
  };
  await Promise.all(Array.from({ length: TABS }, one));
  await browser.close();
  fs.writeFileSync(job.report, JSON.stringify(results));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
