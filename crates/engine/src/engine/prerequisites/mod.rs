//! Requests that no queue makes: redirects of robots.txt, what logins and pages that are rendered ask for. Each is a
//! request like any other, and waits for its turn at the host where it leads.
//!
//! ```text
//! a login, a page ─► wanted ─► are the rules known where it goes? ──► its turn at the host ─► a request
//!                                │          no: it waits, and one ────────────▲
//!                                ▼              request asks for them         │
//!                             refused                    redirects of robots.txt
//! ```
//! [`Prerequisites`] knows neither logins nor renderings, and makes no request: it says what is to be done, and the
//! engine does it. So everything that it says comes back to it as a new wish, or not at all.
//!
//! - The rules of an origin are asked for once, for all who wait ([`asked_rules`]). While they are asked for on
//!   behalf of others than the queue of its host, one request for them waits here or is in progress.
//! - The origin whose rules its queue asks for waits in the frontier for the answer to its [`Task::Robots`], so that
//!   there is at most one redirect for each active host.
//! - Nothing of this is saved: after a restart robots.txt is asked for from the start.
//!
//! [`Task::Robots`]: crate::frontier::Task::Robots

mod asked_rules;
mod wanted;

use std::net::IpAddr;
use std::sync::Arc;

pub(super) use asked_rules::{Turn, Waiter};
pub(super) use wanted::{Login, LoginRequest, Prerequisite, Wanted};

use super::admission::Admission;
use super::values::RobotsAnswer;
use crate::clock::Time;
use crate::container::Referrer;
use crate::contract::{Processed, ResolveJob, Target};
use crate::fingerprint::Fingerprint;
use crate::frontier::{HostId, NameAnswer};
use crate::outcome::Cause;
use crate::web::robots::RobotsRules;
use crate::web::url::CanonicalUrl;
use asked_rules::{AskedRules, Known, LeftByPages};
use wanted::Parts;

/// Requests that no queue makes, before they are made.
#[derive(Debug, Default)]
pub(super) struct Prerequisites {
    /// Those that wait for their turn only.
    hops: Vec<Hop>,
    /// The origins whose rules others wait for.
    rules: AskedRules,
}

/// A request that is not made yet.
#[derive(Debug)]
struct Hop {
    host: HostId,
    target: Target,
    /// The robots.txt that was asked for first, or the page that asks.
    via: Referrer,
    url: CanonicalUrl,
    /// True if a rendered page asks for it.
    is_of_page: bool,
    addresses: Addresses,
    due: Time,
}

impl Hop {
    /// Returns whether it asks for the robots.txt of `origin` on behalf of others than its queue.
    fn is_for_rules_of(&self, origin: Fingerprint) -> bool {
        matches!(&self.target, Target::Robots { key, for_others: true, .. } if *key == origin)
    }

    /// Returns whether it waits for the name servers to say where `name` is, on behalf of `host`.
    fn has_asked(&self, host: HostId, name: &str) -> bool {
        self.host == host && self.url.host() == name && matches!(self.addresses, Addresses::Asked)
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

/// One look at all that waits, from the first on.
pub(super) struct Look {
    now: Time,
    /// True if only what pages ask for is looked at.
    of_pages: bool,
    place: usize,
}

impl Look {
    /// A look at what may be requested at `now`; only at what pages ask for, if so wanted.
    pub(crate) fn at(now: Time, of_pages: bool) -> Look {
        Look { now, of_pages, place: 0 }
    }
}

/// Something that is to be done, for the sake of one that waits.
pub(super) enum Next {
    /// A name is to be resolved.
    Resolve(ResolveJob),
    /// The request is to be made.
    Request(Ready),
    /// It cannot be made.
    Fail(Failed),
}

/// A request whose turn has come.
pub(super) struct Ready {
    pub host: HostId,
    pub target: Target,
    pub via: Referrer,
    pub url: CanonicalUrl,
    pub addresses: Arc<[IpAddr]>,
}

/// A request that is not made, or was not answered.
pub(super) struct Failed {
    pub host: HostId,
    pub target: Target,
    pub url: CanonicalUrl,
    pub cause: Cause,
}

/// A wish that is not granted, because of the rules of the origin where it goes.
pub(super) struct Refused {
    pub wanted: Prerequisite,
    pub by: RulesRefusal,
}

/// Reason for which the rules of an origin let nothing through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RulesRefusal {
    /// They forbid it.
    Forbidden,
    /// They cannot be had.
    NoRules,
}

impl Prerequisites {
    /// Takes `wanted` in, on behalf of a page of `host`, or says why not.
    pub(crate) fn want(&mut self, wanted: Prerequisite, host: HostId, admission: &mut Admission) -> Option<Refused> {
        let now = admission.stores.sink.now;
        if !wanted.obeys_robots(&admission.settings) {
            self.queue(wanted, host, now);
            return None;
        }
        match self.rules_for(wanted.url(), admission) {
            Known::Rules(rules) => self.want_by(wanted, host, Some(&rules), now),
            Known::Unavailable => Some(Refused { wanted, by: RulesRefusal::NoRules }),
            Known::Nothing => {
                self.wait_for_rules(wanted, host, admission);
                None
            }
        }
    }

