//! The rules of origins (RFC 9309), and the requests that no queue makes, of which rules on behalf of others are some.
//!
//! The parts that know it say what is wanted, refused or answered: [`Prerequisites`], [`Sessions`], [`Renderings`].
//! None of them knows another. What they say is carried out here.
//!
//! [`Prerequisites`]: crate::engine::prerequisites::Prerequisites
//! [`Sessions`]: crate::engine::login::Sessions
//! [`Renderings`]: crate::engine::rendering::Renderings

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Fetching;
use crate::clock::Time;
use crate::container::{Referrer, Stored as StoredPage};
use crate::contract::{Answer, Ask, FetchFailed, FetchJob, Findings, Processed, Refusal, RenderWish, Target};
use crate::disk::Result;
use crate::engine::admission::Admission;
use crate::engine::discovery::resource_url;
use crate::engine::prerequisites::{Failed, Prerequisite, Refused, Turn, Waiter, robots_txt};
use crate::engine::rendering::AskVerdict;
use crate::engine::values::{Robots, RobotsAnswer as Stored, Term};
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostId, Provenance, RobotsAnswer};
use crate::outcome::{Failure, HostFault};
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const ROBOTS_REDIRECTS_MAX: u8 = 5;

/// An answer that brought rules.
#[derive(Clone, Copy)]
struct RulesAnswer {
    /// Time at which it came.
    from: Time,
    duration: Duration,
    bytes: u64,
}

impl Fetching {
    pub(super) fn start_robots(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        origin: &str,
        addresses: Arc<[IpAddr]>,
        provenance: Provenance,
    ) -> Result<()> {
        let url = robots_txt(origin);
        let key = admission.home.keys.keys(&url).origin;
        if !admission.settings.obeys_robots(url.host()) {
            let rules = Arc::new(RobotsRules::allow_all());
            let expires = admission.stores.sink.now + admission.settings.robots_cache;
            return self.tell_rules(
                admission,
                host,
                RobotsAnswer::Rules { rules, expires, duration: Duration::ZERO, bytes: 0 },
            );
        }
        match self.prerequisites.turn_of_queue(key, host, admission.stores.sink.now) {
            Turn::Ask => {}
            Turn::Wait => {
                // the request is made by another, and must find the place that the queue has taken at the host
                let sink = &mut admission.stores.sink;
                sink.frontier.robots_moved(host, Duration::ZERO, sink.now);
                return Ok(());
            }
            Turn::Take(answer) => return self.take_over(admission, host, *answer),
            Turn::Unavailable => return self.rules_unreachable(admission, host, key, Duration::ZERO, None),
        }
        let origin = url.origin().into();
        let target = Target::Robots { origin, key, redirects: 0, provenance, for_others: false };
        self.fetch_robots(admission, host, target, url, addresses, Referrer::Nobody)
    }

    pub(super) fn fetch_robots(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        target: Target,
        url: CanonicalUrl,
        addresses: Arc<[IpAddr]>,
        via: Referrer,
    ) -> Result<()> {
        // what a page asks for is archived like a page
        let id_seed = match &target {
            Target::Resource { .. } => admission.container.crawl_id(),
            _ => self.requests.id_seed(),
        };
        let (scope, condition) = (admission.scope.clone(), None);
        let settings = match &target {
            Target::Robots { origin, .. } if admission.settings.sites.is_some() => {
                admission.settings.robots_settings(&robots_txt(origin), &url)
            }
            _ => admission.settings.request_settings(&url),
        };
        let (past, cookie, sessions) = (None, None, 0);
        let job = FetchJob {
            host,
            target,
            url,
            addresses,
            scope,
            settings,
            via,
            condition,
            cookie,
            sessions,
            past,
            render: RenderWish::No,
            id_seed,
        };
        self.fetch(admission, job, admission.clock.now());
        Ok(())
    }

