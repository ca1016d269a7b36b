//! Behaviour of sites that a crawler cannot follow, so that pages are missing although nothing failed. It is reported
//! once for each host.
//!
//! Bounded, whatever the web does: a fixed number of hosts of each kind is kept by name, the others are counted. The
//! record lasts as long as the process: a crawl that goes on later reports what it meets itself.
//!
//! Bounded, whatever the web does: this many hosts of each kind are named, the others are counted. Of the life of the
//! process: a crawl that goes on reports what it meets itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::AddAssign;

use crate::text::escape::Escaped;
use crate::text::figures::count;

/// Hosts of each kind that are named.
const HOSTS_TOLD: usize = 16;
/// Names of hosts of each kind that the closing lines show.
const HOSTS_SHOWN: usize = 3;

/// A kind of site that shows less to a crawler than to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Oddity {
    /// A redirect to the same URL, or to the page before it, with a cookie.
    CookieWall,
    /// A seed answers that it wants a name and a password.
    Login,
    /// Its pages have hardly any link or text beside scripts.
    Scripts,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Oddity::CookieWall => "cookie wall",
            Oddity::Login => "login",
            Oddity::Scripts => "needs scripts",
        })
    }
}

impl Oddity {
    /// Returns what the oddity means for the crawl.
    fn meaning(self) -> &'static str {
        match self {
            Oddity::CookieWall => {
                "a redirect to itself that sets a cookie; without cookies = \"session\" none is sent back, so the \
                 pages behind it are missing"
            }
            Oddity::Login => {
                "a seed that requires a user name and password; without auth in a [[site]] the pages behind it are \
                 missing"
            }
            Oddity::Scripts => {
                "hardly any link or text beside scripts; scripts are not run, so the content that they produce is \
                 missing (a sitemap may list it, and render.mode = \"needed\" has a browser run them)"
            }
        }
    }
}

/// The oddities that were met.
#[derive(Clone, Debug, Default)]
pub struct Oddities {
    met: BTreeMap<Oddity, Met>,
}

#[derive(Clone, Debug, Default)]
struct Met {
    urls: u64,
    hosts: BTreeSet<Box<str>>,
}

impl Oddities {
    /// Counts `url` of `host`; where that host is news, what to say of it.
    pub fn note(&mut self, oddity: Oddity, host: &str, url: &str) -> Option<String> {
        let met = self.met.entry(oddity).or_default();
        met.urls += 1;
        if met.hosts.len() >= HOSTS_TOLD || !met.hosts.insert(host.into()) {
            return None;
        }
        Some(format!("{oddity}: {}: {}", Escaped(url), oddity.meaning()))
    }

    /// True where `oddity` was met on one host at most: the first is a warning, the others are information.
    pub fn is_first(&self, oddity: Oddity) -> bool {
        self.met.get(&oddity).is_none_or(|met| met.hosts.len() <= 1)
    }

    /// Names and values of the closing lines.
    pub fn rows(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.met.iter().map(|(oddity, met)| {
            let hosts = met.hosts.iter().take(HOSTS_SHOWN).map(|host| Escaped(host).to_string()).collect::<Vec<_>>();
            let more = if met.hosts.len() > HOSTS_SHOWN { " and others" } else { "" };
            let pages = if met.urls == 1 { "page" } else { "pages" };
            let (urls, hosts) = (count(met.urls), hosts.join(", "));
            (format!("warning: {oddity}"), format!("{urls} {pages} of {hosts}{more}: {}", oddity.meaning()))
        })
    }
}

/// Adds the oddities of another shard.
impl AddAssign<&Oddities> for Oddities {
    fn add_assign(&mut self, other: &Oddities) {
        for (&oddity, Met { urls, hosts }) in &other.met {
            let met = self.met.entry(oddity).or_default();
            met.urls += urls;
            met.hosts.extend(hosts.iter().cloned());
            while met.hosts.len() > HOSTS_TOLD {
                met.hosts.pop_last();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n22_each_host_is_told_once_and_no_more_than_so_many() {
        let mut oddities = Oddities::default();
        let said = oddities.note(Oddity::CookieWall, "a.example", "http://a.example/\x1b[2J").unwrap();
        assert!(said.starts_with("cookie wall: http://a.example/\\x1b[2J: a redirect to itself"), "{said}");
        assert!(oddities.is_first(Oddity::CookieWall));
        assert_eq!(oddities.note(Oddity::CookieWall, "a.example", "http://a.example/2"), None);
        let told = (0..1_000).filter(|n| {
            let host = format!("h{n}.example");
            oddities.note(Oddity::CookieWall, &host, &format!("http://{host}/")).is_some()
        });
        assert_eq!(told.count(), HOSTS_TOLD - 1);
        assert!(!oddities.is_first(Oddity::CookieWall) && oddities.is_first(Oddity::Login));
        let rows: Vec<_> = oddities.rows().collect();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].0, "warning: cookie wall");
        assert!(
            rows[0].1.starts_with("1,002 pages of a.example, h0.example, h1.example and others: a redirect"),
            "{rows:?}"
        );
    }
}
