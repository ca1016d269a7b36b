//! The hosts of a partition that rest, by their records.

use super::Partition;
use super::base::{Base, DirectoryEntry};
use crate::clock::Time;
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::frontier::record::HostRecord;
use crate::frontier::writer::Writer;

impl Partition {
    /// Calls `each` with every host that is not active and has a record by which it rests at `now`, when this process
    /// begins, and until when; what is forgiven by `since` does not count. Reads the directory of the base once,
    /// sequentially.
    pub(in crate::frontier) fn for_each_rest(
        &self,
        now: Time,
        since: Time,
        each: &mut dyn FnMut(Fingerprint, Time),
    ) -> Result<()> {
        let mut look = |origin: Fingerprint, record: &[u8]| {
            let until = HostRecord::rests_in(record, since, Writer::Before(now)).filter(|&until| until > now);
            if let Some(until) = until.filter(|_| !self.active.contains_key(&origin)) {
                each(origin, until);
            }
        };
        let newer = self.frozen.records.iter().filter(|(origin, _)| !self.recent.records.contains_key(origin));
        newer.chain(&self.recent.records).for_each(|(&origin, record)| look(origin, record));
        let Some(file) = &self.base else { return Ok(()) };
        let mut base = Base::open(&self.disk, &self.path(file.generation, "base"), file.summary.bytes)?;
        for number in 0..base.directory_blocks() {
            let mut block = base.directory(number)?;
            while let Some(entry) = base.next_entry(&mut block)? {
                if let DirectoryEntry::Host { host, record, .. } = entry
                    && self.newer_record(host.origin).is_none()
                {
                    look(host.origin, record);
                }
            }
            base.recycle(block);
        }
        Ok(())
    }
}
