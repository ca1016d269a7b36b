//! The rules of origins: the request for a robots.txt, and what follows from its answer (RFC 9309).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::container::{Referrer, Stored as StoredPage};
use crate::contract::{FetchFailed, FetchJob, Findings, Processed, RenderWish, Target};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::prerequisites::{Turn, robots_txt};
use crate::engine::values::{Robots, RobotsAnswer as Stored, Term};
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostId, Provenance, RobotsAnswer};
use crate::outcome::{Failure, HostFault};
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// Redirects of a robots.txt that are followed (RFC 9309, section 2.3.1.2).
const ROBOTS_REDIRECTS_MAX: u8 = 5;

impl Engine {
    pub(in crate::engine) fn start_robots(
        &mut self,
        host: HostId,
        origin: &str,
        addresses: Arc<[IpAddr]>,
        provenance: Provenance,
    ) -> Result<()> {
        let url = robots_txt(origin);
        let key = self.admission.home.keys.keys(&url).origin;
        if !self.admission.settings.obeys_robots(url.host()) {
            let rules = Arc::new(RobotsRules::allow_all());
            let expires = self.admission.stores.arrival.now + self.admission.settings.robots_cache;
            return self.tell_rules(host, RobotsAnswer::Rules { rules, expires, duration: Duration::ZERO, bytes: 0 });
        }
        match self.prerequisites.turn_of_queue(key, host, self.admission.stores.arrival.now) {
            Turn::Ask => {}
            Turn::Wait => {
                // the request is made by another, and must find the place that the queue has taken at the host
                let arrival = &mut self.admission.stores.arrival;
                arrival.frontier.robots_moved(host, Duration::ZERO, arrival.now);
                return Ok(());
            }
            Turn::Take(answer) => return self.take_over(host, *answer),
            Turn::Unavailable => return self.rules_unreachable(host, key, Duration::ZERO, None),
        }
        let origin = url.origin().into();
        let target = Target::Robots { origin, key, redirects: 0, provenance, for_others: false };
        self.fetch_robots(host, target, url, addresses, Referrer::Nobody)
    }

