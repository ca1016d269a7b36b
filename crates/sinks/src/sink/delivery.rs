//! The way of changes into a sink: batches, tries, dead letters.
//!
//! Changes are collected until a batch is full, by number or bytes, or [`Delivery::flush`] is called. Of several
//! changes of a document in a batch the last one counts. A batch that fails is tried again by its caller's thread, with
//! growing waits, and nothing behind it before: a slow sink holds up its own caller and nobody else, and memory holds
//! one batch.
//!
//! A batch that is refused as a whole is cut in halves, until the change that is refused is alone: it becomes a dead
//! letter, and the others are applied.

use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::dead_letters::{DeadLetter, DeadLetters};
use super::{Applied, Backoff, Batch, Count, Counters, Failure, Sink};
use crate::clock::{Clock, SystemClock};
use crate::disk::{self, Disk};
use crate::feed::{self, Change, Consumer, Document, Step};

/// Bytes that a change takes beside its texts.
const CHANGE_BYTES: usize = 300;

/// Changes and bytes of a batch, and dead letters of a run, where nothing else is said.
pub(super) const BATCH: usize = 1_000;
pub(super) const BATCH_BYTES: usize = 8 << 20;
pub(super) const DEAD_LETTERS_MAX: u64 = 1_000;

/// Limits of a delivery.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Changes of a batch.
    pub batch: usize,
    /// Bytes of a batch; a larger document is alone.
    pub batch_bytes: usize,
    /// Tries after the first one without progress; without a number, it is tried for ever.
    pub retries: Option<u32>,
    /// The file of dead letters. Without one, a change that is refused ends the delivery.
    pub dead_letters: Option<PathBuf>,
    /// Dead letters of a run: with more, the settings are wrong rather than the documents.
    pub dead_letters_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            batch: BATCH,
            batch_bytes: BATCH_BYTES,
            retries: None,
            dead_letters: None,
            dead_letters_max: DEAD_LETTERS_MAX,
        }
    }
}

/// The end of a delivery. All that was not delivered comes again if the caller begins at the same place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was tried too often.
    #[error("sink {sink}: not delivered: {why} (tries: {tries})")]
    GaveUp {
        /// The name of the sink.
        sink: String,
        /// The number of tries.
        tries: u32,
        /// The last failure.
        why: String,
    },
    /// No try can help.
    #[error("sink {sink}: {why}")]
    Broken {
        /// The name of the sink.
        sink: String,
        /// The reason.
        why: String,
    },
    /// A change was refused, and there is no file for it, or too many are in it.
    #[error("sink {sink}: the document {id} is refused: {why}; {hint}")]
    Refused {
        /// The name of the sink.
        sink: String,
        /// The id of the document.
        id: String,
        /// The reason.
        why: String,
        /// Advice.
        hint: String,
    },
    /// The caller stopped it while it waited.
    #[error("sink {sink}: stopped before all was delivered")]
    Stopped {
        /// The name of the sink.
        sink: String,
    },
    /// The file of dead letters cannot be written.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The changes cannot be read.
    #[error(transparent)]
    Feed(#[from] feed::Error),
}

/// Waits for a time after a failure, whose reason it is given; says whether to go on.
pub type Pause = Box<dyn FnMut(Duration, &str) -> bool + Send>;

/// A sink, and the changes that are on their way into it.
pub struct Delivery {
    name: String,
    sink: Box<dyn Sink>,
    limits: Limits,
    dead_letters: Option<DeadLetters>,
    counters: Arc<Counters>,
    pause: Pause,
    clock: SystemClock,
    pending: Pending,
}

/// A batch that is being collected.
#[derive(Debug, Default)]
struct Pending {
    number: u64,
    changes: Vec<Change>,
    /// Index of the change of each id.
    places: HashMap<String, usize>,
    bytes: usize,
}

