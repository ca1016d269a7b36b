//! The way of a merge's results to the dispatcher: in the order of the operations, in portions, with the keys and
//! auxiliaries streamed from the frozen files.

use crate::disk::Result;

use super::contract::{Aux, Dispatcher, Key, Value};
use super::merge::Outcomes;
use super::names::{BucketFiles, Part};
use super::pending::{Chunks, Op};
use super::state::{FrozenState, RepositoryState};

/// A merge that is done, with results that the dispatcher has not got yet.
#[derive(Debug)]
pub(super) struct Results<V> {
    pub bucket: usize,
    /// State of the bucket's repository when all is dispatched; `None` when it stays as it is.
    pub repository: Option<RepositoryState>,
    outcomes: Outcomes<V>,
    /// The cursor of [`Outcomes::value`], which moves on with the dispatch.
    cursor: usize,
    files: Option<Files>,
}

/// The frozen files, open at the next result.
#[derive(Debug)]
struct Files {
    operations: Chunks,
    auxiliaries: Chunks,
}

impl Files {
    fn open(place: &BucketFiles, frozen: &FrozenState, fixed: Option<usize>) -> Result<Self> {
        let batch = &frozen.batch;
        let mut files = Files {
            operations: Chunks::open(place, batch.generation, Part::Operations, batch.kv_bytes)?,
            auxiliaries: Chunks::open(place, batch.generation, Part::Auxiliaries, batch.aux_bytes)?,
        };
        for _ in 0..frozen.dispatched {
            let Some(entry) = files.operations.next_entry(fixed)? else { break };
            if entry.has_aux {
                files.auxiliaries.next_aux()?;
            }
        }
        Ok(files)
    }
}

impl<V: Value> Results<V> {
    pub(crate) fn new(bucket: usize, repository: Option<RepositoryState>, outcomes: Outcomes<V>) -> Self {
        Results { bucket, repository, outcomes, cursor: 0, files: None }
    }

    /// Dispatches up to `results_max` results and counts them in `frozen`, and the answers among them off `checks`.
    pub(crate) fn dispatch<K: Key, A: Aux>(
        &mut self,
        place: &BucketFiles,
        frozen: &mut FrozenState,
        checks: &mut u64,
        dispatcher: &mut impl Dispatcher<K, V, A>,
        results_max: usize,
    ) -> Result<usize> {
        let files = match &mut self.files {
            Some(files) => files,
            none => none.insert(Files::open(place, frozen, V::FIXED_BYTES)?),
        };
        let mut count = 0;
        while count < results_max && frozen.dispatched < frozen.batch.operations {
            let Some(entry) = files.operations.next_entry(V::FIXED_BYTES)? else {
                return Err(files.operations.damaged("one more operation"));
            };
            let (op, key, own) = (entry.op, K::from_bits(entry.key), entry.value);
            let own = if matches!(op, Op::Update | Op::CheckUpdate) { V::decode(own) } else { None };
            let aux = match entry.has_aux {
                true => Some(A::decode(files.auxiliaries.next_aux()?)),
                false => None,
            };
            let Some(aux) = aux.map_or(Some(None), |aux| aux.map(Some)) else {
                return Err(files.auxiliaries.damaged("an auxiliary of this DRUM"));
            };
            let position = frozen.dispatched;
            let duplicate = self.outcomes.is_duplicate(position);
            let value = match op {
                Op::Check if !duplicate => None,
                Op::Check => self.outcomes.value(position, &mut self.cursor),
                Op::Update | Op::CheckUpdate => own,
            };
            match (op, value) {
                (Op::Check, None) if !duplicate => dispatcher.unique_key_check(key, aux)?,
                (Op::Check, Some(value)) => dispatcher.duplicate_key_check(key, value, aux)?,
                (Op::CheckUpdate, Some(value)) if duplicate => dispatcher.duplicate_key_update(key, value, aux)?,
                (Op::CheckUpdate, Some(value)) => dispatcher.unique_key_update(key, value, aux)?,
                (Op::Update, Some(value)) => dispatcher.update(key, value, aux)?,
                (_, None) => return Err(files.operations.damaged("a value of this DRUM")),
            }
            frozen.dispatched += 1;
            *checks = checks.saturating_sub(u64::from(op.asks()));
            count += 1;
        }
        Ok(count)
    }
}
