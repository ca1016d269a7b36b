//! The guide of an export: it says where links lead, to the file of their target or to the web.
//!
//! The target of a link is looked up as a command would: its newest version, behind redirects. It has a file if the
//! walk over the selection comes to it, so both ask the same questions. Answers are kept, up to a number of them.

use std::collections::HashMap;

use super::ending::Ending;
use super::name::{Name, rivals};
use crate::archive::redirect;
use crate::cli::archive::{Archive, Entry};
use crate::cli::preferences::StatementFilter;
use crate::cli::selection::Selection;
use crate::web::html::is_html;
use crate::web::mime;
use crate::web::url::CanonicalUrl;

/// Redirects that are followed one after the other.
const REDIRECTS_MAX: usize = 10;
/// Answers that are kept; then all are forgotten.
const KNOWN_MAX: usize = 100_000;
/// Answers for URLs longer than this are not kept.
const KNOWN_BYTES_MAX: usize = 1_000;

/// The end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A file of the export.
    Inside(Name),
    /// Nothing that is exported.
    Outside,
}

/// A file of an export.
pub(super) struct File {
    pub name: Name,
    /// True if browsers show it as a page.
    pub is_page: bool,
}

/// Looks up where links lead.
pub(super) struct Guide<'a> {
    archive: &'a dyn Archive,
    selection: &'a Selection,
    statements: Option<StatementFilter>,
    known: HashMap<Box<str>, Destination>,
}

/// True for an answer that has a file, if it is selected: it is good, and has content.
pub(super) fn has_file(entry: &Entry) -> bool {
    let has_content = matches!(entry.status, 200..=299) && !matches!(entry.status, 204 | 205);
    has_content || entry.is_confirmed()
}

impl<'a> Guide<'a> {
    /// Leads into the export of what is selected.
    pub(super) fn new(archive: &'a dyn Archive, selection: &'a Selection) -> Self {
        Guide { archive, selection, statements: selection.statements(), known: HashMap::new() }
    }

    /// Returns where a link to `url` leads.
    pub(super) fn lead(&mut self, url: &CanonicalUrl) -> anyhow::Result<Destination> {
        if let Some(end) = self.known.get(url.as_str()) {
            return Ok(end.clone());
        }
        let end = self.look_up(url)?;
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        if url.as_str().len() <= KNOWN_BYTES_MAX {
            self.known.insert(url.as_str().into(), end.clone());
        }
        Ok(end)
    }

    fn look_up(&self, url: &CanonicalUrl) -> anyhow::Result<Destination> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let Some(entry) = self.version(url.as_str())? else { return Ok(Destination::Outside) };
            let Ok(own) = CanonicalUrl::parse(&entry.url) else { return Ok(Destination::Outside) };
            if self.is_exported(&entry)? {
                return Ok(Destination::Inside(self.file(&entry, &own)?.name));
            }
            if !matches!(entry.status, 301..=303 | 307 | 308) {
                return Ok(Destination::Outside);
            }
            let response = self.archive.response(&entry)?;
            let Some(target) = redirect(&own, entry.status, &response.headers) else {
                return Ok(Destination::Outside);
            };
            url = target;
        }
        Ok(Destination::Outside)
    }

    /// The newest version of a URL at the moment that is looked at.
    fn version(&self, url: &str) -> anyhow::Result<Option<Entry>> {
        let newest = self.archive.newest(url)?;
        newest.map_or(Ok(None), |entry| self.selection.version_of(self.archive, entry))
    }

    fn is_exported(&self, entry: &Entry) -> anyhow::Result<bool> {
        if !has_file(entry) || !self.selection.wants(entry) {
            return Ok(false);
        }
        match &self.statements {
            Some(statements) => Ok(!statements.leaves_out(self.archive, entry)?),
            None => Ok(true),
        }
    }

    /// The file of an exported entry, whose URL is `url`.
    pub(super) fn file(&self, entry: &Entry, url: &CanonicalUrl) -> anyhow::Result<File> {
        let ending = self.ending(entry)?;
        for rival in rivals(url, &ending) {
            let found = self.version(&rival)?.filter(|found| found.url == rival);
            if found.map_or(Ok(false), |found| self.is_exported(&found))? {
                return Ok(File { name: Name::of(url, &ending, true), is_page: ending.is_page() });
            }
        }
        Ok(File { name: Name::of(url, &ending, false), is_page: ending.is_page() })
    }

    /// The ending of an entry, by its type; where it states none, by its content.
    fn ending(&self, entry: &Entry) -> anyhow::Result<Ending> {
        let essence = mime::essence(Some(&entry.mime));
        if essence.contains('/') && !essence.contains('*') {
            return Ok(Ending::of(&essence));
        }
        let response = self.archive.response(entry)?;
        let content_type = response.content_type();
        let is_page = is_html(content_type.as_deref(), &response.decoded);
        Ok(if is_page { Ending::of("text/html") } else { Ending::of(&mime::essence(content_type.as_deref())) })
    }
}
