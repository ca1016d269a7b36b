//! The archive as a replay sees it.

use crawler_web::clock::Time;

use crate::web::url::CanonicalUrl;

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The shard that has it, and the place of its record there.
    pub id: CaptureId,
    /// The URL that was asked for.
    pub url: String,
    /// Time at which the request began.
    pub time: Time,
    /// The status of the answer.
    pub status: u16,
    /// The type that it states.
    pub mime: String,
    /// Length of its body as it was sent.
    pub bytes: u64,
    /// True if its body is that of an earlier answer.
    pub is_revisit: bool,
}

/// The place of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureId {
    /// The shard, counted from zero.
    pub shard: usize,
    /// The place in it.
    pub offset: u64,
}

/// The content of a capture.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Fields of the head as they were sent.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// The type that it states; of a 304 that of the answer which it confirms.
    pub content_type: Option<String>,
    /// The content coding of `sent`.
    pub content_encoding: Option<String>,
    /// The body as it was sent.
    pub sent: Vec<u8>,
    /// The body without content coding.
    pub body: Vec<u8>,
}

/// A page to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartPage {
    /// Its URL: the first page of its host that was stored.
    pub url: String,
    /// Time of its capture.
    pub time: Time,
}

/// A reason why the archive does not say.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ArchiveFault(pub String);

/// An archive, which may grow meanwhile.
pub trait Captures: Send + Sync + 'static {
    /// The captures of a URL, in whatever spelling it was asked for: the newest ones, in the order of time, the oldest
    /// first.
    fn captures(&self, url: &CanonicalUrl) -> Result<Vec<Capture>, ArchiveFault>;
    /// Reads a capture.
    fn content(&self, capture: &Capture) -> Result<Content, ArchiveFault>;
    /// Reads the page of a capture as a rendering left it, if one did.
    fn rendered(&self, capture: &Capture) -> Result<Option<String>, ArchiveFault>;
    /// Pages to begin with, of at most `max` hosts.
    fn start_pages(&self, max: usize) -> Result<Vec<StartPage>, ArchiveFault>;
}

/// The place among `captures` of the one nearest to `time`, to the second; of several the newest.
pub(super) fn nearest(captures: &[Capture], time: Time) -> Option<usize> {
    let second = |time: Time| time.ms() / 1_000;
    let distance = |capture: &Capture| second(capture.time).abs_diff(second(time));
    (0..captures.len()).rev().min_by_key(|&at| distance(&captures[at]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::capture;
    use super::*;

    #[test]
    fn the_nearest_capture_is_the_newest_of_those_that_are_as_near() {
        let captures: Vec<Capture> = [10_000, 20_000, 20_400, 30_900].map(|ms| capture("http://a/", ms)).into();
        for (ms, at) in [(0, 0), (14_999, 0), (15_000, 2), (16_000, 2), (20_000, 2), (25_000, 3), (99_000, 3)] {
            assert_eq!(nearest(&captures, Time::from_ms(ms)), Some(at), "{ms}");
        }
        assert_eq!(nearest(&[], Time::ZERO), None);
    }
}
