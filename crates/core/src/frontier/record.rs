//! The record of a host, which stays when it leaves memory: its standing, its compiled robots rules, its addresses.
//!
//! A record is in the tail of its partition, then in the directory of its base, and comes back when the host is
//! active again. Its times are wall times of an earlier moment, perhaps of another process on a machine whose clock was
//! ahead: they are read by the [`Writer`] of the record alone, which says by which clock. What a record says of rules,
//! addresses and names is not believed before the moment at which it was written: the clock was set back then, nobody
//! knows by how much, and it would hold for longer than its time. The first number of a record is the moment from which
//! the host may be contacted, so that choosing hosts decodes nothing else.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use super::address_queue::Acquaintance;
use super::task::Known;
use super::tuning::{ADDRESSES_KEPT, ADDRESSES_MAX, BACKOFF_MAX, RULES_MAX};
use super::wire::{self, Reader};
use super::writer::Writer;
use crate::clock::{Era, Stored, Time};
use crate::outcome::{HostFault, Reason};

/// The standing of a host with us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Time before which no request begins.
    pub due: Time,
    /// The delay that its last fetches ask for.
    pub pace: Duration,
    /// The number of back-offs in a row.
    pub backoff_level: u8,
    /// Time at which the last back-off was set.
    pub backoff_set: Time,
    /// Time until which it is held back.
    pub backoff_until: Time,
    /// Failures in a row.
    pub failures: u32,
    /// The time of the first of them.
    pub failing_since: Time,
    /// The number of times in a row that its robots.txt could not be had.
    pub robots_level: u8,
    /// The time of the first of them.
    pub robots_failing_since: Time,
    /// Pages that are used of its budgets.
    pub pages: u64,
    /// Bytes that are used of its budgets.
    pub bytes: u64,
    /// Time until which it is given up, and the reason: its URLs are dropped.
    pub gone: Option<(Time, Reason)>,
    /// True if it ever answered a request.
    pub answered: bool,
    /// The cause for which it delivers nothing, since its last answer.
    pub blame: Option<HostFault>,
}

impl Standing {
    /// Returns the time from which on it has something to do: a host that is given up only drops, and that can be done
    /// at once.
    pub(super) fn available(&self) -> Time {
        if self.gone.is_some() { Time::ZERO } else { self.due.max(self.backoff_until) }
    }

    /// Returns whether it was asked and never answered.
    pub(super) fn is_silent(&self) -> bool {
        !self.answered && self.blame.is_some()
    }

    /// Returns what those who wait with it for an address have to know of it.
    pub(super) fn acquaintance(&self) -> Acquaintance {
        match (self.answered, self.is_silent()) {
            (true, _) => Acquaintance::Answers,
            (false, true) => Acquaintance::Silent,
            (false, false) => Acquaintance::New,
        }
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

    /// Returns whether it says nothing at `now` that would not be assumed of a host that was never met.
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
    /// Time at which it was made.
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
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            flag(standing.gone.is_some(), GONE)
                | flag(self.rules.is_some(), RULES)
                | flag(self.addresses.is_some(), ADDRESSES)
                | flag(standing.answered, ANSWERED)
                | flag(standing.blame.is_some(), BLAMED),
        );
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

    /// Reads a record of `writer`; `None` for what cannot have been written.
    pub(super) fn read(bytes: &[u8], writer: Writer) -> Option<Self> {
        let read = Encoded::read(bytes)?;
        let era = writer.era(read.written);
        let addresses = match read.addresses {
            Some((list, expires)) => Some((addresses(list)?, expires)),
            None => None,
        };
        let addresses = addresses.and_then(|(list, expires)| Some((list, era.expiry(expires, ADDRESSES_MAX)?)));
        let rules = read.rules.and_then(|(rules, expires)| Some((rules.into(), era.expiry(expires, RULES_MAX)?)));
        Some(HostRecord { written: era.passed(read.written), standing: read.standing(era), rules, addresses })
    }

