//! `crawler list`: what the archive holds, one URL, row or JSON object per line.

use std::io::{self, BufWriter, IsTerminal, Write};

use clap::Args;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

use super::archive::{Archive, Damage, Entry};
use super::columns::{Column, Columns};
use super::compare::Step;
use super::exit::{self, Exit, NothingStored, of_feed};
use super::selection::{KindArgs, KindChoice, Selection};
use super::{ArchiveArg, OpenArchive};
use crate::feed::Documents;
use crate::text::escape::{Escaped, json_line};
use crate::text::figures::iso_ms;
use crate::warc::digest;

#[derive(Debug, Args)]
#[command(after_help = "\
Lists the newest version of every URL, in the order in which they were stored (shard after shard, if the crawl has \
several). Several filters of one kind widen the \
list; filters of different kinds narrow it. Filters apply to the newest version. On a terminal, the list is a table \
with status and referrer, cut to its width; elsewhere it is one URL per line, or the values of --columns with a tab \
between them.

Examples:
  crawler list --prefix https://example.com/docs/
  crawler list --status 4xx --status 5xx --json
  crawler list --mime 'image/*' --since 2026-11-21
  crawler list --status 404 --columns referrer,url   broken links
  crawler list --all --prefix https://example.com/   every version
  crawler list --all --columns time,change,url       which versions differ
  crawler list --status 3xx --columns url,location   where redirects lead
  crawler list --json --columns url,depth,duration   how deep, how fast")]
pub(super) struct ListArgs {
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    kind: KindArgs,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
    /// No more than this number
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// These columns, in this order, separated by commas
    #[arg(long, value_enum, value_name = "COLUMN", value_delimiter = ',')]
    columns: Vec<Column>,
    /// The documents that `follow --documents` has told, one for each page of the site
    #[arg(long, conflicts_with_all = ["Selection", "KindArgs", "all", "limit", "columns", "store"])]
    documents: bool,
    /// JSON lines: url, status, mime, bytes, time, digest, revisit (its body is stored with another page), change
    /// (against the version before: first, changed, unchanged); or the fields of --columns; with --documents: id, url,
    /// digest
    #[arg(long, visible_alias = "jsonl")]
    json: bool,
}

#[derive(Serialize)]
struct ListRow<'a> {
    url: &'a str,
    status: u16,
    mime: &'a str,
    bytes: u64,
    time: String,
    digest: String,
    revisit: bool,
    change: Step,
}

impl ListArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        if self.documents {
            return self.print_documents(&mut BufWriter::new(io::stdout().lock()));
        }
        let archive = match self.archive.open(open_archive) {
            Ok(archive) => archive,
            // a list without a line is right for a crawl without a page
            Err(error) if error.is::<NothingStored>() => {
                let _ = io::stderr().write_all(exit::message(&error).as_bytes());
                return Ok(Exit::Done);
            }
            Err(error) => return Err(error),
        };
        let columns = Columns::new(&self.columns, width_of_terminal());
        self.print(&*archive, &columns, &mut BufWriter::new(io::stdout().lock()), &mut io::stderr())
    }

    fn print(
        &self,
        archive: &dyn Archive,
        columns: &Columns,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let mut damage = Damage::default();
        let selection = self.kind.narrow(&self.selection, KindChoice::All);
        let mut selected = selection.entries(archive, self.all)?;
        let mut left = self.limit.unwrap_or(u64::MAX);
        if let Some(head) = columns.head().filter(|_| !self.json) {
            writeln!(out, "{head}")?;
        }
        while left > 0
            && let Some(entry) = selected.next(&mut damage, warnings)?
        {
            left -= 1;
            let line = match (self.json, self.columns.is_empty()) {
                (false, _) => columns.line(archive, &entry),
                (true, true) => ListArgs::json_line(archive, &entry),
                (true, false) => columns.fields(archive, &entry).and_then(|fields| Ok(json_line(&fields)?)),
            };
            match line {
                Ok(line) => writeln!(out, "{line}")?,
                Err(e) => damage.note(e, warnings),
            }
        }
        out.flush()?;
        damage.or(Exit::Done, warnings)
    }

    fn print_documents(&self, out: &mut dyn Write) -> anyhow::Result<Exit> {
        let mut documents = Documents::open(&self.archive.dir.dir).map_err(of_feed)?;
        documents.each(|document| -> anyhow::Result<()> {
            let text = if self.json { json_line(&document)? } else { Escaped(&document.url).to_string() };
            Ok(writeln!(out, "{text}")?)
        })?;
        out.flush()?;
        Ok(Exit::Done)
    }

    fn json_line(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<String> {
        let line = ListRow {
            url: &entry.url,
            status: entry.status,
            mime: &entry.mime,
            bytes: entry.bytes,
            time: iso_ms(entry.time),
            digest: digest(entry.digest_sha1),
            revisit: entry.is_revisit(),
            change: Step::to(archive, entry)?,
        };
        Ok(json_line(&line)?)
    }
}

