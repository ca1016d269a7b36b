//! The border between the active side and the disk: the hosts that enter and leave.

use super::Frontier;
use super::host::{Host, Item, WaitState};
use super::partition::HostKey;
use super::record::HostRecord;
use super::reputation::DomainTotals;
use super::task::Known;
use super::tuning::LEAVING_MAX;
use crate::clock::Time;
use crate::disk::Result;

impl Frontier {
    /// Puts a URL on the disk side.
    pub(super) fn push_cold(&mut self, item: &Item) -> Result<()> {
        self.cold.push(item, self.now)
    }

    /// Puts a URL of a host that is not active there. Where its domain rests nobody wants it before the next round.
    pub(super) fn push_stranger(&mut self, item: &Item) -> Result<()> {
        let rests = self.domain_rests(item.url.domain);
        let number = self.partition_of(item.url.domain);
        let recent = &mut self.cold.partitions[number].recent;
        *(if rests { &mut recent.has_resting } else { &mut recent.has_first_contacts }) = true;
        self.push_cold(item)
    }

    /// Puts what is known of a host of which the disk side holds nothing yet there, before its first URL.
    pub(super) fn introduce(&mut self, item: &Item, known: &Known, now: Time) -> Result<()> {
        let key = HostKey { domain: item.url.domain, origin: item.url.origin };
        let number = self.partition_of(key.domain);
        if known.is_nothing() || self.cold.partitions[number].may_hold(key.origin) {
            return Ok(());
        }
        let mut record = HostRecord { written: now, ..HostRecord::default() };
        record.standing.learn(known, now);
        record.rules = known.rules.as_ref().map(|(rules, expires)| {
            let mut bytes = Vec::new();
            rules.encode(&mut bytes);
            (bytes.into(), *expires)
        });
        record.addresses = known.addresses.as_ref().map(|(list, expires)| (list.to_vec(), *expires));
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        self.cold.partitions[number].push_record(key, self.sequence, &bytes, &mut self.cold.files)?;
        self.sequence += 1;
        Ok(())
    }

    /// Gives a host a place on the active side. `known` is what the disk side knows of its domain.
    pub(super) fn activate(&mut self, mut host: Host, known: &DomainTotals) -> u32 {
        self.pacing.meet(&mut host);
        self.charges.collect(host.origin, &mut host.standing);
        if !self.has_memory_for_rules(host.rules_bytes) {
            // they are asked for again, which finds memory for them or not
            (host.rules, host.rules_bytes) = (None, 0);
        }
        let name = host.name_key;
        self.domains.enter(host.domain, known);
        let (origin, number) = (host.origin, self.partition_of(host.domain));
        let index = self.active.insert(host);
        self.cold.partitions[number].active.insert(origin, index);
        if let Some(name) = name {
            self.pacing.enter_name(self.active.host_mut(index), name, self.now);
        }
        self.pacing.count_at_address(self.active.host_mut(index));
        index
    }

    /// Returns whether there is a place, if need be one that an idle or long waiting host leaves.
    pub(super) fn make_room(&mut self) -> Result<bool> {
        let limit = self.options.active_hosts.max(1);
        for _ in 0..=LEAVING_MAX {
            if self.active.len() < limit && self.has_memory() {
                return Ok(true);
            }
            match self.active.evictable(self.now) {
                Some(index) => self.evict(index, self.now)?,
                None => return Ok(false),
            }
        }
        Ok(self.active.len() < limit && self.has_memory())
    }

    /// Moves a host at rest, with its URLs if it has any, to the disk side.
    pub(super) fn evict(&mut self, index: u32, now: Time) -> Result<()> {
        let host = self.active.host_mut(index);
        if host.buffer.is_empty() && !host.has_cold() {
            host.standing.due = host.standing.due.max(host.first_retry().unwrap_or_default());
        }
        while let Some(item) = self.unbuffer_last(index).or_else(|| self.unbuffer_waiting(index)) {
            self.push_stranger(&item)?;
        }
        self.set_busy(index, false, now);
        let host = self.active.remove(index);
        let number = self.partition_of(host.domain);
        let rests = host.place == WaitState::Round;
        let recent = &mut self.cold.partitions[number].recent;
        *(if rests { &mut recent.has_resting } else { &mut recent.has_first_contacts }) |= host.may_tail;
        self.cold.partitions[number].thirsty -= usize::from(host.is_thirsty);
        self.pacing.leave(&host);
        let record = host.record(now);
        let partition = &mut self.cold.partitions[number];
        let key = HostKey { domain: host.domain, origin: host.origin };
        partition.active.remove(&key.origin);
        partition.wanted.remove(&key);
        if !record.is_blank(now) {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            partition.push_record(key, self.sequence, &bytes, &mut self.cold.files)?;
            self.sequence += 1;
        }
        if let Some(added) = self.domains.leave(key.domain).filter(|added| !added.is_nothing()) {
            partition.push_domain(key.domain, &added, now, &mut self.cold.files)?;
        }
        // Its own URLs, or others that waited for a place of its domain, may be chosen from now on.
        if partition.base_left() > 0 {
            let available = record.standing.available().max(now);
            partition.walk.wake_at(available);
        }
        Ok(())
    }
}
