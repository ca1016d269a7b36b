//! Fetching: requests of the crawl, from the wish for one to what follows from its answer.
//!
//! Each answer and each failure is one event, as a transaction. What is alike for all of them is here: the request has
//! ended, is counted and logged, its records go to the archive. Then the ways part: [`pages`] with their renderings,
//! [`rules`] of origins and the requests that no queue makes; what the name servers say is here too. Whatever an answer
//! brings, the frontier hears of it last: only then is its host free for the next request.
//!
//! The [`Admission`] takes in what an answer changes in the crawl, and knows nothing of requests.

mod pages;
mod rules;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Executors;
use super::admission::Admission;
use super::hosts::SAID_FOR;
use super::login::Sessions;
use super::prerequisites::{Failed, Look, Next, Prerequisites, Ready};
use super::recrawl::Compared;
use super::rendering::Renderings;
use super::requests::Requests;
use super::values::{Addresses, Term};
use crate::clock::Time;
use crate::container::{NewPage, Stored as StoredPage};
use crate::contract::{FetchFailed, FetchJob, Findings, Processed, ResolveJob, Target, Unresolved};
use crate::disk::Result;
use crate::frontier::{Contact, Feedback, HostId, NameAnswer, QueuedUrl, Task};
use crate::outcome::{Failure, HostFault, Verdict};

/// A failure of the name servers is not remembered for longer (RFC 2308, section 7).
const UNANSWERED_MAX: Duration = Duration::from_secs(5 * 60);

/// Requests that are wanted and in progress, and all that knows what becomes of their answers.
pub(super) struct Fetching {
    pub executors: Box<dyn Executors>,
    pub requests: Requests,
    /// Cookies and logins, by which sites know the crawl.
    pub sessions: Sessions,
    /// Requests that no queue makes, before they are made.
    pub prerequisites: Prerequisites,
    /// Pages that are rendered.
    pub renderings: Renderings,
}

impl Fetching {
    /// Does what the frontier has given out.
    pub(crate) fn start(&mut self, admission: &mut Admission, task: Task) -> Result<()> {
        admission.is_changed = true;
        match task {
            Task::Resolve { host, name } => self.start_resolve(admission, host, name)?,
            Task::Robots { host, origin, addresses, provenance } => {
                self.start_robots(admission, host, &origin, addresses, provenance)?
            }
            Task::Fetch { host, url, addresses, permit } => self.start_page(admission, host, url, addresses, permit)?,
            Task::Drop { url, reason } => admission.stores.sink.dropped.push((url, reason)),
        }
        admission.collect_dropped()
    }

    /// Starts requests for what pages ask for that are rendered: those pages are begun, so that no limit of pages holds
    /// that back.
    pub(crate) fn request_for_pages(&mut self, admission: &mut Admission, now: Time) -> Result<()> {
        while !self.renderings.are_none() && self.requests.may_begin(now) && self.requests.take_right() {
            if !self.follow_prerequisite(admission, now, true)? {
                break;
            }
            self.requests.use_right();
        }
        Ok(())
    }

    /// Makes the first request whose turn has come, if there is one, and says whether a request was made; only one that
    /// a page asks for, if so wanted.
    pub(crate) fn follow_prerequisite(&mut self, admission: &mut Admission, now: Time, of_pages: bool) -> Result<bool> {
        let mut look = Look::at(now, of_pages);
        while let Some(next) = self.prerequisites.next(&mut look, admission) {
            match next {
                Next::Resolve(job) => {
                    self.requests.begin(job.host, Contact::Known, now);
                    self.executors.resolve(job);
                    return Ok(false);
                }
                Next::Request(Ready { host, target, via, url, addresses }) => {
                    self.fetch_robots(admission, host, target, url, addresses, via)?;
                    return Ok(true);
                }
                Next::Fail(failed) => self.not_requested(admission, failed)?,
            }
        }
        Ok(false)
    }

    /// A request cannot be made.
    pub(super) fn not_requested(&mut self, admission: &mut Admission, failed: Failed) -> Result<()> {
        admission.is_changed = true;
        admission.books.statistics.count_failure(failed.cause.failure());
        self.go_without(admission, failed)
    }

