//! The pipeline of admitted URLs: three stores in turn, then the frontier.
//!
//! ```text
//! admit ─► URL-seen ─► patterns ─┬─► robots ─► DNS ─► frontier
//!                   BehindSeen    │         BehindRobots  BehindDns
//! admit_due ─► visits ────────────┘
//!                   BehindVisits
//! ```
//! A store answers at once (from its LRU, or because its Bloom filter knows that the key is new) or after a merge,
//! through its dispatcher, which is what is behind it; either way the URL goes on by the same function. Origins that
//! are active in the frontier skip robots and DNS: the frontier knows their rules and addresses already.
//!
//! In a crawl that fetches pages again, a URL whose time has come passes the store of visits in the place of URL-seen,
//! and so does a known URL of which somebody says that it has changed ([`BehindVisits`]).
//!
//! What the two stores say counts while it is fresh. Rules that forbid the URL end it, and so does a name that does not
//! exist or leads to private addresses; a robots.txt that cannot be had and name servers that fail hold the host back;
//! everything else goes with the URL to the frontier. What is not known, or not fresh, the frontier asks for when the
//! host's turn comes, and the answer replaces the old one.

use super::support::BehindSupport;
use super::{Replayed, Stores};
use crate::calendar::{Recrawl, Visited};
use crate::clock::Time;
use crate::disk::Result;
use crate::drum::{Admission, Dispatcher, Store, StoreAnswer};
use crate::engine::depths::Depths;
use crate::engine::is_of_seed;
use crate::engine::patterns::PatternBudget;
use crate::engine::values::{Addresses, Doubtful, Robots, RobotsAnswer};
use crate::fingerprint::Fingerprint;
use crate::frontier::{Frontier, HostId, Known, NameAnswer, QueuedUrl};
use crate::outcome::Reason;
use std::collections::{HashMap, HashSet};

/// The end of the pipeline: the frontier, and what is counted.
pub struct AdmissionSink {
    /// The queues.
    pub frontier: Frontier,
    /// URLs whose pages were found in the archive after the last checkpoint and which no stage has met again.
    pub replayed: HashSet<Replayed>,
    /// The moment of the event in progress.
    pub now: Time,
    /// The answers of before that are asked for again.
    pub doubtful: Doubtful,
    /// New URLs so far.
    pub unique: u64,
    /// Known URLs that were admitted once more, to be fetched again.
    pub again: u64,
    /// Known URLs so far.
    pub duplicate: u64,
    /// URLs that were admitted and ended in the pipeline, until the engine collects them.
    pub dropped: Vec<(QueuedUrl, Reason)>,
    /// URLs whose pages a replay found in the archive and that were met now, until the engine collects them; only where
    /// pages are fetched again.
    pub met: Option<Vec<QueuedUrl>>,
    /// Pages that are fetched before their time, until that is put down.
    pub brought_forward: HashMap<Fingerprint, Visited>,
    /// Records of the calendar that were not their page's any more.
    pub stale: u64,
    /// Pages that were fetched before their time because somebody said that they have changed.
    pub early: u64,
    /// Depths of URLs by the shortest way, where that matters.
    pub depths: Depths,
}

impl Stores {
    /// A URL that scope and limits permit.
    pub(crate) fn admit(&mut self, url: QueuedUrl) -> Result<()> {
        if self.support.is_some() && is_of_seed(&url) {
            self.sink.frontier.note_seed(url.domain)?;
        }
        match self.seen.admit(url.key, (), url)? {
            Admission::Unique(url) => self.behind_seen().unique(url)?,
            Admission::Duplicate(url) => self.behind_seen().duplicate(url)?,
            Admission::Pending => return Ok(()),
        }
        self.put_forward()
    }

    /// A URL whose time has come.
    pub(crate) fn admit_due(&mut self, url: QueuedUrl) -> Result<()> {
        self.behind_seen().ask_visits(url)?;
        self.put_forward()
    }

    /// Returns whether `key` is known to be seen without looking further, for a URL that is not forced: it is counted
    /// then, and is not admitted.
    pub(crate) fn passes_over(&mut self, key: Fingerprint) -> bool {
        let is_recent = self.seen.is_recent(key);
        self.sink.duplicate += u64::from(is_recent);
        is_recent
    }

