//! WARC 1.1 records (ISO 28500:2017): built from an answered request, and read back.
//!
//! Pure functions of bytes. [`Encoder::encode`] makes the records of an exchange, in the order in which they are in a
//! value file:
//!
//! | record | holds |
//! |---|---|
//! | `metadata` | how the URL was found and fetched: via, hops, depth, seed, attempt, time; a replay needs it |
//! | `request` | the head that was sent (where the configuration wants it) |
//! | `conversion` | of a page that was rendered: the page as it was then ([`Rendition`]) |
//! | `resource` | pictures of it, where they are wanted |
//! | `response` | status line and headers in HTTP/1.1 syntax, body as sent without transfer encoding |
//! | or `revisit` | the same head without the body, and which response has it (`Encoder::revisit`) |
//!
//! Each record is compressed alone, so a reader seeks to any of them. The HTTP client hands over the status and the
//! headers in order but not their bytes, so heads are rebuilt: `Transfer-Encoding` is renamed to
//! `MASKED_TRANSFER_ENCODING` (the body carries none any more) and `Content-Length` is the stored body's.
//! `Content-Encoding` stays with its encoded body. Every warcinfo record says so.

mod address;
pub(crate) mod chunks;
mod digest;
mod encode;
mod pack;
mod read;
pub(crate) mod resource;
mod short;

pub use crate::web::headers::Header;
pub use crate::web::warc_date::{format_date, parse_date};
pub use address::has_request;
pub use digest::{digest, payload_sha1};
pub use encode::{
    Encoder, Exchange, Profile, REVISIT_PAYLOAD_MIN, Records, Reference, Rendition, Revisit, RevisitDraft, id_of,
    id_seed,
};
pub(crate) use encode::{
    OUTLINK_FIELD, PAYLOAD_IN_FIELD, RENDERING_FIELD, RENDERING_PURPOSE, WAS_REVISIT_FIELD, head_of, is_packed,
    metadata_id, seed_of_id, with_field,
};
pub use pack::Compression;
pub use pack::GZIP_HEAD;
pub use read::read_head;
pub use read::{Record, RecordReader, parse_http_head};
pub(crate) use read::{body_at, parse_status_line};

/// Name under which a response's `Transfer-Encoding` is kept.
pub(crate) const MASKED_TRANSFER_ENCODING: &str = "x-crawler-transfer-encoding";

/// The protocol that an answer came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0 or older.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2, written down in HTTP/1.1 syntax.
    Http2,
}

/// Reasons why a URL is fetched that had been seen before, as metadata records say them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Its time had come.
    Due,
    /// Somebody wanted another version of its page.
    Wanted,
    /// Somebody wanted it, and its page had never been visited.
    First,
}

impl Again {
    const ALL: [Again; 3] = [Again::Due, Again::Wanted, Again::First];

    /// The value of the field `forced`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Again::Due => "due",
            Again::Wanted => "true",
            Again::First => "first",
        }
    }

    /// Reads what [`Again::name`] says.
    pub(crate) fn parse(name: &str) -> Option<Again> {
        Again::ALL.into_iter().find(|again| again.name() == name)
    }
}

/// Reasons why a body is not whole (`WARC-Truncated`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// Longer than the limit.
    Length,
    /// Slower than the limit.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Truncation {
    /// The word of the standard.
    pub fn as_str(self) -> &'static str {
        match self {
            Truncation::Length => "length",
            Truncation::Time => "time",
            Truncation::Disconnect => "disconnect",
        }
    }

    /// Reads the word of the standard.
    pub fn parse(word: &str) -> Option<Self> {
        [Truncation::Length, Truncation::Time, Truncation::Disconnect].into_iter().find(|t| t.as_str() == word)
    }

    /// Returns whether the body ended before its time, so that it is worth another attempt.
    pub fn is_interruption(self) -> bool {
        matches!(self, Truncation::Time | Truncation::Disconnect)
    }
}

#[cfg(test)]
mod tests;
