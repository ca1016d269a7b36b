//! Cookie walls of the simulated web: domains that answer a page only to those who send a cookie back. All others are
//! redirected to the page itself with the cookie, whose value is another one after a while.
//!
//! In half of these domains the cookie is one of the whole domain, in the others each host has its own. No cookie has a
//! date of expiry, which would be judged by a clock that is not simulated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::clause::{Clause, Violation};
use crate::clock::Time;
use crate::contract::{CookieUse, Rank, RequestSettings, Sites};
use crate::fingerprint::mix;
use crate::simweb::PaperAnswer;
use crate::web::cookies::FileCookie;
use crate::web::url::CanonicalUrl;

/// The cookie that is demanded.
const NAME: &str = "pass";

/// The share of domains that have a wall, and the time for which a value passes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallOptions {
    /// Share of all domains.
    pub share: f64,
    pub lasts: Duration,
}

/// The walls, and what was asked at them.
#[derive(Debug)]
pub(super) struct Walls {
    options: WallOptions,
    seed: u64,
    /// Hosts that have set each value of a cookie, and how often it was met.
    met: BTreeMap<String, (BTreeSet<String>, u64)>,
    /// Cookies at hosts that have not set them.
    strays: Vec<String>,
    passed: u64,
}

impl Walls {
    pub(super) fn new(options: WallOptions, seed: u64) -> Walls {
        Walls { options, seed, met: BTreeMap::new(), strays: Vec::new(), passed: 0 }
    }

    /// A request for `url` with these cookies at `now` by the web's clock brings `answer`, or leads to the page itself.
    pub(super) fn pass(
        &mut self,
        url: &CanonicalUrl,
        cookies: Option<&str>,
        now: Time,
        answer: PaperAnswer,
    ) -> PaperAnswer {
        let domain = url.registrable_domain();
        let drawn = domain.bytes().fold(self.seed, |sum, byte| mix(sum ^ u64::from(byte)));
        let is_of_domain = drawn & 1 == 0;
        let setter = if is_of_domain { domain } else { url.host() };
        let own = format!("{NAME}={setter}-");
        for cookie in cookies.into_iter().flat_map(|cookies| cookies.split("; ")) {
            if !cookie.starts_with(&own) {
                self.strays.push(format!("{url} was asked for with the cookie {cookie}"));
            }
        }
        let has_wall = ((drawn >> 11) as f64) < self.options.share * (1_u64 << 53) as f64;
        if !has_wall || answer.status == 429 || answer.status >= 500 {
            return answer;
        }
        let value = format!("{own}{}", now.ms() / self.options.lasts.as_millis() as u64);
        if cookies.is_some_and(|cookies| cookies.split("; ").any(|cookie| cookie == value)) {
            self.passed += 1;
            return answer;
        }
        let (hosts, times) = self.met.entry(value.clone()).or_default();
        hosts.insert(url.host().to_owned());
        *times += 1;
        let domain = if is_of_domain { format!("; Domain={domain}") } else { String::new() };
        let headers = vec![("location", url.as_str().to_owned()), ("set-cookie", format!("{value}; Path=/{domain}"))];
        PaperAnswer { status: 302, headers, body: Vec::new(), rest: Duration::ZERO, ..answer }
    }

    /// Returns how many times a page was answered behind a wall.
    pub(super) fn passed(&self) -> u64 {
        self.passed
    }

    /// Cookies went to those alone who had set them; and a host set each value once for each connection of each process
    /// at most.
    pub(super) fn judge(&self, connections: usize, processes: usize) -> Result<(), Violation> {
        if let Some(stray) = self.strays.first() {
            return Err(Violation::new(Clause::Cookies, stray.clone()));
        }
        for (value, (hosts, times)) in &self.met {
            let most = (hosts.len() * connections * processes) as u64;
            if *times > most {
                let what = format!("{value} was set {times} times by {hosts:?}, and at most {most} times are right");
                return Err(Violation::new(Clause::Cookies, what));
            }
        }
        Ok(())
    }
}

/// All sites: cookies are sent back.
#[derive(Debug)]
pub(super) struct Keeping(Arc<RequestSettings>);

impl Keeping {
    pub(super) fn new() -> Keeping {
        Keeping(Arc::new(RequestSettings { cookies: CookieUse::Kept, ..RequestSettings::default() }))
    }
}

impl Sites for Keeping {
    fn usual(&self) -> Arc<RequestSettings> {
        self.0.clone()
    }

    fn request(&self, _: &CanonicalUrl) -> Option<Arc<RequestSettings>> {
        None
    }

    fn cookies(&self) -> &[FileCookie] {
        &[]
    }

    fn rank(&self, _: &str) -> Rank {
        Rank::Usual
    }

    fn obeys_robots(&self, _: &str) -> Option<bool> {
        None
    }
}
