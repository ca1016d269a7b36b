//! The calendar on disk: a hierarchical timing wheel whose slots are files.
//!
//! # What it promises
//!
//! - A record that is put down for a time comes out once, as soon as it is asked for ([`Wheel::next_read`],
//!   [`Wheel::pop`]) when the minute that has this time is over. One whose minute was over when it was put comes at
//!   once; at the latest, while work has waited for hours, with the day in which it was put.
//! - What a cut names can be opened again: every record that was put and not taken before the cut comes out once.
//! - Slots are appended to and read sequentially, once per level. No record is looked for.
//! - Memory is bounded whatever is put down and however little is taken: buffers of
//!   [`memory_bytes`](WheelOptions::memory_bytes), one piece of a slot that is read, and one that is ready.
//!
//! # How it works
//!
//! Minutes, hours and days have slots; what is due after 32 to 64 days is in one file `later`. A slot of a
//! coarse level is dealt to finer ones before it begins: an hour one hour before, a day one day before, `later` every
//! 32 days, when what is still far off goes to the next `later`. So a record is written and read as often as it has
//! levels before it, four times at most for intervals up to 64 days ([`Level`]).
//!
//! A slot of any level whose time has passed whole is not dealt: all of its records are due, and they are given out as
//! they are. When work has waited for hours, slots are not dealt on purpose, so that a crawl that was stopped, or that
//! has more to do than it can, has a few large files and not thousands of small ones.
//!
//! Records of a slot gather in a buffer, which becomes a frame of its file when it is full. Files have a
//! generation, so that no name is used twice, and go by the rule of [`Ledger`](crate::disk::Ledger). A cut keeps the
//! lengths of files, how far each was read ([`WheelState`]), and what is in memory: buffers and what is ready.
//!
//! # Source
//!
//! Varghese and Lauck, Hashed and Hierarchical Timing Wheels (SOSP 1987), scheme 7. There slots are lists in memory;
//! here they are files, dealt ahead of time and in pieces, so that no moment has much to do.

mod file;
mod frame;
pub mod fuzzing;
mod place;
mod read;
mod ready;
mod renew;
mod slot;
mod state;
#[cfg(test)]
mod tests;
mod turn;
pub mod verify;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use file::SlotFile;
use place::Horizons;
use ready::Ready;
use slot::Slot;
use turn::Turn;

use crate::clock::Time;
use crate::disk::{Disk, Error, FileChanges, Mode, Result, SavedState};

pub use frame::RECORD_BYTES_MAX;
pub use place::{Level, Place};
pub use read::{SlotDone, SlotRead};
pub use state::{WheelCut, WheelState};
pub use verify::for_each;

const DAY: Duration = Duration::from_secs(86_400);

/// Sizes of a wheel.
#[derive(Clone, Copy, Debug)]
pub struct WheelOptions {
    /// Bytes of records that wait for a file, per slot; 1 MiB at most.
    pub buffer_bytes: usize,
    /// The same of all slots together. Their memory may be twice as large, as vectors grow.
    pub memory_bytes: usize,
    /// Bytes that are read of a slot at a time; a longer frame is read whole.
    pub read_bytes: usize,
    /// Bytes that are ready at which nothing more is read to be given out.
    pub ready_bytes: usize,
}

impl Default for WheelOptions {
    fn default() -> Self {
        // a read is eight full buffers, each of which may have grown by its last record, and their heads
        WheelOptions { buffer_bytes: 64 << 10, memory_bytes: 4 << 20, read_bytes: 520 << 10, ready_bytes: 256 << 10 }
    }
}

/// Figures of a wheel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Records that were put down and not taken.
    pub records: u64,
    /// Bytes of files, and of records in memory.
    pub bytes: u64,
    /// Records in memory that [`Wheel::pop`] gives.
    pub ready: u64,
    /// Records whose slot has ended, those that are ready among them.
    pub due_now: u64,
    /// Records whose slot begins within a day, those that are due now among them.
    pub due_today: u64,
    /// Time by which the oldest slot that was not read whole is late; zero where all are read that have ended.
    pub late: Duration,
    /// The first moment at which one may be given out: the moment of its minute, else the beginning of a coarse slot.
    pub next: Option<Time>,
    /// Records that were put, and records that were taken, since it was opened.
    pub put: u64,
    /// See `put`.
    pub taken: u64,
    /// Records that were dealt from one slot to another since it was opened.
    pub dealt: u64,
    /// Bytes that were written to files and read from them, and calls that did, since it was opened.
    pub bytes_written: u64,
    /// See `bytes_written`.
    pub bytes_read: u64,
    /// See `bytes_written`.
    pub writes: u64,
    /// See `bytes_written`.
    pub reads: u64,
}

