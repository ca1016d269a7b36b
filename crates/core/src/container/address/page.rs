//! Pages of the address file.
//!
//! ```text
//! head page (page 0 of address.idx)       bucket and overflow pages
//! 0   16  file header                     0   4  crc32 of the rest
//! 16   4  crc32 of the rest               4   8  page id (top bit: overflow page)
//! 20   4  level                           12  2  slots in use
//! 24   8  next bucket to be split         14  2  zero
//! 32   8  slots                           16  8  overflow page: id + 1, 0 for none
//! 40   8  length of key.dat covered       24     509 slots of 8 bytes: tag << 40 | offset
//! 48   8  overflow pages
//! 56   4  free overflow pages
//! 60      their ids, 8 bytes each
//! ```

use crate::disk::{HEADER_BYTES, Header};
use crate::fingerprint::Fingerprint;

/// Bytes of a page.
pub(super) const PAGE_BYTES: usize = 4_096;
/// Offset in a page at which its slots begin.
pub(super) const SLOTS_AT: usize = 24;
/// Slots of a page.
pub(super) const SLOTS_PER_PAGE: usize = (PAGE_BYTES - SLOTS_AT) / 8;
const OFFSET_BITS: u32 = 40;
const TAG_BITS: u32 = 24;
const LEVEL_FIRST: u32 = 2;
/// No file has as many buckets.
const LEVEL_END: u32 = 48;
const HEAD_FREE_AT: usize = 60;
/// Free overflow pages that the head has room for; more are forgotten until the file is rebuilt.
const FREE_MAX: usize = (PAGE_BYTES - HEAD_FREE_AT) / 8;

/// The id of a page: of address.idx by bucket, or of address.ovf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PageId(u64);

const OVERFLOW_BIT: u64 = 1 << 63;
/// No page is further on than a file can reach: a damaged number leads behind the end, where nothing is.
const PAGE_NUMBER_MAX: u64 = (i64::MAX as u64) / PAGE_BYTES as u64;

impl PageId {
    pub(super) fn bucket(number: u64) -> Self {
        PageId(number)
    }

    pub(super) fn overflow(number: u64) -> Self {
        PageId(number | OVERFLOW_BIT)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        PageId(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }

    pub(super) fn is_overflow(self) -> bool {
        self.0 & OVERFLOW_BIT != 0
    }

    /// Returns the number of an overflow page; none for any other.
    pub(super) fn overflow_number(self) -> Option<u64> {
        self.is_overflow().then_some(self.0 ^ OVERFLOW_BIT)
    }

    /// Returns the offset of the page in its file; page 0 of address.idx is the head.
    pub(super) fn position(self) -> u64 {
        let number = if self.is_overflow() { self.0 ^ OVERFLOW_BIT } else { self.0 + 1 };
        number.min(PAGE_NUMBER_MAX) * PAGE_BYTES as u64
    }
}

/// A tag with as many of the fingerprint's bits above `level` as fit below its marker.
pub(super) fn tag_of(key: Fingerprint, level: u32) -> u32 {
    let bits = (key.bits() >> level) as u32 & ((1 << (TAG_BITS - 1)) - 1);
    bits | 1 << (TAG_BITS - 1)
}

/// True if a tag in a bucket of `level` may be `key`'s.
pub(super) fn tag_matches(tag: u32, key: Fingerprint, level: u32) -> bool {
    let known = tag.checked_ilog2().unwrap_or(0);
    let mask = (1_u32 << known) - 1;
    ((key.bits() >> level) as u32 ^ tag) & mask == 0
}

/// Takes the lowest bit from a tag: whether the slot goes to the upper bucket, and its tag there. `None` when the tag
/// has no bit left.
pub(super) fn halve(tag: u32) -> Option<(bool, u32)> {
    (tag > 1).then_some((tag & 1 == 1, tag >> 1))
}

/// The content of page 0 of address.idx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) level: u32,
    pub(super) split: u64,
    pub(super) slots: u64,
    pub(super) covered: u64,
    pub(super) overflow_pages: u64,
    pub(super) free: Vec<PageId>,
}

