//! Entries of the archive that a command works on: the filters of `list`, `export` and `extract`, in one place.

use std::fmt;
use std::io::Write;

use clap::Args;

use super::archive::{Archive, Damage, Entry};
use super::compare::as_of;
use super::preferences::{Conditions, StatementFilter};
use crate::clock::Time;
use crate::disk::sorter::{Members, Sorter};
use crate::reading::page::is_page_type;
use crate::text::figures::counted;
use crate::web::format::Format;
pub(super) use crate::web::kind::KindChoice;
use crate::web::mime;
use crate::web::preferences::Usage;
use crate::web::warc_date::{since, until};

/// Memory for the places of older versions; beyond it they are sorted in a temporary file.
const OLDER_MEMORY: usize = 16 << 20;

/// Filters; an entry must pass every kind of them that is given, by any one of its kind.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Selection {
    /// Only URLs that begin with this; may be given several times
    #[arg(long, value_name = "URL")]
    pub(super) prefix: Vec<String>,
    /// Only responses with this status: 404, 4xx or 200-299; may be given several times. A page that the server reports
    /// as unchanged (304) counts as 200 too
    #[arg(long, value_name = "N", value_parser = StatusRange::parse)]
    pub(super) status: Vec<StatusRange>,
    /// Only this MIME type: text/html, or image/* for all image types; may be given several times
    #[arg(long, value_name = "MIME")]
    pub(super) mime: Vec<String>,
    /// Only pages fetched on this day (UTC) or later: 2026-11-21, or 2026-11-21T05:08:44Z
    #[arg(long, value_name = "DATE", value_parser = since)]
    pub(super) since: Option<Time>,
    /// State at the end of this day (UTC), or at this moment: versions that were fetched later do not count
    #[arg(long, value_name = "DATE", value_parser = until)]
    pub(super) until: Option<Time>,
    /// Only pages with this robots directive (X-Robots-Tag, meta robots): noindex, nofollow, noarchive, noai, ...; may
    /// be given several times
    #[arg(long, value_name = "NAME", value_parser = directive)]
    pub(super) directive: Vec<String>,
    /// Leave out pages with this robots directive; may be given several times
    #[arg(long, value_name = "NAME", value_parser = directive)]
    pub(super) without_directive: Vec<String>,
    /// Leave out pages that refuse this use of their content, or whose robots.txt does: search=n, ai-input=n,
    /// ai-train=n or tdm=n; several are separated by commas
    #[arg(long, value_name = "USE=n", value_parser = refusal, value_delimiter = ',')]
    pub(super) respect_preferences: Vec<Usage>,
    /// Also the robots.txt files that the crawl fetched for itself
    #[arg(long)]
    pub(super) robots: bool,
    /// Kinds of answers, of which one must fit.
    #[arg(skip)]
    pub(super) kinds: Vec<KindChoice>,
}

/// The option for kinds of answers, of the commands that have it.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct KindArgs {
    /// Only answers of this kind: challenge, block, rate-limit, login, consent, paywall, soft-404, shell, parked,
    /// placeholder, payment, geo or age; content for pages that are none of these, none for answers with any status
    /// that are none of these, unrefused for all but challenge, block and rate-limit, all for everything. Several are
    /// separated by commas
    #[arg(long, value_name = "KIND", value_parser = KindChoice::parse, value_delimiter = ',')]
    kind: Vec<KindChoice>,
}

impl KindArgs {
    /// The kinds that were asked for; none where nothing was said.
    #[cfg(feature = "search")]
    pub(super) fn choices(&self) -> &[KindChoice] {
        &self.kind
    }

    /// Narrows `selection` to the kinds that are wanted, or to the `usual` ones where none is said.
    pub(super) fn narrow(&self, selection: &Selection, usual: KindChoice) -> Selection {
        let kinds = if self.kind.is_empty() { vec![usual] } else { self.kind.clone() };
        Selection { kinds, ..selection.clone() }
    }
}

