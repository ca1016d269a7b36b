"""Two webs of known content on loopback: an application of one page, and a web in which few pages need a browser.

An answer is made of host and path alone, so that every crawl of a run gets the same bytes.
"""

import http.server
import json
import os
import re
import socket
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
APPLICATION = open(os.path.join(HERE, "../../tests/browser/react/app.js"), "rb").read()
PICTURE = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")
STYLE = "body{font-family:sans-serif;max-width:60em}a{color:navy}nav li{display:inline}"
# changes what a page looks like, and neither its links nor its text
QUIET_SCRIPT = """
document.documentElement.classList.add("js");
for (const a of document.querySelectorAll("a")) a.addEventListener("click", () => console.log(a.href));
setTimeout(() => { document.body.dataset.ready = "1"; new Image().src = "/pixel.gif?" + document.title.length; }, 50);
"""
# shows the links that /data/PATH has, in the element that waits for them
LIST_SCRIPT = """
const place = document.getElementById("list");
fetch("/data" + location.pathname).then(r => r.json()).then(links => {
    place.innerHTML = "<ul>" + links.map(l => `<li><a href="${l}">${l}</a></li>`).join("") + "</ul>";
});
"""
SYLLABLES = "ba be do fa ga ki lo ma na pe ro sa te vi wo zu".split()


def word(number):
    """A word for a number, other numbers have other words."""
    number, letters = number * 7 + 4099, ""
    while number:
        number, place = divmod(number, len(SYLLABLES))
        letters += SYLLABLES[place]
    return letters


def text(number, sentences):
    """Sentences that no other page has."""
    return "".join(
        f"<p>The {word(number + n)} of {word(number * 3 + n)} is seen where {word(number * 5 + n)} comes to "
        f"{word(n + 11)} in the {n}th year, as {word(number + 2 * n)} wrote.</p>\n"
        for n in range(sentences)
    )


def page(title, links, body, scripts=()):
    """A page as a server with templates makes it: head, navigation, content, foot."""
    items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    sources = "".join(f'<script defer src="/{script}.js"></script>' for script in scripts)
    return (
        f'<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title><link rel=stylesheet '
        f'href=/style.css>{sources}</head><body><h1>{title}</h1><nav><ul>{items}</ul></nav>\n<main>{body}</main>'
        f'<img src=/logo.gif alt=logo><footer>Made by hand</footer></body></html>'
    ).encode()


class Site:
    """Pages by path, and lists of links that only scripts ask for."""

    def __init__(self):
        self.pages, self.data = {}, {}

    def add(self, path, links, body, scripts=("quiet",), by_script=()):
        """A page. What is `by_script` shows when a browser renders it."""
        place = '<div id=list></div>' if by_script else ""
        scripts = (*scripts, "list") if by_script else scripts
        self.pages[path] = page(path.strip("/") or "home", links, body + place, scripts)
        if by_script:
            self.data["/data" + path] = json.dumps(by_script).encode()

    def answer(self, path):
        if path in self.pages:
            return 200, "text/html", self.pages[path]
        if path in self.data:
            return 200, "application/json", self.data[path]
        name = path.partition("?")[0]
        return {
            "/quiet.js": (200, "text/javascript", QUIET_SCRIPT.encode()),
            "/list.js": (200, "text/javascript", LIST_SCRIPT.encode()),
            "/style.css": (200, "text/css", STYLE.encode()),
            "/logo.gif": (200, "image/gif", PICTURE),
            "/pixel.gif": (200, "image/gif", PICTURE),
            "/robots.txt": (200, "text/plain", b"User-agent: *\nAllow: /\n"),
        }.get(name, (404, "text/plain", b"not found"))


class Application:
    """The application of the browser tests: `/` and `/item/N`, made by React from data."""

    def __init__(self, routes):
        self.items = routes - 1
        self.pages = {"/", *(f"/item/{n}" for n in range(self.items))}

    def answer(self, path):
        if path in self.pages:
            return 200, "text/html", b"<!doctype html><title>Shop</title><div id=root></div><script src=/app.js></script>"
        if path == "/app.js":
            return 200, "text/javascript", APPLICATION
        if path.startswith("/api/items"):
            begin = int(path.rpartition("=")[2])
            return 200, "application/json", json.dumps(list(range(begin, min(begin + 10, self.items)))).encode()
        found = re.fullmatch(r"/api/item/(\d+)", path)
        if found and int(found[1]) < self.items:
            number = int(found[1])
            # the items below it in a tree with ten roots, and some across
            below = [n for n in range(number * 2 + 10, number * 2 + 12) if n < self.items]
            across = [(number * 7 + n * n) % self.items for n in range(1, 8)]
            name = f"Item {number}"
            item = {"name": name, "text": f"{name} is a {word(number)}. " * 8, "related": sorted({*below, *across})}
            return 200, "application/json", json.dumps(item).encode()
        return 404, "text/plain", b"not found"


