//! The check whether all URLs in a base belong to hosts that never answered.

use super::Partition;
use super::base::{Base, DirectoryEntry};
use crate::disk::Result;
use crate::frontier::record::HostRecord;

impl Partition {
    /// Returns whether the base holds no URLs but those of active hosts and of hosts that were asked and never
    /// answered. A host that was never asked is not among the latter.
    pub(in crate::frontier) fn is_silent(&self) -> Result<bool> {
        let Some(file) = self.base.as_ref().filter(|_| self.base_left() > 0) else { return Ok(true) };
        let mut base = Base::open(&self.disk, &self.path(file.generation, "base"), file.summary.bytes)?;
        for number in 0..base.directory_blocks() {
            let mut block = base.directory(number)?;
            while let Some(entry) = base.next_entry(&mut block)? {
                let DirectoryEntry::Host { host, urls, start, record } = entry else { continue };
                let is_left = self.cursors.of(host, start, urls).taken < urls;
                if !is_left || self.active.contains_key(&host.origin) {
                    continue;
                }
                if !HostRecord::is_silent_in(self.newer_record(host.origin).unwrap_or(record)) {
                    return Ok(false);
                }
            }
            base.recycle(block);
        }
        Ok(true)
    }
}
