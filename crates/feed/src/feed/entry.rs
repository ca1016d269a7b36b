//! A URL as the feed knows it: its last content, what its newest answers say, and what was published of it.

use serde::{Deserialize, Serialize};

use super::change::Reason;
use super::key::{Key, Stored};
use super::sighting::{Seen, Sighting};
use crate::similar::Signature;

/// Milliseconds between two visits that confirm each other.
const CONFIRMED_AFTER: u64 = 24 * 60 * 60 * 1_000;

/// A version of a URL that is a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    pub stored: Stored,
    /// Milliseconds.
    pub captured: u64,
    pub digest: [u8; 20],
    /// The URL that it names as canonical, where that is another one.
    pub canonical: Option<String>,
    /// Its text, where near-duplicates are looked for.
    pub signature: Option<Signature>,
}

/// The newest answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Newest {
    /// The document.
    Content,
    /// No document, since the first of these moments.
    Absent { reason: Reason, first: u64, last: u64 },
    /// A redirect, since the first of these moments.
    Moved { to: String, is_permanent: bool, first: u64, last: u64 },
}

/// The last change of a document that consumers get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Published {
    /// The pass that published it.
    pub pass: u64,
    /// Changes of one pass come in the order of the document that they belong to.
    pub order: Stored,
    pub state: State,
}

/// The state of a document after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// It is there, with this content and these other URLs.
    There { digest: [u8; 20], others: Vec<String> },
    /// It is gone.
    Gone { reason: Reason, duplicate_of: Option<String> },
}

/// A URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub key: Key,
    /// As it was fetched last.
    pub url: String,
    /// The newest version that is a document.
    pub content: Option<Version>,
    pub newest: Newest,
    /// Milliseconds of the newest answer.
    pub seen: u64,
    pub bans: Bans,
    pub published: Option<Published>,
}

/// Grounds on which a document is left out, whatever its server says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bans {
    pub by_operator: bool,
    pub by_robots: bool,
    pub by_scope: bool,
}

/// The part of a URL in the set of documents, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate<'a> {
    /// A document.
    Document,
    /// A part of the document at this URL, if there is one; else a document.
    Alternative(&'a str),
    /// A part of the document at this URL. If there is none, nobody knows yet.
    Moved(&'a str),
    /// No document.
    Out(Reason),
    /// Nobody knows yet.
    Unknown,
}

impl Entry {
    /// The entry of a URL that was not known, if this makes it one: a document, or a redirect to one.
    pub fn new(key: Key, sighting: Sighting) -> Option<Entry> {
        let newest = match &sighting.seen {
            Seen::Content { .. } | Seen::Again { .. } | Seen::Moved { .. } => Newest::Content,
            Seen::Absent(_) => return None,
        };
        let mut entry =
            Entry { key, url: String::new(), content: None, newest, seen: 0, bans: Bans::default(), published: None };
        entry.take(sighting);
        Some(entry)
    }

    /// True if `sighting` says no more than that the content is as it was.
    pub fn is_confirmed_by(&self, sighting: &Sighting) -> bool {
        let Seen::Again { version } = sighting.seen else { return false };
        let stored = Stored { shard: sighting.stored.shard, record: version };
        self.content.as_ref().is_some_and(|content| content.stored == stored)
    }

    /// Takes an answer. One that is older than the newest changes nothing: answers come again after a rebuild.
    pub fn take(&mut self, sighting: Sighting) {
        let at = sighting.captured;
        if at < self.seen {
            return;
        }
        self.seen = at;
        self.url = sighting.url;
        self.newest = match sighting.seen {
            Seen::Content { digest, canonical, signature } => {
                self.content = Some(Version { stored: sighting.stored, captured: at, digest, canonical, signature });
                Newest::Content
            }
            Seen::Again { .. } => Newest::Content,
            Seen::Absent(reason) => {
                let first = match self.newest {
                    Newest::Absent { first, .. } => first,
                    _ => at,
                };
                Newest::Absent { reason, first, last: at }
            }
            Seen::Moved { to, is_permanent } => {
                let first = match self.newest {
                    Newest::Moved { first, .. } => first,
                    _ => at,
                };
                Newest::Moved { to, is_permanent, first, last: at }
            }
        };
    }

    /// Its part in the set of documents, by its own answers.
    pub fn fate(&self) -> Fate<'_> {
        let banned = [
            (self.bans.by_operator, Reason::Forgotten),
            (self.bans.by_robots, Reason::Robots),
            (self.bans.by_scope, Reason::Scope),
        ];
        if let Some((_, reason)) = banned.into_iter().find(|(is_banned, _)| *is_banned) {
            return Fate::Out(reason);
        }
        let by_content = match &self.content {
            None => Fate::Unknown,
            Some(Version { canonical: Some(canonical), .. }) => Fate::Alternative(canonical),
            Some(_) => Fate::Document,
        };
        match &self.newest {
            Newest::Content => by_content,
            Newest::Absent { reason, first, last } if last - first >= CONFIRMED_AFTER => Fate::Out(*reason),
            Newest::Absent { .. } => by_content,
            Newest::Moved { to, is_permanent, first, last } => {
                let counts = *is_permanent || self.content.is_none() || last - first >= CONFIRMED_AFTER;
                if counts { Fate::Moved(to) } else { by_content }
            }
        }
    }

    /// True if a visit that is a day later or more found the content as it was.
    pub fn is_settled(&self) -> bool {
        let since = |content: &Version| self.seen - content.captured;
        self.newest == Newest::Content && self.content.as_ref().is_some_and(|content| since(content) >= CONFIRMED_AFTER)
    }

    /// True if consumers have it.
    pub fn is_published(&self) -> bool {
        matches!(&self.published, Some(Published { state: State::There { .. }, .. }))
    }

    /// Its bytes in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("an entry has nothing that cannot be written")
    }

    /// Reads these.
    pub fn parse(bytes: &[u8]) -> Option<Entry> {
        postcard::from_bytes(bytes).ok()
    }
}
