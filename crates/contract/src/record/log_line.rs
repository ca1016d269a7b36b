//! A line of crawl.log read back: the twelve columns, and the annotations by name.

use std::time::Duration;

use crate::clock::Time;
use crate::outcome::{Cause, code_text};
use crate::text::escape::field;

/// One attempt as its line has it. Texts are escaped as they are in the log.
#[derive(Clone, Copy, Debug)]
pub struct ReadLine<'a> {
    /// Status of the answer, or the code of the failure or reason.
    pub status: i32,
    /// Bytes of the body; `None` where nothing came.
    pub bytes: Option<u64>,
    /// The URL that was asked for.
    pub url: &'a str,
    /// Its discovery path; `-` for a seed.
    pub hops: &'a str,
    /// The page that named it; `-` for none.
    pub via: &'a str,
    /// MIME type; `unknown` where nothing was said.
    pub mime: &'a str,
    /// Number of the worker.
    pub worker: u32,
    /// Begin and duration of the request; `None` where none was made.
    pub fetched: Option<(Time, Duration)>,
    /// Digest of the payload, in Base32.
    pub sha1: Option<&'a str>,
    annotations: &'a str,
}

impl<'a> ReadLine<'a> {
    /// Reads a line; `None` for what is no line of the log.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let mut columns = line.split(' ').filter(|column| !column.is_empty());
        let _time = columns.next()?;
        let (status, bytes) = (columns.next()?.parse().ok()?, columns.next()?);
        let (url, hops, via) = (columns.next()?, columns.next()?, columns.next()?);
        let (mime, worker) = (columns.next()?, columns.next()?.strip_prefix('#')?.parse().ok()?);
        let fetched = match columns.next()? {
            "-" => None,
            fetched => {
                let (start, took) = fetched.split_once('+')?;
                Some((time_of_digits(start)?, Duration::from_millis(took.parse().ok()?)))
            }
        };
        let sha1 = columns.next()?.strip_prefix("sha1:");
        let (_seed, annotations) = (columns.next()?, columns.next()?);
        if columns.next().is_some() {
            return None;
        }
        let bytes = if bytes == "-" { None } else { Some(bytes.parse().ok()?) };
        Some(ReadLine { status, bytes, url, hops, via, mime, worker, fetched, sha1, annotations })
    }

    /// True if `note` is among the annotations.
    pub fn has_note(&self, note: &str) -> bool {
        self.annotations.split(',').any(|word| word == note)
    }

    /// Returns why there was no answer, in the most detail that the annotations have: the cause is the last of them.
    pub fn cause(&self) -> Option<Cause> {
        let is_last = |cause: &Cause| {
            let before = self.annotations.strip_suffix(&*field(&cause.to_string()));
            before.is_some_and(|before| before.is_empty() || before.ends_with(','))
        };
        Cause::ALL.iter().copied().find(is_last)
    }

    /// Returns the failure of an attempt that brought no answer, in words: by the annotations or else by the code.
    pub fn failure(&self) -> String {
        let by_code = || Some(code_text(self.status)).filter(|words| !words.is_empty());
        let words = self.cause().map(|cause| cause.failure().to_string()).or_else(by_code);
        words.unwrap_or_else(|| "no answer".to_owned())
    }

    /// Returns the text after `name:` among the annotations.
    pub fn annotation(&self, name: &str) -> Option<&'a str> {
        self.annotations.split(',').find_map(|note| note.strip_prefix(name)?.strip_prefix(':'))
    }

    /// A time in seconds behind `name:` among the annotations.
    pub fn seconds(&self, name: &str) -> Option<Duration> {
        Duration::try_from_secs_f64(self.annotation(name)?.parse().ok()?).ok()
    }

    /// True if the request was made for the sake of another one: for a robots.txt, for the target of its redirect, or
    /// for a login.
    pub fn is_prerequisite(&self) -> bool {
        self.hops.trim_end_matches('R').ends_with('P')
    }

    /// True if the request was a step of a login.
    pub(crate) fn is_login(&self) -> bool {
        self.has_note("login")
    }

    /// True if the request was for a robots.txt, or for the target of its redirect.
    pub fn is_robots(&self) -> bool {
        self.is_prerequisite() && !self.is_login()
    }

    /// `scheme://host:port` of what was asked for; `None` for a lookup of a name.
    pub fn origin(&self) -> Option<&'a str> {
        origin_of(self.url)
    }
}

