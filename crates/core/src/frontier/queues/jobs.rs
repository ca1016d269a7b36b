//! Jobs of partitions: how a take or a merge is made ready, and what follows when it is done. Which one is next is for
//! [`policy`](crate::frontier::policy) to say.

use std::collections::BTreeSet;
use std::path::Path;

use super::Queues;
use crate::clock::Time;
use crate::disk::{Error, Result};
use crate::fingerprint::{ByFingerprint, Fingerprint};
use crate::frontier::FileState;
use crate::frontier::host::Host;
use crate::frontier::partition::{
    Done, HostKey, Merge, MergeDone, NewBase, Partition, PartitionDone, PartitionJob, Refill, Take, TakeDone, Taken,
    Work,
};
use crate::frontier::policy::{self, Job, Situation};
use crate::frontier::record::HostRecord;
use crate::frontier::tuning::{
    BASE_FILTER_BYTES_MIN, CHUNK_BYTES_MIN, CHUNK_PART, FILTERS_PART, NO_PLACE_PAUSE, TAKE_PART, URL_BYTES,
};
use crate::frontier::writer::Writer;

impl Queues {
    /// Hosts that have had their turn leave, if others may want their place; else they have another.
    fn end_turns(&mut self) -> Result<()> {
        for reference in std::mem::take(&mut self.active.turns_over) {
            let Some(index) = self.active.resolve(reference) else { continue };
            let host = self.active.host_mut(index);
            host.turn = 0;
            if self.pacing.yields_place(self.active.host(index), self.address_share(), self.now) {
                if let Some(ip) = self.active.host(index).counted_at {
                    self.send_away(index, ip, self.now)?;
                }
                continue;
            }
            let host = self.active.host(index);
            if host.is_at_rest() && host.buffer.is_empty() && self.active.len() >= self.sizes.active_hosts {
                self.evict(index, self.now)?;
            } else {
                self.settle_if_waiting(index, self.now);
            }
        }
        Ok(())
    }

    fn take(&mut self, number: usize, hosts_max: usize) -> PartitionJob {
        self.cold.jobs_out += 1;
        let wanted = std::mem::take(&mut self.cold.partitions[number].wanted);
        let refills = self.refills(wanted);
        let active = self.cold.partitions[number].active.keys().copied().collect();
        let busy = |&index: &u32| {
            let domain = self.active.host(index).domain;
            (domain, self.budgets.busy(domain))
        };
        let mut domains: ByFingerprint<u32> = self.cold.partitions[number].active.values().map(busy).collect();
        let (share, urls_max) = (self.share(), self.refill_policy().buffer_urls);
        let held = self.cold.partitions[number].held.keys().copied();
        let waits =
            |domain: &_| self.cold.held_until(*domain, domains.get(domain).copied().unwrap_or(0), self.now).is_some();
        let (waiting, one_by_one): (Vec<Fingerprint>, Vec<Fingerprint>) = held.partition(waits);
        domains.extend(waiting.into_iter().map(|domain| (domain, u32::MAX)));
        let round = self.budgets.round_left(&self.active, &self.cold.partitions[number]).map(Box::new);
        let held_until = self.cold.partitions[number].held.values().copied().filter(|&until| until > self.now).min();
        let partition = &mut self.cold.partitions[number];
        partition.busy = true;
        let hosts_max = if partition.walk.may_begin(self.now) { hosts_max } else { 0 };
        if hosts_max > 0 {
            partition.walk.begin(held_until);
        }
        let (path, bytes) = match &partition.base {
            Some(base) => (partition.path(base.generation, "base"), base.summary.bytes),
            None => unreachable!("a take is planned for a partition with URLs in its base"),
        };
        let take = Take {
            disk: self.cold.disk.clone(),
            path,
            bytes,
            now: self.now,
            forgiven: self.sizes.forgiven,
            writer: self.beginning.writer_of_base(partition.base_is_own),
            cursors: partition.cursors.clone(),
            refills,
            active,
            available: partition.availability(self.sizes.forgiven),
            domains,
            share,
            round,
            one_by_one,
            hosts_max,
            urls_max,
            bytes_max: self.sizes.memory / TAKE_PART,
            rover: partition.walk.rover,
        };
        PartitionJob { number, work: Work::Take(take) }
    }

    /// Plans how much each of the hosts that run dry gets.
    fn refills(&self, wanted: BTreeSet<HostKey>) -> Vec<Refill> {
        let policy = self.refill_policy();
        let mut planned = self.sizes.memory / TAKE_PART / URL_BYTES;
        let refills = wanted.into_iter().filter_map(|host| {
            let active = self.active.host(self.active.find(host.origin)?);
            let share = policy.refilled_max(active.refill_buffers).min(planned).max(policy.buffer_urls);
            planned = planned.saturating_sub(share);
            // one at least: without any it would wait for URLs that nobody brings
            let share = share.min(self.budgets.room_in_round(host.domain).max(1));
            let room = share.saturating_sub(active.buffer.len()).max(usize::from(active.buffer.is_empty()));
            Some(Refill { host, room, left: active.base_left })
        });
        refills.collect()
    }

