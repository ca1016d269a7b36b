//! Pages that are read again, from the archive, because a shorter way to them was found than the one by which they were
//! fetched. What they name is one deeper than themselves: links that were too deep are admitted if they are not any
//! more, and pages that are nearer themselves follow in turn.
//!
//! Nothing is requested or stored again for it, and nothing is counted that was counted when the page came. Every page
//! is read once for each shorter way at most; its depth falls with each, so that there is an end. A page that is asked
//! for still, or has no answer in the archive, has nothing to be read.

use super::Engine;
use super::discovery::queued;
use super::recovery::{Find, purpose_of, stored_response};
use crate::container::Reader;
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Hops, QueuedUrl};
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
        self.admission.stores.arrival.now = self.admission.clock.now();
        self.checkpoints.note_change();
        let archive = Reader::open(self.admission.home.disk.clone(), &self.admission.home.dir.join(layout::PAGES))?;
        for _ in 0..READ_AT_ONCE {
            let Some((key, depth)) = self.admission.stores.arrival.depths.take_waiting() else { break };
            match self.read_nearer_page(&archive, key, depth, find) {
                // what cannot be read names nothing
                Err(error @ Error::Damaged { .. }) => tracing::warn!("{error}: the links of a page are not read again"),
                done => done?,
            }
        }
        self.admission.collect_dropped()
    }

    /// True if pages wait to be read again, in a crawl that goes on.
    pub(super) fn has_nearer(&self) -> bool {
        self.course.is_crawling() && self.admission.stores.arrival.depths.are_waiting()
    }

    fn read_nearer_page(&mut self, archive: &Reader, key: Fingerprint, depth: u16, find: &mut Find<'_>) -> Result<()> {
        let record = archive.newest_of_key(key)?.filter(|record| !record.robots && !record.of_rendering);
        let Some(record) = record else { return Ok(()) };
        let Some(mut page) = archive.page(&record)? else { return Ok(()) };
        let Ok(url) = CanonicalUrl::parse(&page.url) else { return Ok(()) };
        page.depth = depth;
        let hops = Hops::parse(&page.hops);
        let (response, scope) = (stored_response(&mut page), self.admission.scope.clone());
        let mut findings = find(&url, purpose_of(&page, &hops), &response, &scope);
        let url =
            QueuedUrl { depth, hops, seed: page.seed, ..queued(url.as_str(), self.admission.home.keys.keys(&url)) };
        // what leads nowhere does not by a shorter way
        let likeness = findings.likeness.take();
        let is_beyond =
            likeness.is_some_and(|likeness| self.admission.stores.texts.is_beyond(url.origin, &likeness, false));
        if is_beyond || self.admission.stores.session_params.copies(&url).is_some() {
            return Ok(());
        }
        self.admission.route_nearer(&url, findings, &record)
    }
}
