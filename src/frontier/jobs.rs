//! Which work on partitions is due, and what follows when it is done.
//!
//! In this order, but with a merge that is due after every take: takes for active hosts that run dry; takes of new hosts
//! while there is room; merges where the tail has grown beyond its base, most of the base is consumed, newer records take
//! too much memory, or URLs have waited for long; and, when the active side starves, the merge that frees most URLs for what
//! it has to write, of a partition in whose tail somebody needs one, but none more often than its size allows. So every URL
//! comes out, even where other partitions never run dry, and a giant base is not rewritten for ten.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::Frontier;
use super::by_fingerprint::ByFingerprint;
use super::host::Host;
use super::partition::{
    Done, HostKey, Merge, MergeDone, NewBase, Partition, PartitionDone, PartitionJob, Refill, Take, TakeDone, Taken,
    Work,
};
use super::record::HostRecord;
use super::tuning::{
    BASE_FILTER_BYTES_MIN, CHUNK_BYTES_MIN, CHUNK_PART, CONSUMED_PER_LEFT, FILTERS_PART, JOBS_MAX,
    MERGE_OVERHEAD_BYTES, NO_PLACE_PAUSE, OVERLAY_BYTES_MIN, OVERLAYS_PART, RECLAIM_BYTES_MIN, STALE_BYTES_PER_S,
    STALE_MIN, STARVING_BYTES_PER_MS, STARVING_PAUSE, TAIL_BYTES_MIN, TAIL_PER_BASE, TAKE_HOSTS_MAX, TAKE_PART,
    TAKE_PLACES_PART, URL_BYTES, WALK_PAUSE,
};
use crate::clock::Time;
use crate::disk::{Error, Result};
use crate::fingerprint::Fingerprint;

impl Frontier {
    /// A job that should be done now, if there is one and not too many are out. `starving` allows merges that cost
    /// more than they should (see [`Frontier::starving`]).
    pub fn next_job(&mut self, starving: bool) -> Result<Option<PartitionJob>> {
        if self.jobs_out >= JOBS_MAX {
            return Ok(None);
        }
        self.end_turns()?;
        let count = self.partitions.len();
        let may_leave = self.active.len() > self.active.busy;
        let hosts_max = if self.has_memory() || may_leave { self.free_places().min(TAKE_HOSTS_MAX) } else { 0 };
        // A take costs about as much for one host as for many: it waits for some places, unless there is nothing else.
        let enough = (self.options.active_hosts / TAKE_PLACES_PART).clamp(1, TAKE_HOSTS_MAX / 2);
        let hosts_max = if hosts_max >= enough || starving { hosts_max } else { 0 };
        let (taken, overdue) = self.look_for_work(hosts_max > 0);
        // Takes come first, but do not hold up the merge that is due for ever; one place is always theirs.
        let yields = self.took_last && self.jobs_out + 1 < JOBS_MAX && overdue.is_some();
        if let Some(number) = taken.filter(|_| !yields) {
            self.took_last = true;
            self.rover = (number + 1) % count;
            return Ok(Some(self.take(number, hosts_max)));
        }
        self.took_last = false;
        let number = overdue.or_else(|| starving.then(|| self.cheapest_merge()).flatten());
        match number {
            Some(number) => self.merge(number).map(Some),
            None => Ok(None),
        }
    }

    /// The partition that a take is due of, one with a host that runs dry before others, and the next one that a merge is
    /// due of. This is asked between any two events, and mostly in vain: one pass over the partitions.
    fn look_for_work(&self, wants_hosts: bool) -> (Option<usize>, Option<usize>) {
        let (before, from_rover) = self.partitions.split_at(self.rover % self.partitions.len());
        let in_turn = from_rover.iter().zip(before.len()..).chain(before.iter().zip(0..));
        let (mut wanted, mut fresh, mut overdue) = (None, None, None);
        for (partition, number) in in_turn.filter(|(partition, _)| !partition.busy) {
            if wanted.is_none() && !partition.wanted.is_empty() {
                wanted = Some(number);
            }
            if fresh.is_none() && wants_hosts && self.has_hosts(partition) {
                fresh = Some(number);
            }
            if overdue.is_none() && self.needs_merge(partition) {
                overdue = Some(number);
            }
            if wanted.is_some() && overdue.is_some() {
                break;
            }
        }
        (wanted.or(fresh), overdue)
    }

