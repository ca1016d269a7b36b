//! The plan of what goes from the archive, by key.dat alone: three sequential passes, and no value file is read.
//!
//! 1. The offsets at which stretches of `CHUNK_BYTES` begin, for the next pass.
//! 2. Backwards, stretch by stretch: every record hands on to the version before it how many newer ones there are. Two
//!    bytes for every 64 bytes of key.dat count them (no record is shorter), and where no URL has versions these pages
//!    of memory are never touched.
//! 3. Forwards: how much of each value file goes, and which revisits that stay refer to what goes.
//!
//! # Payloads that others refer to
//!
//! A response that goes may have the payload of revisits that stay. The oldest of these becomes its *heir*: it gets the
//! payload, and the others refer to it from then on. Only then does the response go. A value file is rewritten by
//! itself, so this takes up to three steps, each of which leaves an archive that is whole: the heir's file, the files
//! of the others, the file of the response; in one file all happens at once. Once it has the payload an heir is known
//! by its digest, so that a plan that is made between two steps goes on where the last one ended.
//!
//! It frees nothing to move a payload from file to file. So it is done only where it has to be: for URLs that are
//! forgotten, and by [`Rule::strict`]. Else a response stays as long as revisits in other files refer to it.
//!
//! What is behind the last checkpoint, and the file that is written, are not touched. A response that a revisit there
//! refers to stays.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::list::ForgottenList;
use super::rule::{Keep, has_content};
use crate::clock::Time;
use crate::container::keys::{KeyFile, KeyRecord};
use crate::disk::{HEADER_BYTES, Result};

/// A stretch of key.dat that is held in memory.
const CHUNK_BYTES: u64 = 1 << 20;
/// No record is shorter: each begins in its own cell.
const CELL_BYTES: u64 = 64;

/// The rule of what is to go.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The rule of which versions stay.
    pub keep: Keep,
    /// The time by which that is judged.
    pub now: Time,
    /// URLs of which nothing stays.
    pub list: Arc<ForgottenList>,
    /// True if payloads are moved from file to file for whatever goes.
    pub strict: bool,
}

/// Ends of the part of the archive that may be touched.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Key records before this offset of key.dat are named by a checkpoint.
    pub key_bytes: u64,
    /// Value files before this number are full.
    pub files: u32,
}

/// Fates that a page can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The page stays as it is.
    Stay,
    /// The page goes; the record there has its payload now.
    Drop(Option<u64>),
    /// The revisit gets the payload of the response that it refers to.
    Promote,
    /// The revisit refers to the response of the record there from now on.
    Refer(u64),
}

/// One value file in a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// Its key records, a stretch of key.dat.
    pub keys: Range<u64>,
    /// Generation modulo 16.
    pub generation: u8,
    /// Offset at which its last record ends.
    pub bytes: u64,
    /// Bytes of what goes.
    pub freed: u64,
    /// Pages that go.
    pub pages: u64,
    /// Pages that go because they are forgotten.
    pub forgotten: u64,
    /// Revisits whose payload, or what they refer to, has to change before a response in another file can go.
    pub moves: u64,
}

/// Revisits that stay and refer to a response that goes.
#[derive(Clone, Copy, Debug)]
struct Referred {
    /// The file of the response.
    home: u32,
    /// The files of the first revisit and of the last one.
    files: (u32, u32),
    /// True if one of them is where nothing may be touched.
    is_pinned: bool,
    /// The first one that may be touched.
    heir: Option<u64>,
    /// True if the response goes although revisits in other files refer to it.
    must_go: bool,
}

impl Referred {
    /// True if the response goes when its own file is rewritten.
    fn goes_with_its_file(&self) -> bool {
        !self.is_pinned && self.files == (self.home, self.home)
    }
}

/// The plan of a compaction: the records that go, and what changes for that.
#[derive(Debug)]
pub struct Plan {
    rule: Rule,
    bounds: Bounds,
    /// Records that go, by their cells.
    condemned: Vec<u64>,
    referred: HashMap<u64, Referred>,
    /// Responses that were revisits once, and stay: the first one of each payload.
    settled: HashMap<[u8; 20], u64>,
    files: BTreeMap<u32, FilePlan>,
    /// The offset behind the last record that was looked at.
    pub end: u64,
    /// Pages that have to go and cannot yet.
    pub held: u64,
}