    /// Hands at most `results_max` results of each store's merges on; says how many there were.
    pub(crate) fn dispatch(&mut self, results_max: usize) -> Result<usize> {
        // no field is left out, so that a new store cannot be
        let Stores {
            seen,
            robots,
            dns,
            visits,
            support,
            patterns,
            sink,
            jobs,
            texts: _,
            session_params: _,
            by_network: _,
            by_standing: _,
            support_begins_late: _,
        } = self;
        let mut count = dns.dispatch(&mut BehindDns { robots, sink }, results_max)?;
        count += robots.dispatch(&mut BehindRobots { dns, sink }, results_max)?;
        if let Some(visits) = visits {
            let onward = Onward { robots, next: BehindRobots { dns, sink } };
            count += visits.dispatch(&mut BehindVisits { onward }, results_max)?;
        }
        let onward = Onward { robots, next: BehindRobots { dns, sink } };
        let visits = visits.as_mut();
        count += seen.dispatch(&mut BehindSeen { patterns, visits, onward }, results_max)?;
        if let Some(support) = support {
            count += support.dispatch(&mut BehindSupport { frontier: &mut sink.frontier }, results_max)?;
        }
        jobs.is_dispatching = count > 0;
        self.put_forward()?;
        Ok(count)
    }

    fn behind_seen(&mut self) -> BehindSeen<'_> {
        let Stores { patterns, robots, dns, visits, sink, .. } = self;
        let onward = Onward { robots, next: BehindRobots { dns, sink } };
        BehindSeen { patterns, visits: visits.as_mut(), onward }
    }

    /// Puts down of which pages the record in the calendar is not theirs any more: they were queued before their time.
    fn put_forward(&mut self) -> Result<()> {
        let Some(visits) = self.visits.as_mut().filter(|_| !self.sink.brought_forward.is_empty()) else {
            return Ok(());
        };
        let mut each: Vec<_> = self.sink.brought_forward.drain().collect();
        // the same state gives the same order
        each.sort_unstable_by_key(|(key, _)| *key);
        each.into_iter().try_for_each(|(key, visited)| visits.put(key, visited))
    }
}

/// Next stage for URLs of which URL-seen has said whether they are new.
struct BehindSeen<'a> {
    patterns: &'a mut PatternBudget,
    visits: Option<&'a mut Store<Visited, QueuedUrl>>,
    onward: Onward<'a>,
}

/// Next stage for known URLs whose visits were looked up.
struct BehindVisits<'a> {
    onward: Onward<'a>,
}

/// Next stage for URLs that are to be fetched.
struct Onward<'a> {
    robots: &'a mut Store<Robots, QueuedUrl>,
    next: BehindRobots<'a>,
}

/// Next stage for URLs that the rules of their origin were looked up for.
struct BehindRobots<'a> {
    dns: &'a mut Store<Addresses, QueuedUrl>,
    sink: &'a mut AdmissionSink,
}

impl Dispatcher<Fingerprint, (), QueuedUrl> for BehindSeen<'_> {
    fn unique_key_update(&mut self, _: Fingerprint, (): (), url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.unique(url))
    }

    fn duplicate_key_update(&mut self, _: Fingerprint, (): (), url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.duplicate(url))
    }
}

impl BehindSeen<'_> {
    /// A URL that was never seen before: there is nothing to force.
    fn unique(&mut self, url: QueuedUrl) -> Result<()> {
        self.onward.next.sink.unique += 1;
        self.onward.next.sink.depths.note(url.key, url.depth);
        let admitted = self.patterns.admits(&url);
        self.onward.pass(QueuedUrl { forced: false, recrawl: None, ..url }, admitted)
    }

    /// A URL that was seen before ends here, unless it is forced, or its visits say that it should be fetched.
    fn duplicate(&mut self, url: QueuedUrl) -> Result<()> {
        self.onward.next.sink.depths.offer(url.key, url.depth);
        if self.visits.is_some() && (url.forced || url.recrawl.is_some()) {
            return self.ask_visits(url);
        }
        let sink = &mut *self.onward.next.sink;
        if url.forced {
            sink.again += 1;
            return self.onward.pass(url, true);
        }
        sink.duplicate += 1;
        Ok(())
    }

    fn ask_visits(&mut self, url: QueuedUrl) -> Result<()> {
        let Some(visits) = &mut self.visits else { return Ok(()) };
        match visits.ask(url.key, url)? {
            StoreAnswer::Known(visited, url) => self.onward.judge_visited(visited, url),
            StoreAnswer::Unknown(url) => self.onward.judge_unvisited(url),
            StoreAnswer::Pending => Ok(()),
        }
    }
}

