//! Reports of a crawl for people while it runs and when it ends: the live display, the closing statistics, the metrics.
//!
//! Nothing here decides anything: it is handed a [`record`](crate::record) of the crawl and prints it. Everything that
//! came from the web passes [`escape`](crate::text::escape) before it reaches a terminal, so that a page cannot forge a
//! line or move a cursor.

pub(crate) mod closing;
pub(crate) mod closing_json;
pub(crate) mod metrics;
mod moment;
mod progress;
mod screen;

pub use progress::{Mode, Progress};
pub use screen::{JsonScreen, Screen};
