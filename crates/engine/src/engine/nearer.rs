//! Pages that are read again, from the archive, because a shorter way to them was found than the one by which they were
//! fetched. What they name is one deeper than themselves: links that were too deep are admitted if they are not any
//! more, and pages that are nearer themselves follow in turn.
//!
//! Nothing is requested or stored again for it, and nothing is counted that was counted when the page came. Every page
//! is read once for each shorter way at most; its depth falls with each, so that there is an end. A page that is asked
//! for still, or has no answer in the archive, has nothing to be read.

use super::Engine;
use super::recovery::{Find, purpose_of, stored_response};
use super::route::{Discovery, Parent, queued};
use super::rule::rule_of;
use crate::container::{KeyRecord, Reader};
use crate::contract::Findings;
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Hops, QueuedUrl};
use crate::outcome::Reason;
use crate::record::layout;
use crate::web::url::CanonicalUrl;

/// Pages that are read between two looks at the network.
const READ_AT_ONCE: usize = 16;

impl Engine {
    /// Reads some of the pages again that wait for that. `find` finds their links.
    pub fn read_nearer(&mut self, find: &mut Find<'_>) -> Result<()> {
        if !self.has_nearer() {
            return Ok(());
        }
        self.stores.arrival.now = self.clock.now();
        self.checkpoints.note_change();
        let archive = Reader::open(self.home.disk.clone(), &self.home.dir.join(layout::PAGES))?;
        for _ in 0..READ_AT_ONCE {
            let Some((key, depth)) = self.stores.arrival.depths.take_waiting() else { break };
            match self.read_nearer_page(&archive, key, depth, find) {
                // what cannot be read names nothing
                Err(error @ Error::Damaged { .. }) => tracing::warn!("{error}: the links of a page are not read again"),
                done => done?,
            }
        }
        self.collect_dropped()
    }

    /// True if pages wait to be read again, in a crawl that goes on.
    pub(super) fn has_nearer(&self) -> bool {
        self.course.is_crawling() && self.stores.arrival.depths.are_waiting()
    }

    fn read_nearer_page(&mut self, archive: &Reader, key: Fingerprint, depth: u16, find: &mut Find<'_>) -> Result<()> {
        let record = archive.newest_of_key(key)?.filter(|record| !record.robots && !record.of_rendering);
        let Some(record) = record else { return Ok(()) };
        let Some(mut page) = archive.page(&record)? else { return Ok(()) };
        let Ok(url) = CanonicalUrl::parse(&page.url) else { return Ok(()) };
        page.depth = depth;
        let hops = Hops::parse(&page.hops);
        let (response, scope) = (stored_response(&mut page), self.scope.clone());
        let mut findings = find(&url, purpose_of(&page, &hops), &response, &scope);
        let url = QueuedUrl { depth, hops, seed: page.seed, ..queued(url.as_str(), self.home.keys.keys(&url)) };
        // what leads nowhere does not by a shorter way
        let likeness = findings.likeness.take();
        let is_beyond = likeness.is_some_and(|likeness| self.stores.texts.is_beyond(url.origin, &likeness, false));
        if is_beyond || self.stores.session_params.copies(&url).is_some() {
            return Ok(());
        }
        self.route_nearer(&url, findings, &record)
    }

    fn route_nearer(&mut self, url: &QueuedUrl, findings: Findings, record: &KeyRecord) -> Result<()> {
        let found = self.books.statistics.links_found;
        let parent = Parent { url, record: record.offset, has_changed: false };
        if let Some((target, keys)) = findings.redirect {
            self.route(Discovery::Redirect { parent: &parent, target: &target, keys })?;
        }
        for link in findings.links {
            self.route(Discovery::Link { parent: &parent, link })?;
        }
        self.books.statistics.links_found = found;
        Ok(())
    }

    /// Notes which URLs are left out because links of the page of `parent` are too deep, each once.
    pub(super) fn note_too_deep(&mut self, parent: &Parent<'_>, findings: &mut Findings) -> Result<()> {
        for link in std::mem::take(&mut findings.too_deep) {
            if self.stores.seen.is_recent(link.keys.key) || !self.stores.arrival.depths.note_too_deep(link.keys.key) {
                continue;
            }
            let found = Discovery::Link { parent, link };
            let url = found.into_url(&self.home.keys, &self.scope, self.home.shard);
            let rule = rule_of(&self.scope, &mut self.stores, &url, Reason::Depth);
            let colon = if rule.is_empty() { "" } else { ": " };
            let why = format!("{rule}{colon}a link of {}", parent.url.url);
            self.books.note_left_out(&url.url, Reason::Depth, &why)?;
        }
        Ok(())
    }
}
