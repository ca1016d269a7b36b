"""An application of 500 routes by React, crawled by this program and by Crawlee with Playwright.

    benches/rendering/peers.py CRAWLER [--crawlee DIR] [--program CHROMIUM]... [--routes N] [--pages N]...
                               [--rounds N]
"""

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import trees
import webs

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = """
[network]
allow = ["127.0.0.0/8"]
[politeness]
delay_min = "0s"
delay_factor = 0.0
delay_per_ip = "0s"
[crawl]
disk_floor = "0"
[render]
mode = "always"
program = "{program}"
pages = {pages}
delay = "0s"
"""


def own(crawler, url, program, pages, directory):
    """This program: it archives what the server sent, what pages asked for, and what became of them."""
    with open(f"{directory}/crawler.toml", "w") as file:
        file.write(CONFIG.format(program=program, pages=pages))
    with open(f"{directory}/seeds.txt", "w") as file:
        file.write(url + "\n")
    command = [crawler, "--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]
    cost = trees.run(command, f"{directory}/output", 3600, cwd=directory)
    lines = subprocess.run([crawler, "list", "--json", "--dir", f"{directory}/crawl"], capture_output=True, check=True)
    records = map(json.loads, lines.stdout.splitlines())
    return cost, [record["url"] for record in records if record["mime"] == "text/html"]


def crawlee(modules, url, program, pages, directory):
    """Crawlee: it stores the DOM of each page as a file."""
    shutil.copy(f"{HERE}/crawlee.mjs", directory)
    os.symlink(f"{modules}/node_modules", f"{directory}/node_modules")
    command = ["node", "crawlee.mjs", url, str(pages), program]
    cost = trees.run(command, f"{directory}/output", 3600, cwd=directory)
    files = glob.glob(f"{directory}/storage/datasets/default/*.json")
    return cost, [json.load(open(file))["url"] for file in files if not file.endswith("__metadata__.json")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawler")
    parser.add_argument("--crawlee", help="a directory whose node_modules has crawlee and playwright")
    parser.add_argument("--program", action="append", help="browsers; all crawlers use them")
    parser.add_argument("--pages", action="append", type=int, help="in browsers at the same time")
    parser.add_argument("--routes", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    peers = {"crawler": lambda *at: own(os.path.realpath(arguments.crawler), *at)}
    if arguments.crawlee:
        peers["crawlee"] = lambda *at: crawlee(os.path.realpath(arguments.crawlee), *at)
    for program in arguments.program or [shutil.which("chromium") or sys.exit("no chromium is on PATH")]:
        for pages in arguments.pages or [2]:
            measure(peers, program, pages, arguments)


def measure(peers, program, pages, arguments):
    print(f"{program}, {pages} pages at the same time, {arguments.routes} routes", flush=True)
    figures = {name: [] for name in peers}
    for _ in range(arguments.rounds):
        for name, crawl in peers.items():
            # its own server each, as caches of one must not help another
            server = webs.Server({"": webs.Application(arguments.routes)})
            directory = tempfile.mkdtemp(prefix="rendering-")
            url = f"http://127.0.0.1:{server.port}/"
            cost, found = crawl(url, program, pages, directory)
            server.listener.shutdown()
            routes = {url.rstrip("/") + path for path in server.sites[""].pages}
            got = routes & set(found)
            figures[name].append((cost.cpu / max(len(got), 1), len(got) / cost.seconds))
            print(
                f"  {name:8} {len(got)} of {len(routes)} routes, code {cost.code}, {cost.seconds:.1f} s, "
                f"CPU {cost.cpu:.1f} s by {cost.counted_by}: {1e3 * cost.cpu / max(len(got), 1):.0f} ms a page, "
                f"{len(got) / cost.seconds:.2f} pages/s, {server.requests} requests, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            if not got:
                print(open(f"{directory}/output").read()[-2000:])
            shutil.rmtree(directory)
    if arguments.rounds > 1:
        for name, of_rounds in figures.items():
            cpu, speed = (statistics.median(values) for values in zip(*of_rounds))
            print(f"  {name:8} median {1e3 * cpu:.0f} ms a page, {speed:.2f} pages/s")


if __name__ == "__main__":
    main()
