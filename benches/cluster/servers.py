"""etcd with three members, a store, and the synthetic web."""
import http.client
import json
import os
import re
import signal
import subprocess
import time
import urllib.request

from sandbox import ADDRESS, HERE, MEMBERS, NODES, STORE, inside, run

READY_S = 120


def wait_for(what, is_so, seconds=READY_S):
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} does not come")
        time.sleep(0.1)


def ask(url, body=None, seconds=3):
    """The text of an answer; nothing where there is none."""
    try:
        with urllib.request.urlopen(url, data=body, timeout=seconds) as answer:
            return answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None


class Etcd:
    def __init__(self, scratch):
        self.scratch = os.path.join(scratch, "etcd")
        os.makedirs(self.scratch)
        self.running = {}
        self.seen = dict.fromkeys(MEMBERS, 0)
        self.transactions = 0
        for name in MEMBERS:
            self.run(name)
        wait_for("etcd", lambda: all(self.answers(name) for name in MEMBERS))

    def endpoints(self):
        return [f"http://{ADDRESS[name]}:2379" for name in MEMBERS]

    def run(self, name):
        cluster = ",".join(f"{name}=http://{ADDRESS[name]}:2380" for name in MEMBERS)
        client, peer = f"http://{ADDRESS[name]}:2379", f"http://{ADDRESS[name]}:2380"
        log = open(os.path.join(self.scratch, name + ".log"), "a")
        self.running[name] = subprocess.Popen(
            inside(name, "etcd", "--name", name, "--data-dir", os.path.join(self.scratch, name),
                   "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                   "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster, "--heartbeat-interval", "200",
                   "--election-timeout", "2000"), stdout=log, stderr=log)

    def answers(self, name):
        answer = ask(f"http://{ADDRESS[name]}:2379/v3/kv/range", b'{"key":"YQ=="}')
        return bool(answer and "header" in answer)

    def leader(self):
        for name in self.running:
            status = json.loads(ask(f"http://{ADDRESS[name]}:2379/v3/maintenance/status", b"{}") or "{}")
            if "leader" in status and status["leader"] == status["header"]["member_id"]:
                return name
        return None

    def kill(self, name):
        member = self.running.pop(name)
        member.kill()
        member.wait()

    def signal(self, what):
        for member in self.running.values():
            member.send_signal(what)

    def count(self):
        """Transactions so far, each counted by the member that was asked."""
        for name in list(self.running):
            text = ask(f"http://{ADDRESS[name]}:2379/metrics", seconds=1) or ""
            found = re.findall(r'^grpc_server_handled_total\{grpc_code="OK",grpc_method="Txn".*\} (\S+)$', text, re.M)
            if found:
                now = sum(map(float, found))
                # a member that was killed counts from zero again
                self.transactions += int(now - self.seen[name] if now >= self.seen[name] else now)
                self.seen[name] = now
        return self.transactions


class S3:
    """moto, a server of S3 in Python."""

    def __init__(self, scratch):
        self.log = os.path.join(scratch, "s3.log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(inside(STORE, "moto_server", "-H", ADDRESS[STORE], "-p", "9000"),
                                            stdout=log, stderr=log)
        wait_for("moto_server", lambda: ask(f"http://{ADDRESS[STORE]}:9000/") is not None)

    def new(self, name):
        request = urllib.request.Request(f"http://{ADDRESS[STORE]}:9000/{name}", data=b"", method="PUT")
        urllib.request.urlopen(request, timeout=30).close()
        return f"s3://{name}/crawls"

    def environment(self, endpoint=None):
        return {"AWS_ENDPOINT_URL": endpoint or f"http://{ADDRESS[STORE]}:9000", "AWS_ALLOW_HTTP": "true",
                "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "HOME": "/nonexistent"}

    def counts(self, bucket):
        """Requests of nodes to the bucket, by method."""
        counts = {}
        for line in open(self.log, errors="replace"):
            found = re.match(r'(\S+) .* "(\w+) /(\S+?)[/?]', line)
            if found and found[3] == bucket and found[1] in [ADDRESS[name] for name in NODES] + [HERE]:
                counts[found[2]] = counts.get(found[2], 0) + 1
        return counts

    def signal(self, what):
        self.process.send_signal(what)


class Directory:
    """A store in a directory that can become read-only for all nodes at once."""

    def __init__(self, scratch):
        self.path = os.path.join(scratch, "stores")
        os.makedirs(self.path)
        run("mount", "-t", "tmpfs", "none", self.path)

    def new(self, name):
        return f"file://{self.path}/{name}"

    def environment(self, _=None):
        return {}

    def counts(self, _):
        return {}

    def read_only(self, is_so):
        said = None

        def does():
            nonlocal said
            said = subprocess.run(["mount", "-o", "remount," + ("ro" if is_so else "rw"), self.path],
                                  capture_output=True, text=True)
            return said.returncode == 0

        # not while a file of it is being written
        try:
            wait_for("a moment without writers", does)
        except TimeoutError:
            raise RuntimeError(said.stderr)


class Web:
    """A synthetic web, on the loopback of the sandbox."""

    def __init__(self, crawler, dir, options):
        self.dir = dir
        words = [word for key, value in options.items() for word in ("--" + key, str(value))]
        self.process = subprocess.Popen([crawler, "simulate", "--addresses", "1", "--out", dir, *words],
                                        stdout=subprocess.PIPE, text=True)
        self.said = ""
        while "Ctrl-C ends it" not in self.said:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the synthetic web does not start: " + self.said)
            self.said += line
        seeds = open(os.path.join(dir, "seeds.txt")).read().split()
        self.host, port = re.match(r"http://(.*?):(\d+)/", seeds[0]).groups()
        # a request by which the clock of its log is told from this one
        self.mark = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        connection.request("GET", "/mark", headers={"Host": self.host})
        connection.getresponse().read()

    def stop(self):
        """The requests that it served, by the clock of this program, and what it says of them."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate()[0]
        log = [json.loads(line) for line in open(os.path.join(self.dir, "requests.jsonl"))]
        marked = next(entry for entry in log if entry["path"] == "/mark")
        log.remove(marked)
        for entry in log:
            for edge in ("started", "finished"):
                entry[edge] = self.mark + (entry[edge + "_us"] - marked["started_us"]) / 1e6
        return log, said
