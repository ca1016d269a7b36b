#!/usr/bin/env python3
"""Crawls over a line with latency: web and crawler in two network namespaces, joined by line.c.

    cargo build --release && sudo python3 benches/latency/run.py [--rtt 20,100,300] [--mbit 100,1000]
        [--web http,tls,h2] [--workers auto,64,256,1024] [--seconds 40] [--hosts 5000] [--crawler PROGRAM]...
        [--peers scrapy,wget2]

The web is nginx with pages of 4 to 60 KB (20 KB on average) under as many names as there are hosts, each at an address
of its own, and a DNS server, all behind the line. Prints for each line, web and number of workers: pages and MB a second
in the second half of the time, requests in flight, workers at the end and what bounds them, CPU and memory of the
crawler, and what other traffic sees: round trips of ICMP echoes every 100 ms on the same line, without the crawl and
with it. README.md has more.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WEB, CRAWL = "latency-web", "latency-crawl"
GROUPS = 100


STARTED = []


def start(command, **more):
    process = subprocess.Popen(command, **more)
    STARTED.append(process)
    return process


def run(*command, **more):
    return subprocess.run(command, check=True, **more)


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace, *command]


class Line:
    """Both namespaces and the line between them."""

    def __init__(self, scratch, mbit, rtt_ms, jitter_ms, loss, buffer_ms, congestion):
        self.program = os.path.join(scratch, "line")
        if not os.path.exists(self.program):
            run("cc", "-O2", "-o", self.program, os.path.join(HERE, "line.c"))
        self.clear()
        for namespace in (WEB, CRAWL):
            run("ip", "netns", "add", namespace)
            run(*inside(namespace, "ip", "link", "set", "lo", "up"))
        self.line = start(
            [self.program, WEB, CRAWL, *map(str, (mbit, buffer_ms, rtt_ms / 2, jitter_ms / 2, loss))],
            stdout=subprocess.PIPE, text=True)
        for namespace, address in ((WEB, "10.8.0.1"), (CRAWL, "10.8.0.2")):
            self.wait_for_end(namespace)
            run(*inside(namespace, "ip", "address", "add", address + "/30", "dev", "line0"))
            run(*inside(namespace, "ip", "link", "set", "line0", "up", "txqueuelen", "10000"))
            run(*inside(namespace, "ip", "route", "add", "default", "dev", "line0"))
            if congestion:
                run(*inside(namespace, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={congestion}"))
        # what programs ask that have no setting for it
        os.makedirs(f"/etc/netns/{CRAWL}", exist_ok=True)
        with open(f"/etc/netns/{CRAWL}/resolv.conf", "w") as resolver:
            resolver.write("nameserver 10.8.0.1\n")
        # each host at its own address
        run(*inside(WEB, "ip", "route", "add", "local", "10.9.0.0/16", "dev", "lo"))

    def wait_for_end(self, namespace):
        for _ in range(100):
            if subprocess.run(inside(namespace, "ip", "link", "show", "line0"), capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        sys.exit(f"no line in {namespace}")

    def clear(self):
        for namespace in (WEB, CRAWL):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)

    def close(self):
        self.line.send_signal(signal.SIGTERM)
        said = self.line.communicate()[0]
        self.clear()
        return said


class Web:
    """nginx and a DNS server."""

    def __init__(self, scratch, kind, hosts):
        self.dir = os.path.join(scratch, "web")
        self.scheme = "http" if kind == "http" else "https"
        if not os.path.exists(self.dir):
            self.write(hosts)
        for group in range(GROUPS):
            source = os.path.join(self.dir, f"page{group:02}.{self.scheme}")
            shutil.copyfile(source, os.path.join(self.dir, f"{group:02}.html"))
        listen = {"http": "listen 80 backlog=4096;", "tls": "listen 443 ssl backlog=4096;",
                  "h2": "listen 443 ssl http2 backlog=4096;"}[kind]
        with open(os.path.join(self.dir, "nginx.conf"), "w") as conf:
            conf.write(f"""