/// A use that pages may refuse.
fn refusal(text: &str) -> Result<Usage, String> {
    let name = text.split_once('=').filter(|(_, value)| *value == "n").map(|(name, _)| name);
    name.and_then(Usage::parse).ok_or("write search=n, ai-input=n, ai-train=n or tdm=n".to_owned())
}

/// The name of a robots directive.
fn directive(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && !text.contains([',', ' ']);
    if is_name { Ok(text.to_ascii_lowercase()) } else { Err("write one name, such as noindex".to_owned()) }
}

/// Status codes from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusRange(u16, u16);

impl StatusRange {
    fn parse(text: &str) -> Result<Self, String> {
        let code = |text: &str| {
            let is_code = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_code.then(|| text.parse::<u16>().ok()).flatten()
        };
        let class = |text: &str| {
            let digit = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"))?;
            let digit: u16 = digit.parse().ok().filter(|digit| (1..=9).contains(digit))?;
            Some(StatusRange(digit * 100, digit * 100 + 99))
        };
        let span = |text: &str| {
            let (first, last) = text.split_once('-')?;
            Some(StatusRange(code(first)?, code(last)?)).filter(|range| range.0 <= range.1)
        };
        let one = code(text).map(|code| StatusRange(code, code));
        one.or_else(|| class(text)).or_else(|| span(text)).ok_or("write 404, 4xx or 200-299".to_owned())
    }

    fn has(self, status: u16) -> bool {
        (self.0..=self.1).contains(&status)
    }
}

impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 { write!(f, "{}", self.0) } else { write!(f, "{}-{}", self.0, self.1) }
    }
}

impl Selection {
    /// True if `entry` is selected.
    pub(super) fn wants(&self, entry: &Entry) -> bool {
        self.has_kind(entry) && self.wants_otherwise(entry)
    }

    /// True if `entry` is of a kind that is selected.
    pub(super) fn has_kind(&self, entry: &Entry) -> bool {
        any_or_none(&self.kinds, |kind| kind.has(entry.kind, entry.is_content()))
    }

    fn wants_otherwise(&self, entry: &Entry) -> bool {
        (self.robots || !entry.robots)
            && any_or_none(&self.status, |range| range.has(entry.status) || entry.is_confirmed() && range.has(200))
            && any_or_none(&self.prefix, |prefix| entry.url.starts_with(prefix.as_str()))
            && any_or_none(&self.mime, |mime| mime_fits(mime, &entry.mime))
            && self.since.is_none_or(|since| entry.time >= since)
            && self.until.is_none_or(|until| entry.time <= until)
    }

    /// The newest version of the URL of `newest` at the moment that is looked at.
    pub(super) fn version_of(&self, archive: &dyn Archive, newest: Entry) -> anyhow::Result<Option<Entry>> {
        match self.until {
            Some(until) => as_of(archive, newest, until),
            None => Ok(Some(newest)),
        }
    }

