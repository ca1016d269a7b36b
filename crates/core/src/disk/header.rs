//! The first 16 bytes of every binary file: magic, kind, version, checksum. docs/FORMATS.md draws them.
//!
//! ```text
//! 0        6        8        10       12       16
//! | CRAWL\n| kind   | version| zero   | crc32  |      little-endian; crc32 of bytes 0..12
//! ```

use std::path::Path;

use super::{DiskFile, Error, Result};

/// Length of a header in bytes.
pub const HEADER_BYTES: u64 = 16;
const MAGIC: &[u8; 6] = b"CRAWL\n";

/// The content of a file. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// DRUM: keys and values that wait for a merge.
    DrumPending = 1,
    /// DRUM: auxiliaries that wait for a merge.
    DrumAux = 2,
    /// DRUM: a sorted bucket of the repository.
    DrumRepository = 3,
    /// Container: key records.
    Keys = 4,
    /// Container: the hashed address file.
    Addresses = 5,
    /// Container: double-write file of the address pages.
    DoubleWrite = 6,
    /// Frontier: the tail of a partition.
    Tail = 7,
    /// Frontier: the base of a partition.
    Base = 8,
    /// The state in RAM at a checkpoint.
    Checkpoint = 9,
    /// Long rests of hosts since a checkpoint.
    Rests = 10,
    /// Seeds by number.
    Seeds = 11,
    /// Fates of the seeds.
    SeedFates = 12,
    /// Links to other shards.
    Links = 13,
    /// Container: which payloads earlier archives have.
    Dedup = 14,
    /// Calendar: records of a slot.
    Calendar = 15,
    /// Container: the redo journal of a compaction.
    Compaction = 16,
    /// The parts of a shipped checkpoint, in a store of objects.
    Manifest = 17,
    /// The URLs of documents, and what was told of each.
    Feed = 18,
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The content of the file.
    pub kind: Kind,
    /// Version of that kind's format, from 1.
    pub version: u16,
}

impl Header {
    /// The header as it is in the file.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..6].copy_from_slice(MAGIC);
        bytes[6..8].copy_from_slice(&(self.kind as u16).to_le_bytes());
        bytes[8..10].copy_from_slice(&self.version.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..12]);
        bytes[12..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Writes the header at the start of `file`.
    pub(crate) fn write(self, file: &DiskFile) -> Result<()> {
        file.write_all_at(&self.to_bytes(), 0)
    }

    /// Reads the header of `file`, which must be of `kind` and at most of version `known`.
    pub fn check(file: &DiskFile, kind: Kind, known: u16) -> Result<Header> {
        let mut bytes = [0; HEADER_BYTES as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Header::parse(&bytes, file.path(), kind, known)
    }

    /// Reads the header `bytes` of what is at `path`, which must be of `kind` and at most of version `known`.
    pub fn parse(bytes: &[u8; HEADER_BYTES as usize], path: &Path, kind: Kind, known: u16) -> Result<Header> {
        let damaged = |expected: String, found: String| Err(Error::damaged(path, 0, expected, found));
        if &bytes[..6] != MAGIC {
            return damaged(format!("a crawler file of kind {kind:?}"), format!("{:02x?}", &bytes[..6]));
        }
        let sum = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let expected = crc32fast::hash(&bytes[..12]);
        if sum != expected {
            return damaged(format!("header checksum {expected:08x}"), format!("{sum:08x}"));
        }
        let found_kind = u16::from_le_bytes([bytes[6], bytes[7]]);
        if found_kind != kind as u16 {
            return damaged(format!("kind {} ({kind:?})", kind as u16), format!("kind {found_kind}"));
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version > known {
            return Err(Error::Newer { path: path.to_owned(), found: version, known });
        }
        Ok(Header { kind, version })
    }

    /// Refuses a `file` of a version later than `known`; a header that is damaged passes, for files that are repaired.
    pub fn refuse_newer(file: &DiskFile, kind: Kind, known: u16) -> Result<()> {
        match Header::check(file, kind, known) {
            Ok(_) | Err(Error::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, Mode};

    #[test]
    fn a_header_is_read_back_and_every_flipped_bit_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let file = Disk::real().open(&path, Mode::CreateNew).unwrap();
        let header = Header { kind: Kind::Keys, version: 1 };
        header.write(&file).unwrap();
        assert_eq!(Header::check(&file, Kind::Keys, 1).unwrap(), header);
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = header.to_bytes();
            bytes[bit as usize / 8] ^= 1 << (bit % 8);
            file.write_all_at(&bytes, 0).unwrap();
            assert!(Header::check(&file, Kind::Keys, 1).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn another_kind_and_a_newer_version_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = Disk::real().open(dir.path().join("f"), Mode::CreateNew).unwrap();
        Header { kind: Kind::Keys, version: 3 }.write(&file).unwrap();
        assert!(matches!(Header::check(&file, Kind::Tail, 3), Err(Error::Damaged { .. })));
        assert!(matches!(Header::check(&file, Kind::Keys, 2), Err(Error::Newer { found: 3, known: 2, .. })));
    }
}
