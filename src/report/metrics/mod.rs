//! The metrics of a crawl in the text format of Prometheus.
//!
//! Names follow its conventions: `crawler_` first, base units, the unit last, `_total` on counters. Counters go on over
//! sessions as the statistics do; after a kill they may fall back to the last checkpoint, which Prometheus takes for a
//! reset. docs/OPERATING.md lists all of them, and a test holds the list to be whole.

mod calendar;
mod families;
mod rounds;
mod sinks;
mod text;

pub use families::{Process, render};
pub use sinks::SinkCounters;
