//! Sites that are fetched otherwise than the rest: who knows them is beside the engine, and is asked once a request.

use std::fmt::Debug;
use std::sync::Arc;

use super::request_settings::RequestSettings;
use crate::web::cookies::FileCookie;
use crate::web::url::CanonicalUrl;

/// The place of URLs among those of their host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Rank by depth, as at all sites.
    Usual,
    /// This many places behind the first.
    At(u8),
}

/// Knows the sites that are fetched otherwise.
pub trait Sites: Debug + Send + Sync {
    /// Settings of requests where nothing else is known.
    fn usual(&self) -> Arc<RequestSettings>;
    /// Settings of a request for `url`; `None` for the usual ones.
    fn request(&self, url: &CanonicalUrl) -> Option<Arc<RequestSettings>>;
    /// Cookies that are there from the start.
    fn cookies(&self) -> &[FileCookie];
    /// The place of `url`, in the fetch form, among those of its host.
    fn rank(&self, url: &str) -> Rank;
    /// Returns whether robots.txt is obeyed at `host`, where that is not as everywhere.
    fn obeys_robots(&self, host: &str) -> Option<bool>;
}
