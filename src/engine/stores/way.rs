//! The way of an admitted URL: three stores in turn, then the frontier.
//!
//! ```text
//! admit ─► SeenStage ─► RobotsStage ─► DnsStage ─► Arrival
//!          URL-seen      robots         DNS         frontier
//! ```
//! Each stage owns its store and the stage after it. A store answers at once (from its LRU, or because its Bloom
//! filter knows that the key is new) or after a merge, through the dispatcher that the next stage is; either way the
//! URL goes on by the same function. Origins that are active in the frontier skip robots and DNS: the frontier knows
//! their rules and addresses already.
//!
//! What the two stores say counts while it is fresh. Rules that forbid the URL end it, and so does a name that does not
//! exist or leads to private addresses; a robots.txt that cannot be had and name servers that fail hold the host back;
//! everything else goes with the URL to the frontier. What is not known, or not fresh, the frontier asks for when the
//! host's turn comes, and the answer replaces the old one.

use super::patterns::PatternBudget;
use super::values::{Addresses, Robots, RobotsAnswer};
use crate::clock::Time;
use crate::disk::Result;
use crate::drum::{Admission, Answer, Dispatcher, Store};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Frontier, Known, NameAnswer, QueuedUrl};
use crate::outcome::Reason;
use std::collections::HashSet;

/// A URL whose page is in the archive already: its key, and whether it was the forced one of that key.
pub type Replayed = (Fingerprint, bool);

/// The URL-seen test.
pub struct SeenStage {
    /// Keys of every URL that was ever admitted.
    pub store: Store<(), QueuedUrl>,
    /// Where new URLs go.
    pub next: RobotsStage,
}

/// The rules of origins that are not active.
pub struct RobotsStage {
    /// Rules by origin.
    pub store: Store<Robots, QueuedUrl>,
    /// What may come of one pattern.
    pub patterns: PatternBudget,
    /// Where permitted URLs go.
    pub next: DnsStage,
}

/// The addresses of hosts that are not active.
pub struct DnsStage {
    /// Addresses by host name.
    pub store: Store<Addresses, QueuedUrl>,
    /// Where URLs go.
    pub next: Arrival,
}

/// The end of the way: the frontier, and what is counted.
pub struct Arrival {
    /// The queues.
    pub frontier: Frontier,
    /// URLs whose pages were found in the archive after the last checkpoint and which no stage has met again.
    pub replayed: HashSet<Replayed>,
    /// The moment of the event under way.
    pub now: Time,
    /// Bad answers of before are asked for again.
    pub anew: Time,
    /// New URLs so far.
    pub unique: u64,
    /// Known URLs that were admitted once more, to be fetched again.
    pub again: u64,
    /// Known URLs so far.
    pub duplicate: u64,
    /// URLs that were admitted and ended on their way, until the engine collects them.
    pub dropped: Vec<(QueuedUrl, Reason)>,
}

impl SeenStage {
    /// A URL that scope and limits permit.
    pub fn admit(&mut self, url: QueuedUrl) -> Result<()> {
        match self.store.admit(url.key, (), url)? {
            Admission::Unique(url) => self.next.unique(url),
            Admission::Duplicate(url) => self.next.duplicate(url),
            Admission::Pending => Ok(()),
        }
    }

    /// Whether `key` is known to be seen without looking further, for a URL that is not forced: it is counted then, and is
    /// not admitted.
    pub fn passes_over(&mut self, key: Fingerprint) -> bool {
        let is_recent = self.store.is_recent(key);
        self.arrival().duplicate += u64::from(is_recent);
        is_recent
    }

    /// Hands at most `results_max` results of each store's merges on; says how many there were.
    pub fn dispatch(&mut self, results_max: usize) -> Result<usize> {
        let robots = &mut self.next;
        let dns = &mut robots.next;
        let mut end = End { robots: &mut robots.store, arrival: &mut dns.next };
        let mut count = dns.store.dispatch(&mut end, results_max)?;
        count += robots.store.dispatch(dns, results_max)?;
        count += self.store.dispatch(robots, results_max)?;
        Ok(count)
    }

    /// URLs that wait in any of the stores for a merge to begin.
    pub fn waiting(&self) -> u64 {
        self.store.pending_checks() + self.next.store.pending_checks() + self.next.next.store.pending_checks()
    }

    /// URLs of which it is not known yet whether they were seen before.
    pub fn undecided(&self) -> u64 {
        self.store.unanswered()
    }

    /// New URLs that wait for an answer about their robots.txt or their name.
    pub fn on_their_way(&self) -> u64 {
        self.next.store.unanswered() + self.next.next.store.unanswered()
    }

    /// The end of the way.
    pub fn arrival(&mut self) -> &mut Arrival {
        &mut self.next.next.next
    }
}

impl Dispatcher<Fingerprint, (), QueuedUrl> for RobotsStage {
    fn unique_key_update(&mut self, _: Fingerprint, (): (), url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.unique(url))
    }

    fn duplicate_key_update(&mut self, _: Fingerprint, (): (), url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.duplicate(url))
    }
}

impl RobotsStage {
    /// A URL that was never seen before: there is nothing to force.
    fn unique(&mut self, url: QueuedUrl) -> Result<()> {
        self.next.next.unique += 1;
        let admitted = self.patterns.admits(&url);
        self.pass(QueuedUrl { forced: false, ..url }, admitted)
    }

