//! `crawler diff URL`: two versions of a page, line by line. `crawler diff DIR1 DIR2`: two crawls, URL by URL.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::archive::{Archive, Damage, Entry};
use super::compare::{self, Change, Kind, Version, as_of, back_to, lines_of, source_of};
use super::exit::{Exit, UsageError};
use super::selection::Selection;
use super::{ArchiveArg, OpenArchive, get, open};
use crate::answers::unified;
use crate::clock::Time;
use crate::text::escape::Escaped;
use crate::text::figures::iso_ms;
use crate::web::warc_date::until;

#[derive(Debug, Args)]
#[command(after_help = "\
With a URL: the differences of two of its versions in the unified format. \
Without --from and --to, the newest version and the last one that differs from \
it. Of HTML it compares what a reader sees, a line for each block, with the \
title and the alternative texts of pictures; with --source the HTML itself.

With two crawl directories: what became of each URL from the first crawl to the second, by the newest version in each, \
as crawler changes prints it. A URL that only the first crawl has is gone.

Examples:
  crawler diff https://example.com/
  crawler diff https://example.com/ --from 2 --to 0
  crawler diff https://example.com/ --from 2026-11-20 --source
  crawler diff crawl-monday crawl-friday --json

Exit codes: 0 printed, or nothing differs, 1 not in the archive or not text, \
2 not a URL, no crawl directory.")]
pub(super) struct DiffArgs {
    /// The URL, with its scheme; or two crawl directories
    #[arg(value_name = "URL | DIR1 DIR2", required = true, num_args = 1..=2)]
    what: Vec<String>,
    #[command(flatten)]
    archive: ArchiveArg,
    /// The old version: 0 is the newest, 1 the one before it; or the one of a date
    #[arg(long, value_name = "N|DATE", value_parser = Which::parse)]
    from: Option<Which>,
    /// The new version
    #[arg(long, value_name = "N|DATE", value_parser = Which::parse)]
    to: Option<Which>,
    /// Compare what was sent, not what a reader sees
    #[arg(long)]
    source: bool,
    #[command(flatten)]
    selection: Selection,
    /// For two directories: JSON lines, as of crawler changes
    #[arg(long, visible_alias = "jsonl")]
    json: bool,
}

/// A version of a URL.
#[derive(Clone, Copy, Debug)]
enum Which {
    /// The version that is this many before the newest.
    Back(u32),
    /// The newest one at this time.
    At(Time),
}

impl Which {
    fn parse(text: &str) -> Result<Which, String> {
        if let Ok(back) = text.parse() {
            return Ok(Which::Back(back));
        }
        until(text).map(Which::At).map_err(|problem| format!("write a number of versions, or {problem}"))
    }

    /// Returns this version of the URL of `newest`; `None` where there is none.
    fn of(self, archive: &dyn Archive, newest: Entry) -> anyhow::Result<Option<Entry>> {
        let back = match self {
            Which::At(time) => return as_of(archive, newest, time),
            Which::Back(back) => back,
        };
        let mut at = Some(newest);
        for _ in 0..back {
            let Some(entry) = at else { return Ok(None) };
            at = archive.previous(&entry)?;
        }
        Ok(at)
    }
}

