//! A URL as the feed knows it: its last content, what its newest answers say, and what was published of it.

use serde::{Deserialize, Serialize};

use super::change::Reason;
use super::key::{Key, Stored};
use super::sighting::{Seen, Sighting};
use crate::similar::Signature;

/// Milliseconds of a day.
pub(super) const DAY: u64 = 24 * 60 * 60 * 1_000;
/// Milliseconds between two visits that confirm each other.
const CONFIRMED_AFTER: u64 = DAY;
/// Milliseconds between them where most documents of the host are missing, which may be an outage.
const CERTAIN_AFTER: u64 = 7 * DAY;

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
    /// No document.
    Absent { reason: Reason, visits: Visits },
    /// A redirect.
    Moved { to: String, is_permanent: bool, visits: Visits },
}

/// Visits one after the other that found the same, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Visits {
    first: u64,
    /// The first one, or the last one in a time of doubt.
    counted: u64,
    last: u64,
}

impl Visits {
    /// One visit.
    fn at(time: u64) -> Visits {
        Visits { first: time, counted: time, last: time }
    }

    /// Returns whether they confirm each other.
    fn are_confirmed(self) -> bool {
        self.last - self.counted >= CONFIRMED_AFTER || self.last - self.first >= CERTAIN_AFTER
    }
}

/// The last state that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Standing {
    /// The content, if there is any.
    Content,
    /// No document.
    Absent(Reason),
    /// A redirect.
    Moved(String),
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
    /// The state that counts while the newest answers do not.
    standing: Standing,
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
    /// The entry of a URL that was not known. One that has never been a document may be what others lead to.
    pub fn new(key: Key, sighting: Sighting) -> Entry {
        let (newest, standing, bans) = (Newest::Content, Standing::Content, Bans::default());
        let mut entry =
            Entry { key, url: String::new(), content: None, newest, standing, seen: 0, bans, published: None };
        entry.take(sighting);
        entry
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
        if !self.is_missing() {
            self.settle();
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
                let visits = match self.newest {
                    Newest::Absent { visits, .. } => Visits { last: at, ..visits },
                    _ => Visits::at(at),
                };
                Newest::Absent { reason, visits }
            }
            Seen::Moved { to, is_permanent } => {
                let visits = match self.newest {
                    Newest::Moved { visits, .. } => Visits { last: at, ..visits },
                    _ => Visits::at(at),
                };
                Newest::Moved { to, is_permanent, visits }
            }
        };
    }

    /// Has the newest answers be the state that counts, if they count. Those that need a second visit do so at the end
    /// of a pass alone, which knows whether they are in doubt.
    pub fn settle(&mut self) {
        if self.counts() {
            self.standing = match &self.newest {
                Newest::Content => Standing::Content,
                Newest::Absent { reason, .. } => Standing::Absent(*reason),
                Newest::Moved { to, .. } => Standing::Moved(to.clone()),
            };
        }
    }

    /// True if the newest answers count: content at once, others once they are confirmed.
    fn counts(&self) -> bool {
        match &self.newest {
            Newest::Content => true,
            Newest::Absent { visits, .. } => visits.are_confirmed(),
            Newest::Moved { is_permanent, visits, .. } => {
                *is_permanent || self.content.is_none() || visits.are_confirmed()
            }
        }
    }

    /// True if the newest answer has nothing of a document, for now at least.
    pub fn is_missing(&self) -> bool {
        matches!(self.newest, Newest::Absent { .. } | Newest::Moved { is_permanent: false, .. })
    }

    /// True if it has been a document, or may become one, and is none that is gone.
    pub fn may_be_document(&self) -> bool {
        self.content.is_some() && !matches!(&self.published, Some(Published { state: State::Gone { .. }, .. }))
    }

    /// Doubts what visits since this moment have found missing: from now on they confirm nothing that others say.
    pub fn doubt(&mut self, since: u64) {
        if let Newest::Absent { visits, .. } | Newest::Moved { visits, .. } = &mut self.newest
            && visits.last >= since
        {
            visits.counted = visits.last;
        }
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
        match (self.counts(), &self.newest, &self.standing) {
            (true, Newest::Content, _) | (false, _, Standing::Content) => by_content,
            (true, Newest::Absent { reason, .. }, _) | (false, _, Standing::Absent(reason)) => Fate::Out(*reason),
            (true, Newest::Moved { to, .. }, _) | (false, _, Standing::Moved(to)) => Fate::Moved(to),
        }
    }

    /// True if a visit that is a day later or more found the content as it was.
    pub fn is_settled(&self) -> bool {
        let since = |content: &Version| self.seen - content.captured;
        self.newest == Newest::Content && self.content.as_ref().is_some_and(|content| since(content) >= CONFIRMED_AFTER)
    }

    /// True if the server redirects it for good.
    pub fn is_moved_for_good(&self) -> bool {
        matches!(self.newest, Newest::Moved { is_permanent: true, .. })
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
