//! The synthetic web without servers: the same answers, for those who move time by hand.

use std::io;
use std::net::Ipv4Addr;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use super::answer::SimResponse;
use super::answers::SimResponses;
use super::conduct::Fate;
use super::expected::{Expected, walk, walk_after_walls};
use super::names;
use super::options::SimOptions;
use super::plan::{Plan, Target};
use super::process::Process;
use super::sitemaps;
use super::validators::Validators;
use crate::clock::Time;

/// The port that its URLs name.
const PORT: u16 = 8_080;

/// A synthetic web that is asked by calling it.
#[derive(Debug)]
pub struct PaperWeb {
    answers: SimResponses,
    expected: OnceLock<Expected>,
}

/// An answer of the web.
#[derive(Clone, Debug)]
pub struct PaperAnswer {
    /// Status code.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(&'static str, String)>,
    /// The identity body; nothing is compressed here.
    pub body: Vec<u8>,
    /// Time until it comes.
    pub latency: Duration,
    /// Time for which it asks to be left alone.
    pub rest: Duration,
}

impl PaperWeb {
    /// Draws up the web that the options describe.
    pub fn new(options: SimOptions) -> io::Result<PaperWeb> {
        Ok(PaperWeb { answers: SimResponses::new(Plan::new(options)?, PORT), expected: OnceLock::new() })
    }

    /// URLs from which every URL that can be reached is reached.
    pub fn seeds(&self) -> Vec<String> {
        let plan = &self.answers.plan;
        plan.seeds().iter().map(|&host| names::address(plan, PORT, Target::Url(host, 0))).collect()
    }

    /// Returns what a right crawl ends with; where walls end, one that is over before.
    pub fn expected(&self) -> &Expected {
        self.expected.get_or_init(|| walk(&self.answers))
    }

    /// Returns what a right crawl ends with that goes on until the walls have ended which end.
    pub fn expected_after_walls(&self) -> Expected {
        walk_after_walls(&self.answers)
    }

    /// The address of a name, if it exists.
    pub fn resolve(&self, name: &str) -> Option<Ipv4Addr> {
        self.answers.plan.resolve(name)
    }

    /// The answer to a request for `path` (with its query) at the host `name`, on these conditions; `None` where no
    /// answer comes. The moment is `now` by the clock of anyone who asks, and `here` by that of the web. A web that
    /// does not change takes no conditions.
    pub fn answer(
        &self,
        name: &str,
        path: &str,
        now: Time,
        here: Time,
        conditions: &[(&str, &[u8])],
    ) -> Option<PaperAnswer> {
        let address = self.resolve(name).unwrap_or(Ipv4Addr::UNSPECIFIED);
        let answer = self.answers.to(address, name, path, here);
        if answer.fate != Fate::Answered {
            return None;
        }
        let validators = self.answers.plan.options.changes.and_then(|_| Validators::of(&answer));
        let condition = |name| conditions.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
        let (tag, date) = (condition("if-none-match"), condition("if-modified-since"));
        let holds = validators.as_ref().is_some_and(|validators| validators.hold(tag, date));
        let answer = if holds { SimResponse { status: 304, body: Vec::new(), ..answer } } else { answer };
        let mut headers = vec![("content-type", answer.content_type.to_owned())];
        headers.extend(answer.fields().map(|(name, value)| (name, value.to_owned())));
        headers.extend(answer.location.map(|location| ("location", location)));
        headers.extend(validators.iter().flat_map(Validators::pairs).map(|(name, value)| (name, value.to_owned())));
        let wall = UNIX_EPOCH + Duration::from_millis(now.ms()) + answer.latency;
        let (plea, rest) = answer.plea.map_or((None, None), |(plea, seconds)| plea.header(seconds, wall));
        headers.extend(plea.map(|plea| ("retry-after", plea)));
        if answer.nofollow {
            headers.push(("x-robots-tag", "nofollow".to_owned()));
        }
        let (status, body, latency) = (answer.status, answer.body, answer.latency);
        Some(PaperAnswer { status, headers, body, latency, rest: rest.unwrap_or_default() })
    }

    /// Returns how often a page changes by the clock, in changes a day, and `None` for URLs that do not change.
    pub fn rate_of(&self, url: &str) -> Option<f64> {
        self.process(url).map(|process| process.per_day)
    }

    /// Returns when a page changes next after `now`, and `None` for URLs that do not change.
    pub fn next_change(&self, url: &str, now: Time) -> Option<Time> {
        self.process(url).map(|process| process.next_change(now))
    }

    /// Returns whether pages change by the clock.
    pub fn does_change(&self) -> bool {
        self.answers.plan.options.changes.is_some()
    }

    /// Returns whether a URL is a sitemap.
    pub fn is_sitemap(&self, url: &str) -> bool {
        self.place(url).is_some_and(|(host, path)| sitemaps::at(&self.answers.plan, host, path).is_some())
    }

    /// Returns when a URL has changed by what a sitemap says of it at `now`, if one does.
    pub fn changed_by_sitemap(&self, url: &str, now: Time) -> Option<Time> {
        let plan = &self.answers.plan;
        let (host, path) = self.place(url)?;
        let listed = sitemaps::listed(plan, host);
        match sitemaps::at(plan, host, path) {
            Some(sitemaps::File::Gzipped) => sitemaps::newest(plan, host, &listed, now),
            Some(_) => None,
            None => {
                let url = names::url_at(plan, host, path).filter(|url| listed.contains(url))?;
                sitemaps::newest(plan, host, &[url], now)
            }
        }
    }

    /// Returns whether versions of a page differ in a date and an advertisement only.
    pub fn is_cosmetic(&self, url: &str) -> bool {
        self.process(url).is_some_and(|process| process.version(Time::ZERO).is_cosmetic)
    }

    /// The SHA-1 digest of the body that a page or a sitemap has at `now`; of what pages embed from elsewhere none.
    pub fn digest_at(&self, url: &str, now: Time) -> Option<[u8; 20]> {
        self.answers.digest_at(url, now)
    }

    /// The body that a page has at `now`, after the failures that pass.
    pub fn body_at(&self, url: &str, now: Time) -> Option<Vec<u8>> {
        let (host, path) = self.place(url)?;
        let plan = &self.answers.plan;
        Some(self.answers.last(host, names::url_at(plan, host, path)?, now).1)
    }

    fn process(&self, url: &str) -> Option<Process<'_>> {
        let (host, path) = self.place(url)?;
        let plan = &self.answers.plan;
        Process::of(plan, host, names::url_at(plan, host, path)?)
    }

    /// The host of a URL, and its path.
    fn place<'a>(&self, url: &'a str) -> Option<(u32, &'a str)> {
        self.answers.place(url)
    }
}
