"""What goes wrong, kind by kind: each does it again and again until there is little left to crawl."""
import itertools
import signal
import time

from gate import STEPS
from sandbox import MEMBERS, NODES, STORE, Cut
from servers import wait_for
from trial import LEASE_S


def calm(trial, rng):
    """Nothing; what the others are held against."""


def any_node(trial, rng):
    return rng.choice([name for name in NODES if trial.lives(name)])


def let_come_back(trial, rng, event):
    """At once, or once it was taken over, or then with an empty disk."""
    how = rng.choice(["at once", "later", "lost"])
    if how == "at once":
        time.sleep(rng.uniform(0, 1))
    else:
        trial.taken_over(event)
    trial.comes_back(event, how == "lost")


def kill(trial, rng):
    """kill -9 at random moments."""
    while trial.watch(rng.uniform(0.5, 4)):
        let_come_back(trial, rng, trial.kill(any_node(trial, rng)))


def commit(trial, rng):
    """kill -9 before and after each request of a commit: the objects, the head, the deletions."""
    steps = list(itertools.product(STEPS, ("before", "after")))
    rng.shuffle(steps)
    for step, when in itertools.cycle(steps):
        if not trial.watch(0.3):
            return
        events = []

        def kill_node(name):
            event = trial.leaves(f"killed {when} {step}", name)
            trial.processes[name].kill()
            events.append(event)

        trial.trap.arm(step, when, kill_node)
        until = time.monotonic() + 15
        while not events and time.monotonic() < until and trial.watch(0.1):
            pass
        trial.trap.disarm()
        if events:
            trial.processes.pop(events[0][1]).wait()
            let_come_back(trial, rng, events[0])


def pause(trial, rng):
    """SIGSTOP for up to three leases."""
    while trial.watch(rng.uniform(1, 3)):
        name = any_node(trial, rng)
        event = trial.leaves("stopped", name)
        trial.processes[name].send_signal(signal.SIGSTOP)
        trial.watch(rng.uniform(0.5, 3) * LEASE_S)
        event[3] = time.monotonic()
        trial.processes[name].send_signal(signal.SIGCONT)


def cut(trial, rng):
    """A node cut off from etcd, from the store, or from both; what it sends, what it gets, or both is lost."""
    for what, direction in itertools.cycle(itertools.product(("etcd", "store", "both"), ("out", "in", "both"))):
        if not trial.watch(rng.uniform(1, 3)):
            return
        name = any_node(trial, rng)
        others = {"etcd": MEMBERS, "store": [STORE], "both": [*MEMBERS, STORE]}[what]
        event = trial.leaves(f"cut off from {what} ({direction})", name)
        cut = Cut(name, others, direction)
        trial.watch(rng.uniform(0.5, 3) * LEASE_S)
        cut.heal()
        event[3] = time.monotonic()


def hold(trial, rng):
    """One direction of a node's connections shut: of the watch, one or all members of etcd, the store, or all."""
    ways = {"the watch": MEMBERS, "a member": [], "etcd": MEMBERS, "the store": [STORE], "both": [*MEMBERS, STORE]}
    kinds = list(itertools.product(ways, ("requests", "answers"), ("held", "broken")))
    # a watch asks once, and whether it is broken again and again or not at all makes no difference to it
    kinds = [kind for kind in kinds if kind[0] != "the watch" or kind[1:] == ("answers", "held")]
    rng.shuffle(kinds)
    for what, direction, how in itertools.cycle(kinds):
        if not trial.watch(rng.uniform(0.5, 2)):
            return
        name = any_node(trial, rng)
        event = trial.leaves(f"{direction} {how} ({what})", name)
        gates = [trial.gates[name, other] for other in ways[what] or [rng.choice(MEMBERS)]]
        [gate.close(direction, how, what == "the watch") for gate in gates]
        trial.watch(rng.uniform(0.5, 3) * LEASE_S)
        [gate.open() for gate in gates]
        event[3] = time.monotonic()


def leader(trial, rng):
    """The leader of etcd killed, and back some seconds later."""
    while trial.watch(rng.uniform(3, 8)):
        name = trial.etcd.leader()
        if name:
            trial.etcd.kill(name)
            trial.counts["leaders killed"] += 1
            trial.watch(rng.uniform(1, 6))
            trial.etcd.run(name)
            wait_for("etcd", lambda: trial.etcd.answers(name))


def etcd_away(trial, rng):
    """All members of etcd killed for a minute, or standing still for it."""
    for stands in itertools.cycle((False, True)):
        if not trial.watch(rng.uniform(5, 15)):
            return
        trial.counts["etcd away"] += 1
        members = list(MEMBERS)
        if stands:
            trial.etcd.signal(signal.SIGSTOP)
        else:
            [trial.etcd.kill(name) for name in members]
        time.sleep(trial.options.away)
        if stands:
            trial.etcd.signal(signal.SIGCONT)
        else:
            [trial.etcd.run(name) for name in members]
        wait_for("etcd", lambda: all(trial.etcd.answers(name) for name in members))


def store_away(trial, rng):
    """The store standing still for a minute, or out of reach for it."""
    for stands in itertools.cycle((False, True)):
        if not trial.watch(rng.uniform(5, 15)):
            return
        trial.counts["store away"] += 1
        if stands:
            trial.store.signal(signal.SIGSTOP)
        else:
            cuts = [Cut(name, [STORE], "both") for name in NODES]
        trial.watch(trial.options.away)
        if stands:
            trial.store.signal(signal.SIGCONT)
        else:
            [cut.heal() for cut in cuts]


def read_only(trial, rng):
    """The store's directory read-only for a minute."""
    while trial.watch(rng.uniform(5, 15)):
        trial.counts["store read-only"] += 1
        trial.store.read_only(True)
        trial.watch(trial.options.away)
        trial.store.read_only(False)


# nodes are cut off there by rules of iptables
NEED_NAMESPACES = ["cut", "store-away"]
KINDS = {"calm": calm, "kill": kill, "commit": commit, "pause": pause, "cut": cut, "hold": hold, "leader": leader,
         "etcd-away": etcd_away, "store-away": store_away, "read-only": read_only}
