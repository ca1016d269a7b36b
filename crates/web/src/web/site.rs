//! The search for the tables of sites of an operator that hold for a URL.
//!
//! A table names hosts, domains, starts of URLs, or regular expressions ([`SiteMatch`]); all that hold for a URL are
//! found in their order ([`SiteIndex::of_url`]). What can hold for URLs of a host is found by the host's name and the
//! names above it, so tables of other hosts cost nothing, however many there are; only regular expressions are looked
//! at for every host.

use std::collections::HashMap;

use regex::Regex;

/// The set of URLs that a table holds for.
#[derive(Clone, Debug)]
pub enum SiteMatch {
    /// URLs of a host, on any port.
    Host(Box<str>),
    /// URLs of a name and of all names below it.
    Domain(Box<str>),
    /// URLs that start with a text, whose host is given as well.
    Prefix {
        /// The host.
        host: Box<str>,
        /// The start, in the fetch form of URLs.
        start: Box<str>,
    },
    /// URLs that a regular expression matches anywhere.
    Pattern(Regex),
}

impl SiteMatch {
    /// True if it holds for `url`, in the fetch form.
    pub fn holds_for(&self, url: &str) -> bool {
        self.holds_at(url, host_of(url))
    }

    /// The same of a URL whose host is `host`.
    fn holds_at(&self, url: &str, host: &str) -> bool {
        match self {
            SiteMatch::Prefix { start, .. } => url.starts_with(&**start),
            SiteMatch::Pattern(regex) => regex.is_match(url),
            of_host => of_host.holds_for_host(host),
        }
    }

    /// True if it holds for everything of `host`.
    fn holds_for_host(&self, host: &str) -> bool {
        match self {
            SiteMatch::Host(name) => **name == *host,
            SiteMatch::Domain(name) => names_above(host).any(|above| above == &**name),
            SiteMatch::Prefix { .. } | SiteMatch::Pattern(_) => false,
        }
    }

    /// True if `url`, in the fetch form, is of an origin that it names, so that it may get a secret: for a prefix the
    /// prefix's origin, for a host or domain only the https one on the usual port.
    fn names_origin_of(&self, url: &str, host: &str) -> bool {
        let is_usual = || url.starts_with("https://") && !has_port(url);
        match self {
            SiteMatch::Prefix { .. } => self.holds_at(url, host),
            SiteMatch::Host(_) | SiteMatch::Domain(_) => self.holds_for_host(host) && is_usual(),
            SiteMatch::Pattern(_) => false,
        }
    }

    /// The name by which it is found; none where any host may have such URLs.
    fn name(&self) -> Option<&str> {
        match self {
            SiteMatch::Host(name) | SiteMatch::Domain(name) => Some(name),
            SiteMatch::Prefix { host, .. } => Some(host),
            SiteMatch::Pattern(_) => None,
        }
    }
}

/// Host and port of a URL in the fetch form, as they are there.
fn host_and_port(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// True if a URL in the fetch form names a port.
fn has_port(url: &str) -> bool {
    let text = host_and_port(url);
    text.rsplit_once(']').map_or(text, |(_, port)| port).contains(':')
}

/// `host`, and each name above it: of `a.b.example` that, `b.example` and `example`.
fn names_above(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |name| {
        name.split_once('.').map(|(_, above)| above).filter(|name| !name.is_empty())
    })
}

/// The host of a URL in the fetch form; of an IPv6 address without its brackets.
fn host_of(url: &str) -> &str {
    let text = host_and_port(url);
    match text.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => text.split(':').next().unwrap_or(text),
    }
}

/// The number of a table, in their order.
pub type TableNumber = u16;

/// Tables by what they hold for.
#[derive(Clone, Debug, Default)]
pub struct SiteIndex {
    tables: Vec<Vec<SiteMatch>>,
    by_name: HashMap<Box<str>, Vec<TableNumber>>,
    of_any_host: Vec<TableNumber>,
}

impl SiteIndex {
    /// Tables in the order in which they count, each with the alternatives that it holds for.
    pub fn new(tables: Vec<Vec<SiteMatch>>) -> SiteIndex {
        let mut index = SiteIndex::default();
        for (number, alternatives) in (0..).zip(&tables) {
            for alternative in alternatives {
                let list = match alternative.name() {
                    Some(name) => index.by_name.entry(name.into()).or_default(),
                    None => &mut index.of_any_host,
                };
                if list.last() != Some(&number) {
                    list.push(number);
                }
            }
        }
        index.tables = tables;
        index
    }

    /// True if there is no table.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The tables that hold for `url`, in the fetch form, in order.
    pub fn of_url(&self, url: &str) -> Vec<TableNumber> {
        let host = host_of(url);
        self.holding(self.near(host), |alternative| alternative.holds_at(url, host))
    }

    /// True if table `number` names the origin of `url`, in the fetch form, so that it may get what is secret there.
    pub fn names_origin(&self, number: TableNumber, url: &str) -> bool {
        let host = host_of(url);
        self.tables[usize::from(number)].iter().any(|alternative| alternative.names_origin_of(url, host))
    }