impl Delivery {
    /// A delivery into `sink`. Waits are made by `pause`.
    pub fn new(name: &str, sink: Box<dyn Sink>, limits: Limits, pause: Pause) -> Delivery {
        let dead_letters = limits.dead_letters.clone().map(|path| DeadLetters::new(Disk::real(), path));
        Delivery {
            name: name.to_owned(),
            sink,
            limits,
            dead_letters,
            counters: Arc::default(),
            pause,
            clock: SystemClock::new(),
            pending: Pending::default(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// The sink, to read its ids.
    pub fn sink(&mut self) -> &mut dyn Sink {
        &mut *self.sink
    }

    /// Takes the change with this number in the stream; numbers rise. Returns whether all changes have been delivered.
    pub fn push(&mut self, number: u64, change: Change) -> Result<bool, Error> {
        let bytes = weight(&change);
        if !self.pending.changes.is_empty() && self.pending.bytes + bytes > self.limits.batch_bytes {
            self.flush()?;
        }
        self.pending.push(number, change, bytes);
        if self.pending.changes.len() >= self.limits.batch || self.pending.bytes >= self.limits.batch_bytes {
            self.flush()?;
        }
        Ok(self.pending.changes.is_empty())
    }

    /// Stops before the changes that were taken and are not delivered: the caller begins again before them.
    pub fn stop(&mut self) -> Error {
        self.pending = Pending::default();
        Error::Stopped { sink: self.name.clone() }
    }

    /// Delivers all changes that were taken. They are in the sink, or in the file of dead letters, when this returns.
    pub fn flush(&mut self) -> Result<(), Error> {
        let Pending { number, changes, .. } = mem::take(&mut self.pending);
        if changes.is_empty() {
            return Ok(());
        }
        let mut backoff = Backoff::default();
        let mut parts = vec![changes];
        while let Some(part) = parts.pop() {
            match self.sink.apply(Batch { number, changes: &part }) {
                Ok(applied) => {
                    let has_progress = applied.postponed.as_ref().is_none_or(|left| left.at.len() < part.len());
                    if has_progress {
                        backoff = Backoff::default();
                    }
                    parts.extend(self.settle(part, applied, &mut backoff)?);
                }
                Err(Failure::Again { why, wait }) => {
                    self.wait(&mut backoff, &why, wait)?;
                    parts.push(part);
                }
                Err(Failure::Refused { why }) if part.len() == 1 => self.bury(&[Dead { change: &part[0], why }])?,
                Err(Failure::Refused { .. }) => {
                    let mut part = part;
                    let second = part.split_off(part.len() / 2);
                    parts.extend([second, part]);
                }
                Err(Failure::Broken { why }) => return Err(Error::Broken { sink: self.name.clone(), why }),
            }
        }
        self.counters.add(Count::Batches, 1);
        Ok(())
    }

    /// Tells the sink that there are no more changes for now, or that the run ends.
    pub fn rest(&mut self, is_end: bool) -> Result<(), Error> {
        let mut backoff = Backoff::default();
        while let Err(failure) = self.sink.rest(is_end) {
            match failure {
                Failure::Again { why, wait } => self.wait(&mut backoff, &why, wait)?,
                Failure::Refused { why } | Failure::Broken { why } => {
                    return Err(Error::Broken { sink: self.name.clone(), why });
                }
            }
        }
        Ok(())
    }

    /// Counts what was applied and writes what was refused; waits for what was postponed, and returns it.
    fn settle(
        &mut self,
        part: Vec<Change>,
        applied: Applied,
        backoff: &mut Backoff,
    ) -> Result<Option<Vec<Change>>, Error> {
        let Applied { bytes, refused, postponed } = applied;
        self.counters.add(Count::Bytes, bytes);
        let postponed = postponed.unwrap_or_default();
        let refused: HashMap<usize, String> = refused.into_iter().map(|refused| (refused.at, refused.why)).collect();
        let mut letters = Vec::new();
        for (at, change) in part.iter().enumerate() {
            match (refused.get(&at), change) {
                (Some(why), _) => letters.push(Dead { change, why: why.clone() }),
                _ if postponed.at.binary_search(&at).is_ok() => {}
                (None, Change::Upsert(_)) => self.counters.add(Count::Documents, 1),
                (None, Change::Delete(_)) => self.counters.add(Count::Deletions, 1),
            }
        }
        self.bury(&letters)?;
        if postponed.at.is_empty() {
            return Ok(None);
        }
        self.wait(backoff, &postponed.why, postponed.wait)?;
        let is_left = |at: usize| postponed.at.binary_search(&at).is_ok();
        Ok(Some(part.into_iter().enumerate().filter(|&(at, _)| is_left(at)).map(|(_, change)| change).collect()))
    }

    /// Waits before the next try.
    fn wait(&mut self, backoff: &mut Backoff, why: &str, asked: Option<Duration>) -> Result<(), Error> {
        let sink = self.name.clone();
        if self.limits.retries.is_some_and(|retries| backoff.failures() >= retries) {
            return Err(Error::GaveUp { sink, tries: backoff.failures() + 1, why: why.to_owned() });
        }
        if !(self.pause)(backoff.wait(asked), why) {
            return Err(Error::Stopped { sink });
        }
        self.counters.add(Count::Retries, 1);
        Ok(())
    }

    /// Writes changes that were refused for good, each with its reason.
    fn bury(&mut self, refused: &[Dead<'_>]) -> Result<(), Error> {
        let Some(Dead { change, why }) = refused.first() else { return Ok(()) };
        let refuse = |hint: String| {
            Err(Error::Refused { sink: self.name.clone(), id: change.id().to_owned(), why: why.clone(), hint })
        };
        let number = self.counters.get(Count::DeadLetters) + refused.len() as u64;
        let Some(file) = &mut self.dead_letters else {
            return refuse("dead_letters names a file for such documents".to_owned());
        };
        if number > self.limits.dead_letters_max {
            return refuse(format!("these are more than dead_letters_max = {}", self.limits.dead_letters_max));
        }
        let time = self.clock.wall();
        let letters: Vec<_> =
            refused.iter().map(|dead| DeadLetter::new(&self.name, &dead.why, time, dead.change)).collect();
        file.append(&letters)?;
        self.counters.add(Count::DeadLetters, refused.len() as u64);
        Ok(())
    }
}

impl Consumer for Delivery {
    type Error = Error;

    fn take(&mut self, step: Step) -> Result<bool, Error> {
        let mut has_arrived = false;
        for (number, change) in (step.number..).zip(step.changes) {
            has_arrived = self.push(number, change)?;
        }
        Ok(has_arrived)
    }

    fn flush(&mut self) -> Result<(), Error> {
        Delivery::flush(self)?;
        self.rest(false)
    }
}

/// A change that is refused for good, and the reason.
struct Dead<'a> {
    change: &'a Change,
    why: String,
}

impl Pending {
    fn push(&mut self, number: u64, change: Change, bytes: usize) {
        if self.changes.is_empty() {
            self.number = number;
        }
        self.bytes += bytes;
        match self.places.get(change.id()) {
            Some(&at) => {
                self.bytes -= weight(&self.changes[at]);
                self.changes[at] = change;
            }
            None => {
                self.places.insert(change.id().to_owned(), self.changes.len());
                self.changes.push(change);
            }
        }
    }
}

/// Bytes that a change takes, roughly.
fn weight(change: &Change) -> usize {
    let texts = match change {
        Change::Upsert(document) => {
            let Document { url, urls, title, text, .. } = &**document;
            url.len() + urls.iter().map(String::len).sum::<usize>() + title.len() + text.len()
        }
        Change::Delete(deletion) => deletion.url.len(),
    };
    texts + CHANGE_BYTES
}

#[cfg(test)]
#[path = "delivery_tests.rs"]
mod tests;
