//! A visit: what it knows of the page before, what it found, and when the next one is.

use super::Recrawls;
use crate::calendar::{Found, PageKind, Past, Recrawl, Visit, Visited};
use crate::clock::Time;
use crate::container::{Condition, Earlier, KeyRecord, KnownPayload, Stored as StoredPage};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::job::{Findings, Processed, Response, Target};
use crate::engine::stores::Stores;
use crate::frontier::{DUE_PRIORITY, QueuedUrl};
use crate::web::sitemap;
use crate::web::validators::Validators;
use crate::web::warc::Records;

/// What an answer says of a page.
pub(in crate::engine) struct Answer<'a> {
    pub status: u16,
    /// When the request began.
    pub at: Time,
    /// Of its payload as sent.
    pub digest: [u8; 20],
    /// Of its text; 0 where there is none.
    pub text: u64,
    pub bytes: u64,
    pub mime: &'a str,
    pub validators: Option<Validators>,
    /// Whether the body ended before its time.
    pub is_interrupted: bool,
    /// Whether it is a sitemap or a feed.
    pub is_map: bool,
}

impl<'a> Answer<'a> {
    /// What an answer from the network says, with its records, its media type and what was found in it.
    pub fn of(response: &Response, records: &Records, mime: &'a str, findings: &Findings) -> Answer<'a> {
        Answer {
            status: response.status,
            at: response.started,
            digest: records.payload_sha1,
            text: findings.text,
            bytes: records.payload_bytes,
            mime,
            validators: Validators::of(&response.headers),
            is_interrupted: response.is_interrupted(),
            is_map: findings.kind() != sitemap::Kind::Page,
        }
    }
}

/// An answer compared with what was known of its page.
pub(in crate::engine) struct Compared {
    /// What the answer means.
    found: Found,
    /// What is known of the page now.
    past: Past,
    /// When the request began.
    at: Time,
    /// Bytes of the payload that a 304 has saved, where it is one.
    unsent: Option<u64>,
}

impl Compared {
    /// What a visit has found, in a word for crawl.log.
    pub fn note(&self) -> Option<&'static str> {
        match self.found {
            Found::Same => Some("same"),
            Found::Changed { .. } => Some("changed"),
            Found::Gone => Some("missing"),
            Found::New { .. } | Found::NoAnswer => None,
        }
    }

    /// Whether the page has changed since the visit before.
    pub fn has_changed(&self) -> bool {
        matches!(self.found, Found::Changed { .. })
    }
}

impl Recrawls {
    /// Compares an answer, which is stored, with `before`.
    fn compare(&self, answer: &Answer<'_>, before: Option<&Past>, stored: &StoredPage) -> Compared {
        let found = self.found(answer, before, stored.not_modified);
        let unsent = before.filter(|_| stored.not_modified).map(|past| past.payload_bytes);
        Compared { found, past: past_of(answer, stored, before, found), at: answer.at, unsent }
    }

