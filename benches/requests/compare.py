"""Crawls requests by POST from a server on loopback, and compares their index with that of cdxj-indexer."""

import glob
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

TOOLS = os.path.dirname(sys.executable)
FORM = "application/x-www-form-urlencoded"
BODIES = [
    {"json": {"page": 1}},
    {"json": {"b": {"a": 1, "c": [True, None, 1.0]}, "a": "x y~*&=", "n": 1e22, "m": 0.00001, "e": ""}},
    {"json": {"query": "{ items(first: 10) { id\n name } }", "variables": {"after": "é#%"}}},
    {"json": [{"a": 1}, {"a": 2}, {"a": -3}]},
    {"json": {"long": "abc " * 2000}},
    {"body": '{"z": 1, "a": 2, "z": 3}', "headers": {"content-type": "application/json; charset=utf-8"}},
    {"body": '{"a": 1}\n{"a": 2}', "headers": {"content-type": "application/json"}},
    {"body": "no JSON", "headers": {"content-type": "application/json"}},
    {"form": {"q": "a b&c=d", "p": [1, 2], "u": "ü#?/"}},
    {"body": "q=A+b&empty=&bad=%zz", "headers": {"content-type": FORM}},
    {"body": "plain text", "headers": {"content-type": "text/plain"}},
    {"body": "<a>ü</a>", "headers": {"content-type": "text/xml"}},
    {"body": "of no type"},
    {"method": "POST"},
]


class Api(http.server.BaseHTTPRequestHandler):
    """Answers a POST with what it sent."""

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(sent) + 9))
        self.end_headers()
        self.wfile.write(b"answer: \n" + sent)

    def log_message(self, *_):
        pass


def told(output):
    """The lines of an index that are of a POST."""
    lines = {}
    for line in output.splitlines():
        key, time, fields = line.split(" ", 2)
        fields = json.loads(fields)
        if "method" in fields:
            fields.pop("mime", None)
            lines[(fields["filename"], fields["offset"])] = (key, time, fields)
    return lines


def crawl(crawler, place, lines):
    """Crawls these requests; says where."""
    seeds, config, directory = (os.path.join(place, name) for name in ("requests.jsonl", "crawler.toml", "crawl"))
    with open(seeds, "w") as out:
        for line in lines:
            print(json.dumps(line), file=out)
    with open(config, "w") as out:
        out.write('[network]\nallow = ["127.0.0.0/8"]\n[politeness]\ndelay_factor = 0.0\n')
        out.write('delay_min = "0s"\ndelay_per_ip = "0s"\n[scope]\nfavicon = false\n')
    subprocess.run([crawler, "-q", "--seeds", seeds, "--config", config, "--dir", directory], check=True)
    return directory


def main(crawler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as place:
        origin = f"http://127.0.0.1:{server.server_port}"
        paths = lambda number: (f"/api/{number}", f"/API/{number}?x=1&A=b")
        lines = [{"url": origin + path, **body} for number, body in enumerate(BODIES) for path in paths(number)]
        crawled = crawl(crawler, place, lines)
        files = sorted(glob.glob(os.path.join(crawled, "pages", "value-*.warc.gz")))
        subprocess.run([os.path.join(TOOLS, "warcio"), "check", *files], check=True)
        run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True).stdout
        ours = told(run(crawler, "export", "cdxj", "--all", "--dir", crawled))
        theirs = told(run(os.path.join(TOOLS, "cdxj-indexer"), "--post-append", *files))
    different = [place for place in ours.keys() | theirs.keys() if ours.get(place) != theirs.get(place)]
    for place in different:
        print(f"{place}\n  ours   {ours.get(place)}\n  theirs {theirs.get(place)}")
    print(f"{len(ours)} lines of POST, {len(theirs)} by cdxj-indexer, {len(different)} different")
    return 1 if different or len(ours) != 2 * len(BODIES) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
