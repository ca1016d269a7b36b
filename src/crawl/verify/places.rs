//! The places of pages that are fetched again: each has one place.
//!
//! ```text
//! visits   ─► what counts of each page ─┐
//! calendar ─► its records ──────────────┼─► sorted by key ─► of a page that is due some time and is not queued,
//! queue, stores ─► its queued URL ──────┘                    exactly one record has the moment that counts
//! ```
//! Records that are not their page's own any more are counted: they end when they are read. All of it has to be of one
//! cut; beside a running crawl that has gone on meanwhile nothing is judged.

use crate::calendar::Visited;
use crate::clock::Time;
use crate::disk::Result;
use crate::disk::sorter::{Sorted, Sorter};
use crate::drum::Value;

/// Memory of the sorter.
const SORT_MEMORY: usize = 32 << 20;
/// Bytes of what a line is of: its key, and which of the below.
const HEAD_BYTES: usize = 9;
const VISIT: u8 = 0;
const QUEUED: u8 = 1;
const RECORD: u8 = 2;
const PAGE: u8 = 3;

/// Takes what is known of the places of pages.
pub(super) struct Places {
    /// The checkpoint that it is of.
    pub number: u64,
    lines: Sorter,
    /// Values of visits so far: the newest of a page counts.
    visits: u64,
}

impl Places {
    /// Makes the places for checkpoint `number`, of which nothing is known yet.
    pub(super) fn of(number: u64) -> Self {
        Places { number, lines: Sorter::new(SORT_MEMORY), visits: 0 }
    }

    fn push(&mut self, key: u64, kind: u8, parts: &[&[u8]]) -> Result<()> {
        let mut line = Vec::with_capacity(HEAD_BYTES + 24);
        line.extend_from_slice(&key.to_be_bytes());
        line.push(kind);
        parts.iter().for_each(|part| line.extend_from_slice(part));
        self.lines.push(&line)
    }

    /// Takes what the store of visits has of a page; of several values the last one counts.
    pub(super) fn visited(&mut self, key: u64, visited: &Visited) -> Result<()> {
        self.visits += 1;
        let mut bytes = Vec::new();
        visited.encode(&mut bytes);
        let order = self.visits.to_be_bytes();
        self.push(key, VISIT, &[&order, &bytes])
    }

    /// Its URL is queued, to be fetched again.
    pub(super) fn queued(&mut self, key: u64) -> Result<()> {
        self.push(key, QUEUED, &[])
    }

    /// A record of the calendar, and what the store of visits should have of it.
    pub(super) fn record(&mut self, key: u64, visited: &Visited, source: u32) -> Result<()> {
        let mut bytes = Vec::new();
        visited.encode(&mut bytes);
        self.push(key, RECORD, &[&source.to_be_bytes(), &bytes])
    }

    /// The archive has a version of it at `offset` of key.dat.
    pub(super) fn page(&mut self, key: u64, offset: u64) -> Result<()> {
        self.push(key, PAGE, &[&offset.to_be_bytes()])
    }

    /// All pages by their keys.
    pub(super) fn finish(self) -> Result<Pages> {
        let mut pages = Pages { lines: self.lines.finish()?, head: None };
        pages.advance()?;
        Ok(pages)
    }
}

/// Pages by their keys.
pub(super) struct Pages {
    lines: Sorted,
    head: Option<Vec<u8>>,
}

impl Pages {
    fn advance(&mut self) -> Result<()> {
        self.head = self.lines.next()?.map(<[u8]>::to_vec);
        Ok(())
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Result<Option<Page>> {
        let Some(first) = &self.head else { return Ok(None) };
        let mut page = Page { key: key_of(first), ..Page::default() };
        while let Some(line) = self.head.as_ref().filter(|line| key_of(line) == page.key) {
            let rest = &line[HEAD_BYTES..];
            match line[HEAD_BYTES - 1] {
                VISIT => page.visit = Visited::decode(&rest[8..]),
                QUEUED => page.is_queued = true,
                RECORD => {
                    page.source = u32::from_be_bytes(std::array::from_fn(|n| rest[n]));
                    page.records.extend(Visited::decode(&rest[4..]));
                }
                _ => page.newest = Some(u64::from_be_bytes(std::array::from_fn(|n| rest[n]))),
            }
            self.advance()?;
        }
        Ok(Some(page))
    }
}

fn key_of(line: &[u8]) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|n| line[n]))
}

