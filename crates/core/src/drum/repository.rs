//! A bucket of the repository: keys in rising order with their values, in one immutable file. docs/FORMATS.md draws it.
//!
//! Blocks of up to 1024 keys: a head with the checksums, the keys in the two columns of [`super::rice`], then the
//! values in a separate column with its own checksum, so that a reader of keys only skips it. A tail with the number of
//! keys and blocks ends the file: one that lost blocks is not taken for a smaller one.
//!
//! Cost: 4.9 bytes a key at 100 M random keys in all, and a bit a key less for each doubling of their number.

use crate::disk::{Error, Result, Writer};
use crate::varint;

use super::names::{BucketFiles, CONTENT_AT, Part};
use super::rice;
use super::sequential::Sequential;
use super::state::RepositoryState;

/// crc32 | first key | value bytes | value crc32 | count - 1 | quotient bytes | k | zero
const HEAD_BYTES: usize = 26;
/// keys | blocks | crc32
const TAIL_BYTES: usize = 20;
/// A block ends early when its values take more.
const BLOCK_VALUES_MAX: usize = 64 << 10;
const WRITE_BYTES: usize = 256 << 10;

/// Writes a new generation of a bucket.
#[derive(Debug)]
pub(super) struct RepositoryWriter {
    writer: Writer,
    fixed: Option<usize>,
    keys: Vec<u64>,
    values: Vec<u8>,
    block: Vec<u8>,
    keys_written: u64,
    blocks: u64,
    generation: u64,
}

impl RepositoryWriter {
    /// Creates the file of `generation`; `fixed` is the length of every value, where they have one.
    pub(crate) fn create(place: &BucketFiles, generation: u64, fixed: Option<usize>) -> Result<Self> {
        let file = place.create(generation, Part::Repository)?;
        Ok(RepositoryWriter {
            writer: Writer::new(file, CONTENT_AT, WRITE_BYTES),
            fixed,
            keys: Vec::with_capacity(rice::KEYS_MAX),
            values: Vec::new(),
            block: Vec::new(),
            keys_written: 0,
            blocks: 0,
            generation,
        })
    }

    /// Appends a key, larger than those before, and its encoded value.
    #[inline]
    pub(crate) fn push(&mut self, key: u64, value: &[u8]) -> Result<()> {
        if self.fixed != Some(0) {
            self.push_value(value);
        }
        self.keys.push(key);
        if self.keys.len() == rice::KEYS_MAX || self.values.len() >= BLOCK_VALUES_MAX {
            self.end_block()?;
        }
        Ok(())
    }

    fn push_value(&mut self, value: &[u8]) {
        match self.fixed {
            Some(bytes) => assert_eq!(value.len(), bytes, "a value must keep to Value::FIXED_BYTES"),
            None => varint::push(value.len() as u64, &mut self.values),
        }
        self.values.extend_from_slice(value);
    }

    fn end_block(&mut self) -> Result<()> {
        let block = &mut self.block;
        block.clear();
        block.resize(HEAD_BYTES, 0);
        let (k, quotient_bytes) = rice::encode(&self.keys, block);
        let limit = |what| Error::limit("write", self.writer.file().path(), what);
        let value_bytes = u32::try_from(self.values.len()).map_err(|_| limit("a value of more than 4 GiB"))?;
        block[4..12].copy_from_slice(&self.keys[0].to_le_bytes());
        block[12..16].copy_from_slice(&value_bytes.to_le_bytes());
        block[16..20].copy_from_slice(&crc32fast::hash(&self.values).to_le_bytes());
        block[20..22].copy_from_slice(&(self.keys.len() as u16 - 1).to_le_bytes());
        block[22..24].copy_from_slice(&(quotient_bytes as u16).to_le_bytes());
        block[24] = k;
        let sum = crc32fast::hash(&block[4..]);
        block[..4].copy_from_slice(&sum.to_le_bytes());
        self.writer.push(block)?;
        self.writer.push(&self.values)?;
        self.keys_written += self.keys.len() as u64;
        self.blocks += 1;
        self.keys.clear();
        self.values.clear();
        Ok(())
    }

