//! `crawler list`: what the archive holds, a URL or a JSON object a line.

use std::io::{self, BufWriter, Write};

use clap::Args;
use data_encoding::BASE32;
use serde::Serialize;

use super::archive::{Archive, Damage, Entry};
use super::exit::Exit;
use super::selection::Selection;
use super::{DirArg, OpenArchive, open};
use crate::text::escape::{Escaped, json_line};
use crate::text::figures::iso_ms;

#[derive(Debug, Args)]
#[command(after_help = "\
Lists the newest version of every URL, in the order in which they were stored (shard after shard, if the crawl has \
several). Several filters of one kind widen the \
list; filters of different kinds narrow it. Filters apply to the newest version.

Examples:
  crawler list --prefix https://example.com/docs/
  crawler list --status 4xx --status 5xx --json
  crawler list --mime 'image/*' --since 2026-11-21
  crawler list --all --prefix https://example.com/   every version")]
pub(super) struct ListArgs {
    #[command(flatten)]
    dir: DirArg,
    #[command(flatten)]
    selection: Selection,
    /// Every version of a URL, not only the newest
    #[arg(long)]
    all: bool,
    /// JSON lines: url, status, mime, bytes, time, digest, revisit (its body is stored with another page)
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
}

impl ListArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let archive = open(&self.dir.dir, open_archive)?;
        self.print(&*archive, &mut BufWriter::new(io::stdout().lock()), &mut io::stderr())
    }

    fn print(&self, archive: &dyn Archive, out: &mut dyn Write, warnings: &mut dyn Write) -> anyhow::Result<Exit> {
        let mut damage = Damage::default();
        self.selection.each(archive, self.all, &mut damage, warnings, |entry, _, _| self.line(&entry, out))?;
        out.flush()?;
        damage.or(Exit::Done, warnings)
    }

    /// A URL of the archive holds no control character; one from a damaged file may, and forges no line.
    fn line(&self, entry: &Entry, out: &mut dyn Write) -> anyhow::Result<()> {
        if !self.json {
            return Ok(writeln!(out, "{}", Escaped(&entry.url))?);
        }
        let line = ListRow {
            url: &entry.url,
            status: entry.status,
            mime: &entry.mime,
            bytes: entry.bytes,
            time: iso_ms(entry.time),
            digest: format!("sha1:{}", BASE32.encode(&entry.digest_sha1)),
            revisit: entry.is_revisit(),
        };
        Ok(writeln!(out, "{}", json_line(&line)?)?)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::super::exit;
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
        cli.args.print(&archive(), &mut out, &mut Vec::new()).unwrap();
        String::from_utf8(out).unwrap()
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
            Cli::parse_from(args).args.print(&archive, &mut out, &mut Vec::new()).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count(), lines);
            assert!(text.ends_with("https://a.example/x\n"), "{text}");
        }
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
        let error = cli.args.print(&archive, &mut out, &mut warnings).unwrap_err();
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
        let error = Cli::parse_from(["list"]).args.print(&archive(), &mut Closed, &mut Vec::new()).unwrap_err();
        assert_eq!(exit::of(&error), Exit::Done);
    }
}
