//! A visit: what it knows of the page before, what it found, and when the next one is.

use super::Recrawls;
use crate::calendar::{Found, PageKind, Past, Recrawl, Visit, Visited};
use crate::clock::Time;
use crate::container::Stored as StoredPage;
use crate::contract::{Findings, Response};
use crate::disk::Result;
use crate::engine::stores::Stores;
use crate::fingerprint::Fingerprint;
use crate::frontier::{DUE_PRIORITY, QueuedUrl};
use crate::warc::Records;
use crate::web::kind::Kind;
use crate::web::sitemap;
use crate::web::validators::Validators;

/// An answer's facts about a page.
pub(in crate::engine) struct Answer {
    pub status: u16,
    /// Time at which the request began.
    pub at: Time,
    /// Digest of its payload as sent.
    pub digest: [u8; 20],
    /// Digest of its text; 0 where there is none.
    pub text: u64,
    pub validators: Option<Validators>,
    /// True if the body ended before its time.
    pub is_interrupted: bool,
    /// Its kind, where it is no content.
    pub kind: Option<Kind>,
    /// True if it is a sitemap or a feed.
    pub is_map: bool,
}

impl Answer {
    /// Takes the facts of an answer from the network, with its records and what was found in it.
    pub(crate) fn of(response: &Response, records: &Records, findings: &Findings) -> Answer {
        Answer {
            status: response.status,
            at: response.started,
            digest: records.payload_sha1,
            text: findings.text,
            validators: Validators::of(&response.headers),
            is_interrupted: response.is_interrupted(),
            kind: response.kind(),
            is_map: findings.kind() != sitemap::Kind::Page,
        }
    }
}

/// An answer compared with what was known of its page.
pub(in crate::engine) struct Compared {
    /// The meaning of the answer.
    pub found: Found,
    /// Knowledge of the page now.
    pub past: Past,
    /// Time at which the request began.
    pub at: Time,
    /// Bytes of the payload that a 304 has saved, where it is one.
    pub unsent: Option<u64>,
}

impl Compared {
    /// Returns what a visit has found, in a word for crawl.log.
    pub(crate) fn note(&self) -> Option<&'static str> {
        match self.found {
            Found::Same => Some("same"),
            Found::Changed { .. } => Some("changed"),
            Found::Gone => Some("missing"),
            Found::New { .. } | Found::NoAnswer => None,
        }
    }

    /// True if the page has changed since the visit before.
    pub(crate) fn has_changed(&self) -> bool {
        matches!(self.found, Found::Changed { .. })
    }
}

impl Recrawls {
    /// Notes that the visit of a page begins of which this was known. What came due while no process ran is no sign of
    /// too much work.
    pub(crate) fn note_start(&mut self, past: &Past, now: Time) {
        self.schedule.note_start(past.due.max(self.opened), now);
    }

    /// A page ended for good without an answer: nothing is said of it any more.
    pub(crate) fn never_due_again(&mut self, key: Fingerprint) {
        self.sample.forget(key);
    }

    /// Compares an answer, which is stored, with `before`.
    pub(crate) fn compare(&self, answer: &Answer, before: Option<&Past>, stored: &StoredPage) -> Compared {
        let found = self.found(answer, before, stored.not_modified);
        let unsent = before.filter(|_| stored.not_modified).map(|_| stored.payload_bytes);
        Compared { found, past: past_of(answer, before, found), at: answer.at, unsent }
    }

    /// Returns what an answer means, compared with `before`.
    fn found(&self, answer: &Answer, before: Option<&Past>, not_modified: bool) -> Found {
        let modified = answer.validators.as_ref().and_then(Validators::modified);
        let known = before.filter(|past| past.has_digest());
        match (answer.status, known) {
            (304, Some(_)) if not_modified => Found::Same,
            (404 | 410, _) => Found::Gone,
            // what is in the place of the page says nothing of it
            (200..=399, _) if answer.kind == Some(Kind::SoftNotFound) => Found::Gone,
            (200..=399, _) if answer.kind.is_some_and(Kind::hides_page) => Found::NoAnswer,
            (200..=399, _) if answer.is_interrupted => Found::NoAnswer,
            (200..=399, None) => Found::New { modified },
            (200..=399, Some(past)) => {
                // of a visit that a hint has brought forward only the lower half is known
                let is_same_text = self.options.by_text && answer.text != 0 && answer.text as u32 == past.text as u32;
                let is_same = answer.digest == past.digest || is_same_text;
                if is_same { Found::Same } else { Found::Changed { modified } }
            }
            _ => Found::NoAnswer,
        }
    }

