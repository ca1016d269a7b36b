"""Pages for the benchmark: real ones from directories of HTML, and pages recombined from their texts, as WARC files."""
import hashlib
import html
import json
import os
import random
import re
import subprocess
import uuid

FILE_PAGES = 100_000    # pages of a WARC file
DAY = "2026-11-01T00:00:00Z"
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")


class Warc:
    """Writes pages into files of FILE_PAGES each."""

    def __init__(self, place, name):
        self.place, self.name, self.pages, self.files, self.out = place, name, 0, [], None

    def add(self, url, body):
        if self.pages % FILE_PAGES == 0:
            self.close()
            self.files.append(os.path.join(self.place, f"{self.name}-{len(self.files)}.warc"))
            self.out = open(self.files[-1], "wb")
        self.pages += 1
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" \
               f"Content-Length: {len(body)}\r\n\r\n".encode()
        record = uuid.UUID(bytes=hashlib.md5(url.encode()).digest())
        self.out.write(
            f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {DAY}\r\n"
            f"WARC-Record-ID: <urn:uuid:{record}>\r\nContent-Type: application/http;msgtype=response\r\n"
            f"Content-Length: {len(head) + len(body)}\r\n\r\n".encode() + head + body + b"\r\n\r\n")

    def close(self):
        if self.out:
            self.out.close()
            self.out = None
        return self.files


class Table:
    """The texts of the pages for the other engines: URL, title, headings and text, a line per page."""

    def __init__(self, path):
        self.out = open(path, "w")

    def add(self, *values):
        self.out.write("\t".join(re.sub(r"[\t\r\n]", " ", value) for value in values) + "\n")


def real(directories, count, place, draw):
    """WARC files of `count` pages: all of directories with up to 2,000 pages, and a part of the others."""
    small, large = [], []
    for number, directory in enumerate(directories):
        found = []
        for parent, _, names in os.walk(directory):
            found += [(number, directory, os.path.join(parent, name)) for name in names if name.endswith(".html")]
        # pages that only lead to another one have no text
        found = sorted(page for page in found if os.path.getsize(page[2]) >= 2_000)
        (small if len(found) <= 2_000 else large).extend(found)
    large = draw.sample(large, max(0, min(len(large), count - len(small))))
    warc = Warc(place, "real")
    for number, directory, path in small[:count] + large:
        with open(path, "rb") as page:
            warc.add(f"http://site{number}.example/{os.path.relpath(path, directory)}", page.read())
    return warc.close()


def extracted(crawler, crawl, path):
    """The texts of the pages of a crawl, as the crawler reads them. Writes them to `path`, too."""
    command = [crawler, "extract", "--dir", crawl, "--main", "--jsonl",
               "--field", 'headings={ css = "h1, h2, h3, h4, h5, h6", all = true }']
    pages, table = [], Table(path)
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for line in out.splitlines():
        row = json.loads(line)
        headings = row.get("headings") or []
        headings = [headings] if isinstance(headings, str) else headings
        page = {"title": row.get("title") or "", "headings": headings, "text": row.get("main") or ""}
        pages.append(page)
        table.add(row["url"], page["title"], "\n".join(headings), page["text"])
    table.out.close()
    return pages


def recombined(pages, count, place, path, draw):
    """WARC files of `count` pages: each as long, and with as many headings, as a real one, of lines drawn from all."""
    lines = [line.strip() for page in pages for line in page["text"].splitlines() if line.strip()]
    titles = [page["title"] for page in pages if page["title"]]
    headings = [heading for page in pages for heading in page["headings"] if heading]
    warc, table = Warc(place, f"recombined-{count}"), Table(path)
    for number in range(count):
        like = draw.choice(pages)
        title, heads = draw.choice(titles), draw.choices(headings, k=min(len(like["headings"]), 40) or 1)
        length, texts = min(len(like["text"]), 200_000), []
        while length > 0:
            texts.append(draw.choice(lines)[:2_000])
            length -= len(texts[-1]) + 1
        every = max(1, len(texts) // len(heads))
        body, text = [], []
        for at, line in enumerate(texts or [title]):
            if at % every == 0 and at // every < len(heads):
                body.append(f"<h2>{html.escape(heads[at // every])}</h2>")
                text.append(heads[at // every])
            body.append(f"<p>{html.escape(line)}</p>")
            text.append(line)
        url = f"http://host{number % 1000}.example/{number}"
        menu = "".join(f"<li><a href=/{draw.randrange(count)}>{html.escape(draw.choice(titles))}</a>" for _ in range(5))
        head = html.escape(title)
        page = f"<!doctype html><html lang=en><head><title>{head}</title></head><body><nav><ul>{menu}</ul></nav>" \
               f"<main><h1>{head}</h1>{''.join(body)}</main><footer>The end</footer></body></html>"
        warc.add(url, page.encode())
        table.add(url, title, "\n".join([title] + heads), "\n".join([title] + text))
    table.out.close()
    return warc.close()


def questions(pages, count, draw):
    """Two or three words each from a title or a heading, in lower case; one of five is a phrase."""
    texts = [page["title"] for page in pages] + [heading for page in pages for heading in page["headings"][:5]]
    texts = sorted({text for text in texts if len(set(WORD.findall(text))) > 1})
    asked = []
    while len(asked) < count:
        words = WORD.findall(draw.choice(texts).lower())
        size = min(len(words), draw.choice((2, 3)))
        if len(asked) % 5 == 0:
            at = draw.randrange(len(words) - size + 1)
            asked.append('"' + " ".join(words[at:at + size]) + '"')
        else:
            asked.append(" ".join(draw.sample(words, size)))
    return asked
