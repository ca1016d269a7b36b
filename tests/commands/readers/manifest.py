"""Verifies a signed manifest as docs/IDENTITY.md shows it.

usage: manifest.py FILE
"""
import base64, hashlib, json, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

*lines, seal = open(sys.argv[1], "rb").read().splitlines(keepends=True)
seal, sha256 = json.loads(seal), hashlib.sha256(b"".join(lines)).hexdigest()
assert sha256 == seal["sha256"]
key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(seal["key"]["x"] + "="))
key.verify(base64.b64decode(seal["signature"]), b"crawler-manifest sha256:" + sha256.encode())
print(len(lines), seal["key"]["kid"])
