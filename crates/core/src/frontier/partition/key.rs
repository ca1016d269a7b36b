//! The order in which entries are in a base.
//!
//! The order is domain, then the domain's own entry, then its origins; of an origin first its records (the last one
//! counts), then its URLs by rank and sequence.

use crate::fingerprint::Fingerprint;

/// A host within a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::frontier) struct HostKey {
    pub domain: Fingerprint,
    pub origin: Fingerprint,
}

/// The place of an entry in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    domain: Fingerprint,
    /// 0 for the domain's own entry, 1 for its origins.
    class: u8,
    origin: Fingerprint,
    /// 0 for a record, else the rank of a URL plus 1.
    rank: u32,
    sequence: u64,
}

impl Key {
    /// The key of the totals of a domain.
    pub(super) fn of_domain(domain: Fingerprint) -> Self {
        Key { domain, class: 0, origin: Fingerprint::default(), rank: 0, sequence: 0 }
    }

    /// The key of a record of a host.
    pub(super) fn of_record(host: HostKey, sequence: u64) -> Self {
        Key { domain: host.domain, class: 1, origin: host.origin, rank: 0, sequence }
    }

    /// The key of a URL of a host.
    pub(super) fn of_url(host: HostKey, rank: u16, sequence: u64) -> Self {
        Key { domain: host.domain, class: 1, origin: host.origin, rank: u32::from(rank) + 1, sequence }
    }

    /// Returns whether it is the key of a URL or record of `host`.
    pub(super) fn is_of(&self, host: HostKey) -> bool {
        self.group() == (host.domain, 1, host.origin)
    }

    /// The place of its host or domain.
    pub(super) fn group(&self) -> (Fingerprint, u8, Fingerprint) {
        (self.domain, self.class, self.origin)
    }
}
