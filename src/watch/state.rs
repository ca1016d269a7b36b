//! The state of a watch: the value of each document, values that wait for a later visit, changes that are to be told.
//!
//! Keys begin with a letter: `d` and the id of a document; `q`, a time and an id, for a look at that time; `c` and a
//! number, for a change; `m` for the rest. A change of a document and what follows from it are written together.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sled::{Batch, IVec};

use super::value::Watched;
use crate::database::{self, attempt};
use crate::feed::Reason;

const DOCUMENT: u8 = b'd';
const LOOK: u8 = b'q';
const CHANGE: u8 = b'c';
/// The mark that new documents count as such, and the time of the last message.
const BEGUN: &[u8] = b"mbegun";
const LAST_MESSAGE: &[u8] = b"mlast";
/// Bytes of a letter and a number.
const NUMBERED: usize = 9;

type Result<T> = std::result::Result<T, String>;

/// The knowledge of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    /// The value that was told last, or found first.
    pub told: Watched,
    /// Another value, which no later visit has confirmed yet.
    pub candidate: Option<Candidate>,
}

/// A value that was not told yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub value: Watched,
    /// Time of the visit that found it first.
    pub first: u64,
    /// The URL and the digest of the newest version with it.
    pub url: String,
    pub digest: String,
    /// The id of its WARC record.
    pub record: String,
    /// Time of the next look whether there was a later visit.
    pub look_at: u64,
}

impl Known {
    /// Takes a value that a visit has found. Returns what is to be told: a value counts that is another one than was
    /// told, once a visit finds it that is `confirm_ms` later than the first one with it.
    pub(super) fn see(&mut self, seen: Candidate, confirm_ms: u64) -> Option<Difference> {
        let before = self.candidate.take().filter(|before| before.value == seen.value);
        if seen.value == self.told {
            return None;
        }
        let first = before.map_or(seen.first, |before| before.first);
        if seen.first >= first + confirm_ms {
            return Some(self.tell(seen.value));
        }
        self.candidate = Some(Candidate { first, look_at: first + confirm_ms, ..seen });
        None
    }

    /// Takes `value` as the one that is told now.
    pub(super) fn tell(&mut self, value: Watched) -> Difference {
        let now = value.text.clone();
        let before = std::mem::replace(&mut self.told, value).text;
        self.candidate = None;
        Difference::Changed { before, now }
    }
}

/// A change that is to be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Changed {
    pub url: String,
    /// The time of the visit that found or confirmed it.
    pub at: u64,
    /// The id of its WARC record; empty where there is none.
    pub record: String,
    pub difference: Difference,
}

/// A kind of change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Difference {
    New { now: String },
    Changed { before: String, now: String },
    Gone { before: String, reason: Reason },
}

/// Changes that are to be told.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub number: u64,
    /// The first of them.
    pub first: Vec<Changed>,
    /// The key of the last.
    last: Option<IVec>,
}

/// The state.
#[derive(Debug)]
pub(super) struct State {
    db: sled::Db,
}

impl State {
    pub(super) fn open(path: &Path) -> Result<State> {
        Ok(State { db: database::open(path)? })
    }

    /// The knowledge of the document `id`.
    pub(super) fn known(&self, id: &str) -> Result<Option<Known>> {
        let found = attempt(|| self.db.get(key(DOCUMENT, id.as_bytes())))?;
        Ok(found.and_then(|bytes| parsed(&bytes)))
    }

    /// Notes what is known of a document now, and the change that is to be told.
    pub(super) fn keep(&self, id: &str, known: Option<&Known>, change: Option<&Changed>) -> Result<()> {
        let before = self.known(id)?;
        if change.is_none() && before.as_ref() == known {
            return Ok(());
        }
        let mut batch = Batch::default();
        let document = key(DOCUMENT, id.as_bytes());
        let look_at = |known: &Known| known.candidate.as_ref().map(|candidate| candidate.look_at);
        if let Some(at) = before.as_ref().and_then(look_at) {
            batch.remove(look(at, id));
        }
        match known {
            Some(known) => batch.insert(document, bytes(known)),
            None => batch.remove(document),
        }
        if let Some(at) = known.and_then(look_at) {
            batch.insert(look(at, id), &[]);
        }
        attempt(|| {
            if let Some(change) = change {
                batch.insert(key(CHANGE, &self.db.generate_id()?.to_be_bytes()), bytes(change));
            }
            self.db.apply_batch(batch)
        })
    }

    /// The ids of up to `most` documents that are to be looked at by `now`.
    pub(super) fn due(&self, now: u64, most: usize) -> Result<Vec<String>> {
        let id = |key: IVec| String::from_utf8_lossy(key.get(NUMBERED..).unwrap_or_default()).into_owned();
        let due = || self.db.range(vec![LOOK]..look(now + 1, "")).keys().take(most).map(|key| key.map(id)).collect();
        attempt(due)
    }

