//! The calendar and the store of visits written on, where files of them are damaged or pages have no place.
//!
//! Each of the two says when a page is due, so that what one of them has lost is known from the other. The URL of a
//! page that is in neither the calendar nor the queue comes from its newest version in the archive; what such a page
//! was like is looked up there when it is visited. A page of which the archive has no version can only be given up.

use std::path::Path;

use super::places::{Page, Pages, Places};
use super::stores::{Cut, Harm};
use crate::calendar::wheel::verify;
use crate::calendar::{Recrawl, Visited, Wheel, WheelState};
use crate::checkpoint::{Checkpoint, Sections};
use crate::clock::Time;
use crate::container::Reader;
use crate::disk::{Disk, Mode, Result, SavedState};
use crate::drum::verify::{Check, Operation, is_fault};
use crate::drum::{DrumState, Renewal, Renewed, Value};
use crate::frontier::{DUE_PRIORITY, Hops, QueuedUrl};
use crate::record::layout::{self, StoreName};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// The calendar and the store of visits for the next checkpoint.
pub(super) struct Replanned {
    calendar: (WheelState, Vec<u8>),
    visits: (DrumState, Vec<u8>),
    /// Pages that were put into the calendar again.
    again: u64,
    /// Pages that are given up.
    lost: u64,
}

impl Replanned {
    /// Notes it; says what became of the pages.
    pub(super) fn note(self, next: &mut Checkpoint, sections: &mut Sections) -> Option<String> {
        next.calendar = Some(self.calendar.0);
        sections.calendar = self.calendar.1;
        next.stores.insert(StoreName::Visits, self.visits.0);
        sections.stores.insert(StoreName::Visits, self.visits.1);
        let (again, lost) = (self.again, self.lost);
        match (again, lost) {
            (0, 0) => None,
            (_, 0) => Some(format!("{again} pages were put into the calendar again")),
            _ => Some(format!(
                "{again} pages were put into the calendar again; of {lost} the archive has no version: they are not \
                 fetched again, unless a page that changes links to them"
            )),
        }
    }
}

/// A crawl whose calendar and store of visits are written on.
pub(super) struct Replanning<'a> {
    pub disk: &'a Disk,
    pub dir: &'a Path,
    pub cut: &'a Cut,
    pub harm: &'a Harm,
    pub maker: &'a KeyMaker,
}

impl Replanning<'_> {
    /// Writes both on, by the `places` of pages, with their versions in the archive. `None` where the crawl has no
    /// calendar.
    pub(super) fn run(&self, places: Places) -> Result<Option<Replanned>> {
        let (disk, checkpoint, sections) = (self.disk, &self.cut.checkpoint, &self.cut.sections);
        let Some((visits, state)) = checkpoint.store(StoreName::Visits, sections).zip(checkpoint.calendar.as_ref())
        else {
            return Ok(None);
        };
        let calendar = self.dir.join(layout::CALENDAR);
        let saved = SavedState::new(state, &sections.calendar);
        let mut wheel = Wheel::renew(disk.clone(), &calendar, saved, &self.harm.slots)?;
        self.keep_readable(&verify::Check::new(disk, &calendar, saved, &self.cut.path)?, &mut wheel)?;
        let dir = StoreName::Visits.dir(self.dir);
        let check = Check::new(disk, &dir, visits, &self.cut.path)?;
        let mut renewal = Renewal::<Visited, QueuedUrl>::begin(&check)?;
        let archive = Reader::open(disk.clone(), &self.dir.join(layout::PAGES))?;
        let pages = places.finish()?;
        let mut filling = Filling { of: self, archive, wheel, pages, head: None, again: 0, lost: 0 };
        filling.head = filling.pages.next()?;
        for bucket in 0..check.buckets() {
            renewal.bucket(bucket, &mut |renewed| {
                filling.fill(&check, bucket, renewed)?;
                keep_waiting::<Visited>(&check, bucket, renewed)
            })?;
        }
        let Filling { mut wheel, again, lost, .. } = filling;
        let visits = renewal.finish()?;
        let mut ram = Vec::new();
        let cut = wheel.cut(&mut ram)?;
        cut.sync.iter().try_for_each(|path| disk.open(path, Mode::Read)?.sync())?;
        cut.sync_dirs.iter().try_for_each(|dir| disk.sync_dir(dir))?;
        Ok(Some(Replanned { calendar: (cut.state, ram), visits, again, lost }))
    }

    /// Keeps the records of damaged slots that can be read.
    fn keep_readable(&self, old: &verify::Check<'_>, wheel: &mut Wheel) -> Result<()> {
        let now = self.cut.checkpoint.time;
        for &slot in &self.harm.slots {
            match old.slot(slot, &mut |due, record| wheel.put(due, record, now)) {
                Err(error) if is_fault(&error) => {}
                done => done?,
            }
        }
        Ok(())
    }
}

