//! The limits of settings: values of the right type that no crawl can be run with.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::access::{Auth, Login};
use super::reference::refers;
use super::site_key::{Place, Reach, SiteKey};
use super::value::{Bytes, Workers};
use super::{Config, ConfigError, SINK, SITE, Site, SourceLine, WATCH};
use crate::container::{Keep, VERSIONS_MAX};
use crate::hours::Hours;
use crate::signature::Component;
use crate::web::expression::bounded_regex;
use crate::web::mailbox::is_mailbox;
use crate::web::mime::is_token;
use crate::web::name_server::NameServer;
use crate::web::proxy::ProxyUrl;
use crate::web::request::{is_own_field, is_secret_field};
use crate::web::secret::SecretAddress;

/// A key whose value breaks a limit.
pub(super) struct Limit {
    /// As `section.key`.
    pub key: String,
    pub problem: String,
    /// The `[[site]]` table that breaks it.
    pub site: Option<usize>,
}

impl Limit {
    /// The error, where `places` has the lines of keys and `name` stands for the whole.
    pub(crate) fn error(self, places: &HashMap<String, SourceLine>, name: &str) -> ConfigError {
        let (key, place) = match self.site {
            None => (self.key.clone(), places.get(&self.key)),
            Some(number) => {
                let table = format!("{SITE}.{number}");
                let own = Site::KEYS.iter().find(|own| own.sets(&self.key));
                let (shown, name) = match own {
                    // a table has the keys of that section as one setting
                    Some(SiteKey { place: Place::Section(_), name, .. }) => (format!("{SITE}.{}", self.key), *name),
                    Some(own) => (format!("{SITE}.{}", own.name), own.name),
                    // a key of the table itself, or one of the sections that does not go with the table
                    None => (self.key.clone(), self.key.split_once("site.").map_or("", |(_, name)| name)),
                };
                (shown, places.get(&format!("{table}.{name}")).or_else(|| places.get(&table)))
            }
        };
        let place = place.cloned().unwrap_or_else(|| SourceLine::new(name, 0));
        ConfigError::Limit { place, key, problem: self.problem }
    }
}

/// The most sitemaps that the reader of robots.txt keeps.
const SITEMAPS_MAX: usize = 1_000;

/// The most shards of a crawl in one process.
const SHARDS_MAX: usize = 256;

type Checked = Result<(), Limit>;

/// RFC 9309, section 2.5: at least so much of a robots.txt has to be read.
const ROBOTS_BYTES_MIN: Bytes = Bytes::kib(500);

/// Checks every limit; the first one broken is the answer.
pub(super) fn limits(config: &Config) -> Checked {
    of_all(config)?;
    let refers = |(name, value): (&String, &String)| (refers(value) == Ok(true)).then(|| name.clone());
    let secret = config.fetch.headers.0.iter().find_map(refers);
    let problem = |name| format!("{name} refers to a secret, which not every server may hear: write it in a [[site]]");
    secret.map_or(Ok(()), |name| require(false, "fetch.headers", problem(name)))?;
    let of_all = config.without_sites();
    let mut tables = config.site.iter().enumerate();
    tables.try_for_each(|(number, table)| site(&of_all, table).map_err(|limit| Limit { site: Some(number), ..limit }))
}

/// The limits of all settings but those of sites.
fn of_all(config: &Config) -> Checked {
    identity(config)?;
    signatures(config)?;
    crawl(config)?;
    scope(config)?;
    politeness(config)?;
    fetch(config)?;
    render(config)?;
    documents(config)?;
    kinds(config)?;
    names_and_addresses(config)?;
    stores(config)?;
    recrawl(config)?;
    sinks(config)?;
    cluster(config)
}