    /// Ends the file. It becomes durable by the first cut that names it.
    pub(crate) fn finish(mut self) -> Result<RepositoryState> {
        if !self.keys.is_empty() {
            self.end_block()?;
        }
        let mut tail = [0; TAIL_BYTES];
        tail[..8].copy_from_slice(&self.keys_written.to_le_bytes());
        tail[8..16].copy_from_slice(&self.blocks.to_le_bytes());
        let sum = crc32fast::hash(&tail[..16]);
        tail[16..].copy_from_slice(&sum.to_le_bytes());
        self.writer.push(&tail)?;
        let bytes = self.writer.position();
        self.writer.finish()?;
        Ok(RepositoryState { generation: self.generation, bytes, keys: self.keys_written })
    }
}

/// The keys of a block and, where they were asked for, their values.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub keys: Vec<u64>,
    values: Vec<u8>,
    /// Start and end of each value in `values`; empty where values have no bytes.
    places: Vec<(u32, u32)>,
}

impl Block {
    /// The encoded value of the key at `index`.
    #[inline]
    pub(crate) fn value(&self, index: usize) -> &[u8] {
        match self.places.get(index) {
            Some(&(from, to)) => &self.values[from as usize..to as usize],
            None => &[],
        }
    }

    fn find_values(&mut self, fixed: Option<usize>) -> Option<()> {
        self.places.clear();
        if fixed == Some(0) {
            return self.values.is_empty().then_some(());
        }
        let mut at = 0;
        for _ in 0..self.keys.len() {
            let bytes = match fixed {
                Some(bytes) => bytes,
                None => usize::try_from(varint::read(&self.values, &mut at)?).ok()?,
            };
            let to = at.checked_add(bytes).filter(|&to| to <= self.values.len())?;
            self.places.push((at as u32, to as u32));
            at = to;
        }
        (at == self.values.len()).then_some(())
    }
}

/// Reads a bucket from its first key to its last.
#[derive(Debug)]
pub(super) struct RepositoryReader {
    input: Sequential,
    place: BucketFiles,
    fixed: Option<usize>,
    last_key: Option<u64>,
    keys_left: u64,
    blocks_left: u64,
}

impl RepositoryReader {
    /// Opens the file that `state` names and checks its length and tail.
    pub(crate) fn open(place: &BucketFiles, state: &RepositoryState, fixed: Option<usize>) -> Result<Self> {
        let file = place.open(state.generation, Part::Repository)?;
        let bytes = file.len()?;
        if bytes != state.bytes {
            return Err(Error::damaged(file.path(), bytes, format!("{} bytes", state.bytes), format!("{bytes}")));
        }
        let end = bytes.saturating_sub(TAIL_BYTES as u64).max(CONTENT_AT);
        let mut tail = [0; TAIL_BYTES];
        file.read_exact_at(&mut tail, end)?;
        let number = |at: usize| u64::from_le_bytes(tail[at..at + 8].try_into().expect("eight bytes"));
        let (keys, blocks, sum) = (number(0), number(8), crc32fast::hash(&tail[..16]).to_le_bytes());
        if tail[16..] != sum || keys != state.keys {
            let expected = format!("a tail that counts {} keys, checksum {sum:02x?}", state.keys);
            return Err(Error::damaged(file.path(), end, expected, format!("{keys} keys, {:02x?}", &tail[16..])));
        }
        Ok(RepositoryReader {
            input: Sequential::new(file, CONTENT_AT, end),
            place: place.clone(),
            fixed,
            last_key: None,
            keys_left: keys,
            blocks_left: blocks,
        })
    }

    /// Reads the next block into `block`; `false` after the last one. Values are read and checked `with_values` only.
    pub(crate) fn next(&mut self, block: &mut Block, with_values: bool) -> Result<bool> {
        block.keys.clear();
        block.values.clear();
        block.places.clear();
        if self.input.left() == 0 {
            if self.keys_left != 0 || self.blocks_left != 0 {
                let found = format!("{} keys in {} blocks fewer", self.keys_left, self.blocks_left);
                return Err(self.input.damaged(0, "as many keys and blocks as the tail counts", found));
            }
            return Ok(false);
        }
        let (value_bytes, value_sum) = self.read_keys(&mut block.keys)?;
        if !with_values {
            self.input.skip(value_bytes)?;
            return Ok(true);
        }
        block.values.extend_from_slice(self.input.take(value_bytes)?);
        let sum = crc32fast::hash(&block.values);
        if sum != value_sum {
            let found = format!("{sum:08x}");
            return Err(self.input.damaged(value_bytes, format!("values with checksum {value_sum:08x}"), found));
        }
        if block.find_values(self.fixed).is_none() {
            return Err(self.input.damaged(value_bytes, "a value for every key", "another number of bytes"));
        }
        Ok(true)
    }

