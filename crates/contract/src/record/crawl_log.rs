//! `logs/crawl.log`: one line an attempt, in the twelve columns that Heritrix writes and its tools read.
//!
//! The columns: time of the entry, status (negative: no answer, the crawler's own code), bytes, URL, discovery path,
//! referrer, MIME type, worker, start and duration, digest, seed, annotations. Every field is escaped, so a line is
//! always one line of twelve columns, whatever a server sent. Beside it is `logs/politeness.jsonl`: a line for every
//! change of the settings that say how a host is to be treated, so that anyone who reads the log can judge the gaps in
//! it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::BASE32;

use serde::{Deserialize, Serialize};

use super::layout;
use super::log_files::LogFile;
use crate::clock::Time;
use crate::disk::{Disk, Result};
use crate::frontier::Politeness;
use crate::text::escape::field;
use crate::text::figures::{digits_ms, iso_ms};

/// The annotation of a page whose links are not followed because too many pages of its host say nearly the same.
pub const SAME_TEXT: &str = "sameText";

/// One attempt, as a line has it.
#[derive(Clone, Debug, Default)]
pub struct LogLine<'a> {
    /// Time at which the attempt ended.
    pub time: Time,
    /// Status of the answer, or the code of the failure or reason.
    pub status: i32,
    /// Bytes of the body; `None` where nothing came.
    pub bytes: Option<u64>,
    /// The URL that was asked for.
    pub url: &'a str,
    /// Its discovery path; empty for a seed.
    pub hops: &'a str,
    /// The page that named it; empty for none.
    pub via: &'a str,
    /// MIME type without parameters; empty where nothing was said.
    pub mime: &'a str,
    /// Number of the worker.
    pub worker: u32,
    /// Begin and duration of the request; `None` where none was made.
    pub fetched: Option<(Time, Duration)>,
    /// SHA-1 of the payload.
    pub sha1: Option<[u8; 20]>,
    /// The seed that it descends from; empty where it is not known.
    pub seed: &'a str,
    /// Notes, such as `3t` (third attempt) or `revisit`.
    pub annotations: &'a [&'a str],
}

impl LogLine<'_> {
    /// The line, with its end.
    pub(crate) fn render(&self) -> String {
        let mut line = iso_ms(self.time);
        let bytes = self.bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
        let _ = write!(line, " {:>5} {bytes:>10}", self.status);
        for text in [self.url, self.hops, self.via] {
            line.push(' ');
            line.push_str(&field(text));
        }
        let mime = if self.mime.is_empty() { "unknown" } else { self.mime };
        let _ = write!(line, " {} #{:03}", field(mime), self.worker);
        match self.fetched {
            Some((start, took)) => drop(write!(line, " {}+{}", digits_ms(start), took.as_millis())),
            None => line.push_str(" -"),
        }
        match self.sha1 {
            Some(digest) => drop(write!(line, " sha1:{}", BASE32.encode(&digest))),
            None => line.push_str(" -"),
        }
        let _ = writeln!(line, " {} {}", field(self.seed), field(&self.annotations.join(",")));
        line
    }
}

/// Settings by which requests were made from a moment on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolitenessNote {
    /// Moment from which the settings held.
    pub since: Time,
    /// Politeness towards a host, where no setting for a site says otherwise.
    pub politeness: Politeness,
    /// Excerpt of the configuration: those of the settings for single sites that say how their hosts are treated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<serde_json::Value>,
}

/// The open log.
#[derive(Debug)]
pub struct CrawlLog {
    lines: LogFile,
    notes: LogFile,
    noted: Option<(Politeness, String)>,
}

