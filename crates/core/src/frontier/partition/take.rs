//! A take: the next URLs of hosts that run dry, and of hosts that are to become active, read from a base.
//!
//! Nothing is written. What was taken counts as consumed only when the frontier has accepted it and moved the
//! host's cursor; until then (and after a crash) the URLs are still in the base. Hosts are chosen by walking the
//! directory round and round, so that each has its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::base::{Base, DirectoryEntry, Spot};
use super::key::HostKey;
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::fingerprint::ByFingerprint;
use crate::fingerprint::Fingerprint;
use crate::frontier::host::Item;
use crate::frontier::record::HostRecord;
use crate::frontier::reputation::{DomainTotals, Round};
use crate::frontier::share::Share;
use crate::frontier::tuning::READ_AHEAD;
use crate::frontier::writer::Writer;

/// Position up to which the URLs of a host are consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::frontier) struct Cursor {
    /// Place of its next URL.
    pub spot: Spot,
    /// URLs before it.
    pub taken: u64,
}

/// Positions up to which the hosts of a partition's base are consumed.
#[derive(Clone, Debug, Default)]
pub(in crate::frontier) struct Cursors {
    /// Cursors of hosts with URLs before and behind them.
    pub begun: BTreeMap<HostKey, Cursor>,
    /// Hosts of which nothing is left, which are most of them where hosts are many: they take few bytes each.
    pub spent: BTreeSet<Fingerprint>,
}

impl Cursors {
    /// Returns the cursor of a host whose `urls` URLs start at `start`.
    pub(super) fn of(&self, host: HostKey, start: Spot, urls: u64) -> Cursor {
        if self.spent.contains(&host.origin) {
            return Cursor { spot: start, taken: urls };
        }
        self.begun.get(&host).copied().unwrap_or(Cursor { spot: start, taken: 0 })
    }

    /// Returns whether anything of a host is consumed.
    pub(super) fn has(&self, host: HostKey) -> bool {
        self.spent.contains(&host.origin) || self.begun.contains_key(&host)
    }

    /// Moves the cursor of a host that has `left` URLs behind it.
    pub(super) fn advance(&mut self, host: HostKey, cursor: Cursor, left: u64) {
        if left == 0 {
            self.begun.remove(&host);
            self.spent.insert(host.origin);
        } else {
            self.begun.insert(host, cursor);
        }
    }

    /// Bytes of memory that they take.
    pub(super) fn memory(&self) -> usize {
        const BEGUN_BYTES: usize = 64;
        const SPENT_BYTES: usize = 14;
        self.begun.len() * BEGUN_BYTES + self.spent.len() * SPENT_BYTES
    }
}

/// An active host that runs dry.
#[derive(Debug)]
pub(in crate::frontier) struct Refill {
    pub host: HostKey,
    /// URLs that it may have.
    pub room: usize,
    /// URLs that it has left in the base.
    pub left: u64,
}

/// Work of taking URLs from a base.
#[derive(Debug)]
pub(in crate::frontier) struct Take {
    pub disk: Disk,
    pub path: PathBuf,
    pub bytes: u64,
    pub now: Time,
    /// Time up to which records are forgiven.
    pub forgiven: Time,
    /// The writer of the records of the base.
    pub writer: Writer,
    pub cursors: Arc<Cursors>,
    pub refills: Vec<Refill>,
    /// Hosts that are not to be chosen, sorted.
    pub active: Vec<Fingerprint>,
    /// Times from which on hosts with a newer record than the base's are available.
    pub available: BTreeMap<Fingerprint, Time>,
    /// Busy hosts of active domains, and what says how many a domain may have.
    pub domains: ByFingerprint<u32>,
    pub share: Share,
    /// Pages that domains have left of their round, where budgets follow from supporters.
    pub round: Option<Box<RoundLeft>>,
    /// Domains of which one host may become active, and no second one; sorted.
    pub one_by_one: Vec<Fingerprint>,
    pub hosts_max: usize,
    pub urls_max: usize,
    pub bytes_max: usize,
    /// The host after which the walk goes on.
    pub rover: Option<HostKey>,
}

/// A host with URLs that were read.
#[derive(Debug)]
pub(in crate::frontier) struct Taken {
    pub host: HostKey,
    /// True if it was active when the take was planned.
    pub refill: bool,
    pub items: Vec<Item>,
    pub cursor: Cursor,
    /// URLs that are left in the base.
    pub left: u64,
    /// The base's record of the host.
    pub record: Option<Box<[u8]>>,
    /// Totals of its domain in the base.
    pub totals: DomainTotals,
}

