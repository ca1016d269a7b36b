"""The shop, crawled with rendering, replayed by pywb and ReplayWeb.page, and compared with the live site by pictures.

    python3 benches/rendering/replay.py CRAWLER [ROUTES [FOLDER]]     by default 500 routes, /tmp/rendering-replay
    MODULES=1 python3 benches/rendering/replay.py CRAWLER ...         the application as modules, not as one script

Crawls the shop (shop.py), judges the archive (each route once, rendered, with a conversion record; scripts, data,
pictures), takes screenshots of ten routes from the live site, stops the site, and takes them again from pywb as it is
usually set up (URLs rewritten; not with MODULES, which it cannot rewrite), from pywb as a proxy without rewriting, and
from the WACZ in ReplayWeb.page. Prints for each replay how many pixels differ, which requests failed, and which went to
the site; fails if any does, or if a route is missing. Pictures stay in FOLDER. Chromium is CHROMIUM
(/usr/bin/chromium); pywb, Pillow and the packages of npm are installed into TOOLS (shop.py) once.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

from crawling import Crawl, load, wait_until_none
from shop import HERE, Shop, tools

PYWB = """collections_root: collections
enable_auto_colls: true
framed_replay: false
enable_banner: false
"""
PYWB_PROXY = """collections_root: collections
proxy:
  coll: shop
  enable_banner: false
  enable_wombat: false
  enable_content_rewrite: false
"""


def python_tools():
    """The directory with pywb's programs, and Python with Pillow."""
    home = os.path.join(tools(), "python")
    if not os.path.exists(os.path.join(home, "bin", "wayback")):
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([os.path.join(home, "bin", "pip"), "install", "-q", "pywb", "Pillow", "setuptools<81"],
                       check=True)
    return os.path.join(home, "bin")