    /// Hosts that have had their turn leave, if others may want their place; else they have another.
    fn end_turns(&mut self) -> Result<()> {
        for reference in std::mem::take(&mut self.turns_over) {
            let Some(index) = self.active.resolve(reference) else { continue };
            let host = self.active.host_mut(index);
            host.turn = 0;
            if self.gives_way(index) {
                self.give_way(index, self.now)?;
                continue;
            }
            let host = self.active.host(index);
            if host.is_at_rest() && host.buffer.is_empty() && self.active.len() >= self.options.active_hosts {
                self.evict(index, self.now)?;
            } else {
                self.settle_if_waiting(index, self.now);
            }
        }
        Ok(())
    }

    /// Whether a take may find a host now.
    fn has_hosts(&self, partition: &Partition) -> bool {
        partition.base_left() > 0 && partition.wake.is_some_and(|wake| wake.max(partition.walk_after) <= self.now)
    }

    fn needs_merge(&self, partition: &Partition) -> bool {
        let base = partition.base.as_ref().map_or(0, |base| base.summary.bytes);
        // A URL takes two to four times in a tail what it takes in a base: the tail then has half of the base's URLs, or
        // as many, and a URL is rewritten once or twice as the partition grows.
        let grown = partition.recent.tail_bytes() >= TAIL_BYTES_MIN.max(TAIL_PER_BASE * base);
        let consumed = partition.consumed / CONSUMED_PER_LEFT > partition.base_left() && base >= RECLAIM_BYTES_MIN;
        let overlay_max = (self.options.memory / OVERLAYS_PART / self.partitions.len()).max(OVERLAY_BYTES_MIN);
        let crowded = partition.overlay_bytes() > overlay_max && partition.recent.urls + partition.consumed > 0;
        grown || consumed || crowded || (partition.recent.urls > 0 && self.stale_at(partition) <= self.now)
    }

    /// From when on the URLs of a partition's tail have waited for long.
    fn stale_at(&self, partition: &Partition) -> Time {
        let base = partition.base.as_ref().map_or(0, |base| base.summary.bytes);
        let all = base.saturating_mul(self.partitions.len() as u64);
        partition.recent.since + STALE_MIN.max(Duration::from_secs(all / STALE_BYTES_PER_S))
    }

    /// From when on a partition may be merged because the active side starves.
    fn merge_allowed(&self, partition: &Partition) -> Time {
        let base = partition.base.as_ref().map_or(0, |base| base.summary.bytes);
        partition.merged_at + STARVING_PAUSE.max(Duration::from_millis(base / STARVING_BYTES_PER_MS))
    }

    /// The partition whose merge frees most URLs for what it writes.
    fn cheapest_merge(&self) -> Option<usize> {
        let mut best: Option<(usize, u128, u128)> = None;
        for (number, partition) in self.partitions.iter().enumerate() {
            if partition.busy || !partition.has_wanted_tail() || self.merge_allowed(partition) > self.now {
                continue;
            }
            let base = partition.base.as_ref().map_or(0, |base| base.summary.bytes);
            let (gain, cost) = (u128::from(partition.recent.urls), u128::from(base + MERGE_OVERHEAD_BYTES));
            if best.is_none_or(|(_, best_gain, best_cost)| gain * best_cost > best_gain * cost) {
                best = Some((number, gain, cost));
            }
        }
        best.map(|(number, ..)| number)
    }

    /// When a partition may have a job that it has not now.
    pub(super) fn next_work(&self, partition: &Partition) -> Option<Time> {
        if partition.busy {
            return None;
        }
        let take = partition.wake.filter(|_| partition.base_left() > 0).map(|wake| wake.max(partition.walk_after));
        let wanted = partition.has_wanted_tail().then(|| self.merge_allowed(partition));
        let stale = (partition.recent.urls > 0).then(|| self.stale_at(partition));
        let merges = wanted.into_iter().chain(stale);
        take.into_iter().chain(merges).filter(|&time| time > self.now).min()
    }

