//! Records that a crawl keeps of itself: its counters, how it ended, its two logs, and the snapshot that `status`
//! reads.
//!
//! The engine fills it, `report` and the commands read it. Nothing here decides anything. What came
//! from the web passes [`escape`](crate::text::escape) before it reaches a log, so that a page cannot forge a line.

mod bottleneck;
mod calendar;
mod constraints;
pub mod crawl_log;
mod finish;
mod histogram;
pub mod layout;
pub mod limited;
mod live;
pub mod log_files;
mod log_line;
mod named_file;
mod oddities;
mod queued_hosts;
mod rendering;
mod resting;
mod rounds;
pub mod seconds;
pub mod skipped;
mod snapshot;
mod statistics;
mod sum;
mod sum_calendar;
mod time_left;
mod workers;

pub use bottleneck::Bottleneck;
pub use calendar::{CalendarFigures, VisitCounts};
pub use constraints::{Constraints, CrawlLimits, DiskWait};
pub use crawl_log::SAME_TEXT;
pub use crawl_log::{CrawlLog, LogLine, PolitenessNote};
pub use finish::Finish;
pub use histogram::Histogram;
pub use limited::{Limited, LimitedList};
pub use live::{Doing, Live, Rates, ShardLive};
pub use log_line::origin_of;
pub use log_line::{ReadLine, name_of};
pub use named_file::{FileKind, NamedFile};
pub use oddities::{Oddities, Oddity};
pub use queued_hosts::{QueuedHost, QueuedHosts};
pub use rendering::RenderFigures;
pub use resting::{Resting, RestingHost};
pub use rounds::RoundFigures;
pub use skipped::SkippedLog;
pub use snapshot::{Layers, Snapshot, State, StoreBytes, StoreLayers};
pub use statistics::{CheckpointCosts, Gauges, Statistics};
pub use time_left::{TimeLeft, Until};
pub use workers::{Workers, WorkersBound};
