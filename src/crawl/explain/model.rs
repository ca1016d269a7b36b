//! The explanation of a URL: plain values, as JSON has them and a report for people is made from.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Serialize, Serializer};

use crate::clock::Time;
use crate::outcome::Reason;
use crate::record::{Doing, Finish};
use crate::text::figures::iso_ms;
use crate::web::kind::Judged;

/// Everything that a crawl knows of a URL.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Explanation {
    /// The whole in one sentence.
    pub verdict: String,
    /// The URL as it is requested.
    pub url: String,
    /// Form by which it is known: differences of spelling are gone.
    pub key_form: String,
    /// Form by which indexes of web archives sort it.
    pub surt: String,
    /// `scheme://host:port`.
    pub origin: String,
    /// The registrable domain.
    pub domain: String,
    /// Fingerprints by the crawl's own polynomial.
    pub fingerprints: Fingerprints,
    /// The shard that owns it; nothing where the crawl has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// State of the crawl.
    pub crawl: Standing,
    /// The `[[site]]` tables that hold for it, in the order in which they count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// Decision about rendering it, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendering: Option<&'static str>,
    /// The proxy that it is fetched by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// Decision of the scope about it.
    pub scope: Scope,
    /// Decision of its origin's robots.txt about it.
    pub robots: Robots,
    /// Addresses of its host.
    pub dns: Dns,
    /// State of the URL in URL-seen.
    pub seen: Seen,
    /// Its place in the queue.
    pub queue: Option<Queue>,
    /// Its state in the recrawl calendar, where it was visited and the crawl has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recrawl: Option<Recrawl>,
    /// State of its host.
    pub host: Option<Host>,
    /// State of its domain in the round that goes on, where budgets follow from supporters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<DomainInRound>,
    /// Its versions in the archive, the newest first.
    pub versions: Vec<Version>,
    /// Statements about its use that were recorded with the newest version, by the names of their fields.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stated: BTreeMap<&'static str, String>,
    /// The spelling in which it was fetched, where that is another one of the same key form.
    pub fetched_as: Option<String>,
    /// Reason for which its own links are not followed; `None` where they are, or where that is not known.
    pub nofollow: Option<&'static str>,
    /// The way in which it was found.
    pub found: Option<Found>,
    /// As what the newest version lists URLs, if it is a sitemap or a feed.
    pub listing: Option<&'static str>,
    /// Its redirects, hop by hop, as the archive has them.
    pub redirects_to: Vec<Hop>,
    /// URLs that redirected to it, the nearest first.
    pub redirected_from: Vec<Hop>,
    /// The newest line of logs/skipped.jsonl about it.
    pub skipped: Option<Skipped>,
    /// The last line of logs/crawl.log about it.
    pub crawl_log: Option<String>,
    /// Facts that could not be found out, with the reasons.
    pub notes: Vec<String>,
}

/// The four fingerprints of a URL in hexadecimal.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fingerprints {
    /// Fingerprint of the key form.
    pub key: String,
    /// Fingerprint of the origin.
    pub origin: String,
    /// Fingerprint of the host.
    pub host: String,
    /// Fingerprint of the registrable domain.
    pub domain: String,
}

/// A page in the recrawl calendar. Older visits count for less, so that numbers of them are no whole ones.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Recrawl {
    /// `calendar`: it waits there; `queued`: it is due, and on its way to the queue or in it; `ended`: it was missing
    /// too often, or does not belong to the crawl any more.
    pub place: &'static str,
    /// Time at which it is due.
    #[serde(serialize_with = "moment")]
    pub due: Option<Time>,
    /// Time of the last visit with an answer.
    #[serde(serialize_with = "always")]
    pub last_visit: Time,
    /// Time of the last visit that found it changed, at first of the first fetch; known of a page that waits.
    #[serde(serialize_with = "moment")]
    pub last_change: Option<Time>,
    /// Visits that compared it with the one before.
    pub visits: f32,
    /// Visits of these that found it changed.
    pub changes: f32,
    /// Days between the first and the last of them.
    pub days: f32,
    /// Time from the last visit to the next, in seconds.
    pub interval_s: Option<u64>,
    /// Estimate of its changes a day, where pages are fetched again.
    pub changes_per_day: Option<f64>,
    /// Factor by which that may be wrong.
    pub changes_factor: Option<f64>,
    /// Factor by which all intervals are longer than they should be.
    pub stretch: Option<f64>,
    /// Visits in a row that found no page.
    pub missing_visits: Option<u8>,
    /// The first of them.
    #[serde(serialize_with = "moment")]
    pub missing_since: Option<Time>,
    /// Reasons for its interval.
    pub why: String,
}

