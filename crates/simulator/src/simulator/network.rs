//! The simulated network: the synthetic web, whose own clock is true, behind latency, lost and broken connections, slow
//! bodies and name servers that fail; and the log of what was asked for, by a time that no clock of the crawler can
//! set.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use super::BEGIN;
use super::rendering::{PREFIX, script, shell};
use super::walls::Walls;
use crate::clock::Time;
use crate::contract::{FetchJob, Judgement, Response, Target};
use crate::outcome::Failure;
use crate::simweb::{PaperAnswer, PaperWeb};
use crate::warc::{HttpVersion, Truncation};
use crate::web::url::CanonicalUrl;

/// Troubles that one URL or name meets at most: fewer than a crawl has attempts.
const TROUBLES_MAX: u8 = 2;
const ADDRESS_TTL: Duration = Duration::from_secs(300);

/// The one who asks, where there are several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asker {
    /// The machine.
    pub node: u32,
    /// The shard, whose requests are on separate connections.
    pub shard: u32,
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Host name.
    pub host: String,
    /// The whole URL.
    pub url: String,
    /// Time at which it came, in true milliseconds.
    pub start: u64,
    /// Time at which its answer was complete, or its connection ended.
    pub end: u64,
    /// Status of the answer, if one came.
    pub status: Option<u16>,
    /// Time for which the host asks to be left alone.
    pub rest: Duration,
    /// The address that was asked.
    pub address: Option<Ipv4Addr>,
    /// Time at which it came by the crawler's clock, as the archive notes it.
    pub started: Time,
    /// Bytes of the answer's body.
    pub bytes: u64,
    /// The node that asked, where there are several.
    pub asker: Option<Asker>,
    /// True if it was sent again, since the right to make it was lost and came back.
    pub again: bool,
    /// True if a page that is rendered asked for it.
    pub is_for_page: bool,
    /// True if it was made for the rules of another host, whose robots.txt leads here.
    pub is_for_another: bool,
    /// True if its answer was in the archive when a process began. Then no death can have it forgotten any more.
    pub archived: bool,
}

impl Request {
    /// The machine that asked, where there are several.
    pub(super) fn node(&self) -> Option<u32> {
        self.asker.map(|asker| asker.node)
    }
}

/// Outcome of a request.
pub(super) enum Outcome {
    /// An answer.
    Answered(Box<Response>),
    /// None.
    Failed(Failure),
}

/// An answer of the name servers, and the time until which it holds.
pub(super) type DnsAnswer = Result<(Arc<[IpAddr]>, Time), Failure>;

/// The network, which outlives the crawlers.
#[derive(Debug)]
pub(super) struct Network {
    web: PaperWeb,
    rng: fastrand::Rng,
    /// Share of requests and questions that meet trouble.
    trouble: f64,
    troubles: HashMap<String, u8>,
    /// Half of the hosts have pages that scripts make.
    has_scripts: bool,
    walls: Option<Walls>,
    /// Every request so far.
    pub log: Vec<Request>,
    /// Begin and end of each look-up of names.
    pub looked_up: Vec<(u64, u64)>,
}

impl Network {
    pub(super) fn new(web: PaperWeb, trouble: f64, has_scripts: bool, seed: u64, walls: Option<Walls>) -> Self {
        let rng = fastrand::Rng::with_seed(seed);
        Network {
            web,
            rng,
            trouble,
            troubles: HashMap::new(),
            has_scripts,
            walls,
            log: Vec::new(),
            looked_up: Vec::new(),
        }
    }

    /// Its cookie walls.
    pub(super) fn walls(&self) -> Option<&Walls> {
        self.walls.as_ref()
    }

    /// Returns whether a page is made by its script, as all pages of its host are.
    pub(super) fn is_scripted(&self, url: &str) -> bool {
        let page = self.web.expected().pages.get(url);
        self.has_scripts
            && page.is_some_and(|page| page.status == 200)
            && !self.web.is_sitemap(url)
            && url.split('/').nth(2).is_some_and(|host| crc32fast::hash(host.as_bytes()).is_multiple_of(2))
    }

    /// Returns a page as a browser renders it.
    pub(super) fn page_as_rendered(&self, url: &str, now: u64) -> Option<Vec<u8>> {
        self.web.body_at(url, by_web(now))
    }

    pub(super) fn web(&self) -> &PaperWeb {
        &self.web
    }

    /// Returns whether `url` is a sitemap of a web whose sitemaps are read more often than pages.
    pub(super) fn is_map(&self, url: &str) -> bool {
        self.web.does_change() && self.web.is_sitemap(url)
    }

