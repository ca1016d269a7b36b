#!/usr/bin/env python3
"""Holds the links that the crawler finds against those of an independent reader.

    python3 -m venv ENV && ENV/bin/pip install selectolax ada-url tinycss2
    cargo bench --bench links -- DIR... > links.tsv
    ENV/bin/python benches/links/compare.py links.tsv

HTML is parsed into a tree by lexbor (selectolax), CSS into rules by tinycss2, URLs are resolved by ada (ada-url), and
pictures in SVG are read by Python's own expat. What names a URL is written down here again, from the standards.
A URL that the reader finds and the crawler does not is missing; there must be none. One that only the crawler finds is
an extra, told by its reason. Exit code 1 where something is missing or an extra has no reason.
"""

import collections
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

import ada_url
import tinycss2
import webencodings
from selectolax.lexbor import LexborHTMLParser

LAZY = None
XLINK = "{http://www.w3.org/1999/xlink}href"
SVG = {
    "image", "use", "feimage", "mpath", "textpath", "tref", "cursor", "pattern", "filter", "lineargradient",
    "radialgradient", "font-face-uri", "script",
}
SOURCES = {"img", "source", "frame", "iframe", "embed", "audio", "video", "track", "bgsound", "script"}
PROPERTIES = {
    "style", "fill", "mask", "filter", "stroke", "cursor", "clip-path", "marker-start", "marker-mid", "marker-end",
}
PARAMS = {"movie", "src", "url", "data", "file", "filename", "fileurl", "code", "archive"}
CONDITIONS = {"namespace", "supports", "container", "document", "-moz-document"}
BLANKS = " \t\n\f\r"


def lazy_names():
    """The names of lazy attributes, from the configuration of the crawler."""
    import pathlib
    import tomllib

    path = pathlib.Path(__file__).resolve().parents[2] / "config/default.toml"
    return set(tomllib.loads(path.read_text())["scope"]["lazy_attributes"])


# -- CSS --


def css_tokens(tokens, found, in_condition=False):
    """URLs of component values, wherever they stand in blocks and functions."""
    for token in tokens or []:
        if token.type == "url" and not in_condition:
            found.append(token.value)
        elif token.type == "function":
            name = token.lower_name
            if name == "url" and not in_condition:
                inner = [part for part in token.arguments if part.type not in ("whitespace", "comment")]
                if inner and inner[0].type == "string":
                    found.append(inner[0].value)
            elif name in ("image-set", "-webkit-image-set") and not in_condition:
                found.extend(part.value for part in token.arguments if part.type == "string")
            css_tokens(token.arguments, found, in_condition)
        elif token.type in ("() block", "[] block"):
            css_tokens(token.content, found, in_condition)
        elif token.type == "{} block":
            css_rules(tinycss2.parse_blocks_contents(token.content), found)


def css_rules(rules, found):
    for rule in rules:
        if rule.type == "at-rule":
            name = rule.lower_at_keyword
            if name == "import":
                parts = [part for part in rule.prelude if part.type not in ("whitespace", "comment")]
                if parts and parts[0].type in ("string", "url"):
                    found.append(parts[0].value)
                elif parts and parts[0].type == "function" and parts[0].lower_name == "url":
                    css_tokens(parts[:1], found)
            else:
                css_tokens(rule.prelude, found, name in CONDITIONS)
            if rule.content is not None:
                css_rules(tinycss2.parse_blocks_contents(rule.content), found)
        elif rule.type == "qualified-rule":
            css_tokens(rule.prelude, found)
            css_rules(tinycss2.parse_blocks_contents(rule.content), found)
        elif rule.type == "declaration":
            css_tokens(rule.value, found)


def css_sheet(text):
    found = []
    css_rules(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True), found)
    return found


def css_style(text):
    found = []
    css_rules(tinycss2.parse_blocks_contents(text, skip_comments=True, skip_whitespace=True), found)
    return found


# -- HTML --


def srcset(value):
    """The URLs of a srcset, by the steps of the HTML standard."""
    found, at = [], 0
    while True:
        while at < len(value) and value[at] in BLANKS + ",":
            at += 1
        if at >= len(value):
            return found
        end = at
        while end < len(value) and value[end] not in BLANKS:
            end += 1
        url = value[at:end]
        at = end
        if url.endswith(","):
            found.append(url.rstrip(","))
            continue
        found.append(url)
        depth = 0
        while at < len(value):
            if value[at] == "(":
                depth = 1
            elif value[at] == ")":
                depth = 0
            elif value[at] == "," and not depth:
                break
            at += 1