/// The wheel; see the [module](self).
#[derive(Debug)]
pub struct Wheel {
    disk: Disk,
    dir: PathBuf,
    options: WheelOptions,
    /// The longest time from now for which a record may be put down: a clock that was ahead has put down what is later.
    longest: Duration,
    /// Slots that have something, in the order of levels and time.
    slots: BTreeMap<Place, Slot>,
    /// Bytes in their buffers.
    buffered: usize,
    ready: Ready,
    /// The newest generation that a file was given.
    generation: u64,
    /// The piece that is out to be read, and what for.
    running: Option<(SlotFile, u64, Turn)>,
    /// The last piece was one to give out.
    gave_last: bool,
    changes: FileChanges,
    /// Counts since it was opened.
    counters: Figures,
    failed: bool,
}

impl Wheel {
    /// Opens the wheel in `dir`: an empty one, or the one that a cut's state and RAM section describe.
    ///
    /// Files in `dir` that the state does not name are deleted, others cut to the lengths it notes; a file that is
    /// missing or too short is an error.
    pub fn open(
        disk: Disk,
        dir: &Path,
        options: WheelOptions,
        saved: Option<SavedState<'_, WheelState>>,
    ) -> Result<Self> {
        let wheel = Wheel::restored(disk, dir, options, saved)?;
        let named: std::collections::HashSet<PathBuf> =
            saved.iter().flat_map(|saved| saved.state.files(dir)).map(|(path, _)| path).collect();
        file::remove_unknown(&wheel.disk, dir, |path| named.contains(path))?;
        Ok(wheel)
    }

    /// The same, without a look at files that the state does not name.
    fn restored(
        disk: Disk,
        dir: &Path,
        options: WheelOptions,
        saved: Option<SavedState<'_, WheelState>>,
    ) -> Result<Self> {
        disk.create_dir_all(dir)?;
        let mut wheel = Wheel {
            disk,
            dir: dir.to_owned(),
            options: WheelOptions { buffer_bytes: options.buffer_bytes.min(frame::BUFFER_BYTES_MAX), ..options },
            longest: Duration::MAX,
            slots: BTreeMap::new(),
            buffered: 0,
            ready: Ready::default(),
            generation: 0,
            running: None,
            gave_last: false,
            changes: FileChanges::of_a_new_directory(),
            counters: Figures::default(),
            failed: false,
        };
        if let Some(saved) = saved {
            wheel.restore(saved)?;
        }
        Ok(wheel)
    }

    fn restore(&mut self, saved: SavedState<'_, WheelState>) -> Result<()> {
        let SavedState { state, ram } = saved;
        state.check(&self.dir)?;
        for slot in &state.slots {
            let file = slot.name().open(&self.disk, &self.dir, slot.file.bytes)?;
            if file.len()? > slot.file.bytes {
                self.disk.open(file.path(), Mode::Write)?.set_len(slot.file.bytes)?;
            }
            self.slots.insert(slot.place, Slot::of_file(slot.file.clone()));
        }
        self.generation = state.generation;
        for entry in state::read_ram_section(ram, &self.dir)? {
            let Some(place) = entry.place else {
                self.ready.push(entry.payload.to_vec(), entry.records);
                continue;
            };
            let slot = self.slots.entry(place).or_default();
            if !slot.restore(entry.payload, entry.records) {
                let expected = "one buffer of a slot in the checkpoint";
                return Err(Error::damaged(&self.dir, 0, expected, format!("another one of {place:?}")));
            }
            self.buffered += entry.payload.len();
        }
        Ok(())
    }

    /// Bounds what is put down: nothing is for later than `longest` from now. A record that says so comes at once: a
    /// clock that was ahead has put it down.
    pub fn bound_by(&mut self, longest: Duration) {
        self.longest = longest;
    }

    /// Puts `record` down for `due`.
    pub fn put(&mut self, due: Time, record: &[u8], now: Time) -> Result<()> {
        self.refuse_after_failure()?;
        if record.len() > RECORD_BYTES_MAX {
            let what = format!("a record of {} bytes; {RECORD_BYTES_MAX} are the limit", record.len());
            return Err(Error::limit("write to the calendar in", &self.dir, what));
        }
        let place = Horizons::at(now, self.late(now)).place(due, now, None);
        self.append(place, due, record)?;
        self.counters.put += 1;
        Ok(())
    }

