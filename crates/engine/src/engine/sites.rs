//! Sites that are fetched otherwise than the rest, as the engine asks for them.

use std::sync::Arc;

use super::Engine;
use crate::contract::{FetchJob, Rank, RequestSettings};
use crate::frontier::QueuedUrl;
use crate::web::url::CanonicalUrl;

impl Engine {
    /// Returns whether robots.txt is obeyed at `host`.
    pub(super) fn obeys_robots(&self, host: &str) -> bool {
        let of_site = self.settings.sites.as_ref().and_then(|sites| sites.obeys_robots(host));
        of_site.unwrap_or(self.settings.obey_robots)
    }

    /// `url` at the place among those of its host that its site gives it.
    pub(super) fn ranked(&self, url: QueuedUrl) -> QueuedUrl {
        match self.settings.sites.as_ref().map(|sites| sites.rank(&url.url)) {
            Some(Rank::At(priority)) => QueuedUrl { priority, ..url },
            _ => url,
        }
    }

    /// Settings of a request for `url`; `None` for the usual ones.
    pub(super) fn request_settings(&self, url: &CanonicalUrl) -> Option<Arc<RequestSettings>> {
        self.settings.sites.as_ref()?.request(url)
    }

    /// Settings of the request of `job`; `None` where nothing is known but what is usual for all.
    pub(super) fn settings_of(&self, job: &FetchJob) -> Option<Arc<RequestSettings>> {
        job.settings.clone().or_else(|| self.settings.sites.as_ref().map(|sites| sites.usual()))
    }

    /// Settings of a request for `url` that is to bring the robots.txt of another origin, whose first URL is `first`:
    /// the name is the one that this origin knows us by, and the rest is what holds where the request goes.
    pub(super) fn robots_settings(&self, first: &CanonicalUrl, url: &CanonicalUrl) -> Option<Arc<RequestSettings>> {
        let sites = self.settings.sites.as_ref()?;
        let (of_first, there) = (sites.request(first), sites.request(url));
        if of_first == there {
            return there;
        }
        let (of_first, there) = (of_first.unwrap_or_else(|| sites.usual()), there.unwrap_or_else(|| sites.usual()));
        let RequestSettings { user_agent, agent_token, .. } = (*of_first).clone();
        Some(Arc::new(RequestSettings { user_agent, agent_token, ..(*there).clone() }))
    }
}