/// Columns of the terminal that standard output is, if it is one.
fn width_of_terminal() -> Option<usize> {
    let out = io::stdout();
    let width = || tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
    out.is_terminal().then(|| width().unwrap_or(80))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: ListArgs,
    }

    fn archive() -> FakeArchive {
        let mut archive = FakeArchive::default();
        archive.page("https://a.example/robots.txt", 200, "text/plain", b"");
        archive.page("https://a.example/", 200, "text/html; charset=utf-8", b"page");
        archive.page("https://a.example/x", 404, "text/html", b"");
        archive.page("https://b.example/i.png", 200, "image/png", b"");
        archive.page("https://b.example/\x1b[2J\nforged", 200, "text/css", b"");
        archive
    }

    fn list(args: &[&str]) -> String {
        let cli = Cli::parse_from([&["list"], args].concat());
        let mut out = Vec::new();
        let columns = Columns::new(&cli.args.columns, None);
        cli.args.print(&archive(), &columns, &mut out, &mut Vec::new()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_limit_ends_the_list_and_columns_come_in_the_order_asked_for() {
        assert_eq!(list(&["--limit", "2"]), "https://a.example/\nhttps://a.example/x\n");
        assert_eq!(list(&["--limit", "0"]), "");
        assert_eq!(list(&["--limit", "2", "--json"]).lines().count(), 2);
        let rows = list(&["--columns", "status,url,referrer", "--prefix", "https://a.example/"]);
        assert_eq!(rows, "200\thttps://a.example/\t\n404\thttps://a.example/x\t\n");
    }

    #[test]
    fn urls_come_one_a_line_and_robots_files_only_when_asked_for() {
        let expected = "https://a.example/\nhttps://a.example/x\nhttps://b.example/i.png\n\
                        https://b.example/\\x1b[2J\\nforged\n";
        assert_eq!(list(&[]), expected);
        assert!(list(&["--robots"]).starts_with("https://a.example/robots.txt\n"));
    }

    #[test]
    fn filters_narrow_the_list_together() {
        assert_eq!(list(&["--status", "404"]), "https://a.example/x\n");
        assert_eq!(list(&["--mime", "TEXT/html"]).lines().count(), 2);
        assert_eq!(list(&["--mime", "image/"]), "https://b.example/i.png\n");
        assert_eq!(list(&["--prefix", "https://a.", "--status", "200"]), "https://a.example/\n");
        assert_eq!(list(&["--mime", "text"]), "");
        assert_eq!(list(&["--status", "4xx", "--mime", "text/*"]), "https://a.example/x\n");
    }

    #[test]
    fn older_versions_are_listed_when_asked_for() {
        let mut archive = archive();
        archive.page("https://a.example/x", 200, "text/html", b"back");
        for (args, lines) in [(&["list"][..], 4), (&["list", "--all"], 5)] {
            let mut out = Vec::new();
            Cli::parse_from(args).args.print(&archive, &Columns::new(&[], None), &mut out, &mut Vec::new()).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count(), lines);
            assert!(text.ends_with("https://a.example/x\n"), "{text}");
        }
    }

    #[test]
    fn each_version_says_whether_it_differs_from_the_one_before() {
        let mut archive = archive();
        archive.page("https://a.example/x", 200, "text/html", b"back");
        let digest = archive.stored.last().unwrap().0.digest_sha1;
        archive.page("https://a.example/x", 200, "text/html", b"back");
        archive.stored.last_mut().unwrap().0.digest_sha1 = digest;
        let list = |args: &[&str]| {
            let cli = Cli::parse_from([&["list", "--prefix", "https://a.example/x"], args].concat());
            let mut out = Vec::new();
            let columns = Columns::new(&cli.args.columns, None);
            cli.args.print(&archive, &columns, &mut out, &mut Vec::new()).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(list(&["--all", "--columns", "status,change"]), "404\tfirst\n200\tchanged\n200\tunchanged\n");
        assert!(list(&["--json"]).contains(r#""change":"unchanged""#));
    }

    #[test]
    fn json_lines_carry_what_is_known() {
        let text = list(&["--json", "--prefix", "https://a.example/"]);
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(line["url"], "https://a.example/");
        assert_eq!(line["status"], 200);
        assert_eq!(line["bytes"], 4);
        assert_eq!(line["time"], "2005-04-28T01:16:15.991Z");
        assert_eq!(line["digest"], "sha1:AEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIB");
        assert_eq!(line["revisit"], false);
        assert_eq!(list(&["--json"]).lines().count(), 4);
        assert_eq!(list(&["--json"]), list(&["--jsonl"]));
        assert!(!list(&["--json"]).contains('\x1b'));
    }

    #[test]
    fn damage_is_told_and_the_rest_is_listed() {
        let cli = Cli::parse_from(["list"]);
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let archive = FakeArchive { damaged: true, ..archive() };
        let error = cli.args.print(&archive, &Columns::new(&[], None), &mut out, &mut warnings).unwrap_err();
        assert_eq!(exit::of(&error), Exit::Damaged);
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 4);
        let warnings = String::from_utf8(warnings).unwrap();
        assert!(warnings.contains("key.dat: damaged at byte 77") && !warnings.contains('\x1b'), "{warnings}");
    }

    #[test]
    fn a_reader_that_goes_away_is_a_quiet_end() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let columns = Columns::new(&[], None);
        let args = Cli::parse_from(["list"]).args;
        let error = args.print(&archive(), &columns, &mut Closed, &mut Vec::new()).unwrap_err();
        assert_eq!(exit::of(&error), Exit::Done);
    }
}
