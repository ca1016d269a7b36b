//! What stays of a host when it leaves memory: its standing, its compiled robots rules, its addresses.
//!
//! A record lies in the tail of its partition, then in the directory of its base, and comes back when the host is
//! active again. Its times are wall times of an earlier moment, perhaps of another process on a machine whose clock
//! was set since: `HostRecord::clamp` brings them into a sane range. What a record says of rules, addresses and names
//! is not believed before the moment at which it was written: the clock was set back then, nobody knows by how much,
//! and it would hold for longer than its time. The first number of a record is the moment from which the host may be
//! contacted, so that choosing hosts decodes nothing else.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use super::task::Known;
use super::tuning::{ADDRESSES_KEPT, ADDRESSES_MAX, BACKOFF_MAX, CLOCK_DRIFT, RULES_MAX};
use super::wire::{self, Reader};
use crate::clock::Time;
use crate::outcome::{HostFault, Reason};

/// How a host stands with us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// No request before.
    pub due: Time,
    /// The delay that its last fetches ask for.
    pub pace: Duration,
    /// How often it was held back in a row.
    pub backoff_level: u8,
    /// When the last back-off was set.
    pub backoff_set: Time,
    /// Held back until then.
    pub backoff_until: Time,
    /// Failures in a row, and since when.
    pub failures: u32,
    pub failing_since: Time,
    /// How often its robots.txt could not be had in a row, and since when.
    pub robots_level: u8,
    pub robots_failing_since: Time,
    /// Used of its budgets.
    pub pages: u64,
    pub bytes: u64,
    /// Given up until then, and why: its URLs are dropped.
    pub gone: Option<(Time, Reason)>,
    /// Whether it ever answered a request.
    pub answered: bool,
    /// Why it brings nothing, since its last answer.
    pub blame: Option<HostFault>,
}

impl Standing {
    /// From when on it has something to do: a host that is given up only drops, and that can be done at once.
    pub(super) fn available(&self) -> Time {
        if self.gone.is_some() { Time::ZERO } else { self.due.max(self.backoff_until) }
    }

    /// Whether it was asked and never answered.
    pub(super) fn is_silent(&self) -> bool {
        !self.answered && self.blame.is_some()
    }

    /// Forgets that a host was given up, and the rests and failures of one that never answered, as if nobody had asked
    /// it.
    pub(super) fn forgive(&mut self, now: Time) {
        self.gone = None;
        if self.is_silent() {
            let Standing { pages, bytes, pace, due, .. } = *self;
            *self = Standing { pages, bytes, pace, due: due.min(now), ..Standing::default() };
        }
    }

    /// Whether it says nothing at `now` that a host that was never met would not be assumed to be.
    fn is_blank(&self, now: Time) -> bool {
        self.available() <= now
            && self.gone.is_none_or(|(until, _)| until <= now)
            && (self.backoff_level, self.failures, self.robots_level) == (0, 0, 0)
            && (self.pages, self.bytes) == (0, 0)
    }

    /// Takes over what the stores say at `now` of a host that starts.
    pub(super) fn learn(&mut self, known: &Known, now: Time) {
        if let Some(since) = known.robots_failing_since.filter(|_| self.robots_level == 0) {
            (self.robots_level, self.robots_failing_since) = (1, since.min(now));
        }
        if let Some(until) = known.rests_until {
            self.backoff_until = self.backoff_until.max(until.min(now + BACKOFF_MAX));
        }
    }
}

/// A host that is not active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostRecord {
    /// When it was made.
    pub written: Time,
    pub standing: Standing,
    /// Encoded rules and their expiry.
    pub rules: Option<(Box<[u8]>, Time)>,
    /// Addresses and their expiry.
    pub addresses: Option<(Vec<IpAddr>, Time)>,
}