def shots(name, folder, pages, live, **more):
    """What shots.js says of `pages`: [(URL to open, name of the route)]; pictures are FOLDER/NAME/ROUTE.png."""
    where = os.path.join(folder, name)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    job = {"chromium": os.environ.get("CHROMIUM", "/usr/bin/chromium"), "width": 1280, "height": 1024, "live": live,
           "reader": os.path.join(tools(), "node_modules", "replaywebpage"),
           "pages": [{"url": url, "png": os.path.join(where, f"{route}.png")} for url, route in pages], **more}
    with open(os.path.join(where, "job.json"), "w") as file:
        json.dump(job, file)
    done = subprocess.run(["node", os.path.join(HERE, "shots.js"), os.path.join(where, "job.json")],
                          env={**os.environ, "NODE_PATH": os.path.join(tools(), "node_modules")},
                          stdout=subprocess.PIPE, check=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    with open(os.path.join(where, "results.json"), "w") as file:
        json.dump(results, file, indent=1)
    return results


COMPARE = """
import sys
from PIL import Image, ImageChops
one, other = (Image.open(name).convert("RGB") for name in sys.argv[1:3])
if one.size != other.size:
    print(1.0)
else:
    bands = ImageChops.difference(one, other).split()
    mask = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2]).point(lambda v: 255 if v else 0)
    mask.save(sys.argv[3])
    print(mask.histogram()[255] / (one.size[0] * one.size[1]))
"""


def difference(folder, name, route):
    """The share of pixels in which any channel differs at all between the live site and the replay `name`."""
    live, replay = (os.path.join(folder, which, f"{route}.png") for which in ("live", name))
    if not os.path.exists(replay):
        return 1.0
    done = subprocess.run([os.path.join(python_tools(), "python"), "-c", COMPARE, live, replay,
                           os.path.join(folder, name, f"{route}-differs.png")], stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


class Pywb:
    """pywb with the value files of the crawl and its exported index."""

    def __init__(self, crawl, folder, config):
        collection = os.path.join(folder, "collections", "shop")
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("archive", "indexes"):
            os.makedirs(os.path.join(collection, part))
        pages = os.path.join(crawl.folder, "crawl", "pages")
        for name in os.listdir(pages):
            if name.startswith("value-"):
                os.symlink(os.path.join(pages, name), os.path.join(collection, "archive", name))
        crawl.says("export", "cdxj", "--all", "--spellings", "-o", os.path.join(collection, "indexes", "index.cdxj"))
        with open(os.path.join(folder, "config.yaml"), "w") as file:
            file.write(config)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.log = open(os.path.join(folder, "pywb.log"), "w")
        self.process = subprocess.Popen([os.path.join(python_tools(), "wayback"), "-b", "127.0.0.1", "-p",
                                         str(self.port), "-t", "8"], cwd=folder, stdout=self.log, stderr=self.log)

    def __enter__(self):
        until = time.monotonic() + 60
        while not answers("127.0.0.1", self.port):
            if time.monotonic() > until:
                raise SystemExit(f"pywb does not start: {self.log.name}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


def answers(address, port):
    """Whether anything takes connections there."""
    try:
        socket.create_connection((address, port), timeout=2).close()
        return True
    except OSError:
        return False


def tell(name, folder, routes, results):
    """Prints how the replay `name` looks; whether it looks as the live site."""
    right = True
    for (_, route), result in zip(routes, results):
        share = difference(folder, name, route)
        good = share == 0 and not result.get("error") and not result["live"] and not result["failed"]
        right &= good
        print(f"  {route:22} {100 * share:7.3f} % of the pixels differ{'' if good else '  <--'}"
              f"{'  ' + result['error'] if result.get('error') else ''}")
        for url in result["failed"][:5]:
            print(f"      failed: {url}")
        for url in result["live"][:5]:
            print(f"      to the live site: {url}")
    return right


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    folder = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else "/tmp/rendering-replay")
    shop = Shop(count, modules=bool(os.environ.get("MODULES")))
    crawl = Crawl(program, os.path.join(folder, "crawl"), shop, 4)
    begun = time.monotonic()
    child = crawl.start()
    code = child.wait()
    print(f"crawl                exit code {code} after {time.monotonic() - begun:.0f} s; {load()}")
    right = crawl.judge() and code == 0 and not any(wait_until_none(crawl.temporary))
    routes = shop.routes()
    last = shop.products - 1
    wanted = ["/", "/about", "/category/0", "/category/1?page=2", f"/category/{last // 24}", "/product/0",
              "/product/7", f"/product/{last // 2}", f"/product/{last - 1}", f"/product/{last}"]
    named = [(shop.own + path, path.strip("/").replace("/", "-").replace("?", "-") or "start") for path in wanted]
    assert all(url in routes for url, _ in named), named
    live = [shop.own, shop.other]
    shots("live", folder, named, live)
    again = shots("again", folder, named, live)
    print("live site, a second time")
    tell("again", folder, named, [{**result, "live": []} for result in again])
    before = shop.count(lambda line: True)
    shop.stop()
    for origin in live:
        address, port = origin.removeprefix("http://").split(":")
        assert not answers(address, int(port)), f"{origin} still answers"
    print(f"the site is stopped after {before} requests, and takes no connections")
    # pywb rewrites modules so that browsers refuse them: what it puts before a script may not stand in a module
    if not os.environ.get("MODULES"):
        with Pywb(crawl, os.path.join(folder, "pywb"), PYWB) as pywb:
            print("pywb, URLs rewritten")
            opened = [(f"{pywb.origin}/shop/{url}", route) for url, route in named]
            right &= tell("rewritten", folder, named, shots("rewritten", folder, opened, live))
    with Pywb(crawl, os.path.join(folder, "pywb-proxy"), PYWB_PROXY) as pywb:
        print("pywb as a proxy, nothing rewritten")
        right &= tell("proxied", folder, named, shots("proxied", folder, named, live, proxy=pywb.origin))
    wacz = os.path.join(folder, "shop.wacz")
    crawl.says("export", "wacz", "-o", wacz)
    print("ReplayWeb.page, from a WACZ")
    right &= tell("reader", folder, named, shots("reader", folder, named, live, wacz=wacz))
    assert shop.count(lambda line: True) == before
    print("all as the live site" if right else "not all as the live site")
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