user root; worker_processes 1; worker_rlimit_nofile 65536; pid {self.dir}/pid; error_log {self.dir}/log crit; daemon off;
events {{ worker_connections 32768; }}
http {{
  types {{ text/html html; }} default_type text/html; sendfile on; tcp_nopush on; access_log off; etag off;
  keepalive_requests 1000000; open_file_cache max=1000 inactive=1h;
  ssl_certificate {self.dir}/web.pem; ssl_certificate_key {self.dir}/web.key; ssl_session_cache shared:all:20m;
  server {{
    {listen} server_name ~^h(?<group>\\d\\d)\\.d\\d+\\.test$; root {self.dir};
    location = /robots.txt {{ return 404; }}
    location / {{ try_files /$group.html =404; }}
  }}
}}
""")
        self.nginx = start(inside(WEB, "nginx", "-p", self.dir, "-c", os.path.join(self.dir, "nginx.conf")),
                                      stderr=subprocess.DEVNULL)
        self.dns = start(inside(WEB, sys.executable, os.path.abspath(__file__), "serve-names"))
        time.sleep(1)

    def write(self, hosts):
        os.makedirs(self.dir)
        chosen = random.Random(1)
        words = ["".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=chosen.randint(2, 10))) for _ in range(3000)]
        for group in range(GROUPS):
            size = min(60_000, max(4_000, int(chosen.lognormvariate(9.75, 0.6))))
            text = " ".join(chosen.choices(words, k=size // 7))[:size]
            own = "".join(f'<a href="/p{chosen.randrange(400)}.html">own</a> ' for _ in range(12))
            for scheme in ("http", "https"):
                others = "".join(f'<a href="{scheme}://{name(chosen.randrange(hosts))}/">other</a> ' for _ in range(3))
                with open(os.path.join(self.dir, f"page{group:02}.{scheme}"), "w") as page:
                    page.write(f"<html><title>{group}</title>{own}{others}<p>{text}</p></html>")
        key, ca = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"], os.path.join(self.dir, "ca")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        run("openssl", "req", "-x509", *key, "-keyout", ca + ".key", "-out", ca + ".pem", "-days", "9",
            "-subj", "/CN=test authority", **quiet)
        web = os.path.join(self.dir, "web")
        run("openssl", "req", *key, "-keyout", web + ".key", "-out", web + ".csr", "-subj", "/CN=web", **quiet)
        with open(web + ".ext", "w") as more:
            names = ",".join(f"DNS:*.d{domain}.test" for domain in range(hosts // GROUPS + 1))
            more.write(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        run("openssl", "x509", "-req", "-in", web + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key", "-days", "9",
            "-extfile", web + ".ext", "-out", web + ".pem", **quiet)

    def close(self):
        for server in (self.nginx, self.dns):
            server.terminate()
            server.wait()


def name(number):
    # a certificate has a name for each domain, and none for all of a top-level domain
    return f"h{number % GROUPS:02}.d{number // GROUPS}.test"


def serve_names():
    """Answers every name hNN.dNN.test with an address of its own."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    server.bind(("10.8.0.1", 53))
    while True:
        asked, client = server.recvfrom(2048)
        end = 12
        while asked[end]:
            end += asked[end] + 1
        question = asked[12:end + 5]
        found = re.match(rb".h(\d\d).d(\d+).test\0", question.lower(), re.DOTALL)
        answer = b""
        if found and question[-4:-2] == b"\0\1":
            number = int(found.group(1)) + GROUPS * int(found.group(2))
            answer = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4" + bytes([10, 9, 1 + number // 250 % 250, 1 + number % 250])
        head = asked[:2] + b"\x81\x80\0\1" + (b"\0\1" if answer else b"\0\0") + b"\0\0\0\0"
        server.sendto(head + question + answer, client)


def echo(count, pause_s):
    """Round trips of ICMP echoes in ms, one a line; -1 for one that was lost."""
    server = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    own = os.getpid() & 0xffff
    sent, times = {}, {}

    def take_in():
        while True:
            packet = server.recv(2048)
            kind, _, _, identity, number = struct.unpack("!BBHHH", packet[20:28])
            if kind == 0 and identity == own and number in sent:
                times[number] = (time.monotonic() - sent[number]) * 1e3

    threading.Thread(target=take_in, daemon=True).start()
    for number in range(count):
        body = struct.pack("!BBHHH", 8, 0, 0, own, number) + b"echo" * 8
        total = sum(struct.unpack(f"!{len(body) // 2}H", body))
        total = (total >> 16) + (total & 0xffff)
        check = ~(total + (total >> 16)) & 0xffff
        sent[number] = time.monotonic()
        server.sendto(body[:2] + struct.pack("!H", check) + body[4:], ("10.8.0.1", 0))
        time.sleep(pause_s)
    time.sleep(1.5)
    print(json.dumps([round(times.get(number, -1), 2) for number in range(count)]))


def start_echoes(seconds):
    script = [sys.executable, os.path.abspath(__file__), "echo", str(int(seconds * 10)), "0.1"]
    return start(inside(CRAWL, *script), stdout=subprocess.PIPE, text=True)