    /// True if an entry of an archive is a page to be read, be it HTML or a document of which a page was made: one with
    /// status 200, unless others are selected by their status.
    pub(super) fn is_page(&self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<bool> {
        if entry.status != 200 && !entry.is_confirmed() && self.status.is_empty() {
            return Ok(false);
        }
        if is_page_type(&entry.mime) {
            return Ok(true);
        }
        Ok(Format::may_be(Some(&entry.mime)) && archive.has_made_page(entry)?)
    }

    /// True if an entry is to be read for its links: one with status 200 or a redirect, unless others are selected by
    /// their status.
    pub(super) fn may_link(&self, entry: &Entry) -> bool {
        matches!(entry.status, 200 | 300..=399) || !self.status.is_empty()
    }

    /// Calls `act` with every selected entry, as [`Selection::entries`] gives them. Faulty ones are noted and passed.
    pub(super) fn each(
        &self,
        archive: &dyn Archive,
        all: bool,
        damage: &mut Damage,
        warnings: &mut dyn Write,
        mut act: impl FnMut(Entry, &mut Damage, &mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut selected = self.entries(archive, all)?;
        while let Some(entry) = selected.next(damage, warnings)? {
            act(entry, damage, warnings)?;
        }
        Ok(())
    }

    /// The selected entries in the order of the archive; of each URL the newest version alone, unless `all` are wanted.
    ///
    /// The newest version is looked for first and the filters asked then: `--status 200` does not bring back what is
    /// gone by now. With `--until` it is the newest of that time. It takes two passes over the keys; what the first one
    /// finds is that some are older versions.
    pub(super) fn entries<'a>(&'a self, archive: &'a dyn Archive, all: bool) -> anyhow::Result<Selected<'a>> {
        let older = if all { None } else { Some(older(archive, self.until)?) };
        let (entries, statements) = (archive.entries(), self.statements());
        let left_out = LeftOut::default();
        Ok(Selected { selection: self, archive, entries, older, statements, left_out })
    }

    /// Knows which entries are left out by what is stated about their use.
    pub(super) fn statements(&self) -> Option<StatementFilter> {
        StatementFilter::of(Conditions {
            uses: self.respect_preferences.clone(),
            with: self.directive.clone(),
            without: self.without_directive.clone(),
        })
    }
}

/// A walk over the selected entries.
pub(super) struct Selected<'a> {
    selection: &'a Selection,
    archive: &'a dyn Archive,
    entries: Box<dyn Iterator<Item = anyhow::Result<Entry>> + 'a>,
    /// Versions that are left out, where only the newest are wanted.
    older: Option<Members>,
    statements: Option<StatementFilter>,
    left_out: LeftOut,
}

/// Entries that were left out so far, until that is said.
#[derive(Default)]
struct LeftOut {
    by_statements: u64,
    by_kind: u64,
}

impl Selected<'_> {
    /// The next one; faulty ones are noted and passed.
    pub(super) fn next(&mut self, damage: &mut Damage, warnings: &mut dyn Write) -> anyhow::Result<Option<Entry>> {
        for entry in self.entries.by_ref() {
            match entry {
                Ok(entry) => {
                    let handle = entry.handle.to_be_bytes();
                    let is_old = self.older.as_mut().map_or(Ok(false), |older| older.has(&handle))?;
                    if is_old || !self.selection.wants_otherwise(&entry) {
                        continue;
                    }
                    if !self.selection.has_kind(&entry) {
                        self.left_out.by_kind += 1;
                        continue;
                    }
                    // only answers that several shards may have of one URL cost a look
                    if self.older.is_some() && entry.robots && self.archive.is_superseded(&entry)? {
                        continue;
                    }
                    let statements = self.statements.as_ref();
                    match statements.map_or(Ok(false), |filter| filter.leaves_out(self.archive, &entry)) {
                        Ok(false) => return Ok(Some(entry)),
                        Ok(true) => self.left_out.by_statements += 1,
                        // what it states is not known: it stays out
                        Err(e) => damage.note(e, warnings),
                    }
                }
                Err(e) => damage.note(e, warnings),
            }
        }
        let left_out = std::mem::take(&mut self.left_out);
        if left_out.by_statements > 0 {
            let what = counted(left_out.by_statements, "page");
            writeln!(warnings, "crawler: left out: {what}, by what they or their robots.txt state about their use")?;
        }
        if left_out.by_kind > 0 {
            let what = counted(left_out.by_kind, "answer");
            writeln!(warnings, "crawler: left out: {what} of other kinds (--kind all takes them)")?;
        }
        Ok(None)
    }
}

