//! Supporters of domains, held against the archive: at every end of a process, each pair in a store is one supporter in
//! its queue; where the archive has all pages that a store can know of, its pairs are those of the links of these
//! pages, and a domain has as many supporters as other domains link to it. Where they count by their standing, links of
//! the domains of seeds count in full whenever they come, and no other one counts for more.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::case::Case;
use super::clause::{Clause, Violation};
use crate::checkpoint::{self, Checkpoint, CheckpointFile, Sections, checkpoint_path};
use crate::container::Reader;
use crate::contract::{Purpose, Response};
use crate::disk::{Disk, Result, SavedState};
use crate::drum::verify::{Check, Operation};
use crate::engine::values::decode_rules;
use crate::engine::{Pair, Supported, links_of, supported_by, supporter};
use crate::fingerprint::Fingerprint;
use crate::frontier::{QUARTERS, for_each_domain};
use crate::process::{ProcessOptions, Processor};
use crate::record::layout::{self, StoreName};
use crate::web::scope::Scope;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Pairs by the domain that they support; whether a domain of the seeds makes each.
type Supports = BTreeMap<Fingerprint, BTreeMap<u64, bool>>;

/// Figures that the shards of a crawl count.
#[derive(Default)]
struct Counted {
    /// Supporters by domain: those in the queue, and those that wait for an answer that can only be "new".
    supporters: BTreeMap<Fingerprint, u64>,
    pairs: u64,
}

/// A crawl that is judged.
pub(super) struct Subject<'a> {
    pub disk: Disk,
    /// Directories of its shards.
    pub dirs: Vec<PathBuf>,
    pub case: &'a Case,
    pub seeds: &'a [CanonicalUrl],
    /// Makes the options by which pages are processed, given the keys of their crawl.
    pub process: &'a dyn Fn(Arc<KeyMaker>) -> ProcessOptions,
}

/// Judges what a process has left: that of a crawl of one shard, or a complete one, in full.
pub(super) fn judge(subject: &Subject<'_>, is_complete: bool) -> std::result::Result<(), Violation> {
    let unreadable = |error: crate::disk::Error| Violation::new(Clause::Sound, error.to_string());
    let (disk, mut counted, mut expected) = (&subject.disk, Counted::default(), Supports::new());
    let is_whole = is_complete || subject.case.shards == 1;
    for dir in &subject.dirs {
        // what cannot be read is reported by the start that meets it
        let Ok(Some((cut, sections))) = checkpoint::newest(disk, dir) else {
            if is_complete {
                return Err(Violation::new(Clause::Sound, format!("{}: no checkpoint", dir.display())));
            }
            return Ok(());
        };
        let before: u64 = counted.supporters.values().sum();
        let pairs = counted.pairs;
        if !cut.stores.contains_key(&StoreName::Support) && !is_complete {
            // killed before the first checkpoint since they are counted
            return Ok(());
        }
        let Ok(()) = counted.add(disk, dir, &cut, &sections) else { return Ok(()) };
        let (found, pairs) = (counted.supporters.values().sum::<u64>() - before, counted.pairs - pairs);
        if found != pairs {
            let what = format!("{}: {found} supporters, {pairs} pairs", dir.display());
            return Err(Violation::new(Clause::Counts, what));
        }
        if is_whole {
            match archived(subject, dir, &cut, &mut expected) {
                Ok(()) => {}
                Err(error) if is_complete => return Err(unreadable(error)),
                // a power cut leaves key records behind the checkpoint that are not whole; the next start cuts them off
                Err(_) => return Ok(()),
            }
        }
    }
    if !is_whole {
        return Ok(());
    }
    for (domain, pairs) in &expected {
        let (found, linked) = (counted.supporters.remove(domain).unwrap_or(0), pairs.len() as u64);
        let of_seeds = pairs.values().filter(|&&is_of_seed| is_of_seed).count() as u64;
        let expected = match subject.case.support.by_standing {
            // what a link of any other domain is worth depends on when its page came
            true => QUARTERS * of_seeds..=QUARTERS * linked,
            false => linked..=linked,
        };
        if !expected.contains(&found) {
            let what = format!(
                "{found} supporters of {:016x}, to which {linked} link, {of_seeds} of them of seeds",
                domain.bits()
            );
            return Err(Violation::new(Clause::Counts, what));
        }
    }
    match counted.supporters.into_iter().find(|(_, found)| *found > 0) {
        Some((domain, found)) => {
            let what = format!("{found} supporters of {:016x}, to which nobody links", domain.bits());
            Err(Violation::new(Clause::Counts, what))
        }
        None => Ok(()),
    }
}