/// `scheme://host:port` of a URL in the fetch form, which has no user information.
pub fn origin_of(url: &str) -> Option<&str> {
    let scheme = url.find("://")?;
    let rest = &url[scheme + 3..];
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    Some(&url[..scheme + 3 + host])
}

/// The host name of an origin, without its port; an IPv6 address stays in its brackets.
pub fn name_of(origin: &str) -> &str {
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    let end_of_v6 = authority.find(']').map_or(0, |end| end + 1);
    let port = authority[end_of_v6..].find(':').map_or(authority.len(), |colon| end_of_v6 + colon);
    &authority[..port]
}

/// The moment that [`super::figures::digits_ms`] wrote.
fn time_of_digits(digits: &str) -> Option<Time> {
    if digits.len() != 17 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize, to: usize| digits[from..to].parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second, ms) = (number(8, 10)?, number(10, 12)?, number(12, 14)?, number(14, 17)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // years begin with March, so that a leap day is the last one
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(Time::from_ms((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + ms))
}

#[cfg(test)]
mod tests {
    use super::super::{CrawlLog, LogLine};
    use super::*;
    use crate::disk::Disk;
    use crate::text::figures::digits_ms;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let mut log = CrawlLog::open(&disk, dir.path()).unwrap();
        let started = Time::from_ms(1_114_650_975_990);
        let line = LogLine {
            time: started,
            status: 503,
            bytes: Some(16_024),
            url: "https://example.com:81/robots.txt?a b",
            hops: "LPRR",
            mime: "text/plain",
            worker: 7,
            fetched: Some((started, Duration::from_millis(104))),
            sha1: Some([0; 20]),
            annotations: &["2t", "crawlDelay:2.5", "retryAfter:120"],
            ..LogLine::default()
        };
        log.push(&line).unwrap();
        log.push(&LogLine { url: "dns:example.com", status: -1, ..LogLine::default() }).unwrap();
        log.push(&LogLine { url: "http://a.example/in", hops: "LP", annotations: &["login"], ..line }).unwrap();
        let refused = &["no connection", "connection refused"];
        log.push(&LogLine { url: "http://a.example/", status: -8, annotations: refused, ..line }).unwrap();
        log.flush().unwrap();
        let text = std::fs::read_to_string(CrawlLog::path(dir.path())).unwrap();
        let lines: Vec<ReadLine<'_>> = text.lines().map(|line| ReadLine::parse(line.as_bytes()).unwrap()).collect();
        let first = lines[0];
        assert_eq!((first.status, first.bytes, first.worker), (503, Some(16_024), 7));
        assert_eq!((first.origin(), first.mime), (Some("https://example.com:81"), "text/plain"));
        assert_eq!(first.fetched, line.fetched);
        assert_eq!(first.sha1, Some("A".repeat(32).as_str()));
        assert_eq!(first.seconds("crawlDelay"), Some(Duration::from_millis(2_500)));
        assert_eq!(first.annotation("retryAfter"), Some("120"));
        assert_eq!(first.annotation("retry"), None);
        assert!(first.is_robots());
        assert_eq!((lines[1].origin(), lines[1].fetched, lines[1].sha1), (None, None, None));
        assert!(!lines[1].is_robots());
        let failures = [1, 3].map(|line: usize| lines[line].failure());
        assert_eq!(failures, ["no such host or DNS failed", "no connection"]);
        assert!(lines[2].is_prerequisite() && lines[2].is_login() && !lines[2].is_robots());
    }

    #[test]
    fn times_are_read_as_they_were_written_on_random_days() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let time = Time::from_ms(random.u64(..253_402_300_800_000));
            assert_eq!(time_of_digits(&digits_ms(time)), Some(time));
        }
        for wrong in ["", "2005042801161510", "20050428011615+90", "00000428011615990", "20051328011615990"] {
            assert_eq!(time_of_digits(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_line_is_none() {
        let whole = LogLine { url: "http://a/", fetched: Some((Time::ZERO, Duration::ZERO)), ..LogLine::default() };
        let whole = whole.render();
        let whole = whole.trim_end().as_bytes();
        assert!(ReadLine::parse(whole).is_some());
        for length in 0..whole.len() - 1 {
            assert!(ReadLine::parse(&whole[..length]).is_none(), "{length}");
        }
        let mut random = fastrand::Rng::with_seed(8);
        for _ in 0..5_000 {
            let mut line = whole.to_vec();
            let at = random.usize(..line.len());
            line[at] = random.u8(..);
            let _ = ReadLine::parse(&line).map(|line| (line.origin(), line.is_robots(), line.seconds("x")));
        }
    }
}
