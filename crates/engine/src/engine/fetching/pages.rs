//! Pages: the request for one, what follows from its answer, and their way to a browser and back.

use std::net::IpAddr;
use std::sync::Arc;

use super::{Fetching, may_have_versions};
use crate::container::Stored as StoredPage;
use crate::contract::{
    Answer, CookieUse, FetchFailed, FetchJob, Findings, Processed, Refusal, RenderMode, Rendered, RequestSettings,
    Target,
};
use crate::disk::Result;
use crate::engine::admission::Admission;
use crate::engine::books::oddity_of;
use crate::engine::login::Entrance;
use crate::engine::prerequisites::Prerequisite;
use crate::engine::recrawl::Compared;
use crate::engine::rendering::EndedPage;
use crate::engine::seeds::SeedStatus;
use crate::engine::session_params::SessionParams;
use crate::engine::{is_of_seed, queued_url};
use crate::frontier::{Feedback, HostId, Permit, QueuedUrl};
use crate::outcome::{HostFault, LAST_ATTEMPT_CODE, Reason, Verdict, blame_of_answer, blame_of_failure, judge_failure};

impl Fetching {
    pub(super) fn start_page(
        &mut self,
        admission: &mut Admission,
        host: HostId,
        mut url: QueuedUrl,
        addresses: Arc<[IpAddr]>,
        permit: Permit,
    ) -> Result<()> {
        let now = admission.clock.now();
        url.depth = admission.stores.sink.depths.least(url.key, url.depth);
        if admission.stores.sink.replayed.remove(&(url.key, url.forced)) {
            // stored before the last stop: its page is in the archive and was counted, so the host was not asked
            admission.stores.sink.frontier.withdraw(host, now)?;
            admission.stores.sink.met.iter_mut().for_each(|met| met.push(url.clone()));
            return admission.collect_met();
        }
        if admission.stores.session_params.copies(&url).is_some() && !SessionParams::is_sample(&url) {
            return admission.stores.sink.turn_back(host, url, Reason::SessionParam, now);
        }
        if admission.settings.purpose.iter().any(|&usage| permit.preferences().refuses(usage)) {
            return admission.stores.sink.turn_back(host, url, Reason::Purpose, now);
        }
        let at = queued_url(&url.url);
        let settings = admission.settings.request_settings(&at);
        let sessions = match self.sessions.enter(settings.as_deref(), host, &url, now) {
            Entrance::Open(sessions) => sessions,
            Entrance::Begin { first, until } => {
                self.want(admission, Prerequisite::Login(first));
                return admission.stores.sink.frontier.put_back(host, until, now);
            }
            Entrance::Wait(until) => return admission.stores.sink.frontier.put_back(host, until, now),
            Entrance::Later(until) => return admission.stores.sink.frontier.put_aside(host, until, now),
            Entrance::Unreached(until) => {
                let frontier = &mut admission.stores.sink.frontier;
                frontier.active_mut().fall_silent(host, HostFault::Login);
                return frontier.put_back(host, until, now);
            }
            Entrance::Shut => return admission.stores.sink.turn_back(host, url, Reason::Login, now),
        };
        let Some(past) = admission.begin_visit(&url)? else {
            let sink = &mut admission.stores.sink;
            (sink.again, sink.duplicate) = (sink.again.saturating_sub(1), sink.duplicate + 1);
            return sink.frontier.withdraw(host, now);
        };
        if let Some(status) = admission.fetched_in_round(&url)? {
            if is_of_seed(&url) {
                admission.books.seeds.set_status(url.seed, SeedStatus::Answered(status))?;
            }
            let sink = &mut admission.stores.sink;
            (sink.again, sink.duplicate) = (sink.again.saturating_sub(1), sink.duplicate + 1);
            return sink.frontier.withdraw(host, now);
        }
        if self.renders(admission) && admission.has_as_resource(&url)? {
            let of_embeds = admission.scope.is_requisite(url.hops.embeds());
            admission.books.statistics.pages_stored += 1;
            admission.books.statistics.requisites_stored += u64::from(of_embeds);
            return admission.stores.sink.frontier.withdraw(host, now);
        }
        let mode = self.render_mode(admission, settings.as_deref());
        let render = self.renderings.wish(mode, &url, admission);
        let condition = match &past {
            // what has not changed cannot be rendered; what is embedded hardly is
            _ if render.is_settled() && url.hops.embeds() == 0 => None,
            // conditions are for what is asked by a URL alone
            _ if at.has_request() => None,
            Some(past) => admission.condition_of(&url, past)?,
            None if may_have_versions(&url) => admission.container.condition(url.key, &url.url)?,
            None => None,
        };
        let job = FetchJob {
            host,
            settings,
            url: at,
            via: admission.referrer(url.via),
            target: Target::Page { url, permit },
            addresses,
            scope: admission.scope.clone(),
            condition,
            past: past.map(Box::new),
            cookie: None,
            sessions,
            render,
            id_seed: admission.container.crawl_id(),
        };
        self.fetch(admission, job, now);
        Ok(())
    }

