"""One crawl on three nodes, and what is done to it."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import time

import gate
from sandbox import ADDRESS, GATES, HERE, MEMBERS, NODES, STORE, inside
from servers import Web, wait_for

SHARDS = 6
DELAY_MS = 100
LEASE_S = 6
# a crawl that does not end in so long is held to be stuck
STUCK_S = 900


class Trial:
    def __init__(self, world, number, seed, options, gated=False):
        self.crawler, self.etcd, self.store, self.options = world.crawler, world.etcd, world.store, options
        self.dir = os.path.join(world.scratch, f"trial{number}")
        os.makedirs(self.dir)
        self.name = f"trial{number}"
        self.url = self.store.new(self.name)
        self.web = Web(self.crawler, os.path.join(self.dir, "web"),
                       {"seed": seed, "hosts": options.hosts, "pages": options.pages, "latency": "20ms",
                        "delay": f"{DELAY_MS}ms"})
        self.expected = {line.rstrip("\n").split(" ", 1)[1]
                         for line in open(os.path.join(self.dir, "web", "expected.txt"))}
        gates = world.gates_of_nodes() if gated else None
        self.gates, self.trap = gates and gates.of, gates and gates.trap
        self.processes, self.logs = {}, {}
        # what happened to nodes: (what, node, since when it is away, when it came back, the shards it had)
        self.events = []
        self.counts = collections.Counter()
        self.heads, self.owners, self.backwards, self.pages, self.state, self.finish = {}, {}, 0, 0, "", None
        config = open(os.path.join(self.dir, "web", "crawler.toml")).read()
        for name in NODES:
            with open(self.path(name + ".toml"), "w") as own:
                # by its contact the web's log tells a node from the others
                own.write(f'[crawl]\nuser_agent = "crawler/{name}"\n{config}[cluster]\nlease = "{LEASE_S}s"\n'
                          f'commit_interval = "{options.interval}s"\nbehind_max = "{options.behind}s"\n')
        self.does("cluster", "init", "--config", self.path("n1.toml"), "--seeds", self.path("web/seeds.txt"),
                  "--shards", str(SHARDS), *self.place())
        self.transactions, self.begun = self.etcd.count(), time.monotonic()
        for name in NODES:
            self.start(name)

    def path(self, name):
        return os.path.join(self.dir, name)

    def place(self, node=None):
        endpoints = self.etcd.endpoints()
        if node and self.trap:
            first = GATES.start + 10 * NODES.index(node)
            endpoints = [f"http://{HERE}:{first + at}" for at in range(len(MEMBERS))]
        return ["--store", self.url, *(word for endpoint in endpoints for word in ("--registry", endpoint))]

    def environment(self, node=None):
        gated = f"http://{HERE}:{GATES.start + 10 * NODES.index(node) + 9}" if node and self.trap else None
        return {**os.environ, **self.store.environment(gated)}

    def command(self, *words):
        return subprocess.run([self.crawler, *words], capture_output=True, text=True, env=self.environment())

    def does(self, *words):
        ended = self.command(*words)
        if ended.returncode != 0:
            raise RuntimeError(f"{words}: {ended.stderr}")
        return ended.stdout

    # -- nodes --

    def start(self, name):
        log = open(self.path(name + ".log"), "a")
        words = ["cluster", "run", "--config", self.path(name + ".toml"), "--dir", self.path(name), "--name", name]
        self.processes[name] = subprocess.Popen(inside(name, self.crawler, *words, *self.place(name)),
                                                stdout=subprocess.DEVNULL, stderr=log, env=self.environment(name))

    def lives(self, name):
        return name in self.processes and self.processes[name].poll() is None

    def shards_of(self, name):
        return [shard for shard, owner in self.owners.items() if owner == name]

    def leaves(self, what, name):
        """From now on the node is not there; the event, whose fourth is to be set when it is back."""
        event = [what, name, time.monotonic(), None, self.shards_of(name)]
        self.events.append(event)
        self.counts[what] += 1
        return event

    def kill(self, name, what="killed"):
        event = self.leaves(what, name)
        self.processes[name].kill()
        self.processes.pop(name).wait()
        return event

    def comes_back(self, event, is_lost=False):
        if is_lost:
            shutil.rmtree(self.path(event[1]), ignore_errors=True)
            self.counts["disks lost"] += 1
        event[3] = time.monotonic()
        self.start(event[1])

    # -- looking on --

    def look(self):
        """Reads the status, if etcd gives it; whether the crawl has ended."""
        said = self.command("cluster", "status", "--json", *self.place())
        if said.returncode == 0:
            status = json.loads(said.stdout)
            self.finish = status["end"]
            self.state, self.pages = status["state"], sum(shard["pages"] or 0 for shard in status["shards"])
            for shard in status["shards"]:
                number, owner, head = shard["shard"], shard["owner"], shard["checkpoint"] or 0
                self.backwards += head < self.heads.get(number, 0)
                self.heads[number] = head
                if owner:
                    self.counts["changes of owner"] += number in self.owners and self.owners[number] != owner
                    self.owners[number] = owner
        self.etcd.count()
        return self.state == "ended"

    def watch(self, seconds):
        """Looks on for so long; whether there is time for more faults."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.look() or self.pages > 0.9 * len(self.expected):
                return False
            time.sleep(0.3)
        return time.monotonic() < self.begun + self.options.faults

    def taken_over(self, event):
        """Waits until others have all shards of the node that left, or for as long as that may take."""
        until = time.monotonic() + 4 * LEASE_S
        while self.watch(0.3) and time.monotonic() < until:
            if not any(self.owners.get(shard) == event[1] for shard in event[4]):
                return

    def end(self):
        """Waits until the crawl has ended and all nodes with it."""
        wait_for("the end of the crawl", self.look, STUCK_S)
        self.took = time.monotonic() - self.begun
        self.transactions = self.etcd.count() - self.transactions
        for name in list(self.processes):
            wait_for(f"the end of {name}", lambda: not self.lives(name), 120)
            if self.processes[name].returncode != 0:
                self.counts["nodes that failed"] += 1
        self.log, self.judgement = self.web.stop()
        listed = self.does("list", "--all", "--json", "--store", self.url).splitlines()
        self.stored = collections.Counter(json.loads(line)["url"] for line in listed)
        self.shards = collections.defaultdict(set)
        for line in self.does("export", "cdxj", "--store", self.url).splitlines():
            found = re.match(r"\S+ \d+ (\{.*)", line)
            if found:
                entry = json.loads(found[1])
                self.shards[entry["url"]].add(int(re.search(r"shard-(\d+)/", entry["filename"])[1]))
        self.verified = self.command("verify", "--store", self.url)
        self.requests = self.store.counts(self.name)

    def close(self):
        for process in [*self.processes.values(), self.web.process]:
            if process.poll() is None:
                process.kill()
                process.wait()


class Gates:
    """Gates of all nodes, made once; what they wait for is the trial's."""

    def __init__(self):
        self.trap, self.of = gate.Trap(), {}
        for at, name in enumerate(NODES):
            first = GATES.start + 10 * at
            for number, member in enumerate(MEMBERS):
                self.of[name, member] = gate.Gate(name, (HERE, first + number), (ADDRESS[member], 2379), self.trap)
            self.of[name, STORE] = gate.Gate(name, (HERE, first + 9), (ADDRESS[STORE], 9000), self.trap)