/// A crawl at the moment of asking.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Standing {
    /// True if a process works on it.
    pub running: bool,
    /// True if it was read from a store: then it is not known whether a process works on it.
    pub in_store: bool,
    /// Phase of that process, where it reports one.
    pub phase: Option<Doing>,
    /// Reason of its end, where it ended in good order.
    #[serde(serialize_with = "shown")]
    pub finish: Option<Finish>,
    /// The checkpoint from which queue, stores and hosts are shown.
    pub checkpoint: Option<u64>,
    /// Time of that checkpoint.
    #[serde(serialize_with = "moment")]
    pub as_of: Option<Time>,
    /// Time at which the question was asked.
    #[serde(serialize_with = "always")]
    pub now: Time,
    /// Origin of the settings.
    pub settings: String,
}

/// The word of the scope.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Scope {
    /// Reason for which it does not belong to the crawl; `None` where it does.
    #[serde(serialize_with = "shown")]
    pub refused: Option<Reason>,
    /// The rule that decides.
    pub rule: String,
    /// The seed that takes it in.
    pub seed: Option<String>,
    /// Links from a seed, where it was found.
    pub depth: Option<u16>,
    /// The page that needs it: the first one on the way back from it that is embedded by nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requisite_of: Option<String>,
}

/// The word of robots.txt.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Robots {
    /// True if it may be fetched by the rules that are known; `None` where none are.
    pub allowed: Option<bool>,
    /// True if the crawl obeys robots.txt there.
    pub obeyed: bool,
    /// The rule that decides: the line where the file is at hand, else the pattern.
    pub rule: Option<String>,
    /// The number of the line.
    pub line: Option<u32>,
    /// The name in the `User-agent` line of its group.
    pub group: Option<String>,
    /// The delay that is asked for.
    pub crawl_delay_ms: Option<u64>,
    /// True if that is more than `politeness.crawl_delay_max`.
    pub crawl_delay_beyond: bool,
    /// Time since when it cannot be had.
    #[serde(serialize_with = "moment")]
    pub unreachable_since: Option<Time>,
    /// The fault of the one that came, if one did.
    pub unreachable_because: Option<String>,
    /// Time at which the rules were learnt.
    #[serde(serialize_with = "moment")]
    pub learnt: Option<Time>,
    /// Time at which they have to be asked for again.
    #[serde(serialize_with = "moment")]
    pub expires: Option<Time>,
    /// True if they hold now.
    pub fresh: bool,
    /// The newest one in the archive: when and with which status it came.
    pub archived: Option<Version>,
}

/// The word of the name servers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Dns {
    /// `found`, `no such host`, `private address`, `no answer`; nothing where nobody asked.
    pub answer: Option<&'static str>,
    /// Addresses of the host.
    pub addresses: Vec<String>,
    /// True if the settings give the addresses (`dns.hosts`), and nobody is asked.
    pub by_settings: bool,
    /// Time at which that was learnt.
    #[serde(serialize_with = "moment")]
    pub learnt: Option<Time>,
    /// Time at which it has to be asked for again.
    #[serde(serialize_with = "moment")]
    pub expires: Option<Time>,
    /// True if it holds now.
    pub fresh: bool,
}

/// The word of URL-seen.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    /// True if the URL was admitted before the checkpoint; `None` where there is none.
    pub seen: Option<bool>,
    /// Questions about it that wait for a merge.
    pub waiting: u64,
    /// The store in which it waits for an answer on its way to the queue.
    pub waits_in: Option<&'static str>,
    /// The shard whose links name it, where the one that owns it has not read them yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_by: Option<String>,
}

/// A place in a queue.
#[derive(Clone, Debug, Serialize)]
pub struct Queue {
    /// `under way or to be tried again`, `in memory`, `on disk`, `on disk, not sorted in yet`.
    pub place: &'static str,
    /// The URL as it was admitted.
    pub url: String,
    /// URLs of its host that come before it.
    pub before: u64,
    /// Smaller comes first.
    pub priority: u8,
    /// Links from a seed.
    pub depth: u16,
    /// Attempts made so far.
    pub attempts: u8,
    /// True if it is fetched again: budgets have counted it, and do not hold it back.
    pub is_counted: bool,
    /// Time before which it is not asked for again after the last attempt.
    #[serde(serialize_with = "moment")]
    pub not_before: Option<Time>,
}