    fn take(&mut self, number: usize, hosts_max: usize) -> PartitionJob {
        self.jobs_out += 1;
        let wanted = std::mem::take(&mut self.partitions[number].wanted);
        let refills = self.refills(wanted);
        let active = self.partitions[number].active.keys().copied().collect();
        let busy = |&index: &u32| {
            let domain = self.active.host(index).domain;
            Some((domain, self.domains.get(domain)?.busy))
        };
        let mut domains: ByFingerprint<u32> = self.partitions[number].active.values().filter_map(busy).collect();
        let buffer_urls = self.buffer_urls();
        let share = self.share();
        let held = self.partitions[number].held.keys().copied();
        let waits = |domain: &_| self.held_until(*domain, domains.get(domain).copied().unwrap_or(0)).is_some();
        let (waiting, one_by_one): (Vec<Fingerprint>, Vec<Fingerprint>) = held.partition(waits);
        domains.extend(waiting.into_iter().map(|domain| (domain, u32::MAX)));
        let held_until = self.partitions[number].held.values().copied().filter(|&until| until > self.now).min();
        let partition = &mut self.partitions[number];
        partition.busy = true;
        let hosts_max = if partition.walk_after <= self.now { hosts_max } else { 0 };
        if hosts_max > 0 {
            // The walk will say when there are more; without one, what is known stays.
            (partition.wake, partition.freed) = (held_until, false);
        }
        let (path, bytes) = match &partition.base {
            Some(base) => (partition.path(base.generation, "base"), base.summary.bytes),
            None => unreachable!("a take is planned for a partition with URLs in its base"),
        };
        let take = Take {
            disk: self.disk.clone(),
            path,
            bytes,
            now: self.now,
            forgiven: self.options.forgiven,
            cursors: partition.cursors.clone(),
            refills,
            active,
            available: partition.availability(self.now, self.options.forgiven),
            domains,
            share,
            one_by_one,
            hosts_max,
            urls_max: buffer_urls,
            bytes_max: self.options.memory / TAKE_PART,
            rover: partition.rover,
        };
        PartitionJob { number, work: Work::Take(take) }
    }

    /// How much each of the hosts that run dry gets.
    fn refills(&self, wanted: BTreeSet<HostKey>) -> Vec<Refill> {
        let mut planned = self.options.memory / TAKE_PART / URL_BYTES;
        let refills = wanted.into_iter().filter_map(|host| {
            let active = self.active.host(self.active.find(host.origin)?);
            let share = self.refill_max(active).min(planned).max(self.buffer_urls());
            planned = planned.saturating_sub(share);
            Some(Refill { host, room: share.saturating_sub(active.buffer.len()), left: active.base_left })
        });
        refills.collect()
    }

    fn merge(&mut self, number: usize) -> Result<PartitionJob> {
        self.jobs_out += 1;
        let active = self.partitions[number].active.keys().copied().collect();
        for &index in self.partitions[number].active.values() {
            let host = self.active.host_mut(index);
            host.may_frozen = std::mem::take(&mut host.may_tail);
            host.is_thirsty = false;
        }
        self.partitions[number].thirsty = 0;
        let count = self.partitions.len();
        let partition = &mut self.partitions[number];
        partition.busy = true;
        partition.freeze(&mut self.files)?;
        let generation = partition.generation_next;
        partition.generation_next += 1;
        let tail = |tail: &super::FileState| (partition.path(tail.generation, "tail"), tail.bytes);
        let made = NewBase {
            generation,
            path: partition.path(generation, "base"),
            now: self.now,
            block_bytes: self.options.block_bytes.max(1),
            filter_bytes_max: (self.options.memory / FILTERS_PART / count).max(BASE_FILTER_BYTES_MIN),
            active,
        };
        let merge = Merge {
            disk: self.disk.clone(),
            base: partition.base.as_ref().map(|b| (partition.path(b.generation, "base"), b.summary.bytes)),
            cursors: partition.cursors.clone(),
            tails: partition.frozen.tails.iter().map(tail).collect(),
            runs: partition.path(generation, "runs"),
            chunk_bytes: (self.options.memory / CHUNK_PART).max(CHUNK_BYTES_MIN),
            made,
        };
        Ok(PartitionJob { number, work: Work::Merge(merge) })
    }

    /// Takes over what a job brought.
    pub fn finish_job(&mut self, done: PartitionDone, now: Time) -> Result<()> {
        self.now = self.now.max(now);
        self.jobs_out -= 1;
        self.partitions[done.number].busy = false;
        match done.result {
            Done::Take(take) => self.finish_take(done.number, take, now),
            Done::Merge(merge) => self.finish_merge(done.number, merge, now),
        }
    }

