//! Questions and replies: requests and answers of HTTP without a connection.

use crate::web::url::CanonicalUrl;

use super::address::{self, Form};
use super::site::{self, Site};

/// The origins of a replay, such as `http://127.0.0.1:9160`: archived pages share none with what controls them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The origin of the pages about the archive.
    pub home: String,
    /// The origin of archived pages.
    pub replay: String,
    /// The end of the hosts of archived origins that have origins of their own, such as `TOKEN.localhost:9161`; nothing
    /// where browsers cannot resolve such names.
    pub sites: Option<String>,
}

impl Origins {
    /// Origins of frames that show archived pages, as a policy has them.
    pub fn frame_sources(&self) -> String {
        format!("{}{}", self.replay, self.site_sources())
    }

    /// The same of the origins that archived origins have of their own, behind a blank.
    pub(super) fn site_sources(&self) -> String {
        self.sites.as_ref().map(|sites| format!(" http://*.{sites}")).unwrap_or_default()
    }
}

/// A request.
#[derive(Clone, Debug)]
pub struct Question {
    /// The method.
    pub method: String,
    /// Path and query, as they were sent; to a proxy the URL.
    pub target: String,
    /// Fields of the head, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The origins, by the host that the request names; a proxy has none.
    pub origins: Origins,
    /// The part of that host before [`Origins::sites`], if it ends so.
    pub site: Option<String>,
}

impl Question {
    /// A plain request for `target`.
    pub fn get(target: String, origins: Origins) -> Question {
        Question { method: "GET".to_owned(), target, fields: Vec::new(), body: Vec::new(), origins, site: None }
    }

    /// The value of a field, its name in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The archived origin of whose own origin the request asks.
    pub(super) fn site(&self) -> Option<Site<'_>> {
        self.site.as_deref().and_then(Site::read)
    }

    /// The address of a URL at this time, at an origin of its own if the page that asks has one.
    pub(super) fn address(&self, time: &str, form: Form, url: &CanonicalUrl) -> String {
        let sites = self.origins.sites.as_ref().filter(|_| self.site.is_some() && form == Form::Replayed);
        let own = sites.and_then(|sites| site::address(url, time, sites));
        own.unwrap_or_else(|| format!("{}{}", self.origins.replay, address::path(time, form, url)))
    }

    /// Returns what a browser will do with the answer, if it says so.
    pub fn destination(&self) -> Option<&str> {
        self.field("sec-fetch-dest")
    }
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Fields of the head: names in lower case, values in ASCII.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// An answer with a body of this type.
    pub(super) fn new(status: u16, mime: &str, body: impl Into<Vec<u8>>) -> Reply {
        Reply { status, fields: vec![("content-type".to_owned(), mime.to_owned())], body: body.into() }
    }

    /// A page of our own.
    pub(super) fn page(status: u16, html: String) -> Reply {
        Reply::new(status, "text/html; charset=utf-8", html)
    }

    /// Leads elsewhere.
    pub(super) fn found(location: String) -> Reply {
        Reply { status: 302, ..Reply::default() }.with("location", location)
    }

    /// The same with a field.
    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Reply {
        self.fields.push((name.to_owned(), value.into()));
        self
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}