    pub(super) fn robots_answered(
        &mut self,
        admission: &mut Admission,
        processed: Processed,
        findings: Findings,
        stored: &StoredPage,
    ) -> Result<()> {
        if let Target::Robots { redirects, key, .. } = processed.job.target {
            admission.end_robots(redirects, key, &processed.job.url, processed.response.duration);
        }
        let redirect = findings.redirect.as_ref().map(|(target, _)| target.clone());
        match self.follow_robots(admission, &processed, redirect) {
            true => Ok(()),
            false => self.robots_read(admission, processed, findings, stored),
        }
    }

    /// Follows the redirect that a request for robots.txt was answered with, and says whether there was one to follow.
    pub(super) fn follow_robots(
        &mut self,
        admission: &mut Admission,
        processed: &Processed,
        redirect: Option<CanonicalUrl>,
    ) -> bool {
        let Processed { job, response, .. } = processed;
        let Target::Robots { origin, key, redirects, provenance, for_others } = &job.target else { return false };
        let may_follow = (300..400).contains(&response.status) && *redirects < ROBOTS_REDIRECTS_MAX;
        let Some(target) = redirect.filter(|_| may_follow) else { return false };
        if !for_others {
            let sink = &mut admission.stores.sink;
            sink.frontier.robots_moved(job.host, response.duration, sink.now);
        }
        // the pinned addresses are those of the host that answered
        let addresses = (target.host() == job.url.host()).then(|| job.addresses.clone());
        let provenance = Provenance { hops: provenance.hops.then('R'), ..provenance.clone() };
        // the rules are those of the first origin: a replay knows it by this
        let via = job.via.url().unwrap_or(job.url.as_str()).to_owned();
        let (origin, redirects) = (origin.clone(), redirects + 1);
        let hop = Target::Robots { origin, key: *key, redirects, provenance, for_others: *for_others };
        let now = admission.stores.sink.now;
        self.prerequisites.redirect(job.host, hop, Referrer::Url(via), target, addresses, now);
        true
    }

    /// Takes the rules of an origin from the last answer to the request for its robots.txt.
    pub(super) fn robots_read(
        &mut self,
        admission: &mut Admission,
        processed: Processed,
        findings: Findings,
        stored: &StoredPage,
    ) -> Result<()> {
        let Processed { job, response, records, retry_after, .. } = processed;
        let FetchJob { host, target, url, .. } = job;
        let Target::Robots { origin, key, provenance, .. } = target else { return Ok(()) };
        let (duration, bytes) = (response.duration, records.payload_bytes);
        let is_redirect = (300..400).contains(&response.status);
        // what is taken over came some time ago
        let from = (response.started + duration).min(admission.stores.sink.now);
        let answer = RulesAnswer { from, duration, bytes };
        admission.stores.sink.frontier.note_answer(host);
        match RobotsRules::of_answer(response.status, findings.rules) {
            Some(rules) => {
                let politeness = admission.stores.sink.frontier.pacing().politeness_for(robots_txt(&origin).host());
                admission.books.tell_crawl_delay(&origin, &rules, &politeness);
                self.rules_known(admission, host, key, Arc::new(rules), answer)?;
                admission.books.count_dropped_links(url.as_str(), &findings.dropped);
                admission.route_sitemaps(&provenance, stored.record, findings.links)
            }
            // one redirect too many, or one that leads nowhere, counts as "unavailable"
            None if is_redirect => self.rules_known(admission, host, key, Arc::new(RobotsRules::allow_all()), answer),
            None => {
                let fault = HostFault::of_robots(response.status, response.is_interrupted());
                admission.stores.sink.frontier.active_mut().blame(host, fault);
                self.rules_unreachable(admission, host, key, duration, retry_after)
            }
        }
    }

    /// The rules of `origin` are known, by this answer.
    fn rules_known(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        origin: Fingerprint,
        rules: Arc<RobotsRules>,
        answer: RulesAnswer,
    ) -> Result<()> {
        let RulesAnswer { from, duration, bytes } = answer;
        let expires = from + admission.settings.robots_cache;
        let stored = Robots::new(Stored::Rules(rules.clone()), Term { from, until: expires });
        admission.books.statistics.robots_fetched += 1;
        admission.stores.robots.put(origin, stored)?;
        self.tell_rules(admission, host, RobotsAnswer::Rules { rules: rules.clone(), expires, duration, bytes })?;
        self.pass_rules(admission, origin, Some(&rules))
    }

