//! URLs come into the buffer of a host and leave it; how many it may have is for [`policy`](super::policy) to say.

use super::Frontier;
use super::host::{Host, Item, WaitState};
use super::policy::RefillPolicy;
use crate::clock::Time;

impl Frontier {
    /// Returns the limits of what hosts may have in memory now.
    pub(super) fn refill_policy(&self) -> RefillPolicy {
        RefillPolicy {
            memory: self.options.memory,
            active_bytes: self.active.bytes,
            buffer_urls: self.options.buffer_urls.max(1),
        }
    }

    /// Returns whether the active side may take more URLs.
    pub(super) fn has_memory(&self) -> bool {
        self.refill_policy().has_memory()
    }

    /// Notes whether a host needs what it has in the tail of its partition.
    pub(super) fn note_thirst(&mut self, index: u32) {
        let enough = self.refill_policy().pushed_max() / 2;
        let host = self.active.host_mut(index);
        let is_thirsty = host.may_tail && host.buffer.len() <= enough && host.place != WaitState::Round;
        if std::mem::replace(&mut host.is_thirsty, is_thirsty) != is_thirsty {
            let partition = self.partition_of(self.active.host(index).domain);
            let thirsty = &mut self.cold.partitions[partition].thirsty;
            *thirsty = if is_thirsty { *thirsty + 1 } else { *thirsty - 1 };
        }
    }

    pub(super) fn buffer(&mut self, index: u32, item: Item) {
        self.active.bytes += item.memory();
        self.active.buffered += 1;
        self.pacing.enter_name(self.active.host_mut(index), item.url.host, self.now);
        let now = self.now;
        self.active.host_mut(index).insert(item, now);
    }

    pub(super) fn unbuffer_first(&mut self, index: u32) -> Option<Item> {
        let share = self.options.due_share;
        let item = self.active.host_mut(index).take_in_turn(share)?;
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
    /// Notes that it gets URLs from the disk side, as one that ran dry or that becomes active.
    pub(super) fn note_refill(&mut self, ran_dry: bool, now: Time) {
        self.refill_buffers = RefillPolicy::next_buffers(self.refill_buffers, ran_dry, now.since(self.refilled));
        self.refilled = now;
    }
}