    /// What an answer means, compared with `before`.
    fn found(&self, answer: &Answer<'_>, before: Option<&Past>, not_modified: bool) -> Found {
        let modified = answer.validators.as_ref().and_then(Validators::modified);
        let known = before.filter(|past| past.digest != [0; 20]);
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

    /// Puts down when `url` is due, of which this is known now, and what its visit at `at` found.
    pub(super) fn put_down(
        &mut self,
        stores: &mut Stores,
        url: &QueuedUrl,
        (before, past): (Option<&Past>, Past),
        (found, at, now): (Found, Time, Time),
    ) -> Result<()> {
        let (before, past) = (before.map(|before| before.clone().as_of(at)), past.as_of(at));
        let before = before.as_ref();
        let kind = if past.is_map { PageKind::Map } else { PageKind::Page };
        let Some(visits) = &mut stores.visits else { return Ok(()) };
        if !self.schedule.visits(&url.url, kind) {
            // one that was visited under other rules has had its last visit
            let visited = Visited { due: Time::ZERO, is_gone: true, ..Visited::of(&past) };
            return if before.is_some() { visits.put(url.key, visited) } else { Ok(()) };
        }
        // one that was never there counts its tries like one that is gone
        let found = if found == Found::NoAnswer && before.is_none() { Found::Gone } else { found };
        let visit = Visit { url: &url.url, key: url.key, host: url.host, kind, at, found };
        let Some(plan) = self.schedule.plan(&visit, before) else {
            self.counts.ended += 1;
            self.sample.forget(url.key);
            return visits.put(url.key, Visited { due: Time::ZERO, is_gone: true, ..Visited::of(&past) });
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
        visits.put(url.key, visited)
    }
}

/// What is known of the page behind an answer.
fn past_of(answer: &Answer<'_>, stored: &StoredPage, before: Option<&Past>, found: Found) -> Past {
    let blank = || Past::of_visited(answer.at, Time::ZERO, Default::default());
    let before = || before.cloned().unwrap_or_else(blank);
    // when a payload was fetched that lies in another record is known of the one before only
    let (payload_at, payload_time) = match stored.payload_at {
        Some(at) if at == stored.record => (at, answer.at),
        Some(at) if at == before().payload_at => (at, before().payload_time),
        _ => (0, answer.at),
    };
    match found {
        Found::New { .. } | Found::Changed { .. } | Found::Same if answer.status != 304 => Past {
            fetched: answer.at,
            digest: answer.digest,
            text: answer.text,
            payload_at,
            payload_time,
            payload_bytes: answer.bytes,
            mime: answer.mime.into(),
            newest_at: stored.record,
            is_map: answer.is_map,
            validators: answer.validators.clone(),
            gone: None,
            ..before()
        },
        Found::Same | Found::New { .. } | Found::Changed { .. } => {
            let before = before();
            let validators = answer.validators.clone().or(before.validators.clone());
            Past { fetched: answer.at, newest_at: stored.record, validators, gone: None, ..before }
        }
        Found::Gone => Past { fetched: answer.at, newest_at: stored.record, ..before() },
        Found::NoAnswer => Past { newest_at: stored.record, ..before() },
    }
}

impl Engine {
    /// What is known of the page that is about to be fetched, all that its visit needs: `Some(None)` if nothing is, or
    /// if pages are not fetched again; `None` if it was fetched since the URL was queued, so that no visit is to begin.
    pub(in crate::engine) fn begin_visit(&mut self, url: &QueuedUrl) -> Result<Option<Option<Past>>> {
        let Some(recrawls) = self.recrawls.as_mut().filter(|_| url.forced) else { return Ok(Some(None)) };
        let due = Recrawl::past(url.recrawl.as_deref());
        let visited = self.stores.visits.as_mut().and_then(|visits| visits.peek(url.key));
        let fetched_s = |time: Time| time.ms() / 1_000;
        if let (Some(past), Some(visited)) = (&due, visited)
            && fetched_s(visited.fetched) > fetched_s(past.fetched)
            && url.attempts == 0
        {
            return Ok(None);
        }
        if let Some(past) = due.as_ref().filter(|past| past.is_whole()) {
            // what came due while no process ran is no sign of too much work
            recrawls.schedule.note_start(past.due.max(recrawls.opened), self.stores.arrival.now);
        }
        let known = due.or_else(|| visited.map(Visited::to_past));
        let past = match known {
            Some(past) if !past.is_whole() => Some(self.complete(url, past)?),
            other => other,
        };
        Ok(Some(past))
    }

    /// What the archive has of a page of which little is known.
    fn complete(&self, url: &QueuedUrl, past: Past) -> Result<Past> {
        let Some(newest) = self.container.newest(url.key, &url.url)? else { return Ok(past) };
        let newest_at = newest.offset;
        let Some(record) = self.newest_payload(newest)? else { return Ok(Past { newest_at, ..past }) };
        let validators = self.container.condition(url.key, &url.url)?.map(|condition| condition.validators);
        let payload = match record.payload_at {
            Some(offset) => self.container.record_at(offset)?,
            None => record,
        };
        Ok(Past {
            digest: payload.payload_sha1,
            // a payload of another URL is looked for each time
            payload_at: if *payload.url == *url.url && !payload.robots { payload.offset } else { 0 },
            payload_time: payload.time,
            payload_bytes: payload.payload_bytes,
            mime: payload.mime.as_str().into(),
            newest_at,
            validators,
            ..past
        })
    }

    /// The newest version with a payload, from `newest` on backwards.
    fn newest_payload(&self, newest: KeyRecord) -> Result<Option<KeyRecord>> {
        let is_whole = |record: &KeyRecord| !record.is_removed && !record.is_external;
        let is_payload = |record: &KeyRecord| is_whole(record) && record.status < 400 && record.status != 304;
        self.container.version_where(newest, &is_payload)
    }

    /// The condition of the request for a page of which this is known.
    pub(in crate::engine) fn condition_of(past: &Past) -> Option<Condition> {
        let validators = past.validators.clone().filter(|_| past.is_whole())?;
        Some(Condition { validators, payload_at: past.payload_at })
    }

    /// The versions before an answer, where its visit knows them.
    pub(in crate::engine) fn earlier_of(processed: &Processed) -> Option<Earlier<'_>> {
        let Target::Page { url, .. } = &processed.job.target else { return None };
        // another attempt may have been stored between
        let past = processed.job.past.as_ref().filter(|past| past.is_whole() && url.attempts == 0)?;
        let payload = KnownPayload {
            record: past.payload_at,
            time: past.payload_time,
            sha1: past.digest,
            bytes: past.payload_bytes,
            mime: &past.mime,
        };
        Some(Earlier { newest_at: past.newest_at, payload })
    }

    /// The answer to the request for a page, which is stored, compared with what was known of the page; nothing where
    /// pages are not fetched again.
    pub(in crate::engine) fn compared(&self, processed: &Processed, stored: &StoredPage) -> Option<Compared> {
        let recrawls = self.recrawls.as_ref().filter(|_| matches!(processed.job.target, Target::Page { .. }))?;
        let Processed { job, response, records, mime, findings, .. } = processed;
        let answer = Answer::of(response, records, mime, findings);
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
        let Compared { found, past, at, unsent } = compared;
        recrawls.count(found, before.is_none(), unsent);
        recrawls.put_down(&mut self.stores, url, (before, past), (found, at, now))
    }

    /// The same of an answer that was read back from the archive.
    pub(in crate::engine) fn visited_before(
        &mut self,
        url: &QueuedUrl,
        before: Option<&Past>,
        answer: &Answer<'_>,
        stored: &StoredPage,
    ) -> Result<()> {
        let Some(recrawls) = &self.recrawls else { return Ok(()) };
        let compared = recrawls.compare(answer, before, stored);
        self.visited(url, before, compared)
    }

    /// A visit ended without an answer, or without a request; `known` is what it knew of the page.
    pub(in crate::engine) fn not_visited(&mut self, url: &QueuedUrl, known: Option<Past>, at: Time) -> Result<()> {
        let Some(recrawls) = &mut self.recrawls else { return Ok(()) };
        let before = known.or_else(|| Recrawl::past(url.recrawl.as_deref()));
        recrawls.count(Found::NoAnswer, before.is_none(), None);
        let past = before.clone().unwrap_or_else(|| Past::of_visited(at, Time::ZERO, Default::default()));
        recrawls.put_down(&mut self.stores, url, (before.as_ref(), past), (Found::NoAnswer, at, at))
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
        let before = Recrawl::past(url.recrawl.as_deref());
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
            payload_at: newest.payload_at.or(Some(newest.offset)),
        };
        let answer = Answer {
            status: newest.status,
            at: newest.time,
            digest: newest.payload_sha1,
            text: 0,
            bytes: newest.payload_bytes,
            mime: &newest.mime,
            validators,
            is_interrupted: newest.truncated,
            is_map: before.as_ref().is_some_and(|past| past.is_map),
        };
        self.visited_before(url, before.as_ref(), &answer, &stored)
    }
}
