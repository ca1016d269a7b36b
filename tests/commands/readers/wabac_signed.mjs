// Says what wabac.js, the engine of ReplayWeb.page, finds when it verifies a signed WACZ file.
//
// usage: wabac_signed.mjs FOLDER FILE
//
// A line of JSON for each thing that it has compared: id, expected, matched. TOOLS is where the packages are.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, name] = process.argv.slice(2);
const modules = join(process.env.TOOLS, "node_modules");
const found = createRequire(join(modules, "x.js"));
found("fake-indexeddb/auto");
// what it says of its work is no answer
console.log = console.error;
// the scope of a service worker, as far as it is used
Object.assign(globalThis, { self: globalThis, location: new URL("http://127.0.0.1/"), addEventListener() {} });
const { SWCollections } = await import(
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

const collection = await opened(name);
for (const compared of await collection.store.db.getAll("verification")) {
  process.stdout.write(`${JSON.stringify(compared)}\n`);
}
process.exit(0);
