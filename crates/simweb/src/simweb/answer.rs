//! An answer of the web before it meets HTTP.

use std::io::Write;
use std::time::Duration;

use super::conduct::{Fate, Plea};
use super::drip::Drip;
use super::version::Version;

/// Names and values of header fields.
pub(super) type Fields = &'static [(&'static str, &'static str)];

/// The answer.
#[derive(Debug, Default)]
pub(super) struct SimResponse {
    pub status: u16,
    pub content_type: &'static str,
    pub location: Option<String>,
    /// The way in which the answer says when to come back, and the seconds of which it speaks. `None` if it says
    /// nothing.
    pub plea: Option<(Plea, u64)>,
    pub nofollow: bool,
    /// The identity body.
    pub body: Vec<u8>,
    /// True if it is to be sent with Content-Encoding gzip, where the client takes it.
    pub gzip: bool,
    /// Length of the chunks in which it is to be sent, if it is.
    pub chunk_bytes: Option<usize>,
    pub latency: Duration,
    pub fate: Fate,
    /// Version of its page, where pages change.
    pub version: Option<Version>,
    /// Header fields of a wall, if it is one in the place of its page.
    pub wall: Option<Fields>,
    /// The part that is to be sent one byte at a time, if one is.
    pub drip: Option<Drip>,
}

impl SimResponse {
    /// Header fields that only walls have.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.wall.into_iter().flatten().copied()
    }
}

/// The body in gzip.
pub(super) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::with_capacity(body.len() / 2), flate2::Compression::fast());
    encoder.write_all(body).expect("a vector takes every byte");
    encoder.finish().expect("a vector takes every byte")
}

/// Plain text.
pub(super) fn plain(status: u16, text: String) -> SimResponse {
    SimResponse { status, body: text.into_bytes(), content_type: "text/plain; charset=utf-8", ..Default::default() }
}
