//! The part of a shard's archive behind a place, as far as a checkpoint covers it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cursor::{KnownBy, LastRecord};
use super::error::{Error, Result};
use super::page::Page;
use crate::checkpoint;
use crate::clock::Time;
use crate::container::{ContainerState, KeyRecord, Reader, is_being_rebuilt};
use crate::dirs::Archives;
use crate::disk;
use crate::record::layout;

/// Bytes of key.dat that are read at a time: a few thousand records.
const STEP_BYTES: u64 = 256 << 10;

/// A shard that is followed.
#[derive(Debug)]
pub(super) struct Tail {
    /// The place of its directory.
    at: usize,
    /// The last record that was handed out.
    last: Option<LastRecord>,
    /// The archive as of the newest checkpoint.
    opened: Option<Opened>,
    /// Records that were read and not handed out.
    read: VecDeque<KeyRecord>,
}

/// An archive as of a checkpoint.
#[derive(Debug)]
struct Opened {
    archives: Arc<Archives>,
    checkpoint: Covered,
    /// Offset from which reading goes on.
    from: u64,
    /// This record and the ones before it are not handed out.
    behind: Option<u64>,
}

/// The state of the archive in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Covered {
    number: u64,
    time: Time,
    state: ContainerState,
}

/// Places from which reading may go on in an archive.
enum Found {
    Start,
    Behind(u64),
    /// The record from which on they are read, some of which were handed out before.
    Again(u64),
    /// Everything that is there was handed out.
    Wait,
}

impl Tail {
    /// Makes a tail behind `last` of the shard at the place `at`.
    pub fn new(at: usize, last: Option<LastRecord>) -> Tail {
        Tail { at, last, opened: None, read: VecDeque::new() }
    }

    /// The last record that was handed out.
    pub fn last(&self) -> Option<&LastRecord> {
        self.last.as_ref()
    }

    /// The next page; nothing where the newest checkpoint covers no more. `open` opens the archives as they are now.
    pub fn next(&mut self, open: &dyn Fn() -> Archives, notices: &mut Vec<String>) -> Result<Option<Page>> {
        loop {
            if let Some(record) = self.read.pop_front() {
                return Ok(self.hand_out(record));
            }
            if !self.read_on()? && !self.look_for_more(open, notices)? {
                return Ok(None);
            }
        }
    }

    /// Goes behind all that the newest checkpoint covers, and hands nothing of it out.
    pub fn skip(&mut self, open: &dyn Fn() -> Archives, notices: &mut Vec<String>) -> Result<()> {
        while self.next(open, notices)?.is_some() {}
        Ok(())
    }

    fn hand_out(&mut self, record: KeyRecord) -> Option<Page> {
        let archives = self.opened.as_ref()?.archives.clone();
        let shard = archives.dirs().shard(self.at).index();
        self.last = Some(LastRecord { shard, record: record.offset, known_by: Some(KnownBy::of(&record)) });
        Some(Page::new(archives, self.at, record))
    }

    /// Reads the next records that the checkpoint covers. Says whether there were any, handed out or not.
    fn read_on(&mut self) -> Result<bool> {
        let Some(opened) = &mut self.opened else { return Ok(false) };
        let end = opened.checkpoint.state.key_bytes;
        if opened.from >= end {
            return Ok(false);
        }
        let Some(reader) = opened.archives.reader(self.at)? else { return Ok(false) };
        match reader.records_within(opened.from, end.min(opened.from + STEP_BYTES)) {
            Ok((records, reached)) => {
                let behind = opened.behind.unwrap_or(0);
                self.read.extend(records.into_iter().filter(|record| record.offset > behind));
                opened.from = reached;
                Ok(true)
            }
            Err(disk::Error::Damaged { .. }) if !reader.is_whole()? => {
                // a crawl has resumed from an earlier checkpoint and replays what is missing
                self.opened = None;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks for a newer checkpoint. Says whether there is one that may cover more.
    fn look_for_more(&mut self, open: &dyn Fn() -> Archives, notices: &mut Vec<String>) -> Result<bool> {
        let archives = open();
        let (disk, dir) = (archives.disk(), &archives.dirs().shards()[self.at]);
        let pages = dir.join(layout::PAGES);
        if is_being_rebuilt(disk, &pages)? {
            return Ok(false);
        }
        let newest = match checkpoint::newest_record(disk, dir) {
            Err(error) if error.is_not_found() => None,
            newest => newest?,
        };
        let Some(newest) = newest else { return Ok(false) };
        let checkpoint = Covered { number: newest.number, time: newest.time, state: newest.container };
        if self.opened.as_ref().is_some_and(|opened| opened.checkpoint == checkpoint) {
            return Ok(false);
        }
        let Some(reader) = archives.reader(self.at)? else { return Ok(false) };
        if reader.end() < checkpoint.state.key_bytes || is_being_rebuilt(disk, &pages)? {
            // the index is being made from what the checkpoint covers, by a replay or a rebuild
            return Ok(false);
        }
        let (from, behind) = match self.find(reader, &checkpoint.state)? {
            Found::Start => (0, None),
            Found::Behind(record) => (record, Some(record)),
            Found::Again(record) => {
                let shard = archives.dirs().shard(self.at).index();
                let text = "the index was rebuilt, and the last page of the cursor is not there any more: pages of its \
                            value file come again";
                notices.push(format!("shard {shard}: {text}"));
                (record, None)
            }
            Found::Wait => return Ok(false),
        };
        self.opened = Some(Opened { archives: Arc::new(archives), checkpoint, from, behind });
        Ok(true)
    }

    /// Returns from where reading goes on in the archive of `reader`, of which `covered` is durable.
    fn find(&self, reader: &Reader, covered: &ContainerState) -> Result<Found> {
        let Some(last) = &self.last else { return Ok(Found::Start) };
        let end = covered.key_bytes;
        let there = (last.record < end).then(|| reader.record_at(last.record));
        let Some(known_by) = &last.known_by else {
            return match there {
                Some(Ok(_)) => Ok(Found::Behind(last.record)),
                Some(Err(disk::Error::Damaged { .. })) => Err(no_page(last)),
                Some(Err(error)) => Err(error.into()),
                None => Ok(Found::Wait),
            };
        };
        match there {
            Some(Ok(record)) if known_by.is(&record) => return Ok(Found::Behind(last.record)),
            Some(Ok(_) | Err(disk::Error::Damaged { .. })) => {}
            Some(Err(error)) => return Err(error.into()),
            // the crawl has resumed from an earlier checkpoint, and is not where it was
            None if (known_by.file, known_by.offset) >= (covered.value_number, covered.value_bytes) => {
                return Ok(Found::Wait);
            }
            None => {}
        }
        if let Some(record) = reader.find_record(end, |record| known_by.is(record))? {
            return Ok(Found::Behind(record));
        }
        let of_file = reader.find_record(end, |record| record.file >= known_by.file)?;
        Ok(of_file.map_or(Found::Behind(end), Found::Again))
    }
}

fn no_page(last: &LastRecord) -> Error {
    let text = format!("{}-{}", last.shard, last.record);
    Error::Cursor(text, "no page begins there; the cursor may be of another crawl".to_owned())
}
