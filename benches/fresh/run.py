#!/usr/bin/env python3
"""Mirrors a site every day that is edited a little every day, and counts what each mirror finds and costs.

    cargo build --release
    python3 benches/fresh/run.py --source /usr/share/doc/postgresql-doc-15/html [--days 10] [--day 170]
        [--pages 5000] [--changed 20] [--added 3] [--removed 2] [--footers] [--crawler PROGRAM] [--scrapy PROGRAM]
        [--tools crawler,crawler-sitemap,wget,wget-head,scrapy] [--json FILE]

README.md says what a day is, what is compared, and what the columns mean. Nothing leaves the machine.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from edited_site import Server, Site, sha1

HERE = os.path.dirname(os.path.abspath(__file__))
SETTLED = 65
"""Seconds between the edits of a day and its mirrors: younger dates in a sitemap are not believed."""

CONFIG = """
[crawl]
contact = "http://127.0.0.1/"
[scope]
mode = "host"
favicon = false
[robots]
sitemaps = {sitemaps}
cache = "1m"
[politeness]
delay_min = "0s"
delay_factor = 0.0
delay_per_ip = "0s"
connections_per_host = 4
[network]
allow = ["127.0.0.0/8"]
[recrawl]
mode = "fixed"
interval = "{interval}"
max = "90d"
sitemap_min = "1m"
sitemap_max = "1m"
"""


class Tool:
    """A mirror of the site at `url` in `folder`; `found` is what the last run says: page by kind of change."""

    def __init__(self, url, folder, options):
        self.url, self.folder, self.options, self.pages = url, folder, options, {}
        os.makedirs(folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.mirror()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def call(self, *command, may_end=(0,)):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode not in may_end:
            sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done.stdout

    def compare(self, pages):
        """What became of the pages, by their contents before and now."""
        before, self.pages = self.pages, pages
        both = before.keys() & pages.keys()
        return {"changed": {name for name in both if before[name] != pages[name]},
                "new": pages.keys() - before.keys(), "gone": before.keys() - pages.keys()}


class Crawler(Tool):
    """This crawler with a calendar that has every page due each day; what it found is what `changes` says."""

    interval, sitemaps = None, "false"

    def mirror(self):
        config = self.path("fresh.toml")
        if not os.path.exists(config):
            # due again before the day is over: up to a tenth later by its jitter, and when its minute is over
            interval = self.interval or f"{max(60, int(0.55 * self.options.day))}s"
            with open(config, "w") as file:
                file.write(CONFIG.format(interval=interval, sitemaps=self.sitemaps))
        self.began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        seed = self.url + "index.html"
        began = time.monotonic()
        self.call(self.options.crawler, seed, "--dir", "crawl", "--config", config, "--until-fresh", "--quiet")
        if time.monotonic() - began > 0.45 * self.options.day:
            sys.exit("the crawl takes so long that its first pages are due again: give --day more seconds")

    def found(self):
        lines = self.call(self.options.crawler, "changes", "--dir", "crawl", "--since", self.began, "--json")
        found = {"changed": set(), "new": set(), "gone": set()}
        for change in map(json.loads, lines.splitlines()):
            found.setdefault(change["change"], set()).add(change["url"].rsplit("/", 1)[1])
        return found


class CrawlerBySitemap(Crawler):
    """The same, led by the dates of the sitemap: the pages themselves are due once a month."""

    interval, sitemaps = "30d", "true"


class Wget(Tool):
    """`wget -N -m`; files are what it has. A page that is gone stays there."""

    more = ()

    def mirror(self):
        command = ["wget", "-m", "-N", *self.more, "-nv", "-nH", "--no-parent", "-P", "files", self.url + "index.html"]
        self.call(*command, may_end=(0, 8))

    def found(self):
        pages = {}
        for name in os.listdir(self.path("files")):
            with open(self.path(os.path.join("files", name)), "rb") as file:
                pages[name] = sha1(file.read())
        return self.compare(pages)


class WgetByHead(Wget):
    """The same with a HEAD before each GET. Otherwise it reads no links in a page that was answered 304, unless that
    answer has a Content-Type, which those of nginx have not."""

    more = ("--no-if-modified-since",)


class Scrapy(Tool):
    """Scrapy with its HTTP cache; pages are those that the spider was given this time."""

    def mirror(self):
        self.call(self.options.scrapy, "runspider", os.path.join(HERE, "spider.py"), "-a", f"seed={self.url}index.html",
                  "-a", f"found={self.path('found.jsonl')}", "-s", f"HTTPCACHE_DIR={self.path('cache')}")

    def found(self):
        with open(self.path("found.jsonl"), encoding="utf-8") as lines:
            pages = [json.loads(line) for line in lines]
        return self.compare({page["url"].rsplit("/", 1)[1]: page["sha1"] for page in pages})


TOOLS = {"crawler": Crawler, "crawler-sitemap": CrawlerBySitemap, "wget": Wget, "wget-head": WgetByHead,
         "scrapy": Scrapy}


def day_of(tool, site, server):
    """One run of a tool, with what it found of the day's edits and what it cost."""
    server.reset()
    cpu = tool.run()
    figures = {"requests": server.requests, "not_modified": server.not_modified, "bytes": server.bytes, "cpu": cpu}
    found = tool.found()
    pages = {kind: {name for name in names if name.endswith(".html")} for kind, names in found.items()}
    truth = {"changed": site.changed, "new": site.added, "gone": site.removed}
    for kind, names in truth.items():
        figures[kind] = (len(names & pages[kind]), len(names))
    figures["others"] = len(set().union(*pages.values()) - set().union(*truth.values()))
    return figures


