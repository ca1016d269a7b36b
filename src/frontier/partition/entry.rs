//! What a partition holds, and the order in which it lies in a base.
//!
//! An entry is a URL, a record of a host that left the active side, or pages to be added to the total of a domain.
//! The order is domain, then the domain's own entry, then its origins; of an origin first its records (the last one
//! counts), then its URLs by rank and sequence.

use crate::fingerprint::Fingerprint;
use crate::frontier::QueuedUrl;
use crate::frontier::host::Item;
use crate::frontier::wire::{self, Reader};

const URL: u8 = 0;
const RECORD: u8 = 1;
const DOMAIN: u8 = 2;

/// A host within a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::frontier) struct HostKey {
    pub domain: Fingerprint,
    pub origin: Fingerprint,
}

/// The place of an entry in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Whether it is that of a URL or record of `host`.
    pub(super) fn is_of(&self, host: HostKey) -> bool {
        (self.domain, self.class, self.origin) == (host.domain, 1, host.origin)
    }
}

/// An entry of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Url(Item),
    Record { host: HostKey, sequence: u64, record: Box<[u8]> },
    Domain { domain: Fingerprint, pages: u64 },
}

impl Entry {
    pub(super) fn key(&self) -> Key {
        match self {
            Entry::Url(item) => Key {
                domain: item.url.domain,
                class: 1,
                origin: item.url.origin,
                rank: u32::from(item.rank) + 1,
                sequence: item.sequence,
            },
            Entry::Record { host, sequence, .. } => {
                Key { domain: host.domain, class: 1, origin: host.origin, rank: 0, sequence: *sequence }
            }
            Entry::Domain { domain, .. } => {
                Key { domain: *domain, class: 0, origin: Fingerprint::default(), rank: 0, sequence: 0 }
            }
        }
    }

    /// Reads an entry that was cut out by its length.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let entry = match reader.u8()? {
            URL => {
                let (rank, sequence) = (reader.small()?, reader.varint()?);
                let (url, len) = QueuedUrl::decode(&bytes[reader.position()..])?;
                reader.take(len)?;
                Entry::Url(Item { rank, sequence, url })
            }
            RECORD => {
                let host = HostKey { domain: reader.fingerprint()?, origin: reader.fingerprint()? };
                Entry::Record { host, sequence: reader.varint()?, record: reader.sized()?.into() }
            }
            DOMAIN => Entry::Domain { domain: reader.fingerprint()?, pages: reader.varint()? },
            _ => return None,
        };
        reader.is_at_end().then_some(entry)
    }

    /// The key of an encoded entry, without decoding the rest.
    pub(super) fn key_of(bytes: &[u8]) -> Option<Key> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            URL => {
                let (rank, sequence): (u16, u64) = (reader.small()?, reader.varint()?);
                reader.fingerprint()?;
                let origin = reader.fingerprint()?;
                reader.fingerprint()?;
                Some(Key { domain: reader.fingerprint()?, class: 1, origin, rank: u32::from(rank) + 1, sequence })
            }
            _ => Entry::decode(bytes).map(|entry| entry.key()),
        }
    }
}

/// Appends a URL after its length.
pub(super) fn put_url(out: &mut Vec<u8>, scratch: &mut Vec<u8>, item: &Item) {
    scratch.clear();
    scratch.push(URL);
    wire::put_varint(scratch, item.rank.into());
    wire::put_varint(scratch, item.sequence);
    item.url.encode(scratch);
    wire::put_sized(out, scratch);
}

/// Appends the record of a host after its length.
pub(super) fn put_record(out: &mut Vec<u8>, scratch: &mut Vec<u8>, host: HostKey, sequence: u64, record: &[u8]) {
    scratch.clear();
    scratch.push(RECORD);
    wire::put_fingerprint(scratch, host.domain);
    wire::put_fingerprint(scratch, host.origin);
    wire::put_varint(scratch, sequence);
    wire::put_sized(scratch, record);
    wire::put_sized(out, scratch);
}

/// Appends pages of a domain after their length.
pub(super) fn put_domain(out: &mut Vec<u8>, scratch: &mut Vec<u8>, domain: Fingerprint, pages: u64) {
    scratch.clear();
    scratch.push(DOMAIN);
    wire::put_fingerprint(scratch, domain);
    wire::put_varint(scratch, pages);
    wire::put_sized(out, scratch);
}
