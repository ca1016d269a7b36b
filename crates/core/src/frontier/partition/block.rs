//! Blocks of a base: compressed, checksummed, of two kinds; and the front-coded URLs in one kind of them.
//!
//! ```text
//! | kind 1 | length 4 | stored length 4 | crc32 4 | zstd |        crc32 of everything but itself
//! ```
//! A URL is written as its difference to the one before it in the block; the first as that to a blank one.

use super::front::Front;
use super::view::UrlView;
use crate::disk::{DiskFile, Error, Result};
use crate::frontier::tuning::{BLOCK_READ_BYTES, ZSTD_LEVEL};
use crate::frontier::wire::Reader;

/// The most bytes that a block holds, whatever its head says.
const BLOCK_BYTES_MAX: usize = 64 << 20;
pub(super) const BLOCK_HEADER_BYTES: usize = 13;
/// Kinds of blocks.
pub(super) const URLS: u8 = 1;
pub(super) const DIRECTORY: u8 = 2;
pub(super) const INDEX: u8 = 3;
pub(super) const FILTER: u8 = 4;

/// Compresses one block after the other.
pub(super) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    frame: Vec<u8>,
    stored: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> Self {
        let compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("the level is one that zstd has");
        Packer { compressor, frame: Vec::new(), stored: Vec::new() }
    }

    /// The block as it is in the file.
    pub(super) fn pack(&mut self, kind: u8, raw: &[u8]) -> &[u8] {
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        self.compressor.compress_to_buffer(raw, &mut self.frame).expect("there is room for the worst case");
        self.stored.clear();
        self.stored.push(kind);
        self.stored.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        self.stored.extend_from_slice(&(self.frame.len() as u32).to_le_bytes());
        self.stored.extend_from_slice(&[0; 4]);
        self.stored.extend_from_slice(&self.frame);
        let sum = checksum(&self.stored);
        self.stored[9..13].copy_from_slice(&sum.to_le_bytes());
        &self.stored
    }
}

fn checksum(block: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&block[..9]);
    sum.update(&block[BLOCK_HEADER_BYTES..]);
    sum.finalize()
}

/// A block that was read.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub kind: u8,
    pub raw: Vec<u8>,
    /// Offset at which the next one starts.
    pub end: u64,
}

/// A block as it is in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub kind: u8,
    pub raw_bytes: usize,
    /// Offset at which the next one starts.
    pub end: u64,
}

/// Reads one block after the other.
pub(super) struct Unpacker {
    decompressor: zstd::bulk::Decompressor<'static>,
    stored: Vec<u8>,
    /// Room of blocks that are no longer wanted.
    spare: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unpacker")
    }
}

impl Unpacker {
    pub(super) fn new() -> Self {
        let decompressor = zstd::bulk::Decompressor::new().expect("there is memory for a decompressor");
        Unpacker { decompressor, stored: Vec::new(), spare: Vec::new() }
    }

    /// Takes back the room of a block, for one that is read later.
    pub(super) fn recycle(&mut self, raw: Vec<u8>) {
        if raw.capacity() > 0 {
            self.spare.push(raw);
        }
    }

    /// Reads the block at `offset`, which ends at `limit` at the latest.
    pub(super) fn read(&mut self, file: &DiskFile, offset: u64, limit: u64) -> Result<Block> {
        let Stored { kind, raw_bytes, end } = self.read_stored(file, offset, limit)?;
        let mut raw = self.spare.pop().unwrap_or_default();
        raw.clear();
        raw.reserve(raw_bytes);
        let outcome = self.decompressor.decompress_to_buffer(&self.stored[BLOCK_HEADER_BYTES..], &mut raw);
        if !matches!(outcome, Ok(len) if len == raw_bytes) {
            return damaged(file, offset, format!("{raw_bytes} bytes of zstd"), format!("{outcome:?}"));
        }
        Ok(Block { kind, raw, end })
    }

