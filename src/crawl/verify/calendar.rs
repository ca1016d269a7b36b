//! The files of the calendar, and what its records say of themselves.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::places::Page;
use super::stores::Stores;
use crate::calendar::wheel::verify::{Check, is_fault, unknown};
use crate::calendar::{Recrawl, Visited};
use crate::clock::Time;
use crate::disk::{Result, SavedState};
use crate::frontier::QueuedUrl;
use crate::record::layout::{self, StoreName};

impl Stores<'_, '_> {
    /// Goes through the calendar, where there is one.
    pub(super) fn calendar(&mut self) -> Result<()> {
        let (disk, dir) = (self.disk, self.dir.join(layout::CALENDAR));
        let mut is_first = true;
        'cuts: loop {
            let cut = self.cut.clone();
            let Some(state) = &cut.checkpoint.calendar else { return Ok(()) };
            let saved = SavedState::new(state, &cut.sections.calendar);
            let check = match Check::new(disk, &dir, saved, &cut.path) {
                Ok(check) => check,
                Err(error) if is_fault(&error) => {
                    self.tell(error);
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let files: Vec<(PathBuf, u64)> = check.files().collect();
            if std::mem::take(&mut is_first) {
                let bytes = files.iter().map(|(_, bytes)| bytes).sum();
                self.report.expect(bytes);
                self.report.summary.bytes += bytes;
                self.report.summary.files += files.len() as u64;
            }
            let in_memory = check.memory(&mut |due, bytes| self.record(due, bytes, &cut.path));
            self.take_fault(in_memory)?;
            for (slot, (path, bytes)) in files.iter().enumerate() {
                match check.slot(slot, &mut |due, bytes| self.record(due, bytes, path)) {
                    // slots of a newer checkpoint are others
                    Err(error) if is_fault(&error) && self.is_superseded(std::slice::from_ref(&error))? => {
                        continue 'cuts;
                    }
                    Err(error) if is_fault(&error) => {
                        self.harm.slots.insert(slot);
                        self.tell(error);
                    }
                    done => done?,
                }
                self.report.advance(*bytes);
            }
            return self.tidy_calendar(&dir, files);
        }
    }

    /// Notes damage that came of `done`; other errors are passed on.
    fn take_fault(&mut self, done: Result<()>) -> Result<()> {
        match done {
            Err(error) if is_fault(&error) => self.tell(error),
            done => done?,
        }
        Ok(())
    }

    /// Notes a record of the calendar, and where its page is by it.
    fn record(&mut self, due: Time, bytes: &[u8], path: &Path) -> Result<()> {
        let source = self.source(path);
        let url = QueuedUrl::decode(bytes).filter(|(_, used)| *used == bytes.len()).map(|(url, _)| url);
        let past = url.as_ref().and_then(|url| Recrawl::past(url.recrawl.as_deref()));
        let (Some(url), Some(past)) = (url, past) else {
            self.some("records that are no URLs", source, 0, "a record that is no URL with its visits".to_owned());
            return Ok(());
        };
        if past.due.ms() / 1_000 != due.ms() / 1_000 {
            let what = format!("a record for another moment than its page is due at: {}", url.url);
            self.some("records for other moments", source, 0, what);
        }
        self.want(url.key.bits(), path)?;
        self.waits(&url, source, 0)?;
        self.places.as_mut().map_or(Ok(()), |places| places.record(url.key.bits(), &Visited::of(&past), source))
    }

    /// Notes a URL that waits for what the store of visits in `dir` says of it: one that is due has its place there.
    pub(super) fn waits_for_visits(&mut self, url: &QueuedUrl, dir: &Path) -> Result<()> {
        let key = url.key.bits();
        self.want(key, dir)?;
        if let Some(places) = self.places.as_mut().filter(|_| Recrawl::past(url.recrawl.as_deref()).is_some()) {
            places.queued(key)?;
        }
        let source = self.source(dir);
        self.waits(url, source, 0)
    }

    /// Judges what was noted: each page has one place.
    pub(super) fn judge_places(&mut self) -> Result<()> {
        let Some(places) = self.places.take() else { return Ok(()) };
        if places.number != self.cut.checkpoint.number {
            return Ok(());
        }
        // what is lost with a damaged file is reported as that
        let harm = &self.harm;
        let is_whole = !harm.lost && !harm.frontier && harm.of(StoreName::Visits).is_empty() && harm.slots.is_empty();
        let visits = self.source(&StoreName::Visits.dir(self.dir));
        let mut pages = places.finish()?;
        while let Some(page) = pages.next()? {
            let live = page.live();
            self.report.summary.due += u64::from(live > 0);
            self.report.summary.stale += (page.records.len() - live) as u64;
            let Page { key, source, .. } = page;
            if live > 1 {
                let what = format!("a page with {live} records in the calendar that count, key {key:016x}");
                self.some("pages with more than one place", source, 0, what);
            }
            match &page.visit {
                _ if !is_whole => {}
                None if live > 0 => {
                    let what = format!("a record of a page of which the store of visits has nothing, key {key:016x}");
                    self.some("pages without visits", source, 0, what);
                    self.harm.unplaced += 1;
                }
                Some(visit) if page.is_lost(visit) => {
                    let due = visit.due.ms() / 1_000;
                    let what = format!(
                        "a page that is due at {due} and is neither in the calendar nor queued, key {key:016x}"
                    );
                    self.some("pages without a place", visits, 0, what);
                    self.harm.unplaced += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn tidy_calendar(&mut self, dir: &Path, files: Vec<(PathBuf, u64)>) -> Result<()> {
        if self.running {
            return Ok(());
        }
        let mut grown = Vec::new();
        for (path, bytes) in &files {
            if let Some(file) = self.disk.open_if_there(path)?
                && file.len()? > *bytes
            {
                grown.push((path.clone(), *bytes));
            }
        }
        self.grown(grown);
        let named: HashSet<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
        match unknown(self.disk, dir, |path| named.contains(path)) {
            Err(error) if error.is_not_found() => {}
            found => self.unknown(dir, found?),
        }
        Ok(())
    }
}
