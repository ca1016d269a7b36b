//! A queued URL as it is in encoded bytes, without a copy of its texts.

use super::key::{HostKey, Key};
use crate::fingerprint::Fingerprint;
use crate::frontier::host::Item;
use crate::frontier::{Hops, QueuedUrl};

/// A queued URL as it is in encoded bytes.
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
    /// The reason for which a recrawl wants it; empty if none does.
    pub recrawl: &'a [u8],
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
            recrawl: url.recrawl.as_deref().unwrap_or_default(),
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
            recrawl: &[],
        }
    }

    pub(super) fn order(&self) -> Key {
        Key::of_url(HostKey { domain: self.domain, origin: self.origin }, self.rank, self.sequence)
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
            recrawl: (!self.recrawl.is_empty()).then(|| self.recrawl.into()),
        };
        Some(Item { rank: self.rank, sequence: self.sequence, url })
    }
}
