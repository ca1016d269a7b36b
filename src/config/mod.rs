//! The configuration: every setting of a crawl, with its default, read from TOML.
//!
//! It promises that a [`Config`] that was loaded is one that can be run: names are known, types fit, limits hold.
//! A key that is not known is an error, never ignored: a misspelt `max_page` would otherwise crawl without a limit.
//! Everything else is refused with the file, the line, the key and what to write instead.

#[macro_use]
mod words;
#[macro_use]
mod section;
#[macro_use]
mod site_key;
mod access;
mod check;
mod error;
mod headers;
mod hosts;
mod kinds;
mod machine;
mod memory;
mod nearest;
mod recrawl;
pub(crate) mod reference;
mod sections;
mod site;
mod value;
mod watch;
mod written;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

pub use access::{Auth, Cookies, Login};
pub use error::{ConfigError, SourceLine};
pub use headers::Headers;
pub use hosts::Hosts;
pub use kinds::{KindRetries, Kinds};
pub use recrawl::{Recrawl, RecrawlChange, RecrawlMode, RecrawlPattern};
pub use sections::{
    Budget, BySupporters, Cluster, Container, Crawl, CrawlDelayBeyond, Dns, Documents, Drum, Feed, Fetch, Frontier,
    Identity, LogFormat, Network, Pictures, Politeness, ReadableBy, Render, Report, Robots, Scope, Seen,
};
pub use site::{Priority, Site};
pub use value::{Bytes, Workers};
pub(crate) use value::{parse_bytes, parse_duration, parse_keep, show_duration};
pub use watch::{Digest, MessageForm, Watch};
pub use written::{Origin, Origins};

pub(crate) use nearest::nearest;
use section::Section;

use crate::sink;

/// Every setting of a crawl, a struct for each section of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Name of the crawler, and limits of the crawl.
    pub crawl: Crawl,
    /// Signatures and names by which servers can recognise this crawler.
    #[serde(default)]
    pub identity: Identity,
    /// Rules for the URLs that belong to the crawl.
    pub scope: Scope,
    /// Delays and rates that spare servers.
    pub politeness: Politeness,
    /// Most that a host or domain may take.
    pub budget: Budget,
    /// Limits and options of fetching a page.
    pub fetch: Fetch,
    /// Pages that are rendered by a browser, and the limits of that.
    #[serde(default)]
    pub render: Render,
    /// Documents that are no pages, and are read as if they were.
    #[serde(default)]
    pub documents: Documents,
    /// Treatment of robots.txt and of what it names.
    pub robots: Robots,
    /// Treatment of answers that are no content.
    #[serde(default)]
    pub kinds: Kinds,
    /// Resolution of names to addresses.
    pub dns: Dns,
    /// Addresses outside of the public internet that may be fetched.
    pub network: Network,
    /// The stores of URLs seen, robots and DNS.
    pub drum: Drum,
    /// Memory in front of the stores: the LRU and the Bloom filter.
    pub seen: Seen,
    /// The queue.
    pub frontier: Frontier,
    /// The page store.
    pub container: Container,
    /// Visits that keep the archive fresh.
    #[serde(default)]
    pub recrawl: Recrawl,
    /// Settings by which the crawl survives its machine, and shares it with others.
    #[serde(default)]
    pub cluster: Cluster,
    /// Output while the crawl runs: logs, metrics, console.
    pub report: Report,
    /// The changes feed: documents as upserts and deletions.
    #[serde(default)]
    pub feed: Feed,
    /// Targets that get the documents of the crawl, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sink: BTreeMap<String, sink::Settings>,
    /// Rules by which people are told of changes, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub watch: BTreeMap<String, Watch>,
    /// Settings for some hosts or URLs only, in the order in which they count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub site: Vec<Site>,
}

/// Applies `$act` to every section of a [`Config`], each under its name.
macro_rules! each_section {
    ($config:expr, $name:ident, $act:expr) => {
        each_section!(@ $config, $name, $act, crawl, identity, scope, politeness, budget, fetch, render, documents,
            robots, kinds, dns, network, drum, seen, frontier, container, recrawl, cluster, report, feed)
    };
    (@ $config:expr, $name:ident, $act:expr, $($section:ident),*) => {
        match $name {
            $(stringify!($section) => Some($act(&mut $config.$section)),)*
            _ => None,
        }
    };
}

use each_section;

/// The name of the tables for single sites.
const SITE: &str = "site";
/// The names of the tables of sinks and watches.
const SINK: &str = "sink";
const WATCH: &str = "watch";

