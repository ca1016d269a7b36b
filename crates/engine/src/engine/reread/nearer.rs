//! Pages that are read again, from the archive, because a shorter way to them was found than the one by which they were
//! fetched. What they name is one deeper than themselves: links that were too deep are admitted if they are not any
//! more, and pages that are nearer themselves follow in turn.
//!
//! Nothing is requested or stored again for it, and nothing is counted that was counted when the page came. Every page
//! is read once for each shorter way at most; its depth falls with each, so that there is an end. A page that is asked
//! for still, or has no answer in the archive, has nothing to be read.

use crate::container::Reader;
use crate::disk::{Error, Result};
use crate::engine::admission::Admission;
use crate::engine::stored::{Find, purpose_of, stored_response};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Hops, QueuedUrl};
use crate::record::layout;
use crate::web::url::CanonicalUrl;

/// Pages that are read between two looks at the network.
const READ_AT_ONCE: usize = 16;

/// Pages that wait to be read again, and the archive that has them.
pub(crate) struct NearerPages<'a, 'f> {
    admission: &'a mut Admission,
    archive: Reader,
    find: &'a mut Find<'f>,
}

impl<'a, 'f> NearerPages<'a, 'f> {
    /// Opens the archive; `find` finds the links of pages.
    pub(crate) fn open(admission: &'a mut Admission, find: &'a mut Find<'f>) -> Result<Self> {
        let archive = Reader::open(admission.home.disk.clone(), &admission.home.dir.join(layout::PAGES))?;
        Ok(NearerPages { admission, archive, find })
    }

    /// Reads some of them.
    pub(crate) fn read_some(&mut self) -> Result<()> {
        for _ in 0..READ_AT_ONCE {
            let Some((key, depth)) = self.admission.stores.sink.depths.take_waiting() else { break };
            match self.read(key, depth) {
                // what cannot be read names nothing
                Err(error @ Error::Damaged { .. }) => tracing::warn!("{error}: the links of a page are not read again"),
                done => done?,
            }
        }
        self.admission.collect_dropped()
    }

    fn read(&mut self, key: Fingerprint, depth: u16) -> Result<()> {
        let record = self.archive.newest_of_key(key)?.filter(|record| !record.robots && !record.of_rendering);
        let Some(record) = record else { return Ok(()) };
        let Some(mut page) = self.archive.page(&record)? else { return Ok(()) };
        let Ok(url) = CanonicalUrl::parse(&page.url) else { return Ok(()) };
        page.depth = depth;
        let hops = Hops::parse(&page.hops);
        let (response, scope) = (stored_response(&mut page), self.admission.scope.clone());
        let mut findings = (self.find)(&url, purpose_of(&page, &hops), &response, &scope);
        let url = QueuedUrl {
            depth,
            hops,
            seed: page.seed,
            ..QueuedUrl::of(url.as_str(), self.admission.home.keys.keys(&url))
        };
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
