//! `logs/skipped.jsonl`: one JSON line for every URL that was admitted and not asked for, with the reason and, where it
//! is at hand, the rule that decided. Links that processing leaves out are counted, not listed, but for those that are
//! too deep.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::layout;
use super::log_files::LogFile;
use crate::disk::{Disk, Result};
use crate::outcome::Reason;
use crate::text::escape::json_line;

/// The open log.
#[derive(Debug)]
pub struct SkippedLog {
    lines: LogFile,
}

#[derive(Serialize)]
struct SkippedEntry<'a> {
    url: &'a str,
    reason: String,
    rule: &'a str,
}

impl SkippedLog {
    /// Returns the path of the log of the crawl in `dir`.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(layout::LOGS).join("skipped.jsonl")
    }

    /// Opens the log of the crawl in `dir` at its end; makes it where there is none.
    pub fn open(disk: &Disk, dir: &Path) -> Result<Self> {
        Ok(SkippedLog { lines: LogFile::open(disk, SkippedLog::path(dir))? })
    }

    /// The log with a limit of the size of a file.
    pub fn rolled_at(mut self, bytes_max: Option<u64>) -> Self {
        self.lines = self.lines.rolled_at(bytes_max);
        self
    }

    /// Appends a line: `rule` is what decided, such as `Disallow: /private`; empty where that is not known.
    pub fn push(&mut self, url: &str, reason: Reason, rule: &str) -> Result<()> {
        let line = SkippedEntry { url, reason: reason.to_string(), rule };
        let mut line = json_line(&line).expect("strings always have a JSON form");
        line.push('\n');
        self.lines.push(line.as_bytes())
    }

    /// Hands everything to the operating system, for readers of the file.
    pub fn flush(&mut self) -> Result<()> {
        self.lines.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Failure;

    #[test]
    fn a_skipped_url_leaves_one_line_with_reason_and_rule() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::real();
        let mut log = SkippedLog::open(&disk, dir.path()).unwrap();
        log.push("https://example.com/private", Reason::Robots, "Disallow: /private").unwrap();
        log.push("https://example.com/\x1b\n", Reason::Scope, "scope.mode = \"domain\"").unwrap();
        log.flush().unwrap();
        let content = String::from_utf8(disk.read(SkippedLog::path(dir.path())).unwrap()).unwrap();
        let lines: Vec<serde_json::Value> = content.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["reason"], "robots.txt");
        assert_eq!(lines[0]["rule"], "Disallow: /private");
        assert_eq!(lines[1]["url"], "https://example.com/\x1b\n");
        assert!(!content.contains('\x1b'));
    }

    #[test]
    fn the_documentation_lists_every_reason_and_every_failure_with_code_and_setting() {
        let document = include_str!("../../../../docs/OPERATING.md");
        let rows: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
        let reasons = Reason::ALL.iter().map(|reason| (reason.text(), reason.code(), reason.setting()));
        let failures = Failure::ALL.iter().map(|failure| (failure.text(), failure.code(), failure.setting()));
        for (text, code, setting) in reasons.chain(failures) {
            let start = format!("| `{text}` | {code} | ");
            let row = rows.iter().find(|row| row.starts_with(&start));
            let row = row.unwrap_or_else(|| panic!("no row begins with {start}"));
            assert!(setting.is_none_or(|setting| row.contains(&format!("`{setting}`"))), "{row} lacks {setting:?}");
        }
    }
}
