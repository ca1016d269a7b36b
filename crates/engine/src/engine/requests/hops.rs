//! Requests that no queue makes: redirects of robots.txt, what logins and pages that are rendered ask for. Each is a
//! request like any other, and waits for its turn at the host where it leads.
//!
//! The origin whose rules are asked for waits in the frontier for the answer to its [`Task::Robots`], so that there is
//! at most one redirect for each active host. A hop is not saved: after a restart robots.txt is asked for from the
//! start.
//!
//! [`Task::Robots`]: crate::frontier::Task::Robots

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::container::Referrer;
use crate::contract::{ResolveJob, Target};
use crate::disk::Result;
use crate::engine::Engine;
use crate::fingerprint::Fingerprint;
use crate::frontier::{Asked, Contact, HostId, NameAnswer};
use crate::outcome::{Cause, HostFault};
use crate::web::url::{CanonicalUrl, Keys};

/// A request that is not made yet.
#[derive(Debug)]
pub(super) struct Hop {
    host: HostId,
    target: Target,
    /// The robots.txt that was asked for first, or the page that asks.
    via: Referrer,
    url: CanonicalUrl,
    /// True if a rendered page asks for it.
    is_of_page: bool,
    addresses: Addresses,
    pub due: Time,
}

impl Hop {
    /// Returns whether it asks for the robots.txt of `origin` on behalf of others than its queue.
    fn is_prerequisite_of(&self, origin: Fingerprint) -> bool {
        matches!(&self.target, Target::Robots { key, for_others: true, .. } if *key == origin)
    }
}

#[derive(Debug)]
enum Addresses {
    Unknown,
    /// The name servers are asked.
    Asked,
    Known(Arc<[IpAddr]>),
}

/// Next step of a hop.
enum Step {
    Wait,
    Ask,
    Go(Arc<[IpAddr]>),
    Fail(Cause),
}

impl super::Requests {
    /// Returns when the first of the requests of pages may be made.
    pub fn next_resource_due(&self) -> Option<Time> {
        let of_pages = self.hops.iter().filter(|hop| hop.is_of_page);
        of_pages.map(|hop| hop.due).min().filter(|&due| due < Time::MAX)
    }

    /// Takes out what waits for its turn that pages ask for; the URLs that they wait for.
    pub fn take_resource_hops(&mut self) -> Vec<CanonicalUrl> {
        let (of_pages, others) =
            std::mem::take(&mut self.hops).into_iter().partition(|hop| matches!(hop.target, Target::Resource { .. }));
        self.hops = others;
        let of_pages: Vec<Hop> = of_pages;
        of_pages.into_iter().map(|hop| hop.url).collect()
    }

    /// The robots.txt of `origin` need not be asked for on behalf of others.
    pub fn drop_prerequisite(&mut self, origin: Fingerprint) {
        let before = self.hops.len();
        self.hops.retain(|hop| !hop.is_prerequisite_of(origin));
        if self.hops.len() < before {
            // others may have waited for the answer that it had asked for
            self.look_at_names();
        }
    }

    /// A page that is rendered waits for the robots.txt of `origin`, too.
    pub fn hasten_prerequisite(&mut self, origin: Fingerprint) {
        let prerequisites = self.hops.iter_mut().filter(|hop| hop.is_prerequisite_of(origin));
        prerequisites.for_each(|hop| hop.is_of_page = true);
    }

    /// Lets hops that waited for an answer of name servers look for it where it is kept.
    fn look_at_names(&mut self) {
        let waits = |hop: &&mut Hop| hop.due == Time::MAX && matches!(hop.addresses, Addresses::Unknown);
        self.hops.iter_mut().filter(waits).for_each(|hop| hop.due = Time::ZERO);
    }
}

