//! Prerequisites: the requests that no queue makes, and what follows from their answers.
//!
//! What is wanted, refused or told is said by the parts that know it: [`Prerequisites`], [`Sessions`], [`Renderings`].
//! None of them knows another. What they say is carried out here.
//!
//! [`Prerequisites`]: crate::engine::prerequisites::Prerequisites
//! [`Sessions`]: crate::engine::login::Sessions
//! [`Renderings`]: crate::engine::rendering::Renderings

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::container::Stored as StoredPage;
use crate::contract::{Answer, Ask, FetchFailed, Findings, Processed, Refusal, Target};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::discovery::resource_url;
use crate::engine::prerequisites::{Failed, Look, Next, Prerequisite, Ready, Refused, Waiter};
use crate::engine::rendering::AskVerdict;
use crate::fingerprint::Fingerprint;
use crate::frontier::{Contact, HostId};
use crate::outcome::{Failure, HostFault};
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

impl Engine {
    /// Makes the first request whose turn has come, if there is one, and says whether a request was made; only one that
    /// a page asks for, if so wanted.
    pub(in crate::engine) fn follow_prerequisite(&mut self, now: Time, of_pages: bool) -> Result<bool> {
        let mut look = Look::at(now, of_pages);
        while let Some(next) = self.prerequisites.next(&mut look, &mut self.admission) {
            match next {
                Next::Resolve(job) => {
                    self.requests.begin(job.host, Contact::Known, now);
                    self.executors.resolve(job);
                    return Ok(false);
                }
                Next::Request(Ready { host, target, via, url, addresses }) => {
                    self.fetch_robots(host, target, url, addresses, via)?;
                    return Ok(true);
                }
                Next::Fail(failed) => self.not_requested(failed)?,
            }
        }
        Ok(false)
    }

    /// A request cannot be made.
    pub(super) fn not_requested(&mut self, failed: Failed) -> Result<()> {
        self.checkpoints.note_change();
        self.admission.books.statistics.count_failure(failed.cause.failure());
        self.go_without(failed)
    }

    /// A request of those that no queue makes brought no answer.
    pub(super) fn prerequisite_not_answered(&mut self, failed: FetchFailed, worker: u32) -> Result<()> {
        self.admission.books.statistics.count_failure(failed.failure);
        self.admission.books.log_failure(&failed, failed.failure.code(), worker)?;
        self.admission.end_prerequisite(&failed.job.url, failed.duration);
        let FetchFailed { job, cause, .. } = failed;
        self.go_without(Failed { host: job.host, target: job.target, url: job.url, cause })
    }

    /// Tells those who wait for a request that nothing comes of it. A redirect that cannot be followed is a robots.txt
    /// that cannot be had.
    fn go_without(&mut self, failed: Failed) -> Result<()> {
        let Failed { host, target, url, cause } = failed;
        match target {
            Target::Robots { key, for_others: true, .. } => return self.end_rules(key, None, None),
            Target::Robots { origin, key, .. } => {
                self.admission.stores.arrival.frontier.active_mut().blame(host, HostFault::RobotsMoved(cause));
                return self.robots_failed(host, &origin, key, Duration::ZERO);
            }
            Target::Login { plan, .. } => self.sessions.login_unanswered(&plan, cause.to_string(), &self.admission),
            Target::Resource { .. } => self.answer_pages(&url, &Answer::Refused(Refusal::Failed(cause.failure()))),
            Target::Page { .. } => {}
        }
        Ok(())
    }

    /// A request of those that no queue makes was answered.
    pub(super) fn prerequisite_answered(&mut self, processed: Processed, worker: u32) -> Result<()> {
        match processed.job.target {
            Target::Resource { .. } => self.resource_answered(processed, worker),
            Target::Login { .. } => self.login_answered(processed, worker),
            _ => self.rules_answered(processed, worker),
        }
    }

    /// A step of a login was answered.
    fn login_answered(&mut self, processed: Processed, worker: u32) -> Result<()> {
        self.admission.books.log_answer(&processed, &StoredPage::nothing(0), Some("login"), worker)?;
        self.admission.end_prerequisite(&processed.job.url, processed.response.duration);
        if let Some(next) = self.sessions.login_answered(processed, &self.admission) {
            self.want(Prerequisite::Login(Box::new(next)));
        }
        Ok(())
    }

    /// Something that pages ask for was answered.
    fn resource_answered(&mut self, mut processed: Processed, worker: u32) -> Result<()> {
        self.admission.end_prerequisite(&processed.job.url, processed.response.duration);
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        let keys = processed.keys;
        self.replay_rest(keys.host, &processed.response, false);
        let stored = self.store(&processed)?;
        self.admission.books.count_stored(&stored);
        self.admission.books.log_answer(&processed, &stored, Some("forRendering"), worker)?;
        self.renderings.figures.resources += 1;
        let Processed { job, resource, .. } = processed;
        let Target::Resource { provenance, .. } = job.target else { return Ok(()) };
        let answer = resource.map_or(Answer::Refused(Refusal::Failed(Failure::Protocol)), Answer::Got);
        self.answer_pages(&job.url, &answer);
        let of_page = resource_url(&job.url, keys, provenance);
        self.admission.route_found(&of_page, Findings { redirect: None, ..findings }, false, stored.record)
    }

