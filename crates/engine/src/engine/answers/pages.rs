//! Pages: the request for one, and what follows from its answer.

use std::net::IpAddr;
use std::sync::Arc;

use super::may_have_versions;
use crate::container::Stored as StoredPage;
use crate::contract::{CookieUse, FetchFailed, FetchJob, Findings, Processed, Target};
use crate::disk::Result;
use crate::engine::books::oddity_of;
use crate::engine::login::Entrance;
use crate::engine::prerequisites::Prerequisite;
use crate::engine::recrawl::Compared;
use crate::engine::seeds::SeedStatus;
use crate::engine::session_params::SessionParams;
use crate::engine::{Engine, is_of_seed, queued_url};
use crate::frontier::{Feedback, HostId, Permit, QueuedUrl};
use crate::outcome::{
    HostFault, LAST_ATTEMPT_CODE, Reason, Verdict, blame_of_answer, blame_of_failure, judge_answer, judge_failure,
};

impl Engine {
    pub(in crate::engine) fn start_page(
        &mut self,
        host: HostId,
        mut url: QueuedUrl,
        addresses: Arc<[IpAddr]>,
        permit: Permit,
    ) -> Result<()> {
        let now = self.admission.clock.now();
        url.depth = self.admission.stores.arrival.depths.least(url.key, url.depth);
        if self.admission.stores.arrival.replayed.remove(&(url.key, url.forced)) {
            // stored before the last stop: its page is in the archive and was counted, so the host was not asked
            self.admission.stores.arrival.frontier.withdraw(host, now)?;
            self.admission.stores.arrival.met.iter_mut().for_each(|met| met.push(url.clone()));
            return self.admission.collect_met();
        }
        if self.admission.stores.session_params.copies(&url).is_some() && !SessionParams::is_sample(&url) {
            return self.admission.stores.arrival.turn_back(host, url, Reason::SessionParam, now);
        }
        let at = queued_url(&url.url);
        let settings = self.admission.settings.request_settings(&at);
        let sessions = match self.sessions.enter(settings.as_deref(), host, &url, now) {
            Entrance::Open(sessions) => sessions,
            Entrance::Begin { first, until } => {
                self.want(Prerequisite::Login(first));
                return self.admission.stores.arrival.frontier.put_back(host, until, now);
            }
            Entrance::Wait(until) => return self.admission.stores.arrival.frontier.put_back(host, until, now),
            Entrance::Later(until) => return self.admission.stores.arrival.frontier.put_aside(host, until, now),
            Entrance::Unreached(until) => {
                let frontier = &mut self.admission.stores.arrival.frontier;
                frontier.active_mut().fall_silent(host, HostFault::Login);
                return frontier.put_back(host, until, now);
            }
            Entrance::Shut => return self.admission.stores.arrival.turn_back(host, url, Reason::Login, now),
        };
        let Some(past) = self.admission.begin_visit(&url)? else {
            let arrival = &mut self.admission.stores.arrival;
            (arrival.again, arrival.duplicate) = (arrival.again.saturating_sub(1), arrival.duplicate + 1);
            return arrival.frontier.withdraw(host, now);
        };
        if let Some(status) = self.admission.fetched_in_round(&url)? {
            if is_of_seed(&url) {
                self.admission.books.seeds.set_status(url.seed, SeedStatus::Answered(status))?;
            }
            let arrival = &mut self.admission.stores.arrival;
            (arrival.again, arrival.duplicate) = (arrival.again.saturating_sub(1), arrival.duplicate + 1);
            return arrival.frontier.withdraw(host, now);
        }
        if self.renders() && self.admission.has_as_resource(&url)? {
            let of_embeds = self.admission.scope.is_requisite(url.hops.embeds());
            self.admission.books.statistics.pages_stored += 1;
            self.admission.books.statistics.requisites_stored += u64::from(of_embeds);
            return self.admission.stores.arrival.frontier.withdraw(host, now);
        }
        let mode = self.render_mode(settings.as_deref());
        let render = self.renderings.wish(mode, &url, &self.admission);
        let condition = match &past {
            // what has not changed cannot be rendered; what is embedded hardly is
            _ if render.is_settled() && url.hops.embeds() == 0 => None,
            // conditions are for what is asked by a URL alone
            _ if at.has_request() => None,
            Some(past) => self.admission.condition_of(&url, past)?,
            None if may_have_versions(&url) => self.admission.container.condition(url.key, &url.url)?,
            None => None,
        };
        let job = FetchJob {
            host,
            settings,
            url: at,
            via: self.admission.referrer(url.via),
            target: Target::Page { url, permit },
            addresses,
            scope: self.admission.scope.clone(),
            condition,
            past: past.map(Box::new),
            cookie: None,
            sessions,
            render,
            id_seed: self.admission.container.crawl_id(),
        };
        self.fetch(job, now);
        Ok(())
    }

