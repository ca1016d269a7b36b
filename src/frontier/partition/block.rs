//! Blocks of a base: compressed, checksummed, of two kinds; and the front-coded URLs in one kind of them.
//!
//! ```text
//! | kind 1 | length 4 | stored length 4 | crc32 4 | zstd |        crc32 of everything but itself
//! ```
//! A URL is written as its difference to the one before it in the block; the first stands alone.

use super::entry::UrlView;
use crate::disk::{DiskFile, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::wire::{self, Reader};

/// A block is closed when it has reached so many bytes.
pub(super) const BLOCK_BYTES: usize = 32 << 10;
/// No block holds more, whatever its head says.
const BLOCK_BYTES_MAX: usize = 64 << 20;
pub(super) const BLOCK_HEADER_BYTES: usize = 13;
/// Read at once where a block is to be: a compressed one is seldom longer.
const READ_BYTES: u64 = 24 << 10;
/// Kinds of blocks.
pub(super) const URLS: u8 = 1;
pub(super) const DIRECTORY: u8 = 2;
pub(super) const INDEX: u8 = 3;
pub(super) const FILTER: u8 = 4;

/// Of zstd: what is left after front-coding is mostly fingerprints, which a higher level makes no smaller.
const LEVEL: i32 = 1;

/// Compresses one block after the other.
pub(super) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    frame: Vec<u8>,
    stored: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> Self {
        let compressor = zstd::bulk::Compressor::new(LEVEL).expect("the level is one that zstd has");
        Packer { compressor, frame: Vec::new(), stored: Vec::new() }
    }

    /// The block as it lies in the file.
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
    /// Where the next one starts.
    pub end: u64,
}

/// What the first byte of a URL says: its origin, host and domain follow; it is forced.
const FLAG_ANOTHER: u8 = 1;
const FLAG_FORCED: u8 = 2;

/// Reads one block after the other.
pub(super) struct Unpacker {
    decompressor: zstd::bulk::Decompressor<'static>,
    stored: Vec<u8>,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unpacker")
    }
}

impl Unpacker {
    pub(super) fn new() -> Self {
        let decompressor = zstd::bulk::Decompressor::new().expect("there is memory for a decompressor");
        Unpacker { decompressor, stored: Vec::new() }
    }

    /// Reads the block at `offset`, which ends at `limit` at the latest.
    pub(super) fn read(&mut self, file: &DiskFile, offset: u64, limit: u64) -> Result<Block> {
        let damaged = |expected: String, found: String| Err(Error::damaged(file.path(), offset, expected, found));
        let stored = &mut self.stored;
        // One read brings most blocks whole.
        stored.resize((limit.saturating_sub(offset)).min(READ_BYTES) as usize, 0);
        let got = file.read_at(stored, offset)?;
        stored.truncate(got);
        if got < BLOCK_HEADER_BYTES {
            return damaged("the head of a block".to_owned(), format!("{got} bytes"));
        }
        let word = |at: usize| u32::from_le_bytes([stored[at], stored[at + 1], stored[at + 2], stored[at + 3]]);
        let (raw_len, stored_len, expected) = (word(1) as usize, word(5) as usize, word(9));
        let end = offset + (BLOCK_HEADER_BYTES + stored_len) as u64;
        if end > limit || raw_len > BLOCK_BYTES_MAX {
            let found = format!("{stored_len} bytes for {raw_len}");
            return damaged(format!("a block that ends before byte {limit}"), found);
        }
        stored.resize(BLOCK_HEADER_BYTES + stored_len, 0);
        if let Some(rest) = stored.get_mut(got..) {
            file.read_exact_at(rest, offset + got as u64)?;
        }
        let found = checksum(stored);
        if found != expected {
            return damaged(format!("block checksum {expected:08x}"), format!("{found:08x}"));
        }
        let mut raw = Vec::with_capacity(raw_len);
        let outcome = self.decompressor.decompress_to_buffer(&stored[BLOCK_HEADER_BYTES..], &mut raw);
        if !matches!(outcome, Ok(len) if len == raw_len) {
            return damaged(format!("{raw_len} bytes of zstd"), format!("{outcome:?}"));
        }
        Ok(Block { kind: stored[0], raw, end })
    }
}

/// What URLs are written as differences to.
#[derive(Clone, Debug, Default)]
struct Previous {
    origin: Fingerprint,
    host: Fingerprint,
    domain: Fingerprint,
    sequence: u64,
    via: u64,
    hops: Vec<u8>,
    url: Vec<u8>,
}

/// How many bytes are the same at the start.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let (words_a, words_b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let words = words_a.iter().zip(words_b).take_while(|(x, y)| x == y).count();
    let start = words * 8;
    start + a[start..].iter().zip(&b[start..]).take_while(|(x, y)| x == y).count()
}

