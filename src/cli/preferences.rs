//! Which entries of the archive refuse a use of their content: by the page itself, or by the robots.txt of its origin.
//!
//! Both are in the archive, so this works for crawls of any age and costs a crawl nothing. The newest robots.txt of an
//! origin counts, its redirects followed as the crawl does.

use std::collections::HashMap;

use super::archive::{Archive, Entry, Response};
use crate::web::headers;
use crate::web::html::is_html;
use crate::web::preferences::{Preferences, Usage};
use crate::web::robots::UsageLines;
use crate::web::url::CanonicalUrl;

/// Origins whose lines are kept; pages of one origin mostly stand together.
const ORIGINS_MAX: usize = 1_000;
/// Redirects of a robots.txt that the crawl follows.
const ROBOTS_HOPS_MAX: usize = 5;

/// Knows the preferences of entries.
pub(super) struct Refusals {
    uses: Vec<Usage>,
    origins: HashMap<String, UsageLines>,
}

impl Refusals {
    /// Looks for refusals of any of `uses`; nothing where there is none to look for.
    pub(super) fn of(uses: &[Usage]) -> Option<Self> {
        (!uses.is_empty()).then(|| Refusals { uses: uses.to_vec(), origins: HashMap::new() })
    }

    /// Whether an entry refuses any of the uses.
    pub(super) fn has(&mut self, archive: &dyn Archive, entry: &Entry) -> anyhow::Result<bool> {
        let of_site = match CanonicalUrl::parse(&entry.url) {
            Ok(url) => self.of_site(archive, &url)?,
            Err(_) => Preferences::default(),
        };
        if self.refused(of_site) {
            return Ok(true);
        }
        let response = archive.response(entry)?;
        let fields = [&response.headers[..], &response.payload_headers].concat();
        let content_type = response.content_type();
        let html = is_html(content_type.as_deref(), &response.decoded)
            .then_some((response.decoded.as_slice(), content_type.as_deref()));
        Ok(self.refused(Preferences::of_answer(&fields, html)))
    }

    fn refused(&self, stated: Preferences) -> bool {
        self.uses.iter().any(|&usage| stated.refuses(usage))
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

    #[test]
    fn pages_and_the_robots_txt_of_their_origin_refuse() {
        let archive = archive();
        let refusing = |uses: &[Usage]| -> Vec<u64> {
            let mut refusals = Refusals::of(uses).unwrap();
            let entries = archive.stored.iter().map(|(entry, _)| entry);
            entries.filter(|entry| refusals.has(&archive, entry).unwrap()).map(|entry| entry.handle).collect()
        };
        assert_eq!(refusing(&[Usage::AiTrain]), [0, 1, 3, 4]);
        assert_eq!(refusing(&[Usage::Search]), [3]);
        assert_eq!(refusing(&[Usage::Tdm, Usage::Search]), [3, 4]);
        assert!(Refusals::of(&[]).is_none());
    }
}
