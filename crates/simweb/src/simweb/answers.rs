//! Answers of the web to requests: status, headers and body, from host and path alone, and the time where pages change.
//!
//! The only state is how often each flaky URL, and each overloaded host, was asked for.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use sha1::{Digest, Sha1};

use super::answer::{SimResponse, plain};
use super::conduct::{Failing, Plea, Robots};
use super::names::url_at;
use super::page::{Pages, location, names_nofollow};
use super::plan::{Kind, Plan, Purpose};
use super::process::Process;
use super::requisites;
use super::robots::robots_txt;
use super::sitemaps;
use super::traps;
use super::trouble::Trouble;
use super::{farms, lots, wall_pages, walls};
use crate::clock::Time;

/// Path under which a host has the robots.txt of others: `/rules/7.txt` is the file of host 7.
pub(super) const RULES_PATH: &str = "/rules/";

/// Answers for one web on one port.
#[derive(Debug)]
pub(super) struct SimResponses {
    pub plan: Plan,
    pub port: u16,
    pages: Pages,
    attempts: Mutex<HashMap<(u32, u32), u8>>,
    refused: Mutex<HashMap<u32, u8>>,
}

impl SimResponses {
    pub(crate) fn new(plan: Plan, port: u16) -> SimResponses {
        SimResponses { pages: Pages::new(&plan), plan, port, attempts: Mutex::default(), refused: Mutex::default() }
    }

    /// The answer to a request that came to `address` at `now` for a host by that name.
    pub(crate) fn to(&self, address: Ipv4Addr, host_header: &str, path: &str, now: Time) -> SimResponse {
        let name = host_header.rsplit_once(':').map_or(host_header, |(name, _)| name).to_ascii_lowercase();
        if address == self.plan.trap_address()
            && let Some(trap) = traps::trap_named(&self.plan.options, &name)
        {
            return traps::answer(&self.plan.options, self.port, trap, &name, path);
        }
        if let Some(number) = farms::domain_named(&self.plan.options, &name)
            && address == farms::address(&self.plan.options, number)
        {
            let lots = lots::lots(self.plan.options.seed, &name, path);
            return farms::answer(&self.plan.options, self.port, number, path, lots);
        }
        if let Some((host, _)) = self.plan.requisite_host(&name).filter(|(_, lives)| *lives == address) {
            return SimResponse { latency: self.plan.options.latency, ..requisites::answer(self.port, host, path) };
        }
        let Some(host) = self.plan.host_named(&name).filter(|&host| self.plan.host(host).address == address) else {
            return plain(421, "This host does not live here.\n".to_owned());
        };
        if let Trouble::Mute(fate) = self.plan.host(host).trouble {
            return SimResponse { fate, ..Default::default() };
        }
        if path == "/robots.txt" {
            return self.timed(self.robots(host), host, u32::MAX);
        }
        if let Some(other) = path.strip_prefix(RULES_PATH).and_then(|rest| self.rules_of(host, rest)) {
            let (status, text) = robots_txt(&self.plan, self.port, other);
            return self.timed(plain(status, text), host, u32::MAX);
        }
        if let Some(file) = sitemaps::at(&self.plan, host, path) {
            let (content_type, body) = sitemaps::content(&self.plan, self.port, host, file, now);
            let version = sitemaps::version(&self.plan, host, now);
            let answer = SimResponse { status: 200, content_type, body, version, ..Default::default() };
            return self.timed(answer, host, u32::MAX);
        }
        let Some(url) = url_at(&self.plan, host, path) else {
            return self.timed(plain(404, "There is no such page, and no link to it.\n".to_owned()), host, u32::MAX);
        };
        if let Some(plea) = self.is_refused_now(host) {
            let status = if host.is_multiple_of(2) { 429 } else { 503 };
            let answer = SimResponse { plea: Some(plea), ..plain(status, "Too much.\n".to_owned()) };
            return self.timed(answer, host, url);
        }
        if self.is_flaky_now(host, url) {
            let mut answer = plain(503, "Try again.\n".to_owned());
            answer.plea = Some((Plea::Seconds, self.plan.options.retry_after_s));
            return self.timed(answer, host, url);
        }
        let (status, body) = self.last(host, url, now);
        let version = Process::of(&self.plan, host, url).map(|process| process.version(now));
        let wall = walls::at(&self.plan, host, url, now).map(|wall| wall.status_and_fields().1);
        let mut answer = SimResponse { status, body, version, wall, ..self.kind_of_answer(host, url) };
        let mut dice = self.plan.dice(Purpose::SimResponse, host, url);
        answer.gzip = dice.f64() < self.plan.options.gzip_share && status == 200;
        if dice.f64() < self.plan.options.chunked_share {
            answer.chunk_bytes = Some(dice.usize(200..8_000));
        }
        if self.plan.options.fast_errors && status == 500 {
            return answer;
        }
        self.timed(answer, host, url)
    }

    /// A moment at which every page has its first version.
    pub(crate) fn begin(&self) -> Time {
        self.plan.options.changes.map_or(Time::ZERO, |changes| changes.since)
    }

