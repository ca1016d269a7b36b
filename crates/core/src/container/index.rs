//! The address file, rebuilt from key.dat: for an archive which was brought from elsewhere without it.

use std::collections::HashMap;
use std::path::Path;

use super::address::AddressFile;
use super::keys::KeyFile;
use crate::disk::{Disk, HEADER_BYTES, Result};
use crate::fingerprint::Fingerprint;

/// Slots that gather in memory before they are written to the address pages.
const INTERVAL_SLOTS: usize = 1 << 20;

/// Makes address.idx in `dir` for the first `key_bytes` of key.dat, durable when this returns. Value files are not
/// read.
pub fn make_addresses(disk: &Disk, dir: &Path, key_bytes: u64) -> Result<()> {
    make_in_intervals(disk, dir, key_bytes, INTERVAL_SLOTS)
}

fn make_in_intervals(disk: &Disk, dir: &Path, key_bytes: u64, interval_slots: usize) -> Result<()> {
    AddressFile::open_or_create(disk, dir)?;
    let keys = KeyFile::open_for_reading(disk, dir)?;
    let mut fresh: HashMap<Fingerprint, u64> = HashMap::new();
    let apply = |fresh: &mut HashMap<Fingerprint, u64>, covered: u64| {
        AddressFile::open_for_writing(disk, dir)?.apply(fresh, covered)?;
        fresh.clear();
        Ok::<_, crate::disk::Error>(())
    };
    for record in keys.scan_to(HEADER_BYTES, key_bytes) {
        let record = record?;
        // two URLs of one key: each gets its own slot
        let is_other = match fresh.get(&record.key) {
            Some(&offset) => keys.read(offset)?.url != record.url,
            None => false,
        };
        if is_other || fresh.len() >= interval_slots {
            apply(&mut fresh, record.offset)?;
        }
        fresh.insert(record.key, record.offset);
    }
    apply(&mut fresh, key_bytes)
}
