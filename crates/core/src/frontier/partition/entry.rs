//! Entries of a partition: an entry is a URL, a record of a host that left the active side, or what is to be added to
//! the totals of a domain.

use std::path::Path;

use super::front::{self, Front};
use super::key::{HostKey, Key};
use super::view::UrlView;
use crate::disk::Error;
use crate::fingerprint::Fingerprint;
use crate::frontier::reputation::DomainTotals;
use crate::frontier::wire::{self, Reader};

/// The first byte of what is no URL: those begin with their flags, which are less.
const RECORD: u8 = 128;
const DOMAIN: u8 = 129;
/// A domain of which more is said than pages.
const DOMAIN_TOTALS: u8 = 130;

/// An entry of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    Url(UrlView<'a>),
    Record { host: HostKey, sequence: u64, record: &'a [u8] },
    Domain { domain: Fingerprint, totals: DomainTotals },
}

impl<'a> Entry<'a> {
    pub(super) fn key(&self) -> Key {
        match self {
            Entry::Url(url) => url.order(),
            Entry::Record { host, sequence, .. } => Key::of_record(*host, *sequence),
            Entry::Domain { domain, .. } => Key::of_domain(*domain),
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
            Entry::Domain { domain, totals } => {
                let is_plain = totals.is_plain();
                out.push(if is_plain { DOMAIN } else { DOMAIN_TOTALS });
                wire::put_fingerprint(out, *domain);
                if is_plain { wire::put_varint(out, totals.pages) } else { totals.put(out) }
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
            DOMAIN => {
                let domain = reader.fingerprint()?;
                Some(Entry::Domain { domain, totals: DomainTotals::of_pages(reader.varint()?) })
            }
            DOMAIN_TOTALS => Some(Entry::Domain { domain: reader.fingerprint()?, totals: DomainTotals::read(reader)? }),
            _ => None,
        }
    }
}

/// Goes over entries that [`Entry::put`] wrote one after the other. The bytes are the same for all calls.
#[derive(Debug, Default)]
pub(super) struct Entries {
    front: Front,
    /// Offsets of the entry that was gone to, and of the one after it.
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

    /// Returns the offset of the entry that was gone to.
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

/// Bytes under a right checksum that are no entry.
pub(super) fn unreadable(path: &Path) -> Error {
    Error::damaged(path, 0, "an entry of a partition", "other bytes under a right checksum")
}