/// Collects URLs for a block.
#[derive(Debug, Default)]
pub(super) struct UrlWriter {
    pub raw: Vec<u8>,
    pub count: u32,
    previous: Previous,
}

impl UrlWriter {
    pub(super) fn push(&mut self, url: &UrlView<'_>) {
        let (previous, out) = (&mut self.previous, &mut self.raw);
        let another =
            self.count == 0 || (url.origin, url.host, url.domain) != (previous.origin, previous.host, previous.domain);
        out.push((u8::from(another) * FLAG_ANOTHER) | (u8::from(url.forced) * FLAG_FORCED));
        if another {
            for fingerprint in [url.domain, url.origin, url.host] {
                wire::put_fingerprint(out, fingerprint);
            }
            (previous.origin, previous.host, previous.domain) = (url.origin, url.host, url.domain);
        }
        wire::put_fingerprint(out, url.key);
        wire::put_varint(out, url.rank.into());
        wire::put_delta(out, previous.sequence, url.sequence);
        out.extend_from_slice(&[url.priority, url.attempts]);
        wire::put_varint(out, url.depth.into());
        wire::put_varint(out, url.seed.into());
        wire::put_delta(out, previous.via, url.via);
        for (before, text) in [(&mut previous.hops, url.hops), (&mut previous.url, url.url)] {
            let same = shared(before, text);
            wire::put_varint(out, same as u64);
            wire::put_sized(out, &text[same..]);
            before.truncate(same);
            before.extend_from_slice(&text[same..]);
        }
        (previous.sequence, previous.via) = (url.sequence, url.via);
        self.count += 1;
    }

    pub(super) fn clear(&mut self) {
        *self = UrlWriter { raw: std::mem::take(&mut self.raw), ..UrlWriter::default() };
        self.raw.clear();
    }
}

/// Reads the URLs of a block, one after the other.
#[derive(Debug, Default)]
pub(super) struct UrlReader {
    raw: Vec<u8>,
    at: usize,
    /// Number of the next URL in the block.
    pub index: u32,
    previous: Previous,
    head: Head,
}

/// The numbers of the URL that was read last.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    key: Fingerprint,
    rank: u16,
    priority: u8,
    attempts: u8,
    depth: u16,
    seed: u32,
    forced: bool,
}

impl UrlReader {
    pub(super) fn new(raw: Vec<u8>) -> Self {
        UrlReader { raw, ..UrlReader::default() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.raw.len()
    }

    /// Goes over the next URL; `None` if it cannot be read.
    pub(super) fn advance(&mut self) -> Option<()> {
        let mut reader = Reader::new(&self.raw[self.at..]);
        let previous = &mut self.previous;
        let flags = reader.u8()?;
        if flags & !(FLAG_ANOTHER | FLAG_FORCED) != 0 {
            return None;
        }
        self.head.forced = flags & FLAG_FORCED != 0;
        if flags & FLAG_ANOTHER != 0 {
            previous.domain = reader.fingerprint()?;
            previous.origin = reader.fingerprint()?;
            previous.host = reader.fingerprint()?;
        }
        self.head.key = reader.fingerprint()?;
        self.head.rank = reader.small()?;
        previous.sequence = reader.delta(previous.sequence)?;
        self.head.priority = reader.u8()?;
        self.head.attempts = reader.u8()?;
        self.head.depth = reader.small()?;
        self.head.seed = reader.small()?;
        previous.via = reader.delta(previous.via)?;
        for before in [&mut previous.hops, &mut previous.url] {
            let same: usize = reader.small()?;
            if same > before.len() {
                return None;
            }
            before.truncate(same);
            before.extend_from_slice(reader.sized()?);
        }
        self.at += reader.position();
        self.index += 1;
        Some(())
    }

    /// The URL that was gone over last.
    pub(super) fn url(&self) -> UrlView<'_> {
        let (head, previous) = (self.head, &self.previous);
        UrlView {
            rank: head.rank,
            sequence: previous.sequence,
            key: head.key,
            origin: previous.origin,
            host: previous.host,
            domain: previous.domain,
            priority: head.priority,
            attempts: head.attempts,
            depth: head.depth,
            seed: head.seed,
            via: previous.via,
            forced: head.forced,
            hops: &previous.hops,
            url: &previous.url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_start_of_two_texts_is_counted_to_the_byte() {
        let text: Vec<u8> = (0..40).collect();
        for len in 0..40 {
            let mut other = text[..len].to_vec();
            assert_eq!(shared(&text, &other), len);
            other.push(99);
            assert_eq!(shared(&text, &other), len);
            assert_eq!(shared(&other, &text), len);
        }
    }
}
