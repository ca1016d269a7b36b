//! Rules that are asked for: one request for the robots.txt of an origin, for all who wait for it.
//!
//! ```text
//! the queue of the origin's host ─┐                       ┌─► known until they expire: the queue takes the answer over
//! a login, a page that is rendered┴─► asked for, once ────┤
//!                                     others wait with it └─► unavailable, until the origin may be asked again
//! ```
//! What the queue asks for itself goes its own way (`answers::robots`): the robots store has it then, where everybody
//! looks first. A request on behalf of others waits among the hops (`requests::hops`). Its answer is kept here, in
//! memory, with the records that the archive would get: the sitemaps that it names are of the crawl only if the crawl
//! has pages at the origin. When the queue comes to one, it takes the answer over as if it had just come, and asks for
//! none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use super::values::RobotsAnswer;
use crate::clock::Time;
use crate::container::{Referrer, Stored as StoredPage};
use crate::contract::{FetchFailed, Findings, Processed, Target};
use crate::disk::Result;
use crate::engine::waiting::{WaitingStep, Wanted};
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostId, Provenance};
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;

/// Origins of which something is known here only.
const KNOWN_MAX: usize = 1_024;
/// An answer with larger records, or more sitemaps, is asked for again instead of being kept.
const KEPT_BYTES_MAX: usize = 16 << 10;
const KEPT_SITEMAPS_MAX: usize = 64;

/// The origins whose rules are asked for, or are known here only.
#[derive(Debug, Default)]
pub(super) struct AskedRules(BTreeMap<Fingerprint, Entry>);

#[derive(Debug)]
enum Entry {
    /// They are asked for.
    Asked { by: Asker, waiters: Vec<Waiter> },
    /// They were asked for on behalf of others than the queue of their host.
    Known { rules: Arc<RobotsRules>, until: Time, answer: Option<Box<Processed>> },
    /// The same, and nothing follows from the answer.
    Unavailable(Time),
}

/// Somebody who asks for the rules of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// The queue of its host.
    Queue,
    /// A hop that waits for its turn.
    Hop,
    /// A hop whose request is made.
    Errand,
}

/// Somebody who waits for the rules of an origin.
#[derive(Debug)]
pub(super) enum Waiter {
    /// The queue of its host.
    Queue(HostId),
    /// A step of a login.
    Login(Box<WaitingStep>),
    /// Something that a page asks for that is rendered.
    Page(Box<Wanted>),
}

/// Knowledge of the rules of an origin.
pub(super) enum Known {
    /// These.
    Rules(Arc<RobotsRules>),
    /// They cannot be had, and are not to be asked for yet.
    Unavailable,
    Nothing,
}

/// Next step of a host's queue that needs the rules of its origin.
pub(super) enum Turn {
    /// It asks.
    Ask,
    /// Somebody has asked: it hears of it.
    Wait,
    /// It takes over an answer.
    Take(Box<Processed>),
    /// They cannot be had.
    Unavailable,
}

impl AskedRules {
    /// Returns what is known here at `now`.
    fn known(&self, origin: Fingerprint, now: Time) -> Known {
        match self.0.get(&origin) {
            Some(Entry::Known { rules, until, .. }) if *until > now => Known::Rules(rules.clone()),
            Some(Entry::Unavailable(until)) if *until > now => Known::Unavailable,
            _ => Known::Nothing,
        }
    }

    /// `waiter` waits for the rules of `origin`; whether somebody has to ask for them.
    fn wait(&mut self, origin: Fingerprint, waiter: Waiter) -> bool {
        if let Some(Entry::Asked { waiters, .. }) = self.0.get_mut(&origin) {
            waiters.push(waiter);
            return false;
        }
        self.0.insert(origin, Entry::Asked { by: Asker::Hop, waiters: vec![waiter] });
        true
    }

    /// The queue of `host` needs the rules of `origin` at `now`.
    fn turn_of_queue(&mut self, origin: Fingerprint, host: HostId, now: Time) -> Turn {
        match self.0.remove(&origin) {
            Some(Entry::Asked { by: Asker::Errand, mut waiters }) => {
                waiters.push(Waiter::Queue(host));
                self.0.insert(origin, Entry::Asked { by: Asker::Errand, waiters });
                Turn::Wait
            }
            Some(Entry::Known { until, answer: Some(answer), .. }) if until > now => Turn::Take(answer),
            Some(Entry::Unavailable(until)) if until > now => Turn::Unavailable,
            other => {
                let waiters = if let Some(Entry::Asked { waiters, .. }) = other { waiters } else { Vec::new() };
                self.0.insert(origin, Entry::Asked { by: Asker::Queue, waiters });
                Turn::Ask
            }
        }
    }

