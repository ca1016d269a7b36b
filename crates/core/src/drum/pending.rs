//! Operations that wait for a merge: their arrays in RAM and the chunks of the `.kv` and `.aux` files.
//!
//! An array that is full becomes one chunk of each file, appended in one write. Chunks are read whole and checked
//! before anything in them is believed. docs/FORMATS.md draws them.

use crate::disk::{self, DiskFile, Error};
use crate::varint;

use super::contract::{Aux, Value};
use super::names::{BucketFiles, CONTENT_AT, Part};
use super::state::BatchState;

/// payload bytes | entries | crc32 of both and the payload
pub(super) const CHUNK_HEAD_BYTES: usize = 12;
/// Longest value or auxiliary.
const ENTRY_BYTES_MAX: usize = 1 << 30;
const HAS_AUX: u8 = 4;
const CACHE_LINE_BYTES: usize = 64;

/// Kind of an operation on a key. The numbers are part of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Op {
    #[default]
    Check = 0,
    Update = 1,
    CheckUpdate = 2,
}

impl Op {
    fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Op::Check),
            1 => Some(Op::Update),
            2 => Some(Op::CheckUpdate),
            _ => None,
        }
    }

    /// Returns whether the key is stored after it.
    pub(crate) fn stores(self) -> bool {
        self != Op::Check
    }

    /// Returns whether somebody waits for the answer.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Op::Check | Op::CheckUpdate)
    }
}

/// An operation as it is in a `.kv` file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub op: Op,
    pub has_aux: bool,
    pub key: u64,
    /// The encoded value; empty for a check.
    pub value: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Reads the entry at `*at` and moves on: tag | key | value, its length before it where values have no fixed one.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8], at: &mut usize, fixed: Option<usize>) -> Option<Self> {
        let (&tag, rest) = bytes.get(*at..)?.split_first()?;
        let key = u64::from_le_bytes(*rest.first_chunk::<8>()?);
        *at += 9;
        let op = Op::from_bits(tag & !HAS_AUX)?;
        let value = match fixed {
            _ if op == Op::Check => &[],
            Some(length) => {
                let value = bytes.get(*at..*at + length)?;
                *at += length;
                value
            }
            None => varint::read_slice(bytes, at)?,
        };
        Some(Entry { op, has_aux: tag & HAS_AUX != 0, key, value })
    }
}

/// The arrays of one bucket.
#[derive(Debug, Default)]
pub(super) struct RamArray {
    /// Room for the head of the chunk, then entries; empty or more than a head.
    kv: Vec<u8>,
    aux: Vec<u8>,
    auxes: u32,
    pub operations: u64,
    pub checks: u64,
}

impl RamArray {
    /// Adds an operation; `value` is given unless it is a check.
    #[inline]
    pub(crate) fn push<V: Value, A: Aux>(
        &mut self,
        op: Op,
        key: u64,
        value: Option<&V>,
        aux: Option<&A>,
    ) -> Result<(), TooLong> {
        if self.kv.is_empty() {
            self.kv.resize(CHUNK_HEAD_BYTES, 0);
            self.aux.resize(CHUNK_HEAD_BYTES, 0);
        }
        let tag = op as u8 | if aux.is_some() { HAS_AUX } else { 0 };
        self.kv.push(tag);
        self.kv.extend_from_slice(&key.to_le_bytes());
        if let Some(value) = value {
            let start = self.kv.len();
            value.encode(&mut self.kv);
            let bytes = self.kv.len() - start;
            match V::FIXED_BYTES {
                Some(fixed) => assert_eq!(bytes, fixed, "a value must keep to Value::FIXED_BYTES"),
                None if bytes > ENTRY_BYTES_MAX => return Err(TooLong),
                None => varint::prefix_length(&mut self.kv, start),
            }
        }
        if let Some(aux) = aux {
            self.push_aux(aux)?;
        }
        self.operations += 1;
        self.checks += u64::from(op.asks());
        Ok(())
    }

