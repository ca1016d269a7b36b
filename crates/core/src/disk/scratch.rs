//! Temporary files: numbers of a fixed size, written from the start to the end and read again as often as it takes, and
//! directories of this user alone.

use std::env;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};

use tempfile::TempDir;

use super::{Error, Result};

/// Bytes that are read or written at a time.
const BUFFER: usize = 256 << 10;

/// Takes bytes, one after the other.
pub struct Writer {
    out: BufWriter<File>,
    bytes: u64,
}

impl Writer {
    /// A writer into a file that has no name.
    pub fn new() -> Result<Writer> {
        let file = tempfile::tempfile().map_err(|e| fault("create a temporary file in", e))?;
        Ok(Writer { out: BufWriter::with_capacity(BUFFER, file), bytes: 0 })
    }

    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|e| fault("write a temporary file in", e))
    }

    /// All that was written.
    pub fn finish(self) -> Result<Scratch> {
        let file = self.out.into_inner().map_err(|e| fault("write a temporary file in", e.into_error()))?;
        Ok(Scratch { file, bytes: self.bytes })
    }
}

/// The bytes that were written.
pub struct Scratch {
    file: File,
    bytes: u64,
}

impl Scratch {
    /// Reads from the byte `start` on.
    pub fn read_from(&self, start: u64) -> Reader<'_> {
        Reader { scratch: self, position: start, buffer: Vec::new(), at: 0 }
    }

    /// Reads from the beginning on.
    pub fn read(&self) -> Reader<'_> {
        self.read_from(0)
    }
}

/// Reads in order.
pub struct Reader<'a> {
    scratch: &'a Scratch,
    /// Offset behind the bytes that are in the buffer.
    position: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Reader<'_> {
    /// The next `count` bytes; none at the end.
    pub fn next(&mut self, count: usize) -> Result<Option<&[u8]>> {
        if self.buffer.len() - self.at < count {
            self.buffer.drain(..self.at);
            self.at = 0;
            let held = self.buffer.len();
            let left = usize::try_from(self.scratch.bytes - self.position).unwrap_or(usize::MAX);
            let more = BUFFER.max(count).saturating_sub(held).min(left);
            self.buffer.resize(held + more, 0);
            let read = self.scratch.file.read_exact_at(&mut self.buffer[held..], self.position);
            read.map_err(|e| fault("read a temporary file in", e))?;
            self.position += more as u64;
            if self.buffer.len() < count {
                return Ok(None);
            }
        }
        self.at += count;
        Ok(Some(&self.buffer[self.at - count..self.at]))
    }

    /// The next number of eight bytes.
    pub fn next_f64(&mut self) -> Result<Option<f64>> {
        let bytes = self.next(size_of::<f64>())?;
        Ok(bytes.map(|bytes| f64::from_be_bytes(bytes.try_into().expect("so many were asked for"))))
    }
}

/// Creates a directory for temporary files, of this user alone; it is removed with what it holds.
pub fn directory() -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("crawler-").permissions(Permissions::from_mode(0o700)).tempdir();
    made.map_err(|e| fault("create a directory in", e))
}

fn fault(action: &'static str, error: io::Error) -> Error {
    Error::io(action, &env::temp_dir(), error)
}
