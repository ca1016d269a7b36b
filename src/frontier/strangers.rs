//! First contacts: hosts that have not answered yet, and how many of them may keep workers waiting.
//!
//! Whether a host answers is not known before it does, and one that stays silent keeps its request under way for as long
//! as the time-outs allow. Three thousand of them, each of a domain of its own, would have every worker before any other
//! host has its first page. So a request to a host that never answered is one of three kinds ([`Knock`]): the first ones
//! take workers like all others; beyond a quarter of the workers they start in the places of slow requests, and keep nobody
//! waiting; and those at an address where others stay silent may have three quarters of these places, so that hosts elsewhere
//! find one.
//!
//! An address earns first contacts by answers, as a TCP connection earns its window (Jacobson, "Congestion Avoidance and
//! Control", SIGCOMM 1988): it starts with a few at once, each answer of a new host allows one more, each silence halves
//! them. The same is counted for its network, with more of them: the /64 of an IPv6 address, which one machine has as easily as
//! one address; and the /24 of an IPv4 address, the smallest network that is routed, where parked and abandoned names
//! lie side by side. To be taken for silent costs a host that is not no more than to start as a slow request, unless
//! hundreds are silent there; so a network that is mixed is no loss.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Frontier;
use super::task::HostId;
use crate::clock::Time;

/// First contacts at once of an address that has not answered yet, and of its network.
const ADDRESS_START: u32 = 8;
const NETWORK_START: u32 = 32;
/// The most that answers earn.
const ALLOWED_MAX: u32 = 1_024;
/// Places that are remembered without a request under way.
const REMEMBERED_MAX: usize = 1 << 15;
/// A host for which there is no place asks again after so long.
pub(super) const ASK_AGAIN_MS: u64 = 250;

/// What a request is, as far as it is known whether its host answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knock {
    /// To a host that has answered, or one of few that have not: it takes a worker.
    #[default]
    Known,
    /// To a host that has not answered, like many others at this moment.
    Stranger,
    /// To one at an address or in a network where others stay silent.
    Suspect,
}

/// What there is room for at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnockRoom {
    /// Requests to hosts that have not answered that may take workers at once.
    pub with_workers: usize,
    /// Whether one more [`Knock::Stranger`] can start.
    pub strangers: bool,
    /// Whether one more [`Knock::Suspect`] can start.
    pub suspects: bool,
}

impl Default for KnockRoom {
    /// All the room there may be: every host is asked like one that is known.
    fn default() -> Self {
        KnockRoom { with_workers: usize::MAX, strangers: true, suspects: true }
    }
}

/// An address, or the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Address(IpAddr),
    Network(IpAddr),
}

/// What is known of a place.
#[derive(Clone, Copy, Debug)]
struct Known {
    under_way: u32,
    allowed: u32,
}

/// First contacts that are under way, and what became of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    pub room: KnockRoom,
    places: HashMap<Place, Known>,
    under_way: usize,
}

impl Strangers {
    /// What a first contact with `ip` is; `None` for one whose address is not known yet.
    fn knock(&self, ip: Option<IpAddr>) -> Knock {
        if self.under_way < self.room.with_workers && !ip.is_some_and(|ip| self.is_silent(ip)) {
            return Knock::Known;
        }
        if ip.is_some_and(|ip| self.is_silent(ip)) { Knock::Suspect } else { Knock::Stranger }
    }

    fn is_silent(&self, ip: IpAddr) -> bool {
        places(ip).iter().any(|place| self.places.get(place).is_some_and(|known| known.under_way >= known.allowed))
    }

    fn begin(&mut self, ip: Option<IpAddr>) {
        self.under_way += 1;
        for place in ip.iter().flat_map(|&ip| places(ip)) {
            let known = self.places.entry(place).or_insert(Known { under_way: 0, allowed: place.start() });
            known.under_way += 1;
        }
    }

    /// A first contact is over; whether it was answered, if it was made.
    fn end(&mut self, ip: Option<IpAddr>, answered: Option<bool>) {
        self.under_way = self.under_way.saturating_sub(1);
        for place in ip.iter().flat_map(|&ip| places(ip)) {
            let Some(known) = self.places.get_mut(&place) else { continue };
            known.under_way = known.under_way.saturating_sub(1);
            known.allowed = match answered {
                Some(true) => known.allowed.max(place.start()).saturating_add(1).min(ALLOWED_MAX),
                Some(false) => (known.allowed / 2).max(1),
                None => known.allowed,
            };
        }
        if self.places.len() > REMEMBERED_MAX {
            self.places.retain(|_, known| known.under_way > 0);
        }
    }
}

impl Place {
    fn start(self) -> u32 {
        match self {
            Place::Address(_) => ADDRESS_START,
            Place::Network(_) => NETWORK_START,
        }
    }
}