impl Plan {
    /// Makes a plan for the archive with these key records.
    pub(crate) fn make(keys: &KeyFile, bounds: Bounds, rule: Rule) -> Result<Plan> {
        let mut plan = Plan {
            rule,
            bounds,
            condemned: Vec::new(),
            referred: HashMap::new(),
            settled: HashMap::new(),
            files: BTreeMap::new(),
            end: keys.len(),
            held: 0,
        };
        let chunks = plan.survey(keys)?;
        plan.condemned = vec![0; cell(plan.end) / 64 + 1];
        if let Some(newer_max) = plan.rule.keep.newer_max() {
            plan.condemn_versions(keys, &chunks, newer_max)?;
        }
        let moves = plan.look_through(keys)?;
        plan.settle(keys, moves)?;
        Ok(plan)
    }

    /// Notes where stretches begin, which it returns, and which records each value file has.
    fn survey(&mut self, keys: &KeyFile) -> Result<Vec<u64>> {
        let mut chunks = vec![HEADER_BYTES];
        let mut scan = keys.scan_to(0, self.end);
        while let Some(record) = scan.next() {
            let record = record?;
            if record.offset >= chunks.last().copied().unwrap_or(0) + CHUNK_BYTES {
                chunks.push(record.offset);
            }
            if record.offset < self.bounds.key_bytes && record.file < self.bounds.files {
                let file = self.files.entry(record.file).or_default();
                if file.keys.is_empty() {
                    file.keys.start = record.offset;
                }
                file.keys.end = scan.reached();
                if !record.is_removed {
                    file.generation = record.generation;
                    file.bytes = record.value_offset + record.value_bytes;
                }
            }
        }
        self.end = scan.reached();
        Ok(chunks)
    }

    /// Condemns versions that have more newer ones than stay.
    fn condemn_versions(&mut self, keys: &KeyFile, chunks: &[u64], newer_max: u8) -> Result<()> {
        // newer versions with content, and newer ones of any kind
        let mut newer = vec![[0_u8; 2]; cell(self.end) + 1];
        let ends = chunks[1..].iter().copied().chain([self.end]);
        for (start, end) in chunks.iter().copied().zip(ends).collect::<Vec<_>>().into_iter().rev() {
            let records: Vec<KeyRecord> = keys.scan_to(start, end).collect::<Result<_>>()?;
            for record in records.iter().rev() {
                let [content, all] = newer[cell(record.offset)];
                let of_kind = if has_content(record) { content } else { all };
                if of_kind >= newer_max && self.may_touch(record) {
                    self.condemn(record.offset);
                }
                let Some(previous) = record.previous else { continue };
                let counts = self.rule.keep.counts(record, self.rule.now);
                let add = |count: u8, more: bool| count.saturating_add(u8::from(more));
                newer[cell(previous)] = [add(content, counts && has_content(record)), add(all, counts)];
            }
        }
        Ok(())
    }

    fn may_touch(&self, record: &KeyRecord) -> bool {
        !record.is_removed && record.offset < self.bounds.key_bytes && record.file < self.bounds.files
    }

    fn condemn(&mut self, offset: u64) {
        let cell = cell(offset);
        self.condemned[cell / 64] |= 1 << (cell % 64);
    }

    fn is_condemned(&self, offset: u64) -> bool {
        let cell = cell(offset);
        self.condemned.get(cell / 64).is_some_and(|bits| bits >> (cell % 64) & 1 == 1)
    }

    /// Goes through all records: what goes is counted, and who refers to it. Returns the revisits that may have to
    /// change: their files, and the responses that they refer to.
    fn look_through(&mut self, keys: &KeyFile) -> Result<Vec<(u32, u64)>> {
        let (mut moves, mut last) = (Vec::new(), (0, 0));
        for record in keys.scan_to(0, self.end) {
            let record = record?;
            if record.is_removed {
                continue;
            }
            let end = record.value_offset + record.value_bytes;
            let bytes = if last.0 == record.file { end.saturating_sub(last.1) } else { end };
            last = (record.file, end);
            let is_forgotten = self.rule.list.covers(&record.url);
            if is_forgotten && self.may_touch(&record) {
                self.condemn(record.offset);
            } else if is_forgotten {
                // it is where nothing may be touched yet
                self.held += 1;
            }
            if self.is_condemned(record.offset) {
                let file = self.files.entry(record.file).or_default();
                file.freed += bytes;
                file.pages += 1;
                file.forgotten += u64::from(is_forgotten);
                continue;
            }
            if record.was_revisit {
                self.settled.entry(record.payload_sha1).or_insert(record.offset);
            }
            if let Some(at) = record.payload_at.filter(|&at| self.is_condemned(at)) {
                self.note_referrer(keys, &record, at)?;
                moves.push((record.file, at));
            }
        }
        Ok(moves)
    }