    /// The next record that is due, and when it was; `None` while none is in memory.
    pub fn pop(&mut self) -> Option<(Time, Box<[u8]>)> {
        let popped = self.ready.pop();
        self.counters.taken += u64::from(popped.is_some());
        popped
    }

    /// Returns whether [`Wheel::pop`] gives something.
    #[cfg(test)]
    pub(crate) fn has_ready(&self) -> bool {
        self.ready.records() > 0
    }

    /// Figures for reports; none of them reads anything.
    pub fn figures(&self, now: Time) -> Figures {
        let (ready, buffered) = (self.ready.records(), (self.buffered + self.ready.bytes()) as u64);
        let mut figures = Figures { ready, late: self.late(now), ..self.counters };
        figures.next = Some(now).filter(|_| ready > 0);
        (figures.records, figures.due_now, figures.due_today, figures.bytes) = (ready, ready, ready, buffered);
        for (place, slot) in &self.slots {
            let records = slot.records();
            let is_absurd = self.is_absurd(*place, now);
            let next = if place.level == Level::Minutes { place.end() } else { place.start() }.max(now);
            let next = if is_absurd { now } else { next };
            figures.next = Some(figures.next.map_or(next, |first| first.min(next)));
            figures.records += records;
            figures.bytes += slot.file.as_ref().map_or(0, |file| file.bytes);
            figures.due_now += if place.end() <= now || is_absurd { records } else { 0 };
            figures.due_today += if place.start() < now + DAY || is_absurd { records } else { 0 };
        }
        figures
    }

    /// Takes a consistent cut: appends what is in memory to `ram` and says what to sync and to store. A piece that is
    /// being read counts as not read.
    ///
    /// Cuts are made durable one after the other. When this one is, what it supersedes may be deleted; it is the
    /// owner's to do so ([`Ledger`](crate::disk::Ledger)).
    pub fn cut(&mut self, ram: &mut Vec<u8>) -> Result<WheelCut> {
        self.refuse_after_failure()?;
        let buffers = self.slots.iter().filter_map(|(place, slot)| slot.entry(*place));
        state::push_ram_section(self.ready.entries().chain(buffers), ram);
        let files = self
            .slots
            .iter()
            .filter_map(|(place, slot)| slot.file.clone().map(|file| state::SlotState { place: *place, file }));
        let state = WheelState { generation: self.generation, slots: files.collect() };
        let FileChanges { dirty, names_changed, superseded, .. } = self.changes.cut();
        let sync_dirs = if names_changed { vec![self.dir.clone()] } else { Vec::new() };
        Ok(WheelCut { state, sync: dirty.into_iter().collect(), sync_dirs, superseded })
    }

    /// Files that no cut ever named and that are not needed any more: they may be deleted at any time.
    pub fn take_unneeded(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.changes.unneeded)
    }

    fn append(&mut self, place: Place, due: Time, record: &[u8]) -> Result<()> {
        let slot = self.slots.entry(place).or_default();
        self.buffered += slot.push(due, record);
        let full = if slot.buffered() >= self.options.buffer_bytes {
            Some(place)
        } else if self.buffered > self.options.memory_bytes {
            self.slots.iter().max_by_key(|(_, slot)| slot.buffered()).map(|(place, _)| *place)
        } else {
            None
        };
        let flushed = full.map_or(Ok(()), |place| self.flush(place));
        self.failed |= flushed.is_err();
        flushed
    }

    /// Appends the buffer of a slot to its file.
    fn flush(&mut self, place: Place) -> Result<()> {
        let Some(slot) = self.slots.get_mut(&place) else { return Ok(()) };
        self.buffered -= slot.buffered();
        let (frame, records) = slot.take_frame();
        let is_new = slot.file.is_none();
        let file = slot.file.get_or_insert_with(|| state::FileState::empty(self.generation + 1));
        let name = SlotFile { place, generation: file.generation };
        let path = name.path(&self.dir);
        let open = if is_new {
            self.generation += 1;
            self.changes.added(path);
            name.create(&self.disk, &self.dir)?
        } else {
            self.changes.wrote(path.clone());
            self.disk.open(path, Mode::Write)?
        };
        open.write_all_at(&frame, file.bytes)?;
        file.bytes += frame.len() as u64;
        file.records += u64::from(records);
        self.counters.bytes_written += frame.len() as u64 + if is_new { file::CONTENT_AT } else { 0 };
        self.counters.writes += 1 + u64::from(is_new);
        Ok(())
    }

    fn refuse_after_failure(&self) -> Result<()> {
        if self.failed { Err(Error::poisoned("go on with the calendar in", &self.dir)) } else { Ok(()) }
    }
}