    pub(in crate::engine) fn fetch_robots(
        &mut self,
        host: HostId,
        target: Target,
        url: CanonicalUrl,
        addresses: Arc<[IpAddr]>,
        via: Referrer,
    ) -> Result<()> {
        // what a page asks for is archived like a page
        let id_seed = match &target {
            Target::Resource { .. } => self.admission.container.crawl_id(),
            _ => self.requests.id_seed(),
        };
        let (scope, condition) = (self.admission.scope.clone(), None);
        let settings = match &target {
            Target::Robots { origin, .. } if self.admission.settings.sites.is_some() => {
                self.admission.settings.robots_settings(&robots_txt(origin), &url)
            }
            _ => self.admission.settings.request_settings(&url),
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
        self.fetch(job, self.admission.clock.now());
        Ok(())
    }

    pub(super) fn robots_answered(
        &mut self,
        processed: Processed,
        findings: Findings,
        stored: &StoredPage,
    ) -> Result<()> {
        if let Target::Robots { redirects, key, .. } = processed.job.target {
            self.admission.end_robots(redirects, key, &processed.job.url, processed.response.duration);
        }
        let redirect = findings.redirect.as_ref().map(|(target, _)| target.clone());
        match self.follow_robots(&processed, redirect) {
            true => Ok(()),
            false => self.robots_read(processed, findings, stored),
        }
    }

    /// Follows the redirect that a request for robots.txt was answered with, and says whether there was one to follow.
    pub(in crate::engine) fn follow_robots(&mut self, processed: &Processed, redirect: Option<CanonicalUrl>) -> bool {
        let Processed { job, response, .. } = processed;
        let Target::Robots { origin, key, redirects, provenance, for_others } = &job.target else { return false };
        let may_follow = (300..400).contains(&response.status) && *redirects < ROBOTS_REDIRECTS_MAX;
        let Some(target) = redirect.filter(|_| may_follow) else { return false };
        if !for_others {
            let arrival = &mut self.admission.stores.arrival;
            arrival.frontier.robots_moved(job.host, response.duration, arrival.now);
        }
        // the pinned addresses are those of the host that answered
        let addresses = (target.host() == job.url.host()).then(|| job.addresses.clone());
        let provenance = Provenance { hops: provenance.hops.then('R'), ..provenance.clone() };
        // the rules are those of the first origin: a replay knows it by this
        let via = job.via.url().unwrap_or(job.url.as_str()).to_owned();
        let (origin, redirects) = (origin.clone(), redirects + 1);
        let hop = Target::Robots { origin, key: *key, redirects, provenance, for_others: *for_others };
        let now = self.admission.stores.arrival.now;
        self.prerequisites.redirect(job.host, hop, Referrer::Url(via), target, addresses, now);
        true
    }

    /// Takes the rules of an origin from the last answer to the request for its robots.txt.
    pub(in crate::engine) fn robots_read(
        &mut self,
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
        let from = (response.started + duration).min(self.admission.stores.arrival.now);
        let term = Term { from, until: from + self.admission.settings.robots_cache };
        self.admission.stores.arrival.frontier.note_answer(host);
        match RobotsRules::of_answer(response.status, findings.rules) {
            Some(rules) => {
                let politeness =
                    self.admission.stores.arrival.frontier.pacing().politeness_for(robots_txt(&origin).host());
                self.admission.books.tell_crawl_delay(&origin, &rules, &politeness);
                self.rules_known(host, key, Arc::new(rules), term, duration, bytes)?;
                self.admission.books.count_dropped_links(url.as_str(), &findings.dropped);
                self.admission.route_sitemaps(&provenance, stored.record, findings.links)
            }
            // one redirect too many, or one that leads nowhere, counts as "unavailable"
            None if is_redirect => {
                self.rules_known(host, key, Arc::new(RobotsRules::allow_all()), term, duration, bytes)
            }
            None => {
                let fault = HostFault::of_robots(response.status, response.is_interrupted());
                self.admission.stores.arrival.frontier.active_mut().blame(host, fault);
                self.rules_unreachable(host, key, duration, retry_after)
            }
        }
    }

    fn rules_known(
        &mut self,
        host: HostId,
        origin: Fingerprint,
        rules: Arc<RobotsRules>,
        term: Term,
        duration: Duration,
        bytes: u64,
    ) -> Result<()> {
        self.admission.books.statistics.robots_fetched += 1;
        let expires = term.until;
        self.admission.stores.robots.put(origin, Robots::new(Stored::Rules(rules.clone()), term))?;
        self.tell_rules(host, RobotsAnswer::Rules { rules: rules.clone(), expires, duration, bytes })?;
        self.pass_rules(origin, Some(&rules))
    }

    /// The frontier hears the rules of a host, whether they were asked for or not.
    fn tell_rules(&mut self, host: HostId, rules: RobotsAnswer) -> Result<()> {
        let now = self.admission.stores.arrival.now;
        self.admission.stores.arrival.frontier.robots(host, rules, now)
    }

    /// The robots.txt of `origin` brought no answer. Where the origin was only guessed, from seeds without a scheme,
    /// the other guess is tried instead of waiting for this one.
    pub(in crate::engine) fn robots_failed(
        &mut self,
        host: HostId,
        origin: &str,
        key: Fingerprint,
        duration: Duration,
    ) -> Result<()> {
        let guesses = self.admission.books.seeds.guesses_at(origin)?;
        if guesses.is_empty() {
            return self.rules_unreachable(host, key, duration, None);
        }
        for number in guesses {
            let forced = self.admission.books.seeds.waits_in_round(number, self.admission.seeding.round.number);
            self.admission.admit_fallback(number, forced)?;
        }
        let arrival = &mut self.admission.stores.arrival;
        arrival.frontier.robots(host, RobotsAnswer::NoServer, arrival.now)?;
        self.pass_rules(key, None)
    }

    /// Nothing follows from the answer, or none came. That holds until the frontier asks again.
    pub(in crate::engine) fn rules_unreachable(
        &mut self,
        host: HostId,
        origin: Fingerprint,
        duration: Duration,
        retry_after: Option<Duration>,
    ) -> Result<()> {
        self.admission.books.statistics.robots_unreachable += 1;
        let arrival = &mut self.admission.stores.arrival;
        let now = arrival.now;
        arrival.frontier.robots(host, RobotsAnswer::Unreachable { duration, retry_after }, now)?;
        if let Some(held) = arrival.frontier.active().held(host) {
            let since = held.robots_failing_since.unwrap_or(now);
            let term = Term { from: now, until: held.until };
            self.admission.stores.robots.put(origin, Robots::new(Stored::Unreachable { since }, term))?;
        }
        self.pass_rules(origin, None)
    }

    pub(super) fn robots_not_answered(&mut self, failed: FetchFailed, worker: u32) -> Result<()> {
        self.admission.books.statistics.count_failure(failed.failure);
        self.admission.books.log_failure(&failed, failed.failure.code(), worker)?;
        let FetchFailed { job, duration, failure, .. } = failed;
        let Target::Robots { origin, key, redirects, .. } = job.target else { return Ok(()) };
        self.admission.end_robots(redirects, key, &job.url, duration);
        let is_guess = !self.admission.books.seeds.guesses_at(&origin)?.is_empty();
        if failure == Failure::PrivateAddress && redirects == 0 && !is_guess {
            // an address as a host: no name server was asked who would have said so before
            let arrival = &mut self.admission.stores.arrival;
            arrival.frontier.robots(job.host, RobotsAnswer::PrivateAddress, arrival.now)?;
            return self.pass_rules(key, None);
        }
        self.robots_failed(job.host, &origin, key, duration)
    }
}
