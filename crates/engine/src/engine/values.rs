//! The values that the robots and DNS stores keep for a key: an answer, good or bad, and the time for which it holds.
//!
//! An answer can be read in one way only, by `fresh(now, doubtful)`, which gives nothing once its time is over, and
//! nothing that a start does not believe any more (`seeding::anew`). So nobody judges a URL by rules, connects to an
//! address, or passes a host over, on the word of such an answer; whether it came from the LRU, the DRUM or a
//! checkpoint makes no difference. It is asked for again by the frontier and replaced. Reports, which decide nothing,
//! see the answer with its term (`recorded`).
//!
//! | answer | holds |
//! |---|---|
//! | rules, also those that follow from a 4xx | `robots.cache` |
//! | robots.txt is unreachable | until the frontier asks again: minutes, doubling, at most a day |
//! | addresses | their TTL, within `dns.ttl_min` and `dns.ttl_max` |
//! | no such name | what its zone says (RFC 2308), within `dns.ttl_min` and `dns.negative_ttl` |
//! | only private addresses | their TTL, at most `dns.negative_ttl` |
//! | the name servers failed | until the frontier asks again, at most 5 minutes (RFC 2308, section 7) |
//!
//! Rules that have expired are not kept in use while robots.txt is unreachable: that means complete disallow (RFC 9309,
//! section 2.3.1.4), and the leave to go on with a copy after a long time is not taken.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::clock::Time;
use crate::drum::Value;
use crate::frontier::{NameAnswer, Rules};
use crate::web::robots::RobotsRules;

/// The time for which an answer holds.
///
/// The beginning is kept for the clock's sake: before it, the clock was set back, and nobody knows how old the answer
/// is. So no answer holds for longer than its own time by the clock as it is now, however far off that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Time at which it was learnt.
    pub from: Time,
    /// Time at which it has to be asked for again.
    pub until: Time,
}

impl Term {
    /// Returns whether the answer holds at `now`.
    pub fn holds(self, now: Time) -> bool {
        self.from <= now && now < self.until
    }

    fn encode(self, out: &mut Vec<u8>) {
        put_time(out, self.from);
        put_time(out, self.until);
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (from, rest) = take_time(bytes)?;
        let (until, rest) = take_time(rest)?;
        Some((Term { from, until }, rest))
    }
}

/// The moments up to which answers are not believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doubtful {
    /// That of bad answers.
    pub bad: Time,
    /// That of rules of robots.txt files.
    pub rules: Time,
}

/// The answer of an origin's robots.txt to our own agent.
#[derive(Clone, Debug)]
pub enum RobotsAnswer {
    /// These rules.
    Rules(Arc<RobotsRules>),
    /// It could not be had, since then: nothing of the origin may be fetched.
    Unreachable {
        /// The first failure in a row.
        since: Time,
    },
}

/// An answer about the robots.txt of an origin.
#[derive(Clone, Debug)]
pub struct Robots {
    answer: RobotsAnswer,
    term: Term,
}

impl Robots {
    /// `answer`, which holds during `term`.
    pub fn new(answer: RobotsAnswer, term: Term) -> Self {
        Robots { answer, term }
    }

    /// Returns what holds at `now`, and until when; `None` if robots.txt has to be asked for again.
    pub(crate) fn fresh(&self, now: Time, doubtful: Doubtful) -> Option<(&RobotsAnswer, Time)> {
        (self.term.holds(now) && self.is_believed(doubtful)).then_some((&self.answer, self.term.until))
    }

    /// Returns whether it came after the moment up to which such answers are not believed.
    pub(crate) fn is_believed(&self, doubtful: Doubtful) -> bool {
        self.term.from
            > match self.answer {
                RobotsAnswer::Rules(_) => doubtful.rules,
                RobotsAnswer::Unreachable { .. } => doubtful.bad,
            }
    }

    /// The answer with its term, for reports: anyone who decides by it asks `Robots::fresh`.
    pub fn recorded(&self) -> (&RobotsAnswer, Term) {
        (&self.answer, self.term)
    }

    /// Returns the time since when robots.txt could not be had when it was asked for last. That was so even if it may
    /// be otherwise now.
    pub(crate) fn failing_since(&self) -> Option<Time> {
        match self.answer {
            RobotsAnswer::Rules(_) => None,
            RobotsAnswer::Unreachable { since } => Some(since),
        }
    }
}

/// Tags of the two answers.
const RULES: u8 = 0;
const UNREACHABLE: u8 = 1;

impl Value for Robots {
    const FIXED_BYTES: Option<usize> = None;

    fn encode(&self, out: &mut Vec<u8>) {
        match &self.answer {
            RobotsAnswer::Rules(rules) => {
                out.push(RULES);
                self.term.encode(out);
                rules.encode_rules(out);
            }
            RobotsAnswer::Unreachable { since } => {
                out.push(UNREACHABLE);
                self.term.encode(out);
                put_time(out, *since);
            }
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&tag, rest) = bytes.split_first()?;
        let (term, rest) = Term::decode(rest)?;
        let answer = match tag {
            RULES => RobotsAnswer::Rules(Arc::new(RobotsRules::decode(rest)?)),
            UNREACHABLE => match take_time(rest)? {
                (since, []) => RobotsAnswer::Unreachable { since },
                _ => return None,
            },
            _ => return None,
        };
        Some(Robots { answer, term })
    }

