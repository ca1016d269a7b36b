"""Compares a replayed page with the original: pixels, and requests that the replay could not serve."""
import os
import re

from PIL import Image, ImageChops


def difference(original, replayed, picture=None):
    """Share of the pixels that differ in any channel by any amount; draws them into `picture`."""
    if not (os.path.exists(original) and os.path.exists(replayed)):
        return 1.0
    with Image.open(original) as first, Image.open(replayed) as second:
        first, second = first.convert("RGB"), second.convert("RGB")
        if first.size != second.size:
            return 1.0
        red, green, blue = ImageChops.difference(first, second).split()
        most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
        equal = most.histogram()[0]
        share = 1 - equal / (first.width * first.height)
        if picture and share > 0:
            most.point(lambda value: 255 if value else 0).save(picture)
        return share


def unserved(original, replayed, site, named):
    """Requests of the page that are not in the archive, each once, with what asked for it and a class:

    - "page": the site serves it, and markup or a sheet names it;
    - "script": the site serves it, and a script asked for it, or put the element or the sheet there that did: what the
      site served does not name it;
    - "absent": the site does not serve it either.
    """
    found = {}
    computed, diverted = set(), set()
    for request in replayed["requests"]:
        url, by = request["url"], request["by"]
        words = mention(site.text(by), url)
        is_browsers = request["type"] in ("Document", "Other")      # the page itself, /favicon.ico
        if request["cause"] == "script" or by in computed or not (is_browsers or words or url in named):
            computed.add(url)
        # pywb may answer what it has not with redirects to its own URLs
        if request["cause"] == "redirect" and (by in found or by in diverted):
            diverted.add(url)
        served = request.get("memento") or 200 <= request.get("status", 0) < 300
        if served or url in found or url in diverted:
            continue
        kind = "absent" if not site.file(url) else "script" if url in computed else "page"
        found[url] = {"url": url, "class": kind, "type": request["type"], "cause": request["cause"], "by": by,
                      "mention": words, "page": original["url"]}
    return list(found.values())


def mention(text, url):
    """The place of `text` that names `url`: the last part of its path with what stands around it."""
    path = url.split("?")[0].rstrip("/")
    last = re.escape(path.rsplit("/", 1)[-1])
    found = re.search(r".{0,90}" + last + r".{0,30}", text) if last else None
    return found.group(0).strip() if found else None