    fn finish_take(&mut self, number: usize, done: TakeDone, now: Time) -> Result<()> {
        let partition = &mut self.partitions[number];
        partition.rover = done.rover;
        if done.all_around {
            let hosts = partition.base.as_ref().map_or(0, |base| base.summary.hosts);
            partition.walk_after = now + WALK_PAUSE.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX));
        }
        // What left the active side while the take was out was not considered by it.
        let freed = (done.blocked && partition.freed).then_some(now);
        partition.wake = [partition.wake, done.wake, freed].into_iter().flatten().min();
        partition.blocked |= done.blocked;
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

    /// Gives a host from the cold side a place, if there is one.
    fn admit(&mut self, number: usize, taken: Taken, now: Time) -> Result<()> {
        let Some(first) = taken.items.first() else { return Ok(()) };
        let mut host = Host::of(&first.url);
        let partition = &self.partitions[number];
        if let Some(bytes) = partition.newer_record(host.origin).or(taken.record.as_deref()) {
            let Some(mut record) = HostRecord::decode(bytes) else {
                return Err(unreadable_record(&self.dir));
            };
            record.clamp(now);
            record.forgive(self.options.forgiven, now);
            host.adopt(record, self.decode_rules);
        }
        if host.standing.available() > now {
            self.wake_at(number, host.standing.available());
            return Ok(());
        }
        let crowded = host.addresses.as_ref().map(|(list, _)| list[0]).filter(|&ip| self.is_crowded(ip));
        if let Some(ip) = crowded {
            host.standing.due = self.after_the_crowd(ip, host.origin, now);
            let mut bytes = Vec::new();
            host.record(now).encode(&mut bytes);
            self.partitions[number].note_record(host.origin, &bytes);
            self.wake_at(number, host.standing.due);
            return Ok(());
        }
        if !self.has_share(host.domain) {
            // Others took places while the take was out: one of this domain that leaves wakes the partition.
            self.partitions[number].blocked = true;
            let busy = self.domains.get(host.domain).map_or(0, |entry| entry.busy);
            if let Some(until) = self.held_until(host.domain, busy).filter(|&until| until > now) {
                self.wake_at(number, until);
            }
            return Ok(());
        }
        if !self.make_room()? {
            self.partitions[number].wake = Some(now + NO_PLACE_PAUSE);
            return Ok(());
        }
        // Asked last, for the host that makes room may have been the last one of this domain.
        let known = taken.domain_pages + self.partitions[number].newer_pages(host.domain);
        let index = self.activate(host, known);
        self.accept(number, index, taken, now);
        Ok(())
    }

    /// A partition has a host again at `time`, if not before.
    pub(super) fn wake_at(&mut self, number: usize, time: Time) {
        let wake = &mut self.partitions[number].wake;
        *wake = Some(wake.map_or(time, |before| before.min(time)));
    }

    /// Moves taken URLs into the buffer of their host, and its cursor behind them.
    fn accept(&mut self, number: usize, index: u32, taken: Taken, now: Time) {
        let urls = taken.items.len() as u64;
        self.cold_urls -= urls;
        let partition = &mut self.partitions[number];
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

    /// Settles a host that has nothing to do; others will be when their turn comes.
    fn settle_if_waiting(&mut self, index: u32, now: Time) {
        if self.lacks_urls(index, now) {
            self.settle(index, now);
        }
    }

    fn finish_merge(&mut self, number: usize, done: MergeDone, now: Time) -> Result<()> {
        let partition = &mut self.partitions[number];
        let expected = partition.frozen.urls + partition.base_left();
        let found = done.summary.as_ref().map_or(0, |summary| summary.urls);
        if found != expected {
            let path = partition.path(done.generation, "base");
            return Err(Error::damaged(&path, 0, format!("{expected} URLs after a merge"), found.to_string()));
        }
        let mut done = done;
        let mut left = std::mem::take(&mut done.active);
        left.sort_unstable();
        partition.replace_base(done, &mut self.files);
        partition.merged_at = now;
        partition.wake = (partition.base_left() > 0).then_some(now);
        partition.blocked = false;
        let active: Vec<_> = partition.active.iter().map(|(&origin, &index)| (origin, index)).collect();
        for (origin, index) in active {
            let found = left.binary_search_by_key(&origin, |&(origin, _)| origin);
            let host = self.active.host_mut(index);
            (host.base_left, host.may_frozen) = (found.map_or(0, |at| left[at].1), false);
            self.settle_if_waiting(index, now);
        }
        Ok(())
    }
}

fn unreadable_record(dir: &Path) -> Error {
    Error::damaged(dir, 0, "a record of a host", "other bytes under a right checksum")
}
