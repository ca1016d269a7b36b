//! Settings of requests: one list for those of all sites, and others for some.

use std::sync::Arc;
use std::time::Duration;

use super::login_plan::LoginPlan;
use super::render_plan::{Consent, RenderMode};
use super::signing::RequestSigner;
use crate::web::proxy::ProxyUrl;
use crate::web::secret::Secret;

/// Settings of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestSettings {
    /// The `User-Agent`.
    pub user_agent: String,
    /// The product token in it, which robots.txt files name.
    pub agent_token: String,
    /// Further fields of the head: names in lower case, and values.
    pub fields: Vec<(String, String)>,
    /// Fields of which nobody may learn the values but the server.
    pub secrets: Vec<(String, Secret)>,
    /// Signs them; none for requests without signatures.
    pub signer: Option<Arc<dyn RequestSigner>>,
    /// The use of cookies.
    pub cookies: CookieUse,
    /// True if the archive has markers in the place of what is secret.
    pub redacts: bool,
    /// The logins that come before the pages.
    pub logins: Vec<Arc<LoginPlan>>,
    /// Bytes of a body that are read.
    pub body_max: usize,
    /// Bytes of a robots.txt that are read, where that is more.
    pub robots_max: usize,
    /// Time from the connection to the end of the answer's head.
    pub timeout_head: Duration,
    /// Time for the whole exchange.
    pub timeout_total: Duration,
    /// Pages that are rendered.
    pub rendering: RenderMode,
    /// Steps to the end of those that grow there.
    pub scrolls: u32,
    /// The answer to banners in them that ask for consent.
    pub consent: Consent,
    /// CSS selectors of what is clicked in them.
    pub clicks: Vec<String>,
    /// The proxy by which they go; none where they go straight to the server.
    pub proxy: Option<ProxyUrl>,
}

impl RequestSettings {
    /// True if requests show the server something that nobody else may know: what comes back may be for us alone.
    pub fn is_secret(&self) -> bool {
        !self.secrets.is_empty() || !self.logins.is_empty() || self.cookies == CookieUse::Secret
    }
}

/// The use of the cookies that a server sets.
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
