//! The address pages against key.dat: every page once for each chunk of key records.

use std::path::Path;

use super::keys::{Comparison, KeyWalk};
use super::{Report, Standing};
use crate::container::address::check::{AddressCheck, Problem, Slot};
use crate::disk::{Disk, Error, HEADER_BYTES, Result};
use crate::fingerprint::Fingerprint;

/// Times that a bucket is looked at again because a running crawl may be changing it.
const PATIENCE: u32 = 200;

/// A stretch of key.dat in memory.
struct Chunk {
    from: u64,
    to: u64,
    /// Offset and key, by offset.
    records: Vec<(u64, Fingerprint)>,
    reached: Vec<bool>,
    /// Offset at which the last whole record ends, if others follow that are not whole.
    tail: Option<u64>,
}

/// Checks the address file in `dir` against the key file that is `compared`.
pub(super) fn check(
    disk: &Disk,
    dir: &Path,
    compared: &Comparison<'_>,
    chunk_records: usize,
    report: &mut Report<'_>,
) -> Result<()> {
    let &Comparison { keys, end, standing, .. } = compared;
    let live = matches!(standing, Standing::Running);
    let mut pages = match AddressCheck::open(disk, dir, live, !live && standing.pages_may_be_ahead()) {
        Ok(pages) => pages,
        Err(Error::Damaged { path, offset, expected, found }) => {
            report.damage(&path, offset, format!("expected {expected}, found {found}; its slots are not checked"));
            return Ok(());
        }
        Err(error) if error.is_not_found() => {
            if end > HEADER_BYTES || standing.noted().is_some() {
                let what = format!("{error}; crawler verify --rebuild rebuilds it");
                report.damage(&dir.join("address.idx"), 0, what);
            }
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    report.summary.files += 2;
    report.summary.bytes += pages.bytes();
    let mut check = Check { compared, patience: PATIENCE, slots: 0, problems: Vec::new() };
    check.covered(&pages, report);
    let mut walk = KeyWalk::new(keys, end);
    let mut first = true;
    loop {
        let mut chunk = Chunk::read(&mut walk, end, chunk_records)?;
        let last = chunk.to == end;
        if first || !chunk.records.is_empty() {
            check.pass(&mut pages, &mut chunk, first, report)?;
        }
        first = false;
        check.unreached(&mut pages, &chunk, report)?;
        if last {
            return Ok(());
        }
    }
}

impl Chunk {
    fn read(walk: &mut KeyWalk<'_>, end: u64, records_max: usize) -> Result<Self> {
        let from = walk.position();
        let (mut records, mut tail) = (Vec::new(), None);
        while records.len() < records_max {
            // damage was reported when the file was compared with the value files
            let Some(record) = walk.next(&mut |from, to| tail = (to == end).then_some(from))? else {
                break;
            };
            records.push((record.offset, record.key));
        }
        let to = if records.len() < records_max { end } else { walk.position() };
        let reached = vec![false; records.len()];
        Ok(Chunk { from, to, records, reached, tail })
    }

    fn find(&self, offset: u64) -> Option<usize> {
        self.records.binary_search_by_key(&offset, |record| record.0).ok()
    }

    /// Returns what is wrong with `slot`, if it leads here.
    fn judge(&self, slot: &Slot) -> Option<String> {
        if !(self.from..self.to).contains(&slot.offset) {
            return None;
        }
        match self.find(slot.offset) {
            None => Some(format!("a slot that points to byte {} of key.dat, where no record begins", slot.offset)),
            Some(index) if !slot.fits(self.records[index].1) => {
                Some(format!("a slot that points to byte {} of key.dat, where another fingerprint is", slot.offset))
            }
            Some(_) => None,
        }
    }
}

struct Check<'a> {
    compared: &'a Comparison<'a>,
    patience: u32,
    slots: u64,
    problems: Vec<Problem>,
}

impl Check<'_> {
    /// Checks that the file covers what the last checkpoint says that it does.
    fn covered(&self, pages: &AddressCheck, report: &mut Report<'_>) {
        let Some(noted) = self.compared.standing.noted() else { return };
        let covered = pages.covered();
        let ahead = covered > noted.key_bytes && !self.compared.standing.pages_may_be_ahead();
        if covered < noted.key_bytes || ahead {
            let what = format!("covers {covered} bytes of key.dat; the last checkpoint notes {}", noted.key_bytes);
            report.damage(pages.path(), 40, what);
        }
    }

    /// Reads all pages: the slots that lead into `chunk` are judged; in the `first` pass the pages, too, and the slots
    /// that lead nowhere.
    fn pass(
        &mut self,
        pages: &mut AddressCheck,
        chunk: &mut Chunk,
        first: bool,
        report: &mut Report<'_>,
    ) -> Result<()> {
        let lenient = self.compared.standing.pages_may_be_ahead();
        // what a kill left behind the last checkpoint is written again by the replay
        let noted = self.compared.standing.noted().map_or(self.compared.end, |noted| noted.key_bytes);
        let end = if lenient { chunk.tail.unwrap_or(self.compared.end).min(noted) } else { self.compared.end };
        report.expect(pages.bytes());
        let mut bucket = 0;
        while bucket < pages.buckets() {
            let judge = |slot: &Slot| {
                let behind = slot.offset >= end;
                if first && (slot.offset < HEADER_BYTES || behind && !lenient) {
                    return Some(format!("a slot that points to byte {}, outside of key.dat", slot.offset));
                }
                // the next start writes those records again from the journal
                let is_changing = self.compared.journal.is_some_and(|journal| journal.changes(slot.offset));
                if behind || is_changing { None } else { chunk.judge(slot) }
            };
            let mut found = Vec::new();
            let slots = pages.bucket(bucket, &mut self.patience, &judge, &mut found)?;
            // what is wrong with a page itself is reported in the first pass
            self.problems.extend(found.into_iter().filter(|problem| first || !problem.of_page));
            self.slots += if first { slots.len() as u64 } else { 0 };
            for slot in &slots {
                if let Some(index) = chunk.find(slot.offset)
                    && slot.fits(chunk.records[index].1)
                {
                    chunk.reached[index] = true;
                }
            }
            report.advance(AddressCheck::PAGE_BYTES);
            bucket += 1;
        }
        self.finish_pass(pages, first, report)
    }

    fn finish_pass(&mut self, pages: &mut AddressCheck, first: bool, report: &mut Report<'_>) -> Result<()> {
        if first {
            pages.free_pages(&mut self.problems)?;
            let live = matches!(self.compared.standing, Standing::Running);
            if !live && self.problems.is_empty() && self.slots != pages.slots() {
                let what = format!("the head counts {} slots, the pages hold {}", pages.slots(), self.slots);
                report.damage(pages.path(), 32, what);
            }
        } else {
            pages.forget_met();
        }
        for problem in self.problems.drain(..) {
            report.damage(&problem.file, problem.offset, problem.what);
        }
        Ok(())
    }

    /// Records of `chunk` that no slot leads to: they have to be older versions, or younger than the pages.
    fn unreached(&self, pages: &mut AddressCheck, chunk: &Chunk, report: &mut Report<'_>) -> Result<()> {
        let unreached = chunk.records.iter().zip(&chunk.reached).filter(|(_, reached)| !**reached);
        for (&(offset, key), _) in unreached {
            if offset >= pages.covered() {
                break;
            }
            let Some(record) = self.compared.keys.read_if_whole(offset)? else { continue };
            let newest = pages.newest(key, &record.url, &|offset| self.compared.keys.read_if_whole(offset))?;
            if newest.is_none_or(|newest| newest.offset < offset) {
                let what = format!("a key record that no slot of address.idx points to: {}", record.url);
                report.damage(self.compared.keys.path(), offset, what);
            }
        }
        Ok(())
    }
}
