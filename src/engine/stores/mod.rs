//! The three stores that every admitted URL passes, and where their way ends: URL-seen, robots, DNS, frontier. A crawl
//! that fetches pages again has one more, of their visits, which a URL passes in the place of URL-seen when it is due;
//! and one whose budgets follow from supporters has the pairs of domains that link to each other, which no URL passes.
//!
//! - What is to be done for each of them alike (merges, cuts, what they need no more, what waits in them) is done here
//!   once, by [`AnyStore`]; a URL's way from one to the next is [`way`].
//! - One merge of all of them is in progress at a time, as fast as their pace permits. The store that is nearest to the
//!   frontier comes first: what it gives can be fetched at once.
//! - Results are handed on in the same order, so that a URL moves by one store in a call.
//! - Jobs of the frontier are counted here too: while one of either kind is out, a file is half written that no cut
//!   names.

mod support;
mod way;

use std::path::PathBuf;

pub use way::{Arrival, known_by};

use super::checkpoint::{Owner, Replayed, Sections};
use super::merge::{BucketMerge, StoreMerged};
use super::pair::{Pair, Supported};
use super::patterns::PatternBudget;
use super::texts::TextBudget;
use super::values::{Addresses, Robots};
use crate::calendar::Visited;
use crate::clock::Time;
use crate::disk::Result;
use crate::drum::{Aux, DrumCut, MergeJob, Need, Pace, Store, Value};
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
    /// How many pages of an origin say nearly the same.
    pub texts: TextBudget,
    /// Rules by origin, of origins that are not active.
    pub robots: Store<Robots, QueuedUrl>,
    /// Addresses by host name, of hosts that are not active.
    pub dns: Store<Addresses, QueuedUrl>,
    /// The visits of pages that are fetched again, where any are.
    pub visits: Option<Store<Visited, QueuedUrl>>,
    /// Which domains link to which, where supporters are counted.
    pub support: Option<Store<Pair, Supported>>,
    /// Whether domains of one network are one supporter.
    pub by_network: bool,
    /// Whether a supporter counts by its own.
    pub by_standing: bool,
    /// The crawl has pages whose links are not counted: the store is new, and they are older.
    pub support_begins_late: bool,
    /// The end of the way.
    pub arrival: Arrival,
    jobs: Jobs,
}

/// URL-seen, robots, DNS, and visits and pairs of domains where there are any.
type AllStores = (
    Store<(), QueuedUrl>,
    Store<Robots, QueuedUrl>,
    Store<Addresses, QueuedUrl>,
    Option<Store<Visited, QueuedUrl>>,
    Option<Store<Pair, Supported>>,
);

/// What is in progress beside the engine.
struct Jobs {
    pace: Pace,
    is_merging: bool,
    /// Takes and merges of the frontier.
    partitions: usize,
    /// Whether there were results of merges to hand on when it was tried last.
    is_dispatching: bool,
}

/// The cuts of the stores, and of the frontier.
pub(super) struct StoreCuts {
    pub seen: DrumCut,
    pub robots: DrumCut,
    pub dns: DrumCut,
    pub visits: Option<DrumCut>,
    pub support: Option<DrumCut>,
    pub frontier: FrontierCut,
}

impl StoreCuts {
    /// Files to be synced, and the directories after them.
    pub fn take_syncs(&mut self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let StoreCuts { seen, robots, dns, visits, support, frontier } = self;
        let mut syncs = (Vec::new(), Vec::new());
        for cut in [seen, robots, dns].into_iter().chain(visits).chain(support) {
            syncs.0.append(&mut cut.sync);
            syncs.1.append(&mut cut.sync_dirs);
        }
        syncs.0.append(&mut frontier.sync);
        syncs.1.append(&mut frontier.sync_dirs);
        syncs
    }

    /// Files that earlier cuts name and this one does not, and whose they are.
    pub fn take_superseded(&mut self) -> Vec<(Owner, Vec<PathBuf>)> {
        let stores = [(Owner::Seen, &mut self.seen), (Owner::Robots, &mut self.robots), (Owner::Dns, &mut self.dns)];
        let stores = stores.into_iter().chain(self.visits.iter_mut().map(|cut| (Owner::Visits, cut)));
        let stores = stores.chain(self.support.iter_mut().map(|cut| (Owner::Support, cut)));
        let stores = stores.map(|(owner, cut)| (owner, std::mem::take(&mut cut.superseded)));
        stores.chain([(Owner::Frontier, std::mem::take(&mut self.frontier.superseded))]).collect()
    }
}

/// One of the stores, whatever its values are.
trait AnyStore {
    fn owner(&self) -> Owner;
    fn next_merge(&mut self, need: Need) -> Result<Option<BucketMerge>>;
    fn take_unneeded(&mut self) -> Vec<PathBuf>;
}