    pub(super) fn page_answered(
        &mut self,
        admission: &mut Admission,
        processed: Processed,
        findings: Findings,
        compared: Option<Compared>,
        stored: &StoredPage,
    ) -> Result<()> {
        let Processed { job, keys: processed_keys, response, retry_after, records, .. } = processed;
        let keeps_cookies =
            admission.settings.settings_of(&job).is_some_and(|settings| settings.cookies != CookieUse::Off);
        // budgets count a page once, however often it is visited, and its bytes when it is found
        let is_new = job.is_new();
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let (answered, retries) = (response.answered(), &admission.settings.retries);
        let verdict = retries.verdict(&answered, url.attempts);
        let has_bytes = is_new || job.past.as_ref().is_some_and(|past| !past.is_found);
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: if has_bytes { records.payload_bytes } else { 0 },
            blame: retries.blame(&answered),
            is_turned_away: retries.is_turned_away(&answered),
            failure: None,
            retry_after: retry_after.filter(|_| response.speaks_of_load() || retries.is_turned_away(&answered)),
            address: response.address,
            counts_as_page: is_new && verdict != Verdict::Retry,
            may_lower_delay: response.status < 300 && response.kind().is_none(),
        };
        if verdict == Verdict::Retry {
            admission.books.statistics.retries += 1;
            url.attempts = url.attempts.saturating_add(1);
            return self.frontier_done(admission, job.host, &feedback, Some(url));
        }
        let (via, key) = (job.via.url(), processed_keys.key);
        if let Some(oddity) = oddity_of(&job.url, via, &url, &response, keeps_cookies, &findings, key) {
            admission.books.tell_oddity(oddity, &job.url);
        }
        let has_changed = compared.as_ref().is_some_and(Compared::has_changed);
        if let Some(compared) = compared {
            admission.visited(&url, job.past.as_deref(), compared)?;
        }
        admission.page_done(&url, response.status, findings, has_changed, response.address, stored)?;
        self.frontier_done(admission, job.host, &feedback, None)
    }

    /// The site asks for a login or a cookie instead of showing the page, which is asked for again with it.
    pub(super) fn page_turned_away(
        &mut self,
        admission: &mut Admission,
        processed: Processed,
        worker: u32,
    ) -> Result<()> {
        let note = if processed.findings.is_logged_out { "sessionLost" } else { "cookieSet" };
        admission.books.log_answer(&processed, &StoredPage::nothing(0), Some(note), worker)?;
        let Processed { job, response, .. } = processed;
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: 0,
            blame: blame_of_answer(200, false),
            is_turned_away: false,
            failure: None,
            retry_after: None,
            address: response.address,
            counts_as_page: false,
            may_lower_delay: false,
        };
        admission.books.statistics.retries += 1;
        url.attempts = url.attempts.saturating_add(1);
        self.frontier_done(admission, job.host, &feedback, Some(url))
    }

    /// A page was not answered.
    pub(super) fn page_failed(&mut self, admission: &mut Admission, failed: FetchFailed, worker: u32) -> Result<()> {
        let Target::Page { url, .. } = &failed.job.target else { return Ok(()) };
        // a seed that may mean something else is not insisted on
        let retries = if admission.books.has_fallback(url)? { 0 } else { admission.settings.retries.usual };
        let verdict = judge_failure(failed.failure, url.attempts, retries);
        let is_last_of_many = verdict != Verdict::Retry && url.attempts > 0;
        let code = if is_last_of_many { LAST_ATTEMPT_CODE } else { failed.failure.code() };
        admission.books.log_failure(&failed, code, worker)?;
        let FetchFailed { job, failure, cause, started, duration, .. } = failed;
        let is_new = job.is_new();
        let Target::Page { mut url, .. } = job.target else { return Ok(()) };
        let mut feedback = Feedback {
            started,
            duration,
            bytes: 0,
            blame: blame_of_failure(failure),
            is_turned_away: false,
            failure: Some(failure),
            retry_after: None,
            address: None,
            counts_as_page: false,
            may_lower_delay: false,
        };
        if verdict == Verdict::Retry {
            admission.books.statistics.retries += 1;
            url.attempts = url.attempts.saturating_add(1);
            return self.frontier_done(admission, job.host, &feedback, Some(url));
        }
        admission.books.statistics.count_failure(failure);
        admission.books.statistics.ends.failed += 1;
        // no budget holds back what is due again: it is counted when its first visit is over, whatever that has brought
        feedback.counts_as_page = admission.not_visited(&url, job.past.map(|past| *past), started)? && is_new;
        admission.seed_failed(&url, cause)?;
        self.frontier_done(admission, job.host, &feedback, None)
    }

    /// Returns which pages of a site are rendered whose requests are made with `settings`.
    pub(super) fn render_mode(&self, admission: &Admission, settings: Option<&RequestSettings>) -> RenderMode {
        match self.renders(admission) {
            true => settings.map_or(admission.settings.rendering.mode, |settings| settings.rendering),
            false => RenderMode::Off,
        }
    }

    /// True if any page may be rendered.
    pub(super) fn renders(&self, admission: &Admission) -> bool {
        admission.settings.rendering.is_on && self.executors.can_render()
    }

    /// True if a page may be begun, as far as renderings go.
    pub(crate) fn has_room_to_render(&self, admission: &Admission) -> bool {
        !self.renders(admission) || self.renderings.has_room(admission.settings.rendering.pages)
    }

    /// An answer came whose page is to be rendered before it is stored, in a crawl that `is_crawling`, or ends.
    pub(super) fn begin_rendering(
        &mut self,
        admission: &mut Admission,
        processed: Processed,
        worker: u32,
        is_crawling: bool,
    ) -> Result<()> {
        let now = admission.stores.sink.now;
        let host = processed.job.host;
        if !matches!(processed.job.target, Target::Page { .. }) {
            return Ok(());
        }
        if !is_crawling {
            // it would not end in time
            self.requests.end_page(&processed.job);
            return admission.stores.sink.frontier.put_back(host, now, now);
        }
        let response = &processed.response;
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: 0,
            blame: blame_of_answer(response.status, false),
            is_turned_away: false,
            failure: None,
            retry_after: None,
            address: response.address,
            counts_as_page: false,
            may_lower_delay: response.status < 300,
        };
        admission.stores.sink.frontier.received(host, &feedback, now);
        let job = self.renderings.begin(processed, worker, &admission.home.keys);
        job.into_iter().for_each(|job| self.executors.render(job));
        Ok(())
    }

    /// A rendering has ended as `rendered` says, of the page that `processed` asked for; the worker that fetched it, or
    /// nothing where the page is to be asked for again.
    pub(super) fn end_rendering(
        &mut self,
        admission: &mut Admission,
        processed: &Processed,
        rendered: &Rendered,
        is_crawling: bool,
    ) -> Result<Option<u32>> {
        let holds_still = !is_crawling || self.requests.is_paused();
        let ended = self.renderings.end(processed, rendered, holds_still, &admission.home.keys);
        if !matches!(ended.page, EndedPage::Unknown) {
            self.requests.end_page(&processed.job);
        }
        ended.jobs.into_iter().for_each(|job| self.executors.render(job));
        match ended.page {
            EndedPage::Stored(worker) => Ok(Some(worker)),
            EndedPage::PutOff(host) => {
                admission.stores.sink.frontier.put_off(host, admission.stores.sink.now)?;
                Ok(None)
            }
            EndedPage::Unknown => Ok(None),
        }
    }

    /// The crawl stops: no rendering goes on.
    pub(crate) fn give_up_renderings(&mut self, admission: &mut Admission) -> Result<()> {
        if self.renderings.are_none() {
            return Ok(());
        }
        let now = admission.stores.sink.now;
        for abandoned in self.renderings.give_up() {
            self.requests.end_page(&abandoned.processed.job);
            admission.stores.sink.frontier.put_off(abandoned.host, now)?;
        }
        for url in self.prerequisites.leave_pages() {
            self.answer_pages(admission, &url, &Answer::Refused(Refusal::Stopping));
        }
        Ok(())
    }
}