    /// Makes the request of `job` at true time `now`; says how long it takes and what comes of it. `started` is the
    /// time by the crawler's clock.
    pub(super) fn ask(&mut self, job: &FetchJob, now: u64, asker: Option<Asker>, started: Time) -> (Duration, Outcome) {
        let url = &job.url;
        // what fails anyway uses up its attempts, and ends with an answer only if one comes
        let fails = self.web.expected().pages.get(url.as_str()).is_some_and(|page| page.status >= 500);
        let trouble = (!fails && self.has_trouble(url.as_str())).then(|| self.rng.u8(0..5));
        let refused = match trouble {
            Some(0) => Some((Duration::from_secs(30), Failure::Timeout)),
            Some(1) => Some((Duration::from_millis(20), Failure::Connect)),
            Some(2) => Some((Duration::from_millis(50), Failure::Disconnected)),
            _ => None,
        };
        let host = url.host().to_owned();
        let mut request = Request {
            address: self.web.resolve(&host),
            host,
            url: url.as_str().to_owned(),
            start: now,
            end: now,
            status: None,
            rest: Duration::ZERO,
            started,
            bytes: 0,
            asker,
            again: false,
            is_for_page: job.target.is_prerequisite(),
            is_for_another: is_for_another(job),
            archived: false,
        };
        if let Some((duration, failure)) = refused {
            request.end += millis(duration);
            self.log.push(request);
            return (duration, Outcome::Failed(failure));
        }
        let conditions: Vec<(&str, &[u8])> =
            job.condition.iter().flat_map(|condition| condition.validators.headers()).collect();
        let script = url.path().strip_prefix(PREFIX).filter(|_| self.has_scripts).map(script);
        let path = if script.is_some() { "/robots.txt" } else { url.path_and_query() };
        let is_scripted = self.is_scripted(url.as_str());
        let answer = self.web.answer(url.host(), path, started, by_web(now), &conditions).map(|answer| match script {
            Some(body) => {
                let headers = vec![("content-type", "text/javascript".to_owned())];
                PaperAnswer { status: 200, headers, body, rest: Duration::ZERO, ..answer }
            }
            None if is_scripted && answer.status == 200 => PaperAnswer { body: shell(url.as_str()), ..answer },
            None => answer,
        });
        let Some(answer) = answer else {
            request.end += 50;
            self.log.push(request);
            return (Duration::from_millis(50), Outcome::Failed(Failure::Disconnected));
        };
        let answer = match (&mut self.walls, &job.target) {
            (Some(walls), Target::Page { .. }) => {
                let cookie = job.cookie.as_ref().and_then(|cookie| std::str::from_utf8(cookie.expose()).ok());
                walls.pass(url, cookie, by_web(now), answer)
            }
            _ => answer,
        };
        let mut duration = answer.latency + Duration::from_millis(self.rng.u64(1..20));
        let mut body = answer.body;
        let mut truncated = None;
        if trouble.is_some() && !body.is_empty() {
            body.truncate(self.rng.usize(0..body.len()));
            truncated = Some(if self.rng.bool() { Truncation::Time } else { Truncation::Disconnect });
            duration += Duration::from_secs(self.rng.u64(0..60));
        }
        request.end += millis(duration);
        (request.status, request.bytes) = (Some(answer.status), body.len() as u64);
        if answer.status == 429 || answer.status >= 500 {
            // a date in it counts from when the answer was made
            request.rest = answer.rest.saturating_sub(duration - answer.latency);
        }
        self.log.push(request);
        let header = |(name, value): &(&str, String)| (name.as_bytes().into(), value.as_bytes().into());
        let response = Response {
            status: answer.status,
            reason: String::new(),
            version: HttpVersion::Http11,
            headers: answer.headers.iter().map(header).collect(),
            body,
            truncated,
            address: self.web.resolve(url.host()).map(IpAddr::V4),
            request: head(url.path_and_query(), &conditions),
            started,
            duration,
            judgement: Judgement::Open,
        };
        (duration, Outcome::Answered(Box::new(response)))
    }

    /// The addresses of `name` at `now` by the crawler's clock, which is true time `at`.
    pub(super) fn resolve(&mut self, name: &str, now: Time, at: u64) -> (Duration, DnsAnswer) {
        let (duration, answer) = self.look_up(name, now);
        self.looked_up.push((at, at + millis(duration)));
        (duration, answer)
    }

    fn look_up(&mut self, name: &str, now: Time) -> (Duration, DnsAnswer) {
        let duration = Duration::from_millis(self.rng.u64(1..30));
        if self.has_trouble(name) {
            return (Duration::from_secs(6), Err(Failure::Dns));
        }
        let found = self.web.resolve(name).map(|ip: Ipv4Addr| {
            let list: Arc<[IpAddr]> = [IpAddr::V4(ip)].into();
            (list, now + ADDRESS_TTL)
        });
        (duration, found.ok_or(Failure::NoSuchHost))
    }

    /// The process that asked is gone at true time `now`: so are its connections.
    pub(super) fn hang_up(&mut self, now: u64, is_it: impl Fn(Option<Asker>) -> bool) {
        for request in self.log.iter_mut().filter(|request| request.end > now && is_it(request.asker)) {
            (request.end, request.status, request.rest, request.bytes) = (now, None, Duration::ZERO, 0);
        }
    }

    /// The last request was one that was dropped before.
    pub(super) fn is_again(&mut self) {
        self.log.iter_mut().next_back().into_iter().for_each(|request| request.again = true);
    }

    /// A process is stopped at true time `now`: what it has asked for it can neither end nor take in.
    pub(super) fn stand_still(&mut self, now: u64, is_it: impl Fn(Option<Asker>) -> bool) {
        for request in self.log.iter_mut().filter(|request| request.end > now && is_it(request.asker)) {
            request.end = now;
        }
    }

    fn has_trouble(&mut self, whom: &str) -> bool {
        if self.rng.f64() >= self.trouble {
            return false;
        }
        let troubles = self.troubles.entry(whom.to_owned()).or_default();
        *troubles += 1;
        *troubles <= TROUBLES_MAX
    }
}

/// Returns whether a request is for the rules of another host.
fn is_for_another(job: &FetchJob) -> bool {
    match &job.target {
        Target::Robots { origin, .. } => CanonicalUrl::parse(origin).is_ok_and(|of| of.host() != job.url.host()),
        _ => false,
    }
}

/// True time `now` by the clock of the web.
pub(super) fn by_web(now: u64) -> Time {
    BEGIN + Duration::from_millis(now)
}

/// The request as the archive keeps it.
fn head(path_and_query: &str, conditions: &[(&str, &[u8])]) -> Vec<u8> {
    let mut head = format!("GET {path_and_query} HTTP/1.1\r\n").into_bytes();
    for (name, value) in conditions {
        head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    head.extend_from_slice(b"\r\n");
    head
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
