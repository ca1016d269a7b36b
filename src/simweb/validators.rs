//! Entity tags and dates of pages: from the body alone, so that a page that has not changed says so.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::answer::SimResponse;

/// What a page with status 200 is known by: a tag, a date, or both; some tags are weak.
#[derive(Debug)]
pub(super) struct Validators {
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
}

impl Validators {
    /// Those of `answer`; other than pages have none.
    pub fn of(answer: &SimResponse) -> Option<Self> {
        if answer.status != 200 || answer.content_type.starts_with("text/plain") {
            return None;
        }
        let sum = crc32fast::hash(&answer.body);
        let weak = if sum & 8 == 0 { "" } else { "W/" };
        // any day of November 2026
        let date = format!("{}, {:02} Nov 2026 10:00:00 GMT", DAYS[(sum % 28) as usize % 7], sum % 28 + 1);
        let value = |text: String| HeaderValue::from_str(&text).expect("the text is ASCII");
        // days are too few to tell editions apart
        let is_edited = answer.edition > 0;
        Some(Validators {
            etag: (is_edited || sum & 3 != 0).then(|| value(format!("{weak}\"{sum:08x}\""))),
            last_modified: (!is_edited && sum & 3 != 1).then(|| value(date)),
        })
    }

    /// Whether what a client has is still the page: by the tag where it sends one, otherwise by the date, as it came.
    pub fn hold(&self, asked: &HeaderMap) -> bool {
        match (asked.get(header::IF_NONE_MATCH), asked.get(header::IF_MODIFIED_SINCE)) {
            (Some(tag), _) => self.etag.as_ref() == Some(tag),
            (None, Some(date)) => self.last_modified.as_ref() == Some(date),
            (None, None) => false,
        }
    }

    /// Puts them among the headers of an answer.
    pub fn put(self, headers: &mut HeaderMap) {
        let pairs: [(HeaderName, Option<HeaderValue>); 2] =
            [(header::ETAG, self.etag), (header::LAST_MODIFIED, self.last_modified)];
        for (name, value) in pairs {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }
}

/// 1 November 2026 is the first of them.
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
