//! Reading a slot: a piece of its file at a time, sequentially, on a thread of the owner's choice.

use std::path::PathBuf;

use super::file::{CONTENT_AT, SlotFile};
use super::frame::{self, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, Head};
use super::place::Place;
use crate::disk::{Disk, DiskFile, Error, Result};

/// A read of less would not hold the head of a frame.
const READ_BYTES_MIN: usize = 4 << 10;

/// The next piece of a slot, to be read on any thread. The wheel waits for it: it goes back to
/// [`Wheel::finish_read`](super::Wheel::finish_read).
#[derive(Debug)]
#[must_use = "the wheel reads nothing else before it is finished"]
pub struct SlotRead {
    pub(super) disk: Disk,
    pub(super) dir: PathBuf,
    pub(super) file: SlotFile,
    /// Offsets at which the piece begins and the file ends.
    pub(super) from: u64,
    pub(super) end: u64,
    pub(super) bytes_max: usize,
}

/// A piece of a slot that was read.
#[derive(Debug)]
#[must_use = "the wheel reads nothing else before it is finished"]
pub struct SlotDone {
    pub(super) file: SlotFile,
    pub(super) from: u64,
    pub(super) piece: Piece,
}

/// Whole frames of a file.
#[derive(Debug)]
pub(super) struct Piece {
    /// Their records, one behind the other.
    pub records: Vec<u8>,
    pub count: u64,
    /// Offset of the frame behind them.
    pub next: u64,
    /// Bytes and calls that it took.
    pub read_bytes: u64,
    pub reads: u64,
}

impl SlotRead {
    /// Reads whole frames, up to half a MiB of them and one in any case, and checks them.
    pub fn run(self) -> Result<SlotDone> {
        let file = self.file.open(&self.disk, &self.dir, self.end)?;
        let mut piece = read_piece(&file, self.file.place, self.from, self.end, self.bytes_max)?;
        // header and label
        piece.reads += 2;
        piece.read_bytes += CONTENT_AT;
        Ok(SlotDone { file: self.file, from: self.from, piece })
    }
}

impl SlotDone {
    /// Loses the records, for a simulation that has to notice.
    pub fn lose_records(&mut self) {
        self.piece.records.clear();
    }

    /// Makes of each record what `change` says, if it says something, for a simulation that has to notice.
    pub fn change_records(&mut self, change: &dyn Fn(&[u8]) -> Option<Vec<u8>>) {
        let (mut at, mut changed) = (0, Vec::new());
        while let Some((due, record)) = frame::read(&self.piece.records, &mut at) {
            frame::push(due, change(record).as_deref().unwrap_or(record), &mut changed);
        }
        self.piece.records = changed;
    }
}

/// Reads frames of `file` from `from` on, which is before `end`.
pub(super) fn read_piece(file: &DiskFile, place: Place, from: u64, end: u64, bytes_max: usize) -> Result<Piece> {
    let wanted = (end - from).min(bytes_max.max(READ_BYTES_MIN) as u64) as usize;
    let mut bytes = vec![0; wanted];
    file.read_exact_at(&mut bytes, from)?;
    let (mut at, mut kept, mut count, mut reads) = (0, 0, 0, 1);
    while at < bytes.len() {
        let begins = from + at as u64;
        let damaged = |found: String| Err(Error::damaged(file.path(), begins, "a frame of records", found));
        let Some(head) = bytes[at..].first_chunk::<FRAME_HEAD_BYTES>() else {
            match end - begins {
                left if left < FRAME_HEAD_BYTES as u64 => return damaged(format!("{left} bytes up to the end")),
                _ => break,
            }
        };
        let head = Head::from_bytes(head);
        let content = at + FRAME_HEAD_BYTES;
        let left = end - begins - FRAME_HEAD_BYTES as u64;
        if head.bytes == 0 || head.bytes > FRAME_BYTES_MAX || head.bytes as u64 > left {
            return damaged(format!("one of {} bytes with {left} up to the end", head.bytes));
        }
        if bytes.len() - content < head.bytes {
            if at > 0 {
                break;
            }
            let there = bytes.len();
            bytes.resize(content + head.bytes, 0);
            file.read_exact_at(&mut bytes[there..], from + there as u64)?;
            reads += 1;
        }
        if let Some(found) = head.fault(&bytes[content..content + head.bytes], |due| place.takes(due)) {
            return damaged(found);
        }
        bytes.copy_within(content..content + head.bytes, kept);
        (at, kept, count) = (content + head.bytes, kept + head.bytes, count + u64::from(head.records));
    }
    let read_bytes = bytes.len() as u64;
    bytes.truncate(kept);
    Ok(Piece { records: bytes, count, next: from + at as u64, read_bytes, reads })
}
