//! `[[site]]`: settings that hold for some hosts or URLs only.
//!
//! ```toml
//! [[site]]
//! domain = "example.org"
//! delay_min = "5s"
//!
//! [[site]]
//! prefix = "https://example.org/archive/"
//! max_depth = 2
//! ```
//! A table says which URLs it holds for by `host`, `domain` (a name with all names below it), `prefix` (the start of
//! URLs) or `pattern` (a regular expression); several of them, and lists, are alternatives. Of each setting the first
//! table of the file counts that holds for the URL and has the setting ([`Site::merged`]); the sections have the last
//! word ([`Config::at`]).
//!
//! The list below is the only one of its keys ([`site_key`](super::site_key) says how an entry is read): a table is
//! read, written, checked, merged and laid over the sections by it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::Config;
use super::access::{Auth, Cookies, Logins};
use super::headers::Headers;
use super::recrawl::RecrawlSettings;
use super::section::Section;
use super::sections::CrawlDelayBeyond;
use super::site_key::{Place, Reach, SiteKey};
use super::value::{Bytes, Mismatch, OneOrMore, Setting};
use crate::contract::{Consent, RenderMode};
use crate::signature::AgentForm;
use crate::web::secret::SecretAddress;

site! {
    match {
        /// Names of hosts.
        host,
        /// Names, each with all that are below it.
        domain,
        /// Beginnings of URLs.
        prefix,
        /// Regular expressions for URLs.
        pattern,
    }
    delay_min: Duration = Hosts(politeness.delay_min);
    delay_max: Duration = Hosts(politeness.delay_max);
    delay_factor: f64 = Hosts(politeness.delay_factor);
    crawl_delay_max: Duration = Hosts(politeness.crawl_delay_max);
    crawl_delay_beyond: CrawlDelayBeyond = Hosts(politeness.crawl_delay_beyond);
    connections_per_host: usize = Hosts(politeness.connections_per_host);
    hours: String = Hosts(politeness.hours);
    pages_per_host: Option<u64> = Hosts(budget.pages_per_host);
    bytes_per_host: Option<Bytes> = Hosts(budget.bytes_per_host);
    obey: bool = Hosts(robots.obey);
    /// It has the contact behind it, too.
    user_agent: String = Hosts(crawl.user_agent);
    max_depth: Option<u16> = Urls(crawl.max_depth);
    /// Regular expressions: a URL of the site that one of them matches is taken in.
    include: Vec<String> = Urls(beside scope.include);
    /// Regular expressions: a URL of the site that one of them matches is left out.
    exclude: Vec<String> = Urls(beside scope.exclude);
    /// Place of its URLs among those of the host.
    priority: Priority = Urls();
    headers: Headers = Urls(fetch.headers) secret Headers::have_secrets;
    accept_language: String = Urls(fetch.accept_language);
    sign: bool = Urls(identity.sign);
    signature_agent_form: AgentForm = Urls(identity.signature_agent_form);
    /// Proxy of all requests, robots.txt included.
    proxy: SecretAddress = Hosts(fetch.proxy);
    max_body: Bytes = Urls(fetch.max_body);
    timeout_head: Duration = Urls(fetch.timeout_head);
    timeout_total: Duration = Urls(fetch.timeout_total);
    render: RenderMode = Urls(render.mode);
    scroll: usize = Urls(render.scroll);
    consent: Consent = Urls(render.consent);
    click: Vec<String> = Urls(render.click);
    recrawl: RecrawlSettings = Urls(over recrawl);
    /// The name and password, or the token, that it asks for.
    auth: Auth = Urls() secret always;
    cookies: Cookies = Urls(fetch.cookies);
    /// A file with cookies that are sent from the start, in the format of Netscape.
    cookies_file: String = Urls() secret always;
    /// Logins that come before its pages.
    login: Logins = Urls() secret always;
}

/// Says that a setting is secret whatever its value.
fn always<T>(_: &T) -> bool {
    true
}

impl Site {
    /// The settings that it has.
    pub(crate) fn set_keys(&self) -> impl Iterator<Item = &'static SiteKey> {
        let written = self.written();
        Site::KEYS.iter().filter(move |key| written.iter().any(|(name, _)| *name == key.name))
    }

    /// True where the table has anything that only its own origins may receive.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.secret_keys().is_empty()
    }

    /// Returns the table on one line, as the one that follows `number` others.
    pub(crate) fn line(&self, number: usize) -> String {
        let written = self.written().into_iter().map(|(key, value)| format!("{key} = {value}"));
        format!("[[site]] {}: {}", number + 1, written.collect::<Vec<_>>().join(", "))
    }

    /// The key by which it sets `key`, written `section.key`; none where it leaves that as it is.
    pub(crate) fn sets(&self, key: &str) -> Option<&'static str> {
        self.set_keys().find(|own| own.sets(key)).map(|own| own.name)
    }
}

/// An option whose value may be an option itself: one that is there says so, whatever its value.
mod explicit {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
        T::deserialize(from).map(Some)
    }
}

/// The place of URLs among those of their host: smaller numbers come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before all others.
    High,
    /// Place by depth, as URLs without this setting.
    Normal,
    /// Behind all others.
    Low,
    /// This many places behind the first.
    #[serde(untagged)]
    Rank(u8),
}

impl Setting for Priority {
    const EXPECTED: &'static str = "\"high\", \"normal\", \"low\", or a whole number from 0 to 255";
    const EXAMPLE: &'static str = "\"high\"";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        match value.as_str() {
            Some("high") => Some(Priority::High),
            Some("normal") => Some(Priority::Normal),
            Some("low") => Some(Priority::Low),
            Some(_) => None,
            None => u8::from_toml(value).map(Priority::Rank),
        }
    }

    fn to_toml(&self) -> String {
        match self {
            Priority::High => "\"high\"".to_owned(),
            Priority::Normal => "\"normal\"".to_owned(),
            Priority::Low => "\"low\"".to_owned(),
            Priority::Rank(rank) => rank.to_toml(),
        }
    }
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
