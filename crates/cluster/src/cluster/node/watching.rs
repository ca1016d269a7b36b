//! The state of the crawl as this node knows it: one watch, whose changes come in the order of their revisions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::clocks::Micros;
use super::super::etcd::{Change, EtcdError, Watched};
use super::super::ownership::ClusterError;
use super::compaction::Compactor;
use super::{Shared, lock};

/// A watch that brings nothing for this long is opened again, at another endpoint: its member may be cut off.
const SILENT: Duration = Duration::from_secs(30);
/// Time between two looks of the node at what depends on time.
const TICK: Duration = Duration::from_secs(1);
/// Pause between two tries to watch.
const PAUSE: Duration = Duration::from_millis(200);

/// Watches until the node ends.
pub(super) fn run(shared: &Shared) {
    let mut compactor = Compactor::default();
    while !shared.crawl.etcd.is_closed() {
        let from = lock(&shared.view).known.last() + 1;
        match watch(shared, from, &mut compactor) {
            Ok(()) => continue,
            Err(ClusterError::Etcd(EtcdError::Closed)) => return,
            Err(ClusterError::Etcd(EtcdError::Compacted)) => read_all(shared),
            Err(ClusterError::Etcd(error @ (EtcdError::OtherCluster { .. } | EtcdError::WentBack { .. }))) => {
                return shared.fail(error);
            }
            Err(ClusterError::Record(error)) => {
                return shared.fail(EtcdError::Refused { code: 0, message: error.to_string() });
            }
            Err(error) => tracing::debug!("the watch is opened again: {error}"),
        }
        if shared.crawl.etcd.pause(PAUSE).is_err() {
            return;
        }
    }
}

/// Watches as long as it goes well, and there is something from time to time.
fn watch(shared: &Shared, from: u64, compactor: &mut Compactor) -> Result<(), ClusterError> {
    let mut watch = shared.crawl.etcd.watch(shared.crawl.keys.live(), from)?;
    let mut last = Instant::now();
    while last.elapsed() < SILENT {
        match watch.next(TICK)? {
            Watched::Changes(changes) => {
                last = Instant::now();
                apply(shared, &changes)?;
            }
            Watched::Overtaken => return Err(EtcdError::Compacted.into()),
            Watched::Nothing => {}
        }
        look_after(shared, compactor);
    }
    watch.turn();
    Ok(())
}

/// Does the work that depends on time.
fn look_after(shared: &Shared, compactor: &mut Compactor) {
    shared.observe();
    shared.delete_strays();
    if shared.options.compacts {
        let (view, now): (_, Micros) = (lock(&shared.view).clone(), shared.clocks.boot());
        if let Some(revision) = compactor.due(&view, &shared.options.name, now) {
            // one that was compacted already, by whomever, is no fault
            let compacted = shared.crawl.etcd.compact(revision);
            tracing::debug!("etcd is compacted to {revision}: {compacted:?}");
        }
    }
}

/// Reads all keys: changes that were between are not to be had any more.
fn read_all(shared: &Shared) {
    match shared.crawl.view() {
        Ok(view) => {
            *lock(&shared.view) = Arc::new(view);
            settle(shared);
        }
        Err(error) => tracing::warn!("the crawl's keys are not read: {error}"),
    }
}

fn apply(shared: &Shared, changes: &[Change]) -> Result<(), ClusterError> {
    {
        let mut view = lock(&shared.view);
        let next = Arc::make_mut(&mut view);
        changes.iter().try_for_each(|change| next.change(&shared.crawl.keys, change))?;
    }
    settle(shared);
    Ok(())
}

/// The view has changed.
fn settle(shared: &Shared) {
    drop_vanished(shared);
    shared.observe();
}

/// A claim that the view would have, and has not, is gone: its shard stops at once.
fn drop_vanished(shared: &Shared) {
    let view = lock(&shared.view).clone();
    let mut claims = lock(&shared.claims);
    claims.held.retain(|shard, (epoch, hold)| {
        let is_there = view.owners.get(*shard as usize).and_then(Option::as_ref).is_some_and(|at| at.epoch == *epoch);
        let is_known = view.known.covers(*epoch);
        if is_known && !is_there {
            tracing::warn!("shard {shard} is lost: its claim has vanished");
            hold.drop_claim();
        }
        is_there || !is_known
    });
}
