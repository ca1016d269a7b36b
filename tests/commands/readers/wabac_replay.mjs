// Replays pages by wabac.js, the engine of ReplayWeb.page, without its service worker.
//
// usage: wabac_replay.mjs FOLDER QUESTIONS
//
// A collection is a file of FOLDER. A question is a line of JSON: collection, timestamp, method, url, type, body. The
// answer to each is a line of JSON: status, type, body (Base64). TOOLS is where the packages are.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, questions] = process.argv.slice(2);
const modules = join(process.env.TOOLS, "node_modules");
const found = createRequire(join(modules, "x.js"));
found("fake-indexeddb/auto");
// what it says of its work is no answer
console.log = console.error;
// the scope of a service worker, as far as it is used
Object.assign(globalThis, { self: globalThis, location: new URL("http://127.0.0.1/"), addEventListener() {} });
const { ArchiveRequest, SWCollections } = await import(
  pathToFileURL(join(modules, "@webrecorder/wabac/dist/swlib.js")).href
);

const prefix = "http://127.0.0.1/w/";
const prefixes = { static: prefix, root: prefix, main: prefix, proxy: prefix, api: prefix };
const collections = new SWCollections(prefixes);

async function opened(name) {
  const arrayBuffer = new Uint8Array(readFileSync(join(folder, name)));
  const file = { sourceUrl: `http://127.0.0.1/${name}`, name, size: arrayBuffer.length, extra: { arrayBuffer } };
  const said = [];
  if (!(await collections.addCollection({ name, file }, (...what) => said.push(what)))) {
    throw new Error(`${name} cannot be read: ${JSON.stringify(said)}`);
  }
  return await collections.getColl(name);
}

function replayed(collection, asked, address) {
  const headers = asked.type ? { "Content-Type": asked.type } : {};
  const request = new Request(asked.url, { method: asked.method, headers, body: asked.body || undefined });
  return collection.handleRequest(new ArchiveRequest(address, request), { request });
}

const open = new Map();
for (const line of readFileSync(questions, "utf8").trimEnd().split("\n")) {
  const asked = JSON.parse(line);
  if (!open.has(asked.collection)) {
    open.set(asked.collection, await opened(asked.collection));
  }
  // as it was sent, without what is made for browsers
  let got = await replayed(open.get(asked.collection), asked, `${asked.timestamp}id_/${asked.url}`);
  // to the WACZ that has it, by its hash
  const part = got.status === 302 && got.headers.get("Location")?.split(`/${asked.collection}/`)[1];
  if (part) {
    got = await replayed(open.get(asked.collection), asked, part);
  }
  const body = Buffer.from(await got.arrayBuffer()).toString("base64");
  const answer = { status: got.status, type: got.headers.get("Content-Type") ?? "", body };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
