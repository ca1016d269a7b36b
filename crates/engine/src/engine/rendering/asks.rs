//! Requests of a page while it is rendered, and the answers to them.
//!
//! ```text
//! Ask ─► open? limits? scope? budget? ─► on its way already? ─► a prerequisite ─► FetchJob
//!                                            │ waits with others                   │
//! answer ◄───────────────────────────────────┴─────────────────────────────────────┘
//! ```
//! What is let through is a [prerequisite](crate::engine::prerequisites), which waits for robots.txt and for its turn.
//! A request of a page is the host's like any other: it is counted, logged, signed, and made with the settings of its
//! site. It has one attempt.

use super::Renderings;
use crate::contract::{Answer, Ask, AskId, Refusal};
use crate::disk::Result;
use crate::engine::admission::Admission;
use crate::engine::prerequisites::Wanted;
use crate::frontier::HostId;
use crate::web::url::CanonicalUrl;

/// Verdict on a request of a page.
pub(in crate::engine) enum Verdict {
    /// It gets nothing.
    Refused(Refusal),
    /// The same was asked for: it gets that.
    Waits,
    /// This is to be requested.
    Wanted(Box<Wanted>),
}

impl Renderings {
    /// Judges what a page asks for, in a crawl that `is_crawling`, or stops.
    pub(crate) fn judge(&mut self, ask: Ask, is_crawling: bool, admission: &mut Admission) -> Result<Verdict> {
        let Ask { id, url, fields } = ask;
        let Some(page) = self.pages.get_mut(&id.rendering) else { return Ok(self.refuse(Refusal::Stopping)) };
        if !is_crawling {
            page.is_given_up = true;
            return Ok(self.refuse(Refusal::Stopping));
        }
        page.asked += 1;
        if page.asked > admission.settings.rendering.requests_max {
            return Ok(self.refuse(Refusal::Requests));
        }
        let (domain, via, provenance) = (page.domain, page.url.clone(), page.provenance.clone());
        let keys = admission.home.keys.keys(&url);
        if admission.scope.rules().excludes(url.as_str()) {
            return Ok(self.refuse(Refusal::Scope));
        }
        if keys.domain != domain && admission.settings.request_settings(&url).is_some_and(|there| there.is_secret()) {
            return Ok(self.refuse(Refusal::Identity));
        }
        if let Some(waiting) = self.wanted.get_mut(&keys.key) {
            waiting.push(id);
            self.open(id);
            return Ok(Verdict::Waits);
        }
        if keys.domain != domain && !admission.stores.sink.frontier.charge_requisite(domain)? {
            return Ok(self.refuse(Refusal::Budget));
        }
        self.wanted.insert(keys.key, vec![id]);
        self.open(id);
        Ok(Verdict::Wanted(Box::new(Wanted { rendering: id.rendering, url, fields, provenance, via })))
    }

    fn refuse(&mut self, refusal: Refusal) -> Verdict {
        self.figures.refused += 1;
        Verdict::Refused(refusal)
    }

    fn open(&mut self, id: AskId) {
        if let Some(page) = self.pages.get_mut(&id.rendering) {
            page.open += 1;
        }
    }

    /// All who wait for `url` get this answer: returns who they are.
    pub(crate) fn answered(&mut self, url: &CanonicalUrl, answer: &Answer, admission: &Admission) -> Vec<AskId> {
        if let Answer::Refused(refusal) = answer
            && *refusal != Refusal::Stopping
        {
            tracing::debug!(url = url.as_str(), why = refusal.as_str(), "a page that is rendered does not get");
        }
        let waiting = self.wanted.remove(&admission.home.keys.keys(url).key).unwrap_or_default();
        for id in &waiting {
            if let Some(page) = self.pages.get_mut(&id.rendering) {
                page.open = page.open.saturating_sub(1);
            }
            self.figures.refused += u64::from(matches!(answer, Answer::Refused(_)));
        }
        waiting
    }

    /// The queue of the page of a rendering.
    pub(crate) fn host_of(&self, rendering: u64) -> HostId {
        self.pages.get(&rendering).map_or(HostId::NONE, |page| page.host)
    }
}
