"""Main content beside others: precision, recall and F1 by four-word shingles, and milliseconds of a processor a page.

    python3 compare.py CORPUS ENGINES

CORPUS is a checkout of scrapinghub/article-extraction-benchmark, ENGINES the binary of engines/. Python needs
trafilatura. Marks are given by the corpus' own evaluate.py; each engine reads the same files, one after the other on
one thread. Time is that on a processor, so that a busy machine changes it little; "longest" is wall clock.
"""

import gzip
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import trafilatura

ENGINES = [
    "dom_smoothie",
    "dom_smoothie, own selection",
    "legible",
    "trafilatura (Rust)",
    "trafilatura (Rust), precision",
    "rs-trafilatura",
]


def main():
    corpus, engines = pathlib.Path(sys.argv[1]), sys.argv[2]
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(corpus))
    import evaluate

    truth = json.loads((corpus / "ground-truth.json").read_text())
    with tempfile.TemporaryDirectory() as work:
        pages = {name: pathlib.Path(work) / name for name in truth}
        for name, path in pages.items():
            path.write_bytes(gzip.decompress((corpus / "html" / f"{name}.html.gz").read_bytes()))
        print(f"{len(pages)} pages, {sum(p.stat().st_size for p in pages.values()) >> 10} KiB\n")
        print("| engine | precision | recall | F1 | ms a page | longest |")
        print("|---|---|---|---|---|---|")
        for name in ENGINES:
            show(evaluate, truth, name, *of_engine(engines, name, pages))
        for name, options in [("", {}), (", precision", {"favor_precision": True}), (", fast", {"fast": True})]:
            show(evaluate, truth, f"trafilatura {trafilatura.__version__} (Python){name}", *of_python(pages, options))


def show(evaluate, truth, name, answers, seconds):
    marks = evaluate.evaluate(truth, {key: {"articleBody": text} for key, (text, _) in answers.items()}, 2)
    longest = max(ms for _, ms in answers.values())
    print(
        f"| {name} | {marks['precision']:.3f} | {marks['recall']:.3f} | {marks['f1']:.3f} "
        f"| {1000 * seconds / len(answers):.1f} | {longest:.0f} |",
        flush=True,
    )


def of_engine(engines, name, pages):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([engines, name, *map(str, pages.values())], check=True, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {pathlib.Path(line["path"]).name: (line["text"], line["ms"]) for line in lines}, seconds


def of_python(pages, options):
    answers, begun = {}, time.process_time()
    for name, path in pages.items():
        page = path.read_text(encoding="utf8", errors="replace")
        started = time.perf_counter()
        text = trafilatura.extract(page, include_comments=False, **options)
        answers[name] = (text or "", (time.perf_counter() - started) * 1000)
    return answers, time.process_time() - begun


if __name__ == "__main__":
    main()
