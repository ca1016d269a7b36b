// Opens pages in headless Chromium and takes a screenshot of each when it has come to rest.
//
//     node shots.js JOB.json
//
// The job: { chromium, proxy, width, height, wacz, reader, live, pages: [{ url, png }] }. With `wacz` the pages are
// opened from that file in ReplayWeb.page, whose files are in the directory `reader`, served here on loopback; `url` is
// that of the archived page then. `live` are the origins of the site: requests that go there are reported. Prints one JSON
// line per page: { url, error, title, text, failed: [what was answered by 4xx, 5xx or not], live: [what went there] }.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const { chromium } = require("playwright-core");

const job = JSON.parse(fs.readFileSync(process.argv[2]));
const PATIENCE_MS = 240_000;
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.*",
];

// the reader, and the archive with the ranges that it asks for
function readerServer() {
  const index = (url) => `<!doctype html><meta charset=utf-8><title>reader</title>
    <style>html, body { margin: 0; height: 100%; overflow: hidden }
    replay-web-page { position: fixed; inset: 0; display: block }</style><script src="/ui.js"></script>
    <replay-web-page source="/archive.wacz" url="${url.replace(/&/g, "&amp;").replace(/"/g, "&quot;")}"
      replayBase="/replay/" embed="replayonly"></replay-web-page>`;
  return http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost/");
    const send = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
    if (pathname === "/ui.js") return send("text/javascript", fs.readFileSync(path.join(job.reader, "ui.js")));
    if (pathname === "/replay/sw.js") return send("text/javascript", fs.readFileSync(path.join(job.reader, "sw.js")));
    if (pathname === "/open") return send("text/html", index(searchParams.get("url")));
    if (pathname !== "/archive.wacz") return response.writeHead(404).end();
    const size = fs.statSync(job.wacz).size;
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "");
    let [start, end] = [0, size - 1];
    if (range) {
      start = range[1] ? Number(range[1]) : Math.max(size - Number(range[2]), 0);
      end = range[1] && range[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
    }
    const headers = { "accept-ranges": "bytes", "content-length": end - start + 1, "content-type": "application/wacz" };
    if (range) headers["content-range"] = `bytes ${start}-${end}/${size}`;
    response.writeHead(range ? 206 : 200, headers);
    if (request.method === "HEAD") return response.end();
    fs.createReadStream(job.wacz, { start, end }).pipe(response);
  });
}

// the frame that shows the page: in the reader one of those within
async function frameOf(page) {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    const frame = job.wacz ? page.frames().find((frame) => /\/replay\/w\/.*mp_\//.test(frame.url())) : page.mainFrame();
    const isThere = frame && await frame.evaluate(() => document.readyState === "complete"
      && (document.body?.innerText ?? "").length > 0).catch(() => false);
    if (isThere) return frame;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("nothing is shown");
}

// a screenshot when it has come to rest: the same three times in a row
async function shot(page, png) {
  let [last, same] = [null, 0];
  for (let tries = 0; tries < 60 && same < 3; tries++) {
    const now = await page.screenshot({ animations: "disabled", caret: "hide", timeout: 60000 });
    same = last !== null && now.equals(last) ? same + 1 : 0;
    last = now;
    fs.writeFileSync(png, now);
    await new Promise((done) => setTimeout(done, 300));
  }
  if (same < 3) throw new Error("it does not come to rest");
}

async function open(browser, { url, png }, origin) {
  const context = await browser.newContext({
    viewport: { width: job.width, height: job.height }, reducedMotion: "reduce", locale: "en-US", timezoneId: "UTC",
    ignoreHTTPSErrors: true, serviceWorkers: job.wacz ? "allow" : "block",
  });
  const [failed, live] = [[], []];
  const result = { url, failed, live };
  // of what the reader asks for itself, some is not there until its service worker runs
  const isPages = (url) => !job.wacz || /\/replay\/w\/[^/]+\/[0-9]*[a-z]+_\//.test(url);
  try {
    context.on("response", (response) => {
      if (response.status() >= 400 && isPages(response.url())) failed.push(`${response.status()} ${response.url()}`);
    });
    context.on("requestfailed", (request) => {
      if (isPages(request.url())) failed.push(`${request.failure()?.errorText} ${request.url()}`);
    });
    context.on("request", (request) => {
      if (!job.proxy && job.live.includes(new URL(request.url()).origin)) live.push(request.url());
    });
    const page = await context.newPage();
    await page.goto(job.wacz ? `${origin}/open?url=${encodeURIComponent(url)}` : url, { timeout: PATIENCE_MS });
    const frame = await frameOf(page);
    await page.waitForLoadState("networkidle", { timeout: 20000 }).catch(() => {});
    await frame.evaluate(() => document.fonts.ready.then(() => null));
    await shot(page, png);
    result.title = await frame.title();
    result.text = (await frame.evaluate(() => document.body.innerText)).slice(0, 2000);
  } catch (error) {
    result.error = String(error.message ?? error).split("\n")[0];
  }
  await context.close();
  return result;
}

async function main() {
  const server = job.wacz && readerServer();
  if (server) await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const origin = server && `http://localhost:${server.address().port}`;
  const browser = await chromium.launch({
    executablePath: job.chromium, args: job.proxy ? [...FLAGS, "--proxy-bypass-list=<-loopback>"] : FLAGS,
    ...(job.proxy && { proxy: { server: job.proxy } }),
  });
  for (const page of job.pages) console.log(JSON.stringify(await open(browser, page, origin)));
  await browser.close();
  server?.close();
}

main();