    fn heap_bytes(&self) -> usize {
        match &self.answer {
            RobotsAnswer::Rules(rules) => rules.heap_bytes(),
            RobotsAnswer::Unreachable { .. } => 0,
        }
    }
}

/// An answer about a host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    answer: NameAnswer,
    term: Term,
}

impl Addresses {
    /// `answer`, which holds during `term`.
    pub fn new(answer: NameAnswer, term: Term) -> Self {
        let is_empty = matches!(&answer, NameAnswer::Found(list) if list.is_empty());
        Addresses { answer: if is_empty { NameAnswer::Unanswered } else { answer }, term }
    }

    /// The answer with its term, for reports: anyone who decides by it asks `Addresses::fresh`.
    pub fn recorded(&self) -> (&NameAnswer, Term) {
        (&self.answer, self.term)
    }

    /// Returns what holds at `now`, and until when; `None` if the name has to be resolved again.
    pub(crate) fn fresh(&self, now: Time, doubtful: Doubtful) -> Option<(&NameAnswer, Time)> {
        let is_believed = self.term.from > doubtful.bad || matches!(self.answer, NameAnswer::Found(_));
        (self.term.holds(now) && is_believed).then_some((&self.answer, self.term.until))
    }
}

/// Tags of the four answers.
const FOUND: u8 = 0;
const NO_SUCH_HOST: u8 = 1;
const PRIVATE_ADDRESS: u8 = 2;
const UNANSWERED: u8 = 3;

impl Value for Addresses {
    const FIXED_BYTES: Option<usize> = None;

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(match self.answer {
            NameAnswer::Found(_) => FOUND,
            NameAnswer::NoSuchHost => NO_SUCH_HOST,
            NameAnswer::PrivateAddress => PRIVATE_ADDRESS,
            NameAnswer::Unanswered => UNANSWERED,
        });
        self.term.encode(out);
        if let NameAnswer::Found(list) = &self.answer {
            list.iter().for_each(|&address| put_address(out, address));
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&tag, rest) = bytes.split_first()?;
        let (term, rest) = Term::decode(rest)?;
        let answer = match (tag, rest.is_empty()) {
            (FOUND, false) => NameAnswer::Found(addresses(rest)?),
            (NO_SUCH_HOST, true) => NameAnswer::NoSuchHost,
            (PRIVATE_ADDRESS, true) => NameAnswer::PrivateAddress,
            (UNANSWERED, true) => NameAnswer::Unanswered,
            _ => return None,
        };
        Some(Addresses { answer, term })
    }
}

fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            out.push(4);
            out.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.push(6);
            out.extend_from_slice(&v6.octets());
        }
    }
}

fn addresses(mut bytes: &[u8]) -> Option<Arc<[IpAddr]>> {
    let mut addresses = Vec::new();
    while let Some((family, tail)) = bytes.split_first() {
        bytes = match family {
            4 => {
                let (octets, tail) = tail.split_first_chunk::<4>()?;
                addresses.push(IpAddr::V4(Ipv4Addr::from(*octets)));
                tail
            }
            6 => {
                let (octets, tail) = tail.split_first_chunk::<16>()?;
                addresses.push(IpAddr::V6(Ipv6Addr::from(*octets)));
                tail
            }
            _ => return None,
        };
    }
    Some(addresses.into())
}

fn put_time(out: &mut Vec<u8>, time: Time) {
    out.extend_from_slice(&time.ms().to_le_bytes());
}

fn take_time(bytes: &[u8]) -> Option<(Time, &[u8])> {
    let (time, rest) = bytes.split_first_chunk()?;
    Some((Time::from_ms(u64::from_le_bytes(*time)), rest))
}

