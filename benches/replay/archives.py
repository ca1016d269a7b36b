"""Archives of the sites, each made by a crawler or by wget, and pywb, which replays one of them."""
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass

from sites import wait_for

SETTINGS = """[scope]
mode = "host"
exclude = {exclude}
{scope}
[politeness]
delay_min = "0s"
delay_factor = 0.0
delay_per_ip = "0s"
[network]
allow = ["127.0.0.0/8"]
[dns]
hosts = {hosts}
[crawl]
checkpoint_interval = "10m"
"""

# what each page shows is taken from a browser, too
RENDERING = """[render]
mode = "always"
delay = "0s"
connections_per_host = 16
allow_unsandboxed = true
"""

# as a proxy and without any rewriting: the browser gets the bytes of the archive, and no request has another way
PYWB = """collections_root: collections
proxy:
  coll: replay
  enable_banner: false
  enable_wombat: false
  enable_content_rewrite: false
"""


@dataclass
class Archive:
    label: str
    site: object
    folder: str         # of pywb: collections/replay/{archive,indexes}
    cpu_s: float        # of the crawl
    records: dict       # URL -> (status, MIME type)

    def pages(self):
        return {url for url, (status, mime) in self.records.items() if status == "200" and mime == "text/html"}


def crawled(label, program, site, work, scope, more=""):
    """An archive of `site` by the crawler `program`, with the index that it exports; `scope` has lines of settings,
    `more` has sections."""
    folder = emptied(os.path.join(work, "archives", site.name, label))
    crawl = os.path.join(folder, "crawl")
    with open(os.path.join(folder, "seeds.txt"), "w") as seeds:
        seeds.write(site.seeds())
    with open(os.path.join(folder, "crawler.toml"), "w") as settings:
        hosts = ", ".join(f'"{name}" = "{address}"' for name, address in getattr(site, "hosts", {}).items())
        settings.write(SETTINGS.format(exclude=json.dumps(getattr(site, "exclude", [])), scope="\n".join(scope),
                                       hosts=f"{{ {hosts} }}") + more)
    cpu_s = timed([program, "--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "-q"], folder)
    collection = laid_out(folder)
    for name in os.listdir(os.path.join(crawl, "pages")):
        if name.startswith("value-"):
            os.symlink(os.path.join(crawl, "pages", name), os.path.join(collection, "archive", name))
    subprocess.run([program, "export", "cdxj", "--all", "--dir", crawl, "-o",
                    os.path.join(collection, "indexes", "index.cdxj")], check=True, stderr=subprocess.DEVNULL)
    return Archive(label, site, folder, cpu_s, indexed(collection))


def by_wget(site, work, pip):
    """The same by `wget -p -r`, indexed by pywb."""
    folder = emptied(os.path.join(work, "archives", site.name, "wget"))
    command = ["wget", "--no-verbose", "--output-file=log", "--page-requisites", "--recursive", "--level=inf",
               "--warc-file=wget", "--no-warc-keep-log", "--directory-prefix=files", "--tries=2"]
    if site.exclude:
        command.append("--reject-regex=" + "|".join(f"({one})" for one in site.exclude))
    cpu_s = timed([*command, site.url()], folder, codes=(0, 8))
    collection = laid_out(folder)
    os.rename(os.path.join(folder, "wget.warc.gz"), os.path.join(collection, "archive", "wget.warc.gz"))
    subprocess.run([os.path.join(pip, "wb-manager"), "reindex", "replay"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(os.path.join(folder, "files"))
    return Archive("wget", site, folder, cpu_s, indexed(collection))


def timed(command, folder, codes=(0,)):
    """Runs `command` and returns the CPU seconds that it took."""
    with open(os.path.join(folder, "output"), "w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}, see {folder}/output")
    return usage.ru_utime + usage.ru_stime


def emptied(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def laid_out(folder):
    collection = os.path.join(folder, "collections", "replay")
    for part in ("archive", "indexes"):
        os.makedirs(os.path.join(collection, part))
    with open(os.path.join(folder, "config.yaml"), "w") as config:
        config.write(PYWB)
    return collection


def indexed(collection):
    records = {}
    indexes = os.path.join(collection, "indexes")
    for name in os.listdir(indexes):
        with open(os.path.join(indexes, name)) as lines:
            for line in lines:
                if line.startswith(" "):
                    continue
                fields = json.loads(line.split(" ", 2)[2])
                if not fields["url"].startswith("http"):    # wget's records of itself
                    continue
                if fields.get("mime") != "warc/revisit" or fields["url"] not in records:
                    records[fields["url"]] = (fields.get("status", "-"), fields.get("mime", "-"))
    return records


class Replay:
    """pywb as a proxy that serves one archive and nothing else."""

    def __init__(self, archive, pip):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.log = open(os.path.join(archive.folder, "pywb.log"), "w")
        self.process = subprocess.Popen(
            [os.path.join(pip, "wayback"), "-b", "127.0.0.1", "-p", str(self.port), "-t", "8"],
            cwd=archive.folder, stdout=self.log, stderr=self.log)

    def __enter__(self):
        wait_for(self.origin)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def get(self, url):
        """Status and body of `url`; the status is None if it is not in the archive."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", url, headers={"Accept-Encoding": "identity"})
            response = connection.getresponse()
            body = response.read()
            return (response.status if response.getheader("Memento-Datetime") else None), body
        finally:
            connection.close()

