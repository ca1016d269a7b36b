//! An active host: its buffer of URLs, its requests in flight, its standing, rules and addresses.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::QueuedUrl;
use super::first_contacts::Contact;
use super::options::{Politeness, Treatment};
use super::policy::RefillPolicy;
use super::record::{HostRecord, Standing};
use super::task::{Feedback, Rules, RulesDecoder};
use super::tuning::{RULES_IN_MEMORY, TURN_REQUESTS, URL_WAIT_MAX, USUAL_RULES_BYTES};
use crate::clock::Time;
use crate::fingerprint::Fingerprint;
use crate::outcome::Reason;

/// The rank of a URL that is tried again: before all others of its host.
const HEAD: u16 = 0;
/// Bits of a number that the sequence of a URL which waits to be tried again has below its time.
const NUMBER_BITS: u32 = 20;

/// A queued URL and its place in the order of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Order among URLs, the smaller first: 0 for one that is tried again, else its priority plus 1.
    pub rank: u16,
    /// Order among equal ranks: that of arrival; for URLs that are tried again, the time before which they must not be.
    pub sequence: u64,
    pub url: QueuedUrl,
}

impl Item {
    /// A URL that has just come.
    pub(super) fn new(url: QueuedUrl, sequence: u64) -> Self {
        Item { rank: u16::from(url.priority) + 1, sequence, url }
    }

    /// The URL again, now first of its host.
    pub(super) fn again(url: QueuedUrl, sequence: u64) -> Self {
        Item { rank: HEAD, sequence, url }
    }

    /// The URL again, first of its host but not before `due`; `number` makes it differ from others of the same time.
    pub(super) fn again_at(url: QueuedUrl, due: Time, number: u64) -> Self {
        Item { rank: HEAD, sequence: due.ms() << NUMBER_BITS | number & ((1 << NUMBER_BITS) - 1), url }
    }

    /// Returns the time from which on it may be asked for, as far as it is concerned itself.
    pub(super) fn due(&self) -> Time {
        if self.rank == HEAD { Time::from_ms(self.sequence >> NUMBER_BITS) } else { Time::ZERO }
    }

    pub(super) fn order(&self) -> (u16, u64) {
        (self.rank, self.sequence)
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        const ALLOCATIONS: usize = 2 * 16;
        const SHORT: usize = 22;
        let hops = self.url.hops.as_bytes().len();
        let recrawl = self.url.recrawl.as_ref().map_or(0, |recrawl| recrawl.len() + ALLOCATIONS);
        size_of::<Item>()
            + ALLOCATIONS
            + self.url.url.len()
            + if hops > SHORT { hops + ALLOCATIONS } else { 0 }
            + recrawl
    }
}

/// An answer of the engine for which a host waits before anything else can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Resolve,
    /// `moved`: it was answered with a redirect, and no request to the host is in progress any more.
    Robots {
        started: Time,
        moved: bool,
    },
}

/// The thing for which a host waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitState {
    /// An answer, or URLs from the disk side.
    Nowhere,
    /// Its time.
    Scheduled(Time),
    /// Its address.
    Address,
    /// Its turn among the origins of its name.
    Name,
    /// An answer to another host of its domain.
    Domain,
    /// A place among the requests that are likely to stay without an answer.
    Suspect,
    /// The next round: its domain has had its share of this one. It may leave.
    Round,
    /// New URLs; it may leave.
    Idle,
}

/// Memory that rules of `encoded` bytes have to find; none for usual ones.
pub(super) fn large_rules_memory(encoded: usize) -> usize {
    let bytes = encoded.saturating_mul(RULES_IN_MEMORY);
    if bytes > USUAL_RULES_BYTES { bytes } else { 0 }
}

/// A host in memory.
#[derive(Debug)]
pub(super) struct Host {
    pub origin: Fingerprint,
    pub domain: Fingerprint,
    /// Fingerprint of its name; unknown after a restart until it has a URL.
    pub name_key: Option<Fingerprint>,
    /// True if it is counted among the origins of its name.
    pub is_named: bool,
    /// `http://host:port`.
    pub origin_text: Box<str>,
    /// Its treatment, if other than the rest's.
    pub treatment: Option<Arc<Treatment>>,
    pub standing: Standing,
    /// Time at which its hours let the next request begin; zero for one that has no hours.
    pub opens: Time,
    pub rules: Option<(Arc<dyn Rules>, Time)>,
    pub rules_bytes: usize,
    pub addresses: Option<(Arc<[IpAddr]>, Time)>,
    /// URLs that may be asked for, sorted by rank and sequence.
    pub buffer: VecDeque<Item>,
    /// URLs that are tried again, but not yet; sorted likewise, which is by their time.
    pub waiting: VecDeque<Item>,
    /// Turns that pages which are due again have saved of their share.
    pub due_credit: f32,
    /// URLs in a row that failed by themselves.
    pub faults: u32,
    pub flights: Vec<(u32, Item)>,
    /// URLs whose requests are over, and which are not done yet.
    pub received: Vec<(u32, Item)>,
    pub flights_made: u32,
    pub pending: Option<Pending>,
    pub place: WaitState,
    /// URLs that it got from the disk side in this turn.
    pub turn: u64,
    /// Requests that it has made since it became active.
    pub asked: u32,
    /// Time at which it last got URLs from the disk side, and the number of buffers that it may get the next time.
    pub refilled: Time,
    pub refill_buffers: usize,
    /// URLs that are left in the base of its partition.
    pub base_left: u64,
    /// True if the tail that is written now may hold URLs of it; `may_frozen` says the same of the one that is being
    /// merged.
    pub may_tail: bool,
    pub may_frozen: bool,
    /// True if it is counted as one that needs what it has in the tail.
    pub is_thirsty: bool,
    /// Kind of its last request, by whether it was known that the host answers.
    pub contact: Contact,
    /// The address at which its first contact is in progress, if it is.
    pub contacting: Option<IpAddr>,
    /// The address that answered last: kept connections lead there, so it stays the first one until it fails.
    pub answered_by: Option<IpAddr>,
    /// The address under which it is counted, while it has something to do.
    pub counted_at: Option<IpAddr>,
    /// True if it is counted as having something to do.
    pub busy: bool,
    /// True if it came here without having been on the disk side.
    pub newcomer: bool,
    /// True if it is in the line of hosts that may be parked.
    pub parkable: bool,
}

