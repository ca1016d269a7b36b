#!/usr/bin/env python3
"""What a follower costs the crawl beside it: CPU seconds of the crawl alone and with `crawler follow`, in turns.

    cargo build --release && python3 benches/follow/run.py [--crawler PROGRAM] [--rounds 7] [--pages 6000]
        [--fields FIELDS] [--options 'OPTIONS OF follow']

The web is `crawler simulate` in a process of its own. Prints for each round user and system seconds of the crawling
process (wait4), and those of the follower; at the end medians, and the difference of each pair. Every follower has to
have told all pages of its crawl.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile


def main():
    args = arguments()
    place = tempfile.mkdtemp(prefix="follow-")
    web = subprocess.Popen([args.crawler, "simulate", "--pages", str(args.pages), "--hosts", "60", "--latency", "2ms",
                            "--page-bytes", "16384"], cwd=place, stdout=subprocess.PIPE, text=True)
    try:
        settings, seeds = written(web.stdout, place)
        pairs = [pair(args, place, settings, seeds, number) for number in range(args.rounds)]
    finally:
        web.terminate()
        web.wait()
        shutil.rmtree(place)
    alone, beside = zip(*pairs)
    print(f"median alone {statistics.median(alone):.3f} s, with a follower {statistics.median(beside):.3f} s")
    differences = [with_one / without - 1 for without, with_one in pairs]
    print("differences:", " ".join(f"{difference:+.1%}" for difference in differences),
          f"median {statistics.median(differences):+.1%}")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crawler", default=os.path.abspath("target/release/crawler"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pages", type=int, default=6000)
    parser.add_argument("--fields", default="all")
    parser.add_argument("--options", default="")
    return parser.parse_args()


def written(output, place):
    """The files of settings and seeds that the web has written."""
    for line in output:
        if line.startswith("wrote "):
            break
    settings = os.path.join(place, "simweb", "crawler.toml")
    with open(settings) as file:
        text = file.read()
    with open(settings, "w") as file:
        file.write(with_checkpoints(text))
    return settings, os.path.join(place, "simweb", "seeds.txt")


def with_checkpoints(text):
    """A checkpoint every second, so that there is always something to tell."""
    line = 'checkpoint_interval = "1s"\n'
    head = "[crawl]\n"
    return text.replace(head, head + line, 1) if head in text else text + "\n" + head + line


def pair(args, place, settings, seeds, number):
    """CPU seconds of a crawl alone and of one that is followed; which comes first alternates."""
    order = [False, True] if number % 2 == 0 else [True, False]
    seconds = {followed: crawl(args, place, settings, seeds, followed) for followed in order}
    (alone, _, _), (beside, follower, lines) = seconds[False], seconds[True]
    print(f"alone {alone:.3f} s, with a follower {beside:.3f} s ({lines} lines, follower {follower:.3f} s)", flush=True)
    return alone, beside


def crawl(args, place, settings, seeds, followed):
    directory = os.path.join(place, "crawl")
    shutil.rmtree(directory, ignore_errors=True)
    told = os.path.join(place, "told")
    follower = None
    if followed:
        words = [args.crawler, "follow", directory, "--forever", "--robots", "--cursor", told + ".cursor", "--fields",
                 args.fields, *args.options.split()]
        follower = subprocess.Popen(words, stdout=open(told, "wb"))
    run = subprocess.Popen([args.crawler, "--seeds", seeds, "--config", settings, "--dir", directory, "-q"])
    _, status, used = os.wait4(run.pid, 0)
    assert status == 0, status
    mine, lines = 0.0, 0
    if follower:
        follower.terminate()
        _, _, of_follower = os.wait4(follower.pid, 0)
        mine = of_follower.ru_utime + of_follower.ru_stime
        # what came behind the last look
        rest = [args.crawler, "follow", directory, "--once", "--robots", "--cursor", told + ".cursor"]
        lines = open(told).read().count("\n") + len(subprocess.check_output(rest).splitlines())
        listed = subprocess.check_output([args.crawler, "list", "--all", "--robots", "--dir", directory])
        assert lines >= len(listed.splitlines()), (lines, len(listed.splitlines()))
        os.remove(told + ".cursor")
    return used.ru_utime + used.ru_stime, mine, lines


main()