impl Counted {
    /// Adds what a shard counts.
    fn add(&mut self, disk: &Disk, dir: &Path, cut: &Checkpoint, sections: &Sections) -> Result<()> {
        let saved = SavedState::new(&cut.frontier, &sections.frontier);
        for_each_domain(disk, &dir.join(layout::FRONTIER), saved, decode_rules, cut.time, &mut |look| {
            *self.supporters.entry(look.domain).or_default() += look.round.supporters;
        })?;
        let Some(support) = cut.store(StoreName::Support, sections) else { return Ok(()) };
        let (dir, path) = (StoreName::Support.dir(dir), checkpoint_path(dir, cut.number));
        let check = Check::new(disk, &dir, support, &path)?;
        for bucket in 0..check.buckets() {
            let mut waiting: HashMap<u64, Option<Fingerprint>> = HashMap::new();
            let mut each = |operation: Operation<Pair, Supported>| {
                waiting.entry(operation.key).or_insert(operation.waiting.map(|Supported(target)| target));
                Ok(())
            };
            let mut faults = Vec::new();
            check.operations::<Pair, Supported>(bucket, &mut each, &mut faults)?;
            let mut each = |key, Pair| {
                waiting.remove(&key);
                self.pairs += 1;
                Ok(())
            };
            check.repository::<Pair>(bucket, &mut each, &mut faults)?;
            if let Some(fault) = faults.into_iter().next() {
                return Err(fault);
            }
            self.pairs += waiting.len() as u64;
            for target in waiting.into_values().flatten() {
                *self.supporters.entry(target).or_default() += 1;
            }
        }
        Ok(())
    }
}

/// The pairs of the pages in the archive of a shard that its checkpoint has.
fn archived(subject: &Subject<'_>, dir: &Path, cut: &Checkpoint, pairs: &mut Supports) -> Result<()> {
    let (disk, case) = (&subject.disk, subject.case);
    let identity = CheckpointFile::read(disk, dir, cut.number)?.identity;
    let keys = Arc::new(identity.key_maker());
    let scope = Scope::new(&case.scope, subject.seeds.iter()).expect("a case has rules that can be read");
    let mut processor = Processor::new((subject.process)(keys.clone()));
    let mut find = |url: &CanonicalUrl, purpose: Purpose<'_>, response: &Response| {
        processor.findings(url, purpose, response, &scope)
    };
    let seeds: BTreeSet<Fingerprint> = subject.seeds.iter().map(|seed| keys.keys(seed).domain).collect();
    let archive = Reader::open(disk.clone(), &dir.join(layout::PAGES))?;
    let (records, _) = archive.records_within(0, cut.container.key_bytes)?;
    for record in records {
        let Some(page) = archive.page(&record)? else { continue };
        let address = page.ip;
        let Some((of, findings)) = links_of(page, record.robots, &case.settings.retries, &keys, &mut find) else {
            continue;
        };
        let source = supporter(&keys, of.domain, address, case.support.by_network);
        let pair = |target| pair_of(&keys, source, target);
        supported_by(of.domain, &findings).into_iter().for_each(|target| {
            *pairs.entry(target).or_default().entry(pair(target)).or_default() |= seeds.contains(&of.domain);
        });
    }
    Ok(())
}

fn pair_of(keys: &KeyMaker, source: Fingerprint, target: Fingerprint) -> u64 {
    keys.pair(source, target).bits()
}