/// The values of one of the stores.
trait Kind: Value {
    /// What travels with a question.
    type Asks: Aux;
    const OWNER: Owner;

    fn merge(job: MergeJob<Fingerprint, Self, Self::Asks>) -> BucketMerge;
}

impl Kind for () {
    type Asks = QueuedUrl;
    const OWNER: Owner = Owner::Seen;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge {
        BucketMerge::Seen(job)
    }
}

impl Kind for Robots {
    type Asks = QueuedUrl;
    const OWNER: Owner = Owner::Robots;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge {
        BucketMerge::Robots(job)
    }
}

impl Kind for Addresses {
    type Asks = QueuedUrl;
    const OWNER: Owner = Owner::Dns;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge {
        BucketMerge::Dns(job)
    }
}

impl Kind for Visited {
    type Asks = QueuedUrl;
    const OWNER: Owner = Owner::Visits;

    fn merge(job: MergeJob<Fingerprint, Self, QueuedUrl>) -> BucketMerge {
        BucketMerge::Visits(job)
    }
}

impl Kind for Pair {
    type Asks = Supported;
    const OWNER: Owner = Owner::Support;

    fn merge(job: MergeJob<Fingerprint, Self, Supported>) -> BucketMerge {
        BucketMerge::Support(job)
    }
}

impl<V: Kind> AnyStore for Store<V, V::Asks> {
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
        (seen, robots, dns, visits, support): AllStores,
        (patterns, texts, arrival): (PatternBudget, TextBudget, Arrival),
        (by_network, by_standing, support_begins_late): (bool, bool, bool),
        pace: Pace,
    ) -> Stores {
        let jobs = Jobs { pace, is_merging: false, partitions: 0, is_dispatching: false };
        Stores {
            seen,
            patterns,
            texts,
            robots,
            dns,
            visits,
            support,
            by_network,
            by_standing,
            support_begins_late,
            arrival,
            jobs,
        }
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
            let Stores { seen, robots, dns, visits, support, jobs, .. } = self;
            // the one that is nearest to the frontier first
            let each: [&mut dyn AnyStore; 3] = [dns, robots, seen];
            let each = each.into_iter().chain(visits.as_mut().map(|visits| visits as &mut dyn AnyStore));
            // no URL waits for whether a pair of domains is new
            let is_urgent = matches!(need, Need::Starving | Need::All);
            let support = support.as_mut().filter(|_| !is_urgent).map(|support| support as &mut dyn AnyStore);
            for store in each.chain(support) {
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
            StoreMerged::Visits(done) => {
                if let Some(visits) = &mut self.visits {
                    visits.finish_merge(done);
                }
            }
            StoreMerged::Support(done) => {
                if let Some(support) = &mut self.support {
                    support.finish_merge(done);
                }
            }
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

    /// Cuts the stores and the frontier, and puts down what was in memory.
    pub(super) fn cut(&mut self, sections: &mut Sections) -> Result<StoreCuts> {
        let seen = self.seen.cut(&mut sections.seen)?;
        let robots = self.robots.cut(&mut sections.robots)?;
        let dns = self.dns.cut(&mut sections.dns)?;
        let visits = self.visits.as_mut().map(|visits| visits.cut(&mut sections.visits)).transpose()?;
        let support = self.support.as_mut().map(|support| support.cut(&mut sections.support)).transpose()?;
        self.patterns.encode(&mut sections.patterns);
        self.texts.encode(&mut sections.texts);
        let frontier = self.arrival.frontier.cut(&mut sections.frontier)?;
        sections.replayed = self.arrival.replayed.iter().copied().collect();
        // the same state gives the same bytes
        sections.replayed.sort_unstable();
        Ok(StoreCuts { seen, robots, dns, visits, support, frontier })
    }

    /// Files that no cut ever named and that are not needed any more, and whose they were.
    pub(super) fn take_unneeded(&mut self) -> Vec<(Owner, Vec<PathBuf>)> {
        let each: [&mut dyn AnyStore; 3] = [&mut self.seen, &mut self.robots, &mut self.dns];
        let each = each.into_iter().chain(self.visits.as_mut().map(|visits| visits as &mut dyn AnyStore));
        let each = each.chain(self.support.as_mut().map(|support| support as &mut dyn AnyStore));
        each.map(|store| (store.owner(), store.take_unneeded())).collect()
    }

    /// URLs that wait in any of the stores for a merge to begin.
    pub fn waiting(&self) -> u64 {
        let of_visits = self.visits.as_ref().map_or(0, Store::pending_checks);
        self.seen.pending_checks() + self.robots.pending_checks() + self.dns.pending_checks() + of_visits
    }

    /// URLs of which it is not known yet whether they were seen before, or whether they are due.
    pub fn undecided(&self) -> u64 {
        self.seen.unanswered() + self.visits.as_ref().map_or(0, Store::unanswered)
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