    /// A robots.txt that was asked for on behalf of others than the queue of its host is answered.
    fn rules_answered(&mut self, mut processed: Processed, worker: u32) -> Result<()> {
        let (duration, status) = (processed.response.duration, processed.response.status);
        self.admission.end_prerequisite(&processed.job.url, duration);
        self.replay_rest(processed.keys.host, &processed.response, true);
        let Target::Robots { key, .. } = processed.job.target else { return Ok(()) };
        let note = self.prerequisites.note_of_rules(key);
        self.admission.books.log_answer(&processed, &StoredPage::nothing(0), note, worker)?;
        let redirect = processed.findings.redirect.take().map(|(target, _)| target);
        if self.follow_robots(&processed, redirect) {
            return Ok(());
        }
        let rules = RobotsRules::of_answer(status, processed.findings.rules.clone());
        // one redirect too many, or one that leads nowhere, counts as "unavailable"
        let rules = rules.or_else(|| (300..400).contains(&status).then(RobotsRules::allow_all));
        self.end_rules(key, rules.map(Arc::new), Some(processed))
    }

    /// Ends a request for rules on behalf of others: the rules of `origin` are known, or cannot be had. Everybody who
    /// waits for them hears of it, the queue of their host first.
    fn end_rules(
        &mut self,
        origin: Fingerprint,
        rules: Option<Arc<RobotsRules>>,
        answer: Option<Processed>,
    ) -> Result<()> {
        let mut waiters = self.prerequisites.take_waiters(origin);
        let queue = waiters.iter().position(|waiter| matches!(waiter, Waiter::Queue(_)));
        let queue = queue.map(|place| waiters.remove(place));
        match (queue, &rules, answer) {
            (Some(Waiter::Queue(host)), Some(_), Some(answer)) => self.take_over(host, answer)?,
            (Some(queue), ..) => self.tell_waiter(origin, queue, None)?,
            (None, rules, answer) => {
                self.prerequisites.keep_rules(origin, rules.as_ref(), answer, &self.admission);
            }
        }
        waiters.into_iter().try_for_each(|waiter| self.tell_waiter(origin, waiter, rules.as_ref()))
    }

    /// The queue of `host` takes over an answer that was asked for on behalf of others, as if it had just come.
    pub(super) fn take_over(&mut self, host: HostId, mut processed: Processed) -> Result<()> {
        processed.job.host = host;
        let stored = self.store(&processed)?;
        self.admission.books.count_stored(&stored);
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        self.robots_read(processed, findings, &stored)
    }

    /// Passes what the queue of the host of `origin` has learnt of its rules to those who wait for them too.
    pub(super) fn pass_rules(&mut self, origin: Fingerprint, rules: Option<&Arc<RobotsRules>>) -> Result<()> {
        let waiters = self.prerequisites.take_waiters(origin);
        waiters.into_iter().try_for_each(|waiter| self.tell_waiter(origin, waiter, rules))
    }

    fn tell_waiter(&mut self, origin: Fingerprint, waiter: Waiter, rules: Option<&Arc<RobotsRules>>) -> Result<()> {
        match waiter {
            Waiter::Prerequisite(wanted) => {
                let (host, now) = (self.host_of(&wanted), self.admission.stores.arrival.now);
                let refused = self.prerequisites.want_by(wanted, host, rules.map(|rules| &**rules), now);
                self.refuse(refused);
                Ok(())
            }
            // an answer that there is was taken over
            Waiter::Queue(host) => self.rules_unreachable(host, origin, Duration::ZERO, None),
        }
    }

    /// Takes in what a login or a page wants to ask for.
    pub(super) fn want(&mut self, wanted: Prerequisite) {
        let host = self.host_of(&wanted);
        let refused = self.prerequisites.want(wanted, host, &mut self.admission);
        self.refuse(refused);
    }

    /// The queue of the page for which it is.
    fn host_of(&self, wanted: &Prerequisite) -> HostId {
        match wanted {
            Prerequisite::Login(request) => request.login.host,
            Prerequisite::Page(wanted) => self.renderings.host_of(wanted.rendering),
        }
    }

    fn refuse(&mut self, refused: Option<Refused>) {
        let Some(Refused { wanted, by }) = refused else { return };
        match wanted {
            Prerequisite::Login(request) => self.sessions.login_forbidden(&request, by, &self.admission),
            Prerequisite::Page(wanted) => self.answer_pages(&wanted.url, &Answer::Refused(Refusal::Robots)),
        }
    }

    /// All pages that wait for `url` get this answer.
    pub(super) fn answer_pages(&mut self, url: &CanonicalUrl, answer: &Answer) {
        for id in self.renderings.answered(url, answer, &self.admission) {
            self.executors.answer(id, answer.clone());
        }
    }

    /// A page asks for a URL.
    pub(in crate::engine) fn page_asks(&mut self, ask: Ask) -> Result<()> {
        let id = ask.id;
        match self.renderings.judge(ask, self.course.is_crawling(), &mut self.admission)? {
            AskVerdict::Refused(refusal) => self.executors.answer(id, Answer::Refused(refusal)),
            AskVerdict::Waits => {}
            AskVerdict::Wanted(wanted) => self.want(Prerequisite::Page(wanted)),
        }
        Ok(())
    }
}
