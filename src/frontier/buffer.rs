//! How many of a host's URLs lie in memory.
//!
//! Every host may have a buffer of `buffer_urls`, as long as the active side has memory at all. What comes beyond it
//! would wait on the cold side for a merge, which rewrites a partition: where memory is plentiful a large host of few is
//! better off with more. So URLs that are pushed may fill as many buffers as a host gets in one turn, but of half of the
//! active side's memory no host more than a 64th part of what is free: few hosts grow large, many share what they have, and
//! the other half is left to the first buffers of hosts that come (the rule of [`share`](super::share)). Takes
//! give a host that empties its buffers quickly larger ones.

use super::Frontier;
use super::host::{Host, Item};
use super::tuning::{
    ACTIVE_PART, FREE_PARTS, PLENTIFUL_PART, REFILL_BUFFERS_MAX, REFILLED_SOON, TURN_BUFFERS, URL_BYTES,
};
use crate::clock::Time;

impl Frontier {
    /// Whether the active side may take more URLs.
    pub(super) fn has_memory(&self) -> bool {
        self.active.bytes < self.options.memory / ACTIVE_PART
    }

    /// URLs of a host that are in memory when nothing else is said.
    pub(super) fn buffer_urls(&self) -> usize {
        self.options.buffer_urls.max(1)
    }

    /// URLs that a host gets from the cold side before others have their turn.
    pub(super) fn turn_urls(&self) -> usize {
        self.buffer_urls().saturating_mul(TURN_BUFFERS)
    }

    /// URLs that any host may have in memory now, by pushes.
    pub(super) fn buffer_max(&self) -> usize {
        if !self.has_memory() {
            return 0;
        }
        let free = (self.options.memory / PLENTIFUL_PART).saturating_sub(self.active.bytes) / URL_BYTES;
        (free / FREE_PARTS).clamp(self.buffer_urls(), self.turn_urls())
    }

    /// Notes whether a host needs what it has in the tail of its partition.
    pub(super) fn note_thirst(&mut self, index: u32) {
        let enough = self.buffer_max() / 2;
        let host = self.active.host_mut(index);
        let is_thirsty = host.may_tail && host.buffer.len() <= enough;
        if std::mem::replace(&mut host.is_thirsty, is_thirsty) != is_thirsty {
            let partition = self.partition_of(self.active.host(index).domain);
            let thirsty = &mut self.partitions[partition].thirsty;
            *thirsty = if is_thirsty { *thirsty + 1 } else { *thirsty - 1 };
        }
    }

    /// URLs that a host may have in memory after a take.
    pub(super) fn refill_max(&self, host: &Host) -> usize {
        let one = self.buffer_urls();
        if self.has_memory() { one.saturating_mul(host.refill_buffers.max(1)) } else { one }
    }

    pub(super) fn buffer(&mut self, index: u32, item: Item) {
        self.active.bytes += item.memory();
        self.active.buffered += 1;
        self.enter_name(index, item.url.host);
        let now = self.now;
        self.active.host_mut(index).insert(item, now);
    }

    pub(super) fn unbuffer_first(&mut self, index: u32) -> Option<Item> {
        let item = self.active.host_mut(index).buffer.pop_front()?;
        self.count_off(&item);
        Some(item)
    }

    pub(super) fn unbuffer_last(&mut self, index: u32) -> Option<Item> {
        let item = self.active.host_mut(index).buffer.pop_back()?;
        self.count_off(&item);
        Some(item)
    }

    /// Takes out the last of the URLs that wait by themselves.
    pub(super) fn unbuffer_waiting(&mut self, index: u32) -> Option<Item> {
        let item = self.active.host_mut(index).waiting.pop_back()?;
        self.count_off(&item);
        Some(item)
    }

    fn count_off(&mut self, item: &Item) {
        self.active.bytes = self.active.bytes.saturating_sub(item.memory());
        self.active.buffered -= 1;
    }
}

impl Host {
    /// It gets URLs from the cold side, as one that ran dry or that becomes active.
    pub(super) fn note_refill(&mut self, ran_dry: bool, now: Time) {
        let soon = ran_dry && now.since(self.refilled) < REFILLED_SOON;
        self.refill_buffers = if soon { (2 * self.refill_buffers.max(1)).min(REFILL_BUFFERS_MAX) } else { 1 };
        self.refilled = now;
    }
}
