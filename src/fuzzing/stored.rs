//! Files on a disk besides the stores that have their own targets: values, checkpoint files, hold logs.

use std::path::Path;

use super::input::choice;
use crate::checkpoint::{self, CheckpointFile, checkpoint_path};
use crate::clock::{Stored, Time};
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{HEADER_BYTES, Header, Kind};
use crate::drum::Value;
use crate::engine::hold_log::{self, HoldLog};
use crate::engine::values::{Addresses, Robots};
use crate::frontier::QueuedUrl;

/// Answers of the robots and DNS stores, and queued URLs: what is read is written and read back the same.
pub(super) fn values(bytes: &[u8]) -> bool {
    let (first, bytes) = choice(bytes);
    match first % 3 {
        0 => is_stable::<Robots>(bytes),
        1 => is_stable::<Addresses>(bytes),
        _ => {
            let Some((url, length)) = QueuedUrl::decode(bytes) else { return false };
            assert!(length <= bytes.len());
            let mut again = Vec::new();
            url.encode(&mut again);
            let read = QueuedUrl::decode(&again).map(|(read, _)| read);
            assert_eq!(read.as_ref(), Some(&url));
            true
        }
    }
}

fn is_stable<V: Value>(bytes: &[u8]) -> bool {
    let encoded = |value: &V| {
        let mut out = Vec::new();
        value.encode(&mut out);
        out
    };
    let Some(value) = V::decode(bytes) else { return false };
    let once = encoded(&value);
    let again = V::decode(&once).expect("a value that was encoded is a value");
    assert_eq!(encoded(&again), once);
    true
}

/// A checkpoint file: as it is, and with its checksums made right.
pub(super) fn checkpoint(bytes: &[u8]) -> bool {
    let whole = read_checkpoint(bytes.to_vec());
    let mut repaired = bytes.to_vec();
    repair_sections(&mut repaired);
    read_checkpoint(repaired) || whole
}

fn read_checkpoint(bytes: Vec<u8>) -> bool {
    let (disk, dir) = (SimulatedDisk::with_dir("crawl"), Path::new("crawl"));
    disk.put(checkpoint_path(dir, 7), bytes);
    let whole = CheckpointFile::read(&disk.disk(), dir, 7).is_ok_and(|file| file.record.is_ok());
    let newest = checkpoint::newest(&disk.disk(), dir);
    assert_eq!(whole, matches!(newest, Ok(Some(_))));
    whole
}

fn repair_sections(bytes: &mut [u8]) {
    let mut at = HEADER_BYTES as usize;
    while let Some(head) = bytes.get(at..at + 12) {
        let length = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
        let end = usize::try_from(length).ok().and_then(|length| length.checked_add(at + 12));
        let Some(section) = end.and_then(|end| bytes.get(at + 12..end)) else { return };
        let (sum, length) = (crc32fast::hash(section), section.len());
        bytes[at + 8..at + 12].copy_from_slice(&sum.to_le_bytes());
        at += 12 + length;
    }
}

/// The hold log: what was read is rewritten and read back the same.
pub(super) fn hold_log(bytes: &[u8]) -> bool {
    let whole = read_hold_log(bytes.to_vec());
    let mut repaired = bytes.to_vec();
    for record in repaired.get_mut(HEADER_BYTES as usize..).unwrap_or_default().chunks_exact_mut(20) {
        let sum = crc32fast::hash(&record[..16]);
        record[16..].copy_from_slice(&sum.to_le_bytes());
    }
    read_hold_log(repaired) || whole
}

fn read_hold_log(bytes: Vec<u8>) -> bool {
    let (disk, dir, now) = (SimulatedDisk::with_dir("crawl"), Path::new("crawl"), Time::from_ms(1_000));
    let path = dir.join("rests.g000003");
    let records = bytes.len() / 20;
    disk.put(&path, bytes);
    let fault = hold_log::check(&disk.disk(), &path);
    let Ok((_, known)) = HoldLog::open(disk.disk(), dir, 3, Stored::new(now), now) else { return false };
    assert!(known.len() <= records && known.iter().all(|&(_, until)| until > now));
    let (_, again) = HoldLog::open(disk.disk(), dir, 3, Stored::new(now), now).expect("the log was rewritten");
    assert_eq!(again, known);
    matches!(fault, Ok(None)) && !known.is_empty()
}

/// The header of a hold log.
pub(super) fn hold_log_header() -> [u8; HEADER_BYTES as usize] {
    Header { kind: Kind::Rests, version: 1 }.to_bytes()
}
