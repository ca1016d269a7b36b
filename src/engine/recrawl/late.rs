//! A calendar that begins late: where `[recrawl]` is switched on in a crawl that has pages, they are put into it.
//!
//! Each page gets a record by its newest version in the archive, as if its first visit had just been planned: due after
//! an interval from when it was fetched, so at once where that is over. What else a visit needs it looks up in the
//! archive when it comes. That takes one pass over the archive, before anything else; it is done again after a kill
//! before the first checkpoint that has the calendar.

use crate::calendar::{Found, Past};
use crate::clock::Time;
use crate::container::{KeyRecord, Reader};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::route::queued;
use crate::frontier::{Hops, QueuedUrl};
use crate::record::layout;
use crate::web::url::CanonicalUrl;

impl Engine {
    /// Puts the pages of the archive into a calendar that is new, up to those that are replayed.
    pub(in crate::engine) fn fill_late_calendar(&mut self) -> Result<()> {
        let is_wanted = self.recrawls.as_mut().is_some_and(|recrawls| std::mem::take(&mut recrawls.begins_late));
        if !is_wanted || self.container.pages() == 0 {
            return Ok(());
        }
        tracing::info!("recrawl was switched on: reading the archive for the pages that are there already");
        let archive = Reader::open(self.home.disk.clone(), &self.home.dir.join(layout::PAGES))?;
        let (end, now) = (self.container.key_bytes(), self.clock.now());
        let mut pages: u64 = 0;
        for record in archive.records() {
            let record = record?;
            if record.offset >= end {
                break;
            }
            pages += u64::from(self.put_into_calendar(&archive, &record, now)?);
        }
        tracing::info!("{pages} pages of the archive were put into the recrawl calendar");
        Ok(())
    }

    /// Plans the next visit of a page, if this is its newest version; says whether it is.
    fn put_into_calendar(&mut self, archive: &Reader, record: &KeyRecord, now: Time) -> Result<bool> {
        let Ok(url) = CanonicalUrl::parse(&record.url) else { return Ok(false) };
        let keys = self.home.keys.keys(&url);
        let is_newest = |newest: KeyRecord| newest.offset == record.offset;
        if record.robots || record.of_rendering || !archive.newest(keys.key, &record.url)?.is_some_and(is_newest) {
            return Ok(false);
        }
        // its way from the seed, which limits look at
        let way = archive.page(record)?.map(|page| (page.depth, Hops::parse(&page.hops), page.seed));
        let (depth, hops, seed) = way.unwrap_or_default();
        let url = QueuedUrl { depth, hops, seed, ..queued(url.as_str(), keys) };
        let found = match record.status {
            404 | 410 => Found::Gone,
            200..=399 => Found::New { modified: None },
            _ => Found::NoAnswer,
        };
        let is_found = matches!(found, Found::New { .. });
        let past = Past { is_found, ..Past::of_visited(record.time, Time::ZERO, Default::default()) };
        let Some(recrawls) = &mut self.recrawls else { return Ok(false) };
        recrawls.put_down(&mut self.stores, &url, (None, past), (found, record.time, now))?;
        Ok(true)
    }
}