    #[inline]
    fn push_aux<A: Aux>(&mut self, aux: &A) -> Result<(), TooLong> {
        let start = self.aux.len();
        self.aux.push(0);
        aux.encode(&mut self.aux);
        let bytes = self.aux.len() - start - 1;
        if bytes < 0x80 {
            self.aux[start] = bytes as u8;
        } else if bytes <= ENTRY_BYTES_MAX {
            self.aux.remove(start);
            varint::prefix_length(&mut self.aux, start);
        } else {
            return Err(TooLong);
        }
        self.auxes += 1;
        Ok(())
    }

    /// Brings the memory behind the ends of the arrays, where the next operation will be written, into the cache.
    #[inline]
    pub(crate) fn touch(&mut self) {
        if let Some(byte) = self.kv.spare_capacity_mut().first_mut() {
            byte.write(0);
        }
        if let Some(byte) = self.aux.spare_capacity_mut().get_mut(CACHE_LINE_BYTES) {
            byte.write(0);
        }
    }

    /// Bytes of both arrays.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.kv.len() + self.aux.len()
    }

    /// The entries without the heads of their chunks.
    pub(crate) fn contents(&self) -> (&[u8], &[u8]) {
        (self.kv.get(CHUNK_HEAD_BYTES..).unwrap_or_default(), self.aux.get(CHUNK_HEAD_BYTES..).unwrap_or_default())
    }

    /// Arrays from what [`RamArray::contents`] gave; `None` where it is no such thing.
    pub(crate) fn restore(kv: &[u8], aux: &[u8], fixed: Option<usize>) -> Option<Self> {
        let mut array =
            RamArray { kv: vec![0; CHUNK_HEAD_BYTES], aux: vec![0; CHUNK_HEAD_BYTES], ..RamArray::default() };
        let (mut at, mut with_aux) = (0, 0);
        while at < kv.len() {
            let entry = Entry::read(kv, &mut at, fixed)?;
            array.operations += 1;
            array.checks += u64::from(entry.op.asks());
            with_aux += u32::from(entry.has_aux);
        }
        at = 0;
        while at < aux.len() {
            varint::read_slice(aux, &mut at)?;
            array.auxes += 1;
        }
        array.kv.extend_from_slice(kv);
        array.aux.extend_from_slice(aux);
        (array.auxes == with_aux && array.operations > 0).then_some(array)
    }

    /// Appends the arrays to the files of `batch` as a chunk each and empties them. The paths that were written to are
    /// given to `wrote`, with whether the file is new.
    pub(crate) fn flush(
        &mut self,
        place: &BucketFiles,
        batch: &mut BatchState,
        mut wrote: impl FnMut(Part, bool),
    ) -> disk::Result<()> {
        if self.operations == 0 {
            return Ok(());
        }
        let entries = self.operations as u32;
        append_chunk(
            place,
            batch.generation,
            Part::Operations,
            &mut batch.kv_bytes,
            &mut self.kv,
            entries,
            &mut wrote,
        )?;
        if self.auxes > 0 {
            let auxes = self.auxes;
            append_chunk(
                place,
                batch.generation,
                Part::Auxiliaries,
                &mut batch.aux_bytes,
                &mut self.aux,
                auxes,
                &mut wrote,
            )?;
        }
        batch.operations += self.operations;
        batch.checks += self.checks;
        self.kv.clear();
        self.aux.clear();
        (self.operations, self.checks, self.auxes) = (0, 0, 0);
        Ok(())
    }
}

/// A value or auxiliary of more than a GiB.
#[derive(Debug)]
pub(super) struct TooLong;

fn append_chunk(
    place: &BucketFiles,
    generation: u64,
    part: Part,
    length: &mut u64,
    chunk: &mut [u8],
    entries: u32,
    wrote: &mut impl FnMut(Part, bool),
) -> disk::Result<()> {
    let path = place.path(generation, part);
    let too_large = |_| Error::limit("write", &path, "an array of more than 4 GiB");
    let bytes = u32::try_from(chunk.len() - CHUNK_HEAD_BYTES).map_err(too_large)?;
    chunk[..4].copy_from_slice(&bytes.to_le_bytes());
    chunk[4..8].copy_from_slice(&entries.to_le_bytes());
    let sum = chunk_checksum(&chunk[..8], &chunk[CHUNK_HEAD_BYTES..]);
    chunk[8..CHUNK_HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
    let is_new = *length == 0;
    let file = if is_new {
        *length = CONTENT_AT;
        place.create(generation, part)?
    } else {
        place.disk.open(path, disk::Mode::Write)?
    };
    wrote(part, is_new);
    file.write_all_at(chunk, *length)?;
    *length += chunk.len() as u64;
    Ok(())
}

fn chunk_checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}