impl Engine {
    /// `url` is to be asked for on behalf of `host`; `addresses` are those of its name, if it is the name that was just
    /// asked.
    pub(in crate::engine) fn add_hop(
        &mut self,
        host: HostId,
        target: Target,
        via: Referrer,
        url: CanonicalUrl,
        addresses: Option<Arc<[IpAddr]>>,
    ) {
        let due = self.admission.stores.arrival.now;
        let addresses = addresses.filter(|list| !list.is_empty()).map_or(Addresses::Unknown, Addresses::Known);
        let is_of_page = match &target {
            Target::Robots { key, .. } => self.asked_rules.is_urgent(*key),
            target => matches!(target, Target::Resource { .. }),
        };
        self.requests.hops.push(Hop { host, target, via, url, is_of_page, addresses, due });
    }

    /// A step of a login at `url` is over: the host where it went rests now.
    pub(in crate::engine) fn end_step(&mut self, url: &CanonicalUrl, duration: Duration) {
        let asked = self.asked(self.admission.home.keys.keys(url), url.host());
        let arrival = &mut self.admission.stores.arrival;
        arrival.frontier.end_prerequisite(asked, duration, arrival.now);
    }

    /// Follows the first redirect whose turn has come, if there is one, and says whether a request was made; only what
    /// pages ask for, if so wanted.
    pub(in crate::engine) fn follow_hop(&mut self, now: Time, of_pages: bool) -> Result<bool> {
        let mut number = 0;
        while let Some(hop) = self.requests.hops.get(number) {
            if hop.due > now || of_pages && !hop.is_of_page {
                number += 1;
                continue;
            }
            match self.step(number, now) {
                Step::Wait => number += 1,
                Step::Ask if self.is_asked(number) => number += 1,
                Step::Ask => {
                    let hop = &mut self.requests.hops[number];
                    (hop.addresses, hop.due) = (Addresses::Asked, Time::MAX);
                    let job = ResolveJob { host: hop.host, name: hop.url.host().into() };
                    self.requests.begin(job.host, Contact::Known, now);
                    self.executors.resolve(job);
                    return Ok(false);
                }
                Step::Go(addresses) => {
                    let Hop { host, target, via, url, .. } = self.requests.hops.remove(number);
                    if let Target::Robots { key, for_others: true, .. } = &target {
                        self.asked_rules.begin(*key);
                    }
                    self.fetch_robots(host, target, url, addresses, via)?;
                    return Ok(true);
                }
                Step::Fail(cause) => self.fail_hop(number, cause)?,
            }
        }
        Ok(false)
    }

    /// Returns whether another hop waits for the answer that this one would ask for.
    fn is_asked(&mut self, number: usize) -> bool {
        let (name, host) = (self.requests.hops[number].url.host(), self.requests.hops[number].host);
        let same = |hop: &Hop| hop.host == host && hop.url.host() == name && matches!(hop.addresses, Addresses::Asked);
        let is_asked = self.requests.hops.iter().any(same);
        if is_asked {
            self.requests.hops[number].due = Time::MAX;
        }
        is_asked
    }

    fn step(&mut self, number: usize, now: Time) -> Step {
        let hop = &self.requests.hops[number];
        let known = match &hop.addresses {
            Addresses::Known(list) => Some(NameAnswer::Found(list.clone())),
            Addresses::Asked => return Step::Wait,
            Addresses::Unknown => match self.said(&hop.url) {
                Some(addresses) => Some(NameAnswer::Found(addresses)),
                None => {
                    let stored = self.admission.stores.dns.peek(self.admission.home.keys.keys(&hop.url).host);
                    let anew = self.admission.stores.arrival.anew;
                    stored.and_then(|stored| stored.fresh_since(now, anew).map(|(answer, _)| answer.clone()))
                }
            },
        };
        let addresses = match known {
            None => return Step::Ask,
            Some(NameAnswer::Found(addresses)) => addresses,
            Some(NameAnswer::NoSuchHost) => return Step::Fail(Cause::NoSuchHost),
            Some(NameAnswer::PrivateAddress) => return Step::Fail(Cause::PrivateAddress),
            Some(NameAnswer::Unanswered) => return Step::Fail(Cause::Dns),
        };
        let keys = self.admission.home.keys.keys(&hop.url);
        let asked = self.asked(keys, hop.url.host());
        let is_of_page = hop.is_of_page;
        let frontier = &mut self.admission.stores.arrival.frontier;
        let began = match is_of_page {
            true => frontier.begin_requisite(asked, addresses[0], self.admission.settings.rendering.pace, now),
            false => frontier.begin_prerequisite(asked, addresses[0], now),
        };
        match began {
            Ok(()) => Step::Go(addresses),
            Err(again) => {
                self.requests.hops[number].due = again;
                Step::Wait
            }
        }
    }