    pub(super) fn page_answered(
        &mut self,
        processed: Processed,
        findings: Findings,
        compared: Option<Compared>,
        stored: &StoredPage,
    ) -> Result<()> {
        let Processed { job, keys: processed_keys, response, retry_after, records, .. } = processed;
        let keeps_cookies =
            self.admission.settings.settings_of(&job).is_some_and(|settings| settings.cookies != CookieUse::Off);
        // budgets count a page once, however often it is visited, and its bytes when it is found
        let is_new = job.is_new();
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let verdict =
            judge_answer(response.status, response.is_interrupted(), url.attempts, self.admission.settings.retries);
        let has_bytes = is_new || job.past.as_ref().is_some_and(|past| !past.is_found);
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: if has_bytes { records.payload_bytes } else { 0 },
            blame: blame_of_answer(response.status, response.is_interrupted()),
            failure: None,
            retry_after: retry_after.filter(|_| response.speaks_of_load()),
            address: response.address,
            counts_as_page: is_new && verdict != Verdict::Retry,
            may_lower_delay: response.status < 300,
        };
        if verdict == Verdict::Retry {
            self.admission.books.statistics.retries += 1;
            url.attempts = url.attempts.saturating_add(1);
            return self.frontier_done(job.host, &feedback, Some(url));
        }
        let (via, key) = (job.via.url(), processed_keys.key);
        if let Some(oddity) = oddity_of(&job.url, via, &url, &response, keeps_cookies, &findings, key) {
            self.admission.books.tell_oddity(oddity, &job.url);
        }
        let has_changed = compared.as_ref().is_some_and(Compared::has_changed);
        if let Some(compared) = compared {
            self.admission.visited(&url, job.past.as_deref(), compared)?;
        }
        self.admission.page_done(&url, response.status, findings, has_changed, response.address, stored)?;
        self.frontier_done(job.host, &feedback, None)
    }

    /// The site asks for a login or a cookie instead of showing the page, which is asked for again with it.
    pub(super) fn page_turned_away(&mut self, processed: Processed, worker: u32) -> Result<()> {
        let note = if processed.findings.is_logged_out { "sessionLost" } else { "cookieSet" };
        self.admission.books.log_answer(&processed, &StoredPage::nothing(0), Some(note), worker)?;
        let Processed { job, response, .. } = processed;
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: 0,
            blame: blame_of_answer(200, false),
            failure: None,
            retry_after: None,
            address: response.address,
            counts_as_page: false,
            may_lower_delay: false,
        };
        self.admission.books.statistics.retries += 1;
        url.attempts = url.attempts.saturating_add(1);
        self.frontier_done(job.host, &feedback, Some(url))
    }

    /// A page was not answered.
    pub(super) fn page_failed(&mut self, failed: FetchFailed, worker: u32) -> Result<()> {
        let Target::Page { url, .. } = &failed.job.target else { return Ok(()) };
        // a seed that may mean something else is not insisted on
        let retries = if self.admission.books.has_fallback(url)? { 0 } else { self.admission.settings.retries };
        let verdict = judge_failure(failed.failure, url.attempts, retries);
        let is_last_of_many = verdict != Verdict::Retry && url.attempts > 0;
        let code = if is_last_of_many { LAST_ATTEMPT_CODE } else { failed.failure.code() };
        self.admission.books.log_failure(&failed, code, worker)?;
        let FetchFailed { job, failure, cause, started, duration, .. } = failed;
        let is_new = job.is_new();
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let mut feedback = Feedback {
            started,
            duration,
            bytes: 0,
            blame: blame_of_failure(failure),
            failure: Some(failure),
            retry_after: None,
            address: None,
            counts_as_page: false,
            may_lower_delay: false,
        };
        if verdict == Verdict::Retry {
            self.admission.books.statistics.retries += 1;
            url.attempts = url.attempts.saturating_add(1);
            return self.frontier_done(job.host, &feedback, Some(url));
        }
        self.admission.books.statistics.count_failure(failure);
        self.admission.books.statistics.ends.failed += 1;
        // no budget holds back what is due again: it is counted when its first visit is over, whatever that has brought
        feedback.counts_as_page = self.admission.not_visited(&url, job.past.map(|past| *past), started)? && is_new;
        self.admission.seed_failed(&url, cause)?;
        self.frontier_done(job.host, &feedback, None)
    }
}