impl HostRecord {
    /// Appends the record. docs/FORMATS.md draws it.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let standing = &self.standing;
        wire::put_time(out, standing.available());
        let flags = u8::from(standing.gone.is_some())
            | u8::from(self.rules.is_some()) << 1
            | u8::from(self.addresses.is_some()) << 2
            | u8::from(standing.answered) << 3
            | u8::from(standing.blame.is_some()) << 4;
        out.push(flags);
        for time in [self.written, standing.due, standing.backoff_set, standing.backoff_until] {
            wire::put_time(out, time);
        }
        wire::put_varint(out, u64::try_from(standing.pace.as_millis()).unwrap_or(u64::MAX));
        out.extend_from_slice(&[standing.backoff_level, standing.robots_level]);
        wire::put_varint(out, standing.failures.into());
        wire::put_time(out, standing.failing_since);
        wire::put_time(out, standing.robots_failing_since);
        wire::put_varint(out, standing.pages);
        wire::put_varint(out, standing.bytes);
        if let Some((until, reason)) = standing.gone {
            wire::put_time(out, until);
            out.push(u8::from(reason == Reason::PrivateAddress));
        }
        if let Some(blame) = standing.blame {
            let (tag, value) = blame.code();
            out.push(tag);
            wire::put_varint(out, value.into());
        }
        if let Some((rules, expires)) = &self.rules {
            wire::put_time(out, *expires);
            wire::put_sized(out, rules);
        }
        if let Some((addresses, expires)) = &self.addresses {
            wire::put_time(out, *expires);
            put_addresses(out, addresses);
        }
    }

    /// Reads a record; `None` for what cannot have been written.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let read = Encoded::read(bytes)?;
        let addresses = match read.addresses {
            Some((list, expires)) => Some((addresses(list)?, expires)),
            None => None,
        };
        let rules = read.rules.map(|(rules, expires)| (rules.into(), expires));
        Some(HostRecord { written: read.written, standing: read.standing, rules, addresses })
    }

    /// What is worth keeping at `now` of an encoded record: nothing (`None` inside), or the record without what has
    /// expired; `None` outside if it cannot be read.
    pub(super) fn kept(bytes: &[u8], now: Time) -> Option<Option<Cow<'_, [u8]>>> {
        let read = Encoded::read(bytes)?;
        let holds = |expires: Option<Time>| expires.is_some_and(|expires| expires > now);
        let rules = read.rules.map(|(_, expires)| expires);
        let addresses = read.addresses.map(|(_, expires)| expires);
        if read.standing.is_blank(now) && !holds(rules) && !holds(addresses) {
            return Some(None);
        }
        if rules.is_some() == holds(rules) && addresses.is_some() == holds(addresses) {
            return Some(Some(bytes.into()));
        }
        let mut kept = HostRecord::decode(bytes)?;
        kept.rules = kept.rules.filter(|&(_, expires)| expires > now);
        kept.addresses = kept.addresses.filter(|&(_, expires)| expires > now);
        let mut trimmed = Vec::new();
        kept.encode(&mut trimmed);
        Some(Some(trimmed.into()))
    }

    /// From when on the host of an encoded record has something to do; a time that only a set clock can have made
    /// counts as passed, and so does the rest of a host that is forgiven (see [`HostRecord::forgive`]).
    pub(super) fn available_in(bytes: &[u8], now: Time, since: Time) -> Option<Time> {
        let mut reader = Reader::new(bytes);
        let (time, flags) = (reader.time()?, reader.u8()?);
        let is_forgiven = is_silent(flags) && reader.time()? <= since;
        Some(if is_sane(time, now) && !is_forgiven { time } else { now })
    }

    /// Until when the host of an encoded record is not to be contacted by any shard: as
    /// [`HostRecord::available_in`], but one that was given up rests too.
    pub(super) fn rests_in(bytes: &[u8], now: Time, since: Time) -> Option<Time> {
        let available = HostRecord::available_in(bytes, now, since)?;
        let read = Encoded::read(bytes)?;
        let (until, is_forgiven) = (read.standing.due.max(read.standing.backoff_until), read.written <= since);
        let counts = read.standing.gone.is_some() && is_sane(until, now) && !(is_forgiven && read.standing.is_silent());
        Some(if counts { available.max(until) } else { available })
    }

    /// Whether an encoded record is that of a host that was asked and never answered.
    pub(super) fn is_silent_in(bytes: &[u8]) -> bool {
        let mut reader = Reader::new(bytes);
        reader.time().and_then(|_| reader.u8()).is_some_and(is_silent)
    }

    /// What is to be asked again since `since` is not held against the host by a record of before: that it was given
    /// up, and, where it never answered, its rests.
    pub(super) fn forgive(&mut self, since: Time, now: Time) {
        if self.written <= since {
            self.standing.forgive(now);
        }
    }

    /// Brings times that a set clock made absurd into the range that they can have, and forgets what has expired.
    pub(super) fn clamp(&mut self, now: Time) {
        let standing = &mut self.standing;
        standing.pace = standing.pace.min(BACKOFF_MAX);
        if !is_sane(standing.due, now) {
            standing.due = now + standing.pace;
        }
        if !is_sane(standing.backoff_until, now) {
            standing.backoff_until = now;
        }
        for past in [&mut standing.backoff_set, &mut standing.failing_since, &mut standing.robots_failing_since] {
            *past = (*past).min(now);
        }
        let written = self.written;
        let is_fresh = |expires: Time| written <= now && now < expires;
        standing.gone = standing.gone.filter(|&(until, _)| until == Time::MAX || is_fresh(until));
        self.rules = self.rules.take().filter(|&(_, expires)| is_fresh(expires));
        self.addresses = self.addresses.take().filter(|&(_, expires)| is_fresh(expires));
        if let Some((_, expires)) = &mut self.rules {
            *expires = (*expires).min(now + RULES_MAX);
        }
        if let Some((_, expires)) = &mut self.addresses {
            *expires = (*expires).min(now + ADDRESSES_MAX);
        }
    }

    /// Whether nothing would be lost without the record at `now`.
    pub(super) fn is_blank(&self, now: Time) -> bool {
        self.standing.is_blank(now)
            && self.rules.as_ref().is_none_or(|&(_, expires)| expires <= now)
            && self.addresses.as_ref().is_none_or(|&(_, expires)| expires <= now)
    }
}

