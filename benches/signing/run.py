"""What signing every request of a crawl costs: CPU of whole crawls of the synthetic web, with and without, in turns.

    cargo build --release
    python3 benches/signing/run.py target/release/crawler [ROUNDS]

The CPU is that of the crawling process alone; the web is another one. Prints each round, and the medians."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

WEB = ["--hosts", "200", "--pages", "2500", "--latency", "1ms", "--addresses", "16", "--delay", "0ms"]
KINDS = {
    "unsigned": "",
    "signed": 'key_file = "KEY"\nsignature_agent = "https://bot.example"\n',
    "signed, all covered": 'key_file = "KEY"\nsignature_agent = "https://bot.example"\n'
    'components = ["@authority", "@method", "@path", "@query"]\n',
}


def crawl(crawler, web, place, kind, number):
    """CPU seconds of a crawl, and its requests."""
    with open(os.path.join(web, "crawler.toml")) as base:
        settings = base.read()
    config, crawled = os.path.join(place, "crawler.toml"), os.path.join(place, f"crawl-{number}")
    with open(config, "w") as out:
        out.write(settings + "[identity]\n" + KINDS[kind].replace("KEY", os.path.join(place, "identity", "key.pem")))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [crawler, "-q", "--seeds", os.path.join(web, "seeds.txt"), "--config", config, "--dir", crawled]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with open(os.path.join(crawled, "logs", "crawl.log")) as log:
        return cpu, sum(1 for _ in log)


def main(crawler, rounds):
    with tempfile.TemporaryDirectory() as place:
        init = ["identity", "init", "--dir", os.path.join(place, "identity"), "--agent", "https://bot.example"]
        subprocess.run([crawler, *init], check=True, stdout=subprocess.DEVNULL)
        web = os.path.join(place, "web")
        serving = subprocess.Popen([crawler, "simulate", *WEB, "--out", web], stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(os.path.join(web, "expected.txt")):
                time.sleep(0.1)
            figures = {kind: [] for kind in KINDS}
            for round_number in range(rounds):
                for kind in sorted(KINDS, reverse=round_number % 2 == 1):
                    number = f"{round_number}-{len(figures[kind])}-{kind.replace(' ', '')}"
                    cpu, requests = crawl(crawler, web, place, kind, number)
                    figures[kind].append(cpu)
                    print(f"{kind:22} {cpu:7.2f} s of CPU, {requests} lines of crawl.log", flush=True)
        finally:
            serving.terminate()
            serving.wait()
        base = statistics.median(figures["unsigned"])
        for kind, cpus in figures.items():
            middle = statistics.median(cpus)
            print(f"{kind:22} median {middle:6.2f} s, {middle / base:.3f} of unsigned, {min(cpus):.2f} to {max(cpus):.2f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6)