/// Pages that domains have left of the round that goes on, as far as they are known without the base.
#[derive(Debug)]
pub(in crate::frontier) struct RoundLeft {
    pub round: Round,
    /// Totals that are not in the base's.
    pub newer: BTreeMap<Fingerprint, DomainTotals>,
    /// Pages that active domains have left.
    pub active: ByFingerprint<u64>,
    /// URLs that this take brings.
    pub taken: ByFingerprint<u64>,
}

impl RoundLeft {
    /// Pages that are left to `domain`, of which the base knows `totals`, behind those that the take brings.
    fn of(&self, domain: Fingerprint, totals: &DomainTotals) -> u64 {
        let left = self.active.get(&domain).copied().unwrap_or_else(|| {
            let mut all = *totals;
            self.newer.get(&domain).iter().for_each(|newer| all.add(newer));
            self.round.left_for_new(&all, 0)
        });
        left.saturating_sub(self.taken.get(&domain).copied().unwrap_or(0))
    }

    fn take(&mut self, domain: Fingerprint, urls: usize) {
        *self.taken.entry(domain).or_default() += urls as u64;
    }
}

/// Result of a take.
#[derive(Debug)]
pub(in crate::frontier) struct TakeDone {
    pub taken: Vec<Taken>,
    pub rover: Option<HostKey>,
    /// Time at which a host that was not chosen will be available; `None` if all wait for something else.
    pub wake: Option<Time>,
    /// True if the walk found less than it was to.
    pub all_around: bool,
    /// True if hosts were passed over because their domain has enough busy hosts.
    pub blocked: bool,
    /// True if hosts were passed over because their domain rests until the next round.
    pub rests: bool,
}

/// A host of the directory while it is considered.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    host: HostKey,
    urls: u64,
    cursor: Cursor,
    record: &'a [u8],
    totals: DomainTotals,
}

impl Take {
    pub(super) fn run(mut self) -> Result<TakeDone> {
        let mut base = Base::open(&self.disk, &self.path, self.bytes)?;
        let mut done = TakeDone {
            taken: Vec::new(),
            rover: self.rover,
            wake: None,
            all_around: false,
            blocked: false,
            rests: false,
        };
        for refill in std::mem::take(&mut self.refills) {
            done.taken.extend(self.refill(&mut base, &refill)?);
        }
        if self.hosts_max > 0 {
            self.walk(&mut base, &mut done)?;
        }
        Ok(done)
    }

    /// More URLs of an active host. One that was begun needs no look into the directory.
    fn refill(&self, base: &mut Base, refill: &Refill) -> Result<Option<Taken>> {
        let host = refill.host;
        let begun = self.cursors.begun.get(&host);
        if let Some(&cursor) = begun {
            let urls = cursor.taken + refill.left;
            let candidate = Candidate { host, urls, cursor, record: &[], totals: DomainTotals::default() };
            return self.read(base, candidate, refill.room, true).map(Some);
        }
        let Some((start, urls)) = find(base, host)? else { return Ok(None) };
        let cursor = self.cursors.of(host, start, urls);
        let candidate = Candidate { host, urls, cursor, record: &[], totals: DomainTotals::default() };
        self.read(base, candidate, refill.room, true).map(Some)
    }

