//! The newest line about something in a log: from the end of the file backwards, in the memory of a block and a line.

use std::path::Path;

use super::model::Skipped;
use crate::disk::{Disk, Result};
use crate::report::escape::{field, json_line};
use crate::report::{CrawlLog, SkippedLog};

const BLOCK_BYTES: usize = 256 << 10;
/// No line of ours is longer; what is passes for no line.
const LINE_BYTES_MAX: usize = 2 << 20;

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

/// The last whole line of the file at `path` that `is_wanted`; none where there is no such file.
fn newest_line(disk: &Disk, path: &Path, is_wanted: &dyn Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
    let Some(file) = disk.open_if_there(path)? else { return Ok(None) };
    let mut start = file.len()?;
    // what lies behind `start` up to the next line end: the rest of a line that began before
    let mut rest: Vec<u8> = Vec::new();
    let mut is_whole = false;
    while start > 0 {
        let count = BLOCK_BYTES.min(usize::try_from(start).unwrap_or(BLOCK_BYTES));
        start -= count as u64;
        let mut block = vec![0; count];
        file.read_exact_at(&mut block, start)?;
        block.append(&mut rest);
        let mut end = block.len();
        while let Some(at) = memchr::memrchr(b'\n', &block[..end]) {
            // behind the last line end of the file lies a line that is being written
            if is_whole && is_wanted(&block[at + 1..end]) {
                return Ok(Some(block[at + 1..end].to_vec()));
            }
            is_whole = true;
            end = at;
        }
        block.truncate(end);
        if block.len() > LINE_BYTES_MAX {
            block.clear();
        }
        rest = block;
    }
    Ok((is_whole && is_wanted(&rest)).then_some(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Reason;

    #[test]
    fn the_newest_line_is_found_wherever_blocks_begin() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        assert_eq!(skipped(&disk, dir.path(), "http://a/").unwrap(), None);
        let mut log = SkippedLog::open(&disk, dir.path()).unwrap();
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
