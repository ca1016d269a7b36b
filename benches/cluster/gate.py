"""Gates on the way from a node to etcd and to the store, which kill the node at a step of a commit, or shut one way.

A gate reads the requests that pass. Armed with a step, it kills the node that comes to this step first: `before` the
request is passed on, or `after` it was carried out and before the answer is passed on. Shut in one direction, it holds
what comes until it is opened, so that requests arrive late and answers too; or it breaks each connection at which
something comes, so that requests do not arrive, or their answers do not.
"""
import base64
import re
import socket
import threading

STEPS = ["pack", "links", "value", "manifest", "head", "release"]


def step_of(method, path, body):
    """The step of a commit that a request is of."""
    if method == "PUT":
        for end, step in ((".pack", "pack"), (".links", "links"), (".manifest", "manifest")):
            if path.split("?")[0].endswith(end):
                return step
        return "value" if ".warc.gz." in path else None
    if method == "DELETE":
        return "release"
    if path == "/v3/kv/txn":
        keys = [base64.b64decode(key) for key in re.findall(rb'"key":"([^"]*)"', body)]
        if any(b"/live/head/" in key for key in keys) and b"request_put" in body:
            return None if any(b"/live/seeds/" in key for key in keys) else "head"
    return None


class Trap:
    """What all gates wait for."""

    def __init__(self):
        self.lock = threading.Lock()
        self.armed = None
        self.caught = None

    def arm(self, step, when, kill):
        with self.lock:
            self.armed, self.caught = (step, when, kill), None

    def disarm(self):
        with self.lock:
            self.armed = None

    def wants(self, step, when):
        armed = self.armed
        return armed is not None and armed[:2] == (step, when)

    def spring(self, node, step, when):
        """Kills the node; whether it was waited for still."""
        with self.lock:
            if not self.wants(step, when):
                return False
            kill, self.armed = self.armed[2], None
            kill(node)
            self.caught = node
            return True


class Gate:
    """From `here` to `there`, for one node."""

    def __init__(self, node, here, there, trap):
        self.node, self.there, self.trap = node, there, trap
        # direction ("requests" or "answers"), how ("held" or "broken"), and whether it is for watches alone
        self.shut, self.turns = None, threading.Condition()
        self.listener = socket.create_server(here, backlog=64)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self, direction, how, of_watches):
        with self.turns:
            self.shut = (direction, how, of_watches)

    def open(self):
        with self.turns:
            self.shut = None
            self.turns.notify_all()

    def passes(self, direction, is_watch):
        """Waits while what goes in this direction is held; False where the connection is broken in its place."""
        with self.turns:
            while self.shut and self.shut[0] == direction and (is_watch or not self.shut[2]):
                if self.shut[1] == "broken":
                    return False
                self.turns.wait()
        return True

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(self.there, timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        waits, watches = [], []
        threading.Thread(target=self.answers, args=(server, client, waits, watches), daemon=True).start()
        try:
            while data := client.recv(1 << 16):
                found = re.match(rb"(GET|PUT|POST|DELETE|HEAD) (\S+) HTTP", data)
                if found:
                    watches[:] = [True] if found[2] == b"/v3/watch" else []
                    data = self.whole(client, data) if b"/v3/kv/txn " in data[:40] else data
                    step = step_of(found[1].decode(), found[2].decode(), data)
                    if step and self.trap.wants(step, "before") and self.trap.spring(self.node, step, "before"):
                        break
                    waits[:] = [step] if step else []
                if not self.passes("requests", watches):
                    break
                server.sendall(data)
        except OSError:
            pass
        close(server, client)

    @staticmethod
    def whole(client, data):
        """The request with its body."""
        while b"\r\n\r\n" not in data:
            data += client.recv(1 << 16) or b"\r\n\r\n"
        head, body = data.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        while length and len(body) < int(length[1]):
            more = client.recv(1 << 16)
            if not more:
                break
            data, body = data + more, body + more
        return data

    def answers(self, server, client, waits, watches):
        try:
            while data := server.recv(1 << 16):
                step = waits.pop() if waits else None
                if step and self.trap.wants(step, "after") and self.trap.spring(self.node, step, "after"):
                    break
                if not self.passes("answers", watches):
                    break
                client.sendall(data)
        except OSError:
            pass
        close(server, client)


def close(*ends):
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()