fn places(ip: IpAddr) -> [Place; 2] {
    let network = match ip {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & !0xff).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    };
    [Place::Address(ip), Place::Network(network)]
}

impl Frontier {
    /// What there is room for, to be said before each [`Frontier::next`] where it matters.
    pub fn set_knock_room(&mut self, room: KnockRoom) {
        self.strangers.room = room;
    }

    /// What the request or look-up that was handed out for `host` is.
    pub fn knock_of(&self, host: HostId) -> Knock {
        self.active.resolve_id(host).map_or(Knock::Known, |index| self.active.host(index).knock)
    }

    /// Whether a host may be contacted at `ip`, or be resolved, now: otherwise it comes up again soon.
    pub(super) fn may_knock(&mut self, index: u32, ip: Option<IpAddr>, now: Time) -> bool {
        let host = self.active.host(index);
        let knock = if host.standing.answered { Knock::Known } else { self.strangers.knock(ip) };
        let room = self.strangers.room;
        let has_room = match knock {
            Knock::Known => true,
            Knock::Stranger => room.strangers,
            Knock::Suspect => room.suspects,
        };
        self.active.host_mut(index).knock = knock;
        if !has_room {
            let again = now + std::time::Duration::from_millis(ASK_AGAIN_MS);
            self.come_again(index, again, now);
        }
        has_room
    }

    /// A request to an active host, or the look-up of its name, begins.
    pub(super) fn begin_knock(&mut self, index: u32, ip: Option<IpAddr>) {
        let host = self.active.host_mut(index);
        if !host.standing.answered && host.knocking.is_none() {
            host.knocking = Some(ip);
            self.strangers.begin(ip);
        }
    }

    /// It is over; whether it was answered, if it was made.
    pub(super) fn end_knock(&mut self, index: u32, answered: Option<bool>) {
        if let Some(ip) = self.active.host_mut(index).knocking.take() {
            self.strangers.end(ip, answered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    fn strangers(with_workers: usize) -> Strangers {
        Strangers { room: KnockRoom { with_workers, strangers: true, suspects: true }, ..Strangers::default() }
    }

    #[test]
    fn n13_an_address_that_stays_silent_is_suspect_until_it_answers() {
        let mut strangers = strangers(100);
        for _ in 0..ADDRESS_START {
            assert_eq!(strangers.knock(ip("203.0.113.1")), Knock::Known);
            strangers.begin(ip("203.0.113.1"));
        }
        assert_eq!(strangers.knock(ip("203.0.113.1")), Knock::Suspect);
        assert_eq!(strangers.knock(ip("203.0.113.2")), Knock::Known, "the network has room left");
        (0..ADDRESS_START).for_each(|_| strangers.end(ip("203.0.113.1"), Some(false)));
        strangers.begin(ip("203.0.113.1"));
        assert_eq!(strangers.knock(ip("203.0.113.1")), Knock::Suspect, "one at a time");
        strangers.end(ip("203.0.113.1"), Some(true));
        (0..ADDRESS_START).for_each(|_| strangers.begin(ip("203.0.113.1")));
        assert_eq!(strangers.knock(ip("203.0.113.1")), Knock::Known, "an answer has earned one more");
    }

    #[test]
    fn n13_a_network_is_learnt_of_by_24_and_by_64() {
        for (silent, beside, elsewhere) in
            [("203.0.113.", "203.0.113.200", "203.0.114.1"), ("2001:db8:0:1::", "2001:db8:0:1:9::1", "2001:db8:0:2::1")]
        {
            let mut strangers = strangers(1_000);
            (1..=NETWORK_START).for_each(|n| strangers.begin(ip(&format!("{silent}{n}"))));
            assert_eq!(strangers.knock(ip(beside)), Knock::Suspect);
            assert_eq!(strangers.knock(ip(elsewhere)), Knock::Known);
        }
    }

    #[test]
    fn n13_beyond_their_share_of_the_workers_strangers_are_told_apart() {
        let mut strangers = strangers(2);
        strangers.begin(ip("203.0.113.1"));
        strangers.begin(None);
        assert_eq!((strangers.knock(ip("198.51.100.1")), strangers.knock(None)), (Knock::Stranger, Knock::Stranger));
        strangers.end(None, None);
        assert_eq!(strangers.knock(ip("198.51.100.1")), Knock::Known);
    }

    #[test]
    fn n13_what_is_remembered_of_addresses_is_bounded() {
        let mut strangers = strangers(1);
        for n in 0..200_000_u32 {
            let ip = Some(IpAddr::from(n.to_be_bytes()));
            strangers.begin(ip);
            strangers.end(ip, Some(false));
        }
        assert!(strangers.places.len() <= REMEMBERED_MAX + 2, "{}", strangers.places.len());
    }
}
