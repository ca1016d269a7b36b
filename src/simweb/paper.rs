//! The synthetic web without servers: the same answers, for those who move time by hand.

use std::io;
use std::net::Ipv4Addr;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use super::answers::SimResponses;
use super::conduct::Fate;
use super::expected::{Expected, walk};
use super::names;
use super::options::SimOptions;
use super::plan::{Plan, Target};
use crate::clock::Time;

/// The port that its URLs name.
const PORT: u16 = 8_080;

/// A synthetic web that is asked by calling it.
#[derive(Debug)]
pub struct PaperWeb {
    answers: SimResponses,
    expected: OnceLock<Expected>,
}

/// What it answers.
#[derive(Clone, Debug)]
pub struct PaperAnswer {
    /// Status code.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(&'static str, String)>,
    /// The identity body; nothing is compressed here.
    pub body: Vec<u8>,
    /// How long it takes to come.
    pub latency: Duration,
    /// For how long it asks to be left alone.
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
        plan.seeds().into_iter().map(|host| names::address(plan, PORT, Target::Url(host, 0))).collect()
    }

    /// What a right crawl ends with.
    pub fn expected(&self) -> &Expected {
        self.expected.get_or_init(|| walk(&self.answers))
    }

    /// The address of a name, if it exists.
    pub fn resolve(&self, name: &str) -> Option<Ipv4Addr> {
        let plan = &self.answers.plan;
        let requisites = || plan.requisite_host(name).map(|(_, address)| address);
        plan.host_named(name).map(|host| plan.host(host).address).or_else(requisites)
    }

    /// The answer to a request for `path` (with its query) at the host `name`,
    /// at `now` by the clock of anyone who asks; `None` where no answer comes.
    pub fn answer(&self, name: &str, path: &str, now: Time) -> Option<PaperAnswer> {
        let address = self.resolve(name).unwrap_or(Ipv4Addr::UNSPECIFIED);
        let answer = self.answers.to(address, name, path, Duration::ZERO);
        if answer.fate != Fate::Answered {
            return None;
        }
        let mut headers = vec![("content-type", answer.content_type.to_owned())];
        headers.extend(answer.location.map(|location| ("location", location)));
        let wall = UNIX_EPOCH + Duration::from_millis(now.ms()) + answer.latency;
        let (plea, rest) = answer.plea.map_or((None, None), |(plea, seconds)| plea.header(seconds, wall));
        headers.extend(plea.map(|plea| ("retry-after", plea)));
        if answer.nofollow {
            headers.push(("x-robots-tag", "nofollow".to_owned()));
        }
        let (status, body, latency) = (answer.status, answer.body, answer.latency);
        Some(PaperAnswer { status, headers, body, latency, rest: rest.unwrap_or_default() })
    }
}
