//! A take: the next URLs of hosts that run dry, and of hosts that are to become active, read from a base.
//!
//! Nothing is written. What was taken counts as consumed only when the frontier has accepted it and moved the
//! host's cursor; until then (and after a crash) the URLs are still in the base. Hosts are chosen by walking the
//! directory round and round, so that each has its turn.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::base::{Base, DirectoryEntry, Spot};
use super::entry::HostKey;
use crate::clock::Time;
use crate::disk::{Disk, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::frontier::budget::ByFingerprint;
use crate::frontier::host::Item;
use crate::frontier::record::HostRecord;

/// How far a host is consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::frontier) struct Cursor {
    /// Where its next URL lies.
    pub spot: Spot,
    /// URLs before it.
    pub taken: u64,
}

/// The cursors of a partition's base; hosts without one are untouched.
pub(in crate::frontier) type Cursors = BTreeMap<HostKey, Cursor>;

/// What to take, and from where.
#[derive(Debug)]
pub(in crate::frontier) struct Take {
    pub disk: Disk,
    pub path: PathBuf,
    pub bytes: u64,
    pub now: Time,
    pub cursors: Arc<Cursors>,
    /// Active hosts that run dry, and how many URLs each may have.
    pub refills: Vec<(HostKey, usize)>,
    /// Hosts that are not to be chosen, sorted.
    pub active: Vec<Fingerprint>,
    /// From when on hosts with a newer record than the base's are available.
    pub available: BTreeMap<Fingerprint, Time>,
    /// Busy hosts of active domains, and how many a domain may have.
    pub domains: ByFingerprint<u32>,
    pub per_domain_max: u32,
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
    /// Whether it was active when the take was planned.
    pub refill: bool,
    pub items: Vec<Item>,
    pub cursor: Cursor,
    /// URLs that are left in the base.
    pub left: u64,
    /// The base's record of the host.
    pub record: Option<Box<[u8]>>,
    /// Pages of its domain that the base knows.
    pub domain_pages: u64,
}

/// What a take brought.
#[derive(Debug)]
pub(in crate::frontier) struct TakeDone {
    pub taken: Vec<Taken>,
    pub rover: Option<HostKey>,
    /// When a host that was not chosen will be available; `None` if all wait for something else.
    pub wake: Option<Time>,
    /// Whether hosts were passed over because their domain has enough busy hosts.
    pub blocked: bool,
}

/// A host of the directory while it is considered.
pub(super) struct Candidate {
    pub(super) host: HostKey,
    pub(super) urls: u64,
    pub(super) start: Spot,
    pub(super) record: Option<Box<[u8]>>,
}

impl Take {
    pub(super) fn run(mut self) -> Result<TakeDone> {
        let mut base = Base::open(&self.disk, &self.path, self.bytes)?;
        let mut done = TakeDone { taken: Vec::new(), rover: self.rover, wake: None, blocked: false };
        for (host, room) in std::mem::take(&mut self.refills) {
            if let Some(candidate) = find(&base, host)? {
                let taken = self.read(&mut base, candidate, room, 0, true)?;
                done.taken.push(taken);
            }
        }
        if self.hosts_max > 0 {
            self.walk(&mut base, &mut done)?;
        }
        Ok(done)
    }

    /// Goes once around the directory, or until there is enough.
    fn walk(&mut self, base: &mut Base, done: &mut TakeDone) -> Result<()> {
        let blocks = base.directory_blocks();
        let start = self.rover.map_or(0, |rover| base.block_of(rover));
        let (mut hosts, mut bytes) = (0, 0);
        for step in 0..=blocks {
            let (number, first, last) = (start + step, step == 0, step == blocks);
            if blocks == 0 || (last && self.rover.is_none()) {
                break;
            }
            let mut pages = None;
            for entry in base.directory(number % blocks)? {
                let candidate = match entry {
                    DirectoryEntry::Domain { domain, pages: known } => {
                        pages = Some((domain, known));
                        continue;
                    }
                    DirectoryEntry::Host { host, urls, start, record } => Candidate { host, urls, start, record },
                };
                let host = candidate.host;
                let passed = self.rover.is_some_and(|rover| host <= rover);
                if (first && passed) || (last && !passed) || !self.chooses(&candidate, done) {
                    continue;
                }
                let known = match pages {
                    Some((domain, known)) if domain == host.domain => known,
                    _ => domain_pages(base, host.domain)?,
                };
                pages = Some((host.domain, known));
                let taken = self.read(base, candidate, self.urls_max, known, false)?;
                bytes += taken.items.iter().map(Item::memory).sum::<usize>();
                hosts += 1;
                *self.domains.entry(host.domain).or_default() += 1;
                done.taken.push(taken);
                done.rover = Some(host);
                if hosts >= self.hosts_max || bytes >= self.bytes_max {
                    done.wake = Some(self.now);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn chooses(&self, candidate: &Candidate, done: &mut TakeDone) -> bool {
        let host = candidate.host;
        let taken = self.cursors.get(&host).map_or(0, |cursor| cursor.taken);
        if taken >= candidate.urls || self.active.binary_search(&host.origin).is_ok() {
            return false;
        }
        let in_base = || HostRecord::available_in(candidate.record.as_deref()?, self.now);
        let available = self.available.get(&host.origin).copied().or_else(in_base).unwrap_or(Time::ZERO);
        if available > self.now {
            done.wake = Some(done.wake.map_or(available, |wake| wake.min(available)));
            return false;
        }
        let crowded = self.domains.get(&host.domain).is_some_and(|&busy| busy >= self.per_domain_max);
        done.blocked |= crowded;
        !crowded
    }

    fn read(&self, base: &mut Base, from: Candidate, room: usize, domain_pages: u64, refill: bool) -> Result<Taken> {
        let start = Cursor { spot: from.start, taken: 0 };
        let mut cursor = self.cursors.get(&from.host).copied().unwrap_or(start);
        let count = from.urls.saturating_sub(cursor.taken).min(room as u64);
        let mut items = Vec::new();
        for _ in 0..count {
            let (item, next) = base.url_at(cursor.spot)?;
            if (item.url.domain, item.url.origin) != (from.host.domain, from.host.origin) {
                let found = format!("one of {:016x}", item.url.origin.bits());
                let expected = format!("a URL of origin {:016x}", from.host.origin.bits());
                return Err(Error::damaged(&self.path, cursor.spot.offset, expected, found));
            }
            cursor = Cursor { spot: next, taken: cursor.taken + 1 };
            items.push(item);
        }
        let left = from.urls.saturating_sub(cursor.taken);
        Ok(Taken { host: from.host, refill, items, cursor, left, record: from.record, domain_pages })
    }
}

/// The entry of a host in the directory.
pub(super) fn find(base: &Base, wanted: HostKey) -> Result<Option<Candidate>> {
    if base.directory_blocks() == 0 {
        return Ok(None);
    }
    let entries = base.directory(base.block_of(wanted))?;
    Ok(entries.into_iter().find_map(|entry| match entry {
        DirectoryEntry::Host { host, urls, start, record } if host == wanted => {
            Some(Candidate { host, urls, start, record })
        }
        _ => None,
    }))
}

/// Pages of a domain that the base knows.
pub(super) fn domain_pages(base: &Base, wanted: Fingerprint) -> Result<u64> {
    let entries = base.directory(base.block_of_domain(wanted))?;
    let pages = entries.into_iter().find_map(|entry| match entry {
        DirectoryEntry::Domain { domain, pages } if domain == wanted => Some(pages),
        _ => None,
    });
    Ok(pages.unwrap_or(0))
}