    /// The record as this process would have written it, where a clock that was ahead wrote it.
    pub(super) fn renewed(bytes: &[u8], writer: Writer) -> Option<Cow<'_, [u8]>> {
        if !writer.era(Encoded::read(bytes)?.written).is_ahead() {
            return Some(bytes.into());
        }
        let mut renewed = Vec::new();
        HostRecord::read(bytes, writer)?.encode(&mut renewed);
        Some(renewed.into())
    }

    /// Returns what is worth keeping at `now` of an encoded record: nothing (`None` inside), or the record without what
    /// has expired; `None` outside if it cannot be read.
    pub(super) fn kept(bytes: &[u8], now: Time) -> Option<Option<Cow<'_, [u8]>>> {
        let read = Encoded::read(bytes)?;
        let holds = |expires: Option<Stored>| expires.is_some_and(|expires| expires.as_written() > now);
        let rules = read.rules.map(|(_, expires)| expires);
        let addresses = read.addresses.map(|(_, expires)| expires);
        if read.standing(Era::OWN).is_blank(now) && !holds(rules) && !holds(addresses) {
            return Some(None);
        }
        if rules.is_some() == holds(rules) && addresses.is_some() == holds(addresses) {
            return Some(Some(bytes.into()));
        }
        let mut kept = HostRecord::read(bytes, Writer::This)?;
        kept.rules = kept.rules.filter(|&(_, expires)| expires > now);
        kept.addresses = kept.addresses.filter(|&(_, expires)| expires > now);
        let mut trimmed = Vec::new();
        kept.encode(&mut trimmed);
        Some(Some(trimmed.into()))
    }

    /// Returns the time from which on the host of an encoded record has something to do; the rest of a host that is
    /// forgiven (see [`HostRecord::forgive`]) counts as passed.
    pub(super) fn available_in(bytes: &[u8], since: Time, writer: Writer) -> Option<Time> {
        let mut reader = Reader::new(bytes);
        let (time, flags, written) = (reader.time()?, reader.u8()?, reader.time()?);
        let era = writer.era(written);
        if is_silent(flags) && era.passed(written) <= since {
            return Some(Time::ZERO);
        }
        if flags & GONE != 0 && era.is_ahead() {
            // that it was given up is not believed, and it may have to rest
            return Some(Encoded::read(bytes)?.standing(era).available());
        }
        Some(era.rest(time, BACKOFF_MAX))
    }

    /// Returns the time until which the host of an encoded record is not to be contacted by any shard: as
    /// [`HostRecord::available_in`], but one that was given up rests too.
    pub(super) fn held_until_in(bytes: &[u8], since: Time, writer: Writer) -> Option<Time> {
        let available = HostRecord::available_in(bytes, since, writer)?;
        let read = Encoded::read(bytes)?;
        let era = writer.era(read.written);
        let (standing, is_forgiven) = (read.standing(era), era.passed(read.written) <= since);
        let counts = standing.gone.is_some() && !(is_forgiven && standing.is_silent());
        Some(if counts { available.max(standing.due).max(standing.backoff_until) } else { available })
    }

    /// Returns whether an encoded record is that of a host that was asked and never answered.
    pub(super) fn is_silent_in(bytes: &[u8]) -> bool {
        let mut reader = Reader::new(bytes);
        reader.time().and_then(|_| reader.u8()).is_some_and(is_silent)
    }

    /// Forgives the host what a record of `since` or before holds against it, as it is to be asked again: that it was
    /// given up, and, where it never answered, its rests.
    pub(super) fn forgive(&mut self, since: Time, now: Time) {
        if self.written <= since {
            self.standing.forgive(now);
        }
    }

    /// Forgets the rules in a record of `since` or before, as they are to be asked for again.
    pub(super) fn doubt_rules(&mut self, since: Time) {
        if self.written <= since {
            self.rules = None;
        }
    }

    /// Forgets what has expired at `now`.
    pub(super) fn forget_expired(&mut self, now: Time) {
        self.standing.gone = self.standing.gone.filter(|&(until, _)| until > now);
        self.rules = self.rules.take().filter(|&(_, expires)| expires > now);
        self.addresses = self.addresses.take().filter(|&(_, expires)| expires > now);
    }

    /// Returns whether nothing would be lost without the record at `now`.
    pub(super) fn is_blank(&self, now: Time) -> bool {
        self.standing.is_blank(now)
            && self.rules.as_ref().is_none_or(|&(_, expires)| expires <= now)
            && self.addresses.as_ref().is_none_or(|&(_, expires)| expires <= now)
    }
}

