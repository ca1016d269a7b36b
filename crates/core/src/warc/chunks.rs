//! Chunked transfer coding (RFC 9112, section 7.1) in records of other programs, which store bodies as they came over
//! the connection. Records of this program have none.

use super::Header;
use crate::web::headers;

/// Hexadecimal digits of a chunk's length.
const DIGITS_MAX: usize = 15;

/// Returns whether a body with these headers may be in chunks.
pub(crate) fn are_stated(fields: &[Header]) -> bool {
    let stated = headers::list(fields, "transfer-encoding");
    stated.is_some_and(|codings| {
        codings.rsplit(',').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("chunked"))
    })
}

/// The body in chunks, joined. Some programs have joined them already and kept the header: nothing where `body` does
/// not begin with a chunk.
pub(crate) fn joined(body: &[u8]) -> Option<Vec<u8>> {
    let (mut chunks, mut joined) = (Chunks::default(), Vec::with_capacity(body.len()));
    chunks.push(body, &mut |bytes| joined.extend_from_slice(bytes));
    chunks.has_begun().then_some(joined)
}

/// Joins chunks that come in pieces. What comes behind a place that is none of a chunk is dropped, as a connection
/// that breaks there would have it.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    at: At,
    has_begun: bool,
}

/// The place in a body.
#[derive(Clone, Copy, Debug)]
enum At {
    /// In the digits of a length, with as many read.
    Length { length: u64, digits: usize },
    /// Behind them, up to the end of the line.
    Extension { length: u64 },
    /// In a chunk, with so many bytes left.
    Chunk { left: u64 },
    /// Behind a chunk, before the end of its line.
    End,
    /// Behind the last chunk, or behind what is none.
    Done,
}

impl Default for At {
    fn default() -> Self {
        At::Length { length: 0, digits: 0 }
    }
}

impl Chunks {
    /// Returns whether the body began with a length, so that it is in chunks.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Takes the next piece of the body; `give` gets what is in chunks of it.
    pub(crate) fn push(&mut self, mut piece: &[u8], give: &mut dyn FnMut(&[u8])) {
        while let Some((&byte, rest)) = piece.split_first() {
            if let At::Chunk { left } = self.at {
                let (bytes, behind) = piece.split_at(piece.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
                give(bytes);
                let left = left - bytes.len() as u64;
                self.at = if left == 0 { At::End } else { At::Chunk { left } };
                piece = behind;
                continue;
            }
            self.at = self.behind(byte);
            piece = rest;
        }
    }

    /// The place behind `byte`, which is in no chunk.
    fn behind(&mut self, byte: u8) -> At {
        match (self.at, byte) {
            (At::Length { length, digits }, _) if byte.is_ascii_hexdigit() && digits < DIGITS_MAX => {
                let digit = (byte as char).to_digit(16).unwrap_or(0);
                At::Length { length: length << 4 | u64::from(digit), digits: digits + 1 }
            }
            (At::Length { digits: 0, .. }, _) => At::Done,
            (At::Length { length, .. } | At::Extension { length }, b'\n') => {
                self.has_begun = true;
                if length == 0 { At::Done } else { At::Chunk { left: length } }
            }
            (At::Length { length, .. }, b'\r' | b';' | b' ' | b'\t') => At::Extension { length },
            (At::Extension { length }, _) => At::Extension { length },
            (At::End, b'\r') => At::End,
            (At::End, b'\n') => At::default(),
            _ => At::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_whatever_the_pieces_they_come_in() {
        let body = b"4\r\nWiki\r\n5;name=value\r\npedia\r\nE \r\n in\r\n\r\nchunks.\r\n0\r\nField: x\r\n\r\n";
        let whole = b"Wikipedia in\r\n\r\nchunks.";
        assert_eq!(joined(body).as_deref(), Some(&whole[..]));
        for size in 1..body.len() {
            let (mut chunks, mut found) = (Chunks::default(), Vec::new());
            body.chunks(size).for_each(|piece| chunks.push(piece, &mut |bytes| found.extend_from_slice(bytes)));
            assert_eq!(found, whole, "{size}");
        }
    }

    #[test]
    fn a_body_that_is_not_in_chunks_is_not_taken_for_one_and_one_that_breaks_is_what_came() {
        for plain in [&b"<html>"[..], b"\r\n", b"", b"4", b"4 but no line", b"ffffffffffffffff\r\nx"] {
            assert_eq!(joined(plain), None, "{plain:?}");
        }
        assert_eq!(joined(b"A\r\nonly thi").as_deref(), Some(&b"only thi"[..]));
        assert_eq!(joined(b"2\r\nab\r\nnonsense").as_deref(), Some(&b"ab"[..]));
        assert_eq!(joined(b"0\r\n\r\n").as_deref(), Some(&b""[..]));
        assert_eq!(joined(b"2\nab\n0\n\n").as_deref(), Some(&b"ab"[..]));
    }

    #[test]
    fn only_the_last_coding_counts() {
        let stated = |value: &str| are_stated(&[(b"Transfer-Encoding".as_slice().into(), value.as_bytes().into())]);
        assert!(stated("chunked") && stated("gzip, Chunked"));
        assert!(!stated("identity") && !stated("") && !are_stated(&[]));
    }
}