/// The state of a host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// True if it was in memory.
    pub active: bool,
    /// URLs of it that are queued.
    pub queued: u64,
    /// No request before.
    #[serde(serialize_with = "moment")]
    pub due: Option<Time>,
    /// Hours in which requests to it begin; `None` for all.
    pub hours: Option<String>,
    /// Time at which they begin; `None` within them.
    #[serde(serialize_with = "moment")]
    pub opens: Option<Time>,
    /// The state of the hours in words.
    pub hours_state: Option<String>,
    /// Time between two requests, in milliseconds.
    pub delay_ms: u64,
    /// Number of times in a row that it was held back.
    pub backoff_level: u8,
    /// Time until which it is held back.
    #[serde(serialize_with = "moment")]
    pub backoff_until: Option<Time>,
    /// Reason for which it is held back.
    pub backoff_reason: Option<String>,
    /// Reason for which it has brought nothing since its last answer.
    pub blame: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// Time since when it fails.
    #[serde(serialize_with = "moment")]
    pub failing_since: Option<Time>,
    /// Reason for which it is given up.
    #[serde(serialize_with = "shown")]
    pub gone: Option<Reason>,
    /// Time until which it is given up; `None` where that is for good.
    #[serde(serialize_with = "moment")]
    pub gone_until: Option<Time>,
    /// Pages fetched.
    pub pages: u64,
    /// `budget.pages_per_host`.
    pub pages_max: Option<u64>,
    /// Bytes received.
    pub bytes: u64,
    /// `budget.bytes_per_host`.
    pub bytes_max: Option<u64>,
    /// Pages fetched of its registrable domain.
    pub domain_pages: u64,
    /// `budget.pages_per_domain`.
    pub domain_pages_max: Option<u64>,
}

/// A domain in a round.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct DomainInRound {
    /// The round that goes on.
    pub number: u32,
    /// Number of other domains that link to it, or the sum of what each is worth, where they count by their standing.
    pub supporters: f64,
    /// True if a seed is of it.
    pub is_of_seed: bool,
    /// Pages that it may have in this round.
    pub pages_max: u64,
    /// Pages of this round.
    pub pages: u64,
    /// Requests for a robots.txt in this round.
    pub robots: u64,
}

impl DomainInRound {
    /// True if its URLs wait for the next round.
    pub(crate) fn is_resting(&self) -> bool {
        self.pages >= self.pages_max || self.robots >= self.pages_max
    }
}

/// A version in the archive.
#[derive(Clone, Debug, Serialize)]
pub struct Version {
    /// Time of the request.
    #[serde(serialize_with = "always")]
    pub time: Time,
    /// Status of the answer.
    pub status: u16,
    /// Media type.
    pub mime: String,
    /// Length of the body.
    pub bytes: u64,
    /// The value file.
    pub file: String,
    /// Offset of the record in it.
    pub offset: u64,
    /// True if its body is stored with another page.
    pub revisit: bool,
    /// Offset of its key record.
    #[serde(skip)]
    pub record: u64,
    /// True if the body was cut short.
    pub truncated: bool,
    /// True if the page as a browser has left it, or as it was made of a document, is stored too.
    pub rendered: bool,
    /// Its kind, where it is no content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
}

/// The way in which a URL was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The discovery path: L link, R redirect, E embedded.
    pub hops: String,
    /// Links from a seed.
    pub depth: u16,
    /// The page that named it.
    pub via: Option<String>,
    /// Number of the seed that it descends from.
    pub seed_number: u32,
    /// The URL of that seed.
    pub seed: Option<String>,
    /// Attempts before the one that is shown.
    #[serde(skip)]
    pub attempts: u8,
}

/// A URL of a chain of redirects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The URL.
    pub url: String,
    /// Its status in the archive; nothing where it is not there.
    pub status: Option<u16>,
}

/// A line of logs/skipped.jsonl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Reason for which the URL was skipped.
    pub reason: String,
    /// The rule that decided.
    pub rule: String,
}

fn shown<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

fn moment<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => always(time, serializer),
        None => serializer.serialize_none(),
    }
}

fn always<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&iso_ms(*time))
}
