//! Ranges of objects at servers that answer with the whole object. They may do so (RFC 9110, 14.2), mostly where the
//! range is all of it: then the range is cut out here, and the answer becomes what was asked for.

use std::ops::Range;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap, HeaderValue, RANGE};
use hyper::http::response::Parts;

use super::trouble::Trouble;

/// The part of a body that is still to be passed over, then the part to be taken.
#[derive(Debug)]
pub struct Cut {
    pass: u64,
    take: u64,
}

/// The bytes that a request asks for, where it asks for some alone.
pub fn asked(fields: &HeaderMap) -> Option<Range<u64>> {
    let (first, last) = fields.get(RANGE)?.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<u64>().ok()?.checked_add(1)?)
}

/// Makes an answer that has the whole object one that has `range`, whose body is what the cut leaves; nothing where it
/// has the range, or does not say how long the object is.
pub fn cut(range: Range<u64>, answer: &mut Parts) -> Result<Option<Cut>, Trouble> {
    if answer.status == StatusCode::OK && answer.headers.contains_key(CONTENT_RANGE) {
        // it is the range, under a wrong status (rclone's server)
        answer.status = StatusCode::PARTIAL_CONTENT;
    }
    let length = answer.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let Some(length) = length.filter(|_| answer.status == StatusCode::OK) else { return Ok(None) };
    let end = range.end.min(length);
    if range.start >= end {
        return Err(Trouble::answer(StatusCode::RANGE_NOT_SATISFIABLE, None, ""));
    }
    answer.status = StatusCode::PARTIAL_CONTENT;
    let field = |text: String| HeaderValue::from_str(&text).expect("digits and spaces");
    answer.headers.insert(CONTENT_RANGE, field(format!("bytes {}-{}/{length}", range.start, end - 1)));
    answer.headers.insert(CONTENT_LENGTH, field((end - range.start).to_string()));
    Ok(Some(Cut { pass: range.start, take: end - range.start }))
}

impl Cut {
    /// Returns whether all is taken.
    pub(crate) fn is_done(&self) -> bool {
        self.take == 0
    }

    /// Returns the part of the next piece of the body that is in the range.
    pub(crate) fn of(&mut self, mut piece: Bytes) -> Bytes {
        let passed = self.pass.min(piece.len() as u64);
        self.pass -= passed;
        let mut piece = piece.split_off(passed as usize);
        piece.truncate(self.take.min(piece.len() as u64) as usize);
        self.take -= piece.len() as u64;
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, length: &'static str) -> Parts {
        let answer = hyper::Response::builder().status(status).header(CONTENT_LENGTH, length).body(()).unwrap();
        answer.into_parts().0
    }

    #[test]
    fn a_range_is_cut_out_of_the_whole_object_whatever_pieces_it_comes_in() {
        let whole: Vec<u8> = (0..100).collect();
        for (first, last) in [(0, 0), (0, 99), (10, 19), (99, 99), (90, 200)] {
            for pieces in [1, 7, 100] {
                let mut fields = HeaderMap::new();
                fields.insert(RANGE, format!("bytes={first}-{last}").parse().unwrap());
                let mut answer = answer(200, "100");
                let mut cut = cut(asked(&fields).unwrap(), &mut answer).unwrap().unwrap();
                let pieces = whole.chunks(pieces).map(|piece| cut.of(Bytes::copy_from_slice(piece)));
                let found: Vec<u8> = pieces.flatten().collect();
                assert_eq!(found, whole[first..100.min(last + 1)]);
                assert!(cut.is_done() && answer.status == 206);
                assert_eq!(answer.headers[CONTENT_RANGE], format!("bytes {first}-{}/100", last.min(99)));
            }
        }
    }

    #[test]
    fn answers_that_are_right_stay_and_what_lies_behind_the_object_is_no_range() {
        assert!(cut(0..10, &mut answer(206, "10")).unwrap().is_none());
        let mut part = answer(200, "10");
        part.headers.insert(CONTENT_RANGE, "bytes 0-9/100".parse().unwrap());
        assert!(cut(0..10, &mut part).unwrap().is_none() && part.status == 206);
        assert!(cut(100..110, &mut answer(200, "100")).unwrap_err().is_out_of_range());
        let mut fields = HeaderMap::new();
        assert_eq!(asked(&fields), None);
        fields.insert(RANGE, "bytes=5-".parse().unwrap());
        assert_eq!(asked(&fields), None);
    }
}