/// The places of a page, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub key: u64,
    /// Its value in the store of visits.
    pub visit: Option<Visited>,
    /// True if its URL is queued.
    pub is_queued: bool,
    /// Its records in the calendar.
    pub records: Vec<Visited>,
    /// The file of the last of them.
    pub source: u32,
    /// Its newest version in the archive, where that was asked for.
    pub newest: Option<u64>,
}

impl Page {
    /// Records with the moment that counts.
    pub(super) fn live(&self) -> usize {
        self.live_by(self.visit.as_ref())
    }

    fn live_by(&self, visit: Option<&Visited>) -> usize {
        let is_live = |record: &&Visited| visit.is_none_or(|visit| !visit.is_gone && visit.due == record.due);
        self.records.iter().filter(is_live).count()
    }

    /// True if it is to be fetched again, by `visit`, and nothing would do so.
    pub(super) fn is_lost(&self, visit: &Visited) -> bool {
        is_due(visit) && !self.is_queued && self.live_by(Some(visit)) == 0
    }

    /// Returns what the store of visits should have of it. Where that store `is_damaged`, it may have an older value.
    pub(super) fn settled(&self, is_damaged: bool) -> Option<Visited> {
        let newest = self.records.iter().max_by_key(|record| (record.fetched, record.due)).copied();
        match (self.visit, newest) {
            (Some(visit), Some(record)) => {
                let is_older = (visit.fetched, visit.due) < (record.fetched, record.due);
                Some(if is_older && is_damaged && !visit.is_gone { record } else { visit })
            }
            (visit, record) => visit.or(record),
        }
    }
}

/// True if a page is fetched again.
fn is_due(visit: &Visited) -> bool {
    !visit.is_gone && visit.due > Time::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::History;

    fn visited(fetched_s: u64, due_s: u64) -> Visited {
        let (fetched, due) = (Time::from_ms(fetched_s * 1_000), Time::from_ms(due_s * 1_000));
        Visited { fetched, due, history: History::default(), is_gone: false, is_found: true, text: 0 }
    }

    fn places() -> Places {
        Places { number: 1, lines: Sorter::new(0), visits: 0 }
    }

    #[test]
    fn of_each_page_all_that_is_known_comes_together_and_the_last_visit_counts() {
        let mut places = places();
        places.record(7, &visited(1, 5), 3).unwrap();
        places.visited(7, &visited(1, 5)).unwrap();
        places.page(7, 100).unwrap();
        places.visited(7, &visited(6, 9)).unwrap();
        places.record(7, &visited(6, 9), 4).unwrap();
        places.page(7, 50).unwrap();
        places.queued(2).unwrap();
        let mut pages = places.finish().unwrap();
        let first = pages.next().unwrap().unwrap();
        assert_eq!((first.key, first.is_queued, first.visit), (2, true, None));
        let second = pages.next().unwrap().unwrap();
        assert_eq!((second.key, second.visit, second.newest), (7, Some(visited(6, 9)), Some(100)));
        assert_eq!((second.records.len(), second.live()), (2, 1));
        assert!(!second.is_lost(&visited(6, 9)) && second.is_lost(&visited(6, 10)));
        assert!(pages.next().unwrap().is_none());
    }

    #[test]
    fn a_page_that_is_gone_or_queued_is_not_lost_and_a_damaged_store_is_overruled_by_newer_records() {
        let gone = Visited { is_gone: true, ..visited(1, 0) };
        let page = Page { visit: Some(gone), ..Page::default() };
        assert!(!page.is_lost(&gone) && page.is_lost(&visited(1, 5)));
        let queued = Page { is_queued: true, ..Page::default() };
        assert!(!queued.is_lost(&visited(1, 5)));
        let page = Page { visit: Some(visited(1, 5)), records: vec![visited(1, 5), visited(6, 9)], ..Page::default() };
        assert_eq!((page.settled(false), page.settled(true)), (Some(visited(1, 5)), Some(visited(6, 9))));
        let page = Page { visit: None, ..page };
        assert_eq!(page.settled(false), Some(visited(6, 9)));
    }
}
