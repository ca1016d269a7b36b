"""Index and questions by SQLite FTS5: `index TABLE FILE`, `ask QUESTIONS FILE exact|top`."""
import sqlite3
import sys
import time


def index(table, path):
    base = sqlite3.connect(path)
    columns = "url UNINDEXED, title, headings, text, tokenize='porter unicode61'"
    base.execute(f"CREATE VIRTUAL TABLE pages USING fts5({columns})")
    base.execute("INSERT INTO pages(pages, rank) VALUES ('rank', 'bm25(0.0, 3.0, 1.5, 1.0)')")
    with open(table, newline="\n") as rows:
        for number, row in enumerate(rows):
            base.execute("INSERT INTO pages VALUES (?, ?, ?, ?)", row.rstrip("\n").split("\t"))
            if number % 20_000 == 19_999:
                base.commit()
    base.commit()


def ask(questions, path, is_exact):
    base = sqlite3.connect(path)
    wanted = "SELECT url, title, snippet(pages, 3, '[', ']', '…', 40) FROM pages " \
             "WHERE pages MATCH ? ORDER BY rank LIMIT 10"
    with open(questions) as lines:
        for question in lines.read().splitlines():
            # every word in quotation marks: AND, OR, NOT and NEAR are words here
            words = question if question.startswith('"') else " ".join(f'"{word}"' for word in question.split())
            begin = time.perf_counter()
            total = len(base.execute(wanted, (words,)).fetchall())
            if is_exact:
                total = base.execute("SELECT count(*) FROM pages WHERE pages MATCH ?", (words,)).fetchone()[0]
            print(f"{(time.perf_counter() - begin) * 1e3}\t{total}")


if __name__ == "__main__":
    if sys.argv[1] == "index":
        index(*sys.argv[2:])
    else:
        ask(sys.argv[2], sys.argv[3], sys.argv[4] == "exact")