    /// Status and identity body of the last answer of a URL at `now`: after the failures that pass.
    pub(crate) fn last(&self, host: u32, url: u32, now: Time) -> (u16, Vec<u8>) {
        if let Some(wall) = walls::at(&self.plan, host, url, now) {
            return (wall.status_and_fields().0, wall_pages::body(&self.pages, &self.plan, self.port, host, url, wall));
        }
        match self.plan.kind(host, url) {
            Kind::Redirect => {
                let status = [301, 302, 307, 308][self.plan.dice(Purpose::SimResponse, host, url).usize(0..4)];
                let there = self.location(host, url).replace('&', "&amp;");
                (status, format!("<p>See <a href=\"{there}\">there</a>.</p>\n").into_bytes())
            }
            Kind::NotFound => (404, format!("<h1>Not found</h1>\n<p>{url}</p>\n").into_bytes()),
            Kind::ServerError => (500, format!("<h1>Out of order</h1>\n<p>{url}</p>\n").into_bytes()),
            _ => {
                let version = Process::of(&self.plan, host, url).map(|process| process.version(now));
                (200, self.pages.page(&self.plan, self.port, host, url, version))
            }
        }
    }

    /// The SHA-1 digest of the body that a page or a sitemap has at `now`; of what pages embed from elsewhere none.
    pub(crate) fn digest_at(&self, url: &str, now: Time) -> Option<[u8; 20]> {
        let (host, path) = self.place(url)?;
        let body = match sitemaps::at(&self.plan, host, path) {
            Some(file) => sitemaps::content(&self.plan, self.port, host, file, now).1,
            None => self.last(host, url_at(&self.plan, host, path)?, now).1,
        };
        Some(Sha1::digest(body).into())
    }

    /// The host of a URL, and its path.
    pub(crate) fn place<'a>(&self, url: &'a str) -> Option<(u32, &'a str)> {
        let rest = url.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find('/')?);
        let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
        Some((self.plan.host_named(name)?, path))
    }

    fn robots(&self, host: u32) -> SimResponse {
        let there = self.plan.host(host);
        if let Robots::Failing(Failing::Mute(fate)) = there.robots {
            return SimResponse { fate, ..Default::default() };
        }
        if let Some(other) = there.robots_at {
            let name = &self.plan.host(other).name;
            let location = Some(format!("http://{name}:{}{RULES_PATH}{host}.txt", self.port));
            return SimResponse { location, ..plain(301, "It has moved.\n".to_owned()) };
        }
        let (status, text) = robots_txt(&self.plan, self.port, host);
        plain(status, text)
    }

    /// The host whose robots.txt `host` has as the file `name`.
    fn rules_of(&self, host: u32, name: &str) -> Option<u32> {
        let other: u32 = name.strip_suffix(".txt")?.parse().ok()?;
        (self.plan.hosts.get(other as usize)?.robots_at == Some(host)).then_some(other)
    }

    /// Counts a request for a page of an overloaded host and says how it is refused, if it is.
    fn is_refused_now(&self, host: u32) -> Option<(Plea, u64)> {
        let Trouble::Overloaded(plea) = self.plan.host(host).trouble else { return None };
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let count = refused.entry(host).or_default();
        *count = count.saturating_add(1);
        (*count <= self.plan.options.overload_answers).then_some((plea, self.plan.options.overload_s))
    }

    fn location(&self, host: u32, url: u32) -> String {
        location(&self.plan, self.port, host, url)
    }

    fn kind_of_answer(&self, host: u32, url: u32) -> SimResponse {
        let html = SimResponse { content_type: "text/html; charset=utf-8", ..Default::default() };
        match self.plan.kind(host, url) {
            Kind::Redirect => SimResponse { location: Some(self.location(host, url)), ..html },
            Kind::ServerError => SimResponse { plea: Some((Plea::Seconds, self.plan.options.retry_after_s)), ..html },
            Kind::Sealed => SimResponse { nofollow: !names_nofollow(&self.plan, host, url), ..html },
            _ => html,
        }
    }

    /// Counts a request for a flaky URL and says whether it fails.
    fn is_flaky_now(&self, host: u32, url: u32) -> bool {
        if self.plan.kind(host, url) != Kind::Flaky || matches!(self.plan.host(host).robots, Robots::Failing(_)) {
            return false;
        }
        let failures = self.plan.dice(Purpose::SimResponse, host, url).u8(1..=2);
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = attempts.entry((host, url)).or_default();
        *count = count.saturating_add(1);
        *count <= failures
    }

    fn timed(&self, answer: SimResponse, host: u32, url: u32) -> SimResponse {
        let jitter = 0.5 + self.plan.dice(Purpose::SimResponse, host, url).f64();
        let slow = self.plan.host(host).trouble == Trouble::Slow;
        let factor = if slow { self.plan.options.slow_factor } else { 1.0 };
        SimResponse { latency: self.plan.options.latency.mul_f64(jitter * factor), ..answer }
    }
}