/// The frontier's way to read rules back from a host record.
pub fn decode_rules(bytes: &[u8]) -> Option<Arc<dyn Rules>> {
    Some(Arc::new(RobotsRules::decode(bytes)?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Length of the head before what an answer says: tag and term.
    const HEAD_BYTES: usize = 1 + 16;
    const TERM: Term = Term { from: Time::from_ms(1_000), until: Time::from_ms(61_000) };
    const BELIEVED: Doubtful = Doubtful { bad: Time::ZERO, rules: Time::ZERO };

    fn encoded(value: &impl Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        bytes
    }

    fn every_addresses() -> Vec<Addresses> {
        let list: Arc<[IpAddr]> = Arc::new([[127, 0, 0, 3].into(), "2001:db8::7".parse().unwrap()]);
        let answers =
            [NameAnswer::Found(list), NameAnswer::NoSuchHost, NameAnswer::PrivateAddress, NameAnswer::Unanswered];
        answers.into_iter().map(|answer| Addresses::new(answer, TERM)).collect()
    }

    fn rules() -> Robots {
        let text = b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\nSitemap: http://a.example/map\n";
        Robots::new(RobotsAnswer::Rules(Arc::new(RobotsRules::parse("ourbot", text))), TERM)
    }

    #[test]
    fn every_answer_about_a_name_is_read_back_and_nothing_else() {
        for value in every_addresses() {
            let bytes = encoded(&value);
            assert_eq!(Addresses::decode(&bytes), Some(value.clone()));
            // a list of addresses that ends earlier is a shorter list, or none
            let whole_prefix = if bytes[0] == FOUND { HEAD_BYTES + 5 } else { bytes.len() };
            for cut in (0..bytes.len()).filter(|&cut| cut != whole_prefix) {
                assert_eq!(Addresses::decode(&bytes[..cut]), None, "{value:?}, {cut} bytes");
            }
            let mut longer = bytes.clone();
            longer.push(4);
            assert_eq!(Addresses::decode(&longer), None, "{value:?}");
            let mut foreign = bytes;
            foreign[0] = 4;
            assert_eq!(Addresses::decode(&foreign), None);
        }
        let mut of_no_family = encoded(&every_addresses()[0]);
        of_no_family[HEAD_BYTES] = 5;
        assert_eq!(Addresses::decode(&of_no_family), None);
    }

    #[test]
    fn no_address_is_no_answer() {
        let value = Addresses::new(NameAnswer::Found(Arc::new([])), TERM);
        assert_eq!(value.fresh(TERM.from, BELIEVED).unwrap().0, &NameAnswer::Unanswered);
        assert_eq!(Addresses::decode(&encoded(&value)), Some(value));
    }

    #[test]
    fn rules_are_read_back_without_their_sitemaps() {
        let bytes = encoded(&rules());
        let read = Robots::decode(&bytes).unwrap();
        let Some((RobotsAnswer::Rules(rules), until)) = read.fresh(TERM.from, BELIEVED) else { panic!("{read:?}") };
        assert_eq!(until, TERM.until);
        assert!(!rules.allows("http://a.example/private/x"));
        assert!(rules.allows("http://a.example/public"));
        assert_eq!(rules.crawl_delay(), Some(Duration::from_secs(3)));
        assert!(rules.sitemaps().is_empty());
        assert_eq!(read.failing_since(), None);
        for cut in 0..bytes.len() {
            assert!(Robots::decode(&bytes[..cut]).is_none(), "{cut} bytes");
        }
    }

    #[test]
    fn an_unreachable_robots_txt_is_read_back_with_its_first_failure() {
        let since = Time::from_ms(77);
        let bytes = encoded(&Robots::new(RobotsAnswer::Unreachable { since }, TERM));
        let read = Robots::decode(&bytes).unwrap();
        assert!(matches!(read.fresh(TERM.from, BELIEVED), Some((RobotsAnswer::Unreachable { since: read }, until))
            if *read == since && until == TERM.until));
        assert_eq!(read.failing_since(), Some(since));
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Robots::decode(&longer).is_none());
        for cut in 0..bytes.len() {
            assert!(Robots::decode(&bytes[..cut]).is_none(), "{cut} bytes");
        }
        let mut foreign = bytes;
        foreign[0] = 2;
        assert!(Robots::decode(&foreign).is_none());
    }

    #[test]
    fn an_answer_holds_during_its_term_and_not_before_it() {
        let ms = Duration::from_millis(1);
        for (now, holds) in [
            (TERM.from, true),
            (TERM.until - ms, true),
            (TERM.until, false),
            (Time::MAX, false),
            // the clock was set back
            (TERM.from - ms, false),
            (Time::ZERO, false),
        ] {
            assert_eq!(rules().fresh(now, BELIEVED).is_some(), holds, "{now:?}");
            for value in every_addresses() {
                assert_eq!(value.fresh(now, BELIEVED).is_some(), holds, "{now:?}");
            }
        }
        let never = Term { from: TERM.until, until: TERM.from };
        assert!(![TERM.from, TERM.until].into_iter().any(|now| never.holds(now)));
    }

    #[test]
    fn bad_answers_and_rules_are_doubted_each_by_its_own_moment() {
        let since = TERM.from;
        let unreachable = Robots::new(RobotsAnswer::Unreachable { since }, TERM);
        let (bad, rules_doubted) = (Doubtful { bad: since, ..BELIEVED }, Doubtful { rules: since, ..BELIEVED });
        let holds = |robots: &Robots, doubtful| robots.fresh(since, doubtful).is_some();
        assert_eq!((holds(&rules(), bad), holds(&rules(), rules_doubted)), (true, false));
        assert_eq!((holds(&unreachable, bad), holds(&unreachable, rules_doubted)), (false, true));
        for value in every_addresses() {
            let is_bad = !matches!(value.recorded().0, NameAnswer::Found(_));
            assert_eq!(value.fresh(since, bad).is_none(), is_bad);
            assert!(value.fresh(since, rules_doubted).is_some());
        }
        let before = Doubtful { bad: Time::from_ms(999), rules: Time::from_ms(999) };
        assert!(holds(&rules(), before) && holds(&unreachable, before));
    }
}
