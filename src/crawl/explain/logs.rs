//! The newest line about something in a log, whatever the number of its files.

use std::path::Path;

use super::model::Skipped;
use crate::disk::{Disk, Result};
use crate::record::log_files::newest_line;
use crate::record::{CrawlLog, SAME_TEXT, SkippedLog};
use crate::text::escape::{field, json_line};

/// The newest line of logs/skipped.jsonl about `url`.
pub(super) fn skipped(disk: &Disk, dir: &Path, url: &str) -> Result<Option<Skipped>> {
    let Ok(text) = json_line(&url) else { return Ok(None) };
    let start = format!("{{\"url\":{text},");
    let line = newest_line(disk, &SkippedLog::path(dir), &|line| line.starts_with(start.as_bytes()))?;
    let line: Option<serde_json::Value> = line.and_then(|line| serde_json::from_slice(&line).ok());
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Ok(line.map(|line| Skipped { reason: text(&line["reason"]), rule: text(&line["rule"]) }))
}

/// The last line of logs/crawl.log about `url`.
pub(super) fn attempt(disk: &Disk, dir: &Path, url: &str) -> Result<Option<String>> {
    const URL_COLUMN: usize = 3;
    let wanted = field(url);
    let is_about = |line: &[u8]| {
        let mut columns = line.split(|&byte| byte == b' ').filter(|column| !column.is_empty());
        columns.nth(URL_COLUMN) == Some(wanted.as_bytes())
    };
    let line = newest_line(disk, &CrawlLog::path(dir), &is_about)?;
    Ok(line.map(|line| String::from_utf8_lossy(&line).into_owned()))
}

/// True if a line of logs/crawl.log says that the links of its page are not followed, because it is one of many that
/// say nearly the same.
pub(super) fn is_one_of_many(line: &str) -> bool {
    let notes = line.rsplit(' ').next().unwrap_or_default();
    notes.split(',').any(|note| note == SAME_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Reason;

    #[test]
    fn the_newest_line_is_found_wherever_blocks_begin() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        assert_eq!(skipped(&disk, dir.path(), "http://a/").unwrap(), None);
        // in one file and in several
        let mut log = SkippedLog::open(&disk, dir.path()).unwrap().rolled_at(Some(200 << 10));
        log.push("http://first/\x1b", Reason::Robots, "Disallow: /").unwrap();
        for number in 0..12_000 {
            log.push(&format!("http://a/{number}"), Reason::Scope, "").unwrap();
        }
        log.push("http://a/5", Reason::Trap, "again").unwrap();
        log.flush().unwrap();
        let found = |url: &str| skipped(&disk, dir.path(), url).unwrap().map(|line| line.reason);
        assert_eq!(found("http://a/5").as_deref(), Some("trap rule"));
        assert_eq!(found("http://first/\x1b").as_deref(), Some("robots.txt"));
        for number in [0, 1, 3_999, 7_000, 11_999] {
            assert_eq!(found(&format!("http://a/{number}")).as_deref(), Some("out of scope"), "{number}");
        }
        assert_eq!(found("http://a/12000"), None);
        assert_eq!(found("http://a/1\",\"x"), None);
    }

    #[test]
    fn a_line_that_is_being_written_and_one_without_end_are_none() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let path = CrawlLog::path(dir.path());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let line = |status: u16, url: &str| format!("2026-11-21T00:00:00.000Z {status:>5}         12 {url} - - x");
        let text = format!("{}\n{}\n{}", line(200, "http://a/"), "x".repeat(5 << 20), line(404, "http://a/"));
        std::fs::write(&path, text).unwrap();
        let found = attempt(&disk, dir.path(), "http://a/").unwrap().unwrap();
        assert!(found.contains("   200 "), "{found}");
        assert_eq!(attempt(&disk, dir.path(), "http://b/").unwrap(), None);
        std::fs::write(&path, "no line end").unwrap();
        assert_eq!(attempt(&disk, dir.path(), "line").unwrap(), None);
    }
}
