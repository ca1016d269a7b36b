"""The sites: documentation out of Debian packages, unpacked into a scratch directory and served by nginx on loopback.

Each site has an address of its own (127.0.0.11, 127.0.0.12, ...), so that each is another origin.
"""
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit


@dataclass
class Site:
    name: str
    made_by: str
    packages: list          # what is served, and what its symbolic links lead to
    root: str               # of the server, below the directory with the unpacked packages
    seed: str
    exclude: list = field(default_factory=list)     # of URLs that no crawler fetches, so that all have the same bounds
    assets: str = ""        # a path that pages name at another address, as if on a CDN
    origin: str = ""

    folder: str = ""

    def url(self):
        return self.origin + self.seed

    def seeds(self):
        return self.url() + "\n"

    def file(self, url):
        """The file that the server of this site answers `url` with, or None."""
        if not (url or "").startswith("http://127."):
            return None
        path = os.path.join(self.folder, unquote(urlsplit(url).path).lstrip("/"))
        if os.path.isdir(path):
            path = os.path.join(path, "index.html")
        return path if os.path.isfile(path) else None

    def text(self, url):
        path = self.file(url)
        if not path:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


DOC = "usr/share/doc/"
JQUERY = ["libjs-jquery", "libjs-underscore"]

SITES = [
    Site("sphinx", "Sphinx: Python", ["python3.11-doc", *JQUERY], DOC + "python3.11/html", "/index.html"),
    Site("sphinx-cdn", "Sphinx: Python, its _static at another host", ["python3.11-doc", *JQUERY],
         DOC + "python3.11/html", "/tutorial/index.html", [r"/(library|c-api|whatsnew|reference|genindex)"],
         assets="_static"),
    Site("doxygen", "Doxygen: Eigen", ["libeigen3-doc", "libjs-jquery", "libjs-mathjax", "fonts-freefont-ttf"],
         DOC + "libeigen3-dev/html", "/index.html", [r"(-members|_source)\.html$"]),
    Site("mdbook", "mdBook: The Rust Programming Language",
         ["rust-doc", "libjs-jquery", "libjs-highlight.js", "libjs-mathjax", "fonts-open-sans", "fonts-font-awesome"],
         DOC + "rust-doc/html/book", "/index.html", [r"/(first|second|2018)-edition/"]),
    Site("rustdoc", "rustdoc: alloc", ["rust-doc", "fonts-open-sans"], DOC + "rust-doc/html", "/alloc/index.html",
         [r":[0-9]+/(std|core|test|proc_macro|src|rustc|rustdoc|reference|nomicon|([a-z]+-)?book|[a-z-]+-guide"
          r"|rust-by-example)/"]),
    Site("javadoc", "javadoc: OpenJDK 17",
         ["openjdk-17-doc", "libjs-jquery", "libjs-jquery-ui", "libjs-jquery-ui-theme-base"],
         DOC + "openjdk-17-jre-headless/api", "/index.html",
         [r"/jdk\.[a-z.]+/", r"/java\.(base|compiler|desktop|management|naming|rmi|security|smartcardio|sql|xml)"]),
    Site("docbook", "DocBook: Debian handbook", ["debian-handbook"], DOC + "debian-handbook/html/en-US",
         "/index.html"),
    Site("lilypond", "Texinfo: LilyPond", ["lilypond-doc", "lilypond-doc-html"], DOC + "lilypond/html", "/index.html",
         [r"/(internals|contributor|music-glossary|extending|essay)/", r"-big-page", r"\.(pdf|midi?|zip|gz)$"]),
    Site("gimp", "DocBook, in Japanese: GIMP help", ["gimp-help-ja"], "usr/share/gimp/2.0/help", "/ja/index.html"),
]

NGINX = """{user}worker_processes 1; daemon off; pid {work}/nginx.pid; error_log {work}/nginx-error.log;
events {{ worker_connections 1024; }}
http {{
  include /etc/nginx/mime.types; default_type application/octet-stream; access_log off;
  gzip on; gzip_types text/css application/javascript application/json image/svg+xml;
  client_body_temp_path {work}/nginx-body; proxy_temp_path {work}/nginx-proxy; fastcgi_temp_path {work}/nginx-fastcgi;
  uwsgi_temp_path {work}/nginx-uwsgi; scgi_temp_path {work}/nginx-scgi;
{servers}}}
"""
SERVER = "  server {{ listen {address}; root {root}; index index.html; {more} }}\n"


class Web:
    """nginx with a site while the `with` lasts; afterwards nothing answers at its addresses."""

    def __init__(self, site, work, port):
        self.site, self.work = site, work
        self.process = None
        number = SITES.index(site)
        root = site.folder = os.path.join(unpacked(site, work), site.root)
        address, elsewhere = f"127.0.0.{11 + number}:{port}", f"127.0.0.{111 + number}:{port}"
        site.origin = "http://" + address
        servers, more = [], ""
        if site.assets:
            servers.append(SERVER.format(address=elsewhere, root=root,
                                         more='add_header Access-Control-Allow-Origin "*";'))
            more = "sub_filter_once off; " + " ".join(
                f"sub_filter '\"{up}{site.assets}/' '\"http://{elsewhere}/{site.assets}/';" for up in ("", "../"))
        servers.append(SERVER.format(address=address, root=root, more=more))
        with open(os.path.join(work, "nginx.conf"), "w") as conf:
            conf.write(NGINX.format(work=work, user="user root; " if os.geteuid() == 0 else "",
                                     servers="".join(servers)))

    def __enter__(self):
        if answers(self.site.origin):
            raise SystemExit(f"{self.site.origin} answers already: another server? See --port")
        self.process = subprocess.Popen(["nginx", "-e", os.path.join(self.work, "nginx-error.log"), "-c",
                                         os.path.join(self.work, "nginx.conf")])
        wait_for(self.site.origin)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        if answers(self.site.origin):
            raise SystemExit(f"{self.site.origin} still answers: another server?")


def unpacked(site, work):
    """The directory with the packages of `site`, after it was filled."""
    packages, root = os.path.join(work, "packages"), os.path.join(work, "root")
    os.makedirs(packages, exist_ok=True)
    os.makedirs(root, exist_ok=True)
    for package in site.packages:
        done = os.path.join(packages, package + ".unpacked")
        if os.path.exists(done):
            continue
        print(f"package {package}", flush=True)
        subprocess.run(["apt-get", "download", "-qq", package], cwd=packages, check=True, stderr=subprocess.DEVNULL)
        [deb] = [name for name in os.listdir(packages) if name.startswith(package + "_") and name.endswith(".deb")]
        subprocess.run(["dpkg", "-x", deb, root], cwd=packages, check=True)
        os.rename(os.path.join(packages, deb), done)
    # the server would follow them out of the directory
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = os.path.relpath(root + os.readlink(path), folder)
                os.remove(path)
                os.symlink(target, path)
    return root


def answers(origin):
    host, port = origin.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
        return True
    except OSError:
        return False


def wait_for(origin, seconds=60):
    until = time.monotonic() + seconds
    while not answers(origin):
        if time.monotonic() > until:
            raise SystemExit(f"nothing answers at {origin}")
        time.sleep(0.05)


def needed():
    """Programs that the machine has to have."""
    packages = {"nginx": "nginx-light", "wget": "wget", "chromium": "chromium", "node": "nodejs", "npm": "npm"}
    missing = [package for program, package in packages.items() if not shutil.which(program)]
    if missing:
        raise SystemExit("apt-get install " + " ".join(missing))
