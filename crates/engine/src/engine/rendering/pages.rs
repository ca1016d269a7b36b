//! A page on its way through a rendering: how it begins, and how it ends.

use super::decide::{Decision, Trials};
use super::shape::Patterns;
use super::{InProgress, Renderings};
use crate::contract::{Processed, RenderJob, RenderMode, RenderWish, RenderWork, Rendered, Target};
use crate::engine::admission::Admission;
use crate::engine::queued_url;
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostId, Provenance, QueuedUrl};
use crate::web::url::KeyMaker;

/// A rendering that has ended, and what it lets begin.
pub(in crate::engine) struct Ended {
    pub page: EndedPage,
    /// Pages that had waited for what came of it.
    pub jobs: Vec<RenderJob>,
}

/// Fate of the page of a rendering that has ended.
pub(in crate::engine) enum EndedPage {
    /// It is stored, which this worker has fetched.
    Stored(u32),
    /// It is asked for again later, by this queue.
    PutOff(HostId),
    /// Nobody knows it.
    Unknown,
}

/// A page that waited for what comes of another one, in a crawl that stops.
pub(in crate::engine) struct Abandoned {
    pub host: HostId,
    pub processed: Box<Processed>,
}

impl Renderings {
    /// Returns whether the page of `url` is to be rendered, whose site is rendered by this mode.
    pub(crate) fn wish(&mut self, mode: RenderMode, url: &QueuedUrl, admission: &Admission) -> RenderWish {
        // what is embedded from elsewhere is no page of its own
        match mode {
            _ if url.hops.embeds() > 0 && !admission.scope.takes_in(&queued_url(&url.url)) => RenderWish::No,
            RenderMode::Off => RenderWish::No,
            RenderMode::Always => RenderWish::Always,
            RenderMode::Needed => self.patterns.wish(&admission.home.keys, url.origin, &url.url),
        }
    }

    /// A page is to be rendered, which `worker` has fetched: returns the job, unless it waits for what comes of another
    /// one.
    pub(crate) fn begin(&mut self, mut processed: Processed, worker: u32, keys: &KeyMaker) -> Option<RenderJob> {
        let Target::Page { url, .. } = &processed.job.target else { return None };
        let (number, bytes) = (self.next, processed.response.body.len());
        let in_progress = InProgress {
            host: processed.job.host,
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
        self.next += 1;
        self.bytes += bytes;
        self.pages.insert(number, in_progress);
        // other answers may need its place, and among them what the page will ask for
        processed.permits = Default::default();
        self.decide(number, Box::new(processed), false, keys)
    }

    /// A page that is to be rendered goes to a browser, waits for what comes of another one of its pattern, or is
    /// stored as it was served, by what is known now.
    fn decide(
        &mut self,
        number: u64,
        processed: Box<Processed>,
        has_waited: bool,
        keys: &KeyMaker,
    ) -> Option<RenderJob> {
        let Target::Page { url, .. } = &processed.job.target else { return None };
        let patterns = Patterns::of(keys, url.origin, &url.url);
        let shown = processed.findings.shown.unwrap_or_default();
        let decision = match processed.job.render.is_settled() {
            true => Decision::Render,
            false => {
                let trials = self.trials_beside(url.origin);
                self.patterns.decide(&patterns, url.origin, &shown, trials, has_waited)
            }
        };
        let waits_for = match decision {
            Decision::Try => Some(patterns.closest),
            Decision::Wait => self.any_trial(url.origin),
            Decision::Render | Decision::AsServed => None,
        };
        if let Some(waiting) = waits_for.and_then(|pattern| self.trials.get_mut(&pattern)) {
            waiting.push((number, processed));
            return None;
        }
        if decision == Decision::Try {
            self.trials.insert(patterns.closest, Vec::new());
            self.pages.get_mut(&number).into_iter().for_each(|page| page.trial = Some(patterns.closest));
        }
        let work = match decision {
            Decision::Render | Decision::Try => RenderWork::Render,
            Decision::AsServed | Decision::Wait => RenderWork::AsServed,
        };
        Some(RenderJob { number, work, processed })
    }

    /// A rendering has ended as `rendered` says, of the page that `processed` asked for. In a crawl that `holds_still`,
    /// a page that still waits for something is put off.
    pub(crate) fn end(
        &mut self,
        processed: &Processed,
        rendered: &Rendered,
        holds_still: bool,
        keys: &KeyMaker,
    ) -> Ended {
        let Some(ended) = self.pages.remove(&rendered.number) else {
            return Ended { page: EndedPage::Unknown, jobs: Vec::new() };
        };
        self.bytes -= ended.bytes;
        if ended.is_given_up || (holds_still && ended.open > 0) {
            return Ended { page: EndedPage::PutOff(ended.host), jobs: self.end_trial(ended.trial, keys) };
        }
        let page = EndedPage::Stored(ended.worker);
        let Target::Page { url, .. } = &processed.job.target else {
            return Ended { page: EndedPage::Unknown, jobs: Vec::new() };
        };
        if rendered.is_as_served {
            return Ended { page, jobs: Vec::new() };
        }
        self.learn_pattern(url, rendered, ended.trial.is_some(), keys);
        let jobs = self.end_trial(ended.trial, keys);
        self.figures.count(rendered.failure.is_some(), rendered.showed_more());
        Ended { page, jobs }
    }

    /// The pages that waited for what came of the trial of a pattern: returns what is done with those that wait no
    /// more.
    fn end_trial(&mut self, pattern: Option<u64>, keys: &KeyMaker) -> Vec<RenderJob> {
        let waiting = pattern.and_then(|pattern| self.trials.remove(&pattern)).unwrap_or_default();
        waiting.into_iter().filter_map(|(number, processed)| self.decide(number, processed, true, keys)).collect()
    }

    fn learn_pattern(&mut self, url: &QueuedUrl, rendered: &Rendered, is_try: bool, keys: &KeyMaker) {
        match &rendered.failure {
            None => {
                let Rendered { before, after, .. } = *rendered;
                self.patterns.learn(keys, url.origin, &url.url, before, after, is_try)
            }
            Some(_) => self.patterns.failed(url.origin, is_try),
        }
    }

    /// The crawl stops: no rendering goes on. Returns the pages that waited for a trial, which are put back at once.
    pub(crate) fn give_up(&mut self) -> Vec<Abandoned> {
        for page in self.pages.values_mut().filter(|page| page.open > 0) {
            page.is_given_up = true;
        }
        let waiting = std::mem::take(&mut self.trials).into_values().flatten();
        let mut abandoned = Vec::new();
        for (number, processed) in waiting {
            if let Some(page) = self.pages.remove(&number) {
                self.bytes -= page.bytes;
                abandoned.push(Abandoned { host: page.host, processed });
            }
        }
        abandoned
    }

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