    /// The frontier hears the rules of a host, whether they were asked for or not.
    fn tell_rules(&mut self, admission: &mut Admission, host: HostId, rules: RobotsAnswer) -> Result<()> {
        let now = admission.stores.sink.now;
        admission.stores.sink.frontier.robots(host, rules, now)
    }

    /// The robots.txt of `origin` brought no answer. Where the origin was only guessed, from seeds without a scheme,
    /// the other guess is tried instead of waiting for this one.
    pub(super) fn robots_failed(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        origin: &str,
        key: Fingerprint,
        duration: Duration,
    ) -> Result<()> {
        let guesses = admission.books.seeds.guesses_at(origin)?;
        if guesses.is_empty() {
            return self.rules_unreachable(admission, host, key, duration, None);
        }
        for number in guesses {
            let forced = admission.books.seeds.waits_in_round(number, admission.seeding.round.number);
            admission.admit_fallback(number, forced)?;
        }
        let sink = &mut admission.stores.sink;
        sink.frontier.robots(host, RobotsAnswer::NoServer, sink.now)?;
        self.pass_rules(admission, key, None)
    }

    /// Nothing follows from the answer, or none came. That holds until the frontier asks again.
    pub(super) fn rules_unreachable(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        origin: Fingerprint,
        duration: Duration,
        retry_after: Option<Duration>,
    ) -> Result<()> {
        admission.books.statistics.robots_unreachable += 1;
        let sink = &mut admission.stores.sink;
        let now = sink.now;
        sink.frontier.robots(host, RobotsAnswer::Unreachable { duration, retry_after }, now)?;
        if let Some(held) = sink.frontier.active().held(host) {
            let since = held.robots_failing_since.unwrap_or(now);
            let term = Term { from: now, until: held.until };
            admission.stores.robots.put(origin, Robots::new(Stored::Unreachable { since }, term))?;
        }
        self.pass_rules(admission, origin, None)
    }

    pub(super) fn robots_not_answered(&mut self, admission: &mut Admission, failed: FetchFailed) -> Result<()> {
        let FetchFailed { job, duration, failure, .. } = failed;
        let Target::Robots { origin, key, redirects, .. } = job.target else { return Ok(()) };
        admission.end_robots(redirects, key, &job.url, duration);
        let is_guess = !admission.books.seeds.guesses_at(&origin)?.is_empty();
        if failure == Failure::PrivateAddress && redirects == 0 && !is_guess {
            // an address as a host: no name server was asked who would have said so before
            let sink = &mut admission.stores.sink;
            sink.frontier.robots(job.host, RobotsAnswer::PrivateAddress, sink.now)?;
            return self.pass_rules(admission, key, None);
        }
        self.robots_failed(admission, job.host, &origin, key, duration)
    }

    /// A request of those that no queue makes brought no answer.
    pub(super) fn prerequisite_not_answered(&mut self, admission: &mut Admission, failed: FetchFailed) -> Result<()> {
        admission.end_prerequisite(&failed.job.url, failed.duration);
        let FetchFailed { job, cause, .. } = failed;
        self.go_without(admission, Failed { host: job.host, target: job.target, url: job.url, cause })
    }

    /// Tells those who wait for a request that nothing comes of it. A redirect that cannot be followed is a robots.txt
    /// that cannot be had.
    pub(super) fn go_without(&mut self, admission: &mut Admission, failed: Failed) -> Result<()> {
        let Failed { host, target, url, cause } = failed;
        match target {
            Target::Robots { key, for_others: true, .. } => return self.end_rules(admission, key, None, None),
            Target::Robots { origin, key, .. } => {
                admission.stores.sink.frontier.active_mut().blame(host, HostFault::RobotsMoved(cause));
                return self.robots_failed(admission, host, &origin, key, Duration::ZERO);
            }
            Target::Login { plan, .. } => self.sessions.login_unanswered(&plan, cause.to_string(), admission),
            Target::Resource { .. } => {
                self.answer_pages(admission, &url, &Answer::Refused(Refusal::Failed(cause.failure())))
            }
            Target::Page { .. } => {}
        }
        Ok(())
    }