/// The selection as options of the command line.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::text::figures::iso_ms;
        let mut words = Vec::new();
        words.extend(self.prefix.iter().map(|prefix| format!("--prefix {prefix}")));
        words.extend(self.status.iter().map(|range| format!("--status {range}")));
        words.extend(self.mime.iter().map(|mime| format!("--mime {mime}")));
        words.extend(self.since.map(|since| format!("--since {}", iso_ms(since))));
        words.extend(self.until.map(|until| format!("--until {}", iso_ms(until))));
        words.extend(self.directive.iter().map(|name| format!("--directive {name}")));
        words.extend(self.without_directive.iter().map(|name| format!("--without-directive {name}")));
        words.extend(self.respect_preferences.iter().map(|usage| format!("--respect-preferences {}=n", usage.name())));
        words.extend(self.robots.then(|| "--robots".to_owned()));
        words.extend(self.kinds.iter().map(|kind| format!("--kind {kind}")));
        f.write_str(&words.join(" "))
    }
}

fn any_or_none<T>(filters: &[T], fits: impl Fn(&T) -> bool) -> bool {
    filters.is_empty() || filters.iter().any(fits)
}

fn mime_fits(wanted: &str, mime: &str) -> bool {
    let (wanted, has) = (wanted.to_ascii_lowercase(), mime::essence(Some(mime)));
    let prefix = wanted.strip_suffix('*').or_else(|| wanted.ends_with('/').then_some(wanted.as_str()));
    prefix.map_or(has == wanted, |prefix| has.starts_with(prefix))
}