    /// Counts a visit; `unsent` is what a 304 has saved, where it is one.
    pub(crate) fn count(&mut self, found: Found, is_first: bool, unsent: Option<u64>) {
        let counts = &mut self.counts;
        counts.visits += u64::from(!is_first);
        match found {
            Found::New { .. } => {}
            Found::Same => {
                counts.same += 1;
                counts.not_modified += u64::from(unsent.is_some());
                counts.not_modified_bytes += unsent.unwrap_or(0);
            }
            Found::Changed { .. } => counts.changed += 1,
            Found::Gone => counts.missing += u64::from(!is_first),
            Found::NoAnswer => counts.unanswered += u64::from(!is_first),
        }
    }

    /// Puts down when `url` is due after the visit that was `compared` with what was known `before`; says whether it is
    /// due again.
    pub(crate) fn put_down(
        &mut self,
        stores: &mut Stores,
        url: &QueuedUrl,
        before: Option<&Past>,
        compared: Compared,
        now: Time,
    ) -> Result<bool> {
        let Compared { found, past, at, .. } = compared;
        let (before, past) = (before.map(|before| before.clone().as_of(at)), past.as_of(at));
        let before = before.as_ref();
        let kind = if past.is_map { PageKind::Map } else { PageKind::Page };
        let Some(visits) = &mut stores.visits else { return Ok(false) };
        if !self.schedule.visits(&url.url, kind) {
            // one that was visited under other rules has had its last visit
            let visited = Visited { due: Time::ZERO, is_gone: true, ..Visited::of(&past) };
            before.map_or(Ok(()), |_| visits.put(url.key, visited))?;
            return Ok(false);
        }
        // one that was never found counts its tries like one that is gone
        let was_found = before.is_some_and(|past| past.is_found);
        let found = if found == Found::NoAnswer && !was_found { Found::Gone } else { found };
        let visit = Visit { url: &url.url, key: url.key, host: url.host, kind, at, found };
        let Some(plan) = self.schedule.plan(&visit, before) else {
            self.counts.ended += 1;
            self.sample.forget(url.key);
            visits.put(url.key, Visited { due: Time::ZERO, is_gone: true, ..Visited::of(&past) })?;
            return Ok(false);
        };
        let past = Past { due: plan.due, history: plan.history, changed: plan.changed, gone: plan.gone, ..past };
        let visited = Visited::of(&past);
        self.sample.note(url.key, url.host, &past);
        let recrawl = Some(Recrawl::Due(past).to_bytes());
        // which page names it, its first version says
        let next = QueuedUrl { forced: true, attempts: 0, via: 0, priority: DUE_PRIORITY, recrawl, ..url.clone() };
        let mut record = Vec::new();
        next.encode(&mut record);
        self.wheel.bound_by(self.schedule.longest());
        self.wheel.put(plan.due, &record, now)?;
        visits.put(url.key, visited)?;
        Ok(true)
    }
}

/// Returns what is known of the page after an answer.
fn past_of(answer: &Answer, before: Option<&Past>, found: Found) -> Past {
    let blank = || Past::of_visited(answer.at, Time::ZERO, Default::default());
    let before = before.cloned().unwrap_or_else(blank);
    match found {
        Found::New { .. } | Found::Changed { .. } | Found::Same if answer.status != 304 => Past {
            fetched: answer.at,
            digest: answer.digest,
            text: answer.text,
            is_map: answer.is_map,
            is_found: true,
            validators: answer.validators.clone(),
            gone: None,
            ..before
        },
        Found::Same | Found::New { .. } | Found::Changed { .. } => {
            let validators = answer.validators.clone().or(before.validators);
            Past { fetched: answer.at, is_found: true, validators, gone: None, ..before }
        }
        Found::Gone => Past { fetched: answer.at, ..before },
        Found::NoAnswer => before,
    }
}