    /// Does the same for what has waited for these `rules`; `None` if they cannot be had.
    pub(crate) fn want_by(
        &mut self,
        wanted: Prerequisite,
        host: HostId,
        rules: Option<&RobotsRules>,
        now: Time,
    ) -> Option<Refused> {
        let by = match rules {
            Some(rules) if rules.allows(wanted.url().as_str()) => {
                self.queue(wanted, host, now);
                return None;
            }
            Some(_) => RulesRefusal::Forbidden,
            None => RulesRefusal::NoRules,
        };
        Some(Refused { wanted, by })
    }

    /// Returns what is known of the rules of the origin of `url`.
    fn rules_for(&self, url: &CanonicalUrl, admission: &mut Admission) -> Known {
        let (now, doubtful) = (admission.stores.sink.now, admission.stores.sink.doubtful);
        let origin = admission.home.keys.keys(url).origin;
        let known = admission.stores.robots.peek(origin);
        match known.as_ref().and_then(|known| known.fresh(now, doubtful)) {
            Some((RobotsAnswer::Rules(rules), _)) => Known::Rules(rules.clone()),
            Some((RobotsAnswer::Unreachable { .. }, _)) => Known::Unavailable,
            None => self.rules.known(origin, now),
        }
    }

    /// The rules of the origin of `wanted` are asked for, unless that is done, on behalf of a page of `host`.
    fn wait_for_rules(&mut self, wanted: Prerequisite, host: HostId, admission: &Admission) {
        let origin = wanted.url().origin();
        let key = admission.home.keys.keys(wanted.url()).origin;
        let provenance = wanted.provenance().clone();
        if self.rules.wait(key, wanted) {
            let url = robots_txt(&origin);
            let target = Target::Robots { origin: origin.into(), key, redirects: 0, provenance, for_others: true };
            self.push(host, Parts { target, via: Referrer::Nobody, url }, None, admission.stores.sink.now);
        } else if self.rules.is_urgent(key) {
            let same = self.hops.iter_mut().filter(|hop| hop.is_for_rules_of(key));
            same.for_each(|hop| hop.is_of_page = true);
        }
    }

    fn queue(&mut self, wanted: Prerequisite, host: HostId, now: Time) {
        self.push(host, wanted.into_parts(), None, now);
    }

    /// The request for a robots.txt is to go on at `url`; `addresses` are those of its name, if it is the name that was
    /// just asked.
    pub(crate) fn redirect(
        &mut self,
        host: HostId,
        target: Target,
        via: Referrer,
        url: CanonicalUrl,
        addresses: Option<Arc<[IpAddr]>>,
        now: Time,
    ) {
        self.push(host, Parts { target, via, url }, addresses, now);
    }

