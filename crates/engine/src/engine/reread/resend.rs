//! Links of all archived pages to other shards, sent once more.
//!
//! A link file that is damaged cannot be read again, and what was in it is nowhere else but on the pages that named the
//! links. So `crawler verify --rebuild` takes such a file out of the checkpoint and notes that its shard is to send
//! again. The next start does that behind its replay: it finds the links of every archived page and sitemap again, and
//! of those that other shards own it writes all that the scope lets in. Its next checkpoint has them, and the note is
//! gone. Links that had arrived are known to URL-seen where they arrive; none is fetched again for it.

use crate::container::{KeyRecord, Reader, ReplayedPage};
use crate::contract::Purpose;
use crate::disk::{Error, Result};
use crate::engine::admission::Admission;
use crate::engine::seeds::reader;
use crate::engine::stored::{Find, purpose_of, stored_response};
use crate::frontier::{Hops, Provenance, QueuedUrl};
use crate::record::layout;
use crate::web::url::CanonicalUrl;

/// The links of archived pages, on their way to other shards again.
pub(crate) struct Resend<'a, 'f> {
    pub admission: &'a mut Admission,
    /// Finds links.
    pub find: &'a mut Find<'f>,
}

impl Resend<'_, '_> {
    /// Sends them, if the last checkpoint says so; returns of how many pages. `progress` hears of pages done and pages
    /// in all.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<u64> {
        if !self.admission.exchange.as_ref().is_some_and(|exchange| exchange.resends()) {
            return Ok(0);
        }
        let mut notes = Vec::new();
        reader::for_each_scope(&self.admission.home.disk, &self.admission.home.dir, |url| notes.push(url))?;
        notes.iter().filter_map(|url| CanonicalUrl::parse(url).ok()).for_each(|url| self.admission.note_scope(&url));
        let archive = Reader::open(self.admission.home.disk.clone(), &self.admission.home.dir.join(layout::PAGES))?;
        let (mut pages, total) = (0, self.admission.books.statistics.pages_stored);
        for record in archive.records() {
            let record = record?;
            match archive.page(&record) {
                Ok(Some(page)) => self.page(&record, page)?,
                Ok(None) => {}
                // what cannot be read has no links any more
                Err(error @ Error::Damaged { .. }) => tracing::warn!("{error}: the links of {} are lost", record.url),
                Err(error) => return Err(error),
            }
            pages += 1;
            progress(pages, total);
        }
        if let Some(exchange) = &mut self.admission.exchange {
            exchange.resent();
        }
        Ok(pages)
    }

    fn page(&mut self, record: &KeyRecord, mut page: ReplayedPage) -> Result<()> {
        let Ok(url) = CanonicalUrl::parse(&page.url) else { return Ok(()) };
        let keys = self.admission.home.keys.keys(&url);
        let hops = Hops::parse(&page.hops);
        let response = stored_response(&mut page);
        let scope = self.admission.scope.clone();
        if page.robots {
            let asked = page.via.and_then(|via| CanonicalUrl::parse(&via).ok()).unwrap_or_else(|| url.clone());
            let purpose = Purpose::Robots { origin: &asked.origin(), depth: page.depth, hops: &hops };
            let findings = (self.find)(&url, purpose, &response, &scope);
            let provenance = Provenance { depth: page.depth, seed: page.seed, hops };
            return self.admission.resend_sitemaps(&provenance, record.offset, findings.links);
        }
        let findings = (self.find)(&url, purpose_of(&page, &hops), &response, &scope);
        let parent = QueuedUrl { depth: page.depth, hops, seed: page.seed, ..QueuedUrl::of(url.as_str(), keys) };
        self.admission.resend_found(&parent, findings, response.address, record.offset)
    }
}
