//! A link file, byte by byte: the links to other shards that came between two checkpoints of a shard.
//!
//! ```text
//! out.gN   | header 16 | shard u32 | shards u32 | number u64 | crc32 of these three |
//!          frames, in any order:
//!              | shard u32 | bytes u32 | unpacked u32 | crc32 of these three and of what follows | zstd |
//!          index: | notes v | URL s * notes |,
//!              then for each shard that has frames | shard v | frames v | (offset v, bytes v) * frames | links v |
//!          footer 32: | index at u64 | index bytes u64 | frames u64 | zero u32 | crc32 of index and footer u32 |
//! ```
//! A frame unpacks to at most [`FRAME_BYTES`] and [`FRAME_RECORDS`] records, or to one record alone. A note is a URL to
//! which a seed redirects: it joins the scope of every shard. A file is written once and never changed: it exists for
//! others from the moment at which the checkpoint N is durable that names it.

use std::path::{Path, PathBuf};

use crate::record::layout;

/// Version of the format.
pub(super) const VERSION: u16 = 1;
/// Shard, shards and number, and their checksum.
pub(super) const NAME_BYTES: usize = 20;
/// Length of the head before each frame.
pub(super) const FRAME_HEAD_BYTES: usize = 16;
/// The end of the file.
pub(super) const FOOTER_BYTES: usize = 32;
/// The most bytes that a frame holds, unpacked.
pub(super) const FRAME_BYTES: usize = 16 << 10;
/// Links of a frame at most.
pub(super) const FRAME_RECORDS: usize = 4_096;
/// The longest record: a URL and what it inherits.
pub(super) const RECORD_BYTES_MAX: usize = 16 << 10;

/// Returns the directory of the link files of the shard in `dir`.
pub fn links_dir(dir: &Path) -> PathBuf {
    dir.join(layout::LINKS)
}

/// The link file of checkpoint `number` of the shard in `dir`.
pub fn link_path(dir: &Path, number: u64) -> PathBuf {
    links_dir(dir).join(format!("out.g{number:06}"))
}

/// The number of a link file by its name.
pub fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("out.g")?.parse().ok()
}

/// The bytes behind the header.
pub(super) fn name(shard: u32, shards: u32, number: u64) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    bytes[..4].copy_from_slice(&shard.to_le_bytes());
    bytes[4..8].copy_from_slice(&shards.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Returns the head of a frame: shard, lengths of `packed` and unpacked, and their checksum.
pub(super) fn frame_head(shard: u32, packed: &[u8], unpacked: usize) -> [u8; FRAME_HEAD_BYTES] {
    let mut head = [0; FRAME_HEAD_BYTES];
    head[..4].copy_from_slice(&shard.to_le_bytes());
    head[4..8].copy_from_slice(&(packed.len() as u32).to_le_bytes());
    head[8..12].copy_from_slice(&(unpacked as u32).to_le_bytes());
    let sum = frame_sum(&head, packed);
    head[12..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// The checksum of a frame with this head.
pub(super) fn frame_sum(head: &[u8], packed: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head[..12]);
    sum.update(packed);
    sum.finalize()
}

/// The number at `at` of bytes that were read whole.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}

/// The same, of eight bytes.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}
