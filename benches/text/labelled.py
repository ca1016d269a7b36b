"""Main content by pieces that people marked as wanted and as unwanted, beside trafilatura on the same bytes in one run.

    python3 labelled.py TESTS ENGINES [a|b]

TESTS is the folder `tests` of trafilatura's repository, with its marks (evaldata.json) and pages; ENGINES the binary of
engines/. Python needs trafilatura[all]. A page is of half a or b by the hash of its file's name: rules are made by what
is seen in half a, and half b is looked at for figures alone.

As in trafilatura's own evaluation a piece is found when it is in the text, any number of blanks being one; precision
and recall are of all pieces together. CPU is that of the process, its start included; the last column is its ratio to
trafilatura's.
"""

import json
import pathlib
import subprocess
import sys

import trafilatura

from halves import children_seconds, half

OURS = "crawler"


def main():
    tests, engines = pathlib.Path(sys.argv[1]), sys.argv[2]
    marks = {}
    for mark in json.loads((tests / "evaldata.json").read_text()).values():
        path = next(path for folder in ("cache", "eval") if (path := tests / folder / mark["file"]).exists())
        if len(sys.argv) < 4 or half(mark["file"]) == sys.argv[3]:
            marks[str(path)] = mark
    texts, seconds = {}, {}
    theirs = f"trafilatura {trafilatura.__version__}"
    for name, command in (OURS, [engines, OURS]), (theirs, [sys.executable, __file__, "--trafilatura"]):
        before = children_seconds()
        out = subprocess.run([*command, *marks], check=True, capture_output=True, text=True).stdout
        seconds[name] = children_seconds() - before
        texts[name] = {line["path"]: line["text"] for line in map(json.loads, out.splitlines())}
    print(f"{len(marks)} pages, {sum(pathlib.Path(path).stat().st_size for path in marks) >> 20} MiB\n")
    print("| engine | precision | recall | F1 | wanted | unwanted | ms of CPU a page | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, found in texts.items():
        print(row(name, marks, found, seconds[name], seconds[theirs]))


def row(name, marks, texts, seconds, of_others):
    wanted, unwanted = ([0, 0], [0, 0])
    for path, mark in marks.items():
        text = collapsed(texts[path])
        for pieces, count in (mark["with"], wanted), (mark["without"], unwanted):
            count[0] += sum(collapsed(piece) in text for piece in pieces)
            count[1] += len(pieces)
    precision, recall = wanted[0] / (wanted[0] + unwanted[0]), wanted[0] / wanted[1]
    f1 = 2 * precision * recall / (precision + recall)
    shares = f"{100 * recall:.1f} % | {100 * unwanted[0] / unwanted[1]:.1f} %"
    cost = f"{1000 * seconds / len(marks):.1f} | {seconds / of_others:.2f}"
    return f"| {name} | {precision:.3f} | {recall:.3f} | {f1:.3f} | {shares} | {cost} |"


def collapsed(text):
    return " ".join(text.split())


def of_trafilatura(paths):
    for path in paths:
        page = pathlib.Path(path).read_bytes()
        # as in its own evaluation
        text = trafilatura.extract(page, include_comments=False, include_tables=True, include_formatting=False)
        print(json.dumps({"path": path, "text": text or ""}))


if __name__ == "__main__":
    of_trafilatura(sys.argv[2:]) if sys.argv[1] == "--trafilatura" else main()
