//! One URL and its host in a frontier that somebody else owns: where it is queued, what comes before it, and the
//! state of its host.
//!
//! Reads what a cut names, opens nothing for writing and needs no lock, so that it serves beside a crawl that runs. A
//! host's URLs are counted, not held: two passes over its partition, whatever their number. What is said holds for the
//! moment of the cut.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use super::host::{Host, Item};
use super::partition::{Cold, HostKey, Partition, partition_of};
use super::record::{HostRecord, Standing};
use super::reputation::{DomainTotals, RoundBudgets, SavedDomain};
use super::saved_memory::{SavedMemory, SavedSection};
use super::state::{FrontierState, SavedHost, in_checkpoint};
use super::task::RulesDecoder;
use super::writer::Writer;
use super::{QueuedUrl, Rules};
use crate::clock::Time;
use crate::disk::{Disk, Result, SavedState};
use crate::fingerprint::Fingerprint;

/// The URL that is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The URL.
    pub key: Fingerprint,
    /// Its origin.
    pub origin: Fingerprint,
    /// Its host's name.
    pub host: Fingerprint,
    /// Its registrable domain.
    pub domain: Fingerprint,
}

/// The place of a queued URL at the moment of the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePlace {
    /// First of its host: its request was in progress, or it is to be tried again, perhaps after a while.
    Head,
    /// Memory: the buffer of its active host.
    Buffer,
    /// Disk, sorted.
    Base,
    /// Disk, or the way there, in the order of arrival; the next merge sorts it in.
    Tail,
}

/// A URL in the queue of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The URL as it was admitted.
    pub url: QueuedUrl,
    /// Its place.
    pub place: QueuePlace,
    /// URLs of its host that come before it.
    pub before: u64,
    /// Time before which it is not asked for again, as it failed by itself.
    pub not_before: Option<Time>,
}

/// The state of a host at the moment of the cut.
#[derive(Clone, Debug)]
pub struct HostLook {
    /// Its standing with us.
    pub standing: Standing,
    /// Its rules, and when they have to be fetched again.
    pub rules: Option<(Arc<dyn Rules>, Time)>,
    /// Its addresses, and when they have to be asked for again.
    pub addresses: Option<(Vec<IpAddr>, Time)>,
}

/// A cut of the frontier, as far as it concerns the URL that is looked for.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The URL, where it is queued.
    pub queued: Option<Queued>,
    /// The host, where anything is known of it.
    pub host: Option<HostLook>,
    /// True if the host was in memory.
    pub active: bool,
    /// URLs of the host that are queued, in memory and on disk; those in progress are among them.
    pub urls: u64,
    /// Pages fetched of the domain.
    pub domain_pages: u64,
    /// The domain's state in the round that goes on, where its supporters are counted.
    pub round: Option<DomainRound>,
    /// Time until which the host is held back, by the record of long back-offs or by answers of other origins of its
    /// name.
    pub held_until: Option<Time>,
}

/// The state of a domain in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainRound {
    /// The round that goes on.
    pub number: u32,
    /// The number of supporters from which on a domain has the most pages; 0 while nobody knows.
    pub limit: u64,
    /// Other domains that link to it.
    pub supporters: u64,
    /// True if a seed belongs to it.
    pub is_of_seed: bool,
    /// Pages fetched of it in this round.
    pub used: u64,
    /// Requests for the robots.txt of its hosts in this round.
    pub asked: u64,
}

impl DomainRound {
    /// The state of a domain with these `totals` in a round of this number and limit.
    pub(super) fn of(totals: &DomainTotals, number: u32, limit: u64) -> Self {
        let DomainTotals { supporters, is_of_seed, .. } = *totals;
        let (used, asked) = totals.used_in(number);
        DomainRound { number, limit, supporters, is_of_seed, used, asked }
    }

    /// Pages that it may have in this round, by `budgets`.
    pub fn pages(&self, budgets: &RoundBudgets) -> u64 {
        budgets.pages(self.supporters, self.is_of_seed, self.limit)
    }
}

/// Looks for `wanted` in the frontier in `dir` as the cut `saved`, made at `then`, knows it.
pub fn look(
    disk: &Disk,
    dir: &Path,
    saved: SavedState<'_, FrontierState>,
    wanted: Wanted,
    rules: RulesDecoder,
    then: Time,
) -> Result<Look> {
    let state = saved.state;
    let section = SavedSection { disk, dir, saved, rules, then };
    let memory = Memory::of(section.read(&in_checkpoint(dir))?, wanted);
    memory.look(state, wanted, rules, then)
}

/// Reads how `hosts`, each an origin and its domain, stood at a cut; a host whose record is in a tail alone is left
/// out.
pub fn look_at_hosts(
    disk: &Disk,
    dir: &Path,
    saved: SavedState<'_, FrontierState>,
    hosts: &[(Fingerprint, Fingerprint)],
    rules: RulesDecoder,
    then: Time,
) -> Result<HashMap<Fingerprint, HostLook>> {
    let state = saved.state;
    let section = SavedSection { disk, dir, saved, rules, then };
    let SavedMemory { partitions, hosts: active, .. } = section.read(&in_checkpoint(dir))?;
    let wanted: HashSet<Fingerprint> = hosts.iter().map(|&(origin, _)| origin).collect();
    let active = active.iter().map(|saved| &saved.host).filter(|host| wanted.contains(&host.origin));
    let mut found: HashMap<_, _> = active.map(|host| (host.origin, HostLook::of(host))).collect();
    for &(origin, domain) in hosts {
        let number = partition_of(domain, partitions.len());
        if found.contains_key(&origin) || partitions.is_empty() {
            continue;
        }
        let partition = &partitions[number];
        let record = match partition.newer_record(origin) {
            Some(record) => Some(record.into()),
            None => partition.record_in_base(state.partitions[number].base, HostKey { domain, origin })?,
        };
        if let Some(record) = record.as_deref().and_then(as_written) {
            found.insert(origin, HostLook::of_record(record, rules));
        }
    }
    Ok(found)
}