    fn push(&mut self, host: HostId, request: Parts, addresses: Option<Arc<[IpAddr]>>, due: Time) {
        let Parts { target, via, url } = request;
        let addresses = addresses.filter(|list| !list.is_empty()).map_or(Addresses::Unknown, Addresses::Known);
        let is_of_page = match &target {
            Target::Robots { key, .. } => self.rules.is_urgent(*key),
            target => matches!(target, Target::Resource { .. }),
        };
        self.hops.push(Hop { host, target, via, url, is_of_page, addresses, due });
    }

    /// The queue of `host` needs the rules of `origin` at `now`.
    pub(crate) fn turn_of_queue(&mut self, origin: Fingerprint, host: HostId, now: Time) -> Turn {
        let turn = self.rules.turn_of_queue(origin, host, now);
        if matches!(turn, Turn::Ask) {
            // nobody has to ask for them on behalf of others any more
            self.drop_request_for_rules(origin);
        }
        turn
    }

    fn drop_request_for_rules(&mut self, origin: Fingerprint) {
        let before = self.hops.len();
        self.hops.retain(|hop| !hop.is_for_rules_of(origin));
        if self.hops.len() < before {
            // others may have waited for the answer that it had asked for
            self.look_at_names();
        }
    }

    /// Takes out those who wait for the rules of `origin`, which are known now, or cannot be had.
    pub(crate) fn take_waiters(&mut self, origin: Fingerprint) -> Vec<Waiter> {
        self.rules.take_waiters(origin)
    }

    /// The note in crawl.log of the robots.txt of `origin` that is asked for on behalf of others.
    pub(crate) fn note_of_rules(&self, origin: Fingerprint) -> Option<&'static str> {
        self.rules.note(origin)
    }

    /// Keeps the rules of `origin`, which no queue has asked for, and the `answer` that they came in.
    pub(crate) fn keep_rules(
        &mut self,
        origin: Fingerprint,
        rules: Option<&Arc<RobotsRules>>,
        answer: Option<Processed>,
        admission: &Admission,
    ) {
        let now = admission.stores.sink.now;
        match rules {
            Some(rules) => {
                self.rules.keep(origin, rules.clone(), answer, now + admission.settings.robots_cache);
            }
            None => {
                let back_off = admission.stores.sink.frontier.pacing().robots_back_off();
                self.rules.keep_unavailable(origin, now + back_off);
            }
        }
    }

    /// Takes out all that rendered pages wait for; the URLs that they wait for.
    pub(crate) fn leave_pages(&mut self) -> Vec<CanonicalUrl> {
        let (of_pages, others): (Vec<Hop>, Vec<Hop>) =
            std::mem::take(&mut self.hops).into_iter().partition(|hop| matches!(hop.target, Target::Resource { .. }));
        self.hops = others;
        let LeftByPages { wanted, origins } = self.rules.leave_pages();
        origins.into_iter().for_each(|origin| self.drop_request_for_rules(origin));
        let waiting = wanted.iter().map(|wanted| wanted.url().clone());
        of_pages.into_iter().map(|hop| hop.url).chain(waiting).collect()
    }

    /// Returns what is to be done for the first whose turn has come; what it asks for is taken out.
    pub(crate) fn next(&mut self, look: &mut Look, admission: &mut Admission) -> Option<Next> {
        while let Some(hop) = self.hops.get(look.place) {
            if hop.due > look.now || look.of_pages && !hop.is_of_page {
                look.place += 1;
                continue;
            }
            match self.step(look.place, look.now, admission) {
                Step::Wait => look.place += 1,
                Step::Ask if self.is_asked(look.place) => look.place += 1,
                Step::Ask => return Some(Next::Resolve(self.ask(look.place))),
                Step::Go(addresses) => return Some(Next::Request(self.begin(look.place, addresses))),
                Step::Fail(cause) => return Some(Next::Fail(self.fail(look.place, cause))),
            }
        }
        None
    }

