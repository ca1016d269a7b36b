//! The share of the places that one domain may have, and one address: as many as are left to others.
//!
//! A domain with sub-domains without end, or an address with sites without number, would take every place. The limit
//! is the one that switches use for queues that share a memory (Choudhury and Hahne, "Dynamic Queue Length Thresholds
//! for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998): nobody grows beyond what is
//! free. N greedy domains so take 1/(N+1) of the places each and leave as much for those that come; when these come,
//! the share shrinks, and places that hosts of the greedy ones leave go to the others. Anyone who has none gets one
//! while there is one.

/// The share of the places that domains may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Places that no busy host has: idle ones leave when theirs is wanted.
    free: usize,
    per_domain_max: usize,
}

impl Share {
    /// The share where `free` places are left, of which a domain may have `per_domain_max`.
    pub(super) fn new(free: usize, per_domain_max: usize) -> Self {
        Share { free, per_domain_max }
    }

    /// Returns whether a domain that has `busy` hosts may have one more.
    pub(super) fn lets_in(&self, busy: u32) -> bool {
        (busy as usize) < self.free.min(self.per_domain_max).max(1)
    }

    /// A place is taken: that leaves less to everybody.
    pub(super) fn take_place(&mut self) {
        self.free = self.free.saturating_sub(1);
    }
}
