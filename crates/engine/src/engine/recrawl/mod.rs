//! Fetching again: the calendar of the crawl's pages, and what is learnt from each visit.
//!
//! ```text
//!            ┌──────────────── calendar ◄───────────────────────────────┐
//!            ▼  due                                        plan, Past   │
//! visits (is the record the page's own?) ─► robots ─► DNS ─► frontier ─► fetch ─► archive
//!            ▲                                                          │
//! URL-seen ──┘  a date behind the last fetch, a gone page that is linked ◄┘
//! ```
//! - A visit that ends leaves one record in the calendar and one value in the store of visits, which have the same
//!   moment; so of all records of a page one counts, the last. What was fetched before its time has a value with
//!   another moment, and its old record ends when it is read.
//! - A page is in one place: in the calendar, queued, or ended. It ends when it was not found often enough
//!   ([`Schedule`]), when its rule says that it is fetched once, and when scope or limits drop it.
//! - The record has what the archive's index does not say ([`Past`]). For the condition of its request a visit reads
//!   where the payload is: an address page and one or two key records, and no content. Where a visit comes before its
//!   time, or after a kill, what the record would have said is looked up in the archive, too.
//! - Where it is switched on in a crawl that has pages, they get their records from the archive ([`super::reread`]).
//! - A page that a replay finds in the archive gets its record when its URL is met on its way, for the URL brings what
//!   was known of the page; a page that was new gets it at once.
//!
//! It costs nothing where pages are not fetched again: there is no such part then.

mod due;
mod sample;
mod visits;

use super::checkpoint::Sections;
use crate::calendar::{Schedule, ScheduleOptions, Wheel, WheelCut, WheelOptions, WheelState};
use crate::clock::Time;
use crate::disk::{Disk, Error, Result, SavedState};
use crate::record::layout;
use crate::record::{CalendarFigures, VisitCounts};
use sample::Sample;
use std::path::{Path, PathBuf};

pub(super) use visits::{Answer, Compared};

/// Options of fetching pages again.
#[derive(Clone, Debug)]
pub struct RecrawlOptions {
    /// When.
    pub schedule: ScheduleOptions,
    /// The calendar on disk.
    pub wheel: WheelOptions,
    /// True if a page whose text is the same counts as unchanged.
    pub by_text: bool,
    /// True if pages are fetched again now; where not, the calendar is only kept.
    pub is_on: bool,
    /// True if the crawl ends when nothing is due.
    pub until_fresh: bool,
}

/// Returns what a schedule had learnt, by the section of a checkpoint; nothing where that is damaged.
pub fn learnt(section: &[u8]) -> &[u8] {
    postcard::take_from_bytes::<(VisitCounts, Sample)>(section).map_or(&[], |(_, learnt)| learnt)
}

/// The part of the engine that fetches pages again.
pub(super) struct Recrawls {
    wheel: Wheel,
    schedule: Schedule,
    options: RecrawlOptions,
    counts: VisitCounts,
    sample: Sample,
    /// True if a slot is being read.
    is_reading: bool,
    /// Time at which this process began with it.
    opened: Time,
    /// The crawl has pages that this calendar has not: it is new, and they are older.
    pub begins_late: bool,
}

impl Recrawls {
    /// The part as `saved` and `sections` have it.
    pub(crate) fn open(
        options: RecrawlOptions,
        disk: &Disk,
        dir: &Path,
        saved: Option<&WheelState>,
        sections: &Sections,
        now: Time,
        is_new_crawl: bool,
    ) -> Result<Recrawls> {
        let begins_late = saved.is_none() && !is_new_crawl;
        let saved = saved.map(|state| SavedState::new(state, &sections.calendar));
        let mut wheel = Wheel::open(disk.clone(), &dir.join(layout::CALENDAR), options.wheel, saved)?;
        let ((counts, sample), learnt): ((VisitCounts, Sample), _) = match saved {
            None => Default::default(),
            Some(_) => postcard::take_from_bytes(&sections.schedule).map_err(|error| {
                Error::damaged(&dir.join(layout::CALENDAR), 0, "counts of visits in the checkpoint", error.to_string())
            })?,
        };
        let sample = Some(sample).filter(Sample::is_sound).unwrap_or_default();
        let schedule = Schedule::new(options.schedule.clone(), learnt);
        wheel.bound_by(schedule.longest());
        Ok(Recrawls { wheel, schedule, options, counts, sample, is_reading: false, opened: now, begins_late })
    }

    /// Files that no cut ever named and that are not needed any more.
    pub fn take_unneeded(&mut self) -> Vec<PathBuf> {
        self.wheel.take_unneeded()
    }

    /// Cuts the calendar, and puts down what was in memory.
    pub fn cut(&mut self, sections: &mut Sections) -> Result<WheelCut> {
        sections.schedule = postcard::to_stdvec(&(self.counts, &self.sample)).expect("they are plain data");
        self.schedule.cut(&mut sections.schedule);
        self.wheel.cut(&mut sections.calendar)
    }

    /// Returns the figures of the calendar.
    pub(crate) fn figures(&mut self, now: Time) -> CalendarFigures {
        let wheel = self.wheel.figures(now);
        let told = self.sample.figures(&self.schedule, now);
        let ms = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        CalendarFigures {
            is_on: self.options.is_on,
            pages: wheel.records,
            bytes: wheel.bytes,
            due_now: wheel.due_now,
            due_today: wheel.due_today,
            next_due_ms: wheel.next.map(|next| ms(next.since(now))),
            late_ms: ms(wheel.late),
            lag_ms: ms(self.schedule.lag()),
            stretch: self.schedule.stretch(),
            mean_age_ms: told.map(|told| ms(told.mean_age)),
            freshness: told.map(|told| told.freshness),
            visits: self.counts,
        }
    }

    /// Returns whether there are pages that wait for their next visit.
    pub(crate) fn has_pages(&self, now: Time) -> bool {
        self.options.is_on && self.wheel.figures(now).records > 0
    }

    /// Returns whether nothing of the calendar keeps the crawl from its end at `now`.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        let is_waiting = match self.options.until_fresh {
            true => self.wheel.next_due(now).is_some_and(|due| due <= now),
            false => self.wheel.figures(now).records > 0,
        };
        !self.options.is_on || !self.is_reading && !is_waiting
    }
}