    /// The value of `key`, in the block that was read last, is none.
    pub(crate) fn damaged_value(&self, key: u64) -> Error {
        self.input.damaged(0, "values of this DRUM in the block that ends here", format!("another one under {key:#x}"))
    }

    fn read_keys(&mut self, keys: &mut Vec<u64>) -> Result<(usize, u32)> {
        let mut head = [0; HEAD_BYTES];
        head.copy_from_slice(self.input.take(HEAD_BYTES)?);
        let u32_at = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let u16_at = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let first = u64::from_le_bytes(head[4..12].try_into().expect("eight bytes"));
        let (count, quotient_bytes, k) = (u16_at(20) + 1, u16_at(22), head[24]);
        let low_bytes = rice::low_bytes(count, k);
        let columns = self.input.take(low_bytes + quotient_bytes)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&head[4..]);
        hasher.update(columns);
        let sum = hasher.finalize();
        let (low, quotients) = columns.split_at(low_bytes);
        let sound = sum == u32_at(0) && rice::decode(first, count, k, low, quotients, keys).is_some();
        if !sound {
            let back = HEAD_BYTES + low_bytes + quotient_bytes;
            let found = format!("a block with checksum {sum:08x}");
            return Err(self.input.damaged(back, format!("a block of keys, checksum {:08x}", u32_at(0)), found));
        }
        let ordered = self.last_key.is_none_or(|last| last < first);
        let last = keys[count - 1];
        if !ordered || !self.place.holds(first) || !self.place.holds(last) {
            let expected = format!("rising keys of bucket {}", self.place.bucket);
            return Err(self.input.damaged(0, expected, format!("{first:#x} to {last:#x}")));
        }
        self.last_key = Some(last);
        self.keys_left = self.keys_left.checked_sub(count as u64).unwrap_or(u64::MAX);
        self.blocks_left = self.blocks_left.checked_sub(1).unwrap_or(u64::MAX);
        Ok((u32_at(12) as usize, u32_at(16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;

    fn place(dir: &std::path::Path) -> BucketFiles {
        BucketFiles { disk: Disk::real(), dir: dir.to_owned(), bucket: 1, buckets: 2 }
    }

    fn key(index: u64) -> u64 {
        (1 << 63) | (index * index * 1_000_003)
    }

    fn write(place: &BucketFiles, keys: u64, fixed: Option<usize>, value: impl Fn(u64) -> Vec<u8>) -> RepositoryState {
        let mut writer = RepositoryWriter::create(place, 1, fixed).unwrap();
        for index in 0..keys {
            writer.push(key(index), &value(index)).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(place: &BucketFiles, state: &RepositoryState, fixed: Option<usize>) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut reader = RepositoryReader::open(place, state, fixed)?;
        let (mut block, mut pairs) = (Block::default(), Vec::new());
        while reader.next(&mut block, true)? {
            pairs.extend((0..block.keys.len()).map(|index| (block.keys[index], block.value(index).to_vec())));
        }
        Ok(pairs)
    }

    #[test]
    fn keys_and_values_come_back_in_order() {
        for (keys, fixed) in [(0, Some(0)), (1, Some(0)), (5_000, Some(0)), (3_000, Some(8)), (3_000, None)] {
            let dir = tempfile::tempdir().unwrap();
            let place = place(dir.path());
            let value = |index: u64| match fixed {
                Some(bytes) => vec![index as u8; bytes],
                None => vec![index as u8; (index % 700) as usize],
            };
            let state = write(&place, keys, fixed, value);
            assert_eq!(state.keys, keys);
            let expected: Vec<_> = (0..keys).map(|index| (key(index), value(index))).collect();
            assert!(read(&place, &state, fixed).unwrap() == expected, "{keys} keys, values {fixed:?}");
            let mut reader = RepositoryReader::open(&place, &state, fixed).unwrap();
            let (mut block, mut count) = (Block::default(), 0);
            while reader.next(&mut block, false).unwrap() {
                count += block.keys.len() as u64;
            }
            assert_eq!(count, keys);
        }
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(dir.path());
        let state = write(&place, 60, None, |index| vec![7; index as usize % 5]);
        let path = place.path(1, Part::Repository);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            let error = read(&place, &state, None).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "byte {at}: {error}");
            std::fs::write(&path, &whole[..at]).unwrap();
            let error = read(&place, &state, None).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "cut at {at}: {error}");
        }
    }
}
