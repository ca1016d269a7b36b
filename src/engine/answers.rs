//! What the network answered: pages, rules, addresses, failures.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::admission::Parent;
use super::books::oddity_of;
use super::job::{FetchFailed, FetchJob, Findings, Processed, ResolveJob, Target, Unresolved};
use super::seeds::SeedStatus;
use super::values::{Addresses, Robots, RobotsAnswer as Stored, Term};
use super::{Engine, is_of_seed, queued_url};
use crate::clock::Time;
use crate::container::{KeyRecord, NewPage, Referrer, Stored as StoredPage};
use crate::disk::Result;
use crate::fingerprint::Fingerprint;
use crate::frontier::{Asker, Feedback, HostId, Knock, NameAnswer, Permit, QueuedUrl, RobotsAnswer};
use crate::outcome::{
    Cause, Failure, HostFault, Verdict, blame_of_answer, blame_of_failure, failure_of_answer, judge_answer,
    judge_failure,
};
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const ROBOTS_REDIRECTS_MAX: u8 = 5;
/// A failure of the name servers is not remembered for longer (RFC 2308, section 7).
const UNANSWERED_MAX: Duration = Duration::from_secs(5 * 60);

impl Engine {
    pub(super) fn start_page(
        &mut self,
        host: HostId,
        url: QueuedUrl,
        addresses: Arc<[IpAddr]>,
        permit: Permit,
    ) -> Result<()> {
        let now = self.clock.now();
        if self.way.arrival().replayed.remove(&(url.key, url.forced)) {
            // stored before the last stop: its page is in the archive and was counted, so the host was not asked
            return self.way.arrival().frontier.withdraw(host, now);
        }
        if let Some(status) = self.fetched_in_round(&url)? {
            if is_of_seed(&url) {
                self.books.seeds.set_status(url.seed, SeedStatus::Answered(status))?;
            }
            let arrival = self.way.arrival();
            (arrival.again, arrival.duplicate) = (arrival.again.saturating_sub(1), arrival.duplicate + 1);
            return arrival.frontier.withdraw(host, now);
        }
        let condition = if may_have_versions(&url) { self.container.condition(url.key, &url.url)? } else { None };
        let job = FetchJob {
            host,
            url: queued_url(&url.url),
            via: url.via.checked_sub(1).map(|record| self.container.referrer(record)).unwrap_or_default(),
            target: Target::Page { url, permit },
            addresses,
            scope: self.scope.clone(),
            condition,
            id_seed: self.container.crawl_id(),
        };
        self.fetch(job, now);
        Ok(())
    }

    pub(super) fn start_robots(
        &mut self,
        host: HostId,
        origin: &str,
        addresses: Arc<[IpAddr]>,
        asker: Asker,
    ) -> Result<()> {
        let url = CanonicalUrl::parse(&format!("{origin}/robots.txt")).expect("an origin makes a URL");
        let key = self.keys.keys(&url).origin;
        if !self.settings.obey_robots {
            let rules = Arc::new(RobotsRules::allow_all());
            return self.rules_known(host, key, rules, Duration::ZERO, 0);
        }
        let target = Target::Robots { origin: url.origin().into(), key, redirects: 0, asker };
        self.fetch_robots(host, target, url, addresses, Referrer::Nobody)
    }

    pub(super) fn fetch_robots(
        &mut self,
        host: HostId,
        target: Target,
        url: CanonicalUrl,
        addresses: Arc<[IpAddr]>,
        via: Referrer,
    ) -> Result<()> {
        let id_seed = self.requests.id_seed();
        let (scope, condition) = (self.scope.clone(), None);
        let job = FetchJob { host, target, url, addresses, scope, via, condition, id_seed };
        self.fetch(job, self.clock.now());
        Ok(())
    }

    /// A request begins, in the place that suits its host.
    fn fetch(&mut self, job: FetchJob, now: Time) {
        let knock = self.way.arrival().frontier.knock_of(job.host);
        self.requests.begin_fetch(&job, knock, now);
        self.executors.fetch(job);
    }

