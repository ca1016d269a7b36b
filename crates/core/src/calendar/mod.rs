//! The recrawl calendar: when each page of the archive is fetched again.
//!
//! A finished fetch puts one record down for the time at which the page is due again; the record has the queued URL
//! and what earlier visits said of it ([`Past`]). When that time has come, the record is read back, sequentially with
//! all others of its slot, and the URL is queued once more.

pub use wheel::fuzzing;

mod past;
mod priors;
mod rate;
mod recrawl;
mod schedule;
#[cfg(test)]
mod schedule_tests;
mod stretch;
mod visited;
pub mod wheel;

pub use past::{Gone, History, Past};
pub use recrawl::Recrawl;
pub use schedule::{Bounds, Estimate, Found, JITTER, Mode, PageKind, Plan, Rule, Schedule, ScheduleOptions, Visit};
pub use visited::Visited;
pub use wheel::{SlotDone, SlotRead, Wheel, WheelCut, WheelOptions, WheelState};
