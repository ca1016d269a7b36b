"""Reads a feed with feedparser.

usage: feed.py FILE ; prints its form and id, and of each entry the link, the category and the time, as lines of JSON
"""
import json
import sys

import feedparser

feed = feedparser.parse(sys.argv[1])
if feed.bozo:
    sys.exit(f"not well formed: {feed.bozo_exception}")
print(json.dumps([feed.version, feed.feed.id]))
for entry in feed.entries:
    print(json.dumps([entry.link, entry.tags[0].term, entry.updated_parsed[:6]]))
if len({entry.id for entry in feed.entries}) != len(feed.entries):
    sys.exit("two entries have the same id")
