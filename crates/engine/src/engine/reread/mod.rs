//! The archive, read again and taken into the crawl: by a start, or because something is known now that was not when a
//! page came.
//!
//! | part | when |
//! |---|---|
//! | [`late_calendar`] | a start that has a calendar for the first time |
//! | [`late_support`] | a start that counts supporters for the first time; the domains of seeds, at each start |
//! | [`replay`] | each start: what was stored after the last checkpoint |
//! | [`resend`] | a start behind links between shards that are lost |
//! | [`nearer`] | a crawl with a limit of depth that has found a shorter way to a page |

mod late_calendar;
mod late_support;
mod nearer;
mod replay;
mod resend;

pub(super) use late_calendar::LateCalendar;
pub(super) use late_support::LateSupport;
pub(super) use nearer::NearerPages;
pub(super) use replay::Replay;
pub(super) use resend::Resend;
