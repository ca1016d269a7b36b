//! A file as a stream that knows where it is.

use std::io::{self, BufRead, Read};

use super::{DiskFile, Result};

/// Bytes that are read at a time, and that can be looked at before they are read.
pub const STREAM_BUFFER_BYTES: usize = 64 << 10;

/// A file up to a length that was noted before: what is appended later is not looked at.
#[derive(Debug)]
pub struct FileStream {
    file: DiskFile,
    end: u64,
    /// The offset at which the next read of the file begins.
    position: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl FileStream {
    /// Reads `file` from its beginning up to `end`.
    pub fn new(file: DiskFile, end: u64) -> Self {
        FileStream { file, end, position: 0, buffer: Vec::new(), at: 0 }
    }

    /// The offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.position - (self.buffer.len() - self.at) as u64
    }

    /// The offset at which it ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Goes to `offset`.
    pub fn seek(&mut self, offset: u64) {
        let buffered = self.position - self.buffer.len() as u64;
        match offset.checked_sub(buffered).and_then(|at| usize::try_from(at).ok()) {
            Some(at) if at <= self.buffer.len() => self.at = at,
            _ => self.read_from(offset),
        }
    }

    fn read_from(&mut self, offset: u64) {
        self.position = offset;
        self.buffer.clear();
        self.at = 0;
    }

    /// Returns up to `count` bytes from here on, which stay unread; fewer at the end only.
    pub fn peek(&mut self, count: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.at < count {
            self.read_from(self.offset());
            self.fill()?;
        }
        Ok(&self.buffer[self.at..self.buffer.len().min(self.at + count)])
    }

    fn fill(&mut self) -> Result<()> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        self.buffer.resize(STREAM_BUFFER_BYTES.min(left), 0);
        self.at = 0;
        let got = self.file.read_at(&mut self.buffer, self.position)?;
        self.buffer.truncate(got);
        self.position += got as u64;
        Ok(())
    }
}

impl BufRead for FileStream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            self.fill().map_err(io::Error::other)?;
        }
        Ok(&self.buffer[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for FileStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, out)
    }
}

/// Reads what is in the buffer of `source`: the `Read` of what has a `BufRead` of its own.
pub fn read_buffered(source: &mut impl BufRead, out: &mut [u8]) -> io::Result<usize> {
    let available = source.fill_buf()?;
    let count = available.len().min(out.len());
    out[..count].copy_from_slice(&available[..count]);
    source.consume(count);
    Ok(count)
}
