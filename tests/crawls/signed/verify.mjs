// Verifies requests.jsonl by packages of npm: web-bot-auth where Signature-Agent is a string, http-message-sig where it
// is a dictionary.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { webcrypto } from "node:crypto";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.TOOLS}/`).href + "x.js");
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { verify, jwkToKeyID } = await load("web-bot-auth");
const { verifierFromJWK, helpers } = await load("web-bot-auth/crypto");
const current = await load("http-message-sig-3");

const root = process.argv[2];
const directory = JSON.parse(readFileSync(`${root}/identity/http-message-signatures-directory`));
const keys = new Map();
for (const key of directory.keys) {
  const thumbprint = await jwkToKeyID(key, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE);
  if (thumbprint !== key.kid) throw new Error(`${thumbprint} is known as ${key.kid}`);
  keys.set(thumbprint, key);
}

async function ofString(request) {
  const keyid = request.headers.get("signature-input").match(/keyid="([^"]+)"/)[1];
  await verify(request, await verifierFromJWK(keys.get(keyid)));
}

async function ofDictionary(request) {
  await current.verifySignature(request, {
    policy: {
      algorithms: ["ed25519"],
      requiredComponents: ["@authority", current.component("signature-agent", { key: "sig1" })],
      requiredParameters: ["created", "expires", "keyid", "nonce", "tag"],
      maxAge: 300,
      clockSkew: 5,
    },
    async resolveVerifier(candidate) {
      const key = await webcrypto.subtle.importKey(
        "jwk", keys.get(candidate.parameters.keyid), { name: "Ed25519" }, true, ["verify"]);
      return {
        algorithm: "ed25519",
        verify: (data, signature) => webcrypto.subtle.verify("Ed25519", key, signature, data),
      };
    },
  });
}

let verified = 0;
for (const line of readFileSync(`${root}/requests.jsonl`, "utf8").trim().split("\n")) {
  const { method, url, fields } = JSON.parse(line);
  const headers = new Headers(fields.filter(([name]) => name !== "connection"));
  const isString = headers.get("signature-agent").startsWith('"');
  const check = (url) =>
    isString ? ofString({ method, url, headers }) : ofDictionary(new Request(url, { method, headers }));
  await check(url);
  verified += 1;
  const isRefused = await check("http://other.example/").then(() => false, () => true);
  if (!isRefused) throw new Error("a signature for one host was taken for that of another");
}
console.log(`verified ${verified}`);