impl Host {
    /// The host of a URL.
    pub(super) fn of(url: &QueuedUrl) -> Self {
        Host { name_key: Some(url.host), ..Host::new(url.origin, url.domain, origin_text(&url.url).into()) }
    }

    pub(super) fn new(origin: Fingerprint, domain: Fingerprint, origin_text: Box<str>) -> Self {
        Host {
            origin,
            domain,
            name_key: None,
            is_named: false,
            origin_text,
            treatment: None,
            standing: Standing::default(),
            opens: Time::ZERO,
            rules: None,
            rules_bytes: 0,
            addresses: None,
            buffer: VecDeque::new(),
            waiting: VecDeque::new(),
            due_credit: 0.0,
            faults: 0,
            flights: Vec::new(),
            received: Vec::new(),
            flights_made: 0,
            pending: None,
            place: WaitState::Nowhere,
            turn: 0,
            asked: 0,
            refilled: Time::ZERO,
            refill_buffers: 1,
            base_left: 0,
            may_tail: false,
            may_frozen: false,
            is_thirsty: false,
            contact: Contact::Known,
            contacting: None,
            answered_by: None,
            counted_at: None,
            busy: false,
            newcomer: false,
            parkable: false,
        }
    }

    /// Takes over what is known of the host.
    pub(super) fn adopt(&mut self, record: HostRecord, decode: RulesDecoder) {
        self.standing = record.standing;
        self.rules = record.rules.and_then(|(bytes, expires)| {
            self.rules_bytes = bytes.len();
            decode(&bytes).map(|rules| (rules, expires))
        });
        self.addresses = record.addresses.filter(|(list, _)| !list.is_empty()).map(|(list, t)| (list.into(), t));
    }

    /// Forgets its robots.txt, which is asked for again.
    pub(super) fn forget_rules(&mut self) {
        (self.rules, self.rules_bytes) = (None, 0);
    }

    /// Returns what is kept of the host at `now`.
    pub(super) fn record(&self, now: Time) -> HostRecord {
        let rules = self.rules.as_ref().map(|(rules, expires)| {
            let mut bytes = Vec::new();
            rules.encode(&mut bytes);
            (bytes.into(), *expires)
        });
        let addresses = self.addresses.as_ref().map(|(list, expires)| (list.to_vec(), *expires));
        HostRecord { written: now, standing: self.standing, rules, addresses }
    }

    /// Returns whether URLs of the host may be on the disk side.
    pub(super) fn has_cold(&self) -> bool {
        self.base_left > 0 || self.may_tail || self.may_frozen
    }

    /// Returns whether nothing is in progress for it.
    pub(super) fn is_at_rest(&self) -> bool {
        self.flights.is_empty() && self.received.is_empty() && self.pending.is_none()
    }

    /// Puts a URL in its place: in the buffer, or among those that have to wait by themselves at `now`.
    pub(super) fn insert(&mut self, item: Item, now: Time) {
        let queue = if waits(item.due(), now) { &mut self.waiting } else { &mut self.buffer };
        let at = queue.partition_point(|other| other.order() < item.order());
        queue.insert(at, item);
    }

    /// Returns the time from which on the first of the URLs that wait by themselves may be asked for.
    pub(super) fn first_retry(&self) -> Option<Time> {
        self.waiting.front().map(Item::due)
    }

    /// Returns the delays and limits with which it is treated; `usual` has those of the rest.
    pub(super) fn politeness<'a>(&'a self, usual: &'a Politeness) -> &'a Politeness {
        self.treatment.as_ref().map_or(usual, |treatment| &treatment.politeness)
    }

    /// Learns its pace from a request that took `duration`; `usual` treats the rest.
    pub(super) fn learn_pace(&mut self, usual: &Politeness, duration: Duration, may_lower: bool) {
        let politeness = self.treatment.as_ref().map_or(usual, |treatment| &treatment.politeness);
        politeness.learn(&mut self.standing, duration, may_lower);
    }