/// The part of a cut's section of memory that concerns the URL that is looked for.
struct Memory {
    partition: Partition,
    /// Its domain, while that has active hosts.
    domain: Option<SavedDomain>,
    /// Number and limit of the round that goes on, where there are rounds.
    round: Option<(u32, u64)>,
    host: Option<SavedHost>,
    held_until: Option<Time>,
}

impl Memory {
    fn of(mut saved: SavedMemory, wanted: Wanted) -> Self {
        let number = partition_of(wanted.domain, saved.partitions.len());
        let held = saved.holds.holds.iter().filter(|hold| [wanted.origin, wanted.host].contains(&hold.key));
        let held_until = held.map(|hold| hold.until.as_written()).max();
        let known = |domains: Vec<SavedDomain>| domains.into_iter().find(|(domain, ..)| *domain == wanted.domain);
        let mut memory = Memory {
            partition: saved.partitions.swap_remove(number),
            domain: known(saved.domains),
            round: None,
            host: saved.hosts.into_iter().find(|saved| saved.host.origin == wanted.origin),
            held_until,
        };
        if let Some(mut rounds) = saved.rounds {
            memory.round = Some((rounds.round, rounds.limit));
            memory.partition.take_saved(rounds.partitions.swap_remove(number));
            memory.domain = known(rounds.active).or(memory.domain);
        }
        memory
    }

    fn look(self, state: &FrontierState, wanted: Wanted, rules: RulesDecoder, then: Time) -> Result<Look> {
        let host = HostKey { domain: wanted.domain, origin: wanted.origin };
        let base = state.partitions[partition_of(wanted.domain, state.partitions.len())].base;
        let mut found: Option<(Item, QueuePlace)> = None;
        let (mut urls, mut record) = (0, None);
        for item in self.host.iter().flat_map(|saved| &saved.items) {
            urls += 1;
            if item.url.key == wanted.key {
                let place = if item.rank == 0 { QueuePlace::Head } else { QueuePlace::Buffer };
                found = Some((item.clone(), place));
            }
        }
        self.partition.for_each_of(base, host, &mut |cold| {
            let (item, place) = match cold {
                Cold::Record(bytes) => return record = Some(bytes),
                Cold::Base(item) => (item, QueuePlace::Base),
                Cold::Tail(item) => (item, QueuePlace::Tail),
            };
            urls += 1;
            if found.is_none() && item.url.key == wanted.key {
                found = Some((item, place));
            }
        })?;
        let queued = match found {
            None => None,
            Some((item, place)) => {
                let before = self.before(base, host, &item)?;
                let not_before = Some(item.due()).filter(|&due| due > then);
                Some(Queued { url: item.url, place, before, not_before })
            }
        };
        let record = self.partition.newer_record(wanted.origin).map(Box::from).or(record);
        let active = self.host.is_some();
        let domain = match self.domain {
            Some((_, mut totals, added)) => {
                totals.add(&added);
                totals
            }
            None => self.partition.totals_of(base, wanted.domain)?,
        };
        let cold = record.as_deref().and_then(as_written);
        let host = match self.host {
            Some(saved) => Some(HostLook::of(&saved.host)),
            None => cold.map(|record| HostLook::of_record(record, rules)),
        };
        let round = self.round.map(|(number, limit)| DomainRound::of(&domain, number, limit));
        Ok(Look { queued, host, active, urls, domain_pages: domain.pages, round, held_until: self.held_until })
    }

    /// URLs of the host that leave before `item`, as far as the order is settled: by rank and arrival.
    fn before(&self, base: Option<super::FileState>, host: HostKey, item: &Item) -> Result<u64> {
        let mut before = 0;
        let mut count = |other: &Item| before += u64::from(other.order() < item.order());
        self.host.iter().flat_map(|saved| &saved.items).for_each(&mut count);
        self.partition.for_each_of(base, host, &mut |cold| match cold {
            Cold::Record(_) => {}
            Cold::Base(other) | Cold::Tail(other) => count(&other),
        })?;
        Ok(before)
    }
}

/// A record as it was written: nothing is decided by it.
fn as_written(record: &[u8]) -> Option<HostRecord> {
    HostRecord::read(record, Writer::This)
}

impl HostLook {
    fn of(host: &Host) -> Self {
        HostLook {
            standing: host.standing,
            rules: host.rules.clone(),
            addresses: host.addresses.as_ref().map(|(list, until)| (list.to_vec(), *until)),
        }
    }

    /// The state of a host of which the disk side has this record.
    fn of_record(record: HostRecord, rules: RulesDecoder) -> Self {
        let mut host = Host::new(Fingerprint::default(), Fingerprint::default(), "".into());
        host.adopt(record, rules);
        HostLook::of(&host)
    }
}