/// Handles of entries that a later one names as its version before, in the order of the archive; what came after a
/// moment makes nothing old.
fn older(archive: &dyn Archive, until: Option<Time>) -> anyhow::Result<Members> {
    let mut sorter = Sorter::new(OLDER_MEMORY);
    for entry in archive.entries() {
        if let Ok(Entry { previous: Some(previous), time, .. }) = entry
            && until.is_none_or(|until| time <= until)
        {
            sorter.push(&previous.to_be_bytes())?;
        }
    }
    Ok(Members::of(sorter.finish()?)?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::archive::tests::FakeArchive;
    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        selection: Selection,
        #[arg(long)]
        all: bool,
    }

    fn archive() -> FakeArchive {
        let mut archive = FakeArchive::default();
        for (url, status, mime) in [
            ("https://a.example/robots.txt", 200, "text/plain"),
            ("https://a.example/", 503, "text/html; charset=utf-8"),
            ("https://b.example/", 200, "TEXT/HTML"),
            ("https://a.example/", 301, "text/html"),
            ("https://b.example/i.png", 200, "image/png"),
            ("https://b.example/i.svg", 206, "image/svg+xml"),
            ("https://a.example/gone", 404, ""),
            ("https://a.example/", 200, "text/html"),
        ] {
            archive.page(url, status, mime, b"x");
        }
        archive
    }

    /// Returns what `args` select: the places of the entries in the archive.
    fn selected(args: &[&str]) -> Vec<u64> {
        let cli = Cli::try_parse_from([&["x"], args].concat()).unwrap();
        let mut handles = Vec::new();
        let act = |entry: Entry, _: &mut Damage, _: &mut dyn Write| {
            handles.push(entry.handle);
            Ok(())
        };
        cli.selection.each(&archive(), cli.all, &mut Damage::default(), &mut Vec::new(), act).unwrap();
        handles
    }

    #[test]
    fn the_newest_version_is_selected_unless_all_are_asked_for() {
        assert_eq!(selected(&[]), [2, 4, 5, 6, 7]);
        assert_eq!(selected(&["--all"]), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(selected(&["--all", "--robots"]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(selected(&["--status", "503"]), [0_u64; 0], "an old answer is not what the URL has now");
    }

    #[test]
    fn a_filter_given_twice_widens_and_two_kinds_narrow() {
        assert_eq!(selected(&["--status", "4xx"]), [6]);
        assert_eq!(selected(&["--status", "200-299"]), [2, 4, 5, 7]);
        assert_eq!(selected(&["--status", "404", "--status", "206"]), [5, 6]);
        assert_eq!(selected(&["--mime", "image/*"]), [4, 5]);
        assert_eq!(selected(&["--mime", "image/"]), [4, 5]);
        assert_eq!(selected(&["--mime", "text/html", "--mime", "image/png"]), [2, 4, 7]);
        assert_eq!(selected(&["--mime", "text"]), [0_u64; 0]);
        assert_eq!(selected(&["--prefix", "https://b.", "--status", "200"]), [2, 4]);
        assert_eq!(selected(&["--prefix", "https://b.", "--prefix", "https://a.example/g"]), [2, 4, 5, 6]);
    }

    #[test]
    fn dates_are_whole_days_or_moments_and_their_ends_count() {
        // the fake entries are a millisecond apart, from 2005-04-28T01:16:15.990Z on
        assert_eq!(selected(&["--since", "2005-04-28", "--until", "2005-04-28"]).len(), 5);
        assert_eq!(selected(&["--since", "2005-04-29"]).len(), 0);
        assert_eq!(selected(&["--until", "2005-04-27"]).len(), 0);
        assert_eq!(selected(&["--until", "2005-04-28T01:16:15Z"]).len(), 5);
        assert_eq!(selected(&["--since", "2005-04-28T01:16:15"]).len(), 5);
        assert_eq!(selected(&["--since", "2005-04-28T01:16:15.995Z"]), [5, 6, 7]);
        assert_eq!(selected(&["--until", "2005-04-28T01:16:15.995Z", "--all"]), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn until_shows_things_as_they_stood_whatever_came_later() {
        let at = |ms: u32| format!("2005-04-28T01:16:15.{}Z", 990 + ms);
        assert_eq!(selected(&["--until", &at(5)]), [2, 3, 4, 5]);
        assert_eq!(selected(&["--until", &at(2)]), [1, 2]);
        assert_eq!(selected(&["--until", &at(2), "--status", "503"]), [1], "what the URL had then");
        assert_eq!(selected(&["--until", &at(5), "--since", &at(3)]), [3, 4, 5]);
    }

    #[test]
    fn pages_that_refuse_a_use_are_left_out_on_request() {
        let mut archive = archive();
        archive.page("https://c.example/", 200, "text/html", b"<html><meta name=robots content=noai>");
        let select = |args: &[&str]| {
            let selection = Cli::try_parse_from([&["x"], args].concat()).unwrap().selection;
            let mut selected = selection.entries(&archive, false).unwrap();
            let next = || selected.next(&mut Damage::default(), &mut Vec::new()).unwrap();
            std::iter::from_fn(next).map(|entry| entry.handle).collect::<Vec<_>>()
        };
        assert_eq!(select(&["--prefix", "https://c."]), [8]);
        assert_eq!(select(&["--prefix", "https://c.", "--respect-preferences", "tdm=n,ai-train=n"]), [0_u64; 0]);
        assert_eq!(select(&["--prefix", "https://c.", "--respect-preferences", "search=n"]), [8]);
    }

    #[test]
    fn what_is_no_filter_is_refused_with_the_way_to_write_it() {
        for (args, hint) in [
            (["--status", "many"], "4xx"),
            (["--status", "299-200"], "200-299"),
            (["--status", "0xx"], "4xx"),
            (["--status", "20"], "404"),
            (["--since", "yesterday"], "2026-11-21"),
            (["--until", "2026-13-01"], "2026-11-21"),
            (["--respect-preferences", "ai-train=y"], "ai-train=n"),
            (["--respect-preferences", "all=n"], "ai-train=n"),
        ] {
            let Err(error) = Cli::try_parse_from([&["x"], &args[..]].concat()) else { panic!("{args:?}") };
            assert!(error.to_string().contains(hint), "{error}");
        }
    }

    #[test]
    fn a_selection_reads_as_the_options_that_made_it() {
        let line = ["x", "--prefix", "https://a/", "--status", "4xx", "--mime", "image/*", "--since", "2026-11-21"];
        let selection = Cli::try_parse_from(line).unwrap().selection;
        assert_eq!(
            selection.to_string(),
            "--prefix https://a/ --status 400-499 --mime image/* --since 2026-11-21T00:00:00.000Z"
        );
    }
}