    /// An answer came and was processed, in a crawl that `is_crawling`, or ends.
    pub(crate) fn answered(
        &mut self,
        admission: &mut Admission,
        mut processed: Processed,
        is_crawling: bool,
    ) -> Result<()> {
        let (worker, has_new_cookie) = match processed.rendered.take() {
            Some(rendered) => {
                let Some(worker) = self.end_rendering(admission, &processed, &rendered, is_crawling)? else {
                    return Ok(());
                };
                processed.rendered = Some(rendered);
                (worker, false)
            }
            None => {
                let worker = self.received(admission, &processed);
                (worker, self.sessions.keep_cookies(&processed, &admission.settings))
            }
        };
        if processed.job.target.is_prerequisite() {
            return self.prerequisite_answered(admission, processed, worker);
        }
        if self.sessions.turn_away(&processed, has_new_cookie, &admission.settings) {
            return self.page_turned_away(admission, processed, worker);
        }
        if processed.to_render.is_some() {
            return self.begin_rendering(admission, processed, worker, is_crawling);
        }
        let stored = self.store(admission, &processed)?;
        admission.books.count_stored(&stored);
        self.judge_text(admission, &mut processed)?;
        let compared = admission.compared(&processed, &stored);
        // a first visit is none to speak of
        let note = compared.as_ref().filter(|_| processed.job.past.is_some()).and_then(Compared::note);
        admission.books.log_answer(&processed, &stored, note, worker)?;
        let back = has_new_cookie.then(|| admission.led_back(&processed)).flatten();
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        match &processed.job.target {
            Target::Page { .. } => {
                self.page_answered(admission, processed, findings, compared, &stored)?;
                back.map_or(Ok(()), |page| admission.stores.sink.ask_again(page))
            }
            Target::Robots { redirects, .. } => {
                // a redirect leads to the address of another host
                if let Some(address) = processed.response.address.filter(|_| *redirects == 0) {
                    let (host, started) = (processed.job.host, processed.response.started);
                    let sink = &mut admission.stores.sink;
                    sink.frontier.answered_from(host, address, started, sink.now);
                }
                self.robots_answered(admission, processed, findings, &stored)
            }
            Target::Login { .. } | Target::Resource { .. } => Ok(()),
        }
    }

    /// The request of an answer is over, and counted; the number of the worker that made it.
    fn received(&mut self, admission: &mut Admission, processed: &Processed) -> u32 {
        let (job, bytes, now) = (&processed.job, processed.records.payload_bytes, admission.stores.sink.now);
        let worker = match processed.to_render {
            Some(_) => self.requests.leave_slot(job, bytes, now),
            None => self.requests.end_fetch(job, bytes, now),
        };
        admission.books.count_request(processed.response.duration);
        admission.books.statistics.bytes_received += bytes;
        // what was cut for being slow must not make that usual
        let usual = processed.response.truncated.is_none().then_some(processed.response.duration);
        self.requests.answered(bytes, usual);
        worker
    }

    /// A page whose text too many have leads nowhere. One that is asked for again is judged when it has come.
    fn judge_text(&mut self, admission: &mut Admission, processed: &mut Processed) -> Result<()> {
        let Target::Page { url, .. } = &processed.job.target else { return Ok(()) };
        match admission.settings.retries.verdict(&processed.response.answered(), url.attempts) {
            Verdict::Retry => Ok(()),
            _ => admission.stop_at_repeated(url, processed.job.is_new(), &mut processed.findings),
        }
    }

    /// An attempt brought no answer.
    pub(crate) fn failed(&mut self, admission: &mut Admission, failed: FetchFailed) -> Result<()> {
        let worker = self.requests.end_fetch(&failed.job, 0, admission.stores.sink.now);
        if failed.cause.is_contact() {
            admission.books.count_request(failed.duration);
        }
        let moved = matches!(failed.job.target, Target::Robots { redirects: 1.., .. });
        let blame = if moved { HostFault::RobotsMoved(failed.cause) } else { HostFault::Host(failed.cause) };
        let is_prerequisite = failed.job.target.is_prerequisite();
        if !is_prerequisite {
            admission.stores.sink.frontier.active_mut().blame(failed.job.host, blame);
        }
        tracing::debug!(url = failed.job.url.as_str(), failure = %failed.failure, detail = failed.detail, "no answer");
        if matches!(failed.job.target, Target::Page { .. }) {
            return self.page_failed(admission, failed, worker);
        }
        admission.books.statistics.count_failure(failed.failure);
        admission.books.log_failure(&failed, failed.failure.code(), worker)?;
        match is_prerequisite {
            true => self.prerequisite_not_answered(admission, failed),
            false => self.robots_not_answered(admission, failed),
        }
    }

    /// A request begins, in the place that suits its host.
    fn fetch(&mut self, admission: &mut Admission, job: FetchJob, now: Time) {
        let mut job = admission.settings.directed(job);
        if let Some(settings) = admission.settings.settings_of(&job) {
            job.cookie = self.sessions.cookie_for(&job.target, &job.url, &settings);
        }
        let contact = admission.stores.sink.frontier.active().contact_of(job.host);
        self.requests.begin_fetch(&job, contact, now);
        self.executors.fetch(job);
    }

