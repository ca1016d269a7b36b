//! `[[site]]`, turned into what frontier and engine ask for.
//!
//! There is one rule: of each setting the first table counts that holds and has it. It is kept in one place
//! ([`Site::merged`]): the tables that hold become one, which is written over the settings of all ([`Config::at`]), and
//! what comes of that is compiled by the code that compiles the settings of all. Which tables hold together is a short
//! list of numbers; what a list compiles to is made once and kept.
//!
//! What is secret of a table is sent only to origins that it names ([`SiteIndex::names_origin`]). Which tables of a
//! list do that for a URL is part of what is compiled; of the others only what is no secret counts, and that is said
//! once of each table ([`withheld`]).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::secrets::Secrets;
use super::{CrawlError, treatment};
use crate::config::{Config, Cookies, Priority, Site};
use crate::contract::{CookieUse, Rank, RequestSettings, RequestSigner, Sites};
use crate::frontier::{Treatment, Treatments};
use crate::signature::Signer;
use crate::web::cookies::FileCookie;
use crate::web::expression::bounded_regex;
use crate::web::proxy::ProxyUrl;
use crate::web::scope::SiteScope;
use crate::web::site::{SiteIndex, SiteMatch, TableNumber};
use crate::web::url::CanonicalUrl;

/// Lists of tables that are kept compiled; regular expressions may hold together in any way.
const COMPILED_MAX: usize = 4_096;

/// The tables of a crawl.
#[derive(Debug)]
pub(crate) struct SiteTables {
    /// Settings that hold for all sites.
    config: Config,
    index: SiteIndex,
    usual: Arc<RequestSettings>,
    /// True if requests were made with other settings when the process began.
    is_changed: bool,
    /// Signs requests where the settings say so.
    signer: Option<Arc<Signer>>,
    delay_max: Duration,
    politeness_json: String,
    secrets: Secrets,
    /// Tables of which it was said that they keep their secrets to themselves.
    silent: Mutex<HashSet<TableNumber>>,
    compiled: Mutex<HashMap<Holding, Arc<Compiled>>>,
}

/// Tables that hold for a URL, and those of them that have secrets which it may hear.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Holding {
    tables: Vec<TableNumber>,
    confided: Vec<TableNumber>,
}

/// The settings that follow from a list of tables.
#[derive(Debug)]
struct Compiled {
    treatment: Arc<Treatment>,
    /// Settings of requests; `None` where they are the usual ones.
    request: Option<Arc<RequestSettings>>,
    rank: Rank,
    obeys: bool,
}

impl SiteTables {
    /// The tables of `config`; none where it has none and keeps no cookies, so that nothing is asked of them. Requests
    /// are signed by `signer`.
    pub(crate) fn of(config: &Config, signer: Option<Arc<Signer>>) -> Result<Option<Arc<SiteTables>>, CrawlError> {
        if config.site.is_empty() && config.fetch.cookies == Cookies::Off {
            return Ok(None);
        }
        SiteTables::made(config, signer, false).map(Some)
    }

    /// The same in a process that was started with another identity: then all requests are asked for here.
    pub(crate) fn of_new_identity(config: &Config, signer: Option<Arc<Signer>>) -> Result<Arc<SiteTables>, CrawlError> {
        SiteTables::made(config, signer, true)
    }

    fn made(config: &Config, signer: Option<Arc<Signer>>, is_changed: bool) -> Result<Arc<SiteTables>, CrawlError> {
        let (index, secrets) = (index(config)?, Secrets::of(config)?);
        let delay_max = config.site.iter().filter_map(|site| site.delay_min).max();
        Ok(Arc::new(SiteTables {
            is_changed,
            index,
            usual: Arc::new(request(config, signer.as_ref())),
            signer,
            delay_max: delay_max.unwrap_or_default(),
            politeness_json: politeness_json(config),
            config: config.clone(),
            secrets,
            silent: Mutex::default(),
            compiled: Mutex::default(),
        }))
    }

    fn of_url(&self, url: &str) -> Option<Arc<Compiled>> {
        self.compiled(self.holding(url))
    }

    fn holding(&self, url: &str) -> Holding {
        let tables = self.index.of_url(url);
        let confides = |number: &TableNumber| self.secrets.has(*number) && self.index.names_origin(*number, url);
        let confided = tables.iter().copied().filter(confides).collect();
        Holding { tables, confided }
    }