    /// An answer came and was processed.
    pub(super) fn answered(&mut self, mut processed: Processed) -> Result<()> {
        let worker = self.requests.end_fetch(&processed.job);
        self.books.count_request(processed.response.duration);
        let bytes = processed.records.payload_bytes;
        self.books.statistics.bytes_received += bytes;
        // what was cut for being slow must not make that usual
        let usual = processed.response.truncated.is_none().then_some(processed.response.duration);
        self.requests.answered(bytes, usual);
        let stored = self.store(&processed)?;
        self.books.count_stored(&stored);
        self.books.log_answer(&processed, &stored, worker)?;
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        match &processed.job.target {
            Target::Page { .. } => self.page_answered(processed, findings, &stored),
            Target::Robots { redirects, .. } => {
                // a redirect leads to the address of another host
                if let Some(address) = processed.response.address.filter(|_| *redirects == 0) {
                    let (host, started) = (processed.job.host, processed.response.started);
                    let arrival = self.way.arrival();
                    arrival.frontier.answered_from(host, address, started, arrival.now);
                }
                self.robots_answered(processed, findings, &stored)
            }
        }
    }

    fn store(&mut self, processed: &Processed) -> Result<StoredPage> {
        if let Some(stored) = self.stored_before(processed)? {
            return Ok(stored);
        }
        let response = &processed.response;
        let (robots, may_have_versions) = match &processed.job.target {
            Target::Page { url, .. } => (false, may_have_versions(url)),
            Target::Robots { .. } => (true, true),
        };
        self.container.append(&NewPage {
            url: processed.job.url.as_str(),
            key: processed.keys.key,
            status: response.status,
            time: response.started,
            mime: &processed.mime,
            robots,
            payload_sha1: processed.records.payload_sha1,
            payload_bytes: processed.records.payload_bytes,
            records: &processed.records.bytes,
            response: processed.records.response.clone(),
            revisit: processed.records.revisit.as_ref(),
            truncated: response.truncated.is_some(),
            may_have_versions,
            condition: processed.job.condition.as_ref().map(|condition| condition.payload_at),
        })
    }

    /// A body that was interrupted is stored once, and again only where an attempt brought more of it: what is stored then
    /// stands for this answer too.
    fn stored_before(&self, processed: &Processed) -> Result<Option<StoredPage>> {
        let response = &processed.response;
        let Target::Page { url, .. } = &processed.job.target else { return Ok(None) };
        if url.attempts == 0 || !response.is_interrupted() {
            return Ok(None);
        }
        let newest = self.container.newest(url.key, &url.url)?;
        let covers = newest.filter(|before| {
            let of_round = !url.forced || before.offset >= self.round.from;
            let alike = before.truncated && before.status == response.status && !before.robots;
            of_round && alike && before.payload_bytes >= processed.records.payload_bytes
        });
        let stored =
            |before: KeyRecord| StoredPage { record: before.offset, bytes: 0, saved: None, not_modified: false };
        Ok(covers.map(stored))
    }

