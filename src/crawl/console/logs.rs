//! The last requests, from the end of logs/crawl.log of all shards.

use std::path::Path;

use super::directories::{directories, fault};
use crate::console::{Problem, RequestRow};
use crate::disk::Disk;
use crate::record::log_files::last_lines;
use crate::record::{CrawlLog, ReadLine};

/// Bytes that are read of all logs together, and least and most that are read of each.
const BYTES_MAX: usize = 4 << 20;
const BYTES_EACH: (usize, usize) = (64 << 10, 1 << 20);

/// The last `limit` requests of the crawl in `dir`, the newest first.
pub(super) fn requests(dir: &Path, limit: usize) -> Result<Vec<RequestRow>, Problem> {
    let disk = Disk::real();
    let dirs = directories(&disk, dir)?;
    let each = (BYTES_MAX / dirs.shards().len().max(1)).clamp(BYTES_EACH.0, BYTES_EACH.1);
    let mut rows = Vec::new();
    for shard in dirs.shards() {
        let lines = last_lines(&disk, &CrawlLog::path(shard), each).map_err(fault)?;
        let parsed = lines.rsplit(|&byte| byte == b'\n').filter_map(ReadLine::parse);
        rows.extend(parsed.filter_map(|line| row(&line)).take(limit));
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.at));
    rows.truncate(limit);
    Ok(rows)
}

/// A line about a request; other lines tell of URLs that were not asked for.
fn row(line: &ReadLine<'_>) -> Option<RequestRow> {
    let (started, took) = line.fetched?;
    let told = |text: &str, nothing: &str| if text == nothing { String::new() } else { text.to_owned() };
    Some(RequestRow {
        at: started + took,
        status: line.status,
        failure: (line.status < 0).then(|| line.failure()),
        url: line.url.to_owned(),
        bytes: line.bytes.unwrap_or(0),
        mime: told(line.mime, "unknown"),
        millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        via: told(line.via, "-"),
    })
}