def refresh(content):
    match = re.match(r"[ \t\n\f\r]*[0-9.]+[ \t\n\f\r;,]+(?:url[ \t\n\f\r]*=[ \t\n\f\r]*)?(['\"]?)(.*)", content, re.I | re.S)
    if not match:
        return None
    quote, rest = match.groups()
    return rest.split(quote)[0] if quote else rest


def looks_like_url(value):
    value = value.strip(BLANKS)
    return not value.startswith("#") and re.search(r"[/.]", value) and not re.search(r"[\s{}<>|\"]", value)


def lazy(name, value, found):
    if re.search(r"url\(|image-set\(|@import|\\", value, re.I):
        found.extend(css_style(value))
    elif name.endswith("set"):
        found.extend(srcset(value))
    elif looks_like_url(value):
        found.append(value.strip(BLANKS))


def linked_data(value, name, found):
    if isinstance(value, dict):
        for key, inner in value.items():
            linked_data(inner, key, found)
    elif isinstance(value, list):
        for inner in value:
            linked_data(inner, name, found)
    elif isinstance(value, str) and name in ("url", "image", "logo", "thumbnailUrl", "contentUrl", "embedUrl"):
        found.append(value)


def element(tag, attributes, text, found, parts):
    """URLs of one element: those of `parts` are part of the page, where a URL without a path is the page itself."""
    get = attributes.get
    reference = get("href") if get("href") is not None else get("xlink:href")
    if tag in ("a", "area") and reference is not None:
        found.append(reference)
    if tag == "link":
        rel = (get("rel") or "").lower().split()
        hints = {"preconnect", "dns-prefetch"} & set(rel)
        other = {"stylesheet", "icon", "manifest", "preload", "modulepreload", "prefetch", "canonical"} & set(rel)
        if get("href") is not None and (other or not hints):
            (parts if other - {"canonical"} else found).append(get("href"))
        parts.extend(srcset(get("imagesrcset") or ""))
    if tag in SOURCES or tag == "input" and (get("type") or "").strip(BLANKS).lower() == "image":
        parts.append(get("src"))
    if tag in ("img", "source"):
        parts.extend(srcset(get("srcset") or ""))
    if tag in ("img", "video", "audio", "source", "frame", "iframe"):
        found.append(get("longdesc"))
        parts.extend([get("poster"), get("lowsrc"), get("dynsrc")] if tag != "iframe" else [])
    if tag == "object":
        parts.append(get("data"))
    if tag in ("blockquote", "q", "ins", "del"):
        found.append(get("cite"))
    if tag in SVG:
        parts.append(reference)
    if tag == "image":
        parts.append(get("src"))
    if tag == "param" and get("value"):
        is_url = (get("name") or "").lower() in PARAMS and looks_like_url(get("value"))
        if is_url or (get("valuetype") or "").lower() == "ref":
            parts.append(get("value"))
    parts.append(get("background"))
    for name, value in attributes.items():
        if value and name in PROPERTIES:
            parts.extend(css_style(value))
        elif value and name in LAZY:
            lazy(name, value, parts)
    kind = (get("type") or "").strip(BLANKS).lower()
    if tag == "style" and kind in ("", "text/css"):
        parts.extend(css_sheet(text()))
    if tag == "script" and kind == "application/ld+json":
        try:
            linked_data(json.loads(text()), "", found)
        except ValueError:
            pass
    if tag == "meta" and (get("http-equiv") or "").strip(BLANKS).lower() == "refresh":
        found.append(refresh(get("content") or ""))


def html(text, inner=False):
    tree = LexborHTMLParser(text)
    found, parts, base = [], [], None
    for node in tree.css("*"):
        tag, attributes = node.tag.lower(), node.attributes
        if tag == "base" and base is None and attributes.get("href") is not None:
            base = attributes["href"]
        element(tag, attributes, lambda: node.text(deep=True) or "", found, parts)
        if not inner and tag == "iframe" and attributes.get("srcdoc"):
            _, more, more_parts = html(attributes["srcdoc"], True)
            found, parts = found + more, parts + more_parts
        if not inner and tag in ("noframes", "noembed"):
            _, more, more_parts = html(node.text(deep=True) or "", True)
            found, parts = found + more, parts + more_parts
    return base, found, parts


def svg(body):
    found, parts = [], []
    for match in re.finditer(rb"<\?xml-stylesheet\s[^?]*?href=[\"']([^\"']*)", body[:8192]):
        parts.append(match.group(1).decode())
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return None
    for node in root.iter():
        if not isinstance(node.tag, str):
            continue
        tag = node.tag.rsplit("}", 1)[-1].lower()
        attributes = {("xlink:href" if name == XLINK else name): value for name, value in node.attrib.items()}
        element(tag, attributes, lambda: "".join(node.itertext()), found, parts)
    return None, found, parts


