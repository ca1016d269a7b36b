//! The turning of the wheel: the choice of the slot that is read next, the purpose for which it is read, and what
//! becomes of its records.

use std::ops::Bound;
use std::time::Duration;

use super::file::SlotFile;
use super::frame;
use super::place::{self, Horizons, Level, Place};
use super::read::{Piece, SlotDone, SlotRead};
use super::{DAY, Wheel};
use crate::clock::Time;
use crate::disk::{Error, Result};

/// The purpose for which a slot is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All of its records are due.
    Give,
    /// They go to finer slots.
    Deal,
}

impl Wheel {
    /// The next piece of a slot that is to be read, to be given out or to be dealt to finer slots; one at a time.
    /// `None` where none has its time, where one is being read, and where enough is ready.
    ///
    /// Records that are in memory only are given out or dealt by this call.
    pub fn next_read(&mut self, now: Time) -> Result<Option<SlotRead>> {
        self.refuse_after_failure()?;
        while self.running.is_none()
            && let Some((place, turn)) = self.choose(now)
        {
            self.gave_last = turn == Turn::Give;
            let slot = self.slots.get_mut(&place).expect("a slot that was chosen is there");
            if let Some(file) = slot.file.as_ref().filter(|file| file.left() > 0) {
                let name = SlotFile { place, generation: file.generation };
                let (from, end) = (file.position, file.bytes);
                self.running = Some((name, from, turn));
                let (disk, dir, bytes_max) = (self.disk.clone(), self.dir.clone(), self.options.read_bytes);
                return Ok(Some(SlotRead { disk, dir, file: name, from, end, bytes_max }));
            }
            let (records, count) = slot.take_records();
            self.buffered -= records.len();
            self.remove_if_done(place);
            self.turn(place, turn, records, count, now)?;
        }
        Ok(None)
    }

    /// Takes back the piece that [`Wheel::next_read`] handed out: its records are ready, or are in finer slots.
    ///
    /// # Panics
    /// When it is not the one that was handed out last.
    pub fn finish_read(&mut self, done: SlotDone, now: Time) -> Result<()> {
        self.refuse_after_failure()?;
        let running = self.running.take().filter(|(file, from, _)| (*file, *from) == (done.file, done.from));
        let (_, _, turn) = running.expect("a piece goes back to the wheel that handed it out");
        let place = done.file.place;
        let Piece { records, count, next, read_bytes, reads } = done.piece;
        self.counters.bytes_read += read_bytes;
        self.counters.reads += reads;
        let slot = self.slots.get_mut(&place).expect("a slot stays while it is read");
        let file = slot.file.as_mut().expect("a file stays while it is read");
        let left = file.records.checked_sub(count);
        let Some(left) = left.filter(|left| next < file.bytes || *left == 0) else {
            self.failed = true;
            let expected = format!("{} records up to the end", file.records);
            return Err(Error::damaged(&done.file.path(&self.dir), done.from, expected, format!("{count} of them")));
        };
        (file.position, file.records) = (next, left);
        self.remove_if_done(place);
        self.turn(place, turn, records, count as u32, now)
    }