    /// Notes the time at which its hours let its next request begin, from `now` on; `usual` treats the rest.
    pub(super) fn keep_hours(&mut self, usual: &Politeness, now: Time) {
        let due = self.standing.available().max(now);
        self.opens = self.politeness(usual).hours.as_ref().map_or(Time::ZERO, |hours| hours.opens(due));
    }

    /// Returns the time from which on it has something to do: its own rest is over, and its hours have begun. What is
    /// only dropped waits for neither.
    pub(super) fn available(&self) -> Time {
        if self.standing.gone.is_some() { Time::ZERO } else { self.standing.available().max(self.opens) }
    }

    /// Returns the time from which on it has something to do, with the URLs that are in memory and in its base.
    pub(super) fn comes_up(&self) -> Time {
        let available = self.available();
        let is_dry = self.buffer.is_empty() && self.base_left == 0 && self.standing.gone.is_none();
        self.first_retry().filter(|_| is_dry).map_or(available, |due| due.max(available))
    }

    /// Returns the reason for which its URLs are dropped at `now`, if they are.
    pub(super) fn gone(&self, now: Time) -> Option<Reason> {
        self.standing.gone.filter(|&(until, _)| until > now).map(|(_, reason)| reason)
    }

    /// Lets its URLs be dropped until `until`, for `reason`.
    pub(super) fn give_up(&mut self, reason: Reason, until: Time) {
        self.standing.gone = Some((until, reason));
    }

    /// It has answered a request of `started` as it should.
    pub(super) fn forgive(&mut self, started: Time) {
        (self.faults, self.standing.failures) = (0, 0);
        Politeness::forgive(&mut self.standing, started);
    }

    /// It has answered a request.
    pub(super) fn note_answer(&mut self) {
        (self.standing.answered, self.standing.blame) = (true, None);
    }

    /// Returns whether it is at rest, and has made the requests of a turn at its address.
    pub(super) fn has_had_turn_at_address(&self) -> bool {
        self.asked >= TURN_REQUESTS && self.is_at_rest()
    }

    /// Its rules, while they hold.
    pub(super) fn rules_at(&self, now: Time) -> Option<&Arc<dyn Rules>> {
        self.rules.as_ref().filter(|&&(_, expires)| expires > now).map(|(rules, _)| rules)
    }

    pub(super) fn crawl_delay(&self) -> Option<Duration> {
        self.rules.as_ref().and_then(|(rules, _)| rules.crawl_delay())
    }

    /// The host's name without port and brackets.
    pub(super) fn name(&self) -> &str {
        name_of(&self.origin_text)
    }

    /// Bytes of memory of the host without its URLs.
    pub(super) fn memory(&self) -> usize {
        const TABLES: usize = 240;
        size_of::<Host>() + TABLES + self.origin_text.len() + RULES_IN_MEMORY * self.rules_bytes
    }

    /// Notes that it gets URLs from the disk side, as one that ran dry or that becomes active.
    pub(super) fn note_refill(&mut self, ran_dry: bool, now: Time) {
        self.refill_buffers = RefillPolicy::next_buffers(self.refill_buffers, ran_dry, now.since(self.refilled));
        self.refilled = now;
    }

    /// Counts what a fetch brought; returns the pages.
    pub(super) fn count_page(&mut self, feedback: &Feedback) -> u64 {
        let pages = u64::from(feedback.counts_as_page);
        self.standing.pages += pages;
        self.standing.bytes = self.standing.bytes.saturating_add(feedback.bytes);
        pages
    }

    /// URLs of it in memory, in flight, and in the base of its partition.
    pub(super) fn queued(&self) -> u64 {
        (self.buffer.len() + self.waiting.len() + self.flights.len() + self.received.len()) as u64 + self.base_left
    }
}

/// Returns whether a URL that must not be asked for before `due` has to wait at `now`; a time that only a set clock can
/// have made counts as passed.
fn waits(due: Time, now: Time) -> bool {
    due > now && due <= now + 2 * URL_WAIT_MAX
}

/// The host's name in an origin, without port and brackets.
pub(super) fn name_of(origin: &str) -> &str {
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    if let Some(v6) = authority.strip_prefix('[') {
        return v6.split(']').next().unwrap_or(v6);
    }
    authority.split(':').next().unwrap_or(authority)
}

/// `scheme://host:port` of a URL, without user information.
fn origin_text(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_and_the_name_of_a_host_are_read_from_its_urls() {
        for (url, origin, name) in [
            ("http://a.example/x?y", "http://a.example", "a.example"),
            ("https://a.example:8443?y", "https://a.example:8443", "a.example"),
            ("http://me:secret@a.example:81/@", "http://a.example:81", "a.example"),
            ("http://[::1]:8080/", "http://[::1]:8080", "::1"),
        ] {
            assert_eq!(origin_text(url), origin);
            let host = Host::new(Fingerprint::default(), Fingerprint::default(), origin.into());
            assert_eq!(host.name(), name);
        }
    }
}
