//! The logs that `explain` looks through, as any bytes.

use std::path::Path;

use super::logs;
use crate::disk::MemoryDisk;
use crate::record::{CrawlLog, SkippedLog};

/// The newest line about a URL, in both logs. The first line of the input is the URL.
pub(crate) fn logs(bytes: &[u8]) -> bool {
    let (memory, dir) = (MemoryDisk::default(), Path::new("crawl"));
    let (url, log) = bytes.split_at(memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()));
    let url = String::from_utf8_lossy(url);
    memory.put(CrawlLog::path(dir), log.to_vec());
    memory.put(SkippedLog::path(dir), log.to_vec());
    let skipped = logs::skipped(&memory.disk(), dir, &url).expect("the disk does not fail");
    let attempt = logs::attempt(&memory.disk(), dir, &url).expect("the disk does not fail");
    assert!(attempt.as_ref().is_none_or(|line| !line.contains('\n')));
    skipped.is_some() || attempt.is_some()
}
