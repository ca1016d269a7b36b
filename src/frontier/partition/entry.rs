//! What a partition holds, and the order in which it lies in a base.
//!
//! An entry is a URL, a record of a host that left the active side, or pages to be added to the total of a domain.
//! The order is domain, then the domain's own entry, then its origins; of an origin first its records (the last one
//! counts), then its URLs by rank and sequence.

use super::front::{self, Front};
use crate::fingerprint::Fingerprint;
use crate::frontier::host::Item;
use crate::frontier::wire::{self, Reader};
use crate::frontier::{Hops, QueuedUrl};

/// The first byte of what is no URL: those begin with their flags, which are less.
const RECORD: u8 = 128;
const DOMAIN: u8 = 129;

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
        self.group() == (host.domain, 1, host.origin)
    }

    /// The place of its host or domain.
    pub(super) fn group(&self) -> (Fingerprint, u8, Fingerprint) {
        (self.domain, self.class, self.origin)
    }
}

/// A queued URL as it lies in encoded bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// A URL in memory.
    pub(super) fn of(item: &'a Item) -> Self {
        let url = &item.url;
        UrlView {
            rank: item.rank,
            sequence: item.sequence,
            key: url.key,
            origin: url.origin,
            host: url.host,
            domain: url.domain,
            priority: url.priority,
            attempts: url.attempts,
            depth: url.depth,
            seed: url.seed,
            via: url.via,
            forced: url.forced,
            hops: url.hops.as_bytes(),
            url: url.url.as_bytes(),
        }
    }

    /// All but its texts, which are empty.
    pub(super) fn without_texts(&self) -> UrlView<'static> {
        UrlView {
            rank: self.rank,
            sequence: self.sequence,
            key: self.key,
            origin: self.origin,
            host: self.host,
            domain: self.domain,
            priority: self.priority,
            attempts: self.attempts,
            depth: self.depth,
            seed: self.seed,
            via: self.via,
            forced: self.forced,
            hops: &[],
            url: &[],
        }
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

    /// Appends the entry to be read alone.
    pub(super) fn put_alone(&self, out: &mut Vec<u8>) {
        match self {
            Entry::Url(url) => front::put_alone(out, url),
            Entry::Record { host, sequence, record } => {
                out.push(RECORD);
                wire::put_fingerprint(out, host.domain);
                wire::put_fingerprint(out, host.origin);
                wire::put_varint(out, *sequence);
                wire::put_sized(out, record);
            }
            Entry::Domain { domain, pages } => {
                out.push(DOMAIN);
                wire::put_fingerprint(out, *domain);
                wire::put_varint(out, *pages);
            }
        }
    }

    /// Appends the entry to others; `front` is that of the URLs among them.
    pub(super) fn put(&self, out: &mut Vec<u8>, front: &mut Front) {
        match self {
            Entry::Url(url) => front.put(out, url),
            Entry::Record { .. } | Entry::Domain { .. } => self.put_alone(out),
        }
    }

    /// Reads what [`Entry::put_alone`] wrote.
    pub(super) fn read_alone(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let entry = match bytes.first()? {
            0..=front::FLAGS => Entry::Url(front::read_alone(&mut reader)?),
            _ => Entry::read_other(&mut reader)?,
        };
        reader.is_at_end().then_some(entry)
    }

    /// Reads what is no URL.
    fn read_other(reader: &mut Reader<'a>) -> Option<Self> {
        match reader.u8()? {
            RECORD => {
                let host = HostKey { domain: reader.fingerprint()?, origin: reader.fingerprint()? };
                Some(Entry::Record { host, sequence: reader.varint()?, record: reader.sized()? })
            }
            DOMAIN => Some(Entry::Domain { domain: reader.fingerprint()?, pages: reader.varint()? }),
            _ => None,
        }
    }
}

/// Goes over entries that [`Entry::put`] wrote one after the other. The bytes are the same for all calls.
#[derive(Debug, Default)]
pub(super) struct Entries {
    front: Front,
    /// Where the entry that was gone to begins, and the one after it.
    here: usize,
    next: usize,
}

impl Entries {
    /// Goes to the next entry, and says whether there is one; an error is the offset of what cannot be read.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<bool, u64> {
        self.here = self.next;
        let mut reader = Reader::new(&bytes[self.here..]);
        let read = match bytes.get(self.here) {
            None => return Ok(false),
            Some(0..=front::FLAGS) => self.front.read(&mut reader),
            Some(_) => Entry::read_other(&mut reader).map(drop),
        };
        self.next += reader.position();
        read.map(|()| true).ok_or(self.here as u64)
    }

    /// Where the entry lies that was gone to.
    pub(super) fn position(&self) -> u64 {
        self.here as u64
    }

    /// The entry that was gone to; an error as above.
    pub(super) fn entry<'a>(&'a self, bytes: &'a [u8]) -> Result<Entry<'a>, u64> {
        let entry = match bytes.get(self.here) {
            Some(0..=front::FLAGS) => Some(Entry::Url(self.front.get())),
            Some(_) => Entry::read_other(&mut Reader::new(&bytes[self.here..])),
            None => None,
        };
        entry.ok_or(self.here as u64)
    }
}
