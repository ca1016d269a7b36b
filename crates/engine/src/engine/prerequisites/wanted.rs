//! Wishes of logins and of rendered pages to ask for something, before the rules of the origin are known where it goes.

use std::sync::Arc;

use crate::container::Referrer;
use crate::contract::{LoginPlan, LoginStep, Target};
use crate::engine::settings::Settings;
use crate::frontier::{HostId, Provenance};
use crate::web::url::CanonicalUrl;

/// A request that a page needs first, or while it is rendered.
#[derive(Debug)]
pub(in crate::engine) enum Prerequisite {
    /// A step of a login.
    Login(Box<LoginRequest>),
    /// Something that a page asks for that is rendered.
    Page(Box<Wanted>),
}

/// A step of a login, before it is requested.
#[derive(Debug)]
pub(in crate::engine) struct LoginRequest {
    pub login: Login,
    pub step: LoginStep,
    pub url: CanonicalUrl,
    pub via: String,
}

/// Facts that are the same for all steps of a login.
#[derive(Debug)]
pub(in crate::engine) struct Login {
    /// The queue of the page that needs it.
    pub host: HostId,
    pub plan: Arc<LoginPlan>,
    pub provenance: Provenance,
    pub redirects: u8,
}

/// Something that a page asks for, before it is requested.
#[derive(Debug)]
pub(in crate::engine) struct Wanted {
    pub rendering: u64,
    pub url: CanonicalUrl,
    pub fields: Vec<(String, String)>,
    pub provenance: Provenance,
    pub via: String,
}

/// A request without its host.
pub(super) struct Parts {
    pub target: Target,
    pub via: Referrer,
    pub url: CanonicalUrl,
}

impl Prerequisite {
    /// The place where it goes.
    pub(crate) fn url(&self) -> &CanonicalUrl {
        match self {
            Prerequisite::Login(request) => &request.url,
            Prerequisite::Page(wanted) => &wanted.url,
        }
    }

    pub(super) fn provenance(&self) -> &Provenance {
        match self {
            Prerequisite::Login(request) => &request.login.provenance,
            Prerequisite::Page(wanted) => &wanted.provenance,
        }
    }

    /// Returns whether robots.txt is asked about it.
    pub(super) fn obeys_robots(&self, settings: &Settings) -> bool {
        let is_free = matches!(self, Prerequisite::Page(_)) && !settings.rendering.obey_robots;
        !is_free && settings.obeys_robots(self.url().host())
    }

    /// The note in crawl.log of a robots.txt that was asked for because of it.
    pub(super) fn note(&self) -> &'static str {
        match self {
            Prerequisite::Login(_) => "login",
            Prerequisite::Page(_) => "forRendering",
        }
    }

    pub(super) fn into_parts(self) -> Parts {
        match self {
            Prerequisite::Login(request) => {
                let LoginRequest { login, step, url, via } = *request;
                let Login { plan, provenance, redirects, .. } = login;
                Parts { target: Target::Login { plan, step, redirects, provenance }, via: Referrer::Url(via), url }
            }
            Prerequisite::Page(wanted) => {
                let Wanted { rendering, url, fields, provenance, via } = *wanted;
                Parts { target: Target::Resource { rendering, fields, provenance }, via: Referrer::Url(via), url }
            }
        }
    }
}
