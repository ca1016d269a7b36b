//! Answers of the network: each answer and each failure in one event, as a transaction.
//!
//! What is alike for all of them is here: the request has ended, is counted and logged, its records go to the archive.
//! Then the ways part: [`pages`] and [`renderings`] of them, [`robots`], [`prerequisites`], and [`names`] for what the
//! name servers say. Whatever an answer brings,
//! the frontier hears of it last: only then is its host free for the next request.

mod names;
mod pages;
mod prerequisites;
mod renderings;
mod robots;

use super::Engine;
use super::recrawl::Compared;
use crate::clock::Time;
use crate::container::{NewPage, Stored as StoredPage};
use crate::contract::{FetchFailed, FetchJob, Findings, Processed, Target};
use crate::disk::Result;
use crate::frontier::{Feedback, HostId, QueuedUrl};
use crate::outcome::{HostFault, Verdict, judge_answer};

impl Engine {
    /// An answer came and was processed.
    pub(in crate::engine) fn answered(&mut self, mut processed: Processed) -> Result<()> {
        let (worker, has_new_cookie) = match processed.rendered.take() {
            Some(rendered) => {
                let Some(worker) = self.end_rendering(&processed, &rendered)? else { return Ok(()) };
                processed.rendered = Some(rendered);
                (worker, false)
            }
            None => {
                let worker = self.received(&processed);
                (worker, self.sessions.keep_cookies(&processed, &self.admission.settings))
            }
        };
        if processed.job.target.is_prerequisite() {
            return self.prerequisite_answered(processed, worker);
        }
        if self.sessions.turn_away(&processed, has_new_cookie, &self.admission.settings) {
            return self.page_turned_away(processed, worker);
        }
        if processed.to_render.is_some() {
            return self.begin_rendering(processed, worker);
        }
        let stored = self.store(&processed)?;
        self.admission.books.count_stored(&stored);
        self.judge_text(&mut processed)?;
        let compared = self.admission.compared(&processed, &stored);
        // a first visit is none to speak of
        let note = compared.as_ref().filter(|_| processed.job.past.is_some()).and_then(Compared::note);
        self.admission.books.log_answer(&processed, &stored, note, worker)?;
        let back = has_new_cookie.then(|| self.admission.led_back(&processed)).flatten();
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        match &processed.job.target {
            Target::Page { .. } => {
                self.page_answered(processed, findings, compared, &stored)?;
                back.map_or(Ok(()), |page| self.admission.stores.arrival.ask_again(page))
            }
            Target::Robots { redirects, .. } => {
                // a redirect leads to the address of another host
                if let Some(address) = processed.response.address.filter(|_| *redirects == 0) {
                    let (host, started) = (processed.job.host, processed.response.started);
                    let arrival = &mut self.admission.stores.arrival;
                    arrival.frontier.answered_from(host, address, started, arrival.now);
                }
                self.robots_answered(processed, findings, &stored)
            }
            Target::Login { .. } | Target::Resource { .. } => Ok(()),
        }
    }

    /// The request of an answer is over, and counted; the number of the worker that made it.
    fn received(&mut self, processed: &Processed) -> u32 {
        let (job, bytes, now) = (&processed.job, processed.records.payload_bytes, self.admission.stores.arrival.now);
        let worker = match processed.to_render {
            Some(_) => self.requests.leave_slot(job, bytes, now),
            None => self.requests.end_fetch(job, bytes, now),
        };
        self.admission.books.count_request(processed.response.duration);
        self.admission.books.statistics.bytes_received += bytes;
        // what was cut for being slow must not make that usual
        let usual = processed.response.truncated.is_none().then_some(processed.response.duration);
        self.requests.answered(bytes, usual);
        worker
    }

