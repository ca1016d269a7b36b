"""Crawls requests by POST from a server on loopback, and asks pywb for each, with the index of `export cdxj`."""

import glob
import http.client
import http.server
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from compare import TOOLS, Api, crawl


# of each URL several bodies, which only an exact key tells apart
LISTS = [
    [{"json": {"page": page, "open": open}} for page in (1, 2) for open in (True, False, None, 1.0, 0.5, "no")],
    [{"json": {"query": {"a": first, "b": [second, {"a": third}]}}} for first, second, third in [(1, 2, 3), (3, 2, 1)]],
    [{"form": {"q": text, "p": page}} for text in ("a b", "ü") for page in (1, 2)],
    [{"body": text, "headers": {"content-type": "text/xml"}} for text in ("<a/>", "<b>ü</b>")],
    [{"body": text, "headers": {"content-type": "text/plain"}} for text in ("one", "two", '{"a": 1}', '{"a": 2}')],
    [{"body": text} for text in ("of no type", "of none, too")],
]
SENT = []


class Keeping(Api):
    """Keeps what was sent to it."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        SENT.append((self.path, self.headers.get("content-type"), body))
        self.rfile = io.BytesIO(body)
        super().do_POST()


def replay(place, crawled):
    """Starts pywb with the archive of a crawl and its index."""
    collection = os.path.join(place, "collections", "posts")
    for name in ("archive", "indexes"):
        os.makedirs(os.path.join(collection, name))
    for file in glob.glob(os.path.join(crawled, "pages", "value-*.warc.gz")):
        shutil.copy(file, os.path.join(collection, "archive"))
    with open(os.path.join(collection, "indexes", "index.cdxj"), "w") as out:
        subprocess.run([sys.argv[1], "export", "cdxj", "--all", "--dir", crawled], check=True, stdout=out)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    wayback = [os.path.join(TOOLS, "wayback"), "-b", "127.0.0.1", "-p", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(wayback, cwd=place, **quiet), port


def ask(port, url, body, mime):
    """The status and body of the newest answer to a POST, as it was archived."""
    for _ in range(600):
        try:
            asked = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            asked.connect()
            break
        except OSError:
            time.sleep(0.1)
    headers = {"content-type": mime} if mime else {}
    asked.request("POST", f"/posts/id_/{url}", body=body, headers={**headers, "content-length": str(len(body))})
    answer = asked.getresponse()
    return answer.status, answer.read()


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keeping)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    seeds = [{"url": f"{origin}/list/{number}", **body} for number, bodies in enumerate(LISTS) for body in bodies]
    with tempfile.TemporaryDirectory() as place:
        crawled = crawl(sys.argv[1], place, seeds)
        server.shutdown()
        wayback, port = replay(place, crawled)
        try:
            answers = [ask(port, origin + path, body, mime) for path, mime, body in SENT]
            other = ask(port, f"{origin}/nowhere", b'{"page":1}', "application/json")
        finally:
            wayback.terminate()
            wayback.wait()
    wrong = [(sent, found) for sent, found in zip(SENT, answers) if found != (200, b"answer: \n" + sent[2])]
    for sent, found in wrong:
        print(f"{sent}\n  brings {found}")
    print(f"{len(SENT) - len(wrong)} of {len(SENT)} requests by POST bring their own answers; one never sent: {other[0]}")
    return 1 if wrong or len(SENT) != len(seeds) or other[0] != 404 else 0


if __name__ == "__main__":
    sys.exit(main())
