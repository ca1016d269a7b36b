//! A calendar that begins late: where `[recrawl]` is switched on in a crawl that has pages, they are put into it.
//!
//! Each page gets a record by its newest version in the archive, as if its first visit had just been planned: due after
//! an interval from when it was fetched, so at once where that is over. What else a visit needs it looks up in the
//! archive when it comes. That takes two passes over the archive, before anything else: which version of each page is
//! its newest is found by sorting, for a look-up in the index would be a random read for each record. It is done again
//! after a kill before the first checkpoint that has the calendar.

use crate::calendar::{Found, Past};
use crate::clock::Time;
use crate::container::{KeyRecord, Reader};
use crate::disk::Result;
use crate::disk::sorter::{Sorted, Sorter};
use crate::engine::admission::Admission;
use crate::engine::recrawl::Compared;
use crate::engine::start_reads::{StartProgress, StartReads};
use crate::frontier::{Hops, QueuedUrl};
use crate::record::layout;
use crate::web::url::CanonicalUrl;

/// Memory in which versions are sorted.
const SORT_BYTES: usize = 64 << 20;
const NUMBER_BYTES: usize = 8;

/// The pages of an archive, on their way into a calendar that is new.
pub(crate) struct LateCalendar<'a> {
    pub admission: &'a mut Admission,
}

impl LateCalendar<'_> {
    /// Puts them there, up to those that are replayed, where the calendar begins late.
    pub(crate) fn fill(&mut self, progress: &mut StartProgress<'_>) -> Result<()> {
        let is_wanted =
            self.admission.recrawls.as_mut().is_some_and(|recrawls| std::mem::take(&mut recrawls.begins_late));
        if !is_wanted || self.admission.container.pages() == 0 {
            return Ok(());
        }
        tracing::info!("recrawl was switched on: reading the archive for the pages that are there already");
        let archive = Reader::open(self.admission.home.disk.clone(), &self.admission.home.dir.join(layout::PAGES))?;
        let (end, now) = (self.admission.container.key_bytes(), self.admission.clock.now());
        let mut newest = newest_versions(&archive)?;
        let mut next = newest.next()?.map(number_at);
        let mut pages: u64 = 0;
        for (number, record) in (0..).zip(archive.records()) {
            let record = record?;
            if record.offset >= end {
                break;
            }
            progress(StartReads::Calendar, number, self.admission.container.pages());
            if next == Some(record.offset) {
                pages += u64::from(self.put(&archive, &record, now)?);
                next = newest.next()?.map(number_at);
            }
        }
        tracing::info!("{pages} pages of the archive were put into the recrawl calendar");
        Ok(())
    }

    /// Plans the next visit of a page by its newest version; says whether it has one.
    fn put(&mut self, archive: &Reader, record: &KeyRecord, now: Time) -> Result<bool> {
        let Ok(url) = CanonicalUrl::parse(&record.url) else { return Ok(false) };
        let keys = self.admission.home.keys.keys(&url);
        // its way from the seed, which limits look at
        let way = archive.page(record)?.map(|page| (page.depth, Hops::parse(&page.hops), page.seed));
        let (depth, hops, seed) = way.unwrap_or_default();
        let url = QueuedUrl { depth, hops, seed, ..QueuedUrl::of(url.as_str(), keys) };
        let found = match record.status {
            404 | 410 => Found::Gone,
            200..=399 => Found::New { modified: None },
            _ => Found::NoAnswer,
        };
        let is_found = matches!(found, Found::New { .. });
        let past = Past { is_found, ..Past::of_visited(record.time, Time::ZERO, Default::default()) };
        let Some(recrawls) = &mut self.admission.recrawls else { return Ok(false) };
        let compared = Compared { found, past, at: record.time, unsent: None };
        recrawls.put_down(&mut self.admission.stores, &url, None, compared, now)?;
        Ok(true)
    }
}

/// The places of the newest versions of all pages of `archive`, in order.
fn newest_versions(archive: &Reader) -> Result<Sorted> {
    let mut versions = Sorter::new(SORT_BYTES);
    for record in archive.records() {
        let record = record?;
        if !record.robots && !record.of_rendering {
            let mut line = record.key.bits().to_be_bytes().to_vec();
            line.extend(record.offset.to_be_bytes());
            versions.push(&line)?;
        }
    }
    let (mut versions, mut newest) = (versions.finish()?, Sorter::new(SORT_BYTES));
    let mut last: Option<(u64, u64)> = None;
    while let Some(line) = versions.next()? {
        let (key, offset) = (number_at(line), number_at(&line[NUMBER_BYTES..]));
        if let Some((_, newest_offset)) = last.filter(|&(of, _)| of != key) {
            newest.push(&u64::to_be_bytes(newest_offset))?;
        }
        last = Some((key, offset));
    }
    last.map_or(Ok(()), |(_, offset)| newest.push(&offset.to_be_bytes()))?;
    newest.finish()
}

/// The number that `bytes` begin with.
fn number_at(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|at| bytes[at]))
}
