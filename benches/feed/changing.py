#!/usr/bin/env python3
"""A site of some 200 pages that changes from day to day, and what it really has on each day.

    python3 benches/feed/changing.py --port 8000 [--day 2]

`/-/day/N` sets the day, `/-/requests` tells how many requests each user agent has made since it was asked last.
Everything else is the site. It depends on the day alone: two runs see the same bytes.
"""
import argparse
import collections
import hashlib
import http.server
import json
import random
import threading

FOLDERS, PAGES = 10, 20
WORDS = ("amber anchor basin beacon bridge canal candle carbon castle cedar chalk circuit cliff cloud copper coral "
         "cotton crater current dawn delta desert drift eagle ember engine fabric falcon field flint forest garden "
         "glacier granite harbor harvest hazel hollow island ivory jasper kettle lagoon lantern ledger linen marble "
         "meadow mirror mountain needle oasis orchard paper pebble pepper pillar prairie quarry quartz raven ridge "
         "river saddle sail salt shadow signal silver slate spring station stone summit thunder timber tower valley "
         "velvet village walnut water willow winter yard").split()

# what each day is; a day without an entry in DAYS is like the one before
DAYS = [
    "all pages are there",
    "10 are gone, 10 changed, 5 new, 3 moved (301), 2 name another page as canonical",
    "every answer is 503",
    "every page but the start page is 404, robots.txt too",
    "back, as on day 2",
    "robots.txt is 500",
    "robots.txt forbids a folder of 4 pages",
    "4 pages say 'not found' with 200, 3 a login with 200, 3 redirect (302) to a login, 3 more are gone",
    "the same",
    "the same",
    "every page but the start page is 404, robots.txt too",
    "the same",
    "the same",
    "back, as on day 10, but the 3 of day 8 redirect (302) to the start page",
    "the same",
    "the same",
    "every answer is 503",
    "the same",
    "the same",
    "back, as on day 14",
    "the same",
    "robots.txt forbids a folder of 20 pages, too",
    "the same",
    "the same",
    "the same, and the operator allows the deletions that wait",
]
OPERATOR = len(DAYS)
DEPLOYS, OUTAGES = (4, 11, 12, 13), (3, 17, 18, 19)
ROBOTS_FAIL = 6


def place(number):
    return f"/f{number // PAGES}/p{number % PAGES}"


# the pages to which something happens, by number
GONE, GONE_LATER = range(0, 100, 10), (101, 102, 104)
CHANGED = range(3, 103, 10)
MOVED = (45, 65, 85)
CANONICAL = {106: 107, 126: 127}
SOFT, LOGIN, LOGIN_BY_REDIRECT = (108, 111, 112, 113), (115, 116, 117), (128, 131, 132)
NEW = range(5)
SMALL, LARGE = "/small/", "/f9/"
SMALL_PAGES = 4


def url_of_moved(number):
    return f"/f{number // PAGES}/moved{number % PAGES}"


def text_of(name, edition):
    """Sentences that no other page has."""
    chance = random.Random(f"{name} {edition}")
    sentences = [" ".join(chance.choices(WORDS, k=12)).capitalize() + "." for _ in range(12)]
    return f"<p>Edition {token(name, edition)} of this page. " + "</p>\n<p>".join(sentences) + "</p>"


def token(name, edition):
    """A word by which the text of an edition is known."""
    return "t" + hashlib.sha1(f"{name} {edition}".encode()).hexdigest()[:10]


def html(title, main, head=""):
    return (f"<!doctype html>\n<html lang=en><head><title>{title}</title>{head}</head>\n<body><main><h1>{title}</h1>\n"
            f"{main}</main></body></html>\n")


def links(paths):
    return "<ul>" + "\n".join(f'<li><a href="{path}">{path}</a></li>' for path in paths) + "</ul>"