    fn merge(&mut self, number: usize) -> Result<PartitionJob> {
        self.cold.jobs_out += 1;
        let active = self.cold.partitions[number].active.keys().copied().collect();
        for &index in self.cold.partitions[number].active.values() {
            let host = self.active.host_mut(index);
            host.may_frozen = std::mem::take(&mut host.may_tail);
            host.is_thirsty = false;
        }
        self.cold.partitions[number].thirsty = 0;
        let count = self.cold.partitions.len();
        let partition = &mut self.cold.partitions[number];
        partition.busy = true;
        partition.freeze(&mut self.cold.files)?;
        let generation = partition.generation_next;
        partition.generation_next += 1;
        let tail = |tail: &FileState| (partition.path(tail.generation, "tail"), tail.bytes);
        let made = NewBase {
            generation,
            path: partition.path(generation, "base"),
            now: self.now,
            beginning: self.beginning,
            base_was_own: partition.base_is_own,
            block_bytes: self.sizes.block_bytes.max(1),
            filter_bytes_max: (self.sizes.memory / FILTERS_PART / count).max(BASE_FILTER_BYTES_MIN),
            active,
            round: self.budgets.round_number(),
        };
        let merge = Merge {
            disk: self.cold.disk.clone(),
            base: partition.base.as_ref().map(|b| (partition.path(b.generation, "base"), b.summary.bytes)),
            cursors: partition.cursors.clone(),
            tails: partition.frozen.tails.iter().map(tail).collect(),
            runs: partition.path(generation, "runs"),
            chunk_bytes: (self.sizes.memory / CHUNK_PART).max(CHUNK_BYTES_MIN),
            made,
        };
        Ok(PartitionJob { number, work: Work::Merge(merge) })
    }

    fn finish_take(&mut self, number: usize, done: TakeDone, now: Time) -> Result<()> {
        let partition = &mut self.cold.partitions[number];
        let hosts = partition.base.as_ref().map_or(0, |base| base.summary.hosts);
        partition.walk.end(&done, hosts, now);
        for taken in done.taken {
            match self.active.find(taken.host.origin) {
                Some(index) if taken.refill => self.accept(number, index, taken, now),
                // It left meanwhile, or is here in another way: its URLs stay where they are.
                Some(_) => {}
                None if taken.refill => {}
                None => self.admit(number, taken, now)?,
            }
        }
        Ok(())
    }

    /// Gives a host from the disk side a place, if there is one.
    fn admit(&mut self, number: usize, taken: Taken, now: Time) -> Result<()> {
        let Some(first) = taken.items.first() else { return Ok(()) };
        let mut host = Host::of(&first.url);
        let partition = &self.cold.partitions[number];
        let newer = partition.newer_record(host.origin).map(|record| (record, Writer::This));
        let of_base = || Some((taken.record.as_deref()?, self.beginning.writer_of_base(partition.base_is_own)));
        if let Some((bytes, writer)) = newer.or_else(of_base) {
            let Some(mut record) = HostRecord::read(bytes, writer) else {
                return Err(unreadable_record(&self.cold.dir));
            };
            record.forget_expired(now);
            record.forgive(self.sizes.forgiven, now);
            record.doubt_rules(self.sizes.rules_since);
            host.adopt(record, self.decode_rules);
        }
        if host.standing.available() > now {
            self.cold.partitions[number].walk.wake_at(host.standing.available());
            return Ok(());
        }
        host.treatment = self.pacing.treatment_of(host.name());
        host.keep_hours(self.pacing.politeness(), now);
        if host.opens > now {
            let due = host.opens;
            let partition = &mut self.cold.partitions[number];
            match self.pacing.treatments_json().is_empty() {
                true => partition.walk.sleep_until(due),
                false => send_back(partition, host, due, now),
            }
            return Ok(());
        }
        let first = host.addresses.as_ref().map(|(list, _)| list[0]);
        let crowded = first.filter(|&ip| self.pacing.is_saturated(ip, host.domain, self.address_share()));
        if let Some(ip) = crowded {
            let due = self.pacing.after_the_saturation(ip, host.origin, now);
            send_back(&mut self.cold.partitions[number], host, due, now);
            return Ok(());
        }
        if !self.has_share(host.domain) {
            // Others took places while the take was out: one of this domain that leaves wakes the partition.
            self.cold.partitions[number].walk.block();
            let busy = self.budgets.busy(host.domain);
            if let Some(until) = self.cold.held_until(host.domain, busy, self.now).filter(|&until| until > now) {
                self.cold.partitions[number].walk.wake_at(until);
            }
            return Ok(());
        }
        if !self.make_room()? {
            self.cold.partitions[number].walk.sleep_until(now + NO_PLACE_PAUSE);
            return Ok(());
        }
        // Asked last, for the host that makes room may have been the last one of this domain.
        let mut known = taken.totals;
        known.add(&self.cold.partitions[number].newer_totals(host.domain));
        let index = self.activate(host, &known);
        self.accept(number, index, taken, now);
        Ok(())
    }

