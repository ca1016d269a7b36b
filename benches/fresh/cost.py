#!/usr/bin/env python3
"""What [recrawl] costs the first crawl of a site: CPU seconds and bytes on disk with and without, in turns.

    python3 benches/fresh/cost.py URL [--rounds 7] [--crawler PROGRAM]

The URL is of a server on loopback; whatever it leads to on its host is crawled without delays. The least and the median
of the rounds; a crawl with recrawl ends by --until-fresh, after which each page is in the calendar.
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = """
[crawl]
contact = "http://127.0.0.1/"
[scope]
mode = "host"
favicon = false
[politeness]
delay_min = "0s"
delay_factor = 0.0
delay_per_ip = "0s"
connections_per_host = 4
[network]
allow = ["127.0.0.0/8"]
[recrawl]
mode = "{mode}"
"""


def crawl(options, mode, folder):
    """CPU seconds, pages, and bytes of the crawl's directory without the archive."""
    os.makedirs(folder)
    with open(os.path.join(folder, "crawler.toml"), "w") as config:
        config.write(CONFIG.format(mode=mode))
    command = [options.crawler, options.url, "--dir", "crawl", "--config", "crawler.toml", "--quiet", "--until-fresh"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    listed = subprocess.run([options.crawler, "list", "--dir", "crawl"], cwd=folder, capture_output=True, check=True)
    state = 0
    for place, _, files in os.walk(os.path.join(folder, "crawl")):
        if not place.endswith("pages"):
            state += sum(os.path.getsize(os.path.join(place, name)) for name in files)
    shutil.rmtree(folder)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, len(listed.stdout.splitlines()), state


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--crawler", default=os.path.join(HERE, "../../target/release/crawler"))
    options = parser.parse_args()
    options.crawler = os.path.abspath(options.crawler)
    scratch = tempfile.mkdtemp(prefix="fresh-cost-")
    rounds = {"off": [], "adaptive": []}
    try:
        for number in range(options.rounds):
            for mode, results in rounds.items():
                results.append(crawl(options, mode, os.path.join(scratch, f"{mode}-{number}")))
                print(f"round {number}, {mode}: {results[-1]}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("| recrawl | pages | CPU s, least | CPU s, median | us a page, least | state, KB |\n|---|---|---|---|---|---|")
    for mode, results in rounds.items():
        cpu, pages = [result[0] for result in results], results[0][1]
        print(f"| {mode} | {pages} | {min(cpu):.3f} | {statistics.median(cpu):.3f} | {min(cpu) / pages * 1e6:.0f} "
              f"| {results[0][2] / 1e3:.0f} |")


if __name__ == "__main__":
    main()
