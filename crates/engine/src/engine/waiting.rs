//! Requests of logins and of rendered pages that wait for the rules of the origin where they go.

use std::sync::Arc;

use crate::contract::{LoginPlan, LoginStep};
use crate::frontier::{HostId, Provenance};
use crate::web::url::CanonicalUrl;

/// A step that waits for the rules of the origin where it goes.
#[derive(Debug)]
pub(super) struct WaitingStep {
    pub login: Login,
    pub step: LoginStep,
    pub url: CanonicalUrl,
    pub via: String,
}

/// Facts that are the same for all steps of a login.
#[derive(Debug)]
pub(super) struct Login {
    /// The queue of the page that needs it.
    pub host: HostId,
    pub plan: Arc<LoginPlan>,
    pub provenance: Provenance,
    pub redirects: u8,
}

/// Something that a page asks for, before it is requested.
#[derive(Debug)]
pub(super) struct Wanted {
    pub rendering: u64,
    pub url: CanonicalUrl,
    pub fields: Vec<(String, String)>,
    pub provenance: Provenance,
    pub via: String,
}
