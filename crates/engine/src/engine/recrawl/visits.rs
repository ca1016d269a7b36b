//! A visit: what it knows of the page before, what it found, and when the next one is.

use super::Recrawls;
use crate::calendar::{Found, PageKind, Past, Recrawl, Visit, Visited};
use crate::clock::Time;
use crate::container::{Condition, Stored as StoredPage};
use crate::contract::{Findings, Processed, Response, Target};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::stores::Stores;
use crate::frontier::{DUE_PRIORITY, QueuedUrl};
use crate::warc::Records;
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
    /// True if it is a sitemap or a feed.
    pub is_map: bool,
}

impl Answer {
    /// Takes the facts of an answer from the network, with its records and what was found in it.
    pub fn of(response: &Response, records: &Records, findings: &Findings) -> Answer {
        Answer {
            status: response.status,
            at: response.started,
            digest: records.payload_sha1,
            text: findings.text,
            validators: Validators::of(&response.headers),
            is_interrupted: response.is_interrupted(),
            is_map: findings.kind() != sitemap::Kind::Page,
        }
    }
}

/// An answer compared with what was known of its page.
pub(in crate::engine) struct Compared {
    /// The meaning of the answer.
    pub(super) found: Found,
    /// Knowledge of the page now.
    pub(super) past: Past,
    /// Time at which the request began.
    pub(super) at: Time,
    /// Bytes of the payload that a 304 has saved, where it is one.
    pub(super) unsent: Option<u64>,
}

impl Compared {
    /// Returns what a visit has found, in a word for crawl.log.
    pub fn note(&self) -> Option<&'static str> {
        match self.found {
            Found::Same => Some("same"),
            Found::Changed { .. } => Some("changed"),
            Found::Gone => Some("missing"),
            Found::New { .. } | Found::NoAnswer => None,
        }
    }

    /// True if the page has changed since the visit before.
    pub fn has_changed(&self) -> bool {
        matches!(self.found, Found::Changed { .. })
    }
}

