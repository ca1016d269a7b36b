"""The web's own log and the archive, held against what a crawl by one machine ends with."""
import collections
import re
import statistics

from trial import DELAY_MS

# the log counts microseconds, the crawler milliseconds
SLACK_S = 0.002


def judge(trial):
    """Counts; what has to be 0, and the times of take-over."""
    found = collections.Counter(requests=len(trial.log), pages=len(trial.stored))
    found["not complete"] = not (trial.finish or "").startswith("complete")
    found["damage"] = trial.verified.returncode != 0
    found["lost"] = sum(url not in trial.stored for url in trial.expected)
    found["surplus"] = sum(url not in trial.expected for url in trial.stored)
    found["doubled"] = sum(times > 1 for times in trial.stored.values())
    found["in two shards"] = sum(len(shards) > 1 for shards in trial.shards.values())
    found["without a shard"] = sum(url not in trial.shards for url in trial.stored)
    found["heads gone back"] = trial.backwards
    asked = collections.Counter(entry["host"] + entry["path"] for entry in trial.log
                                if entry["path"] != "/robots.txt" and entry["status"])
    found["asked again"] = sum(times - 1 for times in asked.values())
    hosts = collections.defaultdict(list)
    for entry in trial.log:
        hosts[entry["host"]].append(entry)
    for entries in hosts.values():
        entries.sort(key=lambda entry: entry["started"])
        last = None
        for entry in entries:
            if last:
                gap = entry["started"] - last["finished"]
                by_two = entry["user_agent"] != last["user_agent"]
                found["overlapping"] += gap < 0
                found["overlapping, two nodes"] += gap < 0 and by_two
                found["too early"] += 0 <= gap < DELAY_MS / 1e3 - SLACK_S
                found["hosts taken over"] += by_two
            last = entry if not last or entry["finished"] > last["finished"] else last
    offences = re.search(r"offences against politeness +(\d+)", trial.judgement)
    found["offences"] = int(offences[1])
    return found, take_overs(trial, hosts)


def take_overs(trial, hosts):
    """Seconds from the moment that a node was gone to the first request of another one, for each of its shards."""
    shard_of = {}
    for url, shards in trial.shards.items():
        shard_of[re.match(r"https?://([^/:]+)", url)[1]] = min(shards)
    by_shard = collections.defaultdict(list)
    for host, entries in hosts.items():
        if host in shard_of:
            by_shard[shard_of[host]] += [(entry["started"], entry["user_agent"]) for entry in entries]
    times = []
    for what, name, since, _, shards in trial.events:
        for shard in shards:
            first = min(((at, agent) for at, agent in by_shard[shard] if at > since), default=None)
            # what was on its way when it was gone comes from itself
            later = [(at, agent) for at, agent in by_shard[shard] if at > since + 0.5]
            first = min(later, default=first)
            if first and f"crawler/{name}" not in first[1]:
                times.append((what, first[0] - since))
    return times


def middle(times):
    return statistics.median(times) if times else float("nan")
