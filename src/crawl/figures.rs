//! The figures of a checkpoint where their plain copy is not at hand: in a store, or where it was lost.

use crate::clock::Time;
use crate::engine::checkpoint::Checkpoint;
use crate::record::{Finish, Gauges, Snapshot, State, StoreBytes, StoreLayers};

/// Those of `checkpoint`, of a crawl that was created then. Figures of the moment that no checkpoint keeps are 0.
pub(super) fn of_checkpoint(checkpoint: &Checkpoint, created: Time) -> Snapshot {
    let state = match checkpoint.finish.filter(|_| checkpoint.clean) {
        None => State::Running,
        Some(Finish::Complete) => State::Finished,
        Some(_) => State::Stopped,
    };
    let stores = StoreBytes {
        url_seen: checkpoint.seen.bytes(),
        robots: checkpoint.robots.bytes(),
        dns: checkpoint.dns.bytes(),
        pages: checkpoint.container.total_bytes,
        index: checkpoint.container.key_bytes,
        ..StoreBytes::default()
    };
    let gauges = Gauges { keys_seen: checkpoint.seen.keys(), url_seen_bytes: stores.url_seen, ..Gauges::default() };
    Snapshot {
        version: Snapshot::VERSION,
        state,
        finish: checkpoint.finish,
        started: created,
        updated: checkpoint.time,
        statistics: checkpoint.statistics.clone(),
        gauges,
        stores,
        layers: StoreLayers::default(),
    }
}
