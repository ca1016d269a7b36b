//! The three stores that every admitted URL passes, and where their way ends: URL-seen, robots, DNS, frontier.
//!
//! - What is to be done for each of them alike (merges, cuts, what they need no more, what waits in them) is done here
//!   once, by [`AnyStore`]; a URL's way from one to the next is [`way`].
//! - One merge of all three is in progress at a time, as fast as their pace permits. The store that is nearest to the
//!   frontier comes first: what it gives can be fetched at once.
//! - Results are handed on in the same order, so that a URL moves by one store in a call.
//! - Jobs of the frontier are counted here too: while one of either kind is out, a file is half written that no cut
//!   names.

mod way;

use std::path::PathBuf;

pub use way::{Arrival, known_by};

use super::checkpoint::{Owner, Replayed, Sections};
use super::merge::{BucketMerge, StoreMerged};
use super::patterns::PatternBudget;
use super::values::{Addresses, Robots};
use crate::clock::Time;
use crate::disk::Result;
use crate::drum::{DrumCut, MergeJob, Need, Pace, Store, Value};
use crate::fingerprint::Fingerprint;
use crate::frontier::{FrontierCut, PartitionDone, PartitionJob, QueuedUrl};
use crate::record::{Layers, StoreLayers};

/// Takes and merges of the frontier that may be in progress.
const PARTITION_JOBS_MAX: usize = 4;

/// The stores, and the frontier behind them.
pub struct Stores {
    /// Keys of every URL that was ever admitted.
    pub seen: Store<(), QueuedUrl>,
    /// What may come of one pattern, of URLs that are new.
    pub patterns: PatternBudget,
    /// Rules by origin, of origins that are not active.
    pub robots: Store<Robots, QueuedUrl>,
    /// Addresses by host name, of hosts that are not active.
    pub dns: Store<Addresses, QueuedUrl>,
    /// The end of the way.
    pub arrival: Arrival,
    jobs: Jobs,
}

/// What is in progress beside the engine.
struct Jobs {
    pace: Pace,
    is_merging: bool,
    /// Takes and merges of the frontier.
    partitions: usize,
    /// Whether there were results of merges to hand on when it was tried last.
    is_dispatching: bool,
}

/// The cuts of the three, and of the frontier.
pub(super) struct StoreCuts {
    pub seen: DrumCut,
    pub robots: DrumCut,
    pub dns: DrumCut,
    pub frontier: FrontierCut,
}

impl StoreCuts {
    /// Files to be synced, and the directories after them.
    pub fn take_syncs(&mut self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let StoreCuts { seen, robots, dns, frontier } = self;
        let mut syncs = (Vec::new(), Vec::new());
        for cut in [seen, robots, dns] {
            syncs.0.append(&mut cut.sync);
            syncs.1.append(&mut cut.sync_dirs);
        }
        syncs.0.append(&mut frontier.sync);
        syncs.1.append(&mut frontier.sync_dirs);
        syncs
    }

    /// Files that earlier cuts name and this one does not, and whose they are.
    pub fn take_superseded(&mut self) -> [(Owner, Vec<PathBuf>); 4] {
        let stores = [(Owner::Seen, &mut self.seen), (Owner::Robots, &mut self.robots), (Owner::Dns, &mut self.dns)];
        let [seen, robots, dns] = stores.map(|(owner, cut)| (owner, std::mem::take(&mut cut.superseded)));
        [seen, robots, dns, (Owner::Frontier, std::mem::take(&mut self.frontier.superseded))]
    }
}

/// One of the three, whatever its values are.
trait AnyStore {
    fn owner(&self) -> Owner;
    fn next_merge(&mut self, need: Need) -> Result<Option<BucketMerge>>;
    fn take_unneeded(&mut self) -> Vec<PathBuf>;
}

/// The values of one of the three.
trait Kind: Value {
    const OWNER: Owner;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge;
}

impl Kind for () {
    const OWNER: Owner = Owner::Seen;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge {
        BucketMerge::Seen(job)
    }
}

impl Kind for Robots {
    const OWNER: Owner = Owner::Robots;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge {
        BucketMerge::Robots(job)
    }
}

impl Kind for Addresses {
    const OWNER: Owner = Owner::Dns;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge {
        BucketMerge::Dns(job)
    }
}

impl<V: Kind> AnyStore for Store<V, QueuedUrl> {
    fn owner(&self) -> Owner {
        V::OWNER
    }

    fn next_merge(&mut self, need: Need) -> Result<Option<BucketMerge>> {
        Ok(Store::next_merge(self, need)?.map(V::merge))
    }

    fn take_unneeded(&mut self) -> Vec<PathBuf> {
        Store::take_unneeded(self)
    }
}

impl Stores {
    /// The stores with nothing in progress.
    pub fn new(
        seen: Store<(), QueuedUrl>,
        robots: Store<Robots, QueuedUrl>,
        dns: Store<Addresses, QueuedUrl>,
        (patterns, arrival): (PatternBudget, Arrival),
        pace: Pace,
    ) -> Stores {
        let jobs = Jobs { pace, is_merging: false, partitions: 0, is_dispatching: false };
        Stores { seen, patterns, robots, dns, arrival, jobs }
    }