    /// The tables that hold for everything of `host`, in order.
    pub fn of_host(&self, host: &str) -> Vec<TableNumber> {
        self.holding(self.near(host), |alternative| alternative.holds_for_host(host))
    }

    /// The tables that may hold for URLs of `host`, each once or more.
    fn near(&self, host: &str) -> Vec<TableNumber> {
        let mut near = self.of_any_host.clone();
        names_above(host).filter_map(|name| self.by_name.get(name)).for_each(|named| near.extend(named));
        near
    }

    fn holding(&self, mut near: Vec<TableNumber>, holds: impl Fn(&SiteMatch) -> bool) -> Vec<TableNumber> {
        near.sort_unstable();
        near.dedup();
        near.retain(|&number| self.tables[usize::from(number)].iter().any(&holds));
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(text: &str) -> SiteMatch {
        match text.split_once(' ').unwrap() {
            ("host", name) => SiteMatch::Host(name.into()),
            ("domain", name) => SiteMatch::Domain(name.into()),
            ("prefix", start) => SiteMatch::Prefix { host: host_of(start).into(), start: start.into() },
            (_, regex) => SiteMatch::Pattern(Regex::new(regex).unwrap()),
        }
    }

    const KINDS: [&str; 14] = [
        "host example",
        "host a.example",
        "host b.a.example",
        "host 127.0.0.1",
        "domain example",
        "domain a.example",
        "domain x.example",
        "domain 0.1",
        "prefix http://a.example/",
        "prefix http://a.example/p/",
        "prefix https://a.example/",
        "prefix http://b.a.example:8080/",
        "pattern /p/",
        "pattern [.]a[.]example/.*q$",
    ];

    #[test]
    fn the_tables_that_hold_are_those_that_a_look_at_each_of_them_finds() {
        let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(11);
        println!("SEED={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let hosts = ["example", "a.example", "b.a.example", "aa.example", "x.example", "127.0.0.1", "other.test"];
        let paths = ["/", "/p/", "/p/q", "/q", ":8080/", ":8080/p/q"];
        for _ in 0..2_000 {
            let table = |random: &mut fastrand::Rng| {
                (0..random.usize(1..4)).map(|_| matched(KINDS[random.usize(..KINDS.len())])).collect::<Vec<_>>()
            };
            let tables: Vec<_> = (0..random.usize(..8)).map(|_| table(&mut random)).collect();
            let index = SiteIndex::new(tables.clone());
            let host = hosts[random.usize(..hosts.len())];
            let scheme = if random.bool() { "http" } else { "https" };
            let url = format!("{scheme}://{host}{}", paths[random.usize(..paths.len())]);
            let plain = |holds: &dyn Fn(&SiteMatch) -> bool| {
                let numbered = (0..).zip(&tables).filter(|(_, table)| table.iter().any(holds));
                numbered.map(|(number, _)| number).collect::<Vec<TableNumber>>()
            };
            assert_eq!(index.of_url(&url), plain(&|alternative| alternative.holds_for(&url)), "{url} {tables:?}");
            assert_eq!(
                index.of_host(host),
                plain(&|alternative| alternative.holds_for_host(host)),
                "{host} {tables:?}"
            );
        }
    }

    #[test]
    fn the_host_of_a_url_is_found_without_parsing_it() {
        for (url, host) in [
            ("http://a.example/x?y", "a.example"),
            ("https://a.example:8443?y", "a.example"),
            ("http://me:secret@a.example:81/@", "a.example"),
            ("http://[::1]:8080/", "::1"),
        ] {
            assert_eq!(host_of(url), host);
        }
    }

    #[test]
    fn secrets_are_for_origins_that_are_named() {
        let index = SiteIndex::new(vec![
            vec![matched("host a.example")],
            vec![matched("domain example"), matched("prefix http://b.example:8080/api/")],
            vec![matched("pattern a[.]example")],
        ]);
        for (url, hears) in [
            ("https://a.example/x?y=:1", [true, true, false]),
            ("http://a.example/", [false, false, false]),
            ("https://a.example:8443/", [false, false, false]),
            ("https://b.example/", [false, true, false]),
            ("http://b.example:8080/api/1", [false, true, false]),
            ("http://b.example:8080/other", [false, false, false]),
            ("https://evil.test/?https://a.example/", [false, false, false]),
        ] {
            assert_eq!([0, 1, 2].map(|number| index.names_origin(number, url)), hears, "{url}");
        }
    }

    #[test]
    fn a_domain_holds_for_the_names_below_it_and_no_others() {
        let domain = matched("domain a.example");
        for (host, holds) in [
            ("a.example", true),
            ("b.a.example", true),
            ("aa.example", false),
            ("example", false),
            ("a.example.x", false),
        ] {
            assert_eq!(domain.holds_for_host(host), holds, "{host}");
        }
    }
}
