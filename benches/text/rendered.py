"""Texts as `extract --text` has them, held against the innerText of Chromium: the share of pages that are the same.

    python3 rendered.py ENGINES FOLDER [COUNT]

ENGINES is the binary of engines/, FOLDER has HTML files; of those, COUNT are taken, by the hashes of their names.
Python needs websocket-client. The pages are served on the loopback by a policy under which scripts and style sheets do
not work and style attributes do: what is compared is the rendering by the default sheet. Any number of blanks is one.
For each page that differs, the first difference is printed; with how much of the texts is the same.
"""

import difflib
import functools
import hashlib
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import websocket

POLICY = "default-src 'none'; style-src-attr 'unsafe-inline'"


class Site(http.server.SimpleHTTPRequestHandler):
    def guess_type(self, path):
        # browsers look for a charset in the first kilobyte only: that is not what is compared
        try:
            pathlib.Path(path).read_text(encoding="utf-8")
            return "text/html; charset=utf-8"
        except ValueError:
            return "text/html"

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_):
        pass


class Browser:
    def __init__(self, home):
        options = ["--headless=new", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={home}"]
        resolver = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        self.process = subprocess.Popen(["chromium", *options, resolver], stderr=subprocess.DEVNULL)
        file = pathlib.Path(home) / "DevToolsActivePort"
        while not file.exists() or not file.read_text().strip():
            time.sleep(0.05)
        port = file.read_text().split()[0]
        request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
        target = json.load(urllib.request.urlopen(request))
        self.socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=60, suppress_origin=True)
        self.id = 0

    def call(self, method, **params):
        self.id += 1
        self.socket.send(json.dumps({"id": self.id, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.id:
                return answer.get("result", {})

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def inner_text(self, url):
        self.call("Page.navigate", url=url)
        ready = "document.readyState === 'complete' && location.href"
        while self.evaluate(ready) != url:
            time.sleep(0.01)
        return self.evaluate("document.body ? document.body.innerText : ''")


def collapsed(text):
    return " ".join(text.split())


def show(name, ours, theirs):
    match = difflib.SequenceMatcher(None, ours.split(), theirs.split(), autojunk=False)
    same = match.ratio()
    for kind, a, b, c, d in match.get_opcodes():
        if kind != "equal":
            before = " ".join(ours.split()[max(0, a - 3) : a])
            ours, theirs = " ".join(ours.split()[a:b]), " ".join(theirs.split()[c:d])
            print(f"{name} ({100 * same:.1f} % the same): behind {before[-60:]!r} {ours[:80]!r}, shown {theirs[:80]!r}")
            return


def main():
    engines, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    count = int(sys.argv[3]) if len(sys.argv) > 3 else None
    files = [path for path in folder.rglob("*") if path.suffix in (".html", ".htm")]
    files.sort(key=lambda path: hashlib.sha256(path.name.encode()).digest())
    files = files[:count]
    handler = functools.partial(Site, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [engines, "crawler, text", *map(str, files)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    texts = {line["path"]: line["text"] for line in map(json.loads, out.splitlines())}
    same = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(home)
        try:
            for path in files:
                place = urllib.request.pathname2url(str(path.relative_to(folder)))
                shown = collapsed(browser.inner_text(f"http://127.0.0.1:{server.server_port}/{place}"))
                ours = collapsed(texts[str(path)])
                same += ours == shown
                if ours != shown:
                    show(path.name, ours, shown)
        finally:
            browser.process.terminate()
            browser.process.wait()
    print(f"\nthe same: {same} of {len(files)} pages, {100 * same / len(files):.1f} %")


if __name__ == "__main__":
    main()
