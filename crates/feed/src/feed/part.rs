//! Documents, and the URLs that are parts of them.

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::key::{Key, Stored};

/// A document to which others lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Target {
    pub key: Key,
    pub url: String,
    pub order: Stored,
    pub is_published: bool,
}

impl Target {
    pub fn of(entry: &Entry) -> Target {
        let order = entry.content.as_ref().map_or(Stored::default(), |content| content.stored);
        Target { key: entry.key, url: entry.url.clone(), order, is_published: entry.is_published() }
    }
}

/// A URL that is a part of a document.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub from: Key,
    pub url: String,
    pub publication: Publication,
    pub of: Target,
}

/// The state of a URL that becomes a part of a document, for consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Publication {
    /// They have it as a document, and its server redirects it for good.
    Moved,
    /// They have it as a document.
    There,
    /// They had it as a document.
    Gone,
    /// They never had it.
    Never,
}

impl Publication {
    pub fn of(entry: &Entry) -> Publication {
        match (&entry.published, entry.is_published()) {
            (_, true) if entry.is_moved_for_good() => Publication::Moved,
            (_, true) => Publication::There,
            (Some(_), false) => Publication::Gone,
            (None, false) => Publication::Never,
        }
    }
}

impl Part {
    /// Returns whether this, the first part of a document, is the document at its old URL: that takes nothing away. A
    /// document that consumers have already takes one that was redirected for good, and no second one: redirects of all
    /// pages to one are no moves.
    pub fn is_move(&self, next: Option<&Part>) -> bool {
        let second = next.filter(|next| next.of.key == self.of.key);
        let second = second.map_or(Publication::Never, |next| next.publication);
        match self.publication {
            Publication::Moved | Publication::There if !self.of.is_published => true,
            Publication::Moved => second == Publication::Never,
            _ => false,
        }
    }
}