/// Names of the sections, in the order of the file.
const SECTIONS: [&str; 20] = [
    "crawl",
    "identity",
    "scope",
    "politeness",
    "budget",
    "fetch",
    "render",
    "documents",
    "robots",
    "kinds",
    "dns",
    "network",
    "drum",
    "seen",
    "frontier",
    "container",
    "recrawl",
    "cluster",
    "report",
    "feed",
];

impl Config {
    /// The configuration in the file at `path`, or the defaults where there is no path.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        Ok(Config::load_with_origins(path)?.0)
    }

    /// As [`load`](Config::load), and where each value comes from.
    pub(crate) fn load_with_origins(path: Option<&Path>) -> Result<(Config, Origins), ConfigError> {
        let Some(path) = path else { return Ok((Config::default(), Origins::default())) };
        let name = path.display().to_string();
        let read = |source| ConfigError::Read { name: name.clone(), source };
        let content = fs::read(path).map_err(read)?;
        let text = std::str::from_utf8(&content).map_err(|e| {
            let line = 1 + content[..e.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            ConfigError::Syntax { place: SourceLine::new(&name, line), problem: "not UTF-8 text".to_owned() }
        })?;
        Config::parse_with_origins(text, &name)
    }

    /// The configuration written in `text`; errors call the file `name`.
    pub fn parse(text: &str, name: &str) -> Result<Config, ConfigError> {
        Ok(Config::parse_with_origins(text, name)?.0)
    }

    /// As [`parse`](Config::parse), and where each value comes from.
    pub(crate) fn parse_with_origins(text: &str, name: &str) -> Result<(Config, Origins), ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = SourceText { text, name };
        let table = DeTable::parse(text).map_err(|e| ConfigError::Syntax {
            place: lines.place(e.span().map_or(0, |span| span.start)),
            problem: e.message().to_owned(),
        })?;
        let mut config = Config::default();
        let mut places = HashMap::new();
        for (section, content) in table.get_ref() {
            let section_name: &str = section.get_ref();
            if section_name == SITE {
                config.site = read_sites(content, &lines, &mut places)?;
                continue;
            }
            if section_name == SINK {
                config.sink = read_named(SINK, content, &lines, &mut places)?;
                continue;
            }
            if section_name == WATCH {
                config.watch = read_named(WATCH, content, &lines, &mut places)?;
                continue;
            }
            if section_name == kinds::KIND {
                let mut rules = DeTable::new();
                rules.insert(Spanned::new(section.span(), "rules".into()), content.clone());
                read_section(&mut config.kinds, "kinds", &rules, &lines, &mut places)?;
                continue;
            }
            let is_tables = |list: &toml::de::DeArray<'_>| list.iter().all(|item| item.get_ref().is_table());
            let Some(content) = content.get_ref().as_table() else {
                if !SECTIONS.contains(&section_name) && content.get_ref().as_array().is_some_and(is_tables) {
                    return Err(lines.unknown_section(section));
                }
                return Err(lines.loose_key(section, content));
            };
            let mut act = |target: &mut dyn Section| read_section(target, section_name, content, &lines, &mut places);
            each_section!(config, section_name, act).unwrap_or_else(|| Err(lines.unknown_section(section)))?;
        }
        let derived = memory::derive(&mut config, |key| places.contains_key(key));
        check::limits(&config).map_err(|limit| limit.error(&places, name))?;
        Ok((config, Origins::of_file(places, derived)))
    }

    /// Checks the limits again, after settings were changed in code.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check::limits(self).map_err(|limit| limit.error(&HashMap::new(), "the configuration"))
    }

    /// Returns the value of `User-Agent`: `NAME/VERSION (+CONTACT)`.
    pub(crate) fn user_agent(&self) -> String {
        let mut agent = self.crawl.user_agent.clone();
        if !agent.contains('/') {
            agent.push('/');
            agent.push_str(env!("CARGO_PKG_VERSION"));
        }
        if !self.crawl.contact.is_empty() {
            agent.push_str(&format!(" (+{})", self.crawl.contact));
        }
        agent
    }

    /// Returns these settings as they are written down and passed on: without the secrets in addresses.
    pub fn without_secrets(&self) -> Config {
        self.hiding_secrets().0
    }

    /// Returns the keys whose values are written without a part that is secret, as `section.key` and
    /// `site.NUMBER.key`.
    pub(crate) fn keys_with_secrets(&self) -> HashSet<String> {
        self.hiding_secrets().1
    }

    fn hiding_secrets(&self) -> (Config, HashSet<String>) {
        let (mut config, mut keys) = (self.clone(), HashSet::new());
        for name in SECTIONS {
            let act = |section: &mut dyn Section| section.hide_secrets();
            let hidden = each_section!(config, name, act).unwrap_or_default();
            keys.extend(hidden.into_iter().map(|key| format!("{name}.{key}")));
        }
        for (number, site) in config.site.iter_mut().enumerate() {
            keys.extend(site.hide_secrets().into_iter().map(|key| format!("{SITE}.{number}.{key}")));
        }
        for (name, sink) in &mut config.sink {
            if sink.url.has_secrets() {
                sink.url = sink.url.without_secrets();
                keys.insert(format!("{SINK}.{name}.url"));
            }
        }
        (config, keys)
    }

    /// Returns the settings that hold for all sites: without the `[[site]]` tables.
    pub(crate) fn without_sites(&self) -> Config {
        let Config {
            crawl,
            identity,
            scope,
            politeness,
            budget,
            fetch,
            render,
            documents,
            robots,
            kinds,
            dns,
            network,
            drum,
            seen,
            frontier,
            container,
            recrawl,
            cluster,
            report,
            feed,
            sink,
            watch,
            site: _,
        } = self;
        Config {
            crawl: crawl.clone(),
            identity: identity.clone(),
            scope: scope.clone(),
            politeness: politeness.clone(),
            budget: budget.clone(),
            fetch: fetch.clone(),
            render: render.clone(),
            documents: documents.clone(),
            robots: robots.clone(),
            kinds: kinds.clone(),
            dns: dns.clone(),
            network: network.clone(),
            drum: drum.clone(),
            seen: seen.clone(),
            frontier: frontier.clone(),
            container: container.clone(),
            recrawl: recrawl.clone(),
            cluster: cluster.clone(),
            report: report.clone(),
            feed: feed.clone(),
            sink: sink.clone(),
            watch: watch.clone(),
            site: Vec::new(),
        }
    }

    /// The product token of a user agent that a crawl would take; none where it would refuse it.
    pub(crate) fn token_of(user_agent: &str) -> Option<&str> {
        check::whole_token(user_agent)
    }

    /// The product token that robots.txt files name: the letters, `-` and `_` that `user_agent` starts with.
    pub(crate) fn agent_token(&self) -> &str {
        check::agent_token(&self.crawl.user_agent)
    }

    /// Every key there is, as `section.key`, in the order of the file.
    pub(crate) fn keys() -> Vec<String> {
        let mut config = Config::default();
        let mut keys = Vec::new();
        for name in SECTIONS {
            let act = |section: &mut dyn Section| section.keys();
            for key in each_section!(config, name, act).unwrap_or_default() {
                keys.push(format!("{name}.{key}"));
            }
        }
        keys
    }
}

