"""Runs a command and counts what it and everything that it has started cost, whoever has waited for that."""

import ctypes
import os
import resource
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
GROUPS = "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"


class Cost:
    """Seconds on the clock and on processors, and how the command ended."""

    def __init__(self, code, seconds, cpu, counted_by):
        self.code, self.seconds, self.cpu, self.counted_by = code, seconds, cpu, counted_by


class Group:
    """A control group of its own, where this user may make one."""

    def __init__(self):
        for base in GROUPS:
            self.path = f"{base}/rendering-bench-{os.getpid()}-{time.monotonic_ns()}"
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            if any(os.path.exists(f"{self.path}/{name}") for name in ("cpuacct.usage", "cpu.stat")):
                return
            os.rmdir(self.path)
        self.path = None

    def enter(self):
        """Puts the calling process into it."""
        if self.path:
            with open(f"{self.path}/cgroup.procs", "w") as procs:
                procs.write(str(os.getpid()))

    def cpu(self):
        if os.path.exists(f"{self.path}/cpuacct.usage"):
            return int(open(f"{self.path}/cpuacct.usage").read()) / 1e9
        lines = dict(line.split() for line in open(f"{self.path}/cpu.stat"))
        return int(lines["usage_usec"]) / 1e6

    def processes(self):
        if self.path:
            return [int(line) for line in open(f"{self.path}/cgroup.procs")]
        return [int(pid) for pid in open(f"/proc/self/task/{os.getpid()}/children").read().split()]

    def remove(self):
        if self.path:
            os.rmdir(self.path)


def run(command, log, timeout, **options):
    """Runs `command` to its end, with what it says in `log`. What it leaves behind is killed, and counted."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    group, before = Group(), waited_for()
    begin = time.monotonic()
    with open(log, "wb") as output:
        child = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=group.enter, **options
        )
        code = reaped(child, begin + timeout)
    seconds = time.monotonic() - begin
    end_orphans(group)
    if group.path:
        cost = Cost(code, seconds, group.cpu(), "control group")
    else:
        cost = Cost(code, seconds, waited_for() - before, "wait")
    group.remove()
    return cost


def reaped(child, until):
    """Waits for `child`, and for those whose parents have ended, who are ours now; its exit code."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child.pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode
        if pid == 0:
            if time.monotonic() > until:
                child.kill()
            time.sleep(0.02)


def end_orphans(group):
    """Processes that are left are ours now: they get a moment, then a signal."""
    until = time.monotonic() + 10
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            if not group.processes():
                return
            pid = 0
        if pid == 0:
            for left in group.processes() if time.monotonic() > until else []:
                os.kill(left, signal.SIGKILL)
            time.sleep(0.05)


def waited_for():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