    fn note_referrer(&mut self, keys: &KeyFile, revisit: &KeyRecord, at: u64) -> Result<()> {
        let may_touch = self.may_touch(revisit);
        if let Some(referred) = self.referred.get_mut(&at) {
            referred.files.1 = revisit.file;
            referred.is_pinned |= !may_touch;
            referred.heir = referred.heir.or(may_touch.then_some(revisit.offset));
            return Ok(());
        }
        let response = keys.read(at)?;
        let must_go = self.rule.strict || self.rule.list.covers(&response.url);
        let files = (revisit.file, revisit.file);
        let heir = may_touch.then_some(revisit.offset);
        self.referred.insert(at, Referred { home: response.file, files, is_pinned: !may_touch, heir, must_go });
        Ok(())
    }

    /// Takes out of the counts what cannot go yet, and puts in what has to change for it.
    fn settle(&mut self, keys: &KeyFile, moves: Vec<(u32, u64)>) -> Result<()> {
        for (&at, referred) in self.referred.iter().filter(|(_, referred)| !referred.goes_with_its_file()) {
            let response = keys.read(at)?;
            let file = self.files.entry(referred.home).or_default();
            file.freed = file.freed.saturating_sub(response.value_bytes);
            file.pages -= 1;
            let is_forgotten = self.rule.list.covers(&response.url);
            file.forgotten -= u64::from(is_forgotten);
            self.held += u64::from(referred.must_go);
        }
        for (file, at) in moves {
            if self.referred.get(&at).is_some_and(|it| it.must_go && !it.is_pinned && !it.goes_with_its_file()) {
                self.files.entry(file).or_default().moves += 1;
            }
        }
        for file in self.files.values_mut().filter(|file| file.pages == 0) {
            file.freed = 0;
        }
        Ok(())
    }

    /// Returns what becomes of the page of `record`.
    pub(crate) fn fate(&self, record: &KeyRecord) -> Fate {
        if record.is_removed || !self.may_touch(record) {
            return Fate::Stay;
        }
        let settled = self.settled.get(&record.payload_sha1).copied();
        if self.is_condemned(record.offset) {
            return match self.referred.get(&record.offset) {
                None => Fate::Drop(settled.filter(|_| record.is_response())),
                Some(referred) if referred.goes_with_its_file() => Fate::Drop(settled.or(referred.heir)),
                Some(_) => Fate::Stay,
            };
        }
        let Some(referred) = record.payload_at.and_then(|at| self.referred.get(&at)) else { return Fate::Stay };
        if referred.is_pinned || !(referred.must_go || referred.goes_with_its_file()) {
            return Fate::Stay;
        }
        // what is referred to comes before
        match settled.filter(|&settled| settled < record.offset).or(referred.heir) {
            Some(heir) if heir == record.offset => Fate::Promote,
            Some(heir) => Fate::Refer(heir),
            None => Fate::Stay,
        }
    }

    /// The value files of which something goes or changes.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u32, &FilePlan)> {
        let concerned = |file: &&FilePlan| file.pages > 0 || file.moves > 0;
        self.files.iter().map(|(&number, file)| (number, file)).filter(move |(_, file)| concerned(file))
    }

    /// The plan of value file `number`.
    pub(crate) fn file(&self, number: u32) -> Option<&FilePlan> {
        self.files.get(&number)
    }

    /// The value file to be rewritten next, other than those in `skipped`: first those in whose stead a payload has to
    /// move, in their order; then those with something that is forgotten; then the one of which most goes, if that is
    /// at least the part `share` of it.
    pub(crate) fn next(&self, share: f64, skipped: &[u32]) -> Option<u32> {
        let files = || self.files().filter(|(number, _)| !skipped.contains(number));
        let part = |file: &FilePlan| file.freed as f64 / file.bytes.max(1) as f64;
        let moves = files().find(|(_, file)| file.moves > 0);
        let forgotten = || files().find(|(_, file)| file.forgotten > 0);
        let largest = || files().max_by(|(_, one), (_, other)| part(one).total_cmp(&part(other)));
        let next = moves.or_else(forgotten).or_else(|| largest().filter(|(_, file)| part(file) >= share))?;
        Some(next.0)
    }

    /// The rule that it follows.
    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }
}

fn cell(offset: u64) -> usize {
    (offset / CELL_BYTES) as usize
}
