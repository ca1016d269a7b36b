"""A crawl of the shop by the real program, and the processes that it starts; what the scripts beside it share."""
import collections
import gzip
import json
import os
import shutil
import subprocess
import time

SETTINGS = """[network]
allow = ["127.0.0.0/8"]
[politeness]
delay_min = "0s"
delay_factor = 0.0
delay_per_ip = "0s"
[crawl]
checkpoint_interval = "{checkpoint}"
disk_floor = "0"
[render]
mode = "always"
pages = {pages}
delay = "0s"
connections_per_host = 16
deadline = "180s"
{more}
"""


class Crawl:
    """A crawl in `folder`, which is emptied, of the shop; `pages` of it are rendered at the same time."""

    def __init__(self, program, folder, shop, pages, more="", checkpoint="2s"):
        self.program, self.folder = os.path.abspath(program), os.path.abspath(folder)
        shutil.rmtree(folder, ignore_errors=True)
        # browsers of root run as nobody, and have their profiles here
        self.temporary = os.path.join(self.folder, "tmp")
        os.makedirs(self.temporary, mode=0o755)
        self.shop = shop
        with open(os.path.join(folder, "seeds.txt"), "w") as seeds:
            seeds.write(shop.own + "/\n")
        with open(os.path.join(folder, "crawler.toml"), "w") as settings:
            settings.write(SETTINGS.format(pages=pages, more=more, checkpoint=checkpoint))

    def start(self):
        """The running crawler. Its output is in `output`."""
        with open(os.path.join(self.folder, "output"), "ab") as output:
            return subprocess.Popen(
                [self.program, "--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "-q"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, "TMPDIR": self.temporary})

    def says(self, *arguments):
        """What a subcommand prints."""
        done = subprocess.run([self.program, *arguments, "--dir", os.path.join(self.folder, "crawl")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(f"{arguments}: exit code {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
        return done.stdout.decode()

    def versions(self):
        """How often each URL is in the archive."""
        lines = self.says("list", "--all", "--json").splitlines()
        return collections.Counter(json.loads(line)["url"] for line in lines)

    def status(self):
        with open(os.path.join(self.folder, "crawl", "status.json")) as status:
            return json.load(status)

    def how_rendered(self):
        """URL of a page -> what crawl.log says of its rendering, for each time that it was stored."""
        said = collections.defaultdict(list)
        logs = os.path.join(self.folder, "crawl", "logs")
        for name in sorted(os.listdir(logs)):
            if name.startswith("crawl.log") and not name.endswith(".gz"):
                with open(os.path.join(logs, name), errors="replace") as lines:
                    for line in lines:
                        fields = line.split()
                        words = [word for word in fields[-1].split(",") if "endered" in word or "renderFailed" in word]
                        if words and len(fields) > 3:
                            said[fields[3]].append(words[0])
        return said

    def judge(self, may_crash=False):
        """Whether all routes, and what they need, are in the archive, once each, and rendered; prints what is not.

        With `may_crash` a route may be stored as it was served where its browser crashed as often as is tried.
        """
        versions, said = self.versions(), self.how_rendered()
        routes, needed = self.shop.routes(), self.shop.needed()
        missing = [url for url in routes if not versions[url]]
        lacking = [url for url in needed if not versions[url]]
        twice = [url for url in routes if versions[url] > 1]
        again = [url for url, count in versions.items() if count > 1 and url not in set(routes)]
        crashed = [url for url in routes if "renderFailed:crashed" in said[url]]
        excused = set(crashed if may_crash else [])
        archive = self.records(routes)
        # a line of crawl.log may be lost in a kill
        served = [url for url in routes if url not in excused
                  and not any(words.startswith("rendered:") for words in said[url]) and (said[url] or not archive[url])]
        without = [url for url in routes if url not in excused and archive[url] != 1]
        self.says("verify")
        print(f"routes               {len(routes)}: {len(missing)} missing, {len(twice)} stored twice, "
              f"{len(served)} not rendered, {len(without)} without exactly one conversion record")
        print(f"crashed each time    {len(crashed)} routes, stored as they were served")
        print(f"what they need       {len(needed)}: {len(lacking)} missing")
        print(f"in the archive       {len(versions)} URLs, no damage; {len(again)} of what they need more than once")
        for what, urls in (("missing", missing), ("not rendered", served), ("no conversion", without),
                           ("lacking", lacking), ("twice", twice), ("again", again)):
            for url in urls[:5]:
                print(f"  {what}: {url} {versions[url]} {said[url]}")
        return not (missing or twice or served or without or (lacking and not excused))

    def records(self, routes):
        """Route -> how many conversion records refer to it, read from the WARC records themselves."""
        found = collections.Counter()
        reader = subprocess.Popen([self.program, "export", "warc", "--all", "--dir",
                                   os.path.join(self.folder, "crawl")], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        wanted = set(routes)
        kind = url = None
        for line in gzip.open(reader.stdout):
            if line.startswith(b"WARC-Type:"):
                kind = line.split()[1]
            elif line.startswith(b"WARC-Target-URI:") and kind == b"conversion":
                url = line.split()[1].decode().strip("<>")
                if url in wanted:
                    found[url] += 1
                kind = None
        reader.wait()
        return found


def processes():
    """Every process: number -> (number of its parent, words of its command line)."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as line:
                words = line.read().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, IndexError):
            continue
        found[int(name)] = (parent, words)
    return found


def tree(root):
    """`root` and all that descend from it: number -> words of the command line."""
    everything = processes()
    below = collections.defaultdict(list)
    for number, (parent, _) in everything.items():
        below[parent].append(number)
    found, open_ = {}, [root]
    while open_:
        number = open_.pop()
        if number in everything:
            found[number] = everything[number][1]
            open_ += below[number]
    return found


def memory(number):
    """Its proportional set size in bytes; 0 if it is gone."""
    try:
        with open(f"/proc/{number}/smaps_rollup") as rollup:
            return next(int(line.split()[1]) << 10 for line in rollup if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def is_browser(number, words):
    """Whether it is the first process of a browser itself, and neither a wrapper nor a child of one."""
    try:
        program = os.path.basename(os.readlink(f"/proc/{number}/exe"))
    except OSError:
        return False
    return program.startswith(("chrom", "headless_shell")) and "--user-data-dir=" in words and "--type=" not in words


def left_over(temporary):
    """Processes whose command line names the directory `temporary`: all browsers of a crawl do."""
    return {number: words for number, (_, words) in processes().items() if temporary in words}


def wait_until_none(temporary, patience_s=15):
    """What is left of browsers after so long, and of their profiles."""
    until = time.monotonic() + patience_s
    while left_over(temporary) and time.monotonic() < until:
        time.sleep(0.1)
    return left_over(temporary), os.listdir(temporary)


def load():
    return "load average " + " ".join(f"{one:.1f}" for one in os.getloadavg())