    /// A URL that was seen before ends here, unless it is forced.
    fn duplicate(&mut self, url: QueuedUrl) -> Result<()> {
        if url.forced {
            self.next.next.again += 1;
            return self.pass(url, true);
        }
        self.next.next.duplicate += 1;
        Ok(())
    }

    /// A URL that goes on, unless its page is in the archive or its pattern has had enough.
    fn pass(&mut self, url: QueuedUrl, admitted: bool) -> Result<()> {
        let arrival = &mut self.next.next;
        if arrival.replayed.remove(&(url.key, url.forced)) {
            return Ok(());
        }
        if !admitted {
            arrival.dropped.push((url, Reason::Pattern));
            return Ok(());
        }
        if arrival.frontier.knows(url.origin) {
            return arrival.frontier.push(url, arrival.now);
        }
        match self.store.ask(url.origin, url)? {
            Answer::Known(robots, url) => self.next.judge(&robots, url),
            Answer::Unknown(url) => self.next.ask(url, Known::default()),
            Answer::Pending => Ok(()),
        }
    }
}

impl Dispatcher<Fingerprint, Robots, QueuedUrl> for DnsStage {
    fn unique_key_check(&mut self, _: Fingerprint, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.ask(url, Known::default()))
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, robots: Robots, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.judge(&robots, url))
    }
}

impl DnsStage {
    /// A URL whose origin's robots.txt was asked for before: what fresh rules forbid ends here, everything else is
    /// judged again when it is dequeued.
    fn judge(&mut self, robots: &Robots, url: QueuedUrl) -> Result<()> {
        if let Some((RobotsAnswer::Rules(rules), _)) = robots.fresh(self.next.now)
            && !rules.allows(&url.url)
        {
            self.next.dropped.push((url, Reason::Robots));
            return Ok(());
        }
        let known = known_by(robots, self.next.now, self.next.anew);
        self.ask(url, known)
    }

    fn ask(&mut self, url: QueuedUrl, known: Known) -> Result<()> {
        // A host that rests is not resolved either. Its URL does not wait for a merge, over which what is known of its
        // robots.txt could be lost.
        if known.rests_until.is_some() || self.next.frontier.knows(url.origin) {
            let addresses = self.store.peek(url.host);
            return self.next.arrive(url, known, addresses.as_ref());
        }
        match self.store.ask(url.host, url)? {
            Answer::Known(addresses, url) => self.next.arrive(url, known, Some(&addresses)),
            Answer::Unknown(url) => self.next.arrive(url, known, None),
            Answer::Pending => Ok(()),
        }
    }
}

/// What an answer about robots.txt says of its host at `now`; that it could not be had up to `anew` is not believed.
pub fn known_by(robots: &Robots, now: Time, anew: Time) -> Known {
    if robots.failing_since().is_some() && robots.told().1.from <= anew {
        return Known::default();
    }
    let mut known = Known { robots_failing_since: robots.failing_since(), ..Known::default() };
    match robots.fresh(now) {
        Some((RobotsAnswer::Rules(rules), until)) => known.rules = Some((rules.clone(), until)),
        Some((RobotsAnswer::Unreachable { .. }, until)) => known.rests_until = Some(until),
        None => {}
    }
    known
}

/// Takes URLs in that waited for a merge of the DNS store, and meets what was known of their robots.txt again, as far
/// as the LRU has it: at worst robots.txt is fetched once more.
struct End<'a> {
    robots: &'a mut Store<Robots, QueuedUrl>,
    arrival: &'a mut Arrival,
}

impl End<'_> {
    fn arrive(&mut self, url: QueuedUrl, addresses: Option<&Addresses>) -> Result<()> {
        let robots = self.robots.peek(url.origin);
        let known = robots.map(|robots| known_by(&robots, self.arrival.now, self.arrival.anew)).unwrap_or_default();
        self.arrival.arrive(url, known, addresses)
    }
}

impl Dispatcher<Fingerprint, Addresses, QueuedUrl> for End<'_> {
    fn unique_key_check(&mut self, _: Fingerprint, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.arrive(url, None))
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, addresses: Addresses, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.arrive(url, Some(&addresses)))
    }
}

impl Arrival {
    /// A URL that passed the stores. A host that is active has answers of its own, which are not older.
    fn arrive(&mut self, url: QueuedUrl, mut known: Known, addresses: Option<&Addresses>) -> Result<()> {
        if self.frontier.knows(url.origin) {
            return self.frontier.push(url, self.now);
        }
        match addresses.and_then(|addresses| addresses.fresh_since(self.now, self.anew)) {
            Some((NameAnswer::Found(list), until)) => known.addresses = Some((list.clone(), until)),
            // as every URL of a host ends whose name was asked for just now
            Some((NameAnswer::NoSuchHost, _)) => {
                self.dropped.push((url, Reason::HostGivenUp));
                return Ok(());
            }
            Some((NameAnswer::PrivateAddress, _)) => {
                self.dropped.push((url, Reason::PrivateAddress));
                return Ok(());
            }
            Some((NameAnswer::Unanswered, until)) => known.rests_until = known.rests_until.max(Some(until)),
            None => {}
        }
        self.frontier.push_known_host(url, known, self.now)
    }
}