    /// Returns the time from which on [`Wheel::next_read`] has something to do: `now` where it has; `None` while a
    /// piece is being read, and where nothing has a time. What waits to be taken is none of it.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        if self.running.is_some() || self.failed {
            return None;
        }
        if self.choose(now).is_some() {
            return Some(now);
        }
        let next = |level: Level, number: u64| self.first(level, number, u64::MAX);
        let horizons = Horizons::at(now, self.late(now));
        let of_now = |level: Level| Place::of(level, now).number;
        let ends = [Level::Minutes, Level::Hours, Level::Days];
        let ends = ends.map(|level| next(level, of_now(level)).map(Place::end));
        let gives = ends.into_iter().flatten().filter(|_| self.has_room());
        let deals = [(Level::Hours, horizons.hour), (Level::Days, horizons.day), (Level::Later, horizons.later)];
        let deals = deals.into_iter().filter_map(|(level, number)| next(level, number).map(place::dealt_at));
        gives.chain(deals).filter(|time| *time > now).min()
    }

    /// Returns the time by which the oldest slot with records that should have been given out is late.
    pub(super) fn late(&self, now: Time) -> Duration {
        self.give(now).map_or(Duration::ZERO, |oldest| now.since(oldest.end()))
    }

    fn has_room(&self) -> bool {
        self.ready.bytes() < self.options.ready_bytes
    }

    /// Chooses the slot that is read next. Slots that are due come before those that are dealt ahead, and they take
    /// turns while there are both.
    fn choose(&self, now: Time) -> Option<(Place, Turn)> {
        let oldest = self.give(now);
        let give = oldest.filter(|_| self.has_room()).map(|place| (place, Turn::Give));
        if give.is_some() && !self.gave_last {
            return give;
        }
        let late = oldest.map_or(Duration::ZERO, |oldest| now.since(oldest.end()));
        self.deal(now, late).map(|place| (place, Turn::Deal)).or(give)
    }

    /// The oldest slot whose records are all due: its time has passed, or is so far off that only a clock that was
    /// ahead can have meant it.
    fn give(&self, now: Time) -> Option<Place> {
        let ended = |level: Level| self.first(level, 0, Place::of(level, now).number);
        let ended = [Level::Minutes, Level::Hours, Level::Days].map(ended);
        let oldest = ended.into_iter().flatten().min_by_key(|place| place.end());
        oldest.or_else(|| Level::ALL.into_iter().find_map(|level| self.first_absurd(level, now)))
    }

    /// The first slot of `level` for a time that only a clock can have meant that was ahead.
    fn first_absurd(&self, level: Level, now: Time) -> Option<Place> {
        let after = Place::of(level, self.last_due(now)).number;
        self.first(level, after.saturating_add(1), u64::MAX)
    }

    /// Returns true for a slot of such a time.
    pub(super) fn is_absurd(&self, place: Place, now: Time) -> bool {
        place.number > Place::of(place.level, self.last_due(now)).number
    }

    /// The latest moment for which a record may be put down at `now`, by a clock that differs by less than a day.
    fn last_due(&self, now: Time) -> Time {
        now + self.longest.saturating_add(DAY)
    }

    /// The slot whose records are to be in finer ones, the one that begins first.
    fn deal(&self, now: Time, late: Duration) -> Option<Place> {
        let horizons = Horizons::at(now, late);
        let hours = self.first(Level::Hours, Place::of(Level::Hours, now).number, horizons.hour);
        let days = self.first(Level::Days, Place::of(Level::Days, now).number, horizons.day);
        let later = self.first(Level::Later, 0, horizons.later);
        [hours, days, later].into_iter().flatten().min_by_key(|place| place.start())
    }

    /// The first slot of `level` from `number` to before `end`.
    fn first(&self, level: Level, number: u64, end: u64) -> Option<Place> {
        let range =
            (Bound::Included(Place { level, number }), Bound::Excluded(Place { level, number: end.max(number) }));
        self.slots.range(range).next().map(|(place, _)| *place)
    }

    fn remove_if_done(&mut self, place: Place) {
        if self.slots.get(&place).is_some_and(|slot| slot.is_done())
            && let Some(file) = self.slots.remove(&place).and_then(|slot| slot.file)
        {
            self.changes.supersede(SlotFile { place, generation: file.generation }.path(&self.dir));
        }
    }

    /// Gives `records` of the slot `from` out, or deals them.
    fn turn(&mut self, from: Place, turn: Turn, records: Vec<u8>, count: u32, now: Time) -> Result<()> {
        if turn == Turn::Give {
            self.ready.push(records, count);
            return Ok(());
        }
        let horizons = Horizons::at(now, self.late(now));
        let mut at = 0;
        while at < records.len() {
            let (due, record) = frame::read(&records, &mut at).expect("records are checked when they are read");
            self.append(horizons.place(due, now, Some(from)), due, record)?;
        }
        self.counters.dealt += u64::from(count);
        Ok(())
    }
}