/// Reads the chunks of a `.kv` or `.aux` file up to its noted length, one in memory at a time.
#[derive(Debug)]
pub(super) struct Chunks {
    /// `None` where there is no file because nothing was written to it.
    file: Option<DiskFile>,
    /// Offsets at which the chunk behind the loaded one begins and the last one ends.
    next: u64,
    end: u64,
    payload: Vec<u8>,
    at: usize,
    entries_left: u32,
}

impl Chunks {
    pub(crate) fn open(place: &BucketFiles, generation: u64, part: Part, bytes: u64) -> disk::Result<Self> {
        let file = match bytes {
            0 => None,
            _ => Some(place.open(generation, part)?),
        };
        Ok(Chunks { file, next: CONTENT_AT, end: bytes, payload: Vec::new(), at: 0, entries_left: 0 })
    }

    /// Loads the next chunk; `false` after the last.
    fn next_chunk(&mut self) -> disk::Result<bool> {
        let Some(file) = &self.file else { return Ok(false) };
        if self.at != self.payload.len() || self.entries_left != 0 {
            return Err(self.damaged("as many entries as the chunk counts"));
        }
        if self.next >= self.end {
            return Ok(false);
        }
        let left = self.end - self.next;
        let mut head = [0; CHUNK_HEAD_BYTES];
        if left >= CHUNK_HEAD_BYTES as u64 {
            file.read_exact_at(&mut head, self.next)?;
        }
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let bytes = u64::from(number(0)) + CHUNK_HEAD_BYTES as u64;
        if left < bytes {
            let found = format!("{left} up to the end of the content");
            return Err(Error::damaged(file.path(), self.next, format!("a chunk of {bytes} bytes"), found));
        }
        self.payload.resize(number(0) as usize, 0);
        file.read_exact_at(&mut self.payload, self.next + CHUNK_HEAD_BYTES as u64)?;
        let sum = chunk_checksum(&head[..8], &self.payload);
        if sum != number(8) {
            let expected = format!("a chunk with checksum {:08x}", number(8));
            return Err(Error::damaged(file.path(), self.next, expected, format!("{sum:08x}")));
        }
        self.next += bytes;
        self.at = 0;
        self.entries_left = number(4);
        Ok(true)
    }

    /// The next entry of a `.kv` file; `None` after the last.
    #[inline]
    pub(crate) fn next_entry(&mut self, fixed: Option<usize>) -> disk::Result<Option<Entry<'_>>> {
        while self.entries_left == 0 {
            if !self.next_chunk()? {
                return Ok(None);
            }
        }
        self.entries_left -= 1;
        match Entry::read(&self.payload, &mut self.at, fixed) {
            Some(entry) => Ok(Some(entry)),
            None => Err(self.damaged("an operation")),
        }
    }

    /// The next entry of an `.aux` file, which there must be.
    #[inline]
    pub(crate) fn next_aux(&mut self) -> disk::Result<&[u8]> {
        while self.entries_left == 0 {
            if !self.next_chunk()? {
                return Err(self.damaged("one more auxiliary"));
            }
        }
        self.entries_left -= 1;
        match varint::read_slice(&self.payload, &mut self.at) {
            Some(aux) => Ok(aux),
            None => Err(self.damaged("an auxiliary")),
        }
    }

    /// Returns whether every entry of every chunk was given.
    pub(crate) fn is_at_end(&self) -> bool {
        self.entries_left == 0 && self.at == self.payload.len() && self.next >= self.end.max(CONTENT_AT)
    }

    /// Damage in the chunk that was loaded last.
    pub(crate) fn damaged(&self, expected: &str) -> Error {
        let Some(file) = &self.file else {
            return Error::damaged(std::path::Path::new(""), 0, expected, "no file, for none was noted");
        };
        let chunk = self.next.saturating_sub((self.payload.len() + CHUNK_HEAD_BYTES) as u64);
        let at = chunk.max(CONTENT_AT);
        Error::damaged(file.path(), at, expected, "another content in the chunk that begins here")
    }
}