    /// Moves taken URLs into the buffer of their host, and its cursor behind them.
    fn accept(&mut self, number: usize, index: u32, taken: Taken, now: Time) {
        let urls = taken.items.len() as u64;
        self.cold.urls -= urls;
        let partition = &mut self.cold.partitions[number];
        partition.consume(taken.host, taken.cursor, urls, taken.left);
        let may_tail = partition.recent.filter.may_hold(taken.host.origin);
        let host = self.active.host_mut(index);
        host.base_left = taken.left;
        host.turn += urls;
        host.note_refill(taken.refill, now);
        host.may_tail |= may_tail;
        for item in taken.items {
            self.buffer(index, item);
        }
        self.note_thirst(index);
        self.settle_if_waiting(index, now);
    }

    fn finish_merge(&mut self, number: usize, done: MergeDone, now: Time) -> Result<()> {
        let partition = &mut self.cold.partitions[number];
        let expected = partition.frozen.urls + partition.base_left();
        let found = done.summary.as_ref().map_or(0, |summary| summary.urls);
        if found != expected {
            let path = partition.path(done.generation, "base");
            return Err(Error::damaged(&path, 0, format!("{expected} URLs after a merge"), found.to_string()));
        }
        let mut done = done;
        let mut left = std::mem::take(&mut done.active);
        left.sort_unstable();
        partition.replace_base(done, &mut self.cold.files);
        partition.merged_at = now;
        partition.walk.base_replaced(partition.base_left() > 0, now);
        let active: Vec<_> = partition.active.iter().map(|(&origin, &index)| (origin, index)).collect();
        for (origin, index) in active {
            let found = left.binary_search_by_key(&origin, |&(origin, _)| origin);
            let host = self.active.host_mut(index);
            (host.base_left, host.may_frozen) = (found.map_or(0, |at| left[at].1), false);
            self.settle_if_waiting(index, now);
        }
        Ok(())
    }

    /// A job that should be done now, if there is one and not too many are out (`frontier::policy`). `starving` allows
    /// merges that cost more than they should (see [`Frontier::starving`](crate::frontier::Frontier::starving)).
    pub(in crate::frontier) fn next_job(&mut self, starving: bool) -> Result<Option<PartitionJob>> {
        if !policy::may_begin(self.cold.jobs_out) {
            return Ok(None);
        }
        self.end_turns()?;
        let situation = Situation {
            now: self.now,
            jobs_out: self.cold.jobs_out,
            rover: self.cold.rover,
            took_last: self.cold.took_last,
            is_starving: starving,
            places: self.places(),
        };
        let count = self.cold.partitions.len();
        let snapshot = |number: usize| self.cold.partitions[number].snapshot();
        let job = policy::next_job(&situation, &self.cold.merges, count, snapshot);
        self.cold.took_last = matches!(job, Some(Job::Take { .. }));
        Ok(match job {
            None => None,
            Some(Job::Merge { partition, .. }) => Some(self.merge(partition)?),
            Some(Job::Take { partition, hosts_max }) => {
                self.cold.rover = (partition + 1) % count;
                Some(self.take(partition, hosts_max))
            }
        })
    }

    /// Takes over what a job brought.
    pub(in crate::frontier) fn finish_job(&mut self, done: PartitionDone, now: Time) -> Result<()> {
        self.now = self.now.max(now);
        self.cold.jobs_out -= 1;
        self.cold.partitions[done.number].busy = false;
        match done.result {
            Done::Take(take) => self.finish_take(done.number, take, now),
            Done::Merge(merge) => self.finish_merge(done.number, merge, now),
        }
    }
}

/// Leaves a host in its partition, which may be asked from `due` on.
fn send_back(partition: &mut Partition, mut host: Host, due: Time, now: Time) {
    host.standing.due = due;
    let mut bytes = Vec::new();
    host.record(now).encode(&mut bytes);
    partition.note_record(host.origin, &bytes);
    partition.walk.wake_at(due);
}

fn unreadable_record(dir: &Path) -> Error {
    Error::damaged(dir, 0, "a record of a host", "other bytes under a right checksum")
}