impl Dispatcher<Fingerprint, Visited, QueuedUrl> for BehindVisits<'_> {
    fn unique_key_check(&mut self, _: Fingerprint, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.onward.judge_unvisited(url))
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, visited: Visited, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.onward.judge_visited(visited, url))
    }
}

impl Onward<'_> {
    /// A known URL that was visited: fetched if its record in the calendar is still its own, if somebody says that it
    /// has changed since, or if a seed's line wants it.
    fn judge_visited(&mut self, visited: Visited, mut url: QueuedUrl) -> Result<()> {
        let sink = &mut *self.next.sink;
        let reason = url.recrawl.as_deref().and_then(Recrawl::read);
        match reason {
            Some(Recrawl::Due(past)) if past.due == visited.due && !visited.is_gone => {}
            Some(Recrawl::Due(_)) => {
                sink.stale += 1;
                return Ok(());
            }
            // what is due is on its way
            Some(hint @ (Recrawl::Modified(_) | Recrawl::Linked)) => {
                let is_waiting = visited.is_gone || visited.due > sink.now;
                let is_newer = match hint {
                    Recrawl::Modified(time) => time > visited.fetched && time <= sink.now,
                    _ => visited.is_gone,
                };
                if !is_newer || !is_waiting || sink.brought_forward.contains_key(&url.key) {
                    sink.duplicate += 1;
                    return Ok(());
                }
                sink.early += 1;
                let due = Time::from_ms(sink.now.ms() / 1_000 * 1_000);
                sink.brought_forward.insert(url.key, Visited { due, is_gone: false, ..visited });
                url.recrawl = Some(Recrawl::Due(visited.to_past()).to_bytes());
            }
            // somebody wants it now, and the LRU may not have its visits any more when it is fetched
            None | Some(Recrawl::Wanted(_)) if !url.is_due_again() => {
                url.recrawl = Some(Recrawl::Wanted(visited.to_past()).to_bytes());
            }
            None | Some(Recrawl::Wanted(_)) => {}
        }
        sink.again += 1;
        self.pass(QueuedUrl { forced: true, ..url }, true)
    }

    /// A known URL without a visit: it waits for its first one, or had none that counts. A seed's line wants it all the
    /// same, and a record of the calendar is never lost.
    fn judge_unvisited(&mut self, url: QueuedUrl) -> Result<()> {
        if !url.forced {
            self.next.sink.duplicate += 1;
            return Ok(());
        }
        self.next.sink.again += 1;
        self.pass(url, true)
    }

    /// A URL that goes on, unless its page is in the archive or its pattern has had enough.
    fn pass(&mut self, url: QueuedUrl, admitted: bool) -> Result<()> {
        let sink = &mut *self.next.sink;
        if sink.replayed.remove(&(url.key, url.forced)) {
            sink.met.iter_mut().for_each(|met| met.push(url.clone()));
            return Ok(());
        }
        if !admitted {
            sink.dropped.push((url, Reason::Pattern));
            return Ok(());
        }
        if sink.frontier.active().knows(url.origin) {
            return sink.frontier.push(url, sink.now);
        }
        match self.robots.ask(url.origin, url)? {
            StoreAnswer::Known(robots, url) => self.next.judge(&robots, url),
            StoreAnswer::Unknown(url) => self.next.ask(url, Known::default()),
            StoreAnswer::Pending => Ok(()),
        }
    }
}

impl Dispatcher<Fingerprint, Robots, QueuedUrl> for BehindRobots<'_> {
    fn unique_key_check(&mut self, _: Fingerprint, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.ask(url, Known::default()))
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, robots: Robots, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.judge(&robots, url))
    }
}

