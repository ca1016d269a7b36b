//! First contacts: hosts that have not answered yet, and how many of them may keep workers waiting.
//!
//! Whether a host answers is not known before it does, and one that stays silent keeps its request in progress for as
//! long as the time-outs allow. Three thousand of them, each of a domain of its own, would have every worker before any
//! other host has its first page. So a request to a host that never answered differs from others ([`Contact`]): it
//! counts as slow, and gives up its worker, after a quarter of a second; and at an address where others stay silent it
//! takes no worker at all but begins in a place for slow requests, of which it may have three quarters, so that hosts
//! elsewhere find one.
//!
//! An address earns first contacts by answers, as a TCP connection earns its window (Jacobson, "Congestion Avoidance
//! and Control", SIGCOMM 1988): it starts with a few at once, each answer of a new host allows one more, each silence
//! halves them. While as many are in progress as it may have, others wait; it is silent when none was answered for a
//! while. The same is counted for the /64 of an IPv6 address, with more of them, which one machine has as easily as one
//! address. The network of an IPv4 address says nothing: silent and ordinary hosts are side by side in a /24, and the
//! ordinary ones would wait.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use super::tuning::{ADDRESS_START, ADDRESSES_REMEMBERED_MAX, ALLOWED_MAX, NETWORK_START, SILENT_AFTER};
use crate::clock::Time;

/// The kind of a request, by what is known of its host: whether it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contact {
    /// A request to a host that has answered.
    #[default]
    Known,
    /// A request to a host that has not answered.
    First,
    /// A request to one at an address or in a network where others stay silent.
    Suspect,
}

/// An address, or the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NetworkKey {
    Address(IpAddr),
    Network(IpAddr),
}

/// Knowledge of an address or a network.
#[derive(Clone, Copy, Debug)]
struct Known {
    under_way: u32,
    allowed: u32,
    /// Time at which a first contact was answered last, or began while there was no other.
    heard: Time,
}

/// First contacts that are in progress, and what became of earlier ones.
#[derive(Debug)]
pub(super) struct FirstContacts {
    /// The number of [`Contact::Suspect`] for which there are places left.
    room: usize,
    places: HashMap<NetworkKey, Known>,
}

impl Default for FirstContacts {
    fn default() -> Self {
        FirstContacts { room: usize::MAX, places: HashMap::new() }
    }
}

impl FirstContacts {
    /// Returns whether first contacts with `ip` stay silent.
    pub(super) fn is_silent(&self, ip: IpAddr, now: Time) -> bool {
        let is_silent = |known: &Known| known.under_way >= known.allowed && now.since(known.heard) >= SILENT_AFTER;
        places(ip).iter().any(|place| self.places.get(place).is_some_and(is_silent))
    }

    /// Returns the kind of a first contact with `ip`; `None` while it has to wait until others answer or are silent.
    fn judge(&self, ip: IpAddr, now: Time) -> Option<Contact> {
        match self.may_begin(ip) {
            _ if self.is_silent(ip, now) => Some(Contact::Suspect),
            0 => None,
            _ => Some(Contact::First),
        }
    }

    /// Returns the number of first contacts with `ip` that may begin before others are answered.
    pub(super) fn may_begin(&self, ip: IpAddr) -> usize {
        let left = |known: &Known| known.allowed.saturating_sub(known.under_way);
        let least = places(ip).iter().filter_map(|place| self.places.get(place)).map(left).min();
        least.unwrap_or(ADDRESS_START) as usize
    }

    /// Returns the number of [`Contact::Suspect`] for which there are places left.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Sets the number of [`Contact::Suspect`] that may still begin.
    pub(super) fn let_in(&mut self, room: usize) {
        self.room = room;
    }

    /// Returns the kind of a first contact with `ip`; `None` while there is no place for it.
    pub(super) fn next(&self, ip: IpAddr, now: Time) -> Option<Contact> {
        self.judge(ip, now).filter(|&contact| contact != Contact::Suspect || self.room > 0)
    }

    /// First contacts that are in progress, at addresses and in networks.
    #[cfg(test)]
    pub(super) fn in_flight(&self) -> Vec<u32> {
        self.places.values().map(|known| known.under_way).collect()
    }

    pub(super) fn begin(&mut self, ip: IpAddr, now: Time) {
        for place in places(ip) {
            let new = Known { under_way: 0, allowed: place.start(), heard: now };
            let known = self.places.entry(place).or_insert(new);
            // what was silent before is not heard of by being asked again
            if known.under_way == 0 && known.allowed >= place.start() {
                known.heard = now;
            }
            known.under_way += 1;
        }
    }