/// A record as it lies in bytes, with nothing copied.
struct Encoded<'a> {
    written: Time,
    standing: Standing,
    rules: Option<(&'a [u8], Time)>,
    /// The list is the rest of the bytes.
    addresses: Option<(&'a [u8], Time)>,
}

impl<'a> Encoded<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        reader.time()?;
        let flags = reader.u8()?;
        let written = reader.time()?;
        let mut standing = Standing {
            due: reader.time()?,
            backoff_set: reader.time()?,
            backoff_until: reader.time()?,
            pace: Duration::from_millis(reader.varint()?),
            backoff_level: reader.u8()?,
            robots_level: reader.u8()?,
            failures: reader.small()?,
            failing_since: reader.time()?,
            robots_failing_since: reader.time()?,
            pages: reader.varint()?,
            bytes: reader.varint()?,
            gone: None,
            answered: flags & ANSWERED != 0,
            blame: None,
        };
        if flags & 1 != 0 {
            let until = reader.time()?;
            let reason = if reader.u8()? == 1 { Reason::PrivateAddress } else { Reason::HostGivenUp };
            standing.gone = Some((until, reason));
        }
        if flags & BLAMED != 0 {
            let (tag, value) = (reader.u8()?, reader.varint()?);
            standing.blame = Some(HostFault::of_code(tag, u16::try_from(value).ok()?)?);
        }
        let mut rules = None;
        if flags & 2 != 0 {
            let expires = reader.time()?;
            rules = Some((reader.sized()?, expires));
        }
        let mut addresses = None;
        if flags & 4 != 0 {
            let expires = reader.time()?;
            addresses = Some((reader.rest(), expires));
        }
        (addresses.is_some() || reader.is_at_end()).then_some(Encoded { written, standing, rules, addresses })
    }
}

/// Flags of a record.
const ANSWERED: u8 = 1 << 3;
const BLAMED: u8 = 1 << 4;

fn is_silent(flags: u8) -> bool {
    flags & (ANSWERED | BLAMED) == BLAMED
}

/// Whether a host may be held back until `time`: nothing holds for more than a day, and clocks differ a little.
pub(super) fn is_sane(time: Time, now: Time) -> bool {
    time <= now + BACKOFF_MAX + CLOCK_DRIFT
}

