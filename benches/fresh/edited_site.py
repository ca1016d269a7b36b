"""A site that is edited a little every day, made from any directory of HTML, and a server for it that counts."""

import hashlib
import os
import random
import re
import shutil
import socket
import socketserver
import threading
import time
from email.utils import formatdate, parsedate_to_datetime

WORDS = ("index query planner column buffer statement cursor trigger session cluster partition replica snapshot "
         "vacuum catalog schema sequence constraint expression function").split()
MONTHS = "January February March April May June July August September October November December".split()


class Site:
    """The files, and what the edits of the last day were: paths of pages."""

    def __init__(self, source, folder, has_footers, pages_max):
        self.folder, self.has_footers, self.random = folder, has_footers, random.Random(23)
        self.changed, self.added, self.removed = set(), set(), set()
        self.day, self.texts = 0, {}
        names = sorted(name for name in os.listdir(source) if name.endswith(".html"))
        if "index.html" not in names:
            raise SystemExit(f"{source} has no index.html")
        os.makedirs(folder)
        for name in names[:pages_max] + [name for name in names[pages_max:] if name == "index.html"]:
            with open(os.path.join(source, name), encoding="utf-8", errors="replace") as page:
                self.texts[name] = page.read()
        for name in os.listdir(source):
            if os.path.isfile(os.path.join(source, name)) and not name.endswith(".html"):
                shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))
        for name in self.texts:
            self.write(name)
        self.write_map()

    def write(self, name):
        """Writes a page as the site's generator does, at this moment."""
        text = self.texts[name]
        if self.has_footers:
            date = f"{self.day % 28 + 1} {MONTHS[self.day // 28 % 12]} 2026"
            text = before_end(text, f'<div class="footer">Last updated on {date}, build {1000 + self.day}</div>')
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as page:
            page.write(text)

    def write_map(self):
        """The sitemap, with the time at which each file was written."""
        entries = []
        for name in sorted(self.texts):
            written = time.gmtime(os.stat(os.path.join(self.folder, name)).st_mtime)
            date = time.strftime("%Y-%m-%dT%H:%M:%SZ", written)
            entries.append(f"<url><loc>/{name}</loc><lastmod>{date}</lastmod></url>\n")
        with open(os.path.join(self.folder, "sitemap.xml"), "w", encoding="utf-8") as sitemap:
            sitemap.write(f'<?xml version="1.0"?>\n<urlset>{"".join(entries)}</urlset>\n')

    def edit(self, changed, added, removed):
        """A day's edits: some pages get a paragraph more, some are new and linked by the front page, some go."""
        self.day += 1
        names = sorted(set(self.texts) - {"index.html"})
        chosen = self.random.sample(names, changed + removed)
        self.changed, self.removed = set(chosen[:changed]), set(chosen[changed:])
        self.added = {f"added-{self.day}-{number}.html" for number in range(added)}
        for name in self.changed:
            self.texts[name] = inserted(self.texts[name], f"<p>{self.sentence()}</p>", self.random)
        for name in sorted(self.added):
            self.texts[name] = (f"<!DOCTYPE html><html><head><title>{name}</title></head><body><h1>{self.sentence()}"
                                f"</h1><p>{self.sentence()}</p><a href='index.html'>front page</a></body></html>")
            self.texts["index.html"] = before_end(self.texts["index.html"], f"<p><a href='{name}'>{name}</a></p>")
        if self.added:
            self.changed.add("index.html")
        for name in self.removed:
            del self.texts[name]
            os.remove(os.path.join(self.folder, name))
        for name in self.texts if self.has_footers else self.changed | self.added:
            self.write(name)
        self.write_map()

    def sentence(self):
        return " ".join(self.random.choices(WORDS, k=15)).capitalize() + "."


def before_end(text, more):
    at = text.lower().rfind("</body>")
    return text + more if at < 0 else text[:at] + more + text[at:]


def inserted(text, more, chosen):
    """`more` behind some paragraph."""
    ends = [found.end() for found in re.finditer(r"</p>", text)]
    at = chosen.choice(ends) if ends else None
    return before_end(text, more) if at is None else text[:at] + more + text[at:]


class Server(socketserver.ThreadingTCPServer):
    """Serves a folder as usual servers do: Last-Modified, an ETag of time and size, 304; and counts."""

    daemon_threads, allow_reuse_address, request_queue_size = True, True, 1024

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Connection)
        self.folder, self.lock = folder, threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.reset()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self):
        self.requests, self.not_modified, self.bytes, self.asked = 0, 0, 0, []

    def note(self, path, status, moved):
        with self.lock:
            self.requests += 1
            self.not_modified += status == 304
            self.bytes += moved
            self.asked.append((path, status))

    def handle_error(self, request, client_address):
        pass


class Connection(socketserver.BaseRequestHandler):
    TYPES = {".html": "text/html", ".css": "text/css", ".svg": "image/svg+xml", ".xml": "application/xml"}

    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pending = b""
        while True:
            while b"\r\n\r\n" not in pending:
                more = self.request.recv(65536)
                if not more:
                    return
                pending += more
            head, _, pending = pending.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            method, path, _ = lines[0].split(" ", 2)
            fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            status, headers, body = self.answer(path.split("?")[0], fields)
            sent = body if method == "GET" else b""
            answer = "".join([f"HTTP/1.1 {status}\r\n", *(f"{name}: {value}\r\n" for name, value in headers), "\r\n"])
            answer = answer.encode() + sent
            self.request.sendall(answer)
            self.server.note(path, int(status[:3]), len(head) + 4 + len(answer))
            if fields.get("connection", "").lower() == "close":
                return

    def answer(self, path, fields):
        date = ("Date", formatdate(usegmt=True))
        if path == "/robots.txt":
            body = f"User-agent: *\nDisallow:\nSitemap: {self.server.url}sitemap.xml\n".encode()
            return "200 OK", [date, ("Content-Type", "text/plain"), ("Content-Length", len(body))], body
        name = path.lstrip("/") or "index.html"
        try:
            with open(os.path.join(self.server.folder, os.path.basename(name)), "rb") as file:
                body, found = file.read(), os.fstat(file.fileno())
        except OSError:
            body = b"not found\n"
            return "404 Not Found", [date, ("Content-Type", "text/plain"), ("Content-Length", len(body))], body
        modified, etag = int(found.st_mtime), f'"{found.st_mtime_ns:x}-{found.st_size:x}"'
        headers = [date, ("Last-Modified", formatdate(modified, usegmt=True)), ("ETag", etag)]
        if self.holds(fields, modified, etag):
            return "304 Not Modified", headers, b""
        kind = self.TYPES.get(os.path.splitext(name)[1], "application/octet-stream")
        return "200 OK", [*headers, ("Content-Type", kind), ("Content-Length", len(body))], body

    @staticmethod
    def holds(fields, modified, etag):
        if "if-none-match" in fields:
            return etag in fields["if-none-match"]
        try:
            return modified <= parsedate_to_datetime(fields["if-modified-since"]).timestamp()
        except (KeyError, ValueError, TypeError):
            return False


def sha1(data):
    return hashlib.sha1(data).hexdigest()
