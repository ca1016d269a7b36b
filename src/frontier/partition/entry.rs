//! What a partition holds, and the order in which it lies in a base.
//!
//! An entry is a URL, a record of a host that left the active side, or pages to be added to the total of a domain.
//! The order is domain, then the domain's own entry, then its origins; of an origin first its records (the last one
//! counts), then its URLs by rank and sequence.

use crate::fingerprint::Fingerprint;
use crate::frontier::host::Item;
use crate::frontier::wire::{self, Reader};
use crate::frontier::{Hops, QueuedUrl};

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
    /// Whether it is that of a URL or record of `host`.
    pub(super) fn is_of(&self, host: HostKey) -> bool {
        (self.domain, self.class, self.origin) == (host.domain, 1, host.origin)
    }
}

/// A queued URL as it lies in encoded bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UrlView<'a> {
    pub rank: u16,
    pub sequence: u64,
    pub key: Fingerprint,
    pub origin: Fingerprint,
    pub host: Fingerprint,
    pub domain: Fingerprint,
    pub priority: u8,
    pub attempts: u8,
    pub depth: u16,
    pub seed: u32,
    pub via: u64,
    pub forced: bool,
    pub hops: &'a [u8],
    pub url: &'a [u8],
}

impl<'a> UrlView<'a> {
    /// Reads what [`put_url`] wrote after the kind; QueuedUrl::encode has the form of all but rank and sequence.
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let (rank, sequence) = (reader.small()?, reader.varint()?);
        let (key, origin) = (reader.fingerprint()?, reader.fingerprint()?);
        let (host, domain) = (reader.fingerprint()?, reader.fingerprint()?);
        let (priority, attempts, flags) = (reader.u8()?, reader.u8()?, reader.u8()?);
        let forced = QueuedUrl::is_forced(flags)?;
        let (depth, seed, via) = (reader.small()?, reader.small()?, reader.varint()?);
        let (hops, url) = (reader.sized()?, reader.sized()?);
        Some(UrlView {
            rank,
            sequence,
            key,
            origin,
            host,
            domain,
            priority,
            attempts,
            depth,
            seed,
            via,
            forced,
            hops,
            url,
        })
    }

    pub(super) fn order(&self) -> Key {
        let rank = u32::from(self.rank) + 1;
        Key { domain: self.domain, class: 1, origin: self.origin, rank, sequence: self.sequence }
    }

    /// The URL itself; `None` if a text in it is none.
    pub(super) fn to_item(self) -> Option<Item> {
        let url = QueuedUrl {
            url: std::str::from_utf8(self.url).ok()?.into(),
            key: self.key,
            origin: self.origin,
            host: self.host,
            domain: self.domain,
            priority: self.priority,
            depth: self.depth,
            hops: Hops::parse(std::str::from_utf8(self.hops).ok()?),
            attempts: self.attempts,
            via: self.via,
            seed: self.seed,
            forced: self.forced,
        };
        Some(Item { rank: self.rank, sequence: self.sequence, url })
    }
}

/// An entry of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    Url(UrlView<'a>),
    Record { host: HostKey, sequence: u64, record: &'a [u8] },
    Domain { domain: Fingerprint, pages: u64 },
}

impl<'a> Entry<'a> {
    pub(super) fn key(&self) -> Key {
        match self {
            Entry::Url(url) => url.order(),
            Entry::Record { host, sequence, .. } => {
                Key { domain: host.domain, class: 1, origin: host.origin, rank: 0, sequence: *sequence }
            }
            Entry::Domain { domain, .. } => {
                Key { domain: *domain, class: 0, origin: Fingerprint::default(), rank: 0, sequence: 0 }
            }
        }
    }

    /// Reads an entry that was cut out by its length.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let entry = match reader.u8()? {
            URL => Entry::Url(UrlView::read(&mut reader)?),
            RECORD => {
                let host = HostKey { domain: reader.fingerprint()?, origin: reader.fingerprint()? };
                Entry::Record { host, sequence: reader.varint()?, record: reader.sized()? }
            }
            DOMAIN => Entry::Domain { domain: reader.fingerprint()?, pages: reader.varint()? },
            _ => return None,
        };
        reader.is_at_end().then_some(entry)
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
