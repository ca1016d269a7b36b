//! One record of a stream: its head as it came, then its block.

use std::io::{self, BufRead, Read};

use crate::disk::read_buffered;
use crate::warc::read_head;

/// The head of a record.
#[derive(Debug)]
pub(super) struct RecordHead {
    /// All of it as it came, with the empty line.
    pub(super) bytes: Vec<u8>,
    /// `WARC-Type`.
    pub(super) kind: String,
    /// Length of the block.
    pub(super) block_bytes: u64,
}

impl RecordHead {
    /// Reads the next one of `source`; nothing where that has no record left. Line ends before a record belong to the
    /// one before.
    pub(super) fn read(source: &mut dyn BufRead) -> io::Result<Option<RecordHead>> {
        pass_line_ends(source)?;
        if source.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut captured = Captured { source, bytes: Vec::new() };
        let fields = read_head(&mut captured)?;
        let bytes = captured.bytes;
        let field = |name: &str| fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let kind = field("WARC-Type").ok_or_else(|| invalid("a record without a WARC-Type"))?.clone();
        let length = field("Content-Length").and_then(|length| length.parse().ok());
        let block_bytes = length.ok_or_else(|| invalid("a record without a Content-Length"))?;
        Ok(Some(RecordHead { bytes, kind, block_bytes }))
    }

    /// Hands the block, which `source` goes on with, to `sink`.
    pub(super) fn copy_block(
        &self,
        source: &mut dyn BufRead,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut left = self.block_bytes;
        while left > 0 {
            let bytes = source.fill_buf()?;
            if bytes.is_empty() {
                return Err(invalid(format!("a block that ends {left} bytes too early")));
            }
            let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            sink(&bytes[..count])?;
            source.consume(count);
            left -= count as u64;
        }
        Ok(())
    }
}

/// Reads over line ends.
pub(super) fn pass_line_ends(source: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let bytes = source.fill_buf()?;
        let ends = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if ends == 0 {
            return Ok(());
        }
        source.consume(ends);
    }
}

/// Returns whether `source` ends with the line ends behind a block, as the standard has them.
pub(super) fn ends_here(source: &mut dyn BufRead) -> io::Result<bool> {
    let mut rest = Vec::new();
    source.take(5).read_to_end(&mut rest)?;
    Ok(rest == b"\r\n\r\n")
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// A source whose bytes are kept as they are read.
struct Captured<'a> {
    source: &'a mut dyn BufRead,
    bytes: Vec<u8>,
}

impl BufRead for Captured<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // what is consumed is in the buffer
        if let Ok(bytes) = self.source.fill_buf() {
            self.bytes.extend_from_slice(&bytes[..count]);
        }
        self.source.consume(count);
    }
}

impl Read for Captured<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, out)
    }
}
