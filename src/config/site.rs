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
//! table of the file counts that holds for the URL and has the setting; the sections have the last word.
//!
//! Some settings are of hosts as a whole ([`HOST_KEYS`]): a table with one of them is found by `host` or `domain`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::Config;
use super::access::{Auth, Cookies, Logins};
use super::headers::Headers;
use super::recrawl::RecrawlSettings;
use super::section::Section;
use super::sections::CrawlDelayBeyond;
use super::value::{Bytes, Mismatch, OneOrMore, Setting};
use crate::contract::{Consent, RenderMode};
use crate::signature::AgentForm;
use crate::web::secret::SecretAddress;

/// Keys of a table that are settings of hosts as a whole, not of single URLs.
pub(super) const HOST_KEYS: [&str; 11] = [
    "delay_min",
    "delay_max",
    "delay_factor",
    "crawl_delay_max",
    "crawl_delay_beyond",
    "connections_per_host",
    "pages_per_host",
    "bytes_per_host",
    "obey",
    "user_agent",
    "proxy",
];

/// Settings of a table, each with its reader, from one list of keys.
macro_rules! site {
    (match { $($(#[$match_doc:meta])* $match_key:ident,)* } $($(#[$doc:meta])* $key:ident: $type:ty,)*) => {
        /// A `[[site]]` table. What it does not set is as other tables or the sections say.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Site {
            $($(#[$match_doc])* #[serde(skip_serializing_if = "Vec::is_empty")] pub $match_key: Vec<String>,)*
            $($(#[$doc])*
            #[serde(skip_serializing_if = "Option::is_none", with = "explicit")]
            pub $key: Option<$type>,)*
        }

        impl Section for Site {
            fn keys(&self) -> Vec<&'static str> {
                vec![$(stringify!($match_key),)* $(stringify!($key)),*]
            }

            fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), Mismatch>> {
                $(if key == stringify!($match_key) {
                    return Some(OneOrMore::read(value).map(|value| self.$match_key = value.0));
                })*
                $(if key == stringify!($key) {
                    return Some(<$type>::read(value).map(|value| self.$key = Some(value)));
                })*
                None
            }

            fn written(&self) -> Vec<(&'static str, String)> {
                let mut written = Vec::new();
                $(if !self.$match_key.is_empty() {
                    written.push((stringify!($match_key), OneOrMore(self.$match_key.clone()).to_toml()));
                })*
                $(if let Some(value) = &self.$key {
                    written.push((stringify!($key), value.to_toml()));
                })*
                written
            }
        }
    };
}

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
    /// As `politeness.delay_min`.
    delay_min: Duration,
    /// As `politeness.delay_max`.
    delay_max: Duration,
    /// As `politeness.delay_factor`.
    delay_factor: f64,
    /// As `politeness.crawl_delay_max`.
    crawl_delay_max: Duration,
    /// As `politeness.crawl_delay_beyond`.
    crawl_delay_beyond: CrawlDelayBeyond,
    /// As `politeness.connections_per_host`.
    connections_per_host: usize,
    /// As `budget.pages_per_host`.
    pages_per_host: Option<u64>,
    /// As `budget.bytes_per_host`.
    bytes_per_host: Option<Bytes>,
    /// As `robots.obey`.
    obey: bool,
    /// As `crawl.user_agent`, the contact behind it.
    user_agent: String,
    /// As `crawl.max_depth`.
    max_depth: Option<u16>,
    /// Regular expressions: a URL of the site that one of them matches is taken in.
    include: Vec<String>,
    /// Regular expressions: a URL of the site that one of them matches is left out.
    exclude: Vec<String>,
    /// Place of its URLs among those of the host.
    priority: Priority,
    /// Fields of the head of requests, in place of `fetch.headers`.
    headers: Headers,
    /// As `fetch.accept_language`.
    accept_language: String,
    /// As `identity.sign`.
    sign: bool,
    /// As `identity.signature_agent_form`.
    signature_agent_form: AgentForm,
    /// As `fetch.proxy`, robots.txt included.
    proxy: SecretAddress,
    /// As `fetch.max_body`.
    max_body: Bytes,
    /// As `fetch.timeout_head`.
    timeout_head: Duration,
    /// As `fetch.timeout_total`.
    timeout_total: Duration,
    /// As `render.mode`.
    render: RenderMode,
    /// As `render.scroll`.
    scroll: usize,
    /// As `render.consent`.
    consent: Consent,
    /// As `render.click`.
    click: Vec<String>,
    /// As keys of `[recrawl]`.
    recrawl: RecrawlSettings,
    /// The name and password, or the token, that it asks for.
    auth: Auth,
    /// As `fetch.cookies`.
    cookies: Cookies,
    /// A file with cookies that are sent from the start, in the format of Netscape.
    cookies_file: String,
    /// Logins that come before its pages.
    login: Logins,
}

/// The section of each setting.
const PLACES: [(&str, &str); 27] = [
    ("delay_min", "politeness"),
    ("delay_max", "politeness"),
    ("delay_factor", "politeness"),
    ("crawl_delay_max", "politeness"),
    ("crawl_delay_beyond", "politeness"),
    ("connections_per_host", "politeness"),
    ("pages_per_host", "budget"),
    ("bytes_per_host", "budget"),
    ("obey", "robots"),
    ("user_agent", "crawl"),
    ("max_depth", "crawl"),
    ("include", "scope"),
    ("exclude", "scope"),
    ("headers", "fetch"),
    ("accept_language", "fetch"),
    ("sign", "identity"),
    ("signature_agent_form", "identity"),
    ("proxy", "fetch"),
    ("max_body", "fetch"),
    ("timeout_head", "fetch"),
    ("timeout_total", "fetch"),
    ("render", "render"),
    ("scroll", "render"),
    ("consent", "render"),
    ("click", "render"),
    ("recrawl", "recrawl"),
    ("cookies", "fetch"),
];

/// Returns whether the key `own` of a table sets `key`, which is in `section`; `recrawl` sets all of `[recrawl]`.
fn is_at(key: &str, section: &str, own: &str) -> bool {
    // the mode of renderings is a table's `render`
    let is_own = |name: &str| name == own || own == "recrawl" || own == "render" && name == "mode";
    key.split_once('.').is_some_and(|(of, name)| of == section && is_own(name))
}

impl Site {
    /// The settings that it has.
    pub(super) fn set_keys(&self) -> Vec<&'static str> {
        let written = self.written().into_iter().map(|(key, _)| key);
        written.filter(|key| !["host", "domain", "prefix", "pattern"].contains(key)).collect()
    }

    /// True where the table has anything that only its own origins may receive.
    pub(crate) fn has_secrets(&self) -> bool {
        !self.secret_keys().is_empty()
    }

    /// The settings that it has and that only its own origins may hear.
    pub(crate) fn secret_keys(&self) -> Vec<&'static str> {
        let mut of_headers = self.headers.iter().flat_map(|headers| headers.0.values());
        let settings = [
            ("headers", of_headers.any(|value| super::reference::refers(value) == Ok(true))),
            ("auth", self.auth.is_some()),
            ("cookies_file", self.cookies_file.is_some()),
            ("login", self.login.is_some()),
        ];
        settings.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
    }

    /// Returns the table on one line, as the one that follows `number` others.
    pub fn line(&self, number: usize) -> String {
        let written = self.written().into_iter().map(|(key, value)| format!("{key} = {value}"));
        format!("[[site]] {}: {}", number + 1, written.collect::<Vec<_>>().join(", "))
    }

    /// The key by which it sets `key`, written `section.key`; none where it leaves that as it is.
    pub(crate) fn sets(&self, key: &str) -> Option<&'static str> {
        let mut own = self.set_keys().into_iter();
        own.find(|own| PLACES.iter().any(|(name, section)| name == own && is_at(key, section, own)))
    }

    /// Writes its settings over those of `there`, which then holds where the table does; `all` has what holds for all.
    pub(crate) fn apply_to(&self, there: &mut Config, all: &Config) {
        fn put<T: Clone>(to: &mut T, from: &Option<T>) {
            from.iter().for_each(|value| to.clone_from(value));
        }
        let Config { crawl, scope, politeness, budget, fetch, identity, render, robots, recrawl, .. } = there;
        put(&mut politeness.delay_min, &self.delay_min);
        put(&mut politeness.delay_max, &self.delay_max);
        put(&mut politeness.delay_factor, &self.delay_factor);
        put(&mut politeness.crawl_delay_max, &self.crawl_delay_max);
        put(&mut politeness.crawl_delay_beyond, &self.crawl_delay_beyond);
        put(&mut politeness.connections_per_host, &self.connections_per_host);
        put(&mut budget.pages_per_host, &self.pages_per_host);
        put(&mut budget.bytes_per_host, &self.bytes_per_host);
        put(&mut robots.obey, &self.obey);
        put(&mut crawl.user_agent, &self.user_agent);
        put(&mut crawl.max_depth, &self.max_depth);
        let beside = |own: &Option<Vec<String>>, of_all: &[String]| own.as_ref().map(|own| [own, of_all].concat());
        put(&mut scope.include, &beside(&self.include, &all.scope.include));
        put(&mut scope.exclude, &beside(&self.exclude, &all.scope.exclude));
        put(&mut fetch.headers, &self.headers);
        put(&mut fetch.accept_language, &self.accept_language);
        put(&mut identity.sign, &self.sign);
        put(&mut identity.signature_agent_form, &self.signature_agent_form);
        put(&mut fetch.proxy, &self.proxy);
        put(&mut fetch.max_body, &self.max_body);
        put(&mut fetch.timeout_head, &self.timeout_head);
        put(&mut fetch.timeout_total, &self.timeout_total);
        put(&mut render.mode, &self.render);
        put(&mut render.scroll, &self.scroll);
        put(&mut render.consent, &self.consent);
        put(&mut render.click, &self.click);
        put(&mut fetch.cookies, &self.cookies);
        put(recrawl, &self.recrawl.map(|settings| all.recrawl.with(&settings)));
    }
}

/// An option whose value may be an option itself: one that is there says so, whatever its value.
mod explicit {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
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
