//! The figures of a checkpoint where their plain copy is not at hand: in a store, or where it was lost.

use crate::checkpoint::Checkpoint;
use crate::clock::Time;
use crate::drum::DrumState;
use crate::record::layout::StoreName;
use crate::record::{Finish, Gauges, Snapshot, State, StoreBytes, StoreLayers};

/// Makes the snapshot of `checkpoint`, of a crawl that was `created` then. Figures of the moment that no checkpoint
/// keeps are 0.
pub(super) fn of_checkpoint(checkpoint: &Checkpoint, created: Time) -> Snapshot {
    let state = match checkpoint.finish.filter(|_| checkpoint.clean) {
        None => State::Running,
        Some(Finish::Complete) => State::Finished,
        Some(_) => State::Stopped,
    };
    let stores = StoreBytes {
        stores: checkpoint.stores.iter().map(|(store, state)| (*store, state.bytes())).collect(),
        pages: checkpoint.container.total_bytes,
        index: checkpoint.container.key_bytes,
        ..StoreBytes::default()
    };
    let seen = checkpoint.stores.get(&StoreName::Seen);
    let (keys_seen, url_seen_bytes) = (seen.map_or(0, DrumState::keys), seen.map_or(0, DrumState::bytes));
    let gauges = Gauges { keys_seen, url_seen_bytes, ..Gauges::default() };
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
