"""Kills of browsers, and of the crawler, while pages are rendered: what is lost, and what is there twice.

    python3 benches/rendering/kills.py browsers CRAWLER [ROUTES [KILLS [FOLDER]]]    by default 500 routes, 50 kills
    python3 benches/rendering/kills.py crawler CRAWLER [ROUTES [KILLS [FOLDER]]]     by default 500 routes, 12 kills

`browsers` kills (SIGKILL) the first process of the running browser at random moments, and every fourth time one of its
renderers; `crawler` kills the crawler itself, waits until its browsers are gone, and starts it again with the same
command. Both go on until the crawl of the shop (shop.py) is complete and judge the archive: each route once, rendered,
with a conversion record, and all that it needs; a route whose browser was killed three times is stored as it was
served, which is counted. Fails if not, or if a process or a profile is left. The seed that is
printed repeats the pauses (SEED=N), not the machine.
"""
import os
import random
import signal
import statistics
import sys
import time

from crawling import Crawl, is_browser, left_over, load, tree, wait_until_none
from shop import Shop

TABS = 2


def targets(child):
    """Browsers and renderers below `child`."""
    found = tree(child.pid)
    return ([number for number, words in found.items() if is_browser(number, words)],
            [number for number, words in found.items() if "--type=renderer" in words])


def kill(number):
    try:
        os.kill(number, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def rendered(shop):
    """How many products have asked for their data: what the crawl has come to."""
    return shop.count(lambda line: "/api/product/" in line)


def wait_for_pages(child, shop, more):
    """Waits until so many pages more have asked for their data; whether the crawl is still there."""
    wanted = rendered(shop) + more
    while child.poll() is None and rendered(shop) < wanted:
        time.sleep(0.02)
    return child.poll() is None


def kill_browsers(crawl, shop, kills, rng):
    """Runs the crawl once and kills its browsers. The exit code, and how many browsers and renderers were killed."""
    child = crawl.start()
    killed = {"browsers": 0, "renderers": 0}
    share = max(1, shop.products // (kills + 5))
    while sum(killed.values()) < kills and child.poll() is None:
        # some come while a browser starts, most while pages are in it
        if rng.random() < 0.85 and not wait_for_pages(child, shop, rng.randint(1, 2 * share - 1)):
            break
        time.sleep(rng.random())
        browsers, renderers = targets(child)
        of, kind = (renderers, "renderers") if sum(killed.values()) % 4 == 3 else (browsers, "browsers")
        if of and kill(rng.choice(of)):
            killed[kind] += 1
    between = rendered(shop)
    code = child.wait()
    print(f"killed               {killed['browsers']} browsers, {killed['renderers']} renderers; "
          f"{rendered(shop) - between} requests for data after the last")
    return code, sum(killed.values())


def kill_crawler(crawl, shop, kills, rng):
    """Kills the crawler and starts it again. The exit code of the last run, and how often it was killed."""
    done, gone_ms, left_after = 0, [], 0
    share = max(1, shop.products // (kills + 2))
    while done < kills:
        child = crawl.start()
        if rng.random() < 0.8:
            wait_for_pages(child, shop, rng.randint(1, 2 * share - 1))
        time.sleep(rng.random())
        if child.poll() is not None:
            break
        child.kill()
        child.wait()
        done += 1
        begun = time.monotonic()
        while left_over(crawl.temporary) and time.monotonic() < begun + 15:
            time.sleep(0.005)
        gone_ms.append(1000 * (time.monotonic() - begun))
        left_after += len(left_over(crawl.temporary))
    between = rendered(shop)
    code = crawl.start().wait()
    print(f"killed               {done} times; {rendered(shop) - between} requests for data after the last")
    print(f"browsers were gone   {statistics.median(gone_ms):.0f} ms after the kill (median), {max(gone_ms):.0f} ms at "
          f"most; {left_after} processes were left")
    return (code if not left_after else 1), done


def main():
    what, program = sys.argv[1:3]
    usual = ["500", "50" if what == "browsers" else "12", f"/tmp/rendering-kills-{what}"]
    given = sys.argv[3:6]
    routes, kills, folder = given + usual[len(given):]
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    shop = Shop(int(routes))
    crawl = Crawl(program, folder, shop, TABS, checkpoint="1s")
    begun = time.monotonic()
    print(f"seed                 {seed}")
    run = {"browsers": kill_browsers, "crawler": kill_crawler}[what]
    code, done = run(crawl, shop, int(kills), random.Random(seed))
    print(f"exit code            {code} after {time.monotonic() - begun:.0f} s; {load()}")
    left, profiles = wait_until_none(crawl.temporary)
    print(f"left at the end      {len(left)} processes, {len(profiles)} profiles {profiles[:3]}")
    print(f"renderings           {crawl.status()['gauges']['rendering']}")
    right = crawl.judge(may_crash=what == "browsers") and code == 0 and done == int(kills) and not left and not profiles
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
