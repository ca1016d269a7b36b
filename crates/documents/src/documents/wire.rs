//! The words of a crawl and its readers of documents: one document goes in, one page or one failure comes out.
//!
//! ```text
//! first   | memory bytes u64 | seconds of a document u64 |
//! ask     | format 1 | length u64 | document |
//! answer  | 0 1 | length u64 | page |  or  | failure 1 |
//! ```
//! All numbers are little-endian.

use std::io::{self, Read, Write};

use crate::contract::ConversionFailure;
use crate::web::format::Format;

/// The limits of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Memory.
    pub bytes: u64,
    /// Seconds of processor time that a document may take.
    pub seconds: u64,
}

impl Limits {
    pub(super) fn write(self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.bytes.to_le_bytes())?;
        to.write_all(&self.seconds.to_le_bytes())
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Limits> {
        Ok(Limits { bytes: number(from)?, seconds: number(from)? })
    }
}

/// Asks for the page of a document.
pub(super) fn ask(to: &mut impl Write, format: Format, document: &[u8]) -> io::Result<()> {
    let at = Format::ALL.iter().position(|other| *other == format).unwrap_or_default();
    write_bytes(to, at as u8, document)
}

/// The next document; none when there will be no more.
pub(super) fn asked(from: &mut impl Read) -> io::Result<Option<(Format, Vec<u8>)>> {
    let mut at = [0];
    if from.read(&mut at)? == 0 {
        return Ok(None);
    }
    let format = Format::ALL.get(usize::from(at[0])).copied().ok_or_else(damaged)?;
    let length = number(from)?;
    Ok(Some((format, bytes(from, length)?)))
}

/// Answers with a page, or with a reason why there is none.
pub(super) fn answer(to: &mut impl Write, page: Result<&str, ConversionFailure>) -> io::Result<()> {
    match page {
        Ok(page) => write_bytes(to, 0, page.as_bytes()),
        Err(failure) => {
            let at = ConversionFailure::ALL.iter().position(|other| *other == failure).unwrap_or_default();
            to.write_all(&[at as u8 + 1])?;
            to.flush()
        }
    }
}

/// Reads an answer. A page has `bytes_max` bytes at most.
pub(super) fn answered(from: &mut impl Read, bytes_max: u64) -> io::Result<Result<String, ConversionFailure>> {
    let mut word = [0];
    from.read_exact(&mut word)?;
    if let Some(at) = usize::from(word[0]).checked_sub(1) {
        return Ok(Err(*ConversionFailure::ALL.get(at).ok_or_else(damaged)?));
    }
    let length = number(from)?;
    if length > bytes_max {
        return Err(damaged());
    }
    let page = bytes(from, length)?;
    Ok(Ok(String::from_utf8(page).map_err(|_| damaged())?))
}

fn write_bytes(to: &mut impl Write, word: u8, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&[word])?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// So many bytes: memory is taken for what has come, not for what was said.
fn bytes(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if from.take(length).read_to_end(&mut bytes)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_as_they_were_sent() {
        let limits = Limits { bytes: 1 << 40, seconds: 7 };
        let mut sent = Vec::new();
        limits.write(&mut sent).unwrap();
        ask(&mut sent, Format::Epub, b"document").unwrap();
        let mut from = &*sent;
        assert_eq!(Limits::read(&mut from).unwrap(), limits);
        assert_eq!(asked(&mut from).unwrap(), Some((Format::Epub, b"document".to_vec())));
        assert_eq!(asked(&mut from).unwrap(), None);

        for page in [Ok("page"), Err(ConversionFailure::Encrypted), Err(ConversionFailure::NoReader)] {
            let mut sent = Vec::new();
            answer(&mut sent, page).unwrap();
            assert_eq!(answered(&mut &*sent, 4).unwrap().as_deref(), page.as_deref());
        }
    }

    #[test]
    fn a_reader_that_lies_is_not_believed() {
        let lies: [&[u8]; 5] = [b"", b"\x63", b"\x00\x05\0\0\0\0\0\0\0abcde", b"\x00\x04\0\0\0\0\0\0\0abc", &[0; 8]];
        for lie in lies {
            assert!(answered(&mut &*lie, 4).is_err(), "{lie:?}");
        }
        assert!(answered(&mut &b"\x00\x02\0\0\0\0\0\0\0\xff\xff"[..], 4).is_err());
    }
}