impl Head {
    pub(super) fn new() -> Self {
        Head { level: LEVEL_FIRST, split: 0, slots: 0, covered: HEADER_BYTES, overflow_pages: 0, free: Vec::new() }
    }

    pub(super) fn buckets(&self) -> u64 {
        (1 << self.level) + self.split
    }

    /// Pages of both files by what it says, which nobody has counted.
    pub(super) fn pages(&self) -> u64 {
        (1 + self.buckets()).saturating_add(self.overflow_pages)
    }

    /// The bucket of `key`, and how many bits of it chose the bucket.
    pub(super) fn bucket(&self, key: Fingerprint) -> (u64, u32) {
        let low = |bits: u32| key.bits() & ((1 << bits) - 1);
        let bucket = low(self.level);
        if bucket < self.split { (low(self.level + 1), self.level + 1) } else { (bucket, self.level) }
    }

    /// The next bucket in turn was split.
    pub(super) fn advance(&mut self) {
        self.split += 1;
        if self.split == 1 << self.level {
            self.level += 1;
            self.split = 0;
        }
    }

    pub(super) fn encode(&self, header: Header) -> Box<[u8; PAGE_BYTES]> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        bytes[..16].copy_from_slice(&header.to_bytes());
        bytes[20..24].copy_from_slice(&self.level.to_le_bytes());
        let numbers = [self.split, self.slots, self.covered, self.overflow_pages];
        for (at, number) in (24..).step_by(8).zip(numbers) {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        let free = &self.free[..self.free.len().min(FREE_MAX)];
        bytes[56..60].copy_from_slice(&(free.len() as u32).to_le_bytes());
        for (at, id) in (HEAD_FREE_AT..).step_by(8).zip(free) {
            bytes[at..at + 8].copy_from_slice(&id.bits().to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[20..]);
        bytes[16..20].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if crc32fast::hash(&bytes[20..]) != u32_at(bytes, 16) {
            return None;
        }
        if !(LEVEL_FIRST..LEVEL_END).contains(&u32_at(bytes, 20)) || u64_at(bytes, 24) >> u32_at(bytes, 20) != 0 {
            return None;
        }
        let free = u32_at(bytes, 56) as usize;
        let ids = bytes[HEAD_FREE_AT..].chunks_exact(8).take(free.min(FREE_MAX));
        Some(Head {
            level: u32_at(bytes, 20),
            split: u64_at(bytes, 24),
            slots: u64_at(bytes, 32),
            covered: u64_at(bytes, 40),
            overflow_pages: u64_at(bytes, 48),
            free: ids.map(|id| PageId::from_bits(u64_at(id, 0))).collect(),
        })
    }
}

/// A bucket or overflow page.
#[derive(Clone, Debug)]
pub(super) struct Page {
    bytes: Box<[u8; PAGE_BYTES]>,
}

impl Page {
    pub(super) fn new(id: PageId) -> Self {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        bytes[4..12].copy_from_slice(&id.bits().to_le_bytes());
        Page { bytes }
    }

    pub(super) fn decode(bytes: &[u8], id: PageId) -> Option<Self> {
        let page = Page { bytes: Box::new(bytes.try_into().ok()?) };
        let whole = crc32fast::hash(&bytes[4..]) == u32_at(bytes, 0);
        (whole && page.id() == id && page.len() <= SLOTS_PER_PAGE).then_some(page)
    }

    /// The page with its checksum.
    pub(super) fn encode(&mut self) -> &[u8; PAGE_BYTES] {
        let sum = crc32fast::hash(&self.bytes[4..]);
        self.bytes[..4].copy_from_slice(&sum.to_le_bytes());
        &self.bytes
    }

    pub(super) fn id(&self) -> PageId {
        PageId::from_bits(u64_at(&self.bytes[..], 4))
    }

