//! The logs of a crawl, for URLs that have no answer: attempts in vain, and URLs that robots.txt forbids.
//!
//! Lines of crawl.log about an answer are passed over: the archive has it. Of an old log that an operator has
//! removed nothing is known.

use serde::Deserialize;

use super::gather::UNDATED;
use super::node::Node;
use crate::dirs::CrawlDirs;
use crate::disk::sorter::Sorter;
use crate::disk::{Disk, Result};
use crate::outcome::Reason;
use crate::record::log_files::for_each_line;
use crate::record::{CrawlLog, ReadLine, SkippedLog};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// A line of skipped.jsonl.
#[derive(Deserialize)]
struct Skipped {
    url: String,
    reason: String,
    #[serde(default)]
    rule: String,
}

/// Adds lines of the URLs of the crawl in `dirs` that have no answer.
pub(super) fn read(disk: &Disk, dirs: &CrawlDirs, keys: &KeyMaker, nodes: &mut Sorter) -> Result<()> {
    let key = |url: &str| {
        let url = CanonicalUrl::parse(url).ok()?;
        Some(keys.plain_spelling(&url).unwrap_or_else(|| url.as_str().to_owned()))
    };
    for dir in dirs.shards() {
        for_each_line(disk, &CrawlLog::path(dir), &mut |line| {
            let Some(line) = ReadLine::parse(line).filter(|line| line.status < 0 && !line.is_prerequisite()) else {
                return Ok(());
            };
            let Some(key) = key(line.url) else { return Ok(()) };
            let time = line.fetched.map_or(UNDATED, |(started, _)| started);
            nodes.push(&Node::Failed(line.failure()).line(&key, time))
        })?;
        for_each_line(disk, &SkippedLog::path(dir), &mut |line| {
            let Ok(line) = serde_json::from_slice::<Skipped>(line) else { return Ok(()) };
            let node = match line.reason {
                reason if reason == Reason::Robots.text() => Node::Forbidden(line.rule),
                reason if reason == Reason::HostGivenUp.text() => Node::Failed(gone(&line.rule)),
                _ => return Ok(()),
            };
            let Some(key) = key(&line.url) else { return Ok(()) };
            nodes.push(&node.line(&key, UNDATED))
        })?;
    }
    Ok(())
}

/// Returns why a host was given up, as far as it is known.
fn gone(rule: &str) -> String {
    let reason = Reason::HostGivenUp;
    match reason.detail(rule) {
        "" => reason.to_string(),
        why => format!("{reason}: {why}"),
    }
}
