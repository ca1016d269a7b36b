//! A page on its way through a rendering: how it begins, and how it ends.

use super::decide::{Decision, Trials};
use super::shape::Patterns;
use super::{InProgress, Renderings};
use crate::container::KeyRecord;
use crate::contract::{
    Processed, Refusal, RenderJob, RenderMode, RenderWish, RenderWork, Rendered, RequestSettings, Target,
};
use crate::disk::Result;
use crate::engine::{Engine, queued_url};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Feedback, Provenance, QueuedUrl};
use crate::outcome::blame_of_answer;

impl Engine {
    /// Returns which pages of a site are rendered whose requests are made with `settings`.
    pub(in crate::engine) fn render_mode(&self, settings: Option<&RequestSettings>) -> RenderMode {
        match self.renders() {
            true => settings.map_or(self.admission.settings.rendering.mode, |settings| settings.rendering),
            false => RenderMode::Off,
        }
    }

    /// True if any page may be rendered.
    pub(in crate::engine) fn renders(&self) -> bool {
        self.admission.settings.rendering.is_on && self.executors.can_render()
    }

    /// Returns whether the page of `url` is to be rendered, whose request is made with `settings`.
    pub(in crate::engine) fn render_wish(&mut self, settings: Option<&RequestSettings>, url: &QueuedUrl) -> RenderWish {
        // what is embedded from elsewhere is no page of its own
        match self.render_mode(settings) {
            _ if url.hops.embeds() > 0 && !self.admission.scope.takes_in(&queued_url(&url.url)) => RenderWish::No,
            RenderMode::Off => RenderWish::No,
            RenderMode::Always => RenderWish::Always,
            RenderMode::Needed => self.renderings.patterns.wish(&self.admission.home.keys, url.origin, &url.url),
        }
    }

    /// True if a page may be begun, as far as renderings go.
    pub(in crate::engine) fn has_room_to_render(&self) -> bool {
        !self.renders() || self.renderings.has_room(self.admission.settings.rendering.pages)
    }

