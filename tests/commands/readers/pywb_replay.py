"""Replays pages by the server of pywb, on loopback.

usage: pywb_replay.py FOLDER QUESTIONS

FOLDER/collections/NAME has archive and, where the index is not pywb's own, indexes. A question is a line of JSON:
collection, timestamp, method, url, type, body. The answer to each is a line of JSON: status, type, body (Base64).
"""
from gevent.monkey import patch_all

patch_all()

import base64
import contextlib
import http.client
import json
import os
import sys

from pywb.apps.frontendapp import FrontEndApp
from pywb.manager.manager import main as manage
from pywb.utils.geventserver import GeventServer, RequestURIWSGIHandler


def answer(port, asked):
    server = http.client.HTTPConnection("127.0.0.1", port)
    # as it was sent, without what is made for browsers
    path = f"/{asked['collection']}/{asked['timestamp']}id_/{asked['url']}"
    fields = {"Content-Type": asked["type"]} if asked["type"] else {}
    server.request(asked["method"], path, body=asked["body"].encode() or None, headers=fields)
    got = server.getresponse()
    body = base64.b64encode(got.read()).decode()
    server.close()
    return {"status": got.status, "type": got.headers.get("Content-Type", ""), "body": body}


def main():
    folder, questions = sys.argv[1], os.path.abspath(sys.argv[2])
    os.chdir(folder)
    for name in os.listdir("collections"):
        if not os.path.isdir(f"collections/{name}/indexes"):
            os.mkdir(f"collections/{name}/indexes")
            manage(["reindex", name])
    server = GeventServer(FrontEndApp(), port=0, hostname="127.0.0.1", handler_class=RequestURIWSGIHandler)
    with open(questions, encoding="utf-8") as lines:
        answers = [answer(server.port, json.loads(line)) for line in lines]
    server.stop()
    return answers


# what pywb says of its work is no answer
with contextlib.redirect_stdout(sys.stderr):
    told = main()
for one in told:
    print(json.dumps(one))