fn put_addresses(out: &mut Vec<u8>, addresses: &[IpAddr]) {
    let kept = &addresses[..addresses.len().min(ADDRESSES_KEPT)];
    out.push(kept.len() as u8);
    for address in kept {
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
}

/// Reads a list that goes to the end of `bytes`.
fn addresses(bytes: &[u8]) -> Option<Vec<IpAddr>> {
    let mut reader = Reader::new(bytes);
    let count = reader.u8()?;
    let mut addresses = Vec::with_capacity(count.into());
    for _ in 0..count {
        addresses.push(match reader.u8()? {
            4 => Ipv4Addr::from(<[u8; 4]>::try_from(reader.take(4)?).ok()?).into(),
            6 => Ipv6Addr::from(<[u8; 16]>::try_from(reader.take(16)?).ok()?).into(),
            _ => return None,
        });
    }
    reader.is_at_end().then_some(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> HostRecord {
        HostRecord {
            written: Time::from_ms(900),
            standing: Standing {
                due: Time::from_ms(1_000_000),
                pace: Duration::from_secs(3),
                backoff_level: 2,
                backoff_until: Time::from_ms(u64::MAX),
                failures: 4,
                pages: 99,
                gone: Some((Time::MAX, Reason::PrivateAddress)),
                answered: true,
                blame: Some(HostFault::RobotsStatus(503)),
                ..Standing::default()
            },
            rules: Some((b"rules".as_slice().into(), Time::MAX)),
            addresses: Some((vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()], Time::from_ms(77))),
        }
    }

    #[test]
    fn a_record_is_read_back_as_it_was_and_never_from_fewer_bytes() {
        let mut bytes = Vec::new();
        record().encode(&mut bytes);
        assert_eq!(HostRecord::decode(&bytes), Some(record()));
        for cut in 0..bytes.len() {
            assert_eq!(HostRecord::decode(&bytes[..cut]), None, "{cut} bytes");
        }
    }

    #[test]
    fn absurd_times_are_brought_into_range() {
        let now = Time::from_ms(1_000);
        let mut record = record();
        record.clamp(now);
        assert_eq!(record.standing.backoff_until, now);
        assert_eq!(record.standing.due, Time::from_ms(1_000_000));
        assert_eq!(record.rules.unwrap().1, now + RULES_MAX);
        assert_eq!(record.addresses, None);
        assert_eq!(record.standing.gone, Some((Time::MAX, Reason::PrivateAddress)));
    }

    #[test]
    fn a_record_that_was_written_later_than_now_is_believed_nothing_that_expires() {
        let hour = Duration::from_secs(3_600);
        let written = Time::from_ms(1 << 40);
        let until = written + hour;
        let fresh = HostRecord {
            written,
            standing: Standing { gone: Some((until, Reason::HostGivenUp)), ..Standing::default() },
            rules: Some((b"rules".as_slice().into(), until)),
            addresses: Some((vec!["127.0.0.1".parse().unwrap()], until)),
        };
        for (now, holds) in [
            (written, true),
            (written + hour / 2, true),
            (until, false),
            (until + hour, false),
            // the clock was set back
            (written - Duration::from_millis(1), false),
            (written - hour * 24 * 30, false),
        ] {
            let mut record = fresh.clone();
            record.clamp(now);
            let found = (record.standing.gone.is_some(), record.rules.is_some(), record.addresses.is_some());
            assert_eq!(found, (holds, holds, holds), "{now:?}");
        }
    }

    #[test]
    fn n12_the_rests_of_a_host_that_never_answered_are_forgiven_and_those_of_others_are_kept() {
        let (now, until) = (Time::from_ms(1 << 40), Time::from_ms((1 << 40) + 60_000));
        let blame = Some(HostFault::Host(crate::outcome::Cause::ConnectionRefused));
        let gone = Some((until, Reason::HostGivenUp));
        for (answered, blame, forgiven) in [(false, blame, true), (true, blame, false), (false, None, false)] {
            let standing = Standing { backoff_until: until, failures: 3, answered, blame, gone, ..Standing::default() };
            let record = HostRecord { written: now, standing, ..HostRecord::default() };
            let mut bytes = Vec::new();
            HostRecord { standing: Standing { gone: None, ..standing }, ..record.clone() }.encode(&mut bytes);
            assert_eq!(HostRecord::is_silent_in(&bytes), forgiven);
            let available = |since| HostRecord::available_in(&bytes, now, since).unwrap();
            let before = now - Duration::from_millis(1);
            assert_eq!(available(before), until, "it was written after that");
            assert_eq!(available(until), if forgiven { now } else { until });
            let mut kept = record.clone();
            kept.forgive(before, now);
            assert_eq!(kept, record);
            let mut other = record.clone();
            other.forgive(until, now);
            assert_eq!(other.standing.gone, None);
            assert_eq!(other.standing.available() <= now, forgiven);
            assert_eq!(
                (other.standing.failures == 0, other.standing.blame.is_none()),
                (forgiven, forgiven || blame.is_none())
            );
        }
    }

    #[test]
    fn what_has_expired_leaves_a_record_and_the_rest_stays() {
        let now = Time::from_ms(1_000);
        let record = HostRecord { rules: Some((b"rules".as_slice().into(), now)), ..record() };
        let record = HostRecord { addresses: record.addresses.clone().map(|(list, _)| (list, Time::MAX)), ..record };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        let kept = HostRecord::kept(&bytes, now).unwrap().unwrap();
        assert_eq!(HostRecord::decode(&kept), Some(HostRecord { rules: None, ..record }));
    }
}
