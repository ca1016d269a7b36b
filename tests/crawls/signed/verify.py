"""Verifies requests.jsonl, and the key directory with response.txt, by http-message-signatures of PyPI."""

import base64
import hashlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, algorithms

root = Path(sys.argv[1])
body = (root / "identity/http-message-signatures-directory").read_bytes()


def public_key(key):
    return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key["x"] + "="))


class Keys:
    keys = {key["kid"]: public_key(key) for key in json.loads(body)["keys"]}

    def resolve_public_key(self, key_id):
        return self.keys[key_id]


verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
verified = 0
for line in (root / "requests.jsonl").read_text().splitlines():
    request = json.loads(line)
    message = SimpleNamespace(method=request["method"], url=request["url"], headers=dict(request["fields"]))
    results = verifier.verify(message, expect_tag="web-bot-auth")
    assert len(results) == 1, request
    assert any("@authority" in name for name in results[0].covered_components), results
    verified += 1
    try:
        message.url = "http://other.example/"
        verifier.verify(message, expect_tag="web-bot-auth")
    except InvalidSignature:
        continue
    raise AssertionError("a signature for one host was taken for that of another")

fields = dict(line.split(": ", 1) for line in (root / "response.txt").read_text().splitlines())
assert fields["Content-Type"] == "application/http-message-signatures-directory+json", fields
digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
assert fields["Content-Digest"] == f"sha-256=:{digest}:", fields
url = "https://bot.example/.well-known/http-message-signatures-directory"
request = SimpleNamespace(method="GET", url=url, headers={})
response = SimpleNamespace(status_code=200, headers=fields, request=request)
for label in ["binding0", "binding1"]:
    results = verifier.verify(
        response, expect_tag="http-message-signatures-directory", expect_label=label, max_age=None
    )
    verified += len(results)
print(f"verified {verified}")
