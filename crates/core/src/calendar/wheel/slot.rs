//! A slot while the wheel turns: its file, and the records that are not in it yet.

use super::frame::{self, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, Head};
use super::place::Place;
use super::state::{FileState, RamEntry};
use crate::clock::Time;

/// File and buffer; one of them has a record.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub file: Option<FileState>,
    /// Room for the head of the frame, then records; empty or more than a head.
    buffer: Vec<u8>,
    buffer_records: u32,
}

impl Slot {
    /// A slot that was saved.
    pub(crate) fn of_file(file: FileState) -> Self {
        Slot { file: Some(file), ..Slot::default() }
    }

    /// Puts the records of a saved buffer back; false where there is one, or it is too long for a frame.
    pub(crate) fn restore(&mut self, payload: &[u8], records: u32) -> bool {
        let is_one = self.buffer.is_empty() && (1..=FRAME_BYTES_MAX).contains(&payload.len());
        self.buffer.resize(FRAME_HEAD_BYTES, 0);
        self.buffer.extend_from_slice(payload);
        self.buffer_records = records;
        is_one
    }

    /// Adds a record to the buffer; says by how many bytes that grew.
    #[inline]
    pub(crate) fn push(&mut self, due: Time, record: &[u8]) -> usize {
        if self.buffer.is_empty() {
            self.buffer.resize(FRAME_HEAD_BYTES, 0);
        }
        let before = self.buffer.len();
        frame::push(due, record, &mut self.buffer);
        self.buffer_records += 1;
        self.buffer.len() - before
    }

    /// Bytes of records in the buffer.
    #[inline]
    pub(crate) fn buffered(&self) -> usize {
        self.buffer.len().saturating_sub(FRAME_HEAD_BYTES)
    }

    /// Records that were not read.
    pub(crate) fn records(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.records) + u64::from(self.buffer_records)
    }

    /// Returns whether all of it was read.
    pub(crate) fn is_done(&self) -> bool {
        self.buffer.is_empty() && self.file.as_ref().is_none_or(|file| file.left() == 0)
    }

    /// Entry of a cut's RAM section for the buffer; `None` where the buffer is empty.
    pub(crate) fn entry(&self, place: Place) -> Option<RamEntry<'_>> {
        let payload = self.buffer.get(FRAME_HEAD_BYTES..)?;
        Some(RamEntry { place: Some(place), records: self.buffer_records, payload })
    }

    /// Empties the buffer: its records, and how many they are.
    pub(crate) fn take_records(&mut self) -> (Vec<u8>, u32) {
        let mut records = std::mem::take(&mut self.buffer);
        records.drain(..FRAME_HEAD_BYTES.min(records.len()));
        (records, std::mem::take(&mut self.buffer_records))
    }

    /// Empties the buffer: a frame with its records, and how many they are.
    pub(crate) fn take_frame(&mut self) -> (Vec<u8>, u32) {
        let mut frame = std::mem::take(&mut self.buffer);
        let (head, payload) = frame.split_at_mut(FRAME_HEAD_BYTES);
        head.copy_from_slice(&Head::of(payload, self.buffer_records).to_bytes());
        (frame, std::mem::take(&mut self.buffer_records))
    }
}