    /// A page whose text too many have leads nowhere. One that is asked for again is judged when it has come.
    fn judge_text(&mut self, processed: &mut Processed) -> Result<()> {
        let Target::Page { url, .. } = &processed.job.target else { return Ok(()) };
        let response = &processed.response;
        let attempts = (url.attempts, self.admission.settings.retries);
        match judge_answer(response.status, response.is_interrupted(), attempts.0, attempts.1) {
            Verdict::Retry => Ok(()),
            _ => self.admission.stop_at_repeated(url, processed.job.is_new(), &mut processed.findings),
        }
    }

    /// An attempt brought no answer.
    pub(in crate::engine) fn failed(&mut self, failed: FetchFailed) -> Result<()> {
        let worker = self.requests.end_fetch(&failed.job, 0, self.admission.stores.arrival.now);
        if failed.cause.is_contact() {
            self.admission.books.count_request(failed.duration);
        }
        let moved = matches!(failed.job.target, Target::Robots { redirects: 1.., .. });
        let blame = if moved { HostFault::RobotsMoved(failed.cause) } else { HostFault::Host(failed.cause) };
        let is_prerequisite = failed.job.target.is_prerequisite();
        if !is_prerequisite {
            self.admission.stores.arrival.frontier.active_mut().blame(failed.job.host, blame);
        }
        tracing::debug!(url = failed.job.url.as_str(), failure = %failed.failure, detail = failed.detail, "no answer");
        match failed.job.target {
            _ if is_prerequisite => self.prerequisite_not_answered(failed, worker),
            Target::Page { .. } => self.page_failed(failed, worker),
            _ => self.robots_not_answered(failed, worker),
        }
    }

    /// A request begins, in the place that suits its host.
    fn fetch(&mut self, job: FetchJob, now: Time) {
        let mut job = self.admission.settings.directed(job);
        if let Some(settings) = self.admission.settings.settings_of(&job) {
            job.cookie = self.sessions.cookie_for(&job.target, &job.url, &settings);
        }
        let contact = self.admission.stores.arrival.frontier.active().contact_of(job.host);
        self.requests.begin_fetch(&job, contact, now);
        self.executors.fetch(job);
    }

    pub(in crate::engine) fn store(&mut self, processed: &Processed) -> Result<StoredPage> {
        if let Some(stored) = self.admission.stored_before(processed)? {
            return Ok(stored);
        }
        let response = &processed.response;
        let of_rendering = matches!(processed.job.target, Target::Resource { .. });
        let (robots, may_have_versions) = match &processed.job.target {
            // a rendering may have asked for it
            Target::Page { url, .. } => (false, may_have_versions(url) || self.renders()),
            Target::Resource { .. } => (false, true),
            Target::Robots { .. } | Target::Login { .. } => (true, true),
        };
        self.admission.container.append(&NewPage {
            url: processed.job.url.as_str(),
            key: processed.keys.key,
            status: response.status,
            time: response.started,
            mime: &processed.mime,
            robots,
            of_rendering,
            is_rendered: processed.rendered.as_ref().is_some_and(|rendered| rendered.has_page()),
            payload_sha1: processed.records.payload_sha1,
            payload_bytes: processed.records.payload_bytes,
            records: &processed.records.bytes,
            response: processed.records.response.clone(),
            revisit: processed.records.revisit.as_ref(),
            truncated: response.truncated.is_some(),
            has_statements: processed.has_statements,
            is_external: processed.records.is_external,
            may_have_versions,
            condition: processed.job.condition.as_ref().map(|condition| condition.payload_at),
        })
    }

    fn frontier_done(&mut self, host: HostId, feedback: &Feedback, again: Option<QueuedUrl>) -> Result<()> {
        let arrival = &mut self.admission.stores.arrival;
        arrival.frontier.done(host, feedback, again, arrival.now)
    }
}

/// True if the archive may have versions of `url`: URL-seen lets a page through once, unless it is forced; and what is
/// tried again may have been answered before.
fn may_have_versions(url: &QueuedUrl) -> bool {
    url.forced || url.attempts > 0
}