    /// A first contact is over; whether it was answered, if it was made.
    pub(super) fn end(&mut self, ip: IpAddr, answered: Option<bool>, now: Time) {
        for place in places(ip) {
            let Some(known) = self.places.get_mut(&place) else { continue };
            known.under_way = known.under_way.saturating_sub(1);
            match answered {
                Some(true) => {
                    known.allowed = known.allowed.max(place.start()).saturating_add(1).min(ALLOWED_MAX);
                    known.heard = now;
                }
                Some(false) => known.allowed = (known.allowed / 2).max(1),
                None => {}
            }
        }
        if self.places.len() > ADDRESSES_REMEMBERED_MAX {
            self.places.retain(|_, known| known.under_way > 0);
        }
    }
}

impl NetworkKey {
    fn start(self) -> u32 {
        match self {
            NetworkKey::Address(_) => ADDRESS_START,
            NetworkKey::Network(_) => NETWORK_START,
        }
    }
}

fn places(ip: IpAddr) -> [NetworkKey; 2] {
    [NetworkKey::Address(ip), NetworkKey::Network(network(ip))]
}

/// The network of an address of which first contacts are counted together.
pub(super) fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::from_ms(1 << 40);
    const LATER: Time = Time::from_ms((1 << 40) + 1_000);

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn n13_an_address_that_stays_silent_is_known_for_it_until_it_answers() {
        let mut first_contacts = FirstContacts::default();
        let (silent, other) = (ip("203.0.113.1"), ip("203.0.113.2"));
        (0..ADDRESS_START - 1).for_each(|_| first_contacts.begin(silent, START));
        assert!(!first_contacts.is_silent(silent, LATER), "it may have one more");
        first_contacts.begin(silent, START);
        assert!(!first_contacts.is_silent(silent, START), "it had no time to answer");
        assert!(first_contacts.is_silent(silent, LATER));
        assert!(!first_contacts.is_silent(other, LATER), "its network may have more");
        (0..ADDRESS_START).for_each(|_| first_contacts.end(silent, Some(false), LATER));
        assert!(!first_contacts.is_silent(silent, LATER), "one at a time");
        first_contacts.begin(silent, LATER);
        assert!(first_contacts.is_silent(silent, LATER), "it is known already");
        first_contacts.end(silent, Some(true), LATER);
        (0..ADDRESS_START).for_each(|_| first_contacts.begin(silent, LATER));
        assert!(!first_contacts.is_silent(silent, LATER + SILENT_AFTER), "an answer has earned one more");
    }

    #[test]
    fn n13_a_network_is_learnt_of_by_64_and_not_by_24() {
        for (silent, beside, is_silent) in
            [("203.0.113.", "203.0.113.200", false), ("2001:db8:0:1::", "2001:db8:0:1:9::1", true)]
        {
            let mut first_contacts = FirstContacts::default();
            (1..=NETWORK_START).for_each(|n| first_contacts.begin(ip(&format!("{silent}{n}")), START));
            assert_eq!(first_contacts.is_silent(ip(beside), LATER), is_silent, "{silent}");
        }
    }

    #[test]
    fn n13_what_is_remembered_of_addresses_is_bounded() {
        let mut first_contacts = FirstContacts::default();
        for n in 0..200_000_u32 {
            let ip = IpAddr::from(n.to_be_bytes());
            first_contacts.begin(ip, START);
            first_contacts.end(ip, Some(false), LATER);
        }
        assert!(first_contacts.places.len() <= ADDRESSES_REMEMBERED_MAX + 2, "{}", first_contacts.places.len());
    }

    #[test]
    fn n13_a_first_contact_is_over_when_robots_txt_was_answered_or_not() {
        use crate::clock::Clock;
        use crate::frontier::tests::{Crawl, Site, plain, small_options, url};
        let mut crawl = Crawl::new(small_options(), |host| Site { robots: None, ..plain(host) });
        (0..3).for_each(|host| crawl.push(url(host, 0, 1)));
        while crawl.requests.len() < 3 || crawl.requests.iter().any(|request| request.end >= crawl.clock.now()) {
            assert!(crawl.step());
        }
        let under_way = crawl.frontier.queues.pacing.wait_queues.first_contacts_in_flight();
        assert!(!under_way.is_empty() && under_way.iter().all(|&count| count == 0));
    }

    #[test]
    fn n13_a_request_to_a_host_that_never_answered_is_one_to_a_stranger() {
        use crate::clock::Clock;
        use crate::frontier::tests::{Crawl, plain, small_options, url};
        use crate::frontier::{NameAnswer, Task};
        let mut crawl = Crawl::new(small_options(), plain);
        crawl.push(url(1, 0, 1));
        let (now, frontier) = (crawl.clock.now(), &mut crawl.frontier);
        let Some(Task::Resolve { host, .. }) = frontier.next(now).unwrap() else { panic!("a name is first") };
        frontier.resolved(host, NameAnswer::Found([ip("203.0.113.1")].into()), now + SILENT_AFTER * 9, now).unwrap();
        let Some(Task::Robots { host, .. }) = frontier.next(now).unwrap() else { panic!("robots.txt is second") };
        assert_eq!(frontier.active().contact_of(host), Contact::First);
    }
}