impl Recrawls {
    /// Compares an answer, which is stored, with `before`.
    fn compare(&self, answer: &Answer, before: Option<&Past>, stored: &StoredPage) -> Compared {
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
    fn count(&mut self, found: Found, is_first: bool, unsent: Option<u64>) {
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
    pub(super) fn put_down(
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

impl Engine {
    /// Returns what is known of the page that is about to be fetched, with all that its visit needs: `Some(None)` if
    /// nothing is, or if pages are not fetched again; `None` if it was fetched since the URL was queued, so that no
    /// visit is to begin.
    pub(in crate::engine) fn begin_visit(&mut self, url: &QueuedUrl) -> Result<Option<Option<Past>>> {
        let Some(recrawls) = self.recrawls.as_mut().filter(|_| url.forced) else { return Ok(Some(None)) };
        let due = Recrawl::past(url.recrawl.as_deref());
        let wanted = Recrawl::known(url.recrawl.as_deref()).filter(|_| due.is_none());
        let visited = self.stores.visits.as_mut().and_then(|visits| visits.peek(url.key));
        let fetched_s = |time: Time| time.ms() / 1_000;
        if let (Some(past), Some(visited)) = (&due, visited)
            && fetched_s(visited.fetched) > fetched_s(past.fetched)
            && url.attempts == 0
        {
            return Ok(None);
        }
        if let Some(past) = due.as_ref().filter(|past| past.has_digest()) {
            // what came due while no process ran is no sign of too much work
            recrawls.schedule.note_start(past.due.max(recrawls.opened), self.stores.arrival.now);
        }
        // what was known when it passed the store of visits, unless that is known better now
        let known = due.or_else(|| visited.map(Visited::to_past)).or(wanted);
        let past = match known {
            Some(past) if !past.has_digest() => Some(self.complete(url, past)?),
            other => other,
        };
        Ok(Some(past))
    }

    /// Adds what the archive has of a page of which little is known.
    fn complete(&self, url: &QueuedUrl, past: Past) -> Result<Past> {
        let Some(payload) = self.container.newest_payload(url.key, &url.url)? else { return Ok(past) };
        let condition = self.container.condition(url.key, &url.url)?;
        let is_of_payload = |condition: &Condition| condition.payload_at == payload.offset;
        let validators = condition.filter(is_of_payload).map(|condition| condition.validators);
        Ok(Past { digest: payload.payload_sha1, is_found: true, validators, ..past })
    }

    /// The condition of the request for a page of which this is known. What the archive has lost, or has no more, is
    /// asked for without one.
    pub(in crate::engine) fn condition_of(&self, url: &QueuedUrl, past: &Past) -> Result<Option<Condition>> {
        let Some(validators) = past.validators.clone() else { return Ok(None) };
        let payload = self.container.response_with_payload(url.key, &url.url, &past.digest)?;
        Ok(payload.map(|payload| Condition { validators, payload_at: payload.offset }))
    }

    /// The answer to the request for a page, which is stored, compared with what was known of the page; nothing where
    /// pages are not fetched again.
    pub(in crate::engine) fn compared(&self, processed: &Processed, stored: &StoredPage) -> Option<Compared> {
        let recrawls = self.recrawls.as_ref().filter(|_| matches!(processed.job.target, Target::Page { .. }))?;
        let Processed { job, response, records, findings, .. } = processed;
        let answer = Answer::of(response, records, findings);
        Some(recrawls.compare(&answer, job.past.as_deref(), stored))
    }

    /// A visit ended with an answer: the next one is planned.
    pub(in crate::engine) fn visited(
        &mut self,
        url: &QueuedUrl,
        before: Option<&Past>,
        compared: Compared,
    ) -> Result<()> {
        let now = self.stores.arrival.now;
        let Some(recrawls) = &mut self.recrawls else { return Ok(()) };
        recrawls.count(compared.found, before.is_none(), compared.unsent);
        recrawls.put_down(&mut self.stores, url, before, compared, now).map(drop)
    }

    /// The same of an answer that was read back from the archive.
    pub(in crate::engine) fn visited_before(
        &mut self,
        url: &QueuedUrl,
        before: Option<&Past>,
        answer: &Answer,
        stored: &StoredPage,
    ) -> Result<()> {
        let Some(recrawls) = &self.recrawls else { return Ok(()) };
        let compared = recrawls.compare(answer, before, stored);
        self.visited(url, before, compared)
    }

    /// A visit ended without an answer, or without a request; `known` is what it knew of the page. Says whether there
    /// is another one.
    pub(in crate::engine) fn not_visited(&mut self, url: &QueuedUrl, known: Option<Past>, at: Time) -> Result<bool> {
        let Some(recrawls) = &mut self.recrawls else { return Ok(false) };
        let before = known.or_else(|| Recrawl::past(url.recrawl.as_deref()));
        recrawls.count(Found::NoAnswer, before.is_none(), None);
        let past = before.clone().unwrap_or_else(|| Past::of_visited(at, Time::ZERO, Default::default()));
        let compared = Compared { found: Found::NoAnswer, past, at, unsent: None };
        recrawls.put_down(&mut self.stores, url, before.as_ref(), compared, at)
    }

    /// A page that was due does not belong to the crawl any more.
    pub(in crate::engine) fn end_visits(&mut self, url: &QueuedUrl) -> Result<()> {
        self.never_due_again(url.key);
        let Some((past, visits)) = Recrawl::past(url.recrawl.as_deref()).zip(self.stores.visits.as_mut()) else {
            return Ok(());
        };
        visits.put(url.key, Visited { due: Time::ZERO, is_gone: true, ..Visited::of(&past) })
    }

    /// URLs were met whose pages a replay has found: they get their record, from what the archive has of them.
    pub(in crate::engine) fn collect_met(&mut self) -> Result<()> {
        let Some(met) = self.stores.arrival.met.as_mut().map(std::mem::take) else { return Ok(()) };
        met.into_iter().filter(|url| url.forced).try_for_each(|url| self.met(&url))
    }

    fn met(&mut self, url: &QueuedUrl) -> Result<()> {
        let Some(newest) = self.container.newest(url.key, &url.url)? else { return Ok(()) };
        let before = Recrawl::known(url.recrawl.as_deref());
        if before.as_ref().is_some_and(|past| !past.is_found) {
            // its first visit was counted as a page, and this one may be the first with a body
            self.stores.arrival.frontier.charge(url.origin, url.domain, 0, newest.payload_bytes)?;
        }
        let not_modified = newest.status == 304;
        let validators = match not_modified {
            true => None,
            false => self.container.condition(url.key, &url.url)?.map(|condition| condition.validators),
        };
        let stored = StoredPage {
            record: newest.offset,
            bytes: 0,
            saved: None,
            not_modified,
            payload_bytes: newest.payload_bytes,
        };
        let answer = Answer {
            status: newest.status,
            at: newest.time,
            digest: newest.payload_sha1,
            text: 0,
            validators,
            is_interrupted: newest.truncated,
            is_map: before.as_ref().is_some_and(|past| past.is_map),
        };
        self.visited_before(url, before.as_ref(), &answer, &stored)
    }
}
