//! `logs/crawl.log`: one line an attempt, in the twelve columns that Heritrix writes and its tools read.
//!
//! The columns: time of the entry, status (negative: no answer, the crawler's own code), bytes, URL, discovery path,
//! referrer, MIME type, worker, start and duration, digest, seed, annotations. Every field is escaped, so a line is
//! always one line of twelve columns, whatever a server sent. The log is told, not state: it is not synced, and a line
//! that a crash tore is ended where the next session begins.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::BASE32;

use super::escape::field;
use super::figures::{digits_ms, iso_ms};
use crate::clock::Time;
use crate::disk::{Disk, Mode, Result, Writer};

/// What is gathered before it is written.
const BUFFER_BYTES: usize = 64 << 10;

/// One attempt, as a line tells it.
#[derive(Clone, Debug, Default)]
pub struct LogLine<'a> {
    /// When the attempt ended.
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
    /// When the request began, and how long it took; `None` where none was made.
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
    pub fn render(&self) -> String {
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

/// The open log.
#[derive(Debug)]
pub struct CrawlLog {
    writer: Writer,
}

impl CrawlLog {
    /// Where the log of the crawl in `dir` lies.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join("logs").join("crawl.log")
    }

    /// Opens the log of the crawl in `dir` at its end; makes it where there is none.
    pub fn open(disk: &Disk, dir: &Path) -> Result<Self> {
        Ok(CrawlLog { writer: append_lines(disk, &CrawlLog::path(dir))? })
    }

    /// Appends a line.
    pub fn push(&mut self, line: &LogLine<'_>) -> Result<()> {
        self.writer.push(line.render().as_bytes())
    }

    /// Hands everything to the operating system, for readers of the file.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }
}

/// Opens a file of lines for appending; a last line that was torn is ended.
pub(super) fn append_lines(disk: &Disk, path: &Path) -> Result<Writer> {
    if let Some(parent) = path.parent() {
        disk.create_dir_all(parent)?;
    }
    let file = disk.open(path, Mode::Create)?;
    let len = file.len()?;
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1)?;
    }
    let mut writer = Writer::new(file, len, BUFFER_BYTES);
    if last != [b'\n'] {
        writer.push(b"\n")?;
    }
    Ok(writer)
}

#[cfg(test)]
mod tests {
    use super::*;

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
