"""What `render.mode = "needed"` finds and costs beside "off" and "always", on a web in which few pages need a browser.

    benches/rendering/mixed.py CRAWLER [--scale N] [--program CHROMIUM] [--modes off,needed,always] [--keep DIR]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import trees
import webs


def config(mode, port, program, pages):
    names = ", ".join(f'"{host}" = "127.0.0.1"' for host in webs.mixed())
    return f"""
[network]
allow = ["127.0.0.0/8"]
[dns]
hosts = {{ {names} }}
[politeness]
delay_min = "0s"
delay_factor = 0.0
delay_per_ip = "0s"
[crawl]
disk_floor = "0"
[render]
mode = "{mode}"
program = "{program}"
pages = {pages}
delay = "0s"
"""


def output(crawler, directory, *arguments):
    done = subprocess.run([crawler, *arguments, "--dir", directory], capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def crawl(arguments, mode, directory):
    """One crawl; what it found and cost."""
    server = webs.Server(webs.mixed(arguments.scale))
    os.makedirs(directory)
    with open(f"{directory}/crawler.toml", "w") as file:
        file.write(config(mode, server.port, arguments.program, arguments.pages))
    with open(f"{directory}/seeds.txt", "w") as file:
        file.writelines(f"http://{host}:{server.port}/\n" for host in server.sites)
    command = [arguments.crawler, "--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]
    cost = trees.run(command, f"{directory}/output", 7200, cwd=directory)
    server.listener.shutdown()
    if cost.code != 0:
        sys.exit(f"{mode}: the crawler ended with {cost.code}: {open(f'{directory}/output').read()[-2000:]}")
    crawled = f"{directory}/crawl"
    records = [json.loads(line) for line in output(arguments.crawler, crawled, "list", "--json")]
    port = f":{server.port}"
    pages = {record["url"].replace(port, "") for record in records if is_page(record)}
    links = {line.replace(port, "") for line in output(arguments.crawler, crawled, "export", "links")}
    status = json.load(open(f"{crawled}/status.json"))
    rendering = status["gauges"].get("rendering") or {}
    cost.pages, cost.links, cost.rendering, cost.load = pages, links, rendering, os.getloadavg()[0]
    cost.requests = server.requests
    return cost


def is_page(record):
    return record["status"] == 200 and (record.get("mime") or "") == "text/html"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawler")
    parser.add_argument("--scale", type=int, default=1, help="times 2,000 pages, about")
    parser.add_argument("--program", default="")
    parser.add_argument("--pages", type=int, default=2, help="rendered at the same time")
    parser.add_argument("--modes", default="off,needed,always")
    parser.add_argument("--keep", help="a directory that the crawls are left in")
    arguments = parser.parse_args()
    arguments.crawler = os.path.realpath(arguments.crawler)
    work = arguments.keep or tempfile.mkdtemp(prefix="rendering-")
    costs = {}
    for mode in arguments.modes.split(","):
        costs[mode] = cost = crawl(arguments, mode, os.path.join(work, mode))
        rendered = cost.rendering.get("pages", 0)
        print(
            f"{mode:7} pages {len(cost.pages):6} links {len(cost.links):7} rendered {rendered:6} "
            f"CPU {cost.cpu:8.1f} s, by {cost.counted_by}, {cost.seconds:7.1f} s, load {cost.load:.1f} "
            f"{cost.rendering}",
            flush=True,
        )
    if {"off", "needed", "always"} <= costs.keys():
        compare(costs)
    if not arguments.keep:
        shutil.rmtree(work)


def compare(costs):
    off, needed, always = (costs[mode] for mode in ("off", "needed", "always"))
    share = lambda some, all: 100 * some / all if all else 100.0
    print(f"pages of always that needed has   {share(len(needed.pages & always.pages), len(always.pages)):6.2f} %")
    print(f"links of always that needed has   {share(len(needed.links & always.links), len(always.links)):6.2f} %")
    print(f"renderings of needed, of always's {share(needed.rendering['pages'], always.rendering['pages']):6.2f} %")
    print(f"CPU of rendering, of always's     {share(needed.cpu - off.cpu, always.cpu - off.cpu):6.2f} %")
    for missing in sorted(always.pages - needed.pages)[:10]:
        print("  missing", missing)


if __name__ == "__main__":
    main()
