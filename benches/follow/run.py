#!/usr/bin/env python3
"""What a reader costs the crawl beside it: CPU seconds of the crawl alone and with a reader, in turns.

    cargo build --release && python3 benches/follow/run.py [--crawler PROGRAM] [--rounds 7] [--pages 6000]
        [--fields FIELDS] [--options 'OPTIONS OF follow']
    python3 benches/follow/run.py --serve

The reader is `crawler follow`, or `crawler serve` of which a client asks the start page and the newest page five times
a second. The web is `crawler simulate` in a process of its own. Prints for each round user and system seconds of the
crawling process (wait4), and those of the reader; at the end medians, and the difference of each pair. Every follower
has to have told all pages of its crawl; of `serve` it says how long the newest pages took to be shown.
"""
import argparse
import http.client
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time


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
    print(f"median alone {statistics.median(alone):.3f} s, with a reader {statistics.median(beside):.3f} s")
    differences = [with_one / without - 1 for without, with_one in pairs]
    print("differences:", " ".join(f"{difference:+.1%}" for difference in differences),
          f"median {statistics.median(differences):+.1%}")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crawler", default=os.path.abspath("target/release/crawler"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pages", type=int, default=6000)
    parser.add_argument("--serve", action="store_true")
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
    """CPU seconds of a crawl alone and of one that is read; which comes first alternates."""
    order = [False, True] if number % 2 == 0 else [True, False]
    seconds = {is_read: crawl(args, place, settings, seeds, is_read) for is_read in order}
    (alone, _), (beside, told) = seconds[False], seconds[True]
    print(f"alone {alone:.3f} s, with a reader {beside:.3f} s ({told})", flush=True)
    return alone, beside


def crawl(args, place, settings, seeds, is_read):
    directory = os.path.join(place, "crawl")
    shutil.rmtree(directory, ignore_errors=True)
    reader = None
    if is_read and not args.serve:
        reader = Follower(args, directory, os.path.join(place, "told"))
    run = subprocess.Popen([args.crawler, "--seeds", seeds, "--config", settings, "--dir", directory, "-q"])
    if is_read and args.serve:
        reader = Server(args, directory)
    _, status, used = os.wait4(run.pid, 0)
    assert status == 0, status
    return used.ru_utime + used.ru_stime, reader.ended() if reader else ""


def seconds_of(process):
    process.terminate()
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


class Follower:
    """`crawler follow` beside a crawl."""

    def __init__(self, args, directory, told):
        self.args, self.directory, self.told = args, directory, told
        words = [args.crawler, "follow", directory, "--forever", "--robots", "--cursor", told + ".cursor", "--fields",
                 args.fields, *args.options.split()]
        self.process = subprocess.Popen(words, stdout=open(told, "wb"))

    def ended(self):
        mine = seconds_of(self.process)
        # what came behind the last look
        rest = [self.args.crawler, "follow", self.directory, "--once", "--robots", "--cursor", self.told + ".cursor"]
        lines = open(self.told).read().count("\n") + len(subprocess.check_output(rest).splitlines())
        listed = subprocess.check_output([self.args.crawler, "list", "--all", "--robots", "--dir", self.directory])
        assert lines >= len(listed.splitlines()), (lines, len(listed.splitlines()))
        os.remove(self.told + ".cursor")
        return f"{lines} lines, follower {mine:.3f} s"


class Server:
    """`crawler serve` beside a crawl, and a client that asks it."""

    def __init__(self, args, directory):
        self.directory = directory
        while not os.path.exists(os.path.join(directory, "logs", "crawl.log")):
            time.sleep(0.01)
        words = [args.crawler, "serve", "--dir", directory, "--address", "127.0.0.1:0", "--replay", "127.0.0.1:0"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        self.home, self.replay = (self.process.stderr.readline().split("http://")[1].strip("/\n") for _ in range(2))
        self.is_over, self.asked, self.delays = threading.Event(), 0, []
        self.client = threading.Thread(target=self.ask_on)
        self.client.start()

    def status(self, address, path):
        connection = http.client.HTTPConnection(address, timeout=30)
        connection.request("GET", path)
        status = connection.getresponse().status
        connection.close()
        self.asked += 1
        return status

    def newest(self):
        """The URL of the last page in the log, with its time here."""
        with open(os.path.join(self.directory, "logs", "crawl.log"), "rb") as log:
            log.seek(max(os.path.getsize(log.name) - 20_000, 0))
            lines = log.read().decode(errors="replace").splitlines()[1:]
        pages = [words[3] for words in map(str.split, lines) if len(words) > 6 and words[1] == "200"]
        pages = [page for page in pages if not page.endswith("/robots.txt")]
        return pages[-1] if pages else None

    def ask_on(self):
        while not self.is_over.wait(0.2):
            assert self.status(self.home, "/") == 200
            url, begun = self.newest(), time.time()
            while url and self.status(self.replay, f"/timegate/{url}") != 302 and not self.is_over.wait(0.2):
                pass
            if url and not self.is_over.is_set():
                self.delays.append(time.time() - begun)

    def ended(self):
        self.is_over.set()
        self.client.join()
        delays = f"{statistics.median(self.delays):.2f} s, most {max(self.delays):.2f} s" if self.delays else "none"
        return f"{self.asked} answers, server {seconds_of(self.process):.3f} s, newest page shown after {delays}"


main()
