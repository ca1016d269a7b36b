//! What a crawl tells people: live progress, the closing statistics, its logs, and the snapshot that `status` reads.
//!
//! Nothing here decides anything: it is handed counters and prints them. Everything that came from the web passes
//! [`escape`] before it reaches a terminal or a log, so that a page cannot forge a line or move a cursor.

pub mod closing;
pub mod crawl_log;
pub mod escape;
pub mod figures;
mod finish;
mod limited;
mod live;
pub mod log_files;
mod log_line;
pub mod metrics;
mod progress;
mod resting;
mod screen;
pub(crate) mod seconds;
pub mod skipped;
mod snapshot;
mod statistics;

pub use crawl_log::{CrawlLog, LogLine, PolitenessNote};
pub use finish::Finish;
pub use limited::{Limited, LimitedList};
pub use live::{Doing, Live, Rates};
pub use log_line::{ReadLine, origin_of};
pub use progress::{Mode, Progress};
pub use resting::{Resting, RestingHost};
pub use screen::{JsonScreen, Screen};
pub use skipped::SkippedLog;
pub use snapshot::{Layers, SNAPSHOT_FILE, Snapshot, State, StoreBytes, StoreLayers};
pub use statistics::{CheckpointCosts, Gauges, Statistics};