impl BehindRobots<'_> {
    /// A URL whose origin's robots.txt was asked for before: what fresh rules forbid ends here, everything else is
    /// judged again when it is dequeued.
    fn judge(&mut self, robots: &Robots, url: QueuedUrl) -> Result<()> {
        let known = known_by(robots, self.sink.now, self.sink.doubtful);
        if known.rules.as_ref().is_some_and(|(rules, _)| !rules.allows(&url.url)) {
            self.sink.dropped.push((url, Reason::Robots));
            return Ok(());
        }
        self.ask(url, known)
    }

    fn ask(&mut self, url: QueuedUrl, known: Known) -> Result<()> {
        // A host that rests is not resolved either. Its URL does not wait for a merge, over which what is known of its
        // robots.txt could be lost.
        if known.rests_until.is_some() || self.sink.frontier.active().knows(url.origin) {
            let addresses = self.dns.peek(url.host);
            return self.sink.arrive(url, known, addresses.as_ref());
        }
        match self.dns.ask(url.host, url)? {
            StoreAnswer::Known(addresses, url) => self.sink.arrive(url, known, Some(&addresses)),
            StoreAnswer::Unknown(url) => self.sink.arrive(url, known, None),
            StoreAnswer::Pending => Ok(()),
        }
    }
}

/// Returns what an answer about robots.txt says of its host at `now`, where it is not `doubtful`.
pub fn known_by(robots: &Robots, now: Time, doubtful: Doubtful) -> Known {
    if !robots.is_believed(doubtful) {
        return Known::default();
    }
    let mut known = Known { robots_failing_since: robots.failing_since(), ..Known::default() };
    match robots.fresh(now, doubtful) {
        Some((RobotsAnswer::Rules(rules), until)) => known.rules = Some((rules.clone(), until)),
        Some((RobotsAnswer::Unreachable { .. }, until)) => known.rests_until = Some(until),
        None => {}
    }
    known
}

/// Takes URLs in that waited for a merge of the DNS store, and meets what was known of their robots.txt again, as far
/// as the LRU has it: at worst robots.txt is fetched once more.
struct BehindDns<'a> {
    robots: &'a mut Store<Robots, QueuedUrl>,
    sink: &'a mut AdmissionSink,
}

impl BehindDns<'_> {
    fn arrive(&mut self, url: QueuedUrl, addresses: Option<&Addresses>) -> Result<()> {
        let robots = self.robots.peek(url.origin);
        let known = robots.map(|robots| known_by(&robots, self.sink.now, self.sink.doubtful)).unwrap_or_default();
        self.sink.arrive(url, known, addresses)
    }
}

impl Dispatcher<Fingerprint, Addresses, QueuedUrl> for BehindDns<'_> {
    fn unique_key_check(&mut self, _: Fingerprint, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.arrive(url, None))
    }

    fn duplicate_key_check(&mut self, _: Fingerprint, addresses: Addresses, url: Option<QueuedUrl>) -> Result<()> {
        url.map_or(Ok(()), |url| self.arrive(url, Some(&addresses)))
    }
}

impl AdmissionSink {
    /// The part of the URLs linked so far that was new.
    pub(super) fn new_part(&self) -> f64 {
        (1 + self.unique) as f64 / (1 + self.unique + self.duplicate) as f64
    }

    /// Asks once more for a page that is known.
    pub(in crate::engine) fn ask_again(&mut self, url: QueuedUrl) -> Result<()> {
        self.again += 1;
        self.frontier.push(url, self.now)
    }

    /// Drops a page whose turn has come: its site's login failed for good, or it is a copy.
    pub(in crate::engine) fn turn_back(
        &mut self,
        host: HostId,
        url: QueuedUrl,
        reason: Reason,
        now: Time,
    ) -> Result<()> {
        self.frontier.withdraw(host, now)?;
        self.dropped.push((url, reason));
        Ok(())
    }

    /// A URL that passed the stores. A host that is active has its own answers, which are not older.
    fn arrive(&mut self, url: QueuedUrl, mut known: Known, addresses: Option<&Addresses>) -> Result<()> {
        if self.frontier.active().knows(url.origin) {
            return self.frontier.push(url, self.now);
        }
        match addresses.and_then(|addresses| addresses.fresh(self.now, self.doubtful)) {
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
