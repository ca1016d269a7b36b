//! A page on its way through a rendering: how it begins, and how it ends.

use super::{Found, InProgress, RenderWish, Rendered};
use crate::disk::Result;
use crate::engine::job::{Processed, Target};
use crate::engine::request_settings::RequestSettings;
use crate::engine::{Engine, RenderMode};
use crate::frontier::{Feedback, Provenance, QueuedUrl};
use crate::outcome::{Verdict, blame_of_answer};
use crate::web::url::CanonicalUrl;

/// A page to be rendered.
#[derive(Debug)]
pub struct RenderJob {
    /// Its number, by which what it asks for is known.
    pub number: u64,
    /// The page with its body, and without records.
    pub processed: Box<Processed>,
}

impl Engine {
    /// Which pages of the site of `url` are rendered, whose requests are made with `settings`.
    pub(in crate::engine) fn render_mode(&self, settings: Option<&RequestSettings>) -> RenderMode {
        match self.renders() {
            true => settings.map_or(self.settings.rendering.mode, |settings| settings.rendering),
            false => RenderMode::Off,
        }
    }

    /// Whether any page may be rendered.
    pub(in crate::engine) fn renders(&self) -> bool {
        self.settings.rendering.is_on && self.executors.can_render()
    }

    /// Whether the page of `url` is rendered, whose request is made with `settings`.
    pub(in crate::engine) fn render_wish(&mut self, settings: Option<&RequestSettings>, url: &QueuedUrl) -> RenderWish {
        // what is embedded is no page of its own
        match self.render_mode(settings) {
            _ if url.hops.embeds() > 0 => RenderWish::No,
            RenderMode::Off => RenderWish::No,
            RenderMode::Always => RenderWish::Yes("always"),
            RenderMode::Needed => self.renderings.patterns.wish(&self.home.keys, url.origin, &url.url),
        }
    }

    /// Whether a page may be begun, as far as renderings go.
    pub(in crate::engine) fn has_room_to_render(&self) -> bool {
        !self.renders() || self.renderings.has_room(self.settings.rendering.pages)
    }

    /// An answer came whose page is to be rendered before it is stored.
    pub(in crate::engine) fn begin_rendering(&mut self, mut processed: Processed, worker: u32) -> Result<()> {
        let now = self.stores.arrival.now;
        let Target::Page { url, .. } = &processed.job.target else { return Ok(()) };
        let host = processed.job.host;
        if !self.course.is_crawling() {
            // it would not end in time
            self.requests.end_page(&processed.job);
            return self.stores.arrival.frontier.put_back(host, now, now);
        }
        let response = &processed.response;
        let feedback = Feedback {
            started: response.started,
            duration: response.duration,
            bytes: 0,
            verdict: Verdict::Done,
            blame: blame_of_answer(response.status, false),
            failure: None,
            retry_after: None,
            address: response.address,
            counts_as_page: false,
            may_lower_delay: response.status < 300,
        };
        self.stores.arrival.frontier.received(host, &feedback, now);
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
            is_given_up: false,
        };
        self.renderings.next += 1;
        self.renderings.bytes += bytes;
        self.renderings.pages.insert(number, in_progress);
        // other answers may need its place, and among them what the page will ask for
        processed.room = Default::default();
        self.executors.render(RenderJob { number, processed: Box::new(processed) });
        Ok(())
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
            self.stores.arrival.frontier.put_off(ended.host, self.stores.arrival.now)?;
            return Ok(None);
        }
        let Target::Page { url, .. } = &processed.job.target else { return Ok(None) };
        self.learn_pattern(url, rendered);
        self.renderings.figures.count(rendered.failure.is_some(), rendered.showed_more());
        Ok(Some(ended.worker))
    }

    fn learn_pattern(&mut self, url: &QueuedUrl, rendered: &Rendered) {
        if rendered.failure.is_none() {
            let now = self.stores.arrival.now;
            let keys = self.home.keys.clone();
            self.renderings.patterns.learn(&keys, (url.origin, &url.url), rendered.shown, now);
        }
    }

    /// The crawl stops: no rendering goes on.
    pub(in crate::engine) fn give_up_renderings(&mut self) {
        if self.renderings.are_none() {
            return;
        }
        for page in self.renderings.pages.values_mut().filter(|page| page.open > 0) {
            page.is_given_up = true;
        }
        for hop in self.requests.take_resource_hops() {
            self.refuse_waiting(&hop, super::Refusal::Stopping);
        }
    }

    /// Whether the page of `url`, which another one embeds, is in the archive already because a rendering asked for it.
    pub(in crate::engine) fn has_as_resource(&self, url: &QueuedUrl) -> Result<bool> {
        let may_be = self.renders() && self.recrawls.is_none();
        if !may_be || url.forced || url.attempts > 0 || url.hops.embeds() == 0 {
            return Ok(false);
        }
        let newest = self.container.newest(url.key, &url.url)?;
        Ok(newest.is_some_and(|newest| newest.of_rendering && newest.status < 400 && !newest.truncated))
    }

    /// The key of `url` in the archive and in URL-seen.
    pub(super) fn key_of(&self, url: &CanonicalUrl) -> crate::web::url::Keys {
        self.home.keys.keys(url)
    }
}

impl Found {
    /// Whether a rendering that shows `self` was worth it for a page that shows `before` without.
    pub fn is_more_than(&self, before: &Found) -> bool {
        self.links > before.links || self.text_bytes > before.text_bytes + before.text_bytes / 4 + 64
    }
}