def told(echoes):
    """Median, 95th percentile and lost share of echoes."""
    times = json.loads(echoes.communicate()[0])
    came = sorted(time for time in times if time >= 0) or [float("nan")]
    return came[len(came) // 2], came[int(len(came) * 0.95)], 1 - len(came) / max(1, len(times))


def process_figures(pid):
    """CPU seconds and most memory of a process and of its children that have ended."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status") as status:
        peak = re.search(r"VmHWM:\s+(\d+)", status.read())
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"), int(peak.group(1)) / 1e3 if peak else 0.0


class Watched:
    """A process in the crawler's namespace, its CPU and memory as long as it lives."""

    def __init__(self, command, cwd, said):
        self.process = start(inside(CRAWL, *command), cwd=cwd, stdout=said, stderr=said)
        self.cpu_s, self.peak_mb = 0.0, 0.0

    def wait(self, seconds):
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            try:
                self.cpu_s, peak_mb = process_figures(self.process.pid)
                self.peak_mb = max(self.peak_mb, peak_mb)
            except (OSError, IndexError):
                pass
            time.sleep(0.2)
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def crawl(program, scratch, web, workers, seconds, hosts):
    dir = tempfile.mkdtemp(dir=scratch)
    tls = f'ca_file = "{web.dir}/ca.pem"\n' if web.scheme == "https" else ""
    found = workers if workers == "auto" else int(workers)
    with open(os.path.join(dir, "crawler.toml"), "w") as config:
        config.write('[network]\nallow = ["10.9.0.0/16"]\n[dns]\nnameservers = ["10.8.0.1:53"]\n[scope]\nmode = "any"\n'
                     '[politeness]\ndelay_min = "0s"\ndelay_factor = 0\ndelay_per_ip = "0s"\n[container]\n'
                     f'digest_memory = 0\n[report]\ninterval = "1s"\n[fetch]\n{tls}workers = {json.dumps(found)}\n')
    with open(os.path.join(dir, "seeds.txt"), "w") as seeds:
        seeds.writelines(f"{web.scheme}://{name(number)}/\n" for number in range(hosts))
    echoes = start_echoes(seconds)
    with open(os.path.join(dir, "said"), "w") as said:
        watched = Watched([program, "--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl",
                           "--max-time", f"{seconds}s"], dir, said)
        watched.wait(seconds + 60)
    lines = []
    for line in open(os.path.join(dir, "said")):
        found = re.match(r"(?:(\d+)m)?(\d+)s state=crawling pages=(\d+) .* in=([\d.]+)(\w+)/s .* in_flight=(\d+)"
                         r"(?: workers=(\d+) bound=(\w+))?", line)
        if found:
            minutes, second, pages, rate, unit, flying, now, bound = found.groups()
            lines.append((int(minutes or 0) * 60 + int(second), int(pages), int(flying), now or workers, bound or "-"))
    if len(lines) < 4 or lines[-1][1] < 10:
        sys.stderr.write(open(os.path.join(dir, "said")).read()[-2000:])
        return None
    late = [line for line in lines if line[0] >= lines[-1][0] / 2]
    rate = (late[-1][1] - late[0][1]) / max(1, late[-1][0] - late[0][0])
    pages = lines[-1][1]
    row = {"pages_s": rate, "in_flight": sum(line[2] for line in late) / len(late), "workers": late[-1][3],
           "bound": late[-1][4], "cpu_ms_page": watched.cpu_s * 1e3 / max(1, pages), "peak_mb": watched.peak_mb,
           "echo": told(echoes), "path": [line[3] for line in lines[:: max(1, len(lines) // 12)]]}
    shutil.rmtree(dir)
    return row


def peer(kind, scratch, web, seconds, hosts, best):
    """A peer with its defaults, or with the best settings that were found for it."""
    dir = tempfile.mkdtemp(dir=scratch)
    seeds = [f"{web.scheme}://{name(number)}/" for number in range(hosts)]
    with open(os.path.join(dir, "seeds.txt"), "w") as file:
        file.writelines(seed + "\n" for seed in seeds)
    if kind == "wget2":
        command = ["wget2", "--recursive", "--level=inf", "--tries=1", "--span-hosts", "--no-verbose",
                   f"--ca-certificate={web.dir}/ca.pem", "--directory-prefix=files", "--input-file=seeds.txt",
                   *(["--max-threads=200"] if best else [])]
    else:
        command = ["scrapy", "runspider", os.path.join(HERE, "..", "peers", "crawl_scrapy.py"), "-a",
                   "seeds=" + " ".join(seeds), "-a", "everywhere=1", "-s", f"CLOSESPIDER_TIMEOUT={seconds}",
                   *(["-s", "CONCURRENT_REQUESTS=1000", "-s", "REACTOR_THREADPOOL_MAXSIZE=100"] if best else [])]
    echoes = start_echoes(seconds)
    with open(os.path.join(dir, "said"), "w") as said:
        watched = Watched(command, dir, said)
        watched.wait(seconds)
    said = open(os.path.join(dir, "said"), errors="replace").read()
    if kind == "wget2":
        pages = sum(len(files) for _, _, files in os.walk(os.path.join(dir, "files")))
    else:
        counted = re.search(r"'downloader/response_count': (\d+)", said)
        pages = int(counted.group(1)) if counted else 0
    row = {"pages_s": pages / seconds, "in_flight": float("nan"), "workers": "best" if best else "default",
           "bound": "-", "cpu_ms_page": watched.cpu_s * 1e3 / max(1, pages), "peak_mb": watched.peak_mb,
           "echo": told(echoes), "path": []}
    shutil.rmtree(dir)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rtt", default="20,100,300", help="round trips in ms")
    parser.add_argument("--mbit", default="100,1000")
    parser.add_argument("--web", default="http,tls")
    parser.add_argument("--workers", default="auto,64,256,1024")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--hosts", type=int, default=5000)
    parser.add_argument("--jitter", type=float, default=0.05, help="share of the round trip, up and down")
    parser.add_argument("--loss", type=float, default=0.5, help="percent, each way")
    parser.add_argument("--buffer", type=float, default=250, help="ms of the line")
    parser.add_argument("--congestion", default="", help="that of servers and crawler; empty for the machine's own")
    parser.add_argument("--crawler", action="append")
    parser.add_argument("--peers", default="")
    parser.add_argument("--scratch", help="where crawls and pages lie for the time being")
    options = parser.parse_args()
    programs = options.crawler or [os.path.join(HERE, "..", "..", "target", "release", "crawler")]
    scratch = tempfile.mkdtemp(dir=options.scratch)
    print(f"{'line':<24} {'web':<5} {'crawler':<16} {'workers':>8} {'pages/s':>8} {'in flight':>9} {'CPU ms/page':>11} "
          f"{'MB':>6} {'bound':<8} {'echo ms: empty':>15} {'median':>7} {'p95':>7} {'lost':>6}", flush=True)
    try:
        for mbit in options.mbit.split(","):
            for rtt in map(float, options.rtt.split(",")):
                line = Line(scratch, mbit, rtt, rtt * options.jitter, options.loss, options.buffer, options.congestion)
                for kind in options.web.split(","):
                    web = Web(scratch, kind, options.hosts)
                    empty = told(start_echoes(3))

                    def tell(who, workers, row):
                        if not row:
                            print(f"{mbit} Mbit/s {rtt:.0f} ms {kind} {who} {workers}: failed", flush=True)
                            return
                        median, late, lost = row["echo"]
                        print(f"{mbit + ' Mbit/s, ' + format(rtt, '.0f') + ' ms':<24} {kind:<5} {who:<16} "
                              f"{workers:>8} {row['pages_s']:>8.0f} {row['in_flight']:>9.0f} "
                              f"{row['cpu_ms_page']:>11.2f} {row['peak_mb']:>6.0f} {row['bound']:<8} "
                              f"{empty[0]:>15.1f} {median:>7.1f} {late:>7.1f} {lost:>6.1%}"
                              f"  {' '.join(map(str, row['path'])) if workers == 'auto' else ''}", flush=True)

                    for workers in options.workers.split(","):
                        for program in programs:
                            program = os.path.abspath(program)
                            tell(os.path.basename(program), workers,
                                 crawl(program, scratch, web, workers, options.seconds, options.hosts))
                    for kind_of_peer in filter(None, options.peers.split(",")):
                        for best in (False, True):
                            row = peer(kind_of_peer, scratch, web, options.seconds, options.hosts, best)
                            tell(kind_of_peer, row["workers"], row)
                    web.close()
                print("#", line.close().replace("\n", "; "), flush=True)
    finally:
        for process in STARTED:
            if process.poll() is None:
                process.terminate()
        for namespace in (WEB, CRAWL):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve-names"]:
        serve_names()
    elif sys.argv[1:2] == ["echo"]:
        echo(int(sys.argv[2]), float(sys.argv[3]))
    else:
        main()