    pub(super) fn len(&self) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[12], self.bytes[13]]))
    }

    pub(super) fn overflow(&self) -> Option<PageId> {
        u64_at(&self.bytes[..], 16).checked_sub(1).map(|number| PageId::overflow(number & !OVERFLOW_BIT))
    }

    pub(super) fn set_overflow(&mut self, id: Option<PageId>) {
        let bits = id.map_or(0, |id| (id.bits() & !OVERFLOW_BIT) + 1);
        self.bytes[16..24].copy_from_slice(&bits.to_le_bytes());
    }

    /// Tag and offset of every slot.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u32, u64)> {
        let used = &self.bytes[SLOTS_AT..SLOTS_AT + 8 * self.len()];
        used.chunks_exact(8).map(|slot| {
            let bits = u64_at(slot, 0);
            ((bits >> OFFSET_BITS) as u32, bits & ((1 << OFFSET_BITS) - 1))
        })
    }

    /// Appends a slot; there must be room.
    pub(super) fn push(&mut self, tag: u32, offset: u64) {
        let count = self.len();
        self.write(count, tag, offset);
        self.bytes[12..14].copy_from_slice(&(count as u16 + 1).to_le_bytes());
    }

    /// Returns whether the page has a slot with `offset` already. It is written again with `tag`: after a crash a slot
    /// may be left whose offset now belongs to another URL.
    pub(super) fn renew(&mut self, tag: u32, offset: u64) -> bool {
        let found = self.slots().position(|(_, known)| known == offset);
        if let Some(index) = found {
            self.write(index, tag, offset);
        }
        found.is_some()
    }

    fn write(&mut self, index: usize, tag: u32, offset: u64) {
        debug_assert!(offset >> OFFSET_BITS == 0, "key.dat is larger than a slot can say");
        let bits = u64::from(tag) << OFFSET_BITS | offset;
        let at = SLOTS_AT + 8 * index;
        self.bytes[at..at + 8].copy_from_slice(&bits.to_le_bytes());
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_page_number_leads_behind_the_end_of_any_file_and_not_elsewhere() {
        assert_eq!(PageId::overflow(3).position(), 3 * PAGE_BYTES as u64);
        assert_eq!(PageId::bucket(3).position(), 4 * PAGE_BYTES as u64);
        for bits in [OVERFLOW_BIT - 1, u64::MAX, OVERFLOW_BIT | 1 << 52, 1 << 52] {
            let position = PageId::from_bits(bits).position();
            assert!(position > i64::MAX as u64 - 2 * PAGE_BYTES as u64 && position <= i64::MAX as u64, "{bits:#x}");
        }
    }

    #[test]
    fn a_tag_leads_its_slot_through_every_split() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let key = Fingerprint::from_bits(rng.u64(..));
            let mut tag = tag_of(key, LEVEL_FIRST);
            for level in LEVEL_FIRST..LEVEL_FIRST + TAG_BITS - 1 {
                assert!(tag_matches(tag, key, level));
                let (upper, halved) = halve(tag).unwrap();
                assert_eq!(upper, key.bits() >> level & 1 == 1);
                tag = halved;
            }
            assert_eq!(halve(tag), None);
        }
    }

    #[test]
    fn a_flipped_bit_of_a_page_is_noticed() {
        let id = PageId::overflow(7);
        let mut page = Page::new(id);
        page.push(tag_of(Fingerprint::from_bits(9), 2), 1_234);
        let whole = *page.encode();
        assert!(Page::decode(&whole, id).is_some());
        assert!(Page::decode(&whole, PageId::bucket(7)).is_none());
        for bit in (0..PAGE_BYTES * 8).step_by(11) {
            let mut torn = whole;
            torn[bit / 8] ^= 1 << (bit % 8);
            assert!(Page::decode(&torn, id).is_none(), "bit {bit}");
        }
    }
}
