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

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::values::{Addresses, Robots};
use crate::clock::Time;
use crate::disk::Result;
use crate::drum::{Admission, Answer, Dispatcher, Store};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Frontier, QueuedUrl, Rules};
use crate::outcome::Reason;

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
    pub replayed: HashSet<Fingerprint>,
    /// The moment of the event under way.
    pub now: Time,
    /// New URLs so far.
    pub unique: u64,
    /// Known URLs so far.
    pub duplicate: u64,
    /// URLs that ended on their way, until the engine collects them.
    pub dropped: Vec<(QueuedUrl, Reason)>,
}

impl SeenStage {
    /// A URL that scope and limits permit.
    pub fn admit(&mut self, url: QueuedUrl) -> Result<()> {
        match self.store.admit(url.key, (), url)? {
            Admission::Unique(url) => self.next.unique(url),
            Admission::Duplicate(_) => {
                self.next.next.next.duplicate += 1;
                Ok(())
            }
            Admission::Pending => Ok(()),
        }
    }

    /// Hands at most `results_max` results of each store's merges on; says how many there were.
    pub fn dispatch(&mut self, results_max: usize) -> Result<usize> {
        let robots = &mut self.next;
        let dns = &mut robots.next;
        let mut count = dns.store.dispatch(&mut dns.next, results_max)?;
        count += robots.store.dispatch(dns, results_max)?;
        count += self.store.dispatch(robots, results_max)?;
        Ok(count)
    }

    /// URLs that wait in any of the stores for an answer.
    pub fn waiting(&self) -> u64 {
        self.store.pending_checks() + self.next.store.pending_checks() + self.next.next.store.pending_checks()
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
        self.next.next.duplicate += u64::from(url.is_some());
        Ok(())
    }
}

impl RobotsStage {
    /// A URL that was never seen before.
    fn unique(&mut self, url: QueuedUrl) -> Result<()> {
        let arrival = &mut self.next.next;
        arrival.unique += 1;
        if arrival.replayed.remove(&url.key) {
            return Ok(());
        }
        if arrival.frontier.knows(url.origin) {
            return arrival.frontier.push(url, arrival.now);
        }
        match self.store.ask(url.origin, url)? {
            Answer::Known(robots, url) => self.next.judge(&robots, url),
            Answer::Unknown(url) => self.next.ask(url, None),
            Answer::Pending => Ok(()),
        }
    }
}

impl Dispatcher<Fingerprint, Robots, QueuedUrl> for DnsStage {
    fn unique_key_check(&mut self, _: Fingerprint, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.ask(url, None))
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, robots: Robots, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.judge(&robots, url))
    }
}

impl DnsStage {
    /// A URL whose origin's rules are known: what fresh rules forbid ends here, everything else is judged again when
    /// it is dequeued.
    fn judge(&mut self, robots: &Robots, url: QueuedUrl) -> Result<()> {
        let fresh = robots.expires > self.next.now;
        if fresh && !robots.rules.allows(&url.url) {
            self.next.dropped.push((url, Reason::Robots));
            return Ok(());
        }
        let rules: Option<(Arc<dyn Rules>, Time)> = fresh.then(|| (robots.rules.clone() as _, robots.expires));
        self.ask(url, rules)
    }

    fn ask(&mut self, url: QueuedUrl, rules: Option<(Arc<dyn Rules>, Time)>) -> Result<()> {
        let origin = url.origin;
        if self.next.frontier.knows(origin) {
            self.next.push(url, None)?;
        } else {
            match self.store.ask(url.host, url)? {
                Answer::Known(addresses, url) => self.next.push(url, Some(addresses))?,
                Answer::Unknown(url) => self.next.push(url, None)?,
                Answer::Pending => return Ok(()),
            }
        }
        self.next.frontier.preset(origin, rules, None);
        Ok(())
    }
}

impl Dispatcher<Fingerprint, Addresses, QueuedUrl> for Arrival {
    fn unique_key_check(&mut self, _: Fingerprint, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.push(url, None))
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, addresses: Addresses, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.push(url, Some(addresses)))
    }
}

impl Arrival {
    fn push(&mut self, url: QueuedUrl, addresses: Option<Addresses>) -> Result<()> {
        let origin = url.origin;
        self.frontier.push(url, self.now)?;
        let addresses: Option<(Arc<[IpAddr]>, Time)> =
            addresses.filter(|a| a.expires > self.now).map(|a| (a.addresses, a.expires));
        if addresses.is_some() {
            self.frontier.preset(origin, None, addresses);
        }
        Ok(())
    }
}