    /// Says of each table once that its secrets do not go to `url`, although it holds there.
    fn tell_withheld(&self, holding: &Holding, url: &CanonicalUrl) {
        let keeps = |number: &&TableNumber| self.secrets.has(**number) && !holding.confided.contains(number);
        for &number in holding.tables.iter().filter(keeps) {
            let is_new = self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
            if let Some(why) = withheld(&self.config, &self.index, number, url).filter(|_| is_new) {
                tracing::warn!("[[site]] {}: {why}; met at {}", usize::from(number) + 1, url.plain());
            }
        }
    }

    fn of_host(&self, host: &str) -> Option<Arc<Compiled>> {
        self.compiled(Holding { tables: self.index.of_host(host), confided: Vec::new() })
    }

    fn compiled(&self, holding: Holding) -> Option<Arc<Compiled>> {
        if holding.tables.is_empty() {
            return None;
        }
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(&holding) {
            return Some(known.clone());
        }
        let made = Arc::new(self.compile(&holding));
        if compiled.len() >= COMPILED_MAX {
            compiled.clear();
        }
        compiled.insert(holding, made.clone());
        Some(made)
    }

    fn compile(&self, holding: &Holding) -> Compiled {
        let site = merged(&self.config, &holding.tables);
        let there = self.config.at(&site);
        let mut request = request(&there, self.signer.as_ref());
        self.secrets.confide(&self.config, &holding.tables, &holding.confided, &mut request);
        Compiled {
            treatment: Arc::new(treatment::of(&there)),
            request: (request != *self.usual).then(|| Arc::new(request)),
            rank: match site.priority {
                None | Some(Priority::Normal) => Rank::Usual,
                Some(Priority::High) => Rank::At(0),
                Some(Priority::Low) => Rank::At(u8::MAX),
                Some(Priority::Rank(rank)) => Rank::At(rank),
            },
            obeys: there.robots.obey,
        }
    }
}

impl Treatments for SiteTables {
    fn of(&self, host: &str) -> Option<Arc<Treatment>> {
        Some(self.of_host(host)?.treatment.clone())
    }

    fn delay_max(&self) -> Duration {
        self.delay_max
    }

    fn as_json(&self) -> &str {
        &self.politeness_json
    }
}

impl Sites for SiteTables {
    fn usual(&self) -> Arc<RequestSettings> {
        self.usual.clone()
    }

    fn request(&self, url: &CanonicalUrl) -> Option<Arc<RequestSettings>> {
        let holding = self.holding(url.plain());
        self.tell_withheld(&holding, url);
        let of_tables = self.compiled(holding).and_then(|compiled| compiled.request.clone());
        of_tables.or_else(|| self.is_changed.then(|| self.usual.clone()))
    }

    fn cookies(&self) -> &[FileCookie] {
        &self.secrets.cookies
    }

    fn rank(&self, url: &str) -> Rank {
        self.of_url(url).map_or(Rank::Usual, |compiled| compiled.rank)
    }

    fn obeys_robots(&self, host: &str) -> Option<bool> {
        Some(self.of_host(host)?.obeys)
    }
}

/// Returns what `config` says of the delays and connections of hosts, as far as tables set any: an excerpt from which
/// `overlaid` makes the same.
fn politeness_json(config: &Config) -> String {
    let tables = config.site.iter().map(|site| site.keeping(|key| key.section() == Some("politeness")));
    let sites: Vec<Site> = tables.filter(|site| site.set_keys().next().is_some()).collect();
    match sites.is_empty() {
        true => String::new(),
        false => serde_json::json!({ "politeness": config.politeness, "site": sites }).to_string(),
    }
}

/// The tables of `config` by what they hold for.
pub fn index(config: &Config) -> Result<SiteIndex, CrawlError> {
    let tables = config.site.iter().map(|site| matches("[[site]]", site)).collect::<Result<_, _>>()?;
    Ok(SiteIndex::new(tables))
}

/// Returns why the secrets of table `number`, which holds for `url`, are not sent there; `None` where they are, or
/// where it has none.
pub(crate) fn withheld(config: &Config, index: &SiteIndex, number: TableNumber, url: &CanonicalUrl) -> Option<String> {
    let keys = config.site[usize::from(number)].secret_keys();
    if keys.is_empty() || index.names_origin(number, url.plain()) {
        return None;
    }
    let verb = if keys.len() == 1 { "is" } else { "are" };
    let start = url.join("/").map_or_else(|_| url.origin(), |start| start.plain().to_owned());
    Some(format!(
        "{} {verb} not sent there: of a host or domain only https on its usual port hears secrets; write prefix = \
         \"{start}\"",
        keys.join(" and ")
    ))
}

