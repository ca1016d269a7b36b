//! Blocks of a base: compressed, checksummed, of two kinds; and the front-coded URLs in one kind of them.
//!
//! ```text
//! | kind 1 | length 4 | stored length 4 | crc32 4 | zlib |        crc32 of everything but itself
//! ```
//! A URL is written as its difference to the one before it in the block; the first stands alone.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::disk::{DiskFile, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::host::Item;
use crate::frontier::wire::{self, Reader};
use crate::frontier::{Hops, QueuedUrl};

/// A block is closed when it has reached so many bytes.
pub(super) const BLOCK_BYTES: usize = 32 << 10;
/// No block holds more, whatever its head says.
const BLOCK_BYTES_MAX: usize = 64 << 20;
pub(super) const BLOCK_HEADER_BYTES: usize = 13;
/// Kinds of blocks.
pub(super) const URLS: u8 = 1;
pub(super) const DIRECTORY: u8 = 2;
pub(super) const INDEX: u8 = 3;
pub(super) const FILTER: u8 = 4;

/// Compresses one block after the other.
pub(super) struct Packer {
    compress: Compress,
    stored: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> Self {
        Packer { compress: Compress::new(Compression::new(1), true), stored: Vec::new() }
    }

    /// The block as it lies in the file.
    pub(super) fn pack(&mut self, kind: u8, raw: &[u8]) -> &[u8] {
        self.compress.reset();
        self.stored.clear();
        self.stored.resize(BLOCK_HEADER_BYTES, 0);
        self.stored.reserve(raw.len() + raw.len() / 100 + 64);
        loop {
            let rest = &raw[self.compress.total_in() as usize..];
            let status = self.compress.compress_vec(rest, &mut self.stored, FlushCompress::Finish);
            if matches!(status, Ok(Status::StreamEnd)) {
                break;
            }
            self.stored.reserve(raw.len() / 2 + 64);
        }
        let stored_len = self.stored.len() - BLOCK_HEADER_BYTES;
        self.stored[0] = kind;
        self.stored[1..5].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        self.stored[5..9].copy_from_slice(&(stored_len as u32).to_le_bytes());
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

/// Reads the block at `offset`, which ends at `limit` at the latest.
pub(super) fn read(file: &DiskFile, offset: u64, limit: u64) -> Result<Block> {
    let damaged = |expected: String, found: String| Err(Error::damaged(file.path(), offset, expected, found));
    let mut stored = vec![0; BLOCK_HEADER_BYTES];
    file.read_exact_at(&mut stored, offset)?;
    let word = |at: usize| u32::from_le_bytes([stored[at], stored[at + 1], stored[at + 2], stored[at + 3]]);
    let (raw_len, stored_len, expected) = (word(1) as usize, word(5) as usize, word(9));
    let end = offset + (BLOCK_HEADER_BYTES + stored_len) as u64;
    if end > limit || raw_len > BLOCK_BYTES_MAX {
        return damaged(format!("a block that ends before byte {limit}"), format!("{stored_len} bytes for {raw_len}"));
    }
    let kind = stored[0];
    stored.resize(BLOCK_HEADER_BYTES + stored_len, 0);
    file.read_exact_at(&mut stored[BLOCK_HEADER_BYTES..], offset + BLOCK_HEADER_BYTES as u64)?;
    let found = checksum(&stored);
    if found != expected {
        return damaged(format!("block checksum {expected:08x}"), format!("{found:08x}"));
    }
    let mut raw = Vec::with_capacity(raw_len);
    let outcome =
        Decompress::new(true).decompress_vec(&stored[BLOCK_HEADER_BYTES..], &mut raw, FlushDecompress::Finish);
    if !matches!(outcome, Ok(Status::StreamEnd)) || raw.len() != raw_len {
        return damaged(format!("{raw_len} bytes of zlib"), format!("{} and {outcome:?}", raw.len()));
    }
    Ok(Block { kind, raw, end })
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

fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Collects URLs for a block.
#[derive(Debug, Default)]
pub(super) struct UrlWriter {
    pub raw: Vec<u8>,
    pub count: u32,
    previous: Previous,
}

impl UrlWriter {
    pub(super) fn push(&mut self, item: &Item) {
        let (url, previous, out) = (&item.url, &mut self.previous, &mut self.raw);
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
        wire::put_varint(out, item.rank.into());
        wire::put_delta(out, previous.sequence, item.sequence);
        out.extend_from_slice(&[url.priority, url.attempts]);
        wire::put_varint(out, url.depth.into());
        wire::put_varint(out, url.seed.into());
        wire::put_delta(out, previous.via, url.via);
        for (before, text) in [(&mut previous.hops, url.hops.as_str()), (&mut previous.url, &*url.url)] {
            let same = shared(before, text.as_bytes());
            wire::put_varint(out, same as u64);
            wire::put_sized(out, &text.as_bytes()[same..]);
            before.truncate(same);
            before.extend_from_slice(&text.as_bytes()[same..]);
        }
        (previous.sequence, previous.via) = (item.sequence, url.via);
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
    pub(super) fn item(&self) -> Option<Item> {
        let (head, previous) = (self.head, &self.previous);
        let url = QueuedUrl {
            url: std::str::from_utf8(&previous.url).ok()?.into(),
            key: head.key,
            origin: previous.origin,
            host: previous.host,
            domain: previous.domain,
            priority: head.priority,
            depth: head.depth,
            hops: Hops::parse(std::str::from_utf8(&previous.hops).ok()?),
            attempts: head.attempts,
            via: previous.via,
            seed: head.seed,
            forced: head.forced,
        };
        Some(Item { rank: head.rank, sequence: previous.sequence, url })
    }
}
