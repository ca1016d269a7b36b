// Opens a WACZ file in ReplayWeb.page in headless Chromium, with no other network than loopback, and says for each
// given URL what is shown. Usage:
//
//     node replaywebpage.js FILE.wacz SCREENSHOT.png URL [URL...]
//
// Prints one JSON line per URL: url, title, text (the first 200 characters), pictures (loaded of all). The screenshot
// is of the first URL, in the reader. Ends with 1 where a URL shows no page. Packages: package.json.
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const { chromium } = require('playwright-core');

const [wacz, screenshot, ...urls] = process.argv.slice(2);
const homes = require.resolve.paths('replaywebpage').map((home) => path.join(home, 'replaywebpage'));
const reader = homes.find((home) => fs.existsSync(path.join(home, 'ui.js')));
const PATIENCE_MS = 20_000;

const index = (url) => `<!doctype html><meta charset=utf-8><title>reader</title>
<style>html, body { margin: 0; height: 100% } replay-web-page { height: 100%; width: 100%; display: block }</style>
<script src="/ui.js"></script>
<replay-web-page source="/archive.wacz" url="${url.replace(/&/g, '&amp;').replace(/"/g, '&quot;')}"
  replayBase="/replay/" embed="default" deepLink></replay-web-page>`;

// files of the reader, and the archive with the ranges that it asks for
const server = http.createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost/');
  const send = (type, body) => response.writeHead(200, { 'content-type': type }).end(body);
  if (pathname === '/ui.js') return send('text/javascript', fs.readFileSync(path.join(reader, 'ui.js')));
  if (pathname === '/replay/sw.js') return send('text/javascript', fs.readFileSync(path.join(reader, 'sw.js')));
  if (pathname === '/open') return send('text/html', index(searchParams.get('url')));
  if (pathname !== '/archive.wacz') return response.writeHead(404).end();
  const size = fs.statSync(wacz).size;
  const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
  let [start, end] = [0, size - 1];
  if (range) {
    start = range[1] ? Number(range[1]) : Math.max(size - Number(range[2]), 0);
    end = range[1] && range[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
  }
  const headers = { 'accept-ranges': 'bytes', 'content-length': end - start + 1, 'content-type': 'application/wacz' };
  if (range) headers['content-range'] = `bytes ${start}-${end}/${size}`;
  response.writeHead(range ? 206 : 200, headers);
  if (request.method === 'HEAD') return response.end();
  fs.createReadStream(wacz, { start, end }).pipe(response);
});

// the frame in which the reader shows the archived page
async function shown(page, url) {
  const until = Date.now() + PATIENCE_MS;
  while (Date.now() < until) {
    for (const frame of page.frames()) {
      if (!/\/replay\/w\/.*mp_\//.test(frame.url())) continue;
      const found = await frame.evaluate(() => document.readyState === 'complete' && {
        title: document.title,
        text: (document.body?.innerText ?? '').slice(0, 200),
        pictures: [...document.images].map((image) => image.complete && image.naturalWidth > 0),
      }).catch(() => false);
      if (found) return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the reader shows nothing for ${url}`);
}

async function main() {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://localhost:${server.address().port}`;
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'reader-'));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    viewport: { width: 1280, height: 800 },
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost'],
  });
  let failed = false;
  for (const [number, url] of urls.entries()) {
    const page = await browser.newPage();
    await page.goto(`${origin}/open?url=${encodeURIComponent(url)}`);
    try {
      const { title, text, pictures } = await shown(page, url);
      const loaded = pictures.filter(Boolean).length;
      console.log(JSON.stringify({ url, title, text, pictures: `${loaded} of ${pictures.length}` }));
      failed ||= /Archived Page Not Found/.test(text) || loaded < pictures.length;
    } catch (error) {
      console.log(JSON.stringify({ url, error: error.message }));
      failed = true;
    }
    if (number === 0) await page.screenshot({ path: screenshot });
    await page.close();
  }
  await browser.close();
  server.close();
  fs.rmSync(profile, { recursive: true });
  process.exitCode = failed ? 1 : 0;
}

main();
