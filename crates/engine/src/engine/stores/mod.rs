//! The three stores that every admitted URL passes, and the frontier behind them: URL-seen, robots, DNS, frontier. A
//! crawl that fetches pages again has one more, of their visits, which a URL passes in the place of URL-seen when it is
//! due; and one whose budgets follow from supporters has the pairs of domains that link to each other, which no URL
//! passes.
//!
//! - What is to be done for each of them alike (merges, cuts, what they need no more, what waits in them) is done here
//!   once, by [`value`]; a URL passes from one to the next by [`pipeline`].
//! - One merge of all of them is in progress at a time, as fast as their pace permits. The store that is nearest to the
//!   frontier comes first: what it gives can be fetched at once.
//! - Results are handed on in the same order, so that a URL moves by one store in a call.
//! - Jobs of the frontier are counted here too: while one of either kind is out, a file is half written that no cut
//!   names.

mod merge;
mod pipeline;
mod support;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use merge::{StoreMerge, StoreMerged};
use value::AnyStore;
use value::BucketMerge;
pub use value::{StoreValue, look_up};

pub use pipeline::{AdmissionSink, known_by};

use super::checkpoint::{Replayed, Sections};
use super::pair::{Pair, Supported};
use super::patterns::PatternBudget;
use super::session_params::SessionParams;
use super::texts::TextBudget;
use super::values::{Addresses, Robots};
use crate::calendar::Visited;
use crate::clock::Time;
use crate::disk::Result;
use crate::drum::{DrumState, Need, Pace, Store};
use crate::frontier::{FrontierCut, FrontierState, PartitionDone, PartitionJob, QueuedUrl};
use crate::record::StoreLayers;
use crate::record::layout::StoreName;

/// Takes and merges of the frontier that may be in progress.
const PARTITION_JOBS_MAX: usize = 4;

/// The stores, and the frontier behind them.
pub struct Stores {
    /// Keys of every URL that was ever admitted.
    pub seen: Store<(), QueuedUrl>,
    /// Limits of new URLs of one pattern.
    pub patterns: PatternBudget,
    /// Counts of the pages of an origin that say nearly the same.
    pub texts: TextBudget,
    /// Parameters of URLs that make no other page.
    pub session_params: SessionParams,
    /// Rules by origin, of origins that are not active.
    pub robots: Store<Robots, QueuedUrl>,
    /// Addresses by host name, of hosts that are not active.
    pub dns: Store<Addresses, QueuedUrl>,
    /// The visits of pages that are fetched again, where any are.
    pub visits: Option<Store<Visited, QueuedUrl>>,
    /// Links between domains, where supporters are counted.
    pub support: Option<Store<Pair, Supported>>,
    /// True if domains of one network are one supporter.
    pub by_network: bool,
    /// True if a supporter counts by its own supporters.
    pub by_standing: bool,
    /// The crawl has pages whose links are not counted: the store is new, and they are older.
    pub support_begins_late: bool,
    /// The end of the pipeline.
    pub sink: AdmissionSink,
    pub(super) jobs: Jobs,
}

/// Jobs that are in progress while the engine runs.
pub(super) struct Jobs {
    pace: Pace,
    is_merging: bool,
    /// Takes and merges of the frontier.
    partitions: usize,
    /// True if there were results of merges to hand on when it was tried last.
    is_dispatching: bool,
}

impl Jobs {
    /// No job in progress; merges keep to `pace`.
    pub(super) fn none(pace: Pace) -> Jobs {
        Jobs { pace, is_merging: false, partitions: 0, is_dispatching: false }
    }
}

/// A cut of the stores and of the frontier.
pub(super) struct StoreCuts {
    pub stores: BTreeMap<StoreName, DrumState>,
    pub frontier: FrontierState,
    /// Files to be synced, and the directories after them.
    pub sync: Vec<PathBuf>,
    pub sync_dirs: Vec<PathBuf>,
    /// Files that earlier cuts name and this one does not.
    pub superseded: Vec<PathBuf>,
}

impl Stores {
    /// Begins a merge of one bucket, for the first of `needs` for which there is one, if its pace permits that.
    pub(super) fn next_merge(
        &mut self,
        needs: impl Iterator<Item = Need>,
        now: Time,
    ) -> Result<Option<Box<dyn BucketMerge>>> {
        if self.jobs.is_merging {
            return Ok(None);
        }
        for need in needs {
            if !self.jobs.pace.permits(need, now) {
                continue;
            }
            let bucket = match need {
                Need::Full | Need::Threshold => self.each().find_map(|store| store.next_merge(need).transpose()),
                Need::Starving | Need::All => {
                    self.most_urgent(need).and_then(|store| store.next_merge(need).transpose())
                }
            };
            if let Some(bucket) = bucket.transpose()? {
                self.jobs.is_merging = true;
                self.jobs.pace.begin(now);
                return Ok(Some(bucket));
            }
        }
        Ok(None)
    }