    /// An answer came whose page is to be rendered before it is stored.
    pub(in crate::engine) fn begin_rendering(&mut self, mut processed: Processed, worker: u32) -> Result<()> {
        let now = self.admission.stores.arrival.now;
        let Target::Page { url, .. } = &processed.job.target else { return Ok(()) };
        let host = processed.job.host;
        if !self.course.is_crawling() {
            // it would not end in time
            self.requests.end_page(&processed.job);
            return self.admission.stores.arrival.frontier.put_back(host, now, now);
        }
        let response = &processed.response;
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: 0,
            blame: blame_of_answer(response.status, false),
            failure: None,
            retry_after: None,
            address: response.address,
            counts_as_page: false,
            may_lower_delay: response.status < 300,
        };
        self.admission.stores.arrival.frontier.received(host, &feedback, now);
        let number = self.renderings.next;
        let bytes = response.body.len();
        let in_progress = InProgress {
            host,
            domain: url.domain,
            url: processed.job.url.as_str().to_owned(),
            provenance: Provenance { depth: url.depth, seed: url.seed, hops: url.hops.then('E') },
            worker,
            bytes,
            asked: 0,
            open: 0,
            trial: None,
            origin: url.origin,
            is_given_up: false,
        };
        self.renderings.next += 1;
        self.renderings.bytes += bytes;
        self.renderings.pages.insert(number, in_progress);
        // other answers may need its place, and among them what the page will ask for
        processed.permits = Default::default();
        self.decide_rendering(number, Box::new(processed), false);
        Ok(())
    }

    /// A page that is to be rendered goes to a browser, waits for what comes of another one of its pattern, or is
    /// stored as it was served, by what is known now.
    fn decide_rendering(&mut self, number: u64, processed: Box<Processed>, has_waited: bool) {
        let Target::Page { url, .. } = &processed.job.target else { return };
        let patterns = Patterns::of(&self.admission.home.keys, url.origin, &url.url);
        let renderings = &mut self.renderings;
        let shown = processed.findings.shown.unwrap_or_default();
        let decision = match processed.job.render.is_settled() {
            true => Decision::Render,
            false => {
                let trials = renderings.trials_beside(url.origin);
                renderings.patterns.decide(&patterns, url.origin, &shown, trials, has_waited)
            }
        };
        let waits_for = match decision {
            Decision::Try => Some(patterns.closest),
            Decision::Wait => renderings.any_trial(url.origin),
            Decision::Render | Decision::AsServed => None,
        };
        if let Some(waiting) = waits_for.and_then(|pattern| renderings.trials.get_mut(&pattern)) {
            waiting.push((number, processed));
            return;
        }
        if decision == Decision::Try {
            renderings.trials.insert(patterns.closest, Vec::new());
            renderings.pages.get_mut(&number).into_iter().for_each(|page| page.trial = Some(patterns.closest));
        }
        let work = match decision {
            Decision::Render | Decision::Try => RenderWork::Render,
            Decision::AsServed | Decision::Wait => RenderWork::AsServed,
        };
        self.executors.render(RenderJob { number, work, processed });
    }

    /// The pages that waited for what came of the trial of a pattern.
    fn end_trial(&mut self, pattern: Option<u64>) {
        let waiting = pattern.and_then(|pattern| self.renderings.trials.remove(&pattern)).unwrap_or_default();
        waiting.into_iter().for_each(|(number, processed)| self.decide_rendering(number, processed, true));
    }

    /// A rendering has ended as `rendered` says, of the page that `processed` asked for; the worker that fetched it, or
    /// nothing where the page is to be asked for again.
    pub(in crate::engine) fn end_rendering(
        &mut self,
        processed: &Processed,
        rendered: &Rendered,
    ) -> Result<Option<u32>> {
        let Some(ended) = self.renderings.pages.remove(&rendered.number) else { return Ok(None) };
        self.renderings.bytes -= ended.bytes;
        self.requests.end_page(&processed.job);
        let holds_still = !self.course.is_crawling() || self.requests.is_paused();
        if ended.is_given_up || (holds_still && ended.open > 0) {
            self.end_trial(ended.trial);
            self.admission.stores.arrival.frontier.put_off(ended.host, self.admission.stores.arrival.now)?;
            return Ok(None);
        }
        let Target::Page { url, .. } = &processed.job.target else { return Ok(None) };
        if rendered.is_as_served {
            return Ok(Some(ended.worker));
        }
        self.learn_pattern(url, rendered, ended.trial.is_some());
        self.end_trial(ended.trial);
        self.renderings.figures.count(rendered.failure.is_some(), rendered.showed_more());
        Ok(Some(ended.worker))
    }

    fn learn_pattern(&mut self, url: &QueuedUrl, rendered: &Rendered, is_try: bool) {
        let patterns = &mut self.renderings.patterns;
        match &rendered.failure {
            None => {
                let Rendered { before, after, .. } = *rendered;
                patterns.learn(&self.admission.home.keys, url.origin, &url.url, before, after, is_try)
            }
            Some(_) => patterns.failed(url.origin, is_try),
        }
    }

    /// The crawl stops: no rendering goes on.
    pub(in crate::engine) fn give_up_renderings(&mut self) -> Result<()> {
        if self.renderings.are_none() {
            return Ok(());
        }
        for page in self.renderings.pages.values_mut().filter(|page| page.open > 0) {
            page.is_given_up = true;
        }
        // those that wait for a trial are put back at once
        let now = self.admission.stores.arrival.now;
        for (number, processed) in std::mem::take(&mut self.renderings.trials).into_values().flatten() {
            if let Some(page) = self.renderings.pages.remove(&number) {
                self.renderings.bytes -= page.bytes;
                self.requests.end_page(&processed.job);
                self.admission.stores.arrival.frontier.put_off(page.host, now)?;
            }
        }
        for hop in self.requests.take_resource_hops() {
            self.refuse_waiting(&hop, Refusal::Stopping);
        }
        let (wanted, left) = self.asked_rules.leave_pages();
        left.into_iter().for_each(|origin| self.requests.drop_prerequisite(origin));
        wanted.into_iter().for_each(|wanted| self.refuse_waiting(&wanted.url, Refusal::Stopping));
        Ok(())
    }

    /// Returns whether the page of `url`, which another one embeds, is in the archive already because a rendering asked
    /// for it.
    pub(in crate::engine) fn has_as_resource(&self, url: &QueuedUrl) -> Result<bool> {
        let may_be = self.renders() && self.admission.recrawls.is_none();
        if !may_be || url.forced || url.attempts > 0 || url.hops.embeds() == 0 {
            return Ok(false);
        }
        let newest = self.admission.container.newest(url.key, &url.url)?;
        // a frame has links of its own, which a rendering of it may find
        let is_frame = |newest: &KeyRecord| newest.mime.eq_ignore_ascii_case("text/html");
        let is_it = |newest: &KeyRecord| newest.of_rendering && newest.status < 400 && !newest.truncated;
        Ok(newest.is_some_and(|newest| is_it(&newest) && !is_frame(&newest)))
    }
}

impl Renderings {
    /// Trials in progress, of this origin and of all.
    fn trials_beside(&self, origin: Fingerprint) -> Trials {
        let origins = self.pages.values().filter(|page| page.trial.is_some()).map(|page| page.origin);
        origins.fold(Trials::default(), |Trials { of_origin, of_crawl }, of_trial| Trials {
            of_origin: of_origin + usize::from(of_trial == origin),
            of_crawl: of_crawl + 1,
        })
    }

    /// The pattern of a trial of this origin.
    fn any_trial(&self, origin: Fingerprint) -> Option<u64> {
        self.pages.values().filter(|page| page.origin == origin).find_map(|page| page.trial)
    }
}
