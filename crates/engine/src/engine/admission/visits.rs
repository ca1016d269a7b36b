//! Visits of pages that are fetched again: how one begins, and what its end changes in the calendar and its store.

use super::Admission;
use crate::calendar::{Found, Past, Recrawl, SlotRead, Visited};
use crate::clock::Time;
use crate::container::{Condition, Stored as StoredPage};
use crate::contract::{Processed, Target};
use crate::disk::Result;
use crate::engine::recrawl::{Answer, Compared};
use crate::frontier::QueuedUrl;

impl Admission {
    /// Hands on what is due of the calendar, where there is one; returns what is to be read of it next.
    pub(in crate::engine) fn serve_calendar(&mut self, now: Time) -> Result<Option<SlotRead>> {
        if self.must_leave_due_pages() {
            return Ok(None);
        }
        let Some(recrawls) = &mut self.recrawls else { return Ok(None) };
        let read = recrawls.serve(&mut self.stores, &self.home.dir, now)?;
        self.collect_dropped()?;
        Ok(read)
    }

    /// Returns when something of the calendar may be due.
    pub(in crate::engine) fn calendar_due(&self, now: Time) -> Option<Time> {
        let recrawls = self.recrawls.as_ref().filter(|_| !self.must_leave_due_pages())?;
        recrawls.next_due(now)
    }

    /// Returns true where a shard has said to the others that it has nothing left: the crawl may have ended by that, so
    /// what is due since stays in the calendar until a checkpoint says otherwise.
    fn must_leave_due_pages(&self) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| exchange.has_said_that_nothing_is_left())
    }

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
            recrawls.note_start(past, self.stores.sink.now);
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
    pub(in crate::engine) fn complete(&self, url: &QueuedUrl, past: Past) -> Result<Past> {
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
        let now = self.stores.sink.now;
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
        self.recrawls.iter_mut().for_each(|recrawls| recrawls.never_due_again(url.key));
        let Some((past, visits)) = Recrawl::past(url.recrawl.as_deref()).zip(self.stores.visits.as_mut()) else {
            return Ok(());
        };
        visits.put(url.key, Visited { due: Time::ZERO, is_gone: true, ..Visited::of(&past) })
    }

    /// URLs were met whose pages a replay has found: they get their record, from what the archive has of them.
    pub(in crate::engine) fn collect_met(&mut self) -> Result<()> {
        let Some(met) = self.stores.sink.met.as_mut().map(std::mem::take) else { return Ok(()) };
        met.into_iter().filter(|url| url.forced).try_for_each(|url| self.met(&url))
    }

    pub(in crate::engine) fn met(&mut self, url: &QueuedUrl) -> Result<()> {
        let Some(newest) = self.container.newest(url.key, &url.url)? else { return Ok(()) };
        let before = Recrawl::known(url.recrawl.as_deref());
        if before.as_ref().is_some_and(|past| !past.is_found) {
            // its first visit was counted as a page, and this one may be the first with a body
            self.stores.sink.frontier.charge(url.origin, url.domain, 0, newest.payload_bytes)?;
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
            kind: newest.kind,
            is_map: before.as_ref().is_some_and(|past| past.is_map),
        };
        self.visited_before(url, before.as_ref(), &answer, &stored)
    }
}
