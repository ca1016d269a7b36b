//! Watches: people are told that a value of a page has changed, by mail or in a chat.
//!
//! A watch is a sink: it gets the documents of the feed, which tells of no answer that is a failure, and of no deletion
//! that is not confirmed. It keeps the last value that it told of each document. Another value counts once a visit that
//! is later by the time of `confirm` finds the same one; a value that comes and goes meanwhile is told to nobody. So an
//! outage, whatever its pages say, is no storm of messages.
//!
//! ```text
//! documents ─► value ─► state: another one? ─► later visit? ─► changes to tell ─► message ─► mail, webhook
//! ```
//! State and messages survive a kill: a change is told at least once.

mod channel;
mod message;
mod state;
mod value;

use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;

use crate::archive::{self, Archive, Page};
use crate::clock::{Clock, SystemClock, Time};
use crate::config::{Digest, Watch};
use crate::feed::{Change, Deletion, Document, Reason, directory_of_sink};
use crate::fields::Field;
use crate::sink::{Applied, Batch, Entry, Failure, Sink};
use crate::warc::digest;
use crate::web::expression::bounded_regex;
use crate::web::secret::Secret;
use crate::web::warc_date::parse_date;
use channel::Channels;
use message::Message;
use state::{Candidate, Changed, Difference, Known, State};
use value::Watched;

/// The directory of its state, beside its cursor.
const STATE: &str = "values";
/// Changes that a message shows.
const SHOWN_MAX: usize = 50;
/// Values that wait for a later visit and are looked at in one pass.
const LOOKED_AT_MAX: usize = 1_000;
/// The least time between two looks whether a page was visited again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Versions of a URL that are looked at.
const VERSIONS_MAX: usize = 1_000;

/// A watch of the documents of a crawl.
pub(crate) struct Watcher {
    name: String,
    dir: PathBuf,
    urls: Regex,
    field: Option<Field>,
    tells_new: bool,
    confirm_ms: u64,
    digest: Digest,
    channels: Channels,
    /// Opened with the first change: the directory of the feed is made then.
    state: Option<State>,
    clock: SystemClock,
}

impl Watcher {
    /// The watch `name` of the crawl in `dir`. `webhook` is the URL to which the settings refer.
    pub(crate) fn new(name: &str, dir: &Path, settings: &Watch, webhook: Option<&Secret>) -> Result<Watcher, String> {
        Ok(Watcher {
            name: name.to_owned(),
            dir: dir.to_owned(),
            urls: bounded_regex(&settings.urls).map_err(|error| error.to_string())?,
            field: settings.field.field()?,
            tells_new: settings.new,
            confirm_ms: ms(settings.confirm.0),
            digest: settings.digest,
            channels: Channels::open(settings, webhook)?,
            state: None,
            clock: SystemClock::new(),
        })
    }

    /// The name of the sink that a watch is.
    pub(crate) fn sink_name(name: &str) -> String {
        format!("watch.{name}")
    }

    fn state(&mut self) -> Result<&mut State, Failure> {
        if self.state.is_none() {
            let dir = directory_of_sink(&self.dir, &Watcher::sink_name(&self.name)).map_err(broken)?;
            self.state = Some(State::open(&dir.join(STATE)).map_err(broken)?);
        }
        Ok(self.state.as_mut().expect("it was opened"))
    }

    /// The value of a document; none where its page cannot be read, which says nothing about it.
    fn value(&self, archive: &Archive, document: &Document) -> Option<Watched> {
        let Some(field) = &self.field else { return Some(Watched::of(&document.text)) };
        let read =
            version(archive, document).and_then(|page| page.map(|page| value::of_page(&page, field)).transpose());
        read.inspect_err(|error| tracing::warn!("watch {}: {error}", self.name)).ok().flatten().flatten()
    }

    /// Takes a document: its value may be another one than was told.
    fn take(&mut self, archive: &Archive, document: &Document) -> Result<(), Failure> {
        if !self.urls.is_match(&document.url) {
            return Ok(());
        }
        let Some(value) = self.value(archive, document) else { return Ok(()) };
        let captured = parse_date(&document.captured).map_or(0, Time::ms);
        let (confirm_ms, tells_new) = (self.confirm_ms, self.tells_new);
        let state = self.state()?;
        let (known, difference) = match state.known(&document.id).map_err(broken)? {
            None => {
                let new = (tells_new && state.is_begun()).then(|| Difference::New { now: value.text.clone() });
                (Known { told: value, candidate: None }, new)
            }
            Some(mut known) => {
                let difference = known.see(
                    Candidate {
                        value,
                        first: captured,
                        url: document.url.clone(),
                        digest: document.digest.clone(),
                        record: document.record.clone(),
                        look_at: captured + confirm_ms,
                    },
                    confirm_ms,
                );
                (known, difference)
            }
        };
        let changed = difference.map(|difference| Changed {
            url: document.url.clone(),
            at: captured,
            record: document.record.clone(),
            difference,
        });
        state.keep(&document.id, Some(&known), changed.as_ref()).map_err(broken)
    }

