"""A machine for each node, each member of etcd and the store: network namespaces on a bridge, in one of their own.

The sandbox has its own network, mounts and processes, so nothing of it is seen outside, and all of it ends with its
first process. Without root, it is root in a user namespace. The synthetic web stays on the loopback of the sandbox
itself: what a node sends to 127.0.0.1 is translated there.

Where there is no iptables, all of them share the loopback of the sandbox, each with an address of its own. Gates tell
nodes from one another there, and nothing can be cut off but by them.
"""
import os
import shutil
import subprocess
import sys

NODES = ["n1", "n2", "n3"]
MEMBERS = ["e1", "e2", "e3"]
STORE = "s3"
IS_FLAT = shutil.which("iptables") is None
NETWORK = "127.77.0" if IS_FLAT else "10.77.0"
HERE = NETWORK + ".1"
ADDRESS = {name: f"{NETWORK}.{number}" for name, number in
           [*((name, 11 + at) for at, name in enumerate(NODES)), *((name, 21 + at) for at, name in enumerate(MEMBERS)),
            (STORE, 30)]}
# gates listen at these ports of HERE
GATES = range(4000, 5000)


def enter():
    """Starts this program again inside a new sandbox, unless it is in one."""
    if os.environ.get("CLUSTER_SANDBOX"):
        return
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.environ["CLUSTER_SANDBOX"] = "1"
    os.execvp("unshare", ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                          sys.executable, *sys.argv])


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def inside(name, *command):
    return list(command) if IS_FLAT else ["ip", "netns", "exec", name, *command]


def build():
    run("mount", "-t", "tmpfs", "none", "/run")
    run("ip", "link", "set", "lo", "up")
    if IS_FLAT:
        return
    run("ip", "link", "add", "br0", "type", "bridge")
    run("ip", "address", "add", HERE + "/24", "dev", "br0")
    run("ip", "link", "set", "br0", "up")
    run("sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
    for protocol in ("tcp", "udp"):
        arriving = ["iptables", "-t", "nat", "-A", "PREROUTING", "-i", "br0", "-d", HERE, "-p", protocol]
        run(*arriving, "--dport", f"{GATES.start}:{GATES.stop - 1}", "-j", "RETURN")
        run(*arriving, "-j", "DNAT", "--to", "127.0.0.1")
    for name, address in ADDRESS.items():
        run("ip", "netns", "add", name)
        run("ip", "link", "add", "v" + name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", "v" + name, "master", "br0", "up")
        run(*inside(name, "ip", "address", "add", address + "/24", "dev", "eth0"))
        run(*inside(name, "ip", "link", "set", "eth0", "up"))
        if name in NODES:
            run(*inside(name, "ip", "link", "set", "lo", "up"))
            run(*inside(name, "sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1"))
            for protocol in ("tcp", "udp"):
                run(*inside(name, "iptables", "-t", "nat", "-A", "OUTPUT", "-d", "127.0.0.1", "-p", protocol,
                            "-j", "DNAT", "--to", HERE))
            run(*inside(name, "iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "eth0", "-j", "MASQUERADE"))
        elif name != STORE:
            run(*inside(name, "ip", "link", "set", "lo", "up"))


class Cut:
    """What goes from `name` to `others` is lost (`out`), or what comes from them (`in`), or `both`, until it heals.

    It is dropped by those to whom it was sent, so the sender learns nothing.
    """

    def __init__(self, name, others, direction):
        self.rules = []
        for other in others:
            if direction in ("out", "both"):
                self.rules.append((other, ADDRESS[name]))
            if direction in ("in", "both"):
                self.rules.append((name, ADDRESS[other]))
        self.apply("-I")

    def apply(self, act):
        for where, source in self.rules:
            run(*inside(where, "iptables", act, "INPUT", "-s", source, "-j", "DROP"))

    def heal(self):
        self.apply("-D")
