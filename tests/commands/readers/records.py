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
            for record in ArchiveIterator(file, check_digests="raise"):
                fields = record.rec_headers
                url, date = fields.get_header("WARC-Target-URI"), fields.get_header("WARC-Date")
                if record.rec_type == "response":
                    record.raw_stream.read()
                    originals[(url, date)] = fields
                elif record.rec_type == "revisit":
                    revisits.append((url, fields))
    return revisits, originals


def fault(fields, originals):
    place = tuple(fields.get_header(f"WARC-Refers-To-{name}") for name in ("Target-URI", "Date"))
    original = originals.get(place)
    if original is None:
        return f"nothing of {place} is there"
    for own, name in [("WARC-Refers-To", "WARC-Record-ID"), ("WARC-Payload-Digest", "WARC-Payload-Digest")]:
        if fields.get_header(own) != original.get_header(name):
            return f"{own} is {fields.get_header(own)}, but that of {place} is {original.get_header(name)}"
    return None


def main():
    files = sys.argv[1:]
    if Checker(Options(files)).process_all() != 0:
        sys.exit("warcio found faults")
    revisits, originals = revisits_and_originals(files)
    faults = [f"{url}: {found}" for url, fields in revisits if (found := fault(fields, originals))]
    if faults:
        sys.exit("\n".join(faults))
    print("verified", len(originals), len(revisits))


main()
