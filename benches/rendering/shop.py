"""A shop by React and React Router with as many routes as wanted, served on loopback from two origins.

    python3 benches/rendering/shop.py ROUTES        serves it until it is stopped, and prints its URL

What a server sends for each route is the same shell; everything that a page shows is fetched by its script: data with a
field of its own in the request, data of another origin after a preflight, a module that is loaded when needed, sheets,
fonts, pictures. Answers are compressed, have validators, policies and cookies, as those of real sites.

The application is bundled once with esbuild; its npm packages go into TOOLS (by default /tmp/rendering-tools).
"""
import collections
import gzip
import http.server
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.environ.get("TOOLS", "/tmp/rendering-tools")
PRODUCTS_PER_CATEGORY = 24
PRODUCTS_PER_PAGE = 12
SHELL = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Shop</title>
<link rel="stylesheet" href="/assets/shop.css"><link rel="icon" href="/assets/dot.png">
<script>window.SHOP_OTHER = "{other}"</script><script {kind} src="/assets/shop.js"></script>
</head><body><div id="root"></div></body></html>
"""
WORDS = "oak brass linen cedar copper wool granite amber slate ivory walnut pewter velvet maple cobalt jade".split()


def tools():
    """The directory with the npm packages, which are installed there once."""
    os.makedirs(TOOLS, exist_ok=True)
    if not os.path.isdir(os.path.join(TOOLS, "node_modules", "replaywebpage")):
        shutil.copy(os.path.join(HERE, "shop", "package.json"), TOOLS)
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts"], cwd=TOOLS, check=True)
    return TOOLS


def built(modules):
    """The bundled application, as modules in two files or as one script of the older kind: file name -> bytes."""
    packages = os.path.join(tools(), "node_modules")
    out = tempfile.mkdtemp(prefix="shop-")
    esbuild = next(os.path.join(packages, "@esbuild", name, "bin", "esbuild")
                   for name in os.listdir(os.path.join(packages, "@esbuild")))
    subprocess.run([esbuild, os.path.join(HERE, "shop", "shop.jsx"), "--bundle", "--minify",
                    *(["--splitting", "--format=esm"] if modules else ["--format=iife"]), "--jsx=automatic",
                    '--define:process.env.NODE_ENV="production"',
                    f"--outdir={out}", "--legal-comments=none", "--log-level=error"],
                   check=True, env={**os.environ, "NODE_PATH": packages})
    files = {}
    for name in os.listdir(out):
        with open(os.path.join(out, name), "rb") as file:
            files[f"/assets/{name}"] = file.read()
    shutil.rmtree(out)
    for weight in (400, 700):
        with open(os.path.join(packages, "@fontsource", "inter", "files", f"inter-latin-{weight}-normal.woff2"),
                  "rb") as font:
            files[f"/fonts/inter-{weight}.woff2"] = font.read()
    with open(os.path.join(HERE, "shop", "shop.css"), "rb") as sheet:
        files["/assets/shop.css"] = sheet.read()
    files["/assets/dot.png"] = picture(8, 8, 3)
    files["/assets/pattern.png"] = picture(32, 32, 5)
    return files


def picture(width, height, seed):
    """A PNG of stripes that depend on `seed`."""
    rows = b""
    for y in range(height):
        rows += b"\0" + b"".join(
            bytes(((seed * 37 + x * 3) % 256, (seed * 91 + y * 5) % 256, (seed * 13 + (x ^ y)) % 256))
            for x in range(width))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Shop:
    """The served shop. `routes` pages: the start, one about, and categories (in pages) with products."""

    def __init__(self, routes, modules=True):
        self.files = built(modules)
        self.products = 0
        while self._routes(self.products) < routes:
            self.products += 1
        self.asked = collections.Counter()      # "METHOD origin path?query" -> how often
        self.lock = threading.Lock()
        self.servers = []
        self.own = self._serve("127.0.0.1", self._own)
        self.other = self._serve("127.0.0.2", self._other)
        for name in list(self.files):
            if name.endswith(".css"):
                self.files[name] = self.files[name].replace(b"OTHER", self.other.encode())
        kind = "type=module" if modules else "defer"
        self.shell = SHELL.replace("{other}", self.other).replace("{kind}", kind).encode()

    @staticmethod
    def _pages(products):
        """Category -> its number of products."""
        full, rest = divmod(products, PRODUCTS_PER_CATEGORY)
        return [PRODUCTS_PER_CATEGORY] * full + ([rest] if rest else [])

    @classmethod
    def _routes(cls, products):
        return 2 + products + sum(-(-count // PRODUCTS_PER_PAGE) for count in cls._pages(products))

    def routes(self):
        """The URLs of all routes."""
        urls = ["/", "/about"]
        for number, count in enumerate(self._pages(self.products)):
            urls.append(f"/category/{number}")
            urls += [f"/category/{number}?page={page}" for page in range(2, -(-count // PRODUCTS_PER_PAGE) + 1)]
        urls += [f"/product/{number}" for number in range(self.products)]
        return [self.own + url for url in urls]

    def needed(self):
        """What the routes need besides, but for what has a URL of its own each time: URLs that an archive must have."""
        urls = [f"{self.own}{name}" for name in self.files if name.startswith("/assets/")]
        urls += [f"{self.other}{name}" for name in self.files if name.startswith("/fonts/")]
        urls.append(f"{self.own}/api/categories")
        for number, count in enumerate(self._pages(self.products)):
            urls += [f"{self.own}/api/category/{number}?page={page}&sort=name%2Cprice"
                     for page in range(1, -(-count // PRODUCTS_PER_PAGE) + 1)]
        for number in range(self.products):
            urls += [f"{self.own}/api/product/{number}", f"{self.other}/opinions/{number}.json",
                     f"{self.other}/pictures/{number}.png"]
        return urls

    def count(self, wanted):
        """How many requests were made whose line `wanted` says yes to."""
        with self.lock:
            return sum(times for line, times in self.asked.items() if wanted(line))

    def stop(self):
        """Nothing answers any more."""
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def _serve(self, address, answer):
        shop = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def do(self):
                with shop.lock:
                    shop.asked[f"{self.command} {shop.origin_of(self)}{self.path}"] += 1
                length = int(self.headers.get("content-length") or 0)
                if length:
                    self.rfile.read(length)
                status, fields, body = answer(self.command, self.path, self.headers)
                kind = fields.get("Content-Type", "")
                if len(body) > 200 and "image" not in kind and "font" not in kind \
                        and "gzip" in self.headers.get("accept-encoding", ""):
                    body = gzip.compress(body, 1, mtime=0)
                    fields = {**fields, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
                self.send_response(status)
                for name, value in {**fields, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_OPTIONS = do_HEAD = do

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass    # a connection of a crawler that was killed

        server = Server((address, 0), Handler)
        self.servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return f"http://{address}:{server.server_address[1]}"

    def origin_of(self, handler):
        address, port = handler.server.server_address[:2]
        return f"http://{address}:{port}"

    def _own(self, method, path, fields):
        path, _, query = path.partition("?")
        if path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n"
        if path in self.files and path.startswith("/assets/"):
            kind = {"js": "text/javascript", "css": "text/css", "png": "image/png"}[path.rsplit(".", 1)[1]]
            return 200, {"Content-Type": kind, "Cache-Control": "public, max-age=31536000, immutable",
                         "ETag": f'"{zlib.crc32(self.files[path]):08x}"'}, self.files[path]
        if path.startswith("/api/"):
            if fields.get("x-shop-client") != "7":
                return 400, {"Content-Type": "application/json"}, b'{"error":"which client?"}'
            return self._data(path, query)
        policy = f"default-src 'self' {self.other}; script-src 'self' 'unsafe-inline'; object-src 'none'"
        return 200, {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache",
                     "Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN",
                     "X-Content-Type-Options": "nosniff", "Set-Cookie": "visit=1; Path=/; HttpOnly"}, self.shell

    def _data(self, path, query):
        data, parts = None, path.split("/")[2:]
        pages = self._pages(self.products)
        name = lambda number: f"{WORDS[number % 16].title()} {WORDS[number // 16 % 16]} {number}"
        if parts[0] == "notice":
            data = {"text": "Free delivery today"}
        elif parts[0] == "categories":
            data = [{"number": number, "name": f"Category {number}"} for number in range(len(pages))]
        elif parts[0] == "category" and int(parts[1]) < len(pages):
            page = int(dict(part.split("=") for part in query.split("&"))["page"])
            first = int(parts[1]) * PRODUCTS_PER_CATEGORY
            begin, end = (page - 1) * PRODUCTS_PER_PAGE, min(page * PRODUCTS_PER_PAGE, pages[int(parts[1])])
            data = {"name": f"Category {parts[1]}", "next": page + 1 if end < pages[int(parts[1])] else None,
                    "products": [{"number": first + n, "name": name(first + n),
                                  "image": f"{self.other}/pictures/{first + n}.png"} for n in range(begin, end)]}
        elif parts[0] == "product" and int(parts[1]) < self.products:
            number = int(parts[1])
            words = [WORDS[(number * 7 + n * n) % 16] for n in range(120)]
            data = {"name": name(number), "price": f"{number % 90 + 9}.90",
                    "image": f"{self.other}/pictures/{number}.png", "large": f"{self.other}/pictures/{number}-2x.png",
                    "text": [" ".join(words[:40]), " ".join(words[40:80]), " ".join(words[80:])],
                    "related": sorted({(number * 3 + 1) % self.products, (number + 17) % self.products})}
        if data is None:
            return 404, {"Content-Type": "application/json"}, b'{"error":"nothing"}'
        return 200, {"Content-Type": "application/json", "Cache-Control": "no-cache"}, json.dumps(data).encode()

    def _other(self, method, path, fields):
        leave = {"Access-Control-Allow-Origin": fields.get("origin", "*"), "Vary": "Origin"}
        if method == "OPTIONS":
            return 204, {**leave, "Access-Control-Allow-Headers": "x-reader", "Access-Control-Allow-Methods": "GET",
                         "Access-Control-Max-Age": "600"}, b""
        if path == "/robots.txt":
            return 404, {"Content-Type": "text/plain"}, b"none"
        if path in self.files and path.startswith("/fonts/"):
            return 200, {**leave, "Content-Type": "font/woff2", "Cache-Control": "max-age=31536000"}, self.files[path]
        number = path.rsplit("/", 1)[-1].split(".")[0].split("-")[0]
        if path.startswith("/opinions/"):
            if fields.get("x-reader") != "shop":
                return 403, {**leave, "Content-Type": "text/plain"}, b"who reads?"
            return 200, {**leave, "Content-Type": "application/json"}, \
                json.dumps({"text": f"Number {number} has served us well for {int(number) % 30 + 1} years."}).encode()
        if path.startswith("/pictures/"):
            size = (384, 256) if "-2x" in path else (192, 128)
            return 200, {**leave, "Content-Type": "image/png"}, self._picture(*size, int(number))
        return 404, {"Content-Type": "text/plain"}, b"nothing"

    def _picture(self, width, height, number):
        # pixels of one row, moved: quick to make, and different for each number
        row = bytes((number * 37 + x * (number % 7 + 1)) % 256 for x in range(width * 3))
        rows = b"".join(b"\0" + row[3 * (y % width):] + row[:3 * (y % width)] for y in range(height))
        chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I",
                                                                                            zlib.crc32(kind + data))
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def main():
    shop = Shop(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    print(shop.own, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
