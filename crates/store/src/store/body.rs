//! The content of an object: bytes in memory and ranges of local files, one after the other.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile, Error, Mode, Result};

/// A piece of a body.
#[derive(Clone, Debug)]
pub enum Part {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// A range of a file, which must not change while the body is sent.
    File {
        /// The file.
        path: PathBuf,
        /// Offset of its first byte in the file.
        offset: u64,
        /// Length of the range.
        bytes: u64,
    },
    /// The same of a file that may get another name meanwhile.
    Open {
        /// The file.
        file: Arc<DiskFile>,
        /// Offset of its first byte in the file.
        offset: u64,
        /// Length of the range.
        bytes: u64,
    },
}

impl Part {
    fn bytes(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::File { bytes, .. } | Part::Open { bytes, .. } => *bytes,
        }
    }
}

/// The content of an object. It can be read again from any place, as a repeated part of an upload has to.
#[derive(Clone, Debug)]
pub struct Body {
    disk: Disk,
    parts: Vec<Part>,
}

impl Body {
    /// Makes a body of these parts, whose files are on `disk`.
    pub fn new(disk: Disk, parts: Vec<Part>) -> Body {
        Body { disk, parts }
    }

    /// Makes a body of bytes in memory.
    pub fn of(bytes: Vec<u8>) -> Body {
        Body::new(Disk::real(), vec![Part::Bytes(bytes)])
    }

    /// The length of the whole.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// The bytes from `offset` on, `length` of them or as many as there are.
    pub fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let end = self.bytes().min(offset + length as u64);
        let mut out = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut begin = 0;
        for part in &self.parts {
            let (from, to) = (offset.max(begin), end.min(begin + part.bytes()));
            if from < to {
                self.read_part(part, from - begin..to - begin, &mut out)?;
            }
            begin += part.bytes();
        }
        Ok(out)
    }

    fn read_part(&self, part: &Part, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(&bytes[range.start as usize..range.end as usize]),
            Part::File { path, offset, .. } => {
                read_file(&self.disk.open(path.clone(), Mode::Read)?, offset + range.start..offset + range.end, out)?;
            }
            Part::Open { file, offset, .. } => read_file(file, offset + range.start..offset + range.end, out)?,
        }
        Ok(())
    }
}

fn read_file(file: &DiskFile, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
    let (begin, wanted) = (out.len(), range.end - range.start);
    out.resize(begin + wanted as usize, 0);
    let found = file.read_at(&mut out[begin..], range.start)? as u64;
    match found < wanted {
        true => {
            Err(Error::damaged(file.path(), range.start, format!("{wanted} bytes to be shipped"), found.to_string()))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_its_parts_one_after_the_other_from_any_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, b"0123456789").unwrap();
        let parts = vec![
            Part::Bytes(b"ab".to_vec()),
            Part::File { path: path.clone(), offset: 3, bytes: 2 },
            Part::Open { file: Arc::new(Disk::real().open(&path, Mode::Read).unwrap()), offset: 5, bytes: 2 },
            Part::Bytes(b"yz".to_vec()),
        ];
        let body = Body::new(Disk::real(), parts);
        assert_eq!(body.bytes(), 8);
        let whole = b"ab3456yz";
        for offset in 0..=8 {
            for length in 0..10 {
                let end = whole.len().min(offset + length);
                assert_eq!(body.read(offset as u64, length).unwrap(), whole[offset..end.max(offset)]);
            }
        }
        let short = Body::new(Disk::real(), vec![Part::File { path, offset: 8, bytes: 4 }]);
        assert!(matches!(short.read(0, 4), Err(Error::Damaged { .. })));
    }
}
