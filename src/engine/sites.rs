//! Sites that are fetched otherwise than the rest: who knows them is beside the engine, and is asked once a request.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use super::login::LoginPlan;
use crate::frontier::QueuedUrl;
use crate::web::cookies::FileCookie;
use crate::web::secret::Secret;
use crate::web::url::CanonicalUrl;

/// What requests are made with.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSettings {
    /// The `User-Agent`.
    pub user_agent: String,
    /// The product token in it, which robots.txt files name.
    pub agent_token: String,
    /// More fields of the head: names in lower case, and values.
    pub fields: Vec<(String, String)>,
    /// Fields of which nobody may learn the values but the server.
    pub secrets: Vec<(String, Secret)>,
    /// What becomes of cookies.
    pub cookies: CookieUse,
    /// Whether the archive has markers in the place of what is secret.
    pub redacts: bool,
    /// The logins that come before the pages.
    pub logins: Vec<Arc<LoginPlan>>,
    /// Bytes of a body that are read.
    pub body_max: usize,
    /// Time from the connection to the end of the answer's head.
    pub timeout_head: Duration,
    /// Time for the whole exchange.
    pub timeout_total: Duration,
}

/// What becomes of the cookies that a server sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CookieUse {
    /// They are ignored.
    #[default]
    Off,
    /// They are sent back, and are part of the crawl's state.
    Kept,
    /// They are sent back, and kept in memory alone: they come of a login, or of a file.
    Secret,
}

/// The place of URLs among those of their host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// By depth, as those of all sites.
    Usual,
    /// So many places behind the first.
    At(u8),
}

/// Knows the sites that are fetched otherwise.
pub trait Sites: Debug + Send + Sync {
    /// What requests are made with where nothing else is known.
    fn usual(&self) -> Arc<RequestSettings>;
    /// What a request for `url` is made with; none for what is usual.
    fn request(&self, url: &CanonicalUrl) -> Option<Arc<RequestSettings>>;
    /// Cookies that are there from the start.
    fn cookies(&self) -> &[FileCookie];
    /// The place of `url`, in the fetch form, among those of its host.
    fn rank(&self, url: &str) -> Rank;
    /// Whether robots.txt is obeyed at `host`, where that is not as everywhere.
    fn obeys_robots(&self, host: &str) -> Option<bool>;
}

impl Engine {
    /// Whether robots.txt is obeyed at `host`.
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

    /// What a request for `url` is made with.
    pub(super) fn request_settings(&self, url: &CanonicalUrl) -> Option<Arc<RequestSettings>> {
        self.settings.sites.as_ref()?.request(url)
    }

    /// What a request for `url` is made with that is to bring the robots.txt of another origin, whose first URL is
    /// `first`: by the name that this origin knows us by, and else by what holds where it goes.
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
