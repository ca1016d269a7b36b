//! The share of the places that one domain may have, and one address: as many as are left to others.
//!
//! A domain with sub-domains without end, or an address with sites without number, would take every place. The limit
//! is the one that switches use for queues that share a memory (Choudhury and Hahne, "Dynamic Queue Length Thresholds
//! for Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998): nobody grows beyond what is
//! free. N greedy domains so take 1/(N+1) of the places each and leave as much for those that come; when these come,
//! the share shrinks, and places that hosts of the greedy ones leave go to the others. Anyone who has none gets one
//! while there is one.

use super::Frontier;
use super::policy::SlotCounts;
use super::tuning::ADDRESS_SHARE_MIN;
use crate::fingerprint::Fingerprint;

/// The share of the places that domains may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Places that no busy host has: idle ones leave when theirs is wanted.
    free: usize,
    per_domain_max: usize,
}

impl Share {
    /// Returns whether a domain that has `busy` hosts may have one more.
    pub(super) fn lets_in(&self, busy: u32) -> bool {
        (busy as usize) < self.free.min(self.per_domain_max).max(1)
    }

    /// A place is taken: that leaves less to everybody.
    pub(super) fn take_place(&mut self) {
        self.free = self.free.saturating_sub(1);
    }
}

impl Frontier {
    /// Places that no busy host has: idle ones leave when theirs is wanted.
    pub(super) fn free_places(&self) -> usize {
        self.places().free()
    }

    /// The places of the active side.
    pub(super) fn places(&self) -> SlotCounts {
        SlotCounts {
            all: self.options.active_hosts,
            taken: self.active.len(),
            busy: self.active.busy,
            has_memory: self.has_memory(),
        }
    }

    /// Returns the share of the places that domains may have now.
    pub(super) fn share(&self) -> Share {
        Share { free: self.free_places(), per_domain_max: self.options.per_domain_active_max }
    }

    /// Returns whether one more host of `domain` may become active.
    pub(super) fn has_share(&self, domain: Fingerprint) -> bool {
        let busy = self.domains.get(domain).map_or(0, |active| active.busy);
        self.held_until(domain, busy).is_none() && self.share().lets_in(busy)
    }

    /// Returns the number of busy hosts that may share an address now.
    pub(super) fn address_share(&self) -> usize {
        self.free_places().max(ADDRESS_SHARE_MIN).min(self.options.per_address_active_max).max(1)
    }
}
