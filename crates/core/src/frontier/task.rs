//! Messages between the frontier and the engine: tasks one way, answers the other.
//!
//! Every task but [`Task::Drop`] is answered exactly once: [`Task::Resolve`] by `resolved`, [`Task::Robots`] by
//! `robots`, [`Task::Fetch`] by `done`, each with the [`HostId`] of the task; or, where the answer is to wait, by
//! `defer`.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::{Hops, QueuedUrl};
use crate::clock::Time;
use crate::outcome::{Blame, Failure, Reason};
use crate::web::preferences::Preferences;
use crate::web::robots::RobotsRules;

/// The robots.txt rules of an origin, for our own agent.
pub trait Rules: Send + Sync + Debug {
    /// Returns whether `url` may be fetched.
    fn allows(&self, url: &str) -> bool;
    /// The Crawl-delay of our group.
    fn crawl_delay(&self) -> Option<Duration>;
    /// Returns what they ask of anyone who uses the content of `url`.
    fn preferences(&self, _url: &str) -> Preferences {
        Preferences::default()
    }
    /// The URLs of licences of its origin, separated by a comma and a blank.
    fn licenses(&self) -> &str {
        ""
    }
    /// Appends the rules in a form that the frontier's [`RulesDecoder`] reads.
    fn encode(&self, out: &mut Vec<u8>);
}

impl Rules for RobotsRules {
    fn allows(&self, url: &str) -> bool {
        RobotsRules::allows(self, url)
    }

    fn crawl_delay(&self) -> Option<Duration> {
        RobotsRules::crawl_delay(self)
    }

    fn preferences(&self, url: &str) -> Preferences {
        RobotsRules::preferences(self, url)
    }

    fn licenses(&self) -> &str {
        RobotsRules::licenses(self)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        RobotsRules::encode_rules(self, out);
    }
}

/// Reads what [`Rules::encode`] wrote; `None` for other bytes (the rules are then fetched again).
pub type RulesDecoder = fn(&[u8]) -> Option<Arc<dyn Rules>>;

/// An active host, and which of its requests is meant. Stale once the host has left the active side; answers to a
/// stale one are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId {
    pub(super) index: u32,
    pub(super) generation: u32,
    /// Number of the request in flight, by which those of a host with several connections differ.
    pub(super) flight: u32,
}

impl HostId {
    /// The id of no host, for requests that no queue waits for.
    pub const NONE: HostId = HostId { index: u32::MAX, generation: u32::MAX, flight: u32::MAX };

    /// The id of that number, for tests of what keeps ids.
    pub const fn numbered(index: u32) -> HostId {
        HostId { index, generation: 0, flight: 0 }
    }
}

/// Proof that the robots.txt rules of a URL's origin allow it, with what they ask of users of its content. Only the
/// frontier makes one.
#[derive(Debug)]
pub struct Permit {
    preferences: Preferences,
    licenses: Box<str>,
}

impl Permit {
    /// Asks `rules` about `url`.
    pub(super) fn ask(rules: &dyn Rules, url: &str) -> Option<Self> {
        rules.allows(url).then(|| Permit { preferences: rules.preferences(url), licenses: rules.licenses().into() })
    }

    /// Returns what robots.txt asks of anyone who uses the content.
    pub fn preferences(&self) -> Preferences {
        self.preferences
    }

    /// Returns the URLs of the licences that robots.txt names, separated by a comma and a blank.
    pub fn licenses(&self) -> &str {
        &self.licenses
    }
}

/// Answer of the name servers about a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameAnswer {
    /// The host's addresses, in the order of the answer; a list without an address does not count as found.
    Found(Arc<[IpAddr]>),
    /// The name does not exist, or has no address.
    NoSuchHost,
    /// The host has no address in the public internet.
    PrivateAddress,
    /// A failure of the name servers, or no word from them.
    Unanswered,
}

/// Knowledge of the host of a URL before the frontier has asked anything: everything in it holds at this moment.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Its rules, and until when they hold.
    pub rules: Option<(Arc<dyn Rules>, Time)>,
    /// Time since which its robots.txt cannot be had.
    pub robots_failing_since: Option<Time>,
    /// Its addresses, and until when they hold.
    pub addresses: Option<(Arc<[IpAddr]>, Time)>,
    /// Time before which nothing is asked of it, or about its name.
    pub rests_until: Option<Time>,
}