# -- both sides --


def decode(body, is_css):
    if body.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return webencodings.decode(body, webencodings.UTF8)[0], "utf-8"
    pattern = rb'^@charset "([^"]*)";' if is_css else rb"<meta[^>]*charset\s*=\s*[\"']?\s*([\w-]+)"
    match = re.search(pattern, body[: 1024 if is_css else len(body)], re.I)
    encoding = match and webencodings.lookup(match.group(1).decode("latin-1"))
    if encoding is None and not is_css:
        match = re.search(rb"^<\?xml[^>]*encoding\s*=\s*[\"']([\w-]+)", body[:1024])
        encoding = match and webencodings.lookup(match.group(1).decode("latin-1"))
    if encoding is None:
        try:
            return body.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            encoding = webencodings.UTF8 if is_css else webencodings.lookup("windows-1252")
    if encoding.name.startswith("utf-16"):
        encoding = webencodings.UTF8
    return webencodings.decode(body, encoding)[0], encoding.name


def resolve(value, base, is_part):
    if value is None:
        return None
    value = value.strip("".join(map(chr, range(33))))
    if is_part and (not value or value.startswith("#")):
        return None
    try:
        url = ada_url.URL(value, base)
    except ValueError:
        return None
    if url.protocol not in ("http:", "https:"):
        return None
    url.hash = ""
    url.username = url.password = ""
    return url.href.removesuffix("#")


def loose(url):
    """One spelling for URLs that the crawler takes for the same: escapes of what needs none undone."""
    unreserved = re.compile(r"%(2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE])")
    url = unreserved.sub(lambda match: chr(int(match.group(1), 16)), url)
    url = re.sub(r"%[0-9a-fA-F]{2}", lambda match: match.group(0).upper(), url)
    return re.sub(r"\?$", "", url)


def independent(file, base):
    body = open(file, "rb").read()
    if file.endswith(".svg"):
        read = svg(body)
        if read is None:
            return None
        encoding = "utf-8"
    else:
        text, encoding = decode(body, file.endswith(".css"))
        read = (None, [], css_sheet(text)) if file.endswith(".css") else html(text.replace("\r\n", "\n"))
    stated, found, parts = read
    if stated is not None:
        against = resolve(stated, base, False)
        base = against or base
    urls = {resolve(value, base, False) for value in found} | {resolve(value, base, True) for value in parts}
    return {loose(url) for url in urls if url}, body, encoding


def reason(url, kind, body):
    """Why the crawler has a URL that the reader has not, from the text of the page; none if nothing explains it."""
    name = re.escape(url.rsplit("/", 1)[-1].encode())
    text = re.sub(rb"<!--.*?-->", b"", body, flags=re.S)
    if re.search(rb"<template[\s>](?:(?!</template).)*" + name, text, re.S | re.I):
        return "in a <template>, whose content is no part of the tree"
    if re.search(rb"<select[\s>](?:(?!</select).)*" + name, text, re.S | re.I):
        return "in markup that the tree drops within <select>"
    return None


def main():
    global LAZY
    LAZY = lazy_names()
    ours, kinds = collections.OrderedDict(), {}
    for line in open(sys.argv[1], encoding="utf-8", errors="surrogateescape"):
        file, base, kind, url = line.rstrip("\n").split("\t")
        links = ours.setdefault((file, base), set())
        if url != "-":
            links.add(loose(url))
            kinds[file, loose(url)] = kind
    count, missing, extras, unexplained = collections.Counter(), [], collections.Counter(), []
    for (file, base), links in ours.items():
        ending = file.rsplit(".", 1)[-1]
        read = independent(file, base)
        if read is None:
            count["not well-formed: " + ending] += 1
            continue
        theirs, body, _ = read
        count["files: " + ending] += 1
        count["links: " + ending] += len(theirs)
        missing.extend((file, url) for url in sorted(theirs - links))
        for url in sorted(links - theirs):
            why = reason(url, kinds[file, url], body)
            extras[why or "unexplained"] += 1
            if why is None:
                unexplained.append((file, kinds[file, url], url))
    for what, number in sorted(count.items()):
        print(f"{what}\t{number}")
    print(f"missing\t{len(missing)}")
    for file, url in missing[:200]:
        print(f"  missing\t{file}\t{url}")
    for why, number in extras.most_common():
        print(f"extra, {why}\t{number}")
    for file, kind, url in unexplained[:200]:
        print(f"  extra\t{file}\t{kind}\t{url}")
    sys.exit(1 if missing or unexplained else 0)


if __name__ == "__main__":
    main()
