//! A queued URL as it is in encoded bytes, without a copy of its texts.

use super::key::{HostKey, Key};
use crate::fingerprint::Fingerprint;
use crate::frontier::host::Item;
use crate::frontier::{Hops, QueuedUrl};

/// A queued URL as it is in encoded bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UrlView<'a> {
    pub numbers: UrlNumbers,
    pub hops: &'a [u8],
    pub url: &'a [u8],
    /// The reason for which a recrawl wants it; empty if none does.
    pub recrawl: &'a [u8],
}

/// Everything of a queued URL but its texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UrlNumbers {
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
}

impl<'a> UrlView<'a> {
    /// A URL in memory.
    pub(super) fn of(item: &'a Item) -> Self {
        let url = &item.url;
        let numbers = UrlNumbers {
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
        };
        let recrawl = url.recrawl.as_deref().unwrap_or_default();
        UrlView { numbers, hops: url.hops.as_bytes(), url: url.url.as_bytes(), recrawl }
    }

    /// The host in whose queue it is.
    pub(super) fn host(&self) -> HostKey {
        HostKey { domain: self.numbers.domain, origin: self.numbers.origin }
    }

    pub(super) fn order(&self) -> Key {
        Key::of_url(self.host(), self.numbers.rank, self.numbers.sequence)
    }

    /// The URL itself; `None` if a text in it is none.
    pub(super) fn to_item(self) -> Option<Item> {
        let numbers = self.numbers;
        let url = QueuedUrl {
            url: std::str::from_utf8(self.url).ok()?.into(),
            key: numbers.key,
            origin: numbers.origin,
            host: numbers.host,
            domain: numbers.domain,
            priority: numbers.priority,
            depth: numbers.depth,
            hops: Hops::parse(std::str::from_utf8(self.hops).ok()?),
            attempts: numbers.attempts,
            via: numbers.via,
            seed: numbers.seed,
            forced: numbers.forced,
            recrawl: (!self.recrawl.is_empty()).then(|| self.recrawl.into()),
        };
        Some(Item { rank: numbers.rank, sequence: numbers.sequence, url })
    }
}
