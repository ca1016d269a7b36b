#!/usr/bin/env python3
"""Indexes that are kept equal to a changing site: the crawler's feed of documents beside Norconex's committer.

    cargo build --release && python3 benches/feed/run.py [--crawler PROGRAM] [--peer DIR] [--only NAME] [--days 25]
        [--work DIR] [--json FILE]

The site (`changing.py`) has the same days for each program. After each day's run what the program sent is applied to an
index, and the index is compared with the site. Prints a table for each program; README.md says what the columns are.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import changing as site

HERE = os.path.dirname(os.path.abspath(__file__))
# seconds from one day's clock to the next, and after which a run of the crawler is stopped
STEP, LIMIT = 25 * 3600, 20
TOKEN = re.compile(r"\bt[0-9a-f]{10}\b")
SETTINGS = """[network]
allow = ["127.0.0.0/8"]
[scope]
mode = "host"
[politeness]
delay_factor = 0
delay_min = "0s"
delay_per_ip = "0s"
[recrawl]
mode = "fixed"
interval = "20h"
"""
Change = collections.namedtuple("Change", "op key url word reason")


class Crawler:
    """The crawler with one directory, and its feed."""

    def __init__(self, args, work, start, more=""):
        self.args, self.work, self.start = args, work, start
        self.settings = os.path.join(work, "crawler.toml")
        with open(self.settings, "w") as file:
            file.write(SETTINGS + more)

    def run(self, day, log):
        directory = os.path.join(self.work, "crawl")
        program = self.args.crawler
        code = run([program, self.start + "/", "--config", self.settings, "--dir", directory, "--until-fresh", "-q"],
                   log, limit=LIMIT, day=day)
        cursor = os.path.join(self.work, "cursor")
        output = os.path.join(self.work, "lines")
        with open(output, "wb") as lines:
            allowed = ["--allow-deletions", "127.0.0.1"] if day == site.OPERATOR else []
            run([program, "follow", directory, "--documents", "--once", "--cursor", cursor, *allowed], log, lines,
                day=day)
        with open(output) as lines:
            return code, [self.change(json.loads(line)) for line in lines]

    def change(self, line):
        word = TOKEN.search(line.get("text") or "")
        return Change(line["op"], line["id"], line["url"], word and word.group(), line.get("reason"))


class Norconex:
    """Norconex HTTP Collector with one store, and the files of its committer."""

    def __init__(self, args, work, start, values=""):
        self.args, self.work, self.seen = args, work, set()
        self.values = os.path.join(work, "values.properties")
        with open(self.values, "w") as file:
            file.write(f"dir = {work}\nstart = {start}/\n{values}")

    def run(self, day, log):
        classes = os.path.join(self.args.peer, "lib", "*")
        options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-cp", f"{HERE}:{classes}"]
        code = run(["java", *options, "com.norconex.collector.http.HttpCollector", "-a", "start", "-c",
                    os.path.join(HERE, "norconex.xml"), "-v", self.values], log)
        files = sorted(set(glob.glob(os.path.join(self.work, "committed", "**", "*.json"), recursive=True)) - self.seen)
        self.seen.update(files)
        return code, [self.change(item) for file in files for item in json.load(open(file))]

    def change(self, item):
        if "doc-add" in item:
            found = item["doc-add"]
            word = TOKEN.search(found.get("content") or "")
            return Change("upsert", found["reference"], found["reference"], word and word.group(), None)
        reference = item["doc-del"]["reference"]
        return Change("delete", reference, reference, None, None)


def run(words, log, output=None, limit=None, day=None):
    """Runs a program, with the clock of a day if one is given; after `limit` seconds it is asked to stop as by Ctrl-C.

    The library of faketime is preloaded without its program, which would take the signal and not pass it on.
    """
    environment = dict(os.environ)
    if day:
        [library] = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        environment |= {"LD_PRELOAD": library, "FAKETIME": f"+{(day - 1) * STEP}", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    process = subprocess.Popen(["nice", "-n", "19", *words], stdout=output or log, stderr=log, env=environment,
                               stdin=subprocess.DEVNULL)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return process.wait()


PROGRAMS = {
    "crawler": (Crawler, ()),
    "norconex": (Norconex, ()),
    "norconex-ignore": (Norconex, ("spoiled = IGNORE\n",)),
    "norconex-grace": (Norconex, ("spoiled = GRACE_ONCE\nmissing = GRACE_ONCE\n",)),
}


def main():
    args = arguments()
    place = os.path.abspath(args.work) if args.work else tempfile.mkdtemp(prefix="feed-")
    os.makedirs(place, exist_ok=True)
    results = {}
    try:
        for name in args.only.split(","):
            results[name] = bench(args, os.path.join(place, name), name)
    finally:
        if not args.work:
            shutil.rmtree(place)
    compare(results)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crawler", default=os.path.abspath("target/release/crawler"))
    parser.add_argument("--peer", default=HERE)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--days", type=int, default=len(site.DAYS))
    parser.add_argument("--work")
    parser.add_argument("--json")
    return parser.parse_args()


def bench(args, work, name):
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    web = site.started()
    kind, values = PROGRAMS[name]
    program, index, rows = kind(args, work, web.url(), *values), {}, []
    print(f"\n{name}\n\n| day | requests | upserts | deletions | wrong | missing | extra | stale | code, s |\n"
          "|---|---|---|---|---|---|---|---|---|", flush=True)
    try:
        with open(os.path.join(work, "log"), "ab") as log:
            for day in range(1, args.days + 1):
                web.set_day(day)
                begun = time.time()
                code, changes = program.run(day, log)
                rows.append(row(web, day, index, changes) | {"code": code, "seconds": round(time.time() - begun, 1)})
                print("|", " | ".join(str(rows[-1][key]) for key in COLUMNS), "|", flush=True)
    finally:
        web.shutdown()
        web.server_close()
    return rows


def compare(results):
    """Prints the programs beside each other: a line for each day, and the sums."""
    first = next(iter(results.values()))
    print("\n| day | " + " | ".join(results) + " |\n" + "|---" * (1 + len(results)) + "|")
    for at, day in enumerate(first):
        cells = [" / ".join(str(rows[at][key]) for key in ("requests", "wrong", "missing", "extra"))
                 for rows in results.values()]
        print(f"| {day['day']} | " + " | ".join(cells) + " |")
    print("\n| program | requests | upserts | deletions | wrong | missing, days x documents | extra | stale |\n"
          "|---|---|---|---|---|---|---|---|")
    for name, rows in results.items():
        sums = (sum(row[key] for row in rows) for key in COLUMNS[1:8])
        print(f"| {name} | " + " | ".join(f"{value:,}" for value in sums) + " |", flush=True)


COLUMNS = ("day", "requests", "upserts", "deletions", "wrong", "missing", "extra", "stale", "code", "seconds")


def row(web, day, index, changes):
    """What a run has done, and how the index differs from the site behind it."""
    deleted = collections.Counter()
    for change in changes:
        if change.op == "upsert":
            index[change.key] = change
        else:
            index.pop(change.key, None)
            deleted[change.url.removeprefix(web.url())] += 1
    has = {change.url.removeprefix(web.url()): change.word for change in index.values()}
    truth = dict(web.day.truth)
    # a form to log in by is no document, and whoever has it has not too many
    has.pop("/login", None)
    requests = collections.Counter()
    for counts in web.taken().values():
        requests.update(counts)
    listed = {
        "wrong": sorted(path for path in deleted if path in truth and path not in has),
        "missing": sorted(truth.keys() - has.keys()),
        "extra": sorted(has.keys() - truth.keys()),
        "stale": sorted(path for path in truth.keys() & has.keys() if truth[path] != has[path]),
        "reasons": dict(collections.Counter(f"{change.op} {change.reason or ''}".strip() for change in changes)),
        "statuses": dict(requests),
    }
    counted = {key: len(listed[key]) for key in ("wrong", "missing", "extra", "stale")}
    return {"day": day, "what": site.DAYS[day - 1], "requests": sum(requests.values()),
            "upserts": sum(change.op == "upsert" for change in changes), "deletions": sum(deleted.values()),
            **counted, "lists": listed}


if __name__ == "__main__":
    main()
