//! The reasons for which a session of a crawl ends.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason for which a session of a crawl ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// No URL is left.
    Complete,
    /// `crawl.max_pages` is reached.
    PageLimit,
    /// `crawl.max_bytes` is reached.
    ByteLimit,
    /// `crawl.max_time` has passed.
    TimeLimit,
    /// A signal asked for a stop; what was in flight was finished.
    StoppedBySignal,
    /// A second signal asked for a stop at once.
    ForcedBySignal,
    /// The disk has less free space than `crawl.disk_floor`.
    DiskLow,
    /// `crawler ctl stop` asked for a stop; what was in flight was finished.
    StoppedByControl,
    /// Only hosts are left that never answered, and `politeness.linger` has passed.
    OnlySilentHosts,
    /// No page is due: the others are, later (`--until-fresh`).
    Fresh,
    /// No URL is left, but links that one shard has sent to another were not read there.
    LinksLost,
}

impl Finish {
    /// True where the same command line has something left to do.
    pub fn can_resume(self) -> bool {
        self != Finish::Complete
    }
}

impl fmt::Display for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Finish::Complete => "complete: no URL is left",
            Finish::PageLimit => "page limit reached (crawl.max_pages, --max-pages)",
            Finish::ByteLimit => "byte limit reached (crawl.max_bytes)",
            Finish::TimeLimit => "time limit reached (crawl.max_time, --max-time)",
            Finish::StoppedBySignal => "stopped by a signal",
            Finish::ForcedBySignal => "forced to stop by a second signal",
            Finish::DiskLow => "disk low: less free space than crawl.disk_floor",
            Finish::StoppedByControl => "stopped by crawler ctl stop",
            Finish::Fresh => "up to date: no page is due",
            Finish::LinksLost => "not complete: links between shards are lost, and pages may be missing",
            Finish::OnlySilentHosts => "only hosts are left that never answered (politeness.linger)",
        })
    }
}