    /// A request of those that no queue makes was answered.
    pub(super) fn prerequisite_answered(
        &mut self,
        admission: &mut Admission,
        processed: Processed,
        worker: u32,
    ) -> Result<()> {
        match processed.job.target {
            Target::Resource { .. } => self.resource_answered(admission, processed, worker),
            Target::Login { .. } => self.login_answered(admission, processed, worker),
            _ => self.rules_answered(admission, processed, worker),
        }
    }

    /// A step of a login was answered.
    fn login_answered(&mut self, admission: &mut Admission, processed: Processed, worker: u32) -> Result<()> {
        admission.books.log_answer(&processed, &StoredPage::nothing(0), Some("login"), worker)?;
        admission.end_prerequisite(&processed.job.url, processed.response.duration);
        if let Some(next) = self.sessions.login_answered(processed, admission) {
            self.want(admission, Prerequisite::Login(Box::new(next)));
        }
        Ok(())
    }

    /// Something that pages ask for was answered.
    fn resource_answered(&mut self, admission: &mut Admission, mut processed: Processed, worker: u32) -> Result<()> {
        admission.end_prerequisite(&processed.job.url, processed.response.duration);
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        let keys = processed.keys;
        admission.hold_back(keys.host, &processed.response, false);
        let stored = self.store(admission, &processed)?;
        admission.books.count_stored(&stored);
        admission.books.log_answer(&processed, &stored, Some("forRendering"), worker)?;
        self.renderings.figures.resources += 1;
        let Processed { job, resource, .. } = processed;
        let Target::Resource { provenance, .. } = job.target else { return Ok(()) };
        let answer = resource.map_or(Answer::Refused(Refusal::Failed(Failure::Protocol)), Answer::Got);
        self.answer_pages(admission, &job.url, &answer);
        let of_page = resource_url(&job.url, keys, provenance);
        admission.route_found(&of_page, Findings { redirect: None, ..findings }, false, stored.record)
    }

    /// A robots.txt that was asked for on behalf of others than the queue of its host is answered.
    fn rules_answered(&mut self, admission: &mut Admission, mut processed: Processed, worker: u32) -> Result<()> {
        let (duration, status) = (processed.response.duration, processed.response.status);
        admission.end_prerequisite(&processed.job.url, duration);
        admission.hold_back(processed.keys.host, &processed.response, true);
        let Target::Robots { key, .. } = processed.job.target else { return Ok(()) };
        let note = self.prerequisites.note_of_rules(key);
        admission.books.log_answer(&processed, &StoredPage::nothing(0), note, worker)?;
        let redirect = processed.findings.redirect.take().map(|(target, _)| target);
        if self.follow_robots(admission, &processed, redirect) {
            return Ok(());
        }
        let rules = RobotsRules::of_answer(status, processed.findings.rules.clone());
        // one redirect too many, or one that leads nowhere, counts as "unavailable"
        let rules = rules.or_else(|| (300..400).contains(&status).then(RobotsRules::allow_all));
        self.end_rules(admission, key, rules.map(Arc::new), Some(processed))
    }

