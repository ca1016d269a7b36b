//! The figures of the calendar.

use super::Recrawls;
use crate::clock::Time;
use crate::record::CalendarFigures;

impl Recrawls {
    /// Returns the figures of the calendar.
    pub fn figures(&mut self, now: Time) -> CalendarFigures {
        let wheel = self.wheel.figures(now);
        let told = self.sample.told(&self.schedule, now);
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
}