    pub(crate) fn store(&mut self, admission: &mut Admission, processed: &Processed) -> Result<StoredPage> {
        if let Some(stored) = admission.stored_before(processed)? {
            return Ok(stored);
        }
        let response = &processed.response;
        let of_rendering = matches!(processed.job.target, Target::Resource { .. });
        let (robots, may_have_versions) = match &processed.job.target {
            // a rendering may have asked for it
            Target::Page { url, .. } => (false, may_have_versions(url) || self.renders(admission)),
            Target::Resource { .. } => (false, true),
            Target::Robots { .. } | Target::Login { .. } => (true, true),
        };
        admission.container.append(&NewPage {
            url: processed.job.url.as_str(),
            key: processed.keys.key,
            status: response.status,
            kind: response.kind(),
            time: response.started,
            mime: &processed.mime,
            robots,
            of_rendering,
            is_rendered: processed.has_made_page(),
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

    fn frontier_done(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        feedback: &Feedback,
        again: Option<QueuedUrl>,
    ) -> Result<()> {
        let sink = &mut admission.stores.sink;
        sink.frontier.done(host, feedback, again, sink.now)
    }

    /// A name is to be resolved: by the name servers, unless the answer that another origin of the name got still
    /// holds.
    pub(crate) fn start_resolve(&mut self, admission: &mut Admission, host: HostId, name: Box<str>) -> Result<()> {
        if let Some(addresses) = admission.settings.hosts.get(&name) {
            let sink = &mut admission.stores.sink;
            let until = sink.now + SAID_FOR;
            return sink.frontier.resolved(host, NameAnswer::Found(addresses), until, sink.now);
        }
        let stored = admission.stores.dns.peek(admission.home.keys.of(&name));
        let sink = &mut admission.stores.sink;
        match stored.as_ref().and_then(|stored| stored.fresh(sink.now, sink.doubtful)) {
            Some((NameAnswer::Unanswered, until)) => sink.frontier.defer(host, until, sink.now),
            Some((answer, until)) => sink.frontier.resolved(host, answer.clone(), until, sink.now)?,
            None => {
                self.requests.begin(host, Contact::Known, admission.clock.now());
                self.executors.resolve(ResolveJob { host, name });
            }
        }
        Ok(())
    }

    /// The name servers answered.
    pub(crate) fn resolved(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        name: &str,
        answer: std::result::Result<(Arc<[IpAddr]>, Time), Unresolved>,
    ) -> Result<()> {
        let worker = self.requests.end(host, admission.stores.sink.now);
        match &answer {
            Ok(_) => admission.books.statistics.dns_resolved += 1,
            Err(Unresolved { failure, cause, .. }) => {
                admission.stores.sink.frontier.active_mut().blame(host, HostFault::Host(*cause));
                admission.books.statistics.dns_failed += 1;
                admission.books.statistics.count_failure(*failure);
                admission.books.log_unresolved(admission.stores.sink.now, name, *failure, worker)?;
            }
        }
        let now = admission.stores.sink.now;
        let of_prerequisite = answer.as_ref().map(|(list, _)| list).map_err(|unresolved| unresolved.cause);
        if let Some(failed) = self.prerequisites.resolved(host, name, of_prerequisite) {
            self.not_requested(admission, failed)?;
        }
        let (answer, mut until) = match answer {
            Ok((addresses, expires)) => (NameAnswer::Found(addresses), expires),
            Err(Unresolved { failure, valid_for, .. }) => {
                let negative_ttl = admission.settings.negative_ttl;
                let holds = now + valid_for.map_or(negative_ttl, |holds| holds.min(negative_ttl));
                match failure {
                    Failure::NoSuchHost => (NameAnswer::NoSuchHost, holds),
                    Failure::PrivateAddress => (NameAnswer::PrivateAddress, holds),
                    _ => (NameAnswer::Unanswered, holds.min(now + UNANSWERED_MAX)),
                }
            }
        };
        admission.stores.sink.frontier.resolved(host, answer.clone(), until, now)?;
        if answer == NameAnswer::Unanswered
            && let Some(held) = admission.stores.sink.frontier.active().held(host)
        {
            until = until.min(held.until);
        }
        admission.stores.dns.put(admission.home.keys.of(name), Addresses::new(answer, Term { from: now, until }))
    }
}

/// True if the archive may have versions of `url`: URL-seen lets a page through once, unless it is forced; and what is
/// tried again may have been answered before.
fn may_have_versions(url: &QueuedUrl) -> bool {
    url.forced || url.attempts > 0
}