    fn step(&mut self, number: usize, now: Time, admission: &mut Admission) -> Step {
        let hop = &mut self.hops[number];
        let known = match &hop.addresses {
            Addresses::Known(list) => Some(NameAnswer::Found(list.clone())),
            Addresses::Asked => return Step::Wait,
            Addresses::Unknown => admission.known_addresses(&hop.url, now),
        };
        let addresses = match known {
            None => return Step::Ask,
            Some(NameAnswer::Found(addresses)) => addresses,
            Some(NameAnswer::NoSuchHost) => return Step::Fail(Cause::NoSuchHost),
            Some(NameAnswer::PrivateAddress) => return Step::Fail(Cause::PrivateAddress),
            Some(NameAnswer::Unanswered) => return Step::Fail(Cause::Dns),
        };
        let asked = admission.asked_host(&hop.url);
        let frontier = &mut admission.stores.sink.frontier;
        let began = match hop.is_of_page {
            true => frontier.begin_requisite(&asked, addresses[0], admission.settings.rendering.pace, now),
            false => frontier.begin_prerequisite(&asked, addresses[0], now),
        };
        match began {
            Ok(()) => Step::Go(addresses),
            Err(again) => {
                hop.due = again;
                Step::Wait
            }
        }
    }

    /// Returns whether another one waits for the answer of the name servers that this one would ask for.
    fn is_asked(&mut self, number: usize) -> bool {
        let hop = &self.hops[number];
        let is_asked = self.hops.iter().any(|other| other.has_asked(hop.host, hop.url.host()));
        if is_asked {
            self.hops[number].due = Time::MAX;
        }
        is_asked
    }

    fn ask(&mut self, number: usize) -> ResolveJob {
        let hop = &mut self.hops[number];
        (hop.addresses, hop.due) = (Addresses::Asked, Time::MAX);
        ResolveJob { host: hop.host, name: hop.url.host().into() }
    }

    fn begin(&mut self, number: usize, addresses: Arc<[IpAddr]>) -> Ready {
        let Hop { host, target, via, url, .. } = self.hops.remove(number);
        if let Target::Robots { key, for_others: true, .. } = &target {
            self.rules.begin(*key);
        }
        Ready { host, target, via, url, addresses }
    }

    fn fail(&mut self, number: usize, cause: Cause) -> Failed {
        let Hop { host, target, url, .. } = self.hops.remove(number);
        Failed { host, target, url, cause }
    }

    /// The name of a host was resolved: for the one that `host` waits for, if it asked. Returns it if it cannot be
    /// requested by that.
    pub(crate) fn resolved(
        &mut self,
        host: HostId,
        name: &str,
        answer: Result<&Arc<[IpAddr]>, Cause>,
    ) -> Option<Failed> {
        let number = self.hops.iter().position(|hop| hop.has_asked(host, name))?;
        // those that waited for the same answer look for it where it is kept now
        self.look_at_names();
        match answer {
            Ok(list) if !list.is_empty() => {
                let hop = &mut self.hops[number];
                (hop.addresses, hop.due) = (Addresses::Known(list.clone()), Time::ZERO);
                None
            }
            Ok(_) => Some(self.fail(number, Cause::Dns)),
            Err(cause) => Some(self.fail(number, cause)),
        }
    }

    /// Lets those that waited for an answer of name servers look for it where it is kept.
    fn look_at_names(&mut self) {
        let waits = |hop: &&mut Hop| hop.due == Time::MAX && matches!(hop.addresses, Addresses::Unknown);
        self.hops.iter_mut().filter(waits).for_each(|hop| hop.due = Time::ZERO);
    }

    /// True if one may be requested now.
    pub(crate) fn are_due(&self, now: Time) -> bool {
        self.next_due().is_some_and(|due| due <= now)
    }

    /// Returns when the first of them may be requested.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.hops.iter().map(|hop| hop.due).min().filter(|&due| due < Time::MAX)
    }

    /// Returns when the first of those may be requested that pages ask for.
    pub(crate) fn next_due_of_pages(&self) -> Option<Time> {
        let of_pages = self.hops.iter().filter(|hop| hop.is_of_page);
        of_pages.map(|hop| hop.due).min().filter(|&due| due < Time::MAX)
    }
}

/// The robots.txt of an origin.
pub(super) fn robots_txt(origin: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("{origin}/robots.txt")).expect("an origin makes a URL")
}
