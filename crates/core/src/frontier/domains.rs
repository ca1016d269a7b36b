//! All domains of a frontier that somebody else owns: who supports them, what they had, what waits.
//!
//! Reads what a cut names, opens nothing for writing and needs no lock. Memory holds the domains of one partition.

use std::collections::BTreeMap;
use std::path::Path;

use super::look::DomainRound;
use super::partition::{DomainTally, partition_of};
use super::saved_memory::{SavedMemory, SavedSection};
use super::state::{FrontierState, in_checkpoint};
use super::task::RulesDecoder;
use crate::clock::Time;
use crate::disk::{Disk, Result, SavedState};
use crate::fingerprint::Fingerprint;

/// A domain as a cut has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainLook {
    /// Fingerprint of the domain.
    pub domain: Fingerprint,
    /// Pages fetched of it.
    pub pages: u64,
    /// URLs of it that wait or are in progress.
    pub queued: u64,
    /// Its state in the round that goes on; without content where supporters are not counted.
    pub round: DomainRound,
}

/// Calls `each` with all domains of which anything is known, partition by partition; says whether their supporters are
/// counted.
pub fn for_each_domain(
    disk: &Disk,
    dir: &Path,
    saved: SavedState<'_, FrontierState>,
    rules: RulesDecoder,
    then: Time,
    each: &mut dyn FnMut(&DomainLook),
) -> Result<bool> {
    let state = saved.state;
    let section = SavedSection { disk, dir, saved, rules, then };
    let SavedMemory { partitions, domains, hosts, rounds, .. } = section.read(&in_checkpoint(dir))?;
    // pages and URLs of active domains that the disk side does not know
    let mut active: BTreeMap<Fingerprint, DomainTally> = BTreeMap::new();
    for (domain, _, added) in domains {
        active.entry(domain).or_default().totals = added;
    }
    for saved in hosts {
        active.entry(saved.host.domain).or_default().urls += saved.items.len() as u64;
    }
    let round = rounds.as_ref().map(|rounds| (rounds.round, rounds.limit));
    for (domain, _, added) in rounds.into_iter().flat_map(|rounds| rounds.active) {
        active.entry(domain).or_default().totals = added;
    }
    let mut active = active.into_iter().peekable();
    for (number, partition) in partitions.iter().enumerate() {
        let mut domains: BTreeMap<Fingerprint, DomainTally> = BTreeMap::new();
        let ours = |domain: Fingerprint| partition_of(domain, partitions.len()) == number;
        while let Some((domain, tally)) = active.next_if(|(domain, _)| ours(*domain)) {
            domains.entry(domain).or_default().add(&tally);
        }
        partition.tally_domains(state.partitions[number].base, &mut domains)?;
        for (domain, tally) in domains {
            let (number, limit) = round.unwrap_or_default();
            let round = DomainRound::of(&tally.totals, number, limit);
            each(&DomainLook { domain, pages: tally.totals.pages, queued: tally.urls, round });
        }
    }
    Ok(round.is_some())
}
