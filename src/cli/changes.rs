//! `crawler changes`: what became of the pages since a moment, by the versions in the archive.
//!
//! The archive is walked over once. Of each URL with a newer version than that moment, the version of before is found
//! by the index, and the two are compared.

use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};

use super::archive::{Archive, Damage, Entry, Feed};
use super::compare::{self, Change, Kind, Version, back_to};
use super::exit::{Exit, UsageError};
use super::selection::Selection;
use super::{ArchiveArg, OpenArchive};
use crate::checkpoint::Identity;
use crate::clock::Time;
use crate::disk::Disk;
use crate::text::figures::iso_ms;

#[derive(Debug, Args)]
#[command(after_help = "\
Compares the newest version of each URL (with --until: the newest of that time) \
with the newest one from before --since. One line per URL: what became of it, \
the URL, and the share of the words that are others (of the letters, where \
words have no blanks between them), the new place, or the status, separated by \
tabs.

  new        a page that was not there
  changed    a page with other content
  moved      a redirect where a page was, or a redirect to another place
  gone       404 or 410 where a page or a redirect was
  back       a page where an error or a redirect was
  failing    another error where a page or a redirect was
  unchanged  as it was; printed only if --kind asks for it

Versions come from crawler --force. A version counts from the time at which it \
was fetched.

Examples:
  crawler changes --since 2026-11-21
  crawler changes --since 2026-11-21 --kind gone --kind moved
  crawler changes --since 2026-11-21 --json --prefix https://example.com/")]
pub(super) struct ChangesArgs {
    #[command(flatten)]
    archive: ArchiveArg,
    #[command(flatten)]
    selection: Selection,
    /// Only these kinds of change; may be given several times
    #[arg(long, value_name = "KIND", value_enum)]
    kind: Vec<Kind>,
    /// Show changed pages only if their text, title or alternative texts are others
    #[arg(long)]
    text: bool,
    /// JSON lines: change, url, time, status, before, status_before, text_changed (0 to 1), location
    #[arg(long, visible_alias = "jsonl")]
    json: bool,
    /// A feed of the newest 1,000 changes, for feed readers
    #[arg(long, value_name = "FORM", value_enum, conflicts_with_all = ["json", "store"])]
    feed: Option<Form>,
}

/// The form of a feed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// Atom, RFC 4287.
    Atom,
}

impl ChangesArgs {
    pub(super) fn run(&self, open_archive: OpenArchive) -> anyhow::Result<Exit> {
        let Some(since) = self.selection.since else {
            return Err(UsageError::because("say since when, such as --since 2026-11-21".to_owned()));
        };
        let archive = self.archive.open(open_archive)?;
        self.print(&*archive, since, &mut BufWriter::new(io::stdout().lock()), &mut io::stderr())
    }