    /// Ends a request for rules on behalf of others: the rules of `origin` are known, or cannot be had. Everybody who
    /// waits for them hears of it, the queue of their host first.
    fn end_rules(
        &mut self,
        admission: &mut Admission,
        origin: Fingerprint,
        rules: Option<Arc<RobotsRules>>,
        answer: Option<Processed>,
    ) -> Result<()> {
        let mut waiters = self.prerequisites.take_waiters(origin);
        let queue = waiters.iter().position(|waiter| matches!(waiter, Waiter::Queue(_)));
        let queue = queue.map(|place| waiters.remove(place));
        match (queue, &rules, answer) {
            (Some(Waiter::Queue(host)), Some(_), Some(answer)) => self.take_over(admission, host, answer)?,
            (Some(queue), ..) => self.tell_waiter(admission, origin, queue, None)?,
            (None, rules, answer) => {
                self.prerequisites.keep_rules(origin, rules.as_ref(), answer, admission);
            }
        }
        waiters.into_iter().try_for_each(|waiter| self.tell_waiter(admission, origin, waiter, rules.as_ref()))
    }

    /// The queue of `host` takes over an answer that was asked for on behalf of others, as if it had just come.
    pub(super) fn take_over(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        mut processed: Processed,
    ) -> Result<()> {
        processed.job.host = host;
        let stored = self.store(admission, &processed)?;
        admission.books.count_stored(&stored);
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        self.robots_read(admission, processed, findings, &stored)
    }

    /// Passes what the queue of the host of `origin` has learnt of its rules to those who wait for them too.
    pub(super) fn pass_rules(
        &mut self,
        admission: &mut Admission,
        origin: Fingerprint,
        rules: Option<&Arc<RobotsRules>>,
    ) -> Result<()> {
        let waiters = self.prerequisites.take_waiters(origin);
        waiters.into_iter().try_for_each(|waiter| self.tell_waiter(admission, origin, waiter, rules))
    }

    fn tell_waiter(
        &mut self,
        admission: &mut Admission,
        origin: Fingerprint,
        waiter: Waiter,
        rules: Option<&Arc<RobotsRules>>,
    ) -> Result<()> {
        match waiter {
            Waiter::Prerequisite(wanted) => {
                let (host, now) = (self.host_of(&wanted), admission.stores.sink.now);
                let refused = self.prerequisites.want_by(wanted, host, rules.map(|rules| &**rules), now);
                self.refuse(admission, refused);
                Ok(())
            }
            // an answer that there is was taken over
            Waiter::Queue(host) => self.rules_unreachable(admission, host, origin, Duration::ZERO, None),
        }
    }

    /// Takes in what a login or a page wants to ask for.
    pub(super) fn want(&mut self, admission: &mut Admission, wanted: Prerequisite) {
        let host = self.host_of(&wanted);
        let refused = self.prerequisites.want(wanted, host, admission);
        self.refuse(admission, refused);
    }

    /// The queue of the page for which it is.
    fn host_of(&self, wanted: &Prerequisite) -> HostId {
        match wanted {
            Prerequisite::Login(request) => request.login.host,
            Prerequisite::Page(wanted) => self.renderings.host_of(wanted.rendering),
        }
    }

    fn refuse(&mut self, admission: &mut Admission, refused: Option<Refused>) {
        let Some(Refused { wanted, by }) = refused else { return };
        match wanted {
            Prerequisite::Login(request) => self.sessions.login_forbidden(&request, by, admission),
            Prerequisite::Page(wanted) => self.answer_pages(admission, &wanted.url, &Answer::Refused(Refusal::Robots)),
        }
    }

    /// All pages that wait for `url` get this answer.
    pub(super) fn answer_pages(&mut self, admission: &mut Admission, url: &CanonicalUrl, answer: &Answer) {
        for id in self.renderings.answered(url, answer, admission) {
            self.executors.answer(id, answer.clone());
        }
    }

    /// A page asks for a URL, in a crawl that `is_crawling`, or ends.
    pub(crate) fn page_asks(&mut self, admission: &mut Admission, ask: Ask, is_crawling: bool) -> Result<()> {
        let id = ask.id;
        match self.renderings.judge(ask, is_crawling, admission)? {
            AskVerdict::Refused(refusal) => self.executors.answer(id, Answer::Refused(refusal)),
            AskVerdict::Waits => {}
            AskVerdict::Wanted(wanted) => self.want(admission, Prerequisite::Page(wanted)),
        }
        Ok(())
    }
}
