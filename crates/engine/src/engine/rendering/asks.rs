//! Requests of a page while it is rendered, and the answers to them.
//!
//! ```text
//! Ask ─► open? limits? scope? budget? ─► on its way already? ─► robots.txt ─► its turn at its host ─► FetchJob
//!                                            │ waits with others                                         │
//! answer ◄───────────────────────────────────┴───────────────────────────────────────────────────────────┘
//! ```
//! The steps wait among the hops (`requests::hops`), as those of logins do. A request of a page is the host's like any
//! other: it is counted, logged, signed, and made with the settings of its site. It has one attempt. The rules of its
//! origin are asked for where nobody knows them (`asked_rules`).

use std::sync::Arc;

use super::Renderings;
use crate::container::Referrer;
use crate::contract::{Answer, Ask, AskId, FetchFailed, Findings, Processed, Refusal, Target};
use crate::disk::Result;
use crate::engine::Engine;
use crate::engine::asked_rules::{Known, Waiter};
use crate::engine::discovery::queued;
use crate::engine::waiting::Wanted;
use crate::frontier::{HostId, Provenance, QueuedUrl};
use crate::outcome::{Cause, Failure};
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

impl Engine {
    /// A page asks for a URL.
    pub(in crate::engine) fn page_asks(&mut self, ask: Ask) -> Result<()> {
        let Ask { id, url, fields } = ask;
        let is_crawling = self.course.is_crawling();
        let requests_max = self.admission.settings.rendering.requests_max;
        let Some(page) = self.renderings.pages.get_mut(&id.rendering) else {
            self.refuse(id, Refusal::Stopping);
            return Ok(());
        };
        if !is_crawling {
            page.is_given_up = true;
            self.refuse(id, Refusal::Stopping);
            return Ok(());
        }
        page.asked += 1;
        if page.asked > requests_max {
            self.refuse(id, Refusal::Requests);
            return Ok(());
        }
        let (domain, via, provenance) = (page.domain, page.url.clone(), page.provenance.clone());
        let keys = self.admission.home.keys.keys(&url);
        if self.admission.scope.rules().excludes(url.as_str()) {
            self.refuse(id, Refusal::Scope);
            return Ok(());
        }
        if keys.domain != domain
            && self.admission.settings.request_settings(&url).is_some_and(|there| there.is_secret())
        {
            self.refuse(id, Refusal::Identity);
            return Ok(());
        }
        if let Some(waiting) = self.renderings.wanted.get_mut(&keys.key) {
            waiting.push(id);
            self.renderings.open(id);
            return Ok(());
        }
        if keys.domain != domain && !self.admission.stores.arrival.frontier.charge_requisite(domain)? {
            self.refuse(id, Refusal::Budget);
            return Ok(());
        }
        self.renderings.wanted.insert(keys.key, vec![id]);
        self.renderings.open(id);
        self.want(Wanted { rendering: id.rendering, url, fields, provenance, via });
        Ok(())
    }

    /// The next request for `wanted` is queued, if robots.txt has nothing against it.
    fn want(&mut self, wanted: Wanted) {
        if !self.admission.settings.rendering.obey_robots || !self.admission.settings.obeys_robots(wanted.url.host()) {
            return self.queue_resource(wanted);
        }
        match self.rules_for(&wanted.url) {
            Known::Rules(rules) => self.want_by_rules(wanted, &rules),
            Known::Unavailable => self.refuse_waiting(&wanted.url, Refusal::Robots),
            Known::Nothing => {
                let (at, host) = (wanted.url.clone(), self.host_of(wanted.rendering));
                let provenance = wanted.provenance.clone();
                self.ask_rules(&at, Waiter::Page(Box::new(wanted)), host, provenance);
            }
        }
    }

    /// The rules came, or cannot be had, of the origin of something that is asked for.
    pub(in crate::engine) fn page_rules(&mut self, wanted: Wanted, rules: Option<&Arc<RobotsRules>>) {
        match rules {
            Some(rules) => self.want_by_rules(wanted, rules),
            None => self.refuse_waiting(&wanted.url, Refusal::Robots),
        }
    }

    fn want_by_rules(&mut self, wanted: Wanted, rules: &RobotsRules) {
        match rules.allows(wanted.url.as_str()) {
            true => self.queue_resource(wanted),
            false => self.refuse_waiting(&wanted.url, Refusal::Robots),
        }
    }

    fn queue_resource(&mut self, wanted: Wanted) {
        let Wanted { rendering, url, fields, provenance, via } = wanted;
        let host = self.host_of(rendering);
        let target = Target::Resource { rendering, fields, provenance };
        self.add_hop(host, target, Referrer::Url(via), url, None);
    }

    /// The queue of the page of a rendering.
    fn host_of(&self, rendering: u64) -> HostId {
        self.renderings.pages.get(&rendering).map_or(HostId::NONE, |page| page.host)
    }

    /// A step was answered.
    pub(in crate::engine) fn resource_answered(&mut self, mut processed: Processed, worker: u32) -> Result<()> {
        self.end_step(&processed.job.url, processed.response.duration);
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
        self.tell_waiting(&job.url, &answer);
        let of_page = resource_url(&job.url, keys, provenance);
        self.admission.route_found(&of_page, Findings { redirect: None, ..findings }, false, stored.record)
    }

    /// A step was not answered.
    pub(in crate::engine) fn resource_not_answered(&mut self, failed: FetchFailed, worker: u32) -> Result<()> {
        self.admission.books.statistics.count_failure(failed.failure);
        self.admission.books.log_failure(&failed, failed.failure.code(), worker)?;
        self.end_step(&failed.job.url, failed.duration);
        self.resource_failed(&failed.job.url, failed.cause);
        Ok(())
    }

    /// A step cannot be taken.
    pub(in crate::engine) fn resource_failed(&mut self, url: &CanonicalUrl, cause: Cause) {
        self.refuse_waiting(url, Refusal::Failed(cause.failure()));
    }

    /// All who wait for `url` get nothing.
    pub(super) fn refuse_waiting(&mut self, url: &CanonicalUrl, refusal: Refusal) {
        if refusal != Refusal::Stopping {
            tracing::debug!(url = url.as_str(), why = refusal.as_str(), "a page that is rendered does not get");
        }
        self.tell_waiting(url, &Answer::Refused(refusal));
    }

    fn tell_waiting(&mut self, url: &CanonicalUrl, answer: &Answer) {
        let waiting = self.renderings.wanted.remove(&self.admission.home.keys.keys(url).key).unwrap_or_default();
        for id in waiting {
            if let Some(page) = self.renderings.pages.get_mut(&id.rendering) {
                page.open = page.open.saturating_sub(1);
            }
            self.renderings.figures.refused += u64::from(matches!(answer, Answer::Refused(_)));
            self.executors.answer(id, answer.clone());
        }
    }

    fn refuse(&mut self, id: AskId, refusal: Refusal) {
        self.renderings.figures.refused += 1;
        self.executors.answer(id, Answer::Refused(refusal));
    }
}

impl Renderings {
    fn open(&mut self, id: AskId) {
        if let Some(page) = self.pages.get_mut(&id.rendering) {
            page.open += 1;
        }
    }
}

/// Returns what a page asks for as the URL that its links descend from.
pub(in crate::engine) fn resource_url(
    url: &CanonicalUrl,
    keys: crate::web::url::Keys,
    provenance: Provenance,
) -> QueuedUrl {
    let Provenance { depth, seed, hops } = provenance;
    QueuedUrl { depth, seed, hops, ..queued(url.as_str(), keys) }
}