class Day:
    """The site on one day, without its outages: `answers` by path, and `truth`, the word that each document has."""

    def __init__(self, number):
        self.number, self.answers, self.truth = number, {}, {}
        changed = number >= 2
        listed = collections.defaultdict(list)
        for page in range(FOLDERS * PAGES):
            self.add_page(page, listed[page // PAGES], changed)
        for page in NEW if changed else ():
            self.document(f"/f1/new{page}", 1)
            listed[1].append(f"/f1/new{page}")
        for folder in range(FOLDERS):
            self.document(f"/f{folder}/", 1, listed[folder])
        small = [f"{SMALL}p{page}" for page in range(SMALL_PAGES)]
        for path in small:
            self.document(path, 1)
        self.document("/", 1, [f"/f{folder}/" for folder in range(FOLDERS)] + small)
        rules = [f"Disallow: {folder}" for folder, first in ((SMALL, 7), (LARGE, 22)) if number >= first]
        self.robots = "User-agent: *\n" + "\n".join(rules or ["Disallow:"]) + "\n"
        self.truth = {path: word for path, word in self.truth.items() if not self.is_forbidden(path)}

    def is_forbidden(self, path):
        return any(line.startswith("Disallow: ") and path.startswith(line[10:]) for line in self.robots.splitlines())

    def document(self, path, edition, paths=(), head="", name=None):
        """A page; one that has moved keeps the text of its name."""
        name = name or path
        self.answers[path] = (200, html(f"Page {name}", text_of(name, edition) + links(paths), head))
        self.truth[path] = token(name, edition)

    def add_page(self, page, listed, changed):
        path = place(page)
        soft = self.number >= 8
        if changed and page in GONE:
            return
        if soft and page in GONE_LATER:
            if self.number >= 14:
                self.answers[path] = (302, "/")
            return
        if changed and page in MOVED:
            path = url_of_moved(page)
            self.answers[place(page)] = (301, path)
        listed.append(path)
        if soft and page in SOFT:
            self.answers[path] = (200, html("Page not found", "<p>Sorry, the page you requested could not be found. It "
                                            "may have been removed. Go to the <a href=/>home page</a>.</p>"))
        elif soft and page in LOGIN:
            self.answers[path] = login()
        elif soft and page in LOGIN_BY_REDIRECT:
            self.answers[path] = (302, "/login")
            self.answers["/login"] = login()
        elif changed and page in CANONICAL:
            other = place(CANONICAL[page])
            self.document(path, 1, head=f'<link rel="canonical" href="{other}">')
            del self.truth[path]
        else:
            self.document(path, 2 if changed and page in CHANGED else 1, name=place(page))

    def answer(self, path):
        """Status, and the page or where it redirects to."""
        if self.number in OUTAGES:
            return 503, html("Service Unavailable", "<p>The server is temporarily unable to service your request.</p>")
        if self.number in DEPLOYS and path != "/":
            return 404, html("404 Not Found", "<p>Not found.</p>")
        if path == "/robots.txt":
            return (500, "error") if self.number == ROBOTS_FAIL else (200, self.robots)
        return self.answers.get(path, (404, html("404 Not Found", "<p>Not found.</p>")))


def login():
    return 200, html("Log in", '<p>Please log in to continue.</p><form method=post action="/login"><input name=user>'
                     '<input type=password name=password><button>Log in</button></form>')


class Site(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port):
        super().__init__(("127.0.0.1", port), Handler)
        self.lock, self.requests = threading.Lock(), collections.defaultdict(collections.Counter)
        self.day = Day(1)

    def handle_error(self, *_):
        """A client that hangs up is no error of the site."""

    def set_day(self, number):
        self.day = Day(number)

    def taken(self):
        """Requests by user agent and status since the last call."""
        with self.lock:
            requests, self.requests = self.requests, collections.defaultdict(collections.Counter)
        return {agent: dict(counts) for agent, counts in requests.items()}

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


def started(port=0):
    """A site that is served by a thread; by its port it is the same for a program on all days."""
    site = Site(port)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    return site


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path.startswith("/-/"):
            return self.control()
        status, content = self.server.day.answer(self.path)
        tag = '"' + hashlib.sha1(content.encode()).hexdigest()[:16] + '"'
        if status == 200 and self.headers.get("If-None-Match") == tag:
            status = 304
        with self.server.lock:
            self.server.requests[self.headers.get("User-Agent", "")][status] += 1
        self.reply(status, content, tag)

    do_HEAD = do_GET

    def control(self):
        words = self.path.split("/")
        if words[2] == "day":
            self.server.set_day(int(words[3]))
        self.reply(200, json.dumps(self.server.taken() if words[2] == "requests" else self.server.day.number))

    def reply(self, status, content, tag=""):
        body = b"" if status in (301, 302, 304) else content.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8")
        if status in (301, 302):
            self.send_header("Location", content)
        if tag and status in (200, 304):
            self.send_header("ETag", tag)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--day", type=int, default=1)
    args = parser.parse_args()
    site = Site(args.port)
    site.set_day(args.day)
    print(site.url(), flush=True)
    site.serve_forever()


if __name__ == "__main__":
    main()