    /// The addresses of the host of `url` that nobody has to be asked for.
    fn said(&self, url: &CanonicalUrl) -> Option<Arc<[IpAddr]>> {
        let literal = url.host().parse::<IpAddr>().ok().or(url.literal_address());
        literal.map(|literal| Arc::from([literal])).or_else(|| self.admission.settings.hosts.get(url.host()))
    }

    /// The host that is asked, which has these keys.
    fn asked(&self, keys: Keys, host: &str) -> Asked {
        let politeness = self.admission.stores.arrival.frontier.pacing().politeness_for(host);
        Asked {
            origin: keys.origin,
            name: keys.host,
            is_foreign: !self.admission.home.shard.owns(keys.domain),
            politeness,
        }
    }

    /// A redirect that cannot be followed is a robots.txt that cannot be had.
    fn fail_hop(&mut self, number: usize, cause: Cause) -> Result<()> {
        self.checkpoints.note_change();
        self.admission.books.statistics.count_failure(cause.failure());
        let Hop { host, target, url, .. } = self.requests.hops.remove(number);
        match target {
            Target::Robots { key, for_others: true, .. } => self.prerequisite_over(key, None, None),
            Target::Robots { origin, key, .. } => {
                self.admission.stores.arrival.frontier.active_mut().blame(host, HostFault::RobotsMoved(cause));
                self.robots_failed(host, &origin, key, Duration::ZERO)
            }
            Target::Login { plan, .. } => {
                self.login_unanswered(&plan, cause.to_string());
                Ok(())
            }
            Target::Resource { .. } => {
                self.resource_failed(&url, cause);
                Ok(())
            }
            Target::Page { .. } => Ok(()),
        }
    }

    /// The name of a host was resolved: for the hop that `host` waits for, if it asked.
    pub(in crate::engine) fn hop_resolved(
        &mut self,
        host: HostId,
        name: &str,
        answer: std::result::Result<&Arc<[IpAddr]>, Cause>,
    ) -> Result<()> {
        let asked = |hop: &Hop| hop.host == host && hop.url.host() == name && matches!(hop.addresses, Addresses::Asked);
        let Some(number) = self.requests.hops.iter().position(asked) else { return Ok(()) };
        // those that waited for the same answer look for it where it is kept now
        self.requests.look_at_names();
        match answer {
            Ok(list) if !list.is_empty() => {
                let hop = &mut self.requests.hops[number];
                (hop.addresses, hop.due) = (Addresses::Known(list.clone()), Time::ZERO);
                Ok(())
            }
            Ok(_) => self.fail_hop(number, Cause::Dns),
            Err(cause) => self.fail_hop(number, cause),
        }
    }

    /// A request for robots.txt at `url` is over. If it was a hop, the host where it led rests now.
    pub(in crate::engine) fn end_hop(
        &mut self,
        redirects: u8,
        origin: Fingerprint,
        url: &CanonicalUrl,
        duration: Duration,
    ) {
        let at = self.admission.home.keys.keys(url);
        let asked = self.asked(at, url.host());
        let arrival = &mut self.admission.stores.arrival;
        if redirects > 0 {
            arrival.frontier.end_prerequisite(asked, duration, arrival.now);
        }
        debug_assert!(redirects > 0 || at.origin == origin, "the first request for robots.txt goes to its own origin");
    }
}
