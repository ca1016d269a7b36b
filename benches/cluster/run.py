#!/usr/bin/env python3
"""Crawls on three nodes while everything fails that can, judged by the synthetic web's own log.

    cargo build --release && python3 benches/cluster/run.py [--rounds 3] [KIND...]

Each node, each of three members of etcd and the store has a network namespace of its own on one bridge; the synthetic
web is in another. A round is a whole crawl during which faults of one kind are repeated. README.md has the kinds. Exits
with 1 if anything is lost, doubled, in two shards or asked by two nodes at once.
"""
import argparse
import collections
import os
import random
import shutil
import sys
import tempfile
import time
import traceback

import sandbox

HAS_TO_BE_ZERO = ["not complete", "damage", "lost", "surplus", "doubled", "in two shards", "without a shard",
                  "heads gone back", "overlapping", "too early", "offences"]


class World:
    def __init__(self, options, scratch, kind):
        from servers import S3, Directory, Etcd
        self.crawler, self.scratch = os.path.abspath(options.crawler), scratch
        self.etcd = Etcd(scratch)
        self.store = {"s3": S3, "file": Directory}[kind](scratch)
        self.gates = None

    def gates_of_nodes(self):
        from trial import Gates
        self.gates = self.gates or Gates()
        return self.gates


def main():
    sandbox.enter()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--rounds", type=int, default=1, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=2400)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--interval", type=int, default=2, help="cluster.commit_interval in seconds")
    parser.add_argument("--behind", type=int, default=20, help="cluster.behind_max in seconds")
    parser.add_argument("--members", type=int, default=3, choices=[1, 3], help="of etcd")
    parser.add_argument("--away", type=int, default=60, help="how long etcd or the store is away, in seconds")
    parser.add_argument("--faults", type=int, default=300, help="so many seconds at most in a round, then it may end")
    parser.add_argument("--store", choices=["s3", "file"], default="s3", help="read-only takes file in any case")
    parser.add_argument("--crawler", default=os.path.join(os.path.dirname(__file__), "../../target/release/crawler"))
    parser.add_argument("--scratch", help="a directory for everything; what failed is left there")
    options = parser.parse_args()
    # before anything is made of them
    del sandbox.MEMBERS[options.members:]
    from faults import KINDS, NEED_NAMESPACES
    from judge import judge, middle
    from trial import Trial
    kinds = options.kinds or list(KINDS)
    if sandbox.IS_FLAT:
        left_out = [kind for kind in kinds if kind in NEED_NAMESPACES]
        kinds = [kind for kind in kinds if kind not in NEED_NAMESPACES]
        print("".join(f"{kind}: left out, because there is no iptables\n" for kind in left_out), end="")
    scratch = tempfile.mkdtemp(prefix="cluster-", dir=options.scratch)
    sandbox.build()
    worlds, right, number, sums, all_times = {}, True, 0, collections.Counter(), []
    for kind in kinds:
        store = "file" if kind == "read-only" else options.store
        for round in range(options.rounds):
            number, seed = number + 1, options.seed + round
            if store not in worlds:
                os.makedirs(os.path.join(scratch, store))
                # both at once would be two etcd at the same addresses
                [world.etcd.kill(name) for world in worlds.values() for name in list(world.etcd.running)]
                worlds = {store: World(options, os.path.join(scratch, store), store)}
            trial = None
            try:
                trial = Trial(worlds[store], number, seed, options, kind in ("commit", "hold"))
                KINDS[kind](trial, random.Random(seed))
                trial.end()
                found, times = judge(trial)
            except Exception:
                traceback.print_exc()
                right = False
                print(f"{kind} seed {seed}: FAILED; see {scratch}", flush=True)
                continue
            finally:
                if trial:
                    trial.close()
            tell(kind, seed, trial, found, times, middle)
            right = right and not any(found[name] for name in HAS_TO_BE_ZERO)
            sums += found
            sums += trial.counts
            all_times += times
            if not any(found[name] for name in HAS_TO_BE_ZERO):
                shutil.rmtree(trial.dir)
    print("sum: " + ", ".join(f"{name} {count}" for name, count in sorted(sums.items())))
    print("has to be 0: " + ", ".join(f"{name} {sums[name]}" for name in HAS_TO_BE_ZERO))
    for what in sorted({what for what, _ in all_times}):
        times = [time for of, time in all_times if of == what]
        print(f"take-over after {what}: {len(times)} shards, middle {middle(times):.1f} s, longest {max(times):.1f} s")
    if right:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(not right)


def tell(kind, seed, trial, found, times, middle):
    events = ", ".join(f"{name} {count}" for name, count in sorted(trial.counts.items()))
    print(f"{kind} seed {seed}: {trial.took:.0f} s; {events or 'nothing happened'}")
    print("  " + ", ".join(f"{name} {count}" for name, count in found.items()))
    requests = ", ".join(f"{method} {count * 60 / trial.took:.0f}" for method, count in sorted(trial.requests.items()))
    rate = trial.transactions / trial.took
    print(f"  a minute at the store: {requests or 'not counted'}; etcd: {rate:.1f} transactions/s")
    if times:
        seconds = [time for _, time in times]
        print(f"  take-overs: {len(times)} shards, middle {middle(seconds):.1f} s, longest {max(seconds):.1f} s")
    for name in sandbox.NODES:
        shipped = [line.strip() for line in open(trial.path(name + ".log"), errors="replace") if " shipped to " in line]
        print("".join(f"  {name}: {line.split(' INFO ')[-1]}\n" for line in shipped[-1:]), end="")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
