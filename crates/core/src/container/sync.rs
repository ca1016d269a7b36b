//! The slow part of a cut, while the crawl goes on: fsyncs, then the address pages.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::address::AddressFile;
use super::boot;
use crate::disk::{Disk, Mode, Result};
use crate::fingerprint::Fingerprint;

/// Makes a cut durable. Values before their keys, keys before their addresses.
#[derive(Debug)]
pub struct SyncJob {
    pub(super) disk: Disk,
    pub(super) dir: PathBuf,
    /// The one that is written.
    pub(super) value: Option<PathBuf>,
    pub(super) slots: Arc<HashMap<Fingerprint, u64>>,
    pub(super) key_bytes: u64,
}

/// A cut is durable.
#[derive(Debug)]
pub struct SyncDone(u64);

impl SyncDone {
    /// Bytes written to the address pages, through the double-write file.
    pub fn address_bytes(&self) -> u64 {
        self.0
    }
}

impl SyncJob {
    /// Does the work.
    pub fn run(self) -> Result<SyncDone> {
        if let Some(path) = &self.value
            // a file that became full meanwhile was synced then, and has another name
            && let Some(file) = self.disk.open_if_there(path)?
        {
            boot::sync_value(&self.disk, &self.dir, &file)?;
        }
        self.disk.open(self.dir.join("key.dat"), Mode::Read)?.sync()?;
        self.disk.sync_dir(&self.dir)?;
        let written = AddressFile::open_for_writing(&self.disk, &self.dir)?.apply(&self.slots, self.key_bytes)?;
        Ok(SyncDone(written))
    }
}