    /// Takes a deletion, which the feed has confirmed.
    fn drop_document(&mut self, deletion: &Deletion) -> Result<(), Failure> {
        let now = self.clock.now().ms();
        let state = self.state()?;
        let Some(known) = state.known(&deletion.id).map_err(broken)? else { return Ok(()) };
        // by the operator's own word
        let is_told = !matches!(deletion.reason, Reason::Forgotten | Reason::Scope);
        let difference = Difference::Gone { before: known.told.text, reason: deletion.reason };
        let change = is_told.then(|| Changed { url: deletion.url.clone(), at: now, record: String::new(), difference });
        state.keep(&deletion.id, None, change.as_ref()).map_err(broken)
    }

    /// Looks for later visits of pages that have another value than was told.
    fn confirm(&mut self) -> Result<(), Failure> {
        let now = self.clock.now().ms();
        let (dir, confirm_ms) = (self.dir.clone(), self.confirm_ms);
        let state = self.state()?;
        let due = state.due(now, LOOKED_AT_MAX).map_err(broken)?;
        if due.is_empty() {
            return Ok(());
        }
        let archive = Archive::open(&dir).map_err(broken)?;
        for id in due {
            let Some(mut known) = state.known(&id).map_err(broken)? else { continue };
            let Some(candidate) = &mut known.candidate else { continue };
            let later = last_visit(&archive, candidate).map_err(broken)?;
            let Some(at) = later.filter(|&later| later >= candidate.first + confirm_ms) else {
                candidate.look_at = now + ms(LOOK_AGAIN).max(confirm_ms / 4);
                state.keep(&id, Some(&known), None).map_err(broken)?;
                continue;
            };
            let Candidate { value, url, record, .. } = candidate.clone();
            let changed = Changed { url, at, record, difference: known.tell(value) };
            state.keep(&id, Some(&known), Some(&changed)).map_err(broken)?;
        }
        Ok(())
    }

    /// Tells what has changed, if it is time for a message.
    fn tell(&mut self, is_end: bool) -> Result<(), Failure> {
        let now = self.clock.now();
        let digest = self.digest;
        let state = self.state()?;
        let is_time = match digest {
            Digest::Every(time) => now.ms() >= state.last_message() + ms(time),
            Digest::Run => is_end,
        };
        if !is_time {
            return Ok(());
        }
        let changes = state.changes(SHOWN_MAX).map_err(broken)?;
        if changes.number == 0 {
            return Ok(());
        }
        let message = Message { watch: &self.name, changes: &changes.first, number: changes.number };
        self.channels.send(&message)?;
        self.state()?.sent(&changes, now.ms()).map_err(broken)
    }
}

impl Sink for Watcher {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        let archive = Archive::open(&self.dir).map_err(broken)?;
        for change in batch.changes {
            match change {
                Change::Upsert(document) => self.take(&archive, document)?,
                Change::Delete(deletion) => self.drop_document(deletion)?,
            }
        }
        self.state()?.flush().map_err(broken)?;
        Ok(Applied::default())
    }

    fn ids(&mut self, _after: Option<&str>, _most: usize) -> Result<Vec<Entry>, Failure> {
        Err(broken("a watch keeps no documents"))
    }

    fn rest(&mut self, is_end: bool) -> Result<(), Failure> {
        self.confirm()?;
        if is_end {
            self.state()?.begin().map_err(broken)?;
        }
        self.tell(is_end)
    }
}

/// The time of the newest visit of the page of `candidate`, if it found the same content.
fn last_visit(archive: &Archive, candidate: &Candidate) -> archive::Result<Option<u64>> {
    let Some(page) = archive.get(&candidate.url)? else { return Ok(None) };
    let is_same = digest(page.digest_sha1()) == candidate.digest && page.is_document()?;
    Ok(is_same.then(|| page.parts().2.time.ms()))
}

/// The version of a document that its upsert is about.
fn version(archive: &Archive, document: &Document) -> archive::Result<Option<Page>> {
    let mut at = archive.get(&document.url)?;
    for _ in 0..VERSIONS_MAX {
        match at {
            Some(page) if digest(page.digest_sha1()) == document.digest && page.is_document()? => {
                return Ok(Some(page));
            }
            Some(page) => at = page.previous()?,
            None => break,
        }
    }
    Ok(None)
}

fn broken(why: impl ToString) -> Failure {
    Failure::Broken { why: why.to_string() }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