    /// The store whose next merge brings the frontier most URLs for its cost. The nearest one that has any would not
    /// do: a key of every new domain waits there, and a merge for each holds up all that gathers farther away.
    fn most_urgent(&mut self, need: Need) -> Option<&mut dyn AnyStore> {
        let new_part = self.sink.new_part();
        let urls_per_answer = |store: &dyn AnyStore| match store.name() {
            StoreName::Seen => Some(new_part),
            StoreName::Robots | StoreName::Dns | StoreName::Visits => Some(1.0),
            // no URL waits for whether a pair of domains is new
            StoreName::Support => None,
        };
        let gain = |store: &dyn AnyStore| Some(urls_per_answer(store)? * store.merge_gain(need)?);
        let gains = self.each().filter_map(|store| gain(store).map(|gain| (gain, store)));
        gains.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, store)| store)
    }

    /// All that there are, the one that is nearest to the frontier first.
    fn each(&mut self) -> impl Iterator<Item = &mut dyn AnyStore> {
        // no field is left out, so that a new store cannot be
        let Stores {
            seen,
            robots,
            dns,
            visits,
            support,
            patterns: _,
            texts: _,
            session_params: _,
            by_network: _,
            by_standing: _,
            support_begins_late: _,
            sink: _,
            jobs: _,
        } = self;
        let always: [&mut dyn AnyStore; 3] = [dns, robots, seen];
        let visits = visits.as_mut().map(|visits| visits as &mut dyn AnyStore);
        let support = support.as_mut().map(|support| support as &mut dyn AnyStore);
        always.into_iter().chain(visits).chain(support)
    }

    /// Takes a merge back; its results can be handed on.
    pub(super) fn finish_merge(&mut self, merged: StoreMerged, now: Time) {
        self.jobs.is_merging = false;
        self.jobs.pace.end(merged.0.bytes(), now);
        merged.0.finish(self);
    }

    /// Begins a take or a merge of a partition, if there is one to do; with `spare` a costly one too, where the
    /// frontier starves.
    pub(super) fn next_partition(&mut self, spare: bool, now: Time) -> Result<Option<PartitionJob>> {
        if self.jobs.partitions >= PARTITION_JOBS_MAX {
            return Ok(None);
        }
        let frontier = &mut self.sink.frontier;
        let starving = spare && frontier.starving(now);
        let job = frontier.next_job(starving)?;
        self.jobs.partitions += usize::from(job.is_some());
        Ok(job)
    }

    /// Takes it back.
    pub(super) fn finish_partition(&mut self, done: PartitionDone) -> Result<()> {
        self.jobs.partitions -= 1;
        self.sink.frontier.finish_job(done, self.sink.now)
    }

    /// Cuts the stores and the frontier, and puts down what was in memory.
    pub(super) fn cut(&mut self, sections: &mut Sections) -> Result<StoreCuts> {
        let frontier = self.sink.frontier.cut(&mut sections.frontier)?;
        let FrontierCut { state, sync, sync_dirs, superseded } = frontier;
        let mut cuts = StoreCuts { stores: BTreeMap::new(), frontier: state, sync, sync_dirs, superseded };
        for store in self.each() {
            let name = store.name();
            let mut cut = store.cut(sections.stores.entry(name).or_default())?;
            cuts.sync.append(&mut cut.sync);
            cuts.sync_dirs.append(&mut cut.sync_dirs);
            cuts.superseded.append(&mut cut.superseded);
            cuts.stores.insert(name, cut.state);
        }
        self.patterns.encode(&mut sections.patterns);
        self.texts.encode(&mut sections.texts);
        self.sink.depths.encode(&mut sections.depths);
        self.session_params.encode(&mut sections.session_params);
        sections.replayed = self.sink.replayed.iter().copied().collect();
        // the same state gives the same bytes
        sections.replayed.sort_unstable();
        Ok(cuts)
    }

    /// Files that no cut ever named and that are not needed any more.
    pub(super) fn take_unneeded(&mut self) -> Vec<PathBuf> {
        self.each().flat_map(|store| store.take_unneeded()).collect()
    }

    /// URLs that wait in any of the stores for a merge to begin.
    pub(crate) fn waiting(&self) -> u64 {
        let of_visits = self.visits.as_ref().map_or(0, Store::pending_checks);
        self.seen.pending_checks() + self.robots.pending_checks() + self.dns.pending_checks() + of_visits
    }

    /// URLs of which it is not known yet whether they were seen before, or whether they are due.
    pub(crate) fn undecided(&self) -> u64 {
        self.seen.unanswered() + self.visits.as_ref().map_or(0, Store::unanswered)
    }

    /// New URLs that wait for an answer about their robots.txt or their name.
    pub(crate) fn in_pipeline(&self) -> u64 {
        self.robots.unanswered() + self.dns.unanswered()
    }

    /// Hosts that were ever met. With robots.txt switched off nothing is put into its store.
    pub(crate) fn hosts(&self) -> u64 {
        self.robots.known().max(self.dns.known())
    }

    /// True if a merge is in progress.
    pub(crate) fn are_merging(&self) -> bool {
        self.jobs.is_merging
    }

    /// True if no job is out, neither a merge nor one of the frontier.
    pub(crate) fn are_idle(&self) -> bool {
        !self.jobs.is_merging && self.jobs.partitions == 0
    }

    /// True if there were results of merges to hand on when it was tried last.
    pub(crate) fn are_dispatching(&self) -> bool {
        self.jobs.is_dispatching
    }

    /// Takes the figures of their layers, for the snapshot.
    pub(super) fn layers(&mut self) -> StoreLayers {
        self.each().map(|store| (store.name(), store.layers())).collect()
    }

    /// Bytes of their repositories.
    pub(super) fn bytes(&mut self) -> BTreeMap<StoreName, u64> {
        self.each().map(|store| (store.name(), store.repository_bytes())).collect()
    }
}
