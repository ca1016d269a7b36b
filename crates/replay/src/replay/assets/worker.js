// Leads requests of archived pages to the archive: /x, asked for by /TIME/http://host/page, becomes /TIME/http://host/x.
// Nothing is asked of the network but the server that this script is from, and nothing is kept.
"use strict";
const PATH = /^\/(\d{1,14})(?:id_|rd_)?\/(.+)$/s;
const OWN = /^\/(replay-[a-z.]+|timegate\/|timemap\/)/;
// of this the start page asks whether it is resolved: an answer from here would say so
const GO = /^go\.\w+\.localhost$/;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if ((url.protocol !== "http:" && url.protocol !== "https:") || GO.test(url.hostname)) return;
  const rest = url.pathname + url.search;
  if (url.origin === location.origin && (PATH.test(rest) || OWN.test(rest))) return;
  event.respondWith(led(event, url, rest));
});

async function led(event, url, rest) {
  const { request } = event;
  const client = await self.clients.get(event.clientId);
  const page = client && new URL(client.url);
  const found = page && PATH.exec(page.pathname + page.search);
  if (!found) return new Response("no archived page asked for this", { status: 404 });
  let target = url.href;
  if (url.origin === location.origin) {
    try {
      target = new URL(rest, found[2]).href;
    } catch {
      return new Response("no URL", { status: 404 });
    }
  }
  const fields = new Headers();
  for (const name of ["accept", "accept-language", "content-type", "range"]) {
    if (request.headers.has(name)) fields.set(name, request.headers.get(name));
  }
  const { method } = request;
  const body = method === "GET" || method === "HEAD" ? undefined : await request.arrayBuffer();
  return fetch(`/${found[1]}/${target}`, { method, headers: fields, body });
}
