//! The figures of the calendar.

use crate::clock::Time;
use crate::engine::Engine;
use crate::record::CalendarFigures;

impl Engine {
    /// Returns the figures of the calendar, where there is one.
    pub(in crate::engine) fn calendar_figures(&mut self, now: Time) -> Option<CalendarFigures> {
        let recrawls = self.admission.recrawls.as_mut()?;
        let wheel = recrawls.wheel.figures(now);
        let told = recrawls.sample.told(&recrawls.schedule, now);
        let ms = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Some(CalendarFigures {
            is_on: recrawls.options.is_on,
            pages: wheel.records,
            bytes: wheel.bytes,
            due_now: wheel.due_now,
            due_today: wheel.due_today,
            next_due_ms: wheel.next.map(|next| ms(next.since(now))),
            late_ms: ms(wheel.late),
            lag_ms: ms(recrawls.schedule.lag()),
            stretch: recrawls.schedule.stretch(),
            mean_age_ms: told.map(|told| ms(told.mean_age)),
            freshness: told.map(|told| told.freshness),
            visits: recrawls.counts,
        })
    }
}
