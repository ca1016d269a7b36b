//! Spellings of URLs that pages use and that were not fetched: the same page was, under another one.
//!
//! A crawl knows URLs by their key form, so it fetches one spelling of several. Tools that replay an archive do not:
//! they look a URL up as the page writes it. So the links of the exported pages are found once more, by the scan that
//! the crawl itself uses, and those that are written in another way than their key form are looked up in the archive.
//! What was fetched in such a spelling is known by its plain one, too.
//!
//! Memory is bounded by a [`Sorter`]. A page may have any number of spellings (`?utm_source=1`, `2`, ...): spellings
//! beyond [`SPELLINGS_MAX`] are left out, and this is reported.

use std::io::Write;

use crate::archive::{LinkFinder, stated};
use crate::cli::archive::{Archive, Damage, Entry, Response};
use crate::cli::preferences::StatementFilter;
use crate::cli::selection::Selection;
use crate::disk::sorter::Sorter;
use crate::text::escape::Escaped;
use crate::web::html::Document;
use crate::web::url::CanonicalUrl;

/// Spellings of a page.
const SPELLINGS_MAX: usize = 1_000;
/// Parts the plain spelling from another one in a line; no URL has any.
const PART: u8 = 0;

/// Gathers spellings while entries are exported.
pub(super) struct Spellings {
    finder: LinkFinder,
    /// Lines of a plain spelling and another one of the same page.
    lines: Sorter,
    any: bool,
}

impl Spellings {
    /// Gathers in about `memory` bytes.
    pub(super) fn new(memory: usize) -> Self {
        Spellings { finder: LinkFinder::new(fastrand::u64(..)), lines: Sorter::new(memory), any: false }
    }

    /// True if there is any to look up.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Takes what an entry brings of either kind. Its answer is read only where it can name URLs.
    pub(super) fn take(
        &mut self,
        archive: &dyn Archive,
        entry: &Entry,
        damage: &mut Damage,
        warnings: &mut dyn Write,
    ) -> anyhow::Result<()> {
        self.take_url(archive, entry)?;
        if !may_name_urls(entry) {
            return Ok(());
        }
        match archive.response(entry) {
            Ok(response) => self.take_links(archive, entry, &response)?,
            Err(e) => damage.note(e, warnings),
        }
        Ok(())
    }

    /// Takes the spelling of an entry's own URL.
    pub(super) fn take_url(&mut self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<()> {
        let Ok(url) = CanonicalUrl::parse(&entry.url) else { return Ok(()) };
        match archive.plain_spelling(&url) {
            Some(plain) => self.push(&plain, &plain),
            None => Ok(()),
        }
    }

    /// Takes the spellings of the URLs that an answer names.
    pub(super) fn take_links(
        &mut self,
        archive: &dyn Archive,
        entry: &Entry,
        response: &Response,
    ) -> anyhow::Result<()> {
        let Ok(url) = CanonicalUrl::parse(&entry.url) else { return Ok(()) };
        let hops = || archive.history(entry).map(|history| history.hops);
        let content_type = response.content_type();
        for target in self.finder.targets(&response.linking(&url, content_type.as_deref()), hops)? {
            if let Some(plain) = archive.plain_spelling(&target) {
                self.push(&plain, target.as_str())?;
            }
        }
        Ok(())
    }

    fn push(&mut self, plain: &str, spelling: &str) -> anyhow::Result<()> {
        self.any = true;
        Ok(self.lines.push(&[plain.as_bytes(), &[PART], spelling.as_bytes()].concat())?)
    }

    /// Calls `act` with every spelling in which a page was not fetched that is selected in another one, and with the
    /// entry of the answer: in the order of the plain spellings, every version where `all` are wanted.
    pub(super) fn each(
        self,
        archive: &dyn Archive,
        selection: &Selection,
        all: bool,
        damage: &mut Damage,
        warnings: &mut dyn Write,
        mut act: impl FnMut(&str, &Entry, &mut Damage, &mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut lines = self.lines.finish()?;
        let (mut last, mut plain, mut count) = (Vec::new(), Vec::new(), 0_usize);
        let statements = selection.statements();
        while let Some(line) = lines.next()? {
            if line == last.as_slice() {
                continue;
            }
            last.clear();
            last.extend_from_slice(line);
            let part = memchr::memchr(PART, line).unwrap_or(line.len());
            let (of, spelling) = (&line[..part], String::from_utf8_lossy(line.get(part + 1..).unwrap_or_default()));
            if of != plain.as_slice() {
                left_out(&plain, count, warnings)?;
                (plain, count) = (of.to_vec(), 0);
            }
            let found = versions(archive, &spelling, selection, all, statements.as_ref());
            let found = found.unwrap_or_else(|e| {
                damage.note(e, warnings);
                Vec::new()
            });
            if found.is_empty() {
                continue;
            }
            count += 1;
            if count <= SPELLINGS_MAX {
                found.iter().try_for_each(|entry| act(&spelling, entry, damage, warnings))?;
            }
        }
        left_out(&plain, count, warnings)
    }
}

/// True if the answer of `entry` may name URLs: a page, a sheet, another document that does, or a redirect.
pub(super) fn may_name_urls(entry: &Entry) -> bool {
    let may_be_document = || {
        let url = CanonicalUrl::parse(&entry.url);
        url.is_ok_and(|url| Document::may_be(&stated(&url, Some(&entry.mime))))
    };
    matches!(entry.status, 300..400) || matches!(entry.status, 200..300) && may_be_document()
}

fn left_out(plain: &[u8], count: usize, warnings: &mut dyn Write) -> anyhow::Result<()> {
    if let Some(more) = count.checked_sub(SPELLINGS_MAX).filter(|&more| more > 0) {
        let plain = String::from_utf8_lossy(plain);
        writeln!(warnings, "crawler: {more} more spellings left out: {}", Escaped(&plain))?;
    }
    Ok(())
}

/// The selected versions of the page that `spelling` names, where it was fetched in another one.
fn versions(
    archive: &dyn Archive,
    spelling: &str,
    selection: &Selection,
    all: bool,
    statements: Option<&StatementFilter>,
) -> anyhow::Result<Vec<Entry>> {
    let mut versions = Vec::new();
    let mut next = match archive.newest(spelling)?.filter(|entry| entry.url != spelling) {
        Some(newest) => selection.version_of(archive, newest)?,
        None => None,
    };
    while let Some(entry) = next {
        next = if all { archive.previous(&entry)?.filter(|older| older.handle < entry.handle) } else { None };
        let is_left_out = || statements.map_or(Ok(false), |filter| filter.leaves_out(archive, &entry));
        if selection.wants(&entry) && !is_left_out()? {
            versions.push(entry);
        }
    }
    Ok(versions)
}