/// `config` as it holds where the tables with these numbers do.
pub(crate) fn overlaid(config: &Config, numbers: &[TableNumber]) -> Config {
    config.at(&merged(config, numbers))
}

/// Returns the tables with these numbers as one.
fn merged(config: &Config, numbers: &[TableNumber]) -> Site {
    Site::merged(&numbers.iter().map(|&number| &config.site[usize::from(number)]).collect::<Vec<_>>())
}

/// Returns the rules for the URLs that a table holds for.
pub(super) fn matches(key: &str, site: &Site) -> Result<Vec<SiteMatch>, CrawlError> {
    let bare = |name: &String| Box::from(name.trim_matches(['[', ']']));
    let hosts = site.host.iter().map(|name| Ok(SiteMatch::Host(bare(name))));
    let domains = site.domain.iter().map(|name| Ok(SiteMatch::Domain(bare(name))));
    let prefixes = site.prefix.iter().map(|start| {
        let start = CanonicalUrl::parse(start);
        let start = start.map_err(|error| CrawlError::Usage(format!("{key}: prefix: {error}")))?;
        Ok(SiteMatch::Prefix { host: start.host().trim_matches(['[', ']']).into(), start: start.as_str().into() })
    });
    let patterns = site.pattern.iter().map(|pattern| {
        let regex = bounded_regex(pattern);
        regex.map(SiteMatch::Pattern).map_err(|error| CrawlError::Usage(format!("{key}: pattern: {error}")))
    });
    hosts.chain(domains).chain(prefixes).chain(patterns).collect()
}

/// Returns what the tables say of the scope.
pub(super) fn scopes(config: &Config) -> Result<Vec<SiteScope>, CrawlError> {
    let scope = |site: &Site| {
        let (include, exclude, max_depth) = (site.include.clone(), site.exclude.clone(), site.max_depth);
        Ok(SiteScope { matches: matches("[[site]]", site)?, include, exclude, max_depth })
    };
    config.site.iter().map(scope).collect()
}

/// Returns the settings of requests by the sections of `config`, signed by `signer` where they say so.
pub(super) fn request(config: &Config, signer: Option<&Arc<Signer>>) -> RequestSettings {
    let (fetch, identity) = (&config.fetch, &config.identity);
    let from = (!identity.from.is_empty()).then(|| ("from".to_owned(), identity.from.clone()));
    let signer = signer.filter(|_| identity.sign).map(|signer| signer.in_form(identity.signature_agent_form));
    let language =
        (!fetch.accept_language.is_empty()).then(|| ("accept-language".to_owned(), fetch.accept_language.clone()));
    let more = fetch.headers.0.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    RequestSettings {
        user_agent: config.user_agent(),
        agent_token: config.agent_token().to_owned(),
        fields: from.into_iter().chain(language).chain(more).collect(),
        secrets: Vec::new(),
        signer: signer.map(|signer| Arc::new(signer) as Arc<dyn RequestSigner>),
        cookies: if fetch.cookies == Cookies::Session { CookieUse::Kept } else { CookieUse::Off },
        redacts: config.container.redact_secrets,
        logins: Vec::new(),
        body_max: fetch.max_body.as_usize(),
        robots_max: config.robots.max_bytes.as_usize(),
        timeout_head: fetch.timeout_head,
        timeout_total: fetch.timeout_total,
        rendering: super::rendering::mode(config),
        scrolls: u32::try_from(config.render.scroll).unwrap_or(u32::MAX),
        consent: config.render.consent,
        clicks: config.render.click.clone(),
        // one that cannot be read was refused with the settings
        proxy: ProxyUrl::parse(fetch.proxy.expose()).ok().flatten(),
    }
}

/// The longest body that any request reads.
pub(super) fn body_max(config: &Config) -> usize {
    let of_sites = config.site.iter().filter_map(|site| site.max_body);
    of_sites.chain([config.fetch.max_body, config.robots.max_bytes]).max().map_or(0, |bytes| bytes.as_usize())
}

#[cfg(test)]
mod tests;