    /// Goes once around the directory, or until there is enough.
    fn walk(&mut self, base: &mut Base, done: &mut TakeDone) -> Result<()> {
        let blocks = base.directory_blocks();
        let start = self.rover.map_or(0, |rover| base.block_of(rover));
        let (mut hosts, mut bytes) = (0, 0);
        // Totals of the domain that was met last: its entry is right before those of its hosts.
        let mut met = None;
        for step in 0..=blocks {
            let (number, first, last) = (start + step, step == 0, step == blocks);
            if blocks == 0 || (last && self.rover.is_none()) {
                break;
            }
            let mut block = base.directory(number % blocks)?;
            if first || number == blocks {
                // What is before is not known, unless this is the very first.
                met = (number % blocks == 0).then_some((Fingerprint::default(), DomainTotals::default()));
            }
            while let Some(entry) = base.next_entry(&mut block)? {
                let (host, urls, start, record) = match entry {
                    DirectoryEntry::Domain { domain, totals } => {
                        met = Some((domain, totals));
                        continue;
                    }
                    DirectoryEntry::Host { host, urls, start, record } => (host, urls, start, record),
                };
                let totals = match met {
                    Some((domain, totals)) if domain == host.domain => totals,
                    Some(_) => DomainTotals::default(),
                    None => domain_totals(base, host.domain)?,
                };
                met = Some((host.domain, totals));
                let passed = self.rover.is_some_and(|rover| host <= rover);
                if (first && passed) || (last && !passed) {
                    continue;
                }
                let candidate = Candidate { host, urls, cursor: self.cursors.of(host, start, urls), record, totals };
                if !self.chooses(&candidate, done) {
                    continue;
                }
                let left = self.round.as_ref().map_or(u64::MAX, |round| round.of(host.domain, &totals));
                let room = usize::try_from(left).unwrap_or(usize::MAX).min(self.urls_max);
                let taken = self.read(base, candidate, room, false)?;
                self.round.iter_mut().for_each(|round| round.take(host.domain, taken.items.len()));
                bytes += taken.items.iter().map(Item::memory).sum::<usize>();
                hosts += 1;
                let busy = self.domains.entry(host.domain).or_default();
                *busy = if self.one_by_one.binary_search(&host.domain).is_ok() { u32::MAX } else { *busy + 1 };
                self.share.take_place();
                done.taken.push(taken);
                done.rover = Some(host);
                if hosts >= self.hosts_max || bytes >= self.bytes_max {
                    done.wake = Some(self.now);
                    return Ok(());
                }
            }
            base.recycle(block);
        }
        done.all_around = true;
        Ok(())
    }

    fn chooses(&self, candidate: &Candidate<'_>, done: &mut TakeDone) -> bool {
        let host = candidate.host;
        if candidate.cursor.taken >= candidate.urls || self.active.binary_search(&host.origin).is_ok() {
            return false;
        }
        let in_base = || HostRecord::available_in(candidate.record, self.forgiven, self.writer);
        let available = self.available.get(&host.origin).copied().or_else(in_base).unwrap_or(Time::ZERO);
        if available > self.now {
            done.wake = Some(done.wake.map_or(available, |wake| wake.min(available)));
            return false;
        }
        if self.round.as_ref().is_some_and(|round| round.of(host.domain, &candidate.totals) == 0) {
            done.rests = true;
            return false;
        }
        let crowded = self.domains.get(&host.domain).is_some_and(|&busy| !self.share.lets_in(busy));
        done.blocked |= crowded;
        !crowded
    }

    fn read(&self, base: &mut Base, from: Candidate<'_>, room: usize, refill: bool) -> Result<Taken> {
        let mut cursor = from.cursor;
        let count = from.urls.saturating_sub(cursor.taken).min(room as u64);
        let mut items = Vec::with_capacity(usize::try_from(count).unwrap_or(0).min(READ_AHEAD));
        for _ in 0..count {
            let next = base.read_url(cursor.spot)?;
            let url = base.url();
            if url.host() != from.host {
                let found = format!("one of {:016x}", url.numbers.origin.bits());
                let expected = format!("a URL of origin {:016x}", from.host.origin.bits());
                return Err(Error::damaged(&self.path, cursor.spot.offset, expected, found));
            }
            items.push(url.to_item().ok_or_else(|| base.malformed_url(cursor.spot))?);
            cursor = Cursor { spot: next, taken: cursor.taken + 1 };
        }
        let left = from.urls.saturating_sub(cursor.taken);
        let record = (!from.record.is_empty()).then(|| from.record.into());
        Ok(Taken { host: from.host, refill, items, cursor, left, record, totals: from.totals })
    }
}

/// Finds the place at which the URLs of a host start, and the number of them.
fn find(base: &mut Base, wanted: HostKey) -> Result<Option<(Spot, u64)>> {
    if base.directory_blocks() == 0 {
        return Ok(None);
    }
    let mut block = base.directory(base.block_of(wanted))?;
    while let Some(entry) = base.next_entry(&mut block)? {
        if let DirectoryEntry::Host { host, urls, start, .. } = entry
            && host == wanted
        {
            return Ok(Some((start, urls)));
        }
    }
    Ok(None)
}

/// Reads the totals of a domain from the base.
pub(super) fn domain_totals(base: &mut Base, wanted: Fingerprint) -> Result<DomainTotals> {
    let mut block = base.directory(base.block_of_domain(wanted))?;
    while let Some(entry) = base.next_entry(&mut block)? {
        if let DirectoryEntry::Domain { domain, totals } = entry
            && domain == wanted
        {
            return Ok(totals);
        }
    }
    Ok(DomainTotals::default())
}
