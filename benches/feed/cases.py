#!/usr/bin/env python3
"""Small cases of the feed of documents that days of a site do not show: prints for each what the feed sent.

    python3 benches/feed/cases.py [--crawler PROGRAM] [--only small,moves,after,slow]

small: a site of 9 pages is 404 for three days, but for its start page.
moves: 15 of 60 pages move (301); their new URLs are found a day before the old ones are visited again.
after: a site of 41 pages is 404 for three days, but for its start page; then it is back without two of them.
slow: a site of 600 pages, of which 20 are due each day, is 404 for six days, but for its start page.
"""
import argparse
import collections
import os
import shutil
import tempfile

import changing as site
import run

BROKEN = (404, site.html("404 Not Found", "<p>Not found.</p>"))


class Case:
    """A site by paths, and a crawler of it."""
    settings = ""

    def __init__(self, args, work):
        os.makedirs(work)
        self.pages, self.is_broken, self.number = {}, False, 1
        self.web = site.started()
        self.web.day = self
        self.crawler = run.Crawler(args, work, self.web.url(), self.settings)
        self.log = open(os.path.join(work, "log"), "ab")
        self.documents = set()

    def answer(self, path):
        if path == "/robots.txt":
            return BROKEN
        if path == "/":
            return 200, site.html("Start", site.text_of("/", 1) + site.links(sorted(self.pages)))
        return BROKEN if self.is_broken else self.pages.get(path, BROKEN)

    def page(self, path):
        self.pages[path] = (200, site.html(f"Page {path}", site.text_of(path, 1)))

    def day(self):
        """Runs a day; returns the requests, and the paths that were stored and deleted."""
        _, changes = self.crawler.run(self.number, self.log)
        self.number += 1
        paths = collections.defaultdict(list)
        for change in changes:
            path = change.url.removeprefix(self.web.url())
            paths[change.op].append(path)
            (self.documents.add if change.op == "upsert" else self.documents.discard)(path)
        requests = sum(sum(counts.values()) for counts in self.web.taken().values())
        print(f"  day {self.number - 1}: {requests} requests, {len(paths['upsert'])} upserts, "
              f"{len(paths['delete'])} deletions; {len(self.documents)} documents", flush=True)

    def close(self):
        self.log.close()
        self.web.shutdown()
        self.web.server_close()


class Small(Case):
    def play(self):
        for number in range(8):
            self.page(f"/p{number}")
        self.day()
        self.is_broken = True
        for _ in range(3):
            self.day()


class Moves(Case):
    # old URLs are visited again two days later
    settings = 'patterns = [{ include = "/old", interval = "40h" }]\n'

    def play(self):
        for number in range(60):
            self.page(f"/old{number}")
        self.day()
        for number in range(15):
            self.pages[f"/new{number}"] = self.pages[f"/old{number}"]
            self.pages[f"/old{number}"] = (301, f"/new{number}")
        for _ in range(4):
            self.day()


class Slow(Case):
    settings = 'patterns = [{ include = "/p", interval = "30d" }]\nmax = "60d"\n'

    def play(self):
        for number in range(600):
            self.page(f"/p{number}")
            if number % 20 == 19:
                self.day()
        for is_broken in [False] * 4 + [True] * 6 + [False] * 8:
            self.is_broken = is_broken
            self.day()


class After(Case):
    def play(self):
        for number in range(40):
            self.page(f"/p{number}")
        self.day()
        self.is_broken = True
        for _ in range(3):
            self.day()
        self.is_broken = False
        del self.pages["/p3"], self.pages["/p4"]
        for _ in range(14):
            self.day()


CASES = {"small": Small, "moves": Moves, "after": After, "slow": Slow}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crawler", default=os.path.abspath("target/release/crawler"))
    parser.add_argument("--only", default=",".join(CASES))
    args = parser.parse_args()
    place = tempfile.mkdtemp(prefix="feed-")
    try:
        for name in args.only.split(","):
            print(name, flush=True)
            case = CASES[name](args, os.path.join(place, name))
            try:
                case.play()
            finally:
                case.close()
            with open(os.path.join(place, name, "log")) as log:
                for line, count in collections.Counter(log).items():
                    print(f"  {count} times: {line.strip()}")
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