    /// The request for the rules of `origin` is made.
    pub(super) fn begin(&mut self, origin: Fingerprint) {
        if let Some(Entry::Asked { by, .. }) = self.0.get_mut(&origin) {
            *by = Asker::Errand;
        }
    }

    /// Returns whether a page that is rendered waits for the rules of `origin`.
    pub(super) fn is_urgent(&self, origin: Fingerprint) -> bool {
        self.waiters(origin).iter().any(|waiter| matches!(waiter, Waiter::Page(_)))
    }

    fn waiters(&self, origin: Fingerprint) -> &[Waiter] {
        match self.0.get(&origin) {
            Some(Entry::Asked { waiters, .. }) => waiters,
            _ => &[],
        }
    }

    /// Takes out those who wait for the rules of `origin`.
    fn take_waiters(&mut self, origin: Fingerprint) -> Vec<Waiter> {
        match self.0.remove(&origin) {
            Some(Entry::Asked { waiters, .. }) => waiters,
            _ => Vec::new(),
        }
    }

    fn keep(&mut self, origin: Fingerprint, entry: Entry) {
        if self.0.len() >= KNOWN_MAX {
            self.0.retain(|_, entry| matches!(entry, Entry::Asked { .. }));
        }
        self.0.insert(origin, entry);
    }

    /// Takes out what rendered pages wait for. Returns it with the origins for whose rules nobody waits then, and that
    /// were not asked yet.
    pub(super) fn leave_pages(&mut self) -> (Vec<Wanted>, Vec<Fingerprint>) {
        let (mut wanted, mut left) = (Vec::new(), Vec::new());
        self.0.retain(|&origin, entry| {
            let Entry::Asked { by, waiters } = entry else { return true };
            for waiter in std::mem::take(waiters) {
                match waiter {
                    Waiter::Page(page) => wanted.push(*page),
                    other => waiters.push(other),
                }
            }
            let is_wanted = *by != Asker::Hop || !waiters.is_empty();
            left.extend((!is_wanted).then_some(origin));
            is_wanted
        });
        (wanted, left)
    }
}

impl Waiter {
    /// The note of a robots.txt in crawl.log that was asked for because of it.
    fn note(&self) -> Option<&'static str> {
        match self {
            Waiter::Queue(_) => None,
            Waiter::Login(_) => Some("login"),
            Waiter::Page(_) => Some("forRendering"),
        }
    }
}

impl Engine {
    /// Returns what is known of the rules of the origin of `url`.
    pub(super) fn rules_for(&mut self, url: &CanonicalUrl) -> Known {
        let (now, origin) = (self.admission.stores.arrival.now, self.admission.home.keys.keys(url).origin);
        let known = self.admission.stores.robots.peek(origin);
        match known.as_ref().and_then(|known| known.fresh(now)) {
            Some((RobotsAnswer::Rules(rules), _)) => Known::Rules(rules.clone()),
            Some((RobotsAnswer::Unreachable { .. }, _)) => Known::Unavailable,
            None => self.asked_rules.known(origin, now),
        }
    }

    /// The rules of the origin of `url` are asked for, on behalf of a page of `host`, and `waiter` hears of them.
    pub(super) fn ask_rules(&mut self, url: &CanonicalUrl, waiter: Waiter, host: HostId, provenance: Provenance) {
        let (origin, key) = (url.origin(), self.admission.home.keys.keys(url).origin);
        if self.asked_rules.wait(key, waiter) {
            let robots = robots_txt(&origin);
            let target = Target::Robots { origin: origin.into(), key, redirects: 0, provenance, for_others: true };
            self.add_hop(host, target, Referrer::Nobody, robots, None);
        } else if self.asked_rules.is_urgent(key) {
            self.requests.hasten_prerequisite(key);
        }
    }

    /// The queue of `host` needs the rules of the origin `key`.
    pub(super) fn queue_asks(&mut self, key: Fingerprint, host: HostId) -> Turn {
        let turn = self.asked_rules.turn_of_queue(key, host, self.admission.stores.arrival.now);
        if matches!(turn, Turn::Ask) {
            // nobody has to ask for them on behalf of others any more
            self.requests.drop_prerequisite(key);
        }
        turn
    }

    /// Passes what the queue of the host of `origin` has learnt of its rules to those who wait for them too.
    pub(super) fn pass_rules(&mut self, origin: Fingerprint, rules: Option<&Arc<RobotsRules>>) -> Result<()> {
        let waiters = self.asked_rules.take_waiters(origin);
        waiters.into_iter().try_for_each(|waiter| self.tell_waiter(origin, waiter, rules))
    }