/// Buckets of visits that are being filled, in the order of their keys.
struct Filling<'a> {
    of: &'a Replanning<'a>,
    archive: Reader,
    wheel: Wheel,
    pages: Pages,
    head: Option<Page>,
    again: u64,
    lost: u64,
}

impl Filling<'_> {
    fn fill(&mut self, check: &Check<'_>, bucket: usize, renewed: &mut dyn Renewed<Visited, QueuedUrl>) -> Result<()> {
        let is_damaged = self.of.harm.of(StoreName::Visits).contains(&bucket);
        while let Some(page) = self.head.take_if(|page| check.bucket_of(page.key) == bucket) {
            if let Some(visited) = page.settled(is_damaged) {
                let visited = self.placed(&page, visited)?;
                renewed.store(page.key, &visited)?;
            }
            self.head = self.pages.next()?;
        }
        Ok(())
    }

    /// Gives the page a place where it has none.
    fn placed(&mut self, page: &Page, visited: Visited) -> Result<Visited> {
        if !page.is_lost(&visited) {
            return Ok(visited);
        }
        let Some(url) = page.newest.map(|offset| self.url(offset)).transpose()?.flatten() else {
            self.lost += 1;
            return Ok(Visited { due: Time::ZERO, is_gone: true, ..visited });
        };
        self.again += 1;
        let recrawl = Some(Recrawl::Due(visited.to_past()).to_bytes());
        let mut record = Vec::new();
        QueuedUrl { recrawl, ..url }.encode(&mut record);
        self.wheel.put(visited.due, &record, self.of.cut.checkpoint.time)?;
        Ok(visited)
    }

    /// The URL of the version at `offset` of key.dat, with its way from the seed.
    fn url(&self, offset: u64) -> Result<Option<QueuedUrl>> {
        let read = self.archive.record_at(offset).and_then(|record| Ok((self.archive.page(&record)?, record)));
        let (page, record) = match read {
            Err(error) if is_fault(&error) => return Ok(None),
            read => read?,
        };
        let Ok(url) = CanonicalUrl::parse(&record.url) else { return Ok(None) };
        let keys = self.of.maker.keys(&url);
        let way = page.map(|page| (page.depth, Hops::parse(&page.hops), page.seed));
        let (depth, hops, seed) = way.unwrap_or_default();
        let of_url = QueuedUrl::of(url.as_str(), keys);
        Ok(Some(QueuedUrl { priority: DUE_PRIORITY, depth, hops, seed, forced: true, ..of_url }))
    }
}

/// Puts the URLs that wait in `bucket`, as far as they can be read, into the renewed one.
pub(super) fn keep_waiting<V: Value>(
    check: &Check<'_>,
    bucket: usize,
    renewed: &mut dyn Renewed<V, QueuedUrl>,
) -> Result<()> {
    let mut each = |operation: Operation<V, QueuedUrl>| match operation.waiting {
        Some(url) => renewed.wait(operation.key, &url),
        None => Ok(()),
    };
    check.operations::<V, QueuedUrl>(bucket, &mut each, &mut Vec::new())
}