def mixed(scale=1):
    """Sites by host name: nine pages of ten show all without a browser. `scale` times 2,000 pages, about."""
    sites = {}
    hosts = [f"{name}.example" for name in "docs wiki blog shop app news old portal".split()]
    start = [f"http://{host}:{{port}}/" for host in hosts]

    def site(name):
        return sites.setdefault(f"{name}.example", Site())

    def linked(paths, number, width=6):
        """Some of `paths` for the page `number`, all of them together."""
        return [paths[(number * width + n) % len(paths)] for n in range(1, width + 1)]

    # manuals: a script on each page that changes nothing
    docs, count = site("docs"), 380 * scale
    paths = [f"/manual/{word(n // 20)}/{word(n)}.html" for n in range(count)]
    docs.add("/", [*start, *paths[::20]], text(1, 6))
    for n, path in enumerate(paths):
        docs.add(path, ["/", *linked(paths, n), *paths[n // 20 * 20 : n // 20 * 20 + 20]], text(n, 20))
    # a wiki, whose paths have nothing in common but one word
    wiki, count = site("wiki"), 380 * scale
    paths = [f"/wiki/{word(n + 900).capitalize()}" for n in range(count)]
    wiki.add("/", [*start, *paths[:40]], text(2, 6))
    for n, path in enumerate(paths):
        wiki.add(path, ["/", *linked(paths, n, 12)], text(n + 5000, 8))
    # a blog: posts as they are, lists of them by script below a navigation; half of the posts are in the lists alone
    blog, count = site("blog"), 300 * scale
    posts = [f"/20{10 + n % 15}/{1 + n % 12:02}/{word(n)}-{word(n + 1)}-{word(n + 2)}/" for n in range(count)]
    tags = [f"/tag/{word(n + 70)}" for n in range(20)]
    months = [f"/archive/20{10 + n % 15}-{1 + n % 12:02}" for n in range(20)]
    blog.add("/", [*start, *tags, *months, *posts[:10]], text(3, 6))
    for n, path in enumerate(posts):
        blog.add(path, ["/", *tags[:5], *months[:5], *linked(posts[: count // 2], n)], text(n + 9000, 12))
    for n in range(20):
        share = posts[n * count // 20 : (n + 1) * count // 20]
        blog.add(tags[n], ["/", *tags, *months[:5]], text(n + 300, 6), by_script=share[::2])
        blog.add(months[n], ["/", *tags[:5], *months], text(n + 400, 6), by_script=share[1::2])
    # a shop: lists as they are, and products of which every second one gets its offers by script
    shop, count = site("shop"), 120 * scale
    products = [f"/product/{10_000 + n}-{word(n)}" for n in range(count)]
    offers = [f"/offer/{word(n + 20)}-{word(n + 40)}" for n in range(60 * scale)]
    lists = [f"/list?page={n}" for n in range(1, count // 12 + 1)]
    shop.add("/", [*start, *lists], text(4, 6))
    for n, path in enumerate(lists):
        shop.add(path, ["/", *lists, *products[n * 12 : n * 12 + 12]], text(n + 600, 4))
    for n, path in enumerate(products):
        has_offer = (n * 2654435761 >> 7) % 2 == 0
        by_script = [offers[n % len(offers)], offers[(n + 1) % len(offers)]] if has_offer else ()
        shop.add(path, ["/", *lists[:4], *linked(products, n, 4)], text(n + 12_000, 5), by_script=by_script)
    for n, path in enumerate(offers):
        shop.add(path, ["/", *lists[:4], *linked(products, n, 3)], text(n + 15_000, 6))
    # news: short pages with scripts, that show all they have
    news, count = site("news"), 300 * scale
    sections = [f"/{word(n)}/" for n in range(8)]
    stories = [f"/{word(n % 8)}/article{100_000 + n}" for n in range(count)]
    news.add("/", [*start, *sections], text(5, 6))
    for n, path in enumerate(sections):
        news.add(path, ["/", *sections, *stories[n::8]], text(n + 700, 1))
    for n, path in enumerate(stories):
        news.add(path, ["/", *sections], text(n + 17_000, 2 + n % 9))
    # pages of old without a script
    old, count = site("old"), 280 * scale
    paths = [f"/page{n}.htm" for n in range(count)]
    old.add("/", [*start, *paths[::10]], text(6, 6), scripts=())
    for n, path in enumerate(paths):
        old.add(path, ["/", *paths[n // 10 * 10 : n // 10 * 10 + 10]], text(n + 21_000, 10), scripts=())
    # a portal: sections with a long navigation whose stories come by script
    portal, count = site("portal"), 160 * scale
    sections = [f"/section/{word(n + 33)}" for n in range(20)]
    stories = [f"/story/{word(n)}-{word(n + 3)}-{n}" for n in range(count)]
    portal.add("/", [*start, *sections], text(7, 6))
    for n, path in enumerate(sections):
        portal.add(path, ["/", *sections], text(n + 800, 7), by_script=stories[n::20])
    for n, path in enumerate(stories):
        portal.add(path, ["/", *sections[:8]], text(n + 25_000, 9))
    sites["app.example"] = Application(60 * scale)
    return sites


class Server:
    """Serves sites by host name, or one for all names, on a port of loopback. Counts requests."""

    def __init__(self, sites):
        self.sites, self.requests = sites, 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.requests += 1
                host = self.headers.get("host", "").partition(":")[0]
                site = server.sites.get(host) or server.sites.get("")
                status, kind, body = site.answer(self.path) if site else (404, "text/plain", b"no such site")
                if kind == "text/html":
                    body = body.replace(b"{port}", str(server.port).encode())
                self.send_response(status)
                self.send_header("content-type", kind + ("; charset=utf-8" if kind.startswith("text/") else ""))
                self.send_header("content-length", str(len(body)))
                if kind in ("text/javascript", "text/css", "image/gif"):
                    self.send_header("cache-control", "max-age=3600")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 512

            def get_request(self):
                connection, address = super().get_request()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection, address

            def handle_error(self, *_):
                pass  # a browser that ends leaves connections

        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()


if __name__ == "__main__":
    web = mixed()
    pages = {host: len(site.pages) for host, site in web.items()}
    by_script = sum(len(site.data) for site in web.values() if isinstance(site, Site)) + pages["app.example"]
    print(pages, sum(pages.values()), "pages,", by_script, "need a browser")