/// A record as it is in bytes, with nothing copied.
struct Encoded<'a> {
    written: Stored,
    due: Stored,
    backoff_set: Stored,
    backoff_until: Stored,
    failing_since: Stored,
    robots_failing_since: Stored,
    gone: Option<(Stored, Reason)>,
    /// The standing without these times.
    rest: Standing,
    rules: Option<(&'a [u8], Stored)>,
    /// The list is the rest of the bytes.
    addresses: Option<(&'a [u8], Stored)>,
}

impl<'a> Encoded<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        reader.time()?;
        let flags = reader.u8()?;
        let [written, due, backoff_set, backoff_until] =
            [reader.time()?, reader.time()?, reader.time()?, reader.time()?];
        let mut rest = Standing {
            pace: Duration::from_millis(reader.varint()?).min(BACKOFF_MAX),
            backoff_level: reader.u8()?,
            robots_level: reader.u8()?,
            failures: reader.small()?,
            answered: flags & ANSWERED != 0,
            ..Standing::default()
        };
        let [failing_since, robots_failing_since] = [reader.time()?, reader.time()?];
        (rest.pages, rest.bytes) = (reader.varint()?, reader.varint()?);
        let mut gone = None;
        if flags & GONE != 0 {
            let until = reader.time()?;
            let reason = if reader.u8()? == 1 { Reason::PrivateAddress } else { Reason::HostGivenUp };
            gone = Some((until, reason));
        }
        if flags & BLAMED != 0 {
            let (tag, value) = (reader.u8()?, reader.varint()?);
            rest.blame = Some(HostFault::of_code(tag, u16::try_from(value).ok()?)?);
        }
        let mut rules = None;
        if flags & RULES != 0 {
            let expires = reader.time()?;
            rules = Some((reader.sized()?, expires));
        }
        let mut addresses = None;
        if flags & ADDRESSES != 0 {
            let expires = reader.time()?;
            addresses = Some((reader.rest(), expires));
        }
        (addresses.is_some() || reader.is_at_end()).then_some(Encoded {
            written,
            due,
            backoff_set,
            backoff_until,
            failing_since,
            robots_failing_since,
            gone,
            rest,
            rules,
            addresses,
        })
    }

    /// The standing, written by the clock of `era`.
    fn standing(&self, era: Era) -> Standing {
        let until = |until: Stored| match until.as_written() {
            Time::MAX => Some(Time::MAX),
            _ => era.expiry(until, Duration::MAX),
        };
        Standing {
            due: era.rest(self.due, BACKOFF_MAX),
            backoff_set: era.passed(self.backoff_set),
            backoff_until: era.rest(self.backoff_until, BACKOFF_MAX),
            failing_since: era.passed(self.failing_since),
            robots_failing_since: era.passed(self.robots_failing_since),
            gone: self.gone.and_then(|(stored, reason)| Some((until(stored)?, reason))),
            ..self.rest
        }
    }
}

/// Flags of a record.
const GONE: u8 = 1;
const RULES: u8 = 1 << 1;
const ADDRESSES: u8 = 1 << 2;
const ANSWERED: u8 = 1 << 3;
const BLAMED: u8 = 1 << 4;

fn is_silent(flags: u8) -> bool {
    flags & (ANSWERED | BLAMED) == BLAMED
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
        assert_eq!(HostRecord::read(&bytes, Writer::This), Some(record()));
        for cut in 0..bytes.len() {
            assert_eq!(HostRecord::read(&bytes[..cut], Writer::This), None, "{cut} bytes");
        }
    }

    /// `record` as a process reads it that began at `began`.
    fn read_at(record: &HostRecord, began: Time) -> HostRecord {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        let mut read = HostRecord::read(&bytes, Writer::Before(began)).unwrap();
        read.forget_expired(began);
        read
    }

    #[test]
    fn absurd_times_are_brought_into_range() {
        let now = Time::from_ms(1_000);
        let record = read_at(&record(), now);
        assert_eq!(record.standing.backoff_until, now + BACKOFF_MAX);
        assert_eq!(record.standing.due, Time::from_ms(1_000_000));
        assert_eq!(record.rules.unwrap().1, now + RULES_MAX);
        assert_eq!(record.addresses, None);
        assert_eq!(record.standing.gone, Some((Time::MAX, Reason::PrivateAddress)));
    }

    #[test]
    fn a_rest_that_a_clock_wrote_that_was_ahead_begins_with_the_process_that_reads_it_and_not_again_with_each_look() {
        let (hour, began) = (Duration::from_secs(3_600), Time::from_ms(1 << 40));
        for ahead in [Duration::ZERO, hour * 20, hour * 72, hour * 24 * 400, hour * 24 * 3_650] {
            let written = began + ahead;
            let standing = Standing {
                due: written + hour,
                backoff_until: written + hour * 24,
                failing_since: written - hour,
                gone: (!ahead.is_zero()).then_some((written + hour * 72, Reason::HostGivenUp)),
                ..Standing::default()
            };
            let record = HostRecord { written, standing, ..HostRecord::default() };
            let read = read_at(&record, began);
            let expected = Standing {
                due: began + hour,
                backoff_until: began + hour * 24,
                failing_since: began - hour,
                ..standing
            };
            assert_eq!(read.standing, Standing { gone: None, ..expected }, "{ahead:?}");
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            let writer = Writer::Before(began);
            assert_eq!(HostRecord::available_in(&bytes, Time::ZERO, writer), Some(began + hour * 24), "{ahead:?}");
            assert_eq!(HostRecord::held_until_in(&bytes, Time::ZERO, writer), Some(began + hour * 24), "{ahead:?}");
            // what is written again is this process's own
            let renewed = HostRecord::renewed(&bytes, writer).unwrap();
            assert_eq!(HostRecord::read(&renewed, Writer::This), Some(read), "{ahead:?}");
        }
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
            let record = read_at(&fresh, now);
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
            let available = |since| HostRecord::available_in(&bytes, since, Writer::This).unwrap();
            let before = now - Duration::from_millis(1);
            assert_eq!(available(before), until, "it was written after that");
            assert_eq!(available(until), if forgiven { Time::ZERO } else { until });
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
        assert_eq!(HostRecord::read(&kept, Writer::This), Some(HostRecord { rules: None, ..record }));
    }
}