fn sinks(config: &Config) -> Checked {
    require((0.0..=1.0).contains(&config.feed.deletions_max), "feed.deletions_max", "write a share from 0 to 1")?;
    let share = config.feed.near_duplicates;
    let is_share = share == 0.0 || (0.5..=1.0).contains(&share);
    require(is_share, "feed.near_duplicates", "write a share from 0.5 to 1, or 0 for none")?;
    for (name, settings) in &config.sink {
        fed(config, SINK, name, settings.check().map_err(|error| error.to_string()))?;
    }
    config.watch.iter().try_for_each(|(name, watch)| fed(config, WATCH, name, watch.check()))
}

/// The table `name` of `tables`, which is fed with documents; its own check found `checked`.
fn fed(config: &Config, tables: &str, name: &str, checked: Result<(), String>) -> Checked {
    let refuse = |problem: String| Err(Limit { key: format!("{tables}.{name}"), problem, site: None });
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !name.bytes().all(is_plain) || !(1..=64).contains(&name.len()) {
        return refuse("the name must be of at most 64 letters, digits, - and _".to_owned());
    }
    checked.or_else(refuse)?;
    if !config.cluster.registry.is_empty() {
        return refuse("a crawl on many machines feeds no sinks and no watches".to_owned());
    }
    Ok(())
}

/// A table breaks a limit where the settings break one that hold where it does; `config` has no tables.
fn site(config: &Config, table: &Site) -> Checked {
    let is_whole = table.prefix.is_empty() && table.pattern.is_empty();
    let names = table.host.len() + table.domain.len();
    require(!is_whole || names > 0, "site.host", "say which URLs it holds for: by host, domain, prefix or pattern")?;
    for (key, value) in [("site.host", &table.host), ("site.domain", &table.domain)] {
        let plain = value.iter().all(|name| url::Host::parse(name).is_ok_and(|host| host.to_string() == *name));
        require(plain, key, "must be names in lower case, without scheme, port and path; xn-- names as such")?;
    }
    let is_url = |start: &String| start.starts_with("http://") || start.starts_with("https://");
    let starts =
        table.prefix.iter().all(|start| is_url(start) && url::Url::parse(start).is_ok_and(|url| url.has_host()));
    require(
        starts,
        "site.prefix",
        "must be the start of URLs up to a / at least, such as \"https://example.org/docs/\"",
    )?;
    let whole = table.prefix.iter().all(|start| start.splitn(4, '/').count() == 4);
    require(whole, "site.prefix", "must have a / behind the host, such as \"https://example.org/\"")?;
    table.pattern.iter().try_for_each(|pattern| regex("site.pattern", pattern))?;
    let of_host = table.set_keys().find(|key| key.reach == Reach::Hosts).filter(|_| !is_whole);
    if let Some(SiteKey { name, .. }) = of_host {
        let host = |start: &String| url::Url::parse(start).ok()?.host_str().map(str::to_owned);
        let host = table.prefix.iter().find_map(host).unwrap_or_else(|| "NAME".to_owned());
        let problem = format!(
            "is a setting of whole hosts, and this table holds for some of their URLs: write it into a [[site]] of its \
             own, with host = \"{host}\""
        );
        return Err(Limit { key: format!("{SITE}.{name}"), problem, site: None });
    }
    access(table, is_whole)?;
    of_all(&config.at(table))
}

/// Checks the secrets of a table: they may only be sent where it is known who receives them, so not to URLs found by a
/// pattern.
fn access(table: &Site, is_whole: bool) -> Checked {
    let wrong = |key: &str, problem: Option<String>| {
        let limit = |problem| Limit { key: format!("{SITE}.{key}"), problem, site: None };
        problem.map_or(Ok(()), |problem| Err(limit(problem)))
    };
    let by_pattern = !is_whole && !table.pattern.is_empty() && table.has_secrets();
    wrong("pattern", by_pattern.then(|| "finds URLs of any host: a table with secrets is found otherwise".to_owned()))?;
    for (name, value) in table.headers.iter().flat_map(|headers| &headers.0) {
        wrong("headers", refers(value).err().map(|problem| format!("{name}: {problem}")))?;
    }
    wrong("auth", table.auth.as_ref().and_then(Auth::problem))?;
    let logins = || table.login.iter().flat_map(|logins| &logins.0);
    wrong("login", logins().find_map(Login::problem))?;
    wrong("login", logins().find_map(|login| out_of_reach(table, login)))
}

