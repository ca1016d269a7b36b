//! Renderings: pages that go to a browser before they are stored, and come back.

use crate::contract::{Answer, Processed, Refusal, RenderMode, Rendered, RequestSettings, Target};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::rendering::EndedPage;
use crate::frontier::Feedback;
use crate::outcome::blame_of_answer;

impl Engine {
    /// Returns which pages of a site are rendered whose requests are made with `settings`.
    pub(super) fn render_mode(&self, settings: Option<&RequestSettings>) -> RenderMode {
        match self.renders() {
            true => settings.map_or(self.admission.settings.rendering.mode, |settings| settings.rendering),
            false => RenderMode::Off,
        }
    }

    /// True if any page may be rendered.
    pub(in crate::engine) fn renders(&self) -> bool {
        self.admission.settings.rendering.is_on && self.executors.can_render()
    }

    /// True if a page may be begun, as far as renderings go.
    pub(in crate::engine) fn has_room_to_render(&self) -> bool {
        !self.renders() || self.renderings.has_room(self.admission.settings.rendering.pages)
    }

    /// An answer came whose page is to be rendered before it is stored.
    pub(super) fn begin_rendering(&mut self, processed: Processed, worker: u32) -> Result<()> {
        let now = self.admission.stores.arrival.now;
        let host = processed.job.host;
        if !matches!(processed.job.target, Target::Page { .. }) {
            return Ok(());
        }
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
        let job = self.renderings.begin(processed, worker, &self.admission.home.keys);
        job.into_iter().for_each(|job| self.executors.render(job));
        Ok(())
    }

    /// A rendering has ended as `rendered` says, of the page that `processed` asked for; the worker that fetched it, or
    /// nothing where the page is to be asked for again.
    pub(super) fn end_rendering(&mut self, processed: &Processed, rendered: &Rendered) -> Result<Option<u32>> {
        let holds_still = !self.course.is_crawling() || self.requests.is_paused();
        let ended = self.renderings.end(processed, rendered, holds_still, &self.admission.home.keys);
        if !matches!(ended.page, EndedPage::Unknown) {
            self.requests.end_page(&processed.job);
        }
        ended.jobs.into_iter().for_each(|job| self.executors.render(job));
        match ended.page {
            EndedPage::Stored(worker) => Ok(Some(worker)),
            EndedPage::PutOff(host) => {
                self.admission.stores.arrival.frontier.put_off(host, self.admission.stores.arrival.now)?;
                Ok(None)
            }
            EndedPage::Unknown => Ok(None),
        }
    }

    /// The crawl stops: no rendering goes on.
    pub(in crate::engine) fn give_up_renderings(&mut self) -> Result<()> {
        if self.renderings.are_none() {
            return Ok(());
        }
        let now = self.admission.stores.arrival.now;
        for abandoned in self.renderings.give_up() {
            self.requests.end_page(&abandoned.processed.job);
            self.admission.stores.arrival.frontier.put_off(abandoned.host, now)?;
        }
        for url in self.prerequisites.leave_pages() {
            self.answer_pages(&url, &Answer::Refused(Refusal::Stopping));
        }
        Ok(())
    }
}
