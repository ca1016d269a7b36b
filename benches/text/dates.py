"""Dates of pages beside htmldate, on the pages of its own evaluation: the same bytes to both in one run.

    python3 dates.py TESTS CRAWLER [a|b]

TESTS is the folder `tests` of htmldate's repository, CRAWLER the crawler's binary. Python needs htmldate and warcio.
The pages are written as a WARC file, which `crawler import` reads; the dates are those of `crawler extract --facts
published,modified`. Both programs get each page twice, in different runs: with its URL, and without (the crawler then
has one that says nothing).

The set marks the day of publication. `published` is held against it, and htmldate's `find_date` with
`original_date=True`: right, wrong, or none; on a page without a date, none is right. The last change has no marks: `modified`, or `published` where that is
empty, is held against `find_date` by its default. Days are compared, without the time. CPU is that of the processes,
their start included; the crawler's is for both dates, htmldate's for each, and the import is counted alone.
A page is of half a or b by the hash of its file's name. With VERBOSE=1 each page is printed that is not right.
"""

import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from halves import children_seconds, half

EVALUATIONS = ["eval_mediacloud_2020.json", "eval_default.json"]
FOLDERS = ["test_set", "cache", "eval"]
FIELDS = 'page = { header = "x-page" }\n'


def main():
    tests, crawler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    marks = {}
    for evaluation in EVALUATIONS:
        for url, mark in json.loads((tests / evaluation).read_text()).items():
            path = next(path for folder in FOLDERS if (path := tests / folder / mark["file"]).exists())
            if len(sys.argv) < 4 or half(mark["file"]) == sys.argv[3]:
                # NaN where people found no date
                date = mark["date"] if isinstance(mark["date"], str) else None
                # one URL of the set begins with xhttps:
                marks[url.removeprefix("x")] = {"date": date, "path": str(path)}
    size = sum(pathlib.Path(mark["path"]).stat().st_size for mark in marks.values())
    print(f"{len(marks)} pages, {size >> 20} MiB")
    for with_url in True, False:
        print(f"\n{'With' if with_url else 'Without'} the URLs of the pages\n")
        compare(marks, crawler, with_url)


def compare(marks, crawler, with_url):
    ours, seconds, of_import = of_crawler(marks, crawler, with_url)
    theirs, for_published = of_htmldate(marks, "published", with_url)
    last, for_last = of_htmldate(marks, "last", with_url)
    published = {url: dates["published"] for url, dates in ours.items()}
    print("| half | program | right | wrong | none | ms of CPU a page |")
    print("|---|---|---|---|---|---|")
    for name, chosen in halves(marks):
        show(name, "crawler", chosen, published, seconds / len(marks))
        show("", "htmldate", chosen, theirs, for_published / len(marks))
    changed = {url: dates["modified"] or dates["published"] for url, dates in ours.items()}
    same = sum(changed[url] == last[url] for url in marks)
    stated = [url for url in marks if ours[url]["modified"]]
    agreed = sum(ours[url]["modified"] == last[url] for url in stated)
    print(f"\nlast change: the same on {same} of {len(marks)} pages; `modified` on {len(stated)}, of which {agreed} the "
          f"same; htmldate has one on {sum(map(bool, last.values()))}, {1000 * for_last / len(marks):.1f} ms")
    print(f"import: {1000 * of_import / len(marks):.1f} ms of CPU a page")
    if os.environ.get("VERBOSE"):
        for url, mark in marks.items():
            if published[url] != mark["date"]:
                print(half_of(mark), mark["date"], published[url], theirs[url], mark["path"], url)
            if changed[url] != last[url]:
                print(half_of(mark), "last change", ours[url], last[url], mark["path"], url)


def half_of(mark):
    return half(pathlib.Path(mark["path"]).name)


def halves(marks):
    for name in "a", "b":
        chosen = {url: mark for url, mark in marks.items() if half_of(mark) == name}
        if chosen:
            yield f"{name}, {len(chosen)} pages", chosen
    yield f"all, {len(marks)} pages", marks


def show(name, program, marks, dates, seconds):
    right = sum(dates[url] == mark["date"] for url, mark in marks.items())
    none = sum(dates[url] is None and mark["date"] is not None for url, mark in marks.items())
    wrong = len(marks) - right - none
    print(f"| {name} | {program} | {right} ({100 * right / len(marks):.1f} %) | {wrong} | {none} "
          f"| {1000 * seconds:.1f} |", flush=True)


def of_crawler(marks, crawler, with_url):
    """Days by URL, and the seconds of the extraction and of the import."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        write_warc(work / "pages.warc.gz", marks, with_url)
        (work / "fields.toml").write_text(FIELDS)
        begun = children_seconds()
        command = [crawler, "import", "pages.warc.gz", "--dir", "crawl"]
        subprocess.run(command, cwd=work, check=True, capture_output=True)
        imported = children_seconds()
        command = [crawler, "extract", "--dir", "crawl", "--jsonl", "--fields", "fields.toml"]
        command += ["--facts", "published,modified"]
        out = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True).stdout
        seconds = children_seconds() - imported
    dates = {url: {"published": None, "modified": None} for url in marks}
    urls, lines = list(marks), [json.loads(line) for line in out.splitlines()]
    for line in lines:
        dates[urls[int(line["page"])]] = {name: day(line[name]) for name in ("published", "modified")}
    if len(lines) != len(marks):
        print(f"the crawler gave {len(lines)} rows")
    return dates, seconds, imported - begun


def write_warc(path, marks, with_url):
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    with open(path, "wb") as file:
        writer = WARCWriter(file, gzip=True)
        for number, (url, mark) in enumerate(marks.items()):
            body = pathlib.Path(mark["path"]).read_bytes()
            fields = [("Content-Type", "text/html"), ("Content-Length", str(len(body))), ("X-Page", str(number))]
            head = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
            at = url if with_url else f"http://page{number}.example/"
            writer.write_record(writer.create_warc_record(at, "response", payload=io.BytesIO(body), http_headers=head))


def day(date):
    return date[:10] if date else None


def of_htmldate(marks, kind, with_url):
    """Days by URL, and the seconds of the process."""
    begun = children_seconds()
    pages = json.dumps([[mark["path"], url if with_url else None] for url, mark in marks.items()])
    command = [sys.executable, __file__, "--htmldate", kind]
    out = subprocess.run(command, input=pages, check=True, capture_output=True, text=True).stdout
    return dict(zip(marks, json.loads(out))), children_seconds() - begun


def by_htmldate(kind):
    from htmldate import find_date

    pages = [(pathlib.Path(path).read_bytes(), url) for path, url in json.load(sys.stdin)]
    print(json.dumps([find_date(page, original_date=kind == "published", url=url) for page, url in pages]))


if __name__ == "__main__":
    by_htmldate(sys.argv[2]) if sys.argv[1] == "--htmldate" else main()