    /// The changes that are to be told, the first `most` with all that is known of them.
    pub(super) fn changes(&self, most: usize) -> Result<Changes> {
        attempt(|| {
            let mut changes = Changes::default();
            for entry in self.db.scan_prefix([CHANGE]) {
                let (key, value) = entry?;
                if changes.first.len() < most {
                    changes.first.extend(parsed::<Changed>(&value));
                }
                changes.number += 1;
                changes.last = Some(key);
            }
            Ok(changes)
        })
    }

    /// Notes that these changes were told at `now`.
    pub(super) fn sent(&self, changes: &Changes, now: u64) -> Result<()> {
        let Some(last) = &changes.last else { return Ok(()) };
        attempt(|| {
            let mut batch = Batch::default();
            for key in self.db.range::<IVec, _>(IVec::from(&[CHANGE])..=last.clone()).keys() {
                batch.remove(key?);
            }
            batch.insert(LAST_MESSAGE, &now.to_be_bytes());
            self.db.apply_batch(batch)
        })?;
        self.flush()
    }

    /// The time of the last message; 0 before the first.
    pub(super) fn last_message(&self) -> u64 {
        let found = attempt(|| self.db.get(LAST_MESSAGE)).ok().flatten();
        found.and_then(|bytes| bytes.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes)
    }

    /// From now on a document that is not known is new.
    pub(super) fn begin(&self) -> Result<()> {
        attempt(|| self.db.insert(BEGUN, &[]))?;
        self.flush()
    }

    /// True if a document that is not known is new.
    pub(super) fn is_begun(&self) -> bool {
        attempt(|| self.db.contains_key(BEGUN)).unwrap_or_default()
    }

    /// Makes all durable.
    pub(super) fn flush(&self) -> Result<()> {
        attempt(|| self.db.flush()).map(drop)
    }
}

fn key(letter: u8, rest: &[u8]) -> Vec<u8> {
    [&[letter], rest].concat()
}

fn look(at: u64, id: &str) -> Vec<u8> {
    key(LOOK, &[&at.to_be_bytes(), id.as_bytes()].concat())
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("it has nothing that cannot be written")
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    fn seen(text: &str, first: u64) -> Candidate {
        let (url, digest, record) = Default::default();
        Candidate { value: Watched::of(text), first, url, digest, record, look_at: first + DAY }
    }

    fn known(text: &str) -> Known {
        Known { told: Watched::of(text), candidate: None }
    }

    fn change(before: &str, now: &str) -> Difference {
        Difference::Changed { before: before.to_owned(), now: now.to_owned() }
    }

    #[test]
    fn another_value_counts_when_a_later_visit_finds_it() {
        let mut price = known("9");
        assert_eq!(price.see(seen("8", DAY), DAY), None);
        assert_eq!(price.see(seen("8", 2 * DAY - 1), DAY), None);
        assert_eq!(price.candidate.as_ref().map(|candidate| candidate.first), Some(DAY));
        assert_eq!(price.see(seen("8", 2 * DAY), DAY), Some(change("9", "8")));
        assert_eq!(price.see(seen("8", 9 * DAY), DAY), None);
        // without a time to wait, the first visit does
        assert_eq!(price.see(seen("7", 10 * DAY), 0), Some(change("8", "7")));
    }

    #[test]
    fn a_value_that_comes_and_goes_is_not_told() {
        let mut price = known("9");
        for (text, at) in [("", 1), ("9", 2), ("", 2 * DAY), ("8", 3 * DAY - 1), ("", 3 * DAY), ("9", 5 * DAY)] {
            assert_eq!(price.see(seen(text, at), DAY), None, "{text} {at}");
        }
        assert_eq!(price, known("9"));
    }

    #[test]
    fn changes_and_looks_survive_and_each_change_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("values");
        let open = || State::open(&path).unwrap();
        let mut price = known("9");
        price.see(seen("8", 0), DAY);
        let changed =
            |n: u64| Changed { url: format!("u{n}"), at: n, record: String::new(), difference: change("a", "b") };
        {
            let state = open();
            assert_eq!((state.known("x"), state.last_message(), state.is_begun()), (Ok(None), 0, false));
            state.keep("x", Some(&price), None).unwrap();
            (0..5).for_each(|n| state.keep("y", Some(&known("b")), Some(&changed(n))).unwrap());
            state.begin().unwrap();
        }
        let state = open();
        assert!(state.is_begun());
        assert_eq!(state.known("x"), Ok(Some(price.clone())));
        assert_eq!((state.due(DAY - 1, 9), state.due(DAY, 9)), (Ok(vec![]), Ok(vec!["x".to_owned()])));
        price.tell(Watched::of("8"));
        state.keep("x", Some(&price), None).unwrap();
        assert_eq!(state.due(u64::MAX - 1, 9), Ok(vec![]));
        let changes = state.changes(2).unwrap();
        assert_eq!((changes.number, &changes.first), (5, &vec![changed(0), changed(1)]));
        // one that comes while the message is sent is in the next one
        state.keep("y", Some(&known("b")), Some(&changed(5))).unwrap();
        state.sent(&changes, 77).unwrap();
        let rest = state.changes(9).unwrap();
        assert_eq!((rest.number, rest.first, state.last_message()), (1, vec![changed(5)], 77));
    }
}
