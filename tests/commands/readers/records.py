"""Checks WARC files with warcio, and that every revisit leads to a record of the files that has its payload.

usage: records.py FILES
"""
import sys

from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker


class Options:
    """What the command line of `warcio check` sets."""

    verbose = True

    def __init__(self, files):
        self.inputs = files


def revisits_and_originals(files):
    revisits, originals = [], {}
    for name in files:
        with open(name, "rb") as file:
            for record in ArchiveIterator(file):
                fields = record.rec_headers
                if record.rec_type == "response":
                    originals[fields.get_header("WARC-Record-ID")] = fields
                elif record.rec_type == "revisit":
                    revisits.append(fields)
    return revisits, originals


def fault(revisit, originals):
    original = originals.get(revisit.get_header("WARC-Refers-To"))
    if original is None:
        return "the record that it refers to is not there"
    for own, name in [
        ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
        ("WARC-Refers-To-Date", "WARC-Date"),
        ("WARC-Payload-Digest", "WARC-Payload-Digest"),
    ]:
        if revisit.get_header(own) != original.get_header(name):
            return f"{own} is {revisit.get_header(own)}, but the original has {original.get_header(name)}"
    return None


def main():
    files = sys.argv[1:]
    if Checker(Options(files)).process_all() != 0:
        sys.exit("warcio found faults")
    revisits, originals = revisits_and_originals(files)
    named = ((revisit.get_header("WARC-Target-URI"), fault(revisit, originals)) for revisit in revisits)
    faults = [f"{url}: {found}" for url, found in named if found]
    if faults:
        sys.exit("\n".join(faults))
    print("verified", len(originals), len(revisits))


main()