impl CrawlLog {
    /// Returns the path of the log of the crawl in `dir`.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(layout::LOGS).join("crawl.log")
    }

    /// Returns the path of the settings by which the requests in the log were made.
    pub fn notes_path(dir: &Path) -> PathBuf {
        dir.join(layout::LOGS).join("politeness.jsonl")
    }

    /// Opens the log of the crawl in `dir` at its end; makes it where there is none.
    pub fn open(disk: &Disk, dir: &Path) -> Result<Self> {
        let (lines, notes) =
            (LogFile::open(disk, CrawlLog::path(dir))?, LogFile::open(disk, CrawlLog::notes_path(dir))?);
        Ok(CrawlLog { lines, notes, noted: None })
    }

    /// The log with a limit of the size of a file.
    pub fn rolled_at(mut self, bytes_max: Option<u64>) -> Self {
        self.lines = self.lines.rolled_at(bytes_max);
        self
    }

    /// Appends a line.
    pub fn push(&mut self, line: &LogLine<'_>) -> Result<()> {
        self.lines.push(line.render().as_bytes())
    }

    /// Notes that requests are made by `politeness` from `now` on, and at some hosts by what `sites` says, if that was
    /// not noted last.
    pub fn note(&mut self, politeness: &Politeness, sites: &str, now: Time) -> Result<()> {
        if self.noted.as_ref().is_some_and(|(noted, of_sites)| noted == politeness && of_sites == sites) {
            return Ok(());
        }
        self.noted = Some((politeness.clone(), sites.to_owned()));
        let sites = serde_json::from_str(sites).ok();
        let note = PolitenessNote { since: now, politeness: politeness.clone(), sites };
        let mut line = serde_json::to_vec(&note).expect("settings consist of plain data");
        line.push(b'\n');
        self.notes.push(&line)?;
        self.notes.flush()
    }

    /// Hands everything to the operating system, for readers of the file.
    pub fn flush(&mut self) -> Result<()> {
        self.lines.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Mode;

    fn line() -> LogLine<'static> {
        LogLine {
            time: Time::from_ms(1_114_650_976_100),
            status: 200,
            bytes: Some(16_024),
            url: "http://example.com/a",
            hops: "LLE",
            via: "http://example.com/",
            mime: "text/html",
            worker: 7,
            fetched: Some((Time::from_ms(1_114_650_975_990), Duration::from_millis(104))),
            sha1: Some([0; 20]),
            seed: "http://example.com/",
            annotations: &["2t", "revisit"],
        }
    }

    #[test]
    fn a_line_has_the_twelve_columns() {
        let expected = "2005-04-28T01:16:16.100Z   200      16024 http://example.com/a LLE http://example.com/ \
                        text/html #007 20050428011615990+104 sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA \
                        http://example.com/ 2t,revisit\n";
        assert_eq!(line().render(), expected);
        assert_eq!(LogLine { status: -9998, ..LogLine::default() }.render().split_whitespace().count(), 12);
    }

    #[test]
    fn no_field_from_the_web_forges_a_line_or_a_column() {
        let hostile = "x\r\n2005 200 \x1b[2J\u{202e} y";
        let line = LogLine { url: hostile, via: hostile, mime: hostile, seed: hostile, ..line() }.render();
        assert_eq!(line.split_whitespace().count(), 12, "{line}");
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.contains('\x1b') && !line.contains('\u{202e}'));
    }

    #[test]
    fn settings_are_noted_when_they_change_and_once_a_session() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let (usual, other) = (Politeness::default(), Politeness { dead_after: 9, ..Politeness::default() });
        for _ in 0..2 {
            let mut log = CrawlLog::open(&disk, dir.path()).unwrap();
            for (ms, politeness) in [(1, &usual), (2, &usual), (3, &other), (4, &usual)] {
                log.note(politeness, "", Time::from_ms(ms)).unwrap();
            }
            let sites = r#"{"site":[{"host":["a.example"],"delay_min":null}]}"#;
            log.note(&usual, sites, Time::from_ms(5)).unwrap();
            log.note(&usual, sites, Time::from_ms(6)).unwrap();
        }
        let text = std::fs::read_to_string(CrawlLog::notes_path(dir.path())).unwrap();
        let notes: Vec<PolitenessNote> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(notes.iter().map(|note| note.since.ms()).collect::<Vec<_>>(), [1, 3, 4, 5, 1, 3, 4, 5]);
        assert!(notes[2].sites.is_none() && notes[3].sites.is_some());
        assert_eq!(notes[1].politeness, other);
    }

    #[test]
    fn a_line_torn_by_a_crash_does_not_join_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::real();
        for _ in 0..2 {
            let mut log = CrawlLog::open(&disk, dir.path()).unwrap();
            log.push(&line()).unwrap();
            log.flush().unwrap();
        }
        let path = CrawlLog::path(dir.path());
        let file = disk.open(&path, Mode::Write).unwrap();
        file.set_len(file.len().unwrap() - 30).unwrap();
        let mut log = CrawlLog::open(&disk, dir.path()).unwrap();
        log.push(&line()).unwrap();
        log.flush().unwrap();
        let content = String::from_utf8(disk.read(&path).unwrap()).unwrap();
        let lines: Vec<&str> = content.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], lines[2]);
    }
}
