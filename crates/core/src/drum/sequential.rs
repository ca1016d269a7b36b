//! Reading a file from front to back through one buffer, never past a noted end.

use crate::disk::{DiskFile, Error, Result};

const BUFFER_BYTES: usize = 128 << 10;

/// Reads `file` up to `end` in large pieces.
#[derive(Debug)]
pub(super) struct Sequential {
    file: DiskFile,
    end: u64,
    /// Offset in the file at which `buffer` begins.
    start: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Sequential {
    pub(crate) fn new(file: DiskFile, position: u64, end: u64) -> Self {
        Sequential { file, end, start: position, buffer: Vec::new(), at: 0 }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Bytes up to the end.
    pub(crate) fn left(&self) -> u64 {
        self.end - self.position()
    }

    /// The next `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.at < bytes {
            self.fill(bytes)?;
        }
        let from = self.at;
        self.at += bytes;
        Ok(&self.buffer[from..self.at])
    }

    /// Passes over the next `bytes` bytes without reading those that are not in the buffer.
    pub(crate) fn skip(&mut self, bytes: usize) -> Result<()> {
        if bytes as u64 > self.left() {
            return Err(self.short(bytes));
        }
        if self.buffer.len() - self.at < bytes {
            self.start = self.position() + bytes as u64;
            self.buffer.clear();
            self.at = 0;
        } else {
            self.at += bytes;
        }
        Ok(())
    }

    /// Damage at the distance `back` before the next byte.
    pub(crate) fn damaged(&self, back: usize, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::damaged(self.file.path(), self.position().saturating_sub(back as u64), expected, found)
    }

    fn short(&self, bytes: usize) -> Error {
        self.damaged(0, format!("{bytes} more bytes"), format!("{} up to the end of the content", self.left()))
    }

    fn fill(&mut self, bytes: usize) -> Result<()> {
        if bytes as u64 > self.left() {
            return Err(self.short(bytes));
        }
        self.start = self.position();
        self.buffer.drain(..self.at);
        self.at = 0;
        let have = self.buffer.len();
        let want = (bytes.max(BUFFER_BYTES) as u64).min(self.end - self.start) as usize;
        self.buffer.resize(want, 0);
        self.file.read_exact_at(&mut self.buffer[have..], self.start + have as u64)
    }
}