    fn page_answered(&mut self, processed: Processed, findings: Findings, stored: &StoredPage) -> Result<()> {
        let Processed { job, keys: processed_keys, response, retry_after, records, .. } = processed;
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let verdict = judge_answer(response.status, response.is_interrupted(), url.attempts, self.settings.retries);
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: records.payload_bytes,
            verdict,
            blame: blame_of_answer(response.status, response.is_interrupted()),
            failure: None,
            retry_after: retry_after.filter(|_| speaks_of_load(response.status)),
            address: response.address,
            counts_as_page: verdict != Verdict::Retry,
            may_lower_delay: response.status < 300,
        };
        if verdict == Verdict::Retry {
            self.books.statistics.retries += 1;
            url.attempts = url.attempts.saturating_add(1);
            return self.frontier_done(job.host, &feedback, Some(url));
        }
        if let Some(oddity) = oddity_of((&job.url, job.via.url()), &url, &response, &findings, processed_keys.key) {
            self.books.tell_oddity(oddity, &job.url);
        }
        self.page_done(&url, response.status, findings, stored)?;
        self.frontier_done(job.host, &feedback, None)
    }

    /// The page of `url` is in the archive: it is counted, and what it names is admitted.
    pub(super) fn page_done(
        &mut self,
        url: &QueuedUrl,
        status: u16,
        findings: Findings,
        stored: &StoredPage,
    ) -> Result<()> {
        self.books.statistics.pages_stored += 1;
        self.books.statistics.refetched += u64::from(url.forced);
        self.books.statistics.count_status(status);
        self.books.statistics.depth_max = self.books.statistics.depth_max.max(url.depth);
        let failure = failure_of_answer(status, stored.not_modified);
        if let Some(failure) = failure {
            self.books.statistics.count_failure(failure);
        }
        if is_of_seed(url) {
            let failed = failure.map(|failure| SeedStatus::Failed(failure.to_string()));
            self.books.seeds.set_status(url.seed, failed.unwrap_or(SeedStatus::Answered(status)))?;
        }
        self.admit_found(url, findings, stored.record)
    }

    /// Admits what a page names whose record lies at `record` of key.dat.
    pub(super) fn admit_found(&mut self, url: &QueuedUrl, findings: Findings, record: u64) -> Result<()> {
        let parent = Parent { url, record };
        if let Some((target, keys)) = findings.redirect {
            self.books.statistics.links_found += 1;
            self.admit_redirect(&parent, &target, keys)?;
        }
        if let Some(sitemap) = findings.sitemap {
            self.books.statistics.count_sitemap(sitemap.urls, sitemap.dropped);
        }
        self.books.count_dropped_links(&url.url, &findings.dropped);
        self.way.store.anticipate(findings.links.iter().map(|link| link.keys.key));
        for link in findings.links {
            self.books.statistics.links_found += 1;
            self.admit_link(&parent, link)?;
        }
        Ok(())
    }

    fn robots_answered(&mut self, processed: Processed, findings: Findings, stored: &StoredPage) -> Result<()> {
        let Processed { job, response, records, retry_after, .. } = processed;
        let FetchJob { host, target, url, addresses, via, .. } = job;
        let Target::Robots { origin, key, redirects, asker } = target else { return Ok(()) };
        let (duration, bytes) = (response.duration, records.payload_bytes);
        let is_redirect = (300..400).contains(&response.status);
        let follow = is_redirect && redirects < ROBOTS_REDIRECTS_MAX;
        self.end_hop(redirects, key, &url, duration);
        if let Some((target, _)) = findings.redirect.filter(|_| follow) {
            // the pinned addresses are those of the host that answered
            let addresses = (target.host() == url.host()).then_some(addresses);
            let asker = Asker { hops: asker.hops.then('R'), ..asker };
            // the rules are those of the first origin: a replay knows it by this
            let via = via.url().unwrap_or(url.as_str()).to_owned();
            let hop = Target::Robots { origin, key, redirects: redirects + 1, asker };
            self.add_hop(host, (hop, via), target, addresses, duration);
            return Ok(());
        }
        self.way.arrival().frontier.heard(host);
        match rules_of(response.status, findings.rules) {
            Some(rules) => {
                let politeness = self.way.arrival().frontier.politeness();
                self.books.tell_crawl_delay(&origin, &rules, politeness);
                self.rules_known(host, key, Arc::new(rules), duration, bytes)?;
                self.books.count_dropped_links(url.as_str(), &findings.dropped);
                self.admit_sitemaps(&asker, stored.record, findings.links)
            }
            // one redirect too many, or one that leads nowhere, counts as "unavailable"
            None if is_redirect => self.rules_known(host, key, Arc::new(RobotsRules::allow_all()), duration, bytes),
            None => {
                self.way.arrival().frontier.blame(host, HostFault::RobotsStatus(response.status));
                self.rules_unreachable(host, key, duration, retry_after)
            }
        }
    }

    fn rules_known(
        &mut self,
        host: HostId,
        origin: Fingerprint,
        rules: Arc<RobotsRules>,
        duration: Duration,
        bytes: u64,
    ) -> Result<()> {
        let now = self.way.arrival().now;
        let expires = now + self.settings.robots_cache;
        if self.settings.obey_robots {
            self.books.statistics.robots_fetched += 1;
            let term = Term { from: now, until: expires };
            self.way.next.store.put(origin, Robots::new(Stored::Rules(rules.clone()), term))?;
        }
        self.way.arrival().frontier.robots(host, RobotsAnswer::Rules { rules, expires, duration, bytes }, now)
    }

    /// The robots.txt of `origin` brought no answer. Where the origin was only guessed, from seeds without a scheme, the
    /// other guess is tried instead of waiting for this one.
    pub(super) fn robots_failed(
        &mut self,
        host: HostId,
        origin: &str,
        key: Fingerprint,
        duration: Duration,
    ) -> Result<()> {
        let guesses = self.books.seeds.guesses_at(origin)?;
        if guesses.is_empty() {
            return self.rules_unreachable(host, key, duration, None);
        }
        for number in guesses {
            let forced = self.books.seeds.waits_in_round(number, self.round.number);
            self.admit_fallback(number, forced)?;
        }
        let arrival = self.way.arrival();
        arrival.frontier.robots(host, RobotsAnswer::NoServer, arrival.now)
    }

    /// Nothing follows from the answer, or none came. That holds until the frontier asks again.
    fn rules_unreachable(
        &mut self,
        host: HostId,
        origin: Fingerprint,
        duration: Duration,
        retry_after: Option<Duration>,
    ) -> Result<()> {
        self.books.statistics.robots_unreachable += 1;
        let arrival = self.way.arrival();
        let now = arrival.now;
        arrival.frontier.robots(host, RobotsAnswer::Unreachable { duration, retry_after }, now)?;
        let Some(held) = arrival.frontier.held(host) else { return Ok(()) };
        let since = held.robots_failing_since.unwrap_or(now);
        let term = Term { from: now, until: held.until };
        self.way.next.store.put(origin, Robots::new(Stored::Unreachable { since }, term))
    }

    /// An attempt brought no answer.
    pub(super) fn failed(&mut self, failed: FetchFailed) -> Result<()> {
        let worker = self.requests.end_fetch(&failed.job);
        if failed.cause.is_contact() {
            self.books.count_request(failed.duration);
        }
        let moved = matches!(failed.job.target, Target::Robots { redirects: 1.., .. });
        let blame = if moved { HostFault::RobotsMoved(failed.cause) } else { HostFault::Host(failed.cause) };
        self.way.arrival().frontier.blame(failed.job.host, blame);
        tracing::debug!(url = failed.job.url.as_str(), failure = %failed.failure, detail = failed.detail, "no answer");
        let Target::Page { url, .. } = &failed.job.target else {
            return self.robots_not_answered(failed, worker);
        };
        // a seed that may mean something else is not insisted on
        let retries = if self.has_fallback(url)? { 0 } else { self.settings.retries };
        let verdict = judge_failure(failed.failure, url.attempts, retries);
        let is_last_of_many = verdict != Verdict::Retry && url.attempts > 0;
        self.books.log_failure(&failed, if is_last_of_many { -8 } else { failed.failure.code() }, worker)?;
        let FetchFailed { job, failure, cause, started, duration, .. } = failed;
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let feedback = Feedback {
            started,
            duration,
            bytes: 0,
            verdict,
            blame: blame_of_failure(failure),
            failure: Some(failure),
            retry_after: None,
            address: None,
            counts_as_page: false,
            may_lower_delay: false,
        };
        if verdict == Verdict::Retry {
            self.books.statistics.retries += 1;
            url.attempts = url.attempts.saturating_add(1);
            return self.frontier_done(job.host, &feedback, Some(url));
        }
        self.books.statistics.count_failure(failure);
        self.books.statistics.ends.failed += 1;
        self.seed_failed(&url, cause)?;
        self.frontier_done(job.host, &feedback, None)
    }

    fn robots_not_answered(&mut self, failed: FetchFailed, worker: u32) -> Result<()> {
        self.books.statistics.count_failure(failed.failure);
        self.books.log_failure(&failed, failed.failure.code(), worker)?;
        let FetchFailed { job, duration, failure, .. } = failed;
        let Target::Robots { origin, key, redirects, .. } = job.target else { return Ok(()) };
        self.end_hop(redirects, key, &job.url, duration);
        let is_guess = !self.books.seeds.guesses_at(&origin)?.is_empty();
        if failure == Failure::PrivateAddress && redirects == 0 && !is_guess {
            // an address as a host: no name server was asked who would have said so before
            let arrival = self.way.arrival();
            return arrival.frontier.robots(job.host, RobotsAnswer::PrivateAddress, arrival.now);
        }
        self.robots_failed(job.host, &origin, key, duration)
    }

    fn seed_failed(&mut self, url: &QueuedUrl, cause: Cause) -> Result<()> {
        if url.hops.as_str().is_empty() {
            self.books.seeds.set_status(url.seed, SeedStatus::Failed(cause.to_string()))?;
            if self.has_fallback(url)? {
                self.admit_fallback(url.seed, url.forced)?;
            }
        }
        Ok(())
    }

    fn frontier_done(&mut self, host: HostId, feedback: &Feedback, again: Option<QueuedUrl>) -> Result<()> {
        let arrival = self.way.arrival();
        arrival.frontier.done(host, feedback, again, arrival.now)
    }

    /// A name is to be resolved: by the name servers, unless the answer that another origin of the name got still holds.
    pub(super) fn start_resolve(&mut self, host: HostId, name: Box<str>) -> Result<()> {
        let stored = self.way.next.next.store.peek(self.keys.of(&name));
        let arrival = self.way.arrival();
        match stored.as_ref().and_then(|stored| stored.fresh_since(arrival.now, arrival.anew)) {
            Some((NameAnswer::Unanswered, until)) => arrival.frontier.defer(host, until, arrival.now),
            Some((answer, until)) => arrival.frontier.resolved(host, answer.clone(), until, arrival.now)?,
            None => {
                self.requests.begin(host, Knock::Known, self.clock.now());
                self.executors.resolve(ResolveJob { host, name });
            }
        }
        Ok(())
    }

    /// The name servers answered.
    pub(super) fn resolved(
        &mut self,
        host: HostId,
        name: &str,
        answer: std::result::Result<(Arc<[IpAddr]>, Time), Unresolved>,
    ) -> Result<()> {
        let worker = self.requests.end(host);
        match &answer {
            Ok(_) => self.books.statistics.dns_resolved += 1,
            Err(Unresolved { failure, cause, .. }) => {
                self.way.arrival().frontier.blame(host, HostFault::Host(*cause));
                self.books.statistics.dns_failed += 1;
                self.books.statistics.count_failure(*failure);
                self.books.log_unresolved(self.way.arrival().now, name, *failure, worker)?;
            }
        }
        let now = self.way.arrival().now;
        self.hop_resolved(host, answer.as_ref().map(|(list, _)| list).map_err(|unresolved| unresolved.cause))?;
        let (answer, mut until) = match answer {
            Ok((addresses, expires)) => (NameAnswer::Found(addresses), expires),
            Err(Unresolved { failure, valid_for, .. }) => {
                let negative_ttl = self.settings.negative_ttl;
                let holds = now + valid_for.map_or(negative_ttl, |holds| holds.min(negative_ttl));
                match failure {
                    Failure::NoSuchHost => (NameAnswer::NoSuchHost, holds),
                    Failure::PrivateAddress => (NameAnswer::PrivateAddress, holds),
                    _ => (NameAnswer::Unanswered, holds.min(now + UNANSWERED_MAX)),
                }
            }
        };
        self.way.arrival().frontier.resolved(host, answer.clone(), until, now)?;
        if answer == NameAnswer::Unanswered
            && let Some(held) = self.way.arrival().frontier.held(host)
        {
            until = until.min(held.until);
        }
        self.way.next.next.store.put(self.keys.of(name), Addresses::new(answer, Term { from: now, until }))
    }
}

/// The rules that follow from an answer to a request for robots.txt (RFC 9309, section 2.3.1): 2xx brings them, 4xx
/// means that there are none. `None` where nothing follows: 5xx, and 429, which speaks of load; redirects; and a file that
/// broke off, of which nobody knows what it would have forbidden.
pub(super) fn rules_of(status: u16, found: Option<RobotsRules>) -> Option<RobotsRules> {
    match status {
        200..300 => found,
        429 => None,
        400..500 => Some(RobotsRules::allow_all()),
        _ => None,
    }
}

/// Whether `Retry-After` in an answer of `status` speaks of the server's load: with a redirect or a page it speaks of
/// something else.
pub(super) fn speaks_of_load(status: u16) -> bool {
    status == 429 || status >= 500
}

/// Whether the archive may have versions of `url`: URL-seen lets a page through once, unless it is forced; and what is
/// tried again may have been answered before.
fn may_have_versions(url: &QueuedUrl) -> bool {
    url.forced || url.attempts > 0
}
