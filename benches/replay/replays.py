"""Replays of one archive, each as its users see it: `crawler serve`, pywb with rewriting, wabac.js (ReplayWeb.page).

`run --replay` shows the same pages by all of them, and the cases of tests/commands/browser/cases.txt, which are hard.
"""
import base64
import http.server
import os
import re
import shutil
import socket
import subprocess
import tarfile
import threading
import time

from sites import answers, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "..", "tests", "commands", "browser", "cases.txt")
PACKAGE = "replaywebpage@2.5.3"
BEGIN = "<!doctype html><meta charset=utf-8><link rel=stylesheet href=/works.css><script src=/works.js></script>"
# an address of pywb or wabac.js, or one of crawler serve with time and URL
REPLAYED = re.compile(r"^http://[^/]+/(?:\w+/)*\d{1,14}(?:\w\w_)?/(https?:/.*)$")
# an address of crawler serve that has time and origin in its host
HOSTED = re.compile(r"^http://([^/]+)\.(https?)(?:-(\d+))?\.\d{1,14}\.\w+\.localhost:\d+(/.*)$")
# shows one page of a WACZ file, in a frame as ReplayWeb.page does
WABAC = """<!doctype html><iframe id=replay style="position:fixed;inset:0;width:100%;height:100%;border:0"></iframe>
<script type=module>
const workers = navigator.serviceWorker;
await workers.register("/sw.js", { scope: "/" });
if (!workers.controller) await new Promise((done) => workers.addEventListener("controllerchange", done));
workers.addEventListener("message", ({ data }) => {
  if (data.msg_type === "collAdded") document.getElementById("replay").src = `/w/archive/${location.hash.slice(1)}`;
});
const file = { sourceUrl: `${location.origin}/archive.wacz` };
workers.controller.postMessage({ msg_type: "addColl", name: "archive", skipExisting: true, file });
</script>"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def original(url):
    """The archived URL for which `url` stands in a replay, or None."""
    hosted = HOSTED.match(url)
    if hosted:
        host, scheme, port, path = hosted.groups()
        return f"{scheme}://{host}{':' + port if port else ''}{path}"
    found = REPLAYED.match(url)
    return found.group(1) if found else None


class Program:
    """A replay that is a process, while the `with` lasts."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def __enter__(self):
        self.log = open(os.path.join(self.folder, f"{self.name}.log"), "w")
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdout=self.log, stderr=self.log)
        wait_for(f"http://127.0.0.1:{self.port}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Serve(Program):
    name = "serve"

    def __init__(self, archive, program):
        self.port = free_port()
        super().__init__([program, "serve", "--dir", os.path.join(archive.folder, "crawl"), "--address",
                          f"127.0.0.1:{self.port}", "--replay", f"127.0.0.1:{free_port()}"], archive.folder)

    def page(self, moment, url):
        return f"http://127.0.0.1:{self.port}/{moment}/{url}"


class Rendered(Serve):
    """The same, with pages as the browser of the crawl left them."""
    name = "serve, rendered"

    def page(self, moment, url):
        return super().page(f"{moment}rd_", url)


class Pywb(Program):
    name = "pywb"

    def __init__(self, archive, pip):
        self.port = free_port()
        folder = os.path.join(archive.folder, "rewriting")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        os.symlink(os.path.join("..", "collections"), os.path.join(folder, "collections"))
        super().__init__([os.path.join(pip, "wayback"), "-b", "127.0.0.1", "-p", str(self.port), "-t", "8"], folder)

    def page(self, moment, url):
        return f"http://127.0.0.1:{self.port}/replay/{moment}/{url}"


class Wabac:
    """The worker of ReplayWeb.page beside a WACZ file."""
    name = "wabac.js"

    def __init__(self, archive, program, work):
        self.port = free_port()
        self.folder = os.path.join(archive.folder, "wabac")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        os.symlink(worker(work), os.path.join(self.folder, "sw.js"))
        with open(os.path.join(self.folder, "index.html"), "w") as page:
            page.write(WABAC)
        subprocess.run([program, "export", "wacz", "--dir", os.path.join(archive.folder, "crawl"), "-o",
                        os.path.join(self.folder, "archive.wacz")], check=True, stderr=subprocess.DEVNULL)

    def __enter__(self):
        folder = self.folder

        class Handler(Files):
            def read(self, path):
                path = os.path.join(folder, path.lstrip("/") or "index.html")
                if not os.path.isfile(path):
                    return 404, "text/plain", {}, b"no"
                kind = {"html": "text/html", "js": "text/javascript"}.get(path.rsplit(".", 1)[-1], "application/zip")
                with open(path, "rb") as file:
                    return 200, kind, {}, file.read()
        self.server = Handler.start("127.0.0.1", self.port)
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def page(self, moment, url):
        return f"http://127.0.0.1:{self.port}/#{moment}mp_/{url}"


def worker(work):
    """The service worker of ReplayWeb.page, out of its package."""
    folder = os.path.join(work, "replaywebpage")
    script = os.path.join(folder, "package", "sw.js")
    if not os.path.exists(script):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        [packed] = [name for name in os.listdir(folder) if name.endswith(".tgz")]
        with tarfile.open(os.path.join(folder, packed)) as package:
            package.extractall(folder, filter="data")
    return script


def all_of(archive, program, pip, work, is_rendered):
    rendered = [Rendered(archive, program)] if is_rendered else []
    return [Serve(archive, program), *rendered, Pywb(archive, pip), Wabac(archive, program, work)]


class Files(http.server.BaseHTTPRequestHandler):
    """Answers with what `read` returns: status, type, fields and body; parts of it if asked."""
    protocol_version = "HTTP/1.1"

    @classmethod
    def start(cls, address, port):
        server = Server((address, port), cls)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, kind, fields, body = self.read(self.path)
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if part and status == 200:
            first, last = int(part[1]), min(int(part[2] or len(body)), len(body) - 1)
            fields = {**fields, "Content-Range": f"bytes {first}-{last}/{len(body)}"}
            status, body = 206, body[first:last + 1]
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), "Accept-Ranges": "bytes",
                            **fields}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_POST = do_GET

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """One that says nothing of clients that go before they have the answer."""
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Cases:
    """The site of the hard cases, at two origins and a name of the first, while the `with` lasts."""
    name = "cases"
    made_by = "Hard cases"
    host, in_ascii = "bücher.example", "xn--bcher-kva.example"
    at_unicode = "/unicode-host/"

    def __init__(self, port):
        self.addresses = ["127.0.0.31", "127.0.0.32"]
        self.port = port
        self.origin, self.other = (f"http://{address}:{port}" for address in self.addresses)
        self.unicode = f"http://{self.host}:{port}"
        # the name has an address for the crawler and for the browser
        self.hosts = {self.in_ascii: self.addresses[0]}
        with open(CASES, encoding="utf-8") as file:
            text = file.read()
        for name, value in {"begin": BEGIN, "own": self.origin, "other": self.other, "unicode": self.unicode}.items():
            text = text.replace("{" + name + "}", value)
        self.files, self.posts = {}, set()
        for part in text.split("\n@ ")[1:]:
            head, body = part.split("\n", 1)
            path, kind, *more = head.split(" ", 3)
            if more == ["POST"]:
                self.posts.add(path)
            fields = dict([more[1].split(": ", 1)]) if len(more) > 1 else {}
            status = int(more[0]) if more and more[0].isdigit() else 200
            encoding = "windows-1252" if "1252" in kind else "utf-8"
            is_video = kind.startswith("video/")
            sent = base64.b64decode(body) if is_video else (body.rstrip() + "\n").encode(encoding)
            self.files[path] = (status, kind, fields, sent)

    def urls(self):
        pages = [path for path in self.files if re.match(r"^/[^/]+/(\?|$)", path)]
        return [(self.unicode if path == self.at_unicode else self.origin) + path for path in pages
                if b"works" in self.files[path][3] and self.files[path][1].startswith("text/html")]

    def origins(self, path):
        """Origins at which a file is a seed."""
        return self.origin, self.unicode if path.startswith(self.at_unicode) else self.other

    def seeds(self):
        lines = [f"{origin}{path}" for path in self.files for origin in self.origins(path) if path not in self.posts]
        lines += [f'{{"url":"{self.origin}{path}","method":"POST","json":{{"a":1}}}}' for path in self.posts]
        return "\n".join(lines) + "\n"

    def file(self, url):
        url = url.replace(self.in_ascii, self.host)
        return any(url == origin + path for path in self.files for origin in self.origins(path))

    def __enter__(self):
        files = self.files

        class Handler(Files):
            def read(self, path):
                return files.get(path, (404, "text/plain", {}, b"no"))
        self.servers = [Handler.start(address, self.port) for address in self.addresses]
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()
        if any(answers(origin) for origin in (self.origin, self.other)):
            raise SystemExit("the site of the cases still answers")


def unserved(report, site):
    """Archived URLs that the site has and this replay did not answer for a page."""
    missing = set()
    for request in report["requests"]:
        url = original(request["url"])
        if url and request.get("status", 0) >= 400 and site.file(url):
            missing.add(url)
    return missing


def moment():
    return time.strftime("%Y%m%d%H%M%S", time.gmtime())