/// Returns why the secrets of `table` never reach `login`: its URL is of a host of the table, but not one that may
/// receive secrets.
fn out_of_reach(table: &Site, login: &Login) -> Option<String> {
    let url = url::Url::parse(&login.url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let is_below = |domain: &String| host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'));
    let is_own = table.host.iter().chain(&table.domain).any(|name| name.trim_matches(['[', ']']) == host)
        || table.domain.iter().any(is_below);
    let is_origin = |start: &String| url::Url::parse(start).is_ok_and(|start| start.origin() == url.origin());
    let is_usual = url.scheme() == "https" && url.port().is_none();
    let is_out_of_reach = is_own && !is_usual && !table.prefix.iter().any(is_origin);
    is_out_of_reach.then(|| {
        let origin = url.origin().ascii_serialization();
        format!("of a host or domain only https on its usual port hears secrets: write prefix = \"{origin}/\"")
    })
}

/// The product token that `agent` starts with.
pub(super) fn agent_token(agent: &str) -> &str {
    let end = agent.find(|c: char| !c.is_ascii_alphabetic() && c != '-' && c != '_');
    &agent[..end.unwrap_or(agent.len())]
}

/// The product token of `agent`, a name alone or with a version or a comment behind it; none for any other text.
pub(super) fn whole_token(agent: &str) -> Option<&str> {
    let token = agent_token(agent);
    let is_whole = matches!(agent[token.len()..].chars().next(), None | Some('/' | ' '));
    (is_whole && !token.is_empty()).then_some(token)
}

fn regex(key: &'static str, pattern: &str) -> Checked {
    let built = bounded_regex(pattern);
    let problem = |error: regex::Error| format!("{pattern:?} is not a regular expression: {error}");
    built.map_or_else(|error| require(false, key, problem(error)), |_| Ok(()))
}

fn require(holds: bool, key: &'static str, problem: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(Limit { key: key.to_owned(), problem: problem.into(), site: None }) }
}

fn identity(config: &Config) -> Checked {
    let (agent, contact) = (&config.crawl.user_agent, &config.crawl.contact);
    // What goes into a header line must not be able to end it.
    let printable = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    require(
        printable(agent) && agent.len() <= 200,
        "crawl.user_agent",
        "write at most 200 printable ASCII characters",
    )?;
    let problem = "must start with a name of letters, - and _ (robots.txt files name it so), \
                   such as \"mybot\" or \"mybot/1.0\"";
    require(whole_token(agent).is_some(), "crawl.user_agent", problem)?;
    let bare = contact.is_empty() || contact.trim() == contact && !contact.contains(['(', ')']);
    let problem = "write a URL or an e-mail address, such as \"https://example.com/bot\"";
    require(bare && printable(contact) && contact.len() <= 200, "crawl.contact", problem)
}

fn signatures(config: &Config) -> Checked {
    let identity = &config.identity;
    let agent = &identity.signature_agent;
    let origin = url::Url::parse(agent).ok().filter(|url| url.scheme() == "https");
    let is_origin = agent.is_empty() || origin.is_some_and(|url| url.origin().ascii_serialization() == *agent);
    let problem = "must be the https origin that serves the key directory, such as \"https://bot.example\", \
                   in lower case and without a path";
    require(is_origin && agent.len() <= 300, "identity.signature_agent", problem)?;
    let is_named = identity.key_file.is_empty() || !agent.is_empty();
    require(is_named, "identity.key_file", "signs nothing that anyone can check: set identity.signature_agent too")?;
    let lifetime = (Duration::from_secs(10)..=Duration::from_secs(86_400)).contains(&identity.expires);
    require(lifetime, "identity.expires", "must be from \"10s\" to \"24h\"; clocks differ by some seconds")?;
    let binds = identity.components.iter().any(|part| matches!(part, Component::Authority | Component::TargetUri));
    let once = identity.components.iter().map(|part| part.name()).collect::<HashSet<_>>();
    require(
        binds && once.len() == identity.components.len(),
        "identity.components",
        "must have \"@authority\" or \"@target-uri\", and nothing twice",
    )?;
    let from = identity.from.is_empty() || identity.from.len() <= 300 && is_mailbox(&identity.from);
    require(from, "identity.from", "must be a mailbox, such as \"bot@example.org\" or \"My Bot <bot@example.org>\"")
}

fn crawl(config: &Config) -> Checked {
    let crawl = &config.crawl;
    let nothing = "0 would fetch nothing; leave the key out or write \"unlimited\" for no limit";
    require(crawl.max_pages != Some(0), "crawl.max_pages", nothing)?;
    require(crawl.max_bytes != Some(Bytes(0)), "crawl.max_bytes", nothing)?;
    require(crawl.max_time != Some(Duration::ZERO), "crawl.max_time", nothing)?;
    at_least(crawl.checkpoint_interval, "1s", "crawl.checkpoint_interval")?;
    let memory = crawl.memory.is_none_or(|memory| memory >= Bytes::mib(256));
    require(memory, "crawl.memory", "must be at least \"256MiB\", or \"unlimited\"")?;
    let shards = (1..=SHARDS_MAX).contains(&crawl.shards);
    require(shards, "crawl.shards", "must be from 1 to 256; the number of cores is a good choice for a large crawl")?;
    require(config.budget.pages_per_host != Some(0), "budget.pages_per_host", nothing)?;
    require(config.budget.pages_per_domain != Some(0), "budget.pages_per_domain", nothing)?;
    require(config.budget.bytes_per_host != Some(Bytes(0)), "budget.bytes_per_host", nothing)?;
    let (min, max) = (config.budget.round_pages_min, config.budget.round_pages_max);
    require(min > 0, "budget.round_pages_min", "must be at least 1; 0 would fetch nothing")?;
    require(min <= max, "budget.round_pages_max", format!("{max} is less than budget.round_pages_min, {min}"))?;
    require(config.budget.round_top_domains > 0, "budget.round_top_domains", "must be at least 1")
}

fn at_least(value: Duration, least: &'static str, key: &'static str) -> Checked {
    let bound = super::parse_duration(least).expect("limits are written as durations");
    require(value >= bound, key, format!("{value:?} is too short; write at least \"{least}\""))
}

fn scope(config: &Config) -> Checked {
    let scope = &config.scope;
    for (key, patterns) in [("scope.include", &scope.include), ("scope.exclude", &scope.exclude)] {
        for pattern in patterns {
            regex(key, pattern)?;
        }
    }
    let hops = (1..=10).contains(&scope.requisite_hops);
    require(
        hops,
        "scope.requisite_hops",
        "must be from 1 to 10; from a page to a font of a sheet that its sheet imports it is 3",
    )?;
    let length = (16..=65_000).contains(&scope.max_url_length);
    require(length, "scope.max_url_length", "must be from 16 to 65000 bytes")?;
    require(
        scope.max_links_per_page > 0,
        "scope.max_links_per_page",
        "0 would follow no link; use crawl.max_depth = 0",
    )?;
    require(scope.max_path_segments > 0, "scope.max_path_segments", "must be at least 1")?;
    require(scope.max_repeated_segments > 0, "scope.max_repeated_segments", "must be at least 1")?;
    require(
        scope.max_pages_per_text != Some(0),
        "scope.max_pages_per_text",
        "must be at least 1, or \"unlimited\"; 0 would follow no link",
    )?;
    require(scope.max_redirects <= 30, "scope.max_redirects", "must be at most 30; browsers give up after 20")?;
    let named = scope.strip_query_params.iter().all(|name| !name.is_empty() && !name.contains(['&', '=', '#', ' ']));
    require(named, "scope.strip_query_params", "must be names of parameters, without & and =")?;
    let is_name = |name: &String| !name.is_empty() && !name.contains([' ', '=', '>', '/', '"', '\'']);
    let named = scope.lazy_attributes.iter().all(is_name);
    require(named, "scope.lazy_attributes", "must be names of attributes, without blanks, quotes and =")
}

fn politeness(config: &Config) -> Checked {
    let politeness = &config.politeness;
    let (min, max) = (politeness.delay_min, politeness.delay_max);
    let problem = format!("{min:?} is more than politeness.delay_max, {max:?}");
    require(min <= max, "politeness.delay_min", problem)?;
    let factor = politeness.delay_factor;
    require((0.0..=1_000.0).contains(&factor), "politeness.delay_factor", "must be from 0 to 1000")?;
    let connections = (1..=64).contains(&politeness.connections_per_host);
    require(connections, "politeness.connections_per_host", "must be from 1 to 64; 1 is polite")?;
    let hours = Hours::read(&politeness.hours).err();
    require(hours.is_none(), "politeness.hours", hours.unwrap_or_default())?;
    let requests = politeness.requests_per_second.is_none_or(|rate| (0.001..=1e6).contains(&rate));
    require(requests, "politeness.requests_per_second", "must be from 0.001 to 1000000, or \"unlimited\"")?;
    let bytes = politeness.bytes_per_second.is_none_or(|rate| rate >= Bytes::kib(1));
    require(bytes, "politeness.bytes_per_second", "must be at least \"1KiB\", or \"unlimited\"")
}

fn fetch(config: &Config) -> Checked {
    let fetch = &config.fetch;
    let workers = !matches!(fetch.workers, Workers::Fixed(workers) if !(1..=10_000).contains(&workers));
    require(workers, "fetch.workers", "must be from 1 to 10000, or \"auto\": how many requests are in flight at once")?;
    let slow = fetch.slow_workers <= 10_000;
    require(
        slow,
        "fetch.slow_workers",
        "must be at most 10000: how many slow requests are in flight beside the others",
    )?;
    at_least(fetch.slow_after, "100ms", "fetch.slow_after")?;
    at_least(fetch.timeout_connect, "100ms", "fetch.timeout_connect")?;
    at_least(fetch.timeout_head, "100ms", "fetch.timeout_head")?;
    at_least(fetch.timeout_total, "100ms", "fetch.timeout_total")?;
    let order = fetch.timeout_connect <= fetch.timeout_total;
    require(order, "fetch.timeout_connect", "is longer than fetch.timeout_total")?;
    let body = (Bytes::kib(1)..=Bytes::gib(1)).contains(&fetch.max_body);
    require(body, "fetch.max_body", "must be from \"1KiB\" to \"1GiB\"")?;
    let spool = fetch.spool_max >= fetch.max_body;
    require(spool, "fetch.spool_max", "must be at least fetch.max_body: a whole body must fit")?;
    require(fetch.retries <= 20, "fetch.retries", "must be at most 20")?;
    ProxyUrl::parse(fetch.proxy.expose())
        .map_or_else(|error| require(false, "fetch.proxy", error.to_string()), |_| Ok(()))?;
    headers(config)?;
    require(config.robots.max_bytes >= ROBOTS_BYTES_MIN, "robots.max_bytes", "must be at least \"500KiB\" (RFC 9309)")?;
    require(config.robots.max_bytes <= Bytes::mib(64), "robots.max_bytes", "must be at most \"64MiB\"")?;
    let sitemaps = (1..=SITEMAPS_MAX).contains(&config.robots.max_sitemaps);
    require(sitemaps, "robots.max_sitemaps", "must be from 1 to 1000; robots.sitemaps = false reads none")?;
    at_least(config.robots.cache, "1m", "robots.cache")
}

fn kinds(config: &Config) -> Checked {
    let rules = crate::web::kind::Kinds::new(&config.kinds.rules);
    rules.map_or_else(|error| require(false, "kinds.rules", error.to_string()), |_| Ok(()))
}

fn documents(config: &Config) -> Checked {
    let documents = &config.documents;
    require((1..=256).contains(&documents.readers), "documents.readers", "must be from 1 to 256")?;
    require(documents.memory >= Bytes::mib(64), "documents.memory", "must be at least \"64MiB\"")?;
    at_least(documents.time, "1s", "documents.time")
}

fn render(config: &Config) -> Checked {
    let render = &config.render;
    require((1..=256).contains(&render.pages), "render.pages", "must be from 1 to 256")?;
    at_least(render.deadline, "1s", "render.deadline")?;
    require(render.memory >= Bytes::mib(64), "render.memory", "must be at least \"64MiB\"")?;
    require(render.pages_per_browser >= 1, "render.pages_per_browser", "must be at least 1")?;
    require((1..=100_000).contains(&render.max_requests), "render.max_requests", "must be from 1 to 100000")?;
    require(render.connections_per_host >= 1, "render.connections_per_host", "must be at least 1")?;
    require(render.scroll <= 10_000, "render.scroll", "must be at most 10000")?;
    require(render.cache <= Bytes::gib(16), "render.cache", "must be at most \"16GiB\"")
}

fn headers(config: &Config) -> Checked {
    let fetch = &config.fetch;
    let printable = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    let language = printable(&fetch.accept_language) && fetch.accept_language.len() <= 200;
    require(language, "fetch.accept_language", "write languages, such as \"de, en;q=0.5\"")?;
    let (key, fields) = ("fetch.headers", &fetch.headers.0);
    require(fields.len() <= 50, key, "must be at most 50")?;
    for (name, value) in fields {
        let named = name.len() <= 100 && is_token(name);
        require(named, key, format!("{name:?} is no name of a field: write letters, digits and -"))?;
        let lower = name.to_ascii_lowercase();
        let own = match lower.as_str() {
            "accept-language" => "fetch.accept_language",
            "authorization" => {
                "auth of a [[site]], or from a secret that a [[site]] refers to, such as \"Key ${NAME}\""
            }
            "cookie" => "cookies and cookies_file",
            "from" => "identity.from",
            _ => "another key, or no key at all",
        };
        let is_secret = lower == "authorization" && refers(value) == Ok(true);
        let is_made = is_own_field(&lower) || is_secret_field(&lower) || lower == "content-type";
        let is_own = is_made && !is_secret || lower == "accept-language";
        require(!is_own, key, format!("{name} cannot be set here: it is made from {own}"))?;
        let value = printable(value) && value.len() <= 8_000;
        require(value, key, format!("{name}: write at most 8000 printable ASCII characters"))?;
    }
    let lower = fields.keys().map(|name| name.to_ascii_lowercase()).collect::<HashSet<_>>();
    require(lower.len() == fields.len(), key, "has a name twice")
}

fn names_and_addresses(config: &Config) -> Checked {
    for server in &config.dns.nameservers {
        let parsed = server.parse::<NameServer>();
        parsed.map_or_else(|error| require(false, "dns.nameservers", error.to_string()), |_| Ok(()))?;
    }
    at_least(config.dns.timeout, "100ms", "dns.timeout")?;
    require(config.dns.ttl_min <= config.dns.ttl_max, "dns.ttl_min", "is more than dns.ttl_max")?;
    for range in &config.network.allow {
        let problem = format!("{range:?} is not a CIDR range; write \"127.0.0.0/8\" or \"fd00::/8\"");
        require(is_cidr(range), "network.allow", problem)?;
    }
    let problem = config.dns.hosts.problem(&config.network.allow);
    require(problem.is_none(), "dns.hosts", problem.unwrap_or_default())
}

/// True if `text` is `ADDRESS/BITS`, or an address alone.
fn is_cidr(text: &str) -> bool {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let bits_max = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.is_none_or(|bits| !bits.starts_with('+') && bits.parse::<u8>().is_ok_and(|bits| bits <= bits_max))
}

fn stores(config: &Config) -> Checked {
    let buckets = config.drum.buckets;
    let problem = format!("{buckets} is not a power of two from 1 to 4096");
    require(buckets.is_power_of_two() && buckets <= 4_096, "drum.buckets", problem)?;
    let ram = (Bytes::kib(4)..=Bytes::mib(64)).contains(&config.drum.ram_per_bucket);
    require(ram, "drum.ram_per_bucket", "must be from \"4KiB\" to \"64MiB\"")?;
    let merge = config.drum.merge_threshold >= config.drum.ram_per_bucket;
    require(merge, "drum.merge_threshold", "must be at least drum.ram_per_bucket")?;
    let memory = (Bytes::mib(1)..=Bytes::gib(16)).contains(&config.drum.merge_memory);
    require(memory, "drum.merge_memory", "must be from \"1MiB\" to \"16GiB\"")?;
    let share = (0.01..=1.0).contains(&config.drum.merge_share);
    require(share, "drum.merge_share", "must be from 0.01 to 1.0")?;
    let bandwidth = config.drum.merge_bandwidth.is_none_or(|rate| rate >= Bytes::mib(1));
    require(bandwidth, "drum.merge_bandwidth", "must be at least \"1MiB\", or \"unlimited\"")?;
    require(config.seen.lru_entries > 0, "seen.lru_entries", "must be at least 1")?;
    require(config.seen.lru_entries <= 1 << 28, "seen.lru_entries", "must be at most 268435456")?;
    require(config.seen.bloom_memory >= Bytes::kib(64), "seen.bloom_memory", "must be at least \"64KiB\"")?;
    require((1e-6..=0.5).contains(&config.seen.bloom_fpr), "seen.bloom_fpr", "must be from 0.000001 to 0.5")?;
    require(config.frontier.memory >= Bytes::mib(8), "frontier.memory", "must be at least \"8MiB\"")?;
    let hosts = (1..=1 << 20).contains(&config.frontier.active_hosts);
    require(hosts, "frontier.active_hosts", "must be from 1 to 1048576")?;
    let segment = (Bytes::mib(1)..=Bytes::gib(64)).contains(&config.container.segment_bytes);
    require(segment, "container.segment_bytes", "must be from \"1MiB\" to \"64GiB\"")?;
    let memory = config.container.digest_memory <= Bytes::gib(64);
    require(memory, "container.digest_memory", "must be at most \"64GiB\"")?;
    let memory = (Bytes::kib(64)..=Bytes::gib(64)).contains(&config.container.slot_memory);
    require(memory, "container.slot_memory", "must be from \"64KiB\" to \"64GiB\"")?;
    let keep = match config.container.keep {
        Keep::All => true,
        Keep::Versions(versions) => (1..=VERSIONS_MAX).contains(&versions),
        Keep::Age(age) => age >= Duration::from_secs(3_600),
    };
    require(keep, "container.keep", "must be \"all\", from 1 to 250 versions, or an age of at least \"1h\"")?;
    at_least(config.report.interval, "100ms", "report.interval")?;
    let log = config.report.log_bytes.is_none_or(|bytes| bytes >= Bytes::kib(64));
    require(log, "report.log_bytes", "must be at least \"64KiB\", or \"unlimited\"")?;
    listening(&config.report.metrics, "report.metrics", "127.0.0.1:9150")?;
    listening(&config.report.console, "report.console", "127.0.0.1:9151")
}

fn cluster(config: &Config) -> Checked {
    let cluster = &config.cluster;
    let is_known =
        ["file:///", "s3://", "gs://", "az://"].iter().any(|scheme| cluster.store.expose().starts_with(scheme));
    let problem = "write \"off\", or where checkpoints are shipped to: \"file:///mnt/crawls\", \"s3://bucket/crawls\", \
                   \"gs://...\" or \"az://...\"";
    require(cluster.store == "off" || is_known, "cluster.store", problem)?;
    let problem = "must be a bucket and a prefix alone, or a directory, without @, ? and #: credentials come from the \
                   environment";
    require(!cluster.store.has_secrets(), "cluster.store", problem)?;
    at_least(cluster.commit_interval, "1s", "cluster.commit_interval")?;
    at_least(cluster.behind_max, "1s", "cluster.behind_max")?;
    at_least(cluster.lease, "2s", "cluster.lease")?;
    let is_address = |member: &SecretAddress| ["http://", "https://"].iter().any(|at| member.expose().starts_with(at));
    let members = cluster.registry.iter().all(is_address);
    require(members, "cluster.registry", "write members of etcd, such as [\"http://10.0.0.1:2379\"]")?;
    let problem = "must be members of etcd without user, password and query: ETCDCTL_USER and ETCDCTL_PASSWORD of the \
                   environment say who asks";
    require(!cluster.registry.iter().any(SecretAddress::has_secrets), "cluster.registry", problem)?;
    let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let named = is_word(&cluster.name) && cluster.name.len() <= 100;
    require(named, "cluster.name", "must be at most 100 letters, digits, -, _ and .")?;
    require(cluster.weight <= 10_000, "cluster.weight", "must be at most 10000")?;
    let rate = cluster.bytes_per_second.is_none_or(|rate| rate >= Bytes::kib(64));
    require(rate, "cluster.bytes_per_second", "must be at least 64KiB, or \"unlimited\"")?;
    let keeps_all = config.container.keep == Keep::All;
    let problem = "only \"all\" can be kept where checkpoints are shipped (cluster.store)";
    require(cluster.store == "off" || keeps_all, "container.keep", problem)
}

fn recrawl(config: &Config) -> Checked {
    let recrawl = &config.recrawl;
    at_least(recrawl.min, "1m", "recrawl.min")?;
    at_least(recrawl.interval, "1m", "recrawl.interval")?;
    at_least(recrawl.gain, "1s", "recrawl.gain")?;
    at_least(recrawl.sitemap_min, "1m", "recrawl.sitemap_min")?;
    require(recrawl.min <= recrawl.max, "recrawl.min", "is more than recrawl.max")?;
    require(recrawl.sitemap_min <= recrawl.sitemap_max, "recrawl.sitemap_min", "is more than recrawl.sitemap_max")?;
    require((0.01..=1.0).contains(&recrawl.share), "recrawl.share", "must be from 0.01 to 1.0")?;
    let key = "recrawl.patterns";
    for pattern in &recrawl.patterns {
        let include = &pattern.include;
        regex(key, include)?;
        let there = recrawl.with(&pattern.settings);
        require(there.min <= there.max, key, format!("{include:?}: its min is more than its max; write both"))?;
        for duration in [pattern.settings.min, pattern.settings.interval].into_iter().flatten() {
            at_least(duration, "1m", key)?;
        }
        at_least(there.gain, "1s", key)?;
    }
    require(recrawl.patterns.len() <= 1_000, key, "must be at most 1000")
}

/// An address to listen at, such as the `usual` one, or `off`.
fn listening(address: &str, key: &'static str, usual: &str) -> Checked {
    let problem = format!("{address:?} is not an address; write {usual:?}, \"127.0.0.1:0\" for any port, or \"off\"");
    require(address == "off" || address.parse::<SocketAddr>().is_ok(), key, problem)
}