/// Reads the `[[site]]` tables. The places of their keys are `site.NUMBER.KEY`, numbers from 0.
fn read_sites(
    content: &Spanned<DeValue<'_>>,
    lines: &SourceText<'_>,
    places: &mut HashMap<String, SourceLine>,
) -> Result<Vec<Site>, ConfigError> {
    let wrong = || ConfigError::Syntax {
        place: lines.place(content.span().start),
        problem: "sites are tables: write [[site]] and the keys of one below".to_owned(),
    };
    let tables = content.get_ref().as_array().ok_or_else(wrong)?;
    let mut sites = Vec::new();
    for table in tables.iter() {
        let mut site = Site::default();
        let mut own = HashMap::new();
        read_section(&mut site, SITE, table.get_ref().as_table().ok_or_else(wrong)?, lines, &mut own)?;
        let number = sites.len();
        let placed = own.into_iter().map(|(key, place)| (format!("{SITE}.{number}.{}", &key[SITE.len() + 1..]), place));
        places.extend(placed);
        places.insert(format!("{SITE}.{number}"), lines.place(table.span().start));
        sites.push(site);
    }
    Ok(sites)
}

/// Reads the `[tables.NAME]`. The places of their names are `tables.NAME`.
fn read_named<T: DeserializeOwned>(
    tables: &str,
    content: &Spanned<DeValue<'_>>,
    lines: &SourceText<'_>,
    places: &mut HashMap<String, SourceLine>,
) -> Result<BTreeMap<String, T>, ConfigError> {
    let wrong = |at: usize, problem: String| ConfigError::Syntax { place: lines.place(at), problem };
    let shape = || wrong(content.span().start, format!("write [{tables}.NAME] and its keys below"));
    let mut all = BTreeMap::new();
    for (name, table) in content.get_ref().as_table().ok_or_else(shape)? {
        if !table.get_ref().is_table() {
            return Err(shape());
        }
        let settings = T::deserialize(ValueDeserializer::from(table.clone())).map_err(|error| {
            let at = error.span().map_or(table.span().start, |span| span.start);
            wrong(at, format!("{tables}.{}: {}", name.get_ref(), error.message()))
        })?;
        places.insert(format!("{tables}.{}", name.get_ref()), lines.place(name.span().start));
        all.insert(name.get_ref().to_string(), settings);
    }
    Ok(all)
}

