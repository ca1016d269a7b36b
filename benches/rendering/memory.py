"""Memory of the crawler and of its browsers over a long rendering crawl.

    python3 benches/rendering/memory.py CRAWLER [PAGES [TABS [FOLDER]]]      by default 10,000 pages in 8 tabs

Crawls the shop (shop.py) with so many routes, all of them rendered, and samples the PSS of the crawler and of all that
descends from it every two seconds into FOLDER/memory.csv (by default /tmp/rendering-memory). Prints medians of the
first and the last quarter, how many browsers there were, and what is left of them at the end. Fails if a page or what
it needs is missing, is there twice or was not rendered, or if a process or profile is left.
"""
import csv
import os
import statistics
import sys
import time

from crawling import Crawl, is_browser, load, memory, tree, wait_until_none
from shop import Shop

SAMPLE_S = 2
MIB = 1 << 20


def main():
    program = sys.argv[1]
    pages, tabs = (int(word) for word in (sys.argv[2:4] + ["10000", "8"][len(sys.argv[2:4]):]))
    folder = sys.argv[4] if len(sys.argv) > 4 else "/tmp/rendering-memory"
    shop = Shop(pages)
    crawl = Crawl(program, folder, shop, tabs, checkpoint="10s")
    begun = time.monotonic()
    child = crawl.start()
    samples, browsers, at_once, loads = [], set(), 0, []
    with open(os.path.join(folder, "memory.csv"), "w") as file:
        out = csv.writer(file)
        out.writerow(["seconds", "pages", "crawler_pss", "browsers_pss", "processes", "browsers"])
        while child.poll() is None:
            found = tree(child.pid)
            mains = {number for number, words in found.items() if number != child.pid and is_browser(number, words)}
            browsers |= mains
            at_once = max(at_once, len(mains))
            own = memory(child.pid)
            others = sum(memory(number) for number in found if number != child.pid)
            done = shop.count(lambda line: "/api/product/" in line)
            sample = (time.monotonic() - begun, done, own, others, len(found), len(mains))
            out.writerow([round(sample[0], 1), *sample[1:]])
            file.flush()
            samples.append(sample)
            loads.append(os.getloadavg()[0])
            time.sleep(SAMPLE_S)
    took = time.monotonic() - begun
    left, profiles = wait_until_none(crawl.temporary)
    print(f"exit code            {child.returncode} after {took:.0f} s, {pages / took:.2f} pages/s, {tabs} tabs")
    print(f"load average         {statistics.median(loads):.1f} (median of its one-minute values)")
    print(f"browsers             {len(browsers)}, at most {at_once} at a time")
    quarter = len(samples) // 4
    for name, column in (("crawler, MiB", 2), ("browsers, MiB", 3), ("processes", 4)):
        unit = MIB if column < 4 else 1
        values = [sample[column] / unit for sample in samples]
        quarters = [statistics.median(values[n * quarter:(n + 1) * quarter]) for n in range(4)]
        print(f"{name:20} medians of the quarters {' '.join(f'{one:.0f}' for one in quarters)}, most {max(values):.0f}")
    print(f"left at the end      {len(left)} processes, {len(profiles)} profiles")
    for number, words in left.items():
        print(f"  {number} {words[:200]}")
    print(f"renderings           {crawl.status()['gauges']['rendering']}")
    print(load())
    right = crawl.judge() and child.returncode == 0 and not left and not profiles
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