    fn print(
        &self,
        archive: &dyn Archive,
        since: Time,
        out: &mut dyn Write,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<Exit> {
        let mut damage = Damage::default();
        let mut feed = self.feed.map(|Form::Atom| Feed::default());
        // the other filters are asked of the version that is found for the moment in question
        let all = Selection { robots: self.selection.robots, ..Selection::default() };
        all.each(archive, false, &mut damage, warnings, |newest, damage, warnings| {
            if newest.time < since {
                return Ok(());
            }
            let change = self.change(archive, newest, since);
            let change = compare::wanted(change, |change| self.wants(change), damage, warnings);
            match (change, &mut feed) {
                (Some(change), None) => compare::print(&change, self.json, out)?,
                (Some(change), Some(feed)) => feed.add(change),
                (None, _) => {}
            }
            Ok(())
        })?;
        if let Some(feed) = feed {
            let dir = &self.archive.dir.dir;
            let id = Identity::read_copy(&Disk::real(), dir)?.id;
            feed.write(id, &format!("Changes of {}", dir.display()), &iso_ms(since), out)?;
        }
        out.flush()?;
        damage.or(Exit::Done, warnings)
    }

    /// Returns what became of the URL of `newest`; `None` where there is nothing to report.
    fn change(&self, archive: &dyn Archive, newest: Entry, since: Time) -> anyhow::Result<Option<Change>> {
        let now = self.selection.version_of(archive, newest)?;
        let is_wanted = |now: &Entry| now.time >= since && now.kind.is_none() && self.selection.wants(now);
        let Some(now) = now.filter(is_wanted) else { return Ok(None) };
        let before = back_to(archive, now.clone(), |entry| entry.time < since && entry.kind.is_none())?;
        let version = |entry| Version { archive, entry };
        Change::between(before.as_ref().map(version), Some(version(&now)))
    }

    fn wants(&self, change: &Change) -> bool {
        let kind = change.kind();
        let is_wanted = if self.kind.is_empty() { kind != Kind::Unchanged } else { self.kind.contains(&kind) };
        is_wanted && (!self.text || change.is_of_text())
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
        args: ChangesArgs,
    }

    /// Pages at a.example, one a millisecond: `/` twice, `/gone`, `/new`, `/same`; and the time of the middle.
    fn archive() -> (FakeArchive, Time) {
        let mut archive = FakeArchive::default();
        let mut put = |path: &str, status, body: &[u8]| {
            archive.page(&format!("https://a.example{path}"), status, "text/html", body);
            archive.stored.last_mut().unwrap().0.digest_sha1 = [body.len() as u8; 20];
            archive.stored.last().unwrap().0.time
        };
        put("/", 200, b"<p>one two three four");
        put("/gone", 200, b"<p>x");
        put("/same", 200, b"<p>same");
        let middle = put("/", 200, b"<p>one two three");
        put("/gone", 404, b"");
        put("/new", 200, b"<p>new");
        put("/same", 200, b"<p>same");
        put("/", 200, b"<p>");
        (archive, middle)
    }

    fn changes(args: &[&str]) -> String {
        let (archive, middle) = archive();
        let since = iso_ms(middle);
        let last = iso_ms(archive.stored.last().unwrap().0.time);
        let args: Vec<&str> = args.iter().map(|&arg| if arg == "LAST" { &*last } else { arg }).collect();
        let cli = Cli::parse_from([&["changes", "--since", &since], &args[..]].concat());
        let mut out = Vec::new();
        let since = cli.args.selection.since.unwrap();
        assert_eq!(since, middle);
        cli.args.print(&archive, since, &mut out, &mut Vec::new()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_url_is_compared_with_what_it_was_before() {
        let expected = "gone\thttps://a.example/gone\t404\nnew\thttps://a.example/new\n\
                        changed\thttps://a.example/\t100 % of the text\n";
        assert_eq!(changes(&[]), expected);
        assert_eq!(changes(&["--kind", "unchanged"]), "unchanged\thttps://a.example/same\n");
        assert_eq!(changes(&["--kind", "gone", "--kind", "new"]).lines().count(), 2);
        assert_eq!(changes(&["--status", "404"]), "gone\thttps://a.example/gone\t404\n");
        let json = changes(&["--kind", "changed", "--json"]);
        assert!(json.contains(r#""change":"changed","url":"https://a.example/","time":""#), "{json}");
        assert!(json.contains(r#""text_changed":1.0"#), "{json}");
    }

    #[test]
    fn changes_of_the_text_only_are_asked_for() {
        let wants = |before: &[u8], now: &[u8]| {
            let mut archive = FakeArchive::default();
            for (number, body) in [before, now].into_iter().enumerate() {
                archive.page("https://a.example/", 200, "text/html", body);
                archive.stored.last_mut().unwrap().0.digest_sha1 = [number as u8; 20];
            }
            let now = archive.newest("https://a.example/").unwrap().unwrap();
            let since = now.time;
            let args = Cli::parse_from(["changes", "--since", &iso_ms(since), "--text"]).args;
            args.wants(&args.change(&archive, now, since).unwrap().unwrap())
        };
        assert!(wants(b"<p>one two", b"<p>one three"));
        assert!(wants(b"<p>one two", b"<p>two one"), "the same words in another order");
        assert!(wants(b"<title>old</title><p>x", b"<title>new</title><p>x"));
        assert!(!wants(b"<p class=a>one", b"<p class=b>one"), "markup");
    }

    #[test]
    fn until_asks_for_the_versions_of_that_time() {
        let (archive, middle) = archive();
        let until = iso_ms(middle);
        assert_eq!(changes(&["--until", &until]), "changed\thttps://a.example/\t14 % of the text\n");
        assert_eq!(archive.stored.len(), 8);
    }

    #[test]
    fn without_a_moment_it_says_what_is_missing() {
        let never: OpenArchive = |_, _| unreachable!("nothing is opened");
        let error = Cli::parse_from(["changes"]).args.run(never).unwrap_err();
        assert!(error.to_string().contains("--since 2026-11-21"), "{error}");
    }
}