/// Reads the keys of one `[section]` into `target`.
fn read_section(
    target: &mut dyn Section,
    name: &str,
    content: &DeTable<'_>,
    lines: &SourceText<'_>,
    places: &mut HashMap<String, SourceLine>,
) -> Result<(), ConfigError> {
    for (key, value) in content {
        let place = lines.place(key.span().start);
        let full = format!("{name}.{}", key.get_ref());
        match target.set(key.get_ref(), value.get_ref()) {
            None => return Err(lines.unknown_key(place, name, key.get_ref(), &target.keys())),
            Some(Ok(())) => drop(places.insert(full, place)),
            Some(Err(mismatch)) => {
                let example = format!("{} = {}", key.get_ref(), mismatch.example);
                let is_hidden = mismatch.is_secret && value.get_ref().is_str();
                let found = if is_hidden { "a string".to_owned() } else { describe(value.get_ref()) };
                return Err(ConfigError::WrongType { place, key: full, found, expected: mismatch.expected, example });
            }
        }
    }
    Ok(())
}

/// A value as an error names it: its type, and itself where it is short.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.len() <= 60 => format!("the string {text:?}"),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(value) => format!("{value}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => format!("a {}", other.type_str()),
    }
}

/// The text being read: turns positions into lines, and strangers into errors.
struct SourceText<'a> {
    text: &'a str,
    name: &'a str,
}

impl SourceText<'_> {
    fn place(&self, offset: usize) -> SourceLine {
        let before = self.text.as_bytes().iter().take(offset);
        SourceLine::new(self.name, 1 + before.filter(|&&byte| byte == b'\n').count())
    }

    fn unknown_key(&self, place: SourceLine, section: &str, key: &str, known: &[&'static str]) -> ConfigError {
        let near = nearest(key, known.iter().copied()).map(|near| format!("{section}.{near}"));
        // A right key in the wrong section is as common as a misspelt one.
        let elsewhere = || Config::keys().into_iter().find(|full| full.split('.').nth(1) == Some(key));
        let all = Config::keys();
        let names = || nearest(key, all.iter().filter_map(|full| full.split('.').nth(1)));
        let anywhere = || names().and_then(|near| all.iter().find(|full| full.ends_with(&format!(".{near}"))).cloned());
        let nearest = elsewhere().or(near).or_else(anywhere);
        ConfigError::UnknownKey { place, key: format!("{section}.{key}"), nearest }
    }

    fn unknown_section(&self, section: &Spanned<toml::de::DeString<'_>>) -> ConfigError {
        ConfigError::UnknownSection {
            place: self.place(section.span().start),
            section: section.get_ref().to_string(),
            nearest: nearest(section.get_ref(), SECTIONS.into_iter().chain([SITE, SINK, WATCH, kinds::KIND]))
                .map(str::to_owned),
        }
    }

    /// A key before the first `[section]`.
    fn loose_key(&self, key: &Spanned<toml::de::DeString<'_>>, _value: &Spanned<DeValue<'_>>) -> ConfigError {
        let place = self.place(key.span().start);
        if SECTIONS.contains(&key.get_ref().as_ref()) {
            let section = key.get_ref();
            let problem = format!("{section} is a section: write [{section}] and its keys below");
            return ConfigError::Syntax { place, problem };
        }
        let all = Config::keys();
        let near = nearest(key.get_ref(), all.iter().filter_map(|full| full.split('.').nth(1)));
        let full = near.and_then(|near| all.iter().find(|full| full.ends_with(&format!(".{near}"))));
        ConfigError::UnknownKey { place, key: key.get_ref().to_string(), nearest: full.cloned() }
    }
}

#[cfg(test)]
mod tests;
