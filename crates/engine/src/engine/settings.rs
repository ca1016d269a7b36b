//! Settings by which the engine decides, and what they say of one request: the sites that are fetched otherwise, and
//! the addresses that the operator says, come before what holds everywhere.

use std::sync::Arc;
use std::time::Duration;

use super::hosts::Hosts;
use super::requests::SlotOptions;
use crate::contract::{FetchJob, Rank, RenderMode, RequestSettings, Retries, Sites};
use crate::drum::PaceOptions;
use crate::frontier::{QueuedUrl, RequisitePace};
use crate::web::preferences::Usage;
use crate::web::url::CanonicalUrl;

/// Settings by which the engine decides; all of them may change from one run to the next.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests that may be in progress, slow ones beside them.
    pub slots: SlotOptions,
    /// Attempts after the first.
    pub retries: Retries,
    /// Pages of the whole crawl.
    pub pages_max: Option<u64>,
    /// Bytes received in the whole crawl.
    pub bytes_max: Option<u64>,
    /// Time of the whole crawl.
    pub time_max: Option<Duration>,
    /// Time between two checkpoints.
    pub checkpoint_interval: Duration,
    /// Time that a checkpoint may be in progress, because of what it is shipped to, before no more requests are made.
    pub behind_max: Option<Duration>,
    /// Free bytes below which the crawl stops.
    pub disk_floor: u64,
    /// URLs that an origin may have of one pattern.
    pub urls_per_pattern: Option<u64>,
    /// Pages that an origin may have of nearly one text before the links of more of them are not followed.
    pub pages_per_text: Option<u64>,
    /// True if the crawl learns which parameters of URLs make no other page.
    pub learn_session_params: bool,
    /// Uses of content for which the crawl is made: what robots.txt refuses one for is not fetched.
    pub purpose: Vec<Usage>,
    /// True if a seed that redirects elsewhere takes that place into scope.
    pub follow_seed_redirects: bool,
    /// True if robots.txt is asked.
    pub obey_robots: bool,
    /// Sites that are fetched otherwise, if there are any.
    pub sites: Option<Arc<dyn Sites>>,
    /// Addresses that are said, not asked for.
    pub hosts: Hosts,
    /// Pages that are rendered, and the way in which they are.
    pub rendering: RenderSettings,
    /// Time for which rules hold.
    pub robots_cache: Duration,
    /// Time for which a name that does not exist, or has no public address, is not asked for again.
    pub negative_ttl: Duration,
    /// Limits of what merges of the three stores may take.
    pub merge_pace: PaceOptions,
    /// Time for which a crawl goes on of which only hosts are left that never answered.
    pub linger: Duration,
    /// Time for which a graceful stop waits for what is in progress.
    pub stop_grace: Duration,
    /// Requests a second of the whole crawl.
    pub requests_per_second: Option<f64>,
    /// Bytes a second of the whole crawl.
    pub bytes_per_second: Option<u64>,
}

/// Settings of rendering, as far as the engine decides by them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderSettings {
    /// Pages that are rendered, where their site does not say otherwise.
    pub mode: RenderMode,
    /// True if any page is to be rendered, be it of some sites only.
    pub is_on: bool,
    /// Pages that are rendered at the same time.
    pub pages: usize,
    /// The pace at which hosts are asked for what pages need.
    pub pace: RequisitePace,
    /// True if robots.txt is asked about that.
    pub obey_robots: bool,
    /// Requests of one page.
    pub requests_max: u32,
}

impl Default for RenderSettings {
    fn default() -> Self {
        RenderSettings {
            mode: RenderMode::Off,
            is_on: false,
            pages: 2,
            pace: RequisitePace { delay: Duration::from_millis(100), connections: 4 },
            obey_robots: true,
            requests_max: 400,
        }
    }
}

impl Settings {
    /// Returns whether robots.txt is obeyed at `host`.
    pub(super) fn obeys_robots(&self, host: &str) -> bool {
        let of_site = self.sites.as_ref().and_then(|sites| sites.obeys_robots(host));
        of_site.unwrap_or(self.obey_robots)
    }

    /// `url` at the place among those of its host that its site gives it.
    pub(super) fn ranked(&self, url: QueuedUrl) -> QueuedUrl {
        match self.sites.as_ref().map(|sites| sites.rank(&url.url)) {
            Some(Rank::At(priority)) => QueuedUrl { priority, ..url },
            _ => url,
        }
    }

    /// Settings of a request for `url`; `None` for the usual ones.
    pub(super) fn request_settings(&self, url: &CanonicalUrl) -> Option<Arc<RequestSettings>> {
        self.sites.as_ref()?.request(url)
    }

    /// Settings of the request of `job`; `None` where nothing is known but what is usual for all.
    pub(super) fn settings_of(&self, job: &FetchJob) -> Option<Arc<RequestSettings>> {
        job.settings.clone().or_else(|| self.sites.as_ref().map(|sites| sites.usual()))
    }

    /// Settings of a request for `url` that is to bring the robots.txt of another origin, whose first URL is `first`:
    /// the name is the one that this origin knows us by, and the rest is what holds where the request goes.
    pub(super) fn robots_settings(&self, first: &CanonicalUrl, url: &CanonicalUrl) -> Option<Arc<RequestSettings>> {
        let sites = self.sites.as_ref()?;
        let (of_first, there) = (sites.request(first), sites.request(url));
        if of_first == there {
            return there;
        }
        let (of_first, there) = (of_first.unwrap_or_else(|| sites.usual()), there.unwrap_or_else(|| sites.usual()));
        let RequestSettings { user_agent, agent_token, .. } = (*of_first).clone();
        Some(Arc::new(RequestSettings { user_agent, agent_token, ..(*there).clone() }))
    }

    /// `job` to the addresses that are said for its host, if there are some.
    pub(super) fn directed(&self, job: FetchJob) -> FetchJob {
        match self.hosts.get(job.url.host()) {
            Some(addresses) => FetchJob { addresses, ..job },
            None => job,
        }
    }
}
