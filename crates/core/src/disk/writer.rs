//! Sequential writing through a buffer, with the position known at every moment.

use super::{DiskFile, Result};

/// Appends to a file from a given position on, in large writes.
///
/// What was pushed but not flushed is lost when the writer is dropped: who wants it durable calls
/// [`Writer::flush`], then syncs the file.
#[derive(Debug)]
pub struct Writer {
    file: DiskFile,
    buffer: Vec<u8>,
    flushed: u64,
    buffer_bytes: usize,
}

impl Writer {
    /// Writes to `file` from `position` on, with a buffer of `buffer_bytes`.
    pub fn new(file: DiskFile, position: u64, buffer_bytes: usize) -> Self {
        Writer { file, buffer: Vec::with_capacity(buffer_bytes), flushed: position, buffer_bytes }
    }

    /// Appends `bytes`.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > self.buffer_bytes {
            self.flush()?;
        }
        if bytes.len() >= self.buffer_bytes {
            self.file.write_all_at(bytes, self.flushed)?;
            self.flushed += bytes.len() as u64;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.write_all_at(&self.buffer, self.flushed)?;
            self.flushed += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// The offset of the next byte that is written.
    pub fn position(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// The file; what is in the buffer is not in it yet.
    pub fn file(&self) -> &DiskFile {
        &self.file
    }

    /// Flushes and gives the file back.
    pub fn finish(mut self) -> Result<DiskFile> {
        self.flush()?;
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, Mode};

    #[test]
    fn small_and_large_pieces_arrive_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w");
        let disk = Disk::real();
        let mut writer = Writer::new(disk.open(&path, Mode::CreateNew).unwrap(), 0, 8);
        let mut expected = Vec::new();
        for n in 0..40_u8 {
            let piece = vec![n; usize::from(n % 13)];
            writer.push(&piece).unwrap();
            expected.extend_from_slice(&piece);
            assert_eq!(writer.position(), expected.len() as u64);
        }
        writer.finish().unwrap();
        assert_eq!(disk.read(&path).unwrap(), expected);
    }
}
