//! Entries of the archive that are left out by what is stated about their use: a refusal of a use, or a robots
//! directive; by the page itself, or by the robots.txt of its origin.
//!
//! A crawl records that with each page, so that no page has to be read. Where it is not recorded, in archives of older
//! crawls, the page and its robots.txt are read: both are in the archive. There the newest robots.txt of an origin
//! counts, its redirects followed as the crawl does, and directives count that are meant for all robots.

use std::collections::HashMap;

use super::archive::{Archive, Entry, Response};
use crate::web::headers;
use crate::web::html::is_html;
use crate::web::preferences::{Preferences, Usage};
use crate::web::robots::UsageLines;
use crate::web::statements::Statements;
use crate::web::url::CanonicalUrl;

/// Origins whose lines are kept; pages of one origin are mostly next to each other.
const ORIGINS_MAX: usize = 1_000;
/// Redirects of a robots.txt that the crawl follows.
const ROBOTS_HOPS_MAX: usize = 5;

/// The conditions by which an entry is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    /// Uses that must not be refused.
    pub uses: Vec<Usage>,
    /// Directives of which one must be there, if there are any.
    pub with: Vec<String>,
    /// Directives of which none may be there.
    pub without: Vec<String>,
}

impl Conditions {
    fn hold(&self, stated: &Statements) -> bool {
        let has = |name: &String| stated.has_directive(name);
        !self.uses.iter().any(|&usage| stated.preferences().refuses(usage))
            && (self.with.is_empty() || self.with.iter().any(has))
            && !self.without.iter().any(has)
    }
}

/// Knows what is stated about the use of entries.
pub(super) struct StatementFilter {
    conditions: Conditions,
    origins: HashMap<String, UsageLines>,
}

impl StatementFilter {
    /// Asks for these conditions; nothing where there are none.
    pub(super) fn of(conditions: Conditions) -> Option<Self> {
        let Conditions { uses, with, without } = &conditions;
        let is_asked = !(uses.is_empty() && with.is_empty() && without.is_empty());
        is_asked.then(|| StatementFilter { conditions, origins: HashMap::new() })
    }

    /// Returns whether an entry is left out.
    pub(super) fn leaves_out(&mut self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<bool> {
        let stated = match recorded(archive, entry)? {
            Some(stated) => stated,
            None => self.read(archive, entry)?,
        };
        Ok(!self.conditions.hold(&stated))
    }

    /// Returns what the page and its robots.txt state.
    fn read(&mut self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Statements> {
        let response = archive.response(entry)?;
        let fields = [&response.headers[..], &response.payload_headers].concat();
        let mut stated = Statements::of_header(&fields, "*");
        let content_type = response.content_type();
        if is_html(content_type.as_deref(), &response.decoded) {
            stated.add_page(&response.decoded, content_type.as_deref(), "");
        }
        if let Ok(url) = CanonicalUrl::parse(&entry.url) {
            stated.add_preferences(self.of_site(archive, &url)?);
        }
        Ok(stated)
    }

    fn of_site(&mut self, archive: &dyn Archive, url: &CanonicalUrl) -> anyhow::Result<Preferences> {
        let origin = url.origin();
        if !self.origins.contains_key(&origin) {
            if self.origins.len() >= ORIGINS_MAX {
                self.origins.clear();
            }
            let lines = robots_txt(archive, url)?.map(|file| UsageLines::parse(&file.decoded)).unwrap_or_default();
            self.origins.insert(origin.clone(), lines);
        }
        Ok(self.origins[&origin].of(url.as_str()))
    }
}

/// Returns what was recorded with an entry, and with the version that it says is unchanged; `None` unless both have it.
fn recorded(archive: &dyn Archive, entry: &Entry) -> anyhow::Result<Option<Statements>> {
    let Some(mut stated) = archive.statements(entry)? else { return Ok(None) };
    if let Some(payload) = entry.payload.filter(|_| entry.is_confirmed()) {
        let Some(of_page) = archive.statements(&archive.entry(payload)?)? else { return Ok(None) };
        stated.add(&of_page);
    }
    Ok(Some(stated))
}

/// The robots.txt of the origin of `url`, if one came.
fn robots_txt(archive: &dyn Archive, url: &CanonicalUrl) -> anyhow::Result<Option<Response>> {
    let mut at = url.join("/robots.txt")?;
    for _ in 0..=ROBOTS_HOPS_MAX {
        let Some(entry) = archive.newest(at.as_str())?.filter(|entry| entry.url == at.as_str()) else { break };
        let response = archive.response(&entry)?;
        if matches!(entry.status, 200..300) || entry.is_confirmed() {
            return Ok(Some(response));
        }
        let location = headers::location(&response.headers).filter(|_| matches!(entry.status, 300..400));
        match location.and_then(|location| at.join(&location).ok()) {
            Some(target) => at = target,
            None => break,
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::FakeArchive;
    use super::*;

    fn archive() -> FakeArchive {
        let mut archive = FakeArchive::default();
        let robots = b"User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: /free/ train-ai=y\n";
        archive.page("https://a.example/robots.txt", 200, "text/plain", robots);
        archive.page("https://a.example/", 200, "text/html", b"");
        archive.page("https://a.example/free/", 200, "text/html", b"");
        archive.page("https://b.example/", 200, "text/html", b"<html><meta name=robots content='noai, noindex'>");
        let headers = vec![(b"TDM-Reservation".to_vec(), b"1".to_vec())];
        archive.store("https://b.example/p.png", "image/png", Response { status: 200, headers, ..Response::default() });
        archive.page("https://b.example/plain", 200, "text/plain", b"<meta name=robots content=noai>");
        archive
    }

    /// Handles of the entries that conditions leave out.
    fn left_out(archive: &FakeArchive, conditions: Conditions) -> Vec<u64> {
        let mut filter = StatementFilter::of(conditions).unwrap();
        let entries = archive.stored.iter().map(|(entry, _)| entry);
        entries.filter(|entry| filter.leaves_out(archive, entry).unwrap()).map(|entry| entry.handle).collect()
    }

    #[test]
    fn pages_and_the_robots_txt_of_their_origin_refuse() {
        let archive = archive();
        let refusing = |uses: &[Usage]| left_out(&archive, Conditions { uses: uses.to_vec(), ..Conditions::default() });
        assert_eq!(refusing(&[Usage::AiTrain]), [0, 1, 3, 4]);
        assert_eq!(refusing(&[Usage::Search]), [3]);
        assert_eq!(refusing(&[Usage::Tdm, Usage::Search]), [3, 4]);
        assert!(StatementFilter::of(Conditions::default()).is_none());
    }

    #[test]
    fn pages_are_told_apart_by_their_directives() {
        let archive = archive();
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let with = |with: &[&str]| left_out(&archive, Conditions { with: names(with), ..Conditions::default() });
        let without =
            |without: &[&str]| left_out(&archive, Conditions { without: names(without), ..Conditions::default() });
        assert_eq!(without(&["noindex"]), [3]);
        assert_eq!(without(&["nofollow", "noai"]), [3]);
        assert_eq!(without(&["nofollow"]), [0_u64; 0]);
        assert_eq!(with(&["nofollow", "noindex"]), [0, 1, 2, 4, 5]);
        let both = Conditions { with: names(&["noindex"]), uses: vec![Usage::AiTrain], ..Conditions::default() };
        assert_eq!(left_out(&archive, both), [0, 1, 2, 3, 4, 5]);
    }
}