    fn tell_waiter(&mut self, origin: Fingerprint, waiter: Waiter, rules: Option<&Arc<RobotsRules>>) -> Result<()> {
        match waiter {
            Waiter::Login(step) => self.login_rules(*step, rules),
            Waiter::Page(wanted) => self.page_rules(*wanted, rules),
            // an answer that there is was taken over
            Waiter::Queue(host) => return self.rules_unreachable(host, origin, Duration::ZERO, None),
        }
        Ok(())
    }

    /// A robots.txt that was asked for on behalf of others than the queue of its host is answered.
    pub(super) fn prerequisite_answered(&mut self, mut processed: Processed, worker: u32) -> Result<()> {
        let (duration, status) = (processed.response.duration, processed.response.status);
        self.end_step(&processed.job.url, duration);
        self.replay_rest(processed.keys.host, &processed.response, true);
        let Target::Robots { key, .. } = processed.job.target else { return Ok(()) };
        let note = self.asked_rules.waiters(key).iter().find_map(Waiter::note);
        self.admission.books.log_answer(&processed, &StoredPage::nothing(0), note, worker)?;
        let redirect = processed.findings.redirect.take().map(|(target, _)| target);
        if self.follow_robots(&processed, redirect) {
            return Ok(());
        }
        let rules = RobotsRules::of_answer(status, processed.findings.rules.clone());
        // one redirect too many, or one that leads nowhere, counts as "unavailable"
        let rules = rules.or_else(|| (300..400).contains(&status).then(RobotsRules::allow_all));
        self.prerequisite_over(key, rules.map(Arc::new), Some(processed))
    }

    /// It brought no answer.
    pub(super) fn prerequisite_failed(&mut self, failed: &FetchFailed, worker: u32) -> Result<()> {
        self.admission.books.statistics.count_failure(failed.failure);
        self.admission.books.log_failure(failed, failed.failure.code(), worker)?;
        self.end_step(&failed.job.url, failed.duration);
        let Target::Robots { key, .. } = failed.job.target else { return Ok(()) };
        self.prerequisite_over(key, None, None)
    }

    /// Ends a request on behalf of others: the rules of `origin` are known, or cannot be had. Everybody who waits for
    /// them hears of it.
    pub(super) fn prerequisite_over(
        &mut self,
        origin: Fingerprint,
        rules: Option<Arc<RobotsRules>>,
        answer: Option<Processed>,
    ) -> Result<()> {
        let now = self.admission.stores.arrival.now;
        let mut waiters = self.asked_rules.take_waiters(origin);
        let queue = waiters.iter().position(|waiter| matches!(waiter, Waiter::Queue(_)));
        let queue = queue.map(|place| waiters.remove(place));
        match (queue, &rules, answer) {
            (Some(Waiter::Queue(host)), Some(_), Some(answer)) => self.take_over(host, answer)?,
            (Some(queue), ..) => self.tell_waiter(origin, queue, None)?,
            (None, Some(rules), answer) => {
                let until = now + self.admission.settings.robots_cache;
                let answer = answer.map(bare).filter(is_small).map(Box::new);
                self.asked_rules.keep(origin, Entry::Known { rules: rules.clone(), until, answer });
            }
            (None, None, _) => {
                let until = now + self.admission.stores.arrival.frontier.pacing().robots_back_off();
                self.asked_rules.keep(origin, Entry::Unavailable(until));
            }
        }
        waiters.into_iter().try_for_each(|waiter| self.tell_waiter(origin, waiter, rules.as_ref()))
    }

    /// The queue of `host` takes over an answer that was asked for on behalf of others, as if it had just come.
    pub(super) fn take_over(&mut self, host: HostId, mut processed: Processed) -> Result<()> {
        processed.job.host = host;
        let stored = self.store(&processed)?;
        self.admission.books.count_stored(&stored);
        let findings = std::mem::replace(&mut processed.findings, Findings::none());
        self.robots_read(processed, findings, &stored)
    }
}

/// The robots.txt of an origin.
pub(super) fn robots_txt(origin: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("{origin}/robots.txt")).expect("an origin makes a URL")
}

/// An answer without what it was read from.
fn bare(mut processed: Processed) -> Processed {
    processed.response.body = Vec::new();
    // other answers may need its place
    processed.permits = Default::default();
    processed
}

fn is_small(processed: &Processed) -> bool {
    processed.records.bytes.len() <= KEPT_BYTES_MAX && processed.findings.links.len() <= KEPT_SITEMAPS_MAX
}