    /// Reads it as it is in the file.
    pub(super) fn read_stored(&mut self, file: &DiskFile, offset: u64, limit: u64) -> Result<Stored> {
        let stored = &mut self.stored;
        // One read brings most blocks whole.
        stored.resize((limit.saturating_sub(offset)).min(BLOCK_READ_BYTES) as usize, 0);
        let got = file.read_at(stored, offset)?;
        stored.truncate(got);
        if got < BLOCK_HEADER_BYTES {
            return damaged(file, offset, "the head of a block".to_owned(), format!("{got} bytes"));
        }
        let word = |at: usize| u32::from_le_bytes([stored[at], stored[at + 1], stored[at + 2], stored[at + 3]]);
        let (raw_bytes, stored_len, expected) = (word(1) as usize, word(5) as usize, word(9));
        let end = offset + (BLOCK_HEADER_BYTES + stored_len) as u64;
        if end > limit || raw_bytes > BLOCK_BYTES_MAX {
            let found = format!("{stored_len} bytes for {raw_bytes}");
            return damaged(file, offset, format!("a block that ends before byte {limit}"), found);
        }
        stored.resize(BLOCK_HEADER_BYTES + stored_len, 0);
        if let Some(rest) = stored.get_mut(got..) {
            file.read_exact_at(rest, offset + got as u64)?;
        }
        let found = checksum(stored);
        if found != expected {
            return damaged(file, offset, format!("block checksum {expected:08x}"), format!("{found:08x}"));
        }
        Ok(Stored { kind: stored[0], raw_bytes, end })
    }

    /// The bytes of the block that was read last, as they are in the file.
    pub(super) fn stored(&self) -> &[u8] {
        &self.stored
    }
}

fn damaged<T>(file: &DiskFile, offset: u64, expected: String, found: String) -> Result<T> {
    Err(Error::damaged(file.path(), offset, expected, found))
}

/// Collects URLs for a block.
#[derive(Debug, Default)]
pub(super) struct UrlWriter {
    pub raw: Vec<u8>,
    pub count: u32,
    front: Front,
}

impl UrlWriter {
    pub(super) fn push(&mut self, url: &UrlView<'_>) {
        self.front.put(&mut self.raw, url);
        self.count += 1;
    }

    pub(super) fn clear(&mut self) {
        self.raw.clear();
        self.count = 0;
        self.front.clear();
    }
}

/// Reads the URLs of a block, one after the other.
#[derive(Debug, Default)]
pub(super) struct UrlReader {
    raw: Vec<u8>,
    at: usize,
    /// Number of the next URL in the block.
    pub index: u32,
    front: Front,
}

impl UrlReader {
    pub(super) fn new(raw: Vec<u8>) -> Self {
        UrlReader { raw, ..UrlReader::default() }
    }

    /// The room that its bytes took.
    pub(super) fn into_raw(self) -> Vec<u8> {
        self.raw
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.raw.len()
    }

    /// Goes over the next URL; `None` if it cannot be read.
    pub(super) fn advance(&mut self) -> Option<()> {
        let mut reader = Reader::new(&self.raw[self.at..]);
        self.front.read(&mut reader)?;
        self.at += reader.position();
        self.index += 1;
        Some(())
    }

    /// The URL that was gone over last.
    pub(super) fn url(&self) -> UrlView<'_> {
        self.front.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Disk, Mode};

    #[test]
    fn every_flipped_byte_of_a_block_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let file = Disk::real().open(dir.path().join("block"), Mode::Create).unwrap();
        let block = Packer::new().pack(URLS, b"some URLs, and some more URLs").to_vec();
        let read = |bytes: &[u8]| {
            file.write_all_at(bytes, 0).unwrap();
            Unpacker::new().read(&file, 0, bytes.len() as u64)
        };
        assert_eq!(read(&block).unwrap().kind, URLS);
        for at in 0..block.len() {
            let mut flipped = block.clone();
            flipped[at] ^= 1;
            assert!(read(&flipped).is_err(), "byte {at}");
        }
    }
}