def table(results, days):
    print(f"\nMeans of {days} days; the first copy is not counted.\n")
    print("| mirror | changed found | new found | gone found | others reported | requests | of them 304 | MB | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, rows in results.items():
        rows = rows[1:]
        mean = lambda key: sum(row[key] for row in rows) / len(rows)
        share = lambda key: f"{sum(row[key][0] for row in rows)} of {sum(row[key][1] for row in rows)}"
        print(f"| {name} | {share('changed')} | {share('new')} | {share('gone')} | {mean('others'):.0f} "
              f"| {mean('requests'):.0f} | {mean('not_modified'):.0f} | {mean('bytes') / 1e6:.2f} | {mean('cpu'):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, help="directory of HTML with an index.html")
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--day", type=float, default=170, help="seconds from one day to the next, or more")
    parser.add_argument("--pages", type=int, default=5000, help="at most so many")
    parser.add_argument("--changed", type=int, default=20)
    parser.add_argument("--added", type=int, default=3)
    parser.add_argument("--removed", type=int, default=2)
    parser.add_argument("--footers", action="store_true", help="every page is written anew each day, with its date")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--crawler", default=os.path.join(HERE, "../../target/release/crawler"))
    parser.add_argument("--scrapy", default="scrapy")
    parser.add_argument("--json", help="each day's figures")
    options = parser.parse_args()
    options.crawler = os.path.abspath(options.crawler)
    scratch = tempfile.mkdtemp(prefix="fresh-")
    try:
        site = Site(options.source, os.path.join(scratch, "site"), options.footers, options.pages)
        server = Server(site.folder)
        tools = {name: TOOLS[name](server.url, os.path.join(scratch, name), options) for name in options.tools.split(",")}
        results = {name: [] for name in tools}
        print(f"{len(site.texts)} pages, {sum(map(len, site.texts.values())) / 1e6:.1f} MB")
        for day in range(options.days + 1):
            began = time.monotonic()
            if day > 0:
                site.edit(options.changed, options.added, options.removed)
                time.sleep(SETTLED)
            for name, tool in tools.items():
                results[name].append(day_of(tool, site, server))
                print(f"day {day}, {name}: {results[name][-1]}", flush=True)
            if day < options.days:
                time.sleep(max(0, began + options.day - time.monotonic()))
        table(results, options.days)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(results, file)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