impl Known {
    /// Returns whether it says nothing.
    pub(super) fn is_nothing(&self) -> bool {
        self.rules.is_none()
            && self.robots_failing_since.is_none()
            && self.addresses.is_none()
            && self.rests_until.is_none()
    }
}

/// The way in which a host is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Time before which it is not asked again.
    pub until: Time,
    /// Time since which its robots.txt cannot be had, if that is so.
    pub robots_failing_since: Option<Time>,
}

/// A task that may be done now.
#[derive(Debug)]
pub enum Task {
    /// Find the addresses of a host.
    Resolve {
        /// Id of the host.
        host: HostId,
        /// The host's name.
        name: Box<str>,
    },
    /// Fetch the robots.txt of an origin.
    Robots {
        /// Id of the host.
        host: HostId,
        /// `http://host:port`, without a default port.
        origin: Box<str>,
        /// Addresses of the host; the first is the one that politeness was asked for.
        addresses: Arc<[IpAddr]>,
        /// The URL that waits for it.
        provenance: Provenance,
    },
    /// Fetch a URL.
    Fetch {
        /// Id of the host, and of its request.
        host: HostId,
        /// The URL.
        url: QueuedUrl,
        /// Addresses of the host; the first is the one that politeness was asked for.
        addresses: Arc<[IpAddr]>,
        /// The rules allow it.
        permit: Permit,
    },
    /// This URL ends here.
    Drop {
        /// The URL.
        url: QueuedUrl,
        /// The reason.
        reason: Reason,
    },
}

/// The URL on whose behalf a robots.txt is asked for: what the sitemaps that it names inherit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Links between a seed and it.
    pub depth: u16,
    /// Number of the seed that it descends from.
    pub seed: u32,
    /// The way to the robots.txt: the way to the URL, and a step to its prerequisite (`P`).
    pub hops: Hops,
}

impl Provenance {
    /// The provenance of a robots.txt that is asked for on behalf of `url`.
    pub(super) fn of(url: &QueuedUrl) -> Self {
        Provenance { depth: url.depth, seed: url.seed, hops: url.hops.then('P') }
    }
}

/// Result of a fetch, as far as its host is concerned.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// Time at which the request was sent.
    pub started: Time,
    /// Time from then until the answer was complete.
    pub duration: Duration,
    /// Bytes received.
    pub bytes: u64,
    /// The party for which the attempt speaks, by that table.
    pub blame: Blame,
    /// True if what came is no page but a refusal, whatever it was asked for: a host that gives nothing else for long
    /// enough is given up.
    pub is_turned_away: bool,
    /// The failure, where no answer came.
    pub failure: Option<Failure>,
    /// A valid Retry-After.
    pub retry_after: Option<Duration>,
    /// The address that was connected.
    pub address: Option<IpAddr>,
    /// True if the answer counts against the page budgets.
    pub counts_as_page: bool,
    /// True if the answer may lower the delay of its host. Error pages may not: they are quick, and a host that fails
    /// quickly must not be asked more often.
    pub may_lower_delay: bool,
}

/// Answer to a [`Task::Robots`].
#[derive(Debug)]
pub enum RobotsAnswer {
    /// Rules, also those that follow from a 4xx answer.
    Rules {
        /// The rules.
        rules: Arc<dyn Rules>,
        /// Time at which they have to be fetched again.
        expires: Time,
        /// Duration of the fetch.
        duration: Duration,
        /// Bytes received.
        bytes: u64,
    },
    /// Nothing answers there, and nothing needs to: the origin was a guess. Its URLs end, and those that come within a
    /// day.
    NoServer,
    /// Its address is not in the public internet and not allowed. Its URLs end.
    PrivateAddress,
    /// 5xx, 429, time-out, no connection: nothing of the origin may be fetched.
    Unreachable {
        /// Duration of the attempt.
        duration: Duration,
        /// A valid Retry-After: the least time for which the host rests.
        retry_after: Option<Duration>,
    },
}