impl DiffArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let mut out = BufWriter::new(io::stdout().lock());
        let mut warnings = io::stderr();
        match &self.what[..] {
            [first, second] => {
                let open = |dir: &String| open(Path::new(dir), open_archive);
                self.of_crawls(&*open(first)?, &*open(second)?, &mut out, &mut warnings)
            }
            [what] if PathBuf::from(what).is_dir() => {
                Err(UsageError::because(format!("{what} is a directory; name two of them, or a URL with its scheme")))
            }
            what => {
                let url = get::parse(&what[0])?;
                let archive = self.archive.open(open_archive)?;
                self.of_versions(&*archive, &url, &mut out, &mut warnings)
            }
        }
    }

    /// Prints the differences of two versions.
    fn of_versions(
        &self,
        archive: &dyn Archive,
        url: &str,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let Some(newest) = archive.newest(url)? else {
            writeln!(warnings, "crawler: {}", get::not_there(url, &self.archive))?;
            return Ok(Exit::Internal);
        };
        let Some((from, to)) = self.versions(archive, newest)? else {
            writeln!(warnings, "crawler: {} has no two such versions in the archive", Escaped(url))?;
            return Ok(Exit::Internal);
        };
        let text = |entry: &Entry| {
            Ok::<_, anyhow::Error>(match self.source {
                true => source_of(entry, &archive.response(entry)?),
                false => lines_of(entry, &archive.shown(entry)?),
            })
        };
        let (Some(before), Some(now)) = (text(&from)?, text(&to)?) else {
            let is_same = from.digest_sha1 == to.digest_sha1;
            let verdict = if is_same { "the two versions are the same" } else { "the two versions differ" };
            writeln!(warnings, "crawler: {} is not text that can be compared; {verdict}", Escaped(url))?;
            return Ok(Exit::Internal);
        };
        let name = |entry: &Entry| format!("{}\t{}", Escaped(&entry.url), iso_ms(entry.time));
        let differences = unified(&before, &now, &name(&from), &name(&to));
        if differences.is_empty() {
            let (from, to) = (iso_ms(from.time), iso_ms(to.time));
            let what = if self.source { "bytes" } else { "text" };
            writeln!(warnings, "crawler: the {what} of {from} and {to} is the same")?;
        }
        out.write_all(differences.as_bytes())?;
        out.flush()?;
        Ok(Exit::Done)
    }

    /// The two versions that are asked for: without a word, the last two that differ.
    fn versions(&self, archive: &dyn Archive, newest: Entry) -> anyhow::Result<Option<(Entry, Entry)>> {
        let Some(to) = self.to.unwrap_or(Which::Back(0)).of(archive, newest.clone())? else { return Ok(None) };
        let from = match self.from {
            Some(from) => from.of(archive, newest)?,
            None => {
                let other = |entry: &Entry| entry.digest_sha1 != to.digest_sha1;
                back_to(archive, to.clone(), other)?.map_or_else(|| archive.previous(&to), |entry| Ok(Some(entry)))?
            }
        };
        Ok(from.map(|from| (from, to)))
    }

    /// Prints what became of the URLs of one crawl in another.
    fn of_crawls(
        &self,
        first: &dyn Archive,
        second: &dyn Archive,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let mut damage = Damage::default();
        let then = |archive: &dyn Archive, url: &str| match archive.newest(url)? {
            Some(newest) => self.selection.version_of(archive, newest),
            None => Ok(None),
        };
        let mut print = |change: anyhow::Result<Option<Change>>, damage: &mut Damage, warnings: &mut dyn Write| {
            let is_wanted = |change: &Change| change.kind() != Kind::Unchanged;
            let change = compare::wanted(change, is_wanted, damage, warnings);
            change.map_or(Ok(()), |change| compare::print(&change, self.json, out))
        };
        self.selection.each(second, false, &mut damage, warnings, |now, damage, warnings| {
            let now = Version { archive: second, entry: &now };
            let change = then(first, &now.entry.url).and_then(|before| {
                let before = before.as_ref().map(|entry| Version { archive: first, entry });
                Change::between(before, Some(now))
            });
            print(change, damage, warnings)
        })?;
        self.selection.each(first, false, &mut damage, warnings, |before, damage, warnings| {
            let gone = then(second, &before.url).and_then(|now| match now {
                Some(_) => Ok(None),
                None => Change::between(Some(Version { archive: first, entry: &before }), None),
            });
            print(gone, damage, warnings)
        })?;
        out.flush()?;
        damage.or(Exit::Done, warnings)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: DiffArgs,
    }

    fn page(archive: &mut FakeArchive, url: &str, status: u16, body: &str) {
        archive.page(url, status, "text/html", body.as_bytes());
        archive.stored.last_mut().unwrap().0.digest_sha1 = [body.len() as u8; 20];
    }

    const URL: &str = "https://a.example/";

    fn diff(args: &[&str]) -> (Exit, String, String) {
        let mut archive = FakeArchive::default();
        for body in ["<h1>A</h1><p>one", "<h1>A</h1><p>three", "<h1>A</h1><p>three"] {
            page(&mut archive, URL, 200, body);
        }
        page(&mut archive, "https://a.example/once", 200, "x");
        let cli = Cli::parse_from([&["diff"], args].concat());
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let exit = cli.args.of_versions(&archive, &cli.args.what[0], &mut out, &mut warnings).unwrap();
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(warnings).unwrap())
    }

    #[test]
    fn without_a_word_the_last_two_versions_that_differ_are_compared() {
        let (exit, out, warnings) = diff(&[URL]);
        let body = out.split_once("@@\n").unwrap().1;
        assert_eq!((exit, body, &*warnings), (Exit::Done, " A\n-one\n+three\n", ""));
        assert!(out.starts_with("--- https://a.example/\t2005-04-28T"), "{out}");
        assert!(diff(&[URL, "--source"]).1.ends_with("@@\n-<h1>A</h1><p>one\n+<h1>A</h1><p>three\n"));
    }

    #[test]
    fn versions_are_chosen_by_number_and_by_date() {
        let (exit, out, warnings) = diff(&[URL, "--from", "1", "--to", "0"]);
        assert_eq!((exit, &*out), (Exit::Done, ""));
        assert!(warnings.contains("is the same"), "{warnings}");
        assert!(diff(&[URL, "--from", "2", "--to", "1"]).1.contains("+three"));
        assert!(diff(&[URL, "--from", "2005-04-28T01:16:15.990Z"]).1.contains("+three"));
        for args in [&[URL, "--from", "3"][..], &[URL, "--from", "2005-04-27"], &["https://a.example/once"]] {
            let (exit, _, warnings) = diff(args);
            assert!(exit == Exit::Internal && warnings.contains("no two such versions"), "{warnings}");
        }
        assert!(diff(&["https://a.example/none"]).2.contains("not in the archive"));
    }

    #[test]
    fn two_crawls_are_compared_url_by_url() {
        let (mut first, mut second) = (FakeArchive::default(), FakeArchive::default());
        for (path, before, now) in [
            ("same", Some("x"), Some("x")),
            ("other", Some("a"), Some("b b")),
            ("new", None, Some("x")),
            ("gone", Some("x"), None),
        ] {
            let url = format!("https://a.example/{path}");
            before.into_iter().for_each(|body| page(&mut first, &url, 200, body));
            now.into_iter().for_each(|body| page(&mut second, &url, 200, body));
        }
        let cli = Cli::parse_from(["diff", "a", "b"]);
        let mut out = Vec::new();
        cli.args.of_crawls(&first, &second, &mut out, &mut Vec::new()).unwrap();
        let expected = "changed\thttps://a.example/other\t100 % of the text\nnew\thttps://a.example/new\n\
                        gone\thttps://a.example/gone\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