    /// Begins a merge of one bucket, for the first of `needs` for which there is one, if its pace permits that.
    pub(super) fn next_merge(
        &mut self,
        needs: impl Iterator<Item = Need>,
        now: Time,
    ) -> Result<Option<(Owner, BucketMerge)>> {
        if self.jobs.is_merging {
            return Ok(None);
        }
        for need in needs {
            if !self.jobs.pace.permits(need, now) {
                continue;
            }
            let Stores { seen, robots, dns, jobs, .. } = self;
            // the one that is nearest to the frontier first
            let each: [&mut dyn AnyStore; 3] = [dns, robots, seen];
            for store in each {
                if let Some(bucket) = store.next_merge(need)? {
                    let owner = store.owner();
                    jobs.is_merging = true;
                    jobs.pace.begin(now);
                    return Ok(Some((owner, bucket)));
                }
            }
        }
        Ok(None)
    }

    /// Takes a merge back; its results can be handed on.
    pub(super) fn finish_merge(&mut self, merged: StoreMerged, now: Time) {
        self.jobs.is_merging = false;
        self.jobs.pace.end(merged.bytes(), now);
        match merged {
            StoreMerged::Seen(done) => self.seen.finish_merge(done),
            StoreMerged::Robots(done) => self.robots.finish_merge(done),
            StoreMerged::Dns(done) => self.dns.finish_merge(done),
        }
    }

    /// Begins a take or a merge of a partition, if there is one to do; with `spare` a costly one too, where the
    /// frontier starves.
    pub(super) fn next_partition(&mut self, spare: bool, now: Time) -> Result<Option<PartitionJob>> {
        if self.jobs.partitions >= PARTITION_JOBS_MAX {
            return Ok(None);
        }
        let frontier = &mut self.arrival.frontier;
        let starving = spare && frontier.starving(now);
        let job = frontier.next_job(starving)?;
        self.jobs.partitions += usize::from(job.is_some());
        Ok(job)
    }

    /// Takes it back.
    pub(super) fn finish_partition(&mut self, done: PartitionDone) -> Result<()> {
        self.jobs.partitions -= 1;
        self.arrival.frontier.finish_job(done, self.arrival.now)
    }

    /// Cuts the three and the frontier, and puts down what was in memory.
    pub(super) fn cut(&mut self, sections: &mut Sections) -> Result<StoreCuts> {
        let seen = self.seen.cut(&mut sections.seen)?;
        let robots = self.robots.cut(&mut sections.robots)?;
        let dns = self.dns.cut(&mut sections.dns)?;
        self.patterns.encode(&mut sections.patterns);
        let frontier = self.arrival.frontier.cut(&mut sections.frontier)?;
        sections.replayed = self.arrival.replayed.iter().copied().collect();
        // the same state gives the same bytes
        sections.replayed.sort_unstable();
        Ok(StoreCuts { seen, robots, dns, frontier })
    }

    /// Files that no cut ever named and that are not needed any more, and whose they were.
    pub(super) fn take_unneeded(&mut self) -> [(Owner, Vec<PathBuf>); 3] {
        let each: [&mut dyn AnyStore; 3] = [&mut self.seen, &mut self.robots, &mut self.dns];
        each.map(|store| (store.owner(), store.take_unneeded()))
    }

    /// URLs that wait in any of the stores for a merge to begin.
    pub fn waiting(&self) -> u64 {
        self.seen.pending_checks() + self.robots.pending_checks() + self.dns.pending_checks()
    }

    /// URLs of which it is not known yet whether they were seen before.
    pub fn undecided(&self) -> u64 {
        self.seen.unanswered()
    }

    /// New URLs that wait for an answer about their robots.txt or their name.
    pub fn on_their_way(&self) -> u64 {
        self.robots.unanswered() + self.dns.unanswered()
    }

    /// Hosts that were ever met. With robots.txt switched off nothing is put into its store.
    pub fn hosts(&self) -> u64 {
        self.robots.known().max(self.dns.known())
    }

    /// Whether a merge is in progress.
    pub fn are_merging(&self) -> bool {
        self.jobs.is_merging
    }

    /// Whether no job is out, neither a merge nor one of the frontier.
    pub fn are_idle(&self) -> bool {
        !self.jobs.is_merging && self.jobs.partitions == 0
    }

    /// Whether there were results of merges to hand on when it was tried last.
    pub fn are_dispatching(&self) -> bool {
        self.jobs.is_dispatching
    }

    /// What their layers did, for the snapshot.
    pub(super) fn layers(&self) -> StoreLayers {
        StoreLayers { url_seen: layers(&self.seen), robots: layers(&self.robots), dns: layers(&self.dns) }
    }
}

fn layers<V: Value>(store: &Store<V, QueuedUrl>) -> Layers {
    let (front, drum) = (store.counters(), store.drum_counters());
    Layers {
        lru_hits: front.lru_hits,
        bloom_negatives: front.negatives,
        bloom_positives: front.positives,
        bloom_false_positives: front.false_positives,
        bloom_bytes: front.bloom_bytes as u64,
        keys: store.keys(),
        pending: store.pending(),
        merges: drum.merges,
        merge_bytes_read: drum.bytes_read,
        merge_bytes_written: drum.bytes_written,
    }
}
