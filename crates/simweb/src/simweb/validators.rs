//! Entity tags and dates of pages: by the version where pages change by the clock, and otherwise from the body alone,
//! so that a page that has not changed says so.

use std::time::{Duration, SystemTime};

use super::answer::SimResponse;
use super::version::Tagging;

/// Validators of a page with status 200: a tag, a date, or both. Some tags are weak.
#[derive(Debug)]
pub(super) struct Validators {
    etag: Option<String>,
    last_modified: Option<String>,
}

impl Validators {
    /// Those of `answer`; other than pages have none, and walls have none.
    pub(crate) fn of(answer: &SimResponse) -> Option<Self> {
        if answer.status != 200 || answer.content_type.starts_with("text/plain") || answer.wall.is_some() {
            return None;
        }
        let sum = crc32fast::hash(&answer.body);
        let weak = if sum & 8 == 0 { "" } else { "W/" };
        let Some(version) = answer.version else {
            // any day of November 2026
            let date = format!("{}, {:02} Nov 2026 10:00:00 GMT", DAYS[(sum % 28) as usize % 7], sum % 28 + 1);
            return Some(Validators {
                etag: (sum & 3 != 0).then(|| format!("{weak}\"{sum:08x}\"")),
                last_modified: (sum & 3 != 1).then_some(date),
            });
        };
        let date = || httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(version.changed.ms()));
        let tag = || format!("{weak}\"{:x}-{sum:08x}\"", version.changed.ms() / 1_000);
        let has = |tagging| version.tagging == tagging || version.tagging == Tagging::Both;
        let (etag, last_modified) = (has(Tagging::Etag).then(tag), has(Tagging::Date).then(date));
        (etag.is_some() || last_modified.is_some()).then_some(Validators { etag, last_modified })
    }

    /// Returns whether a client's copy is still the page: by the tag where it sends one, otherwise by the date, as it
    /// came.
    pub(crate) fn hold(&self, tag: Option<&[u8]>, date: Option<&[u8]>) -> bool {
        let is = |own: &Option<String>, asked: &[u8]| own.as_ref().is_some_and(|own| own.as_bytes() == asked);
        match (tag, date) {
            (Some(tag), _) => is(&self.etag, tag),
            (None, Some(date)) => is(&self.last_modified, date),
            (None, None) => false,
        }
    }

    /// The headers of an answer.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let pairs = [("etag", &self.etag), ("last-modified", &self.last_modified)];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// 1 November 2026 is the first of them.
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
