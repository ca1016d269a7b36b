//! The files of a DRUM as any bytes: a batch of operations, their auxiliaries, a bucket of the repository, and arrays.

use std::path::Path;

use super::names::{BucketFiles, CONTENT_AT, Part};
use super::state::{BatchState, BucketState, DrumState, RepositoryState};
use super::verify::Check;
use super::{Dispatcher, Drum, DrumOptions, Value, rice};
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{Result, SavedState};

const DIR: &str = "drum";
const OPTIONS: DrumOptions =
    DrumOptions { buckets: 1, ram_per_bucket: 1 << 10, merge_threshold: 1 << 10, merge_memory: 1 << 20 };
const CHUNK_HEAD_BYTES: usize = 12;
const BLOCK_HEAD_BYTES: usize = 26;
const TAIL_BYTES: usize = 20;
const REPOSITORY: u64 = 1;
const BATCH: u64 = 2;

/// Hears of every result.
#[derive(Default)]
struct Counter(u64);

impl<V> Dispatcher<u64, V, Vec<u8>> for Counter {
    fn unique_key_check(&mut self, _: u64, _: Option<Vec<u8>>) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// Opens a DRUM of one bucket on the files, verifies it, asks for its keys, merges and dispatches everything: as the
/// files are, and with their checksums made right. What was merged is whole.
pub fn drum(kind: u8, files: [Vec<u8>; 5]) -> bool {
    let mut repaired = files.clone();
    repair_chunks(&mut repaired[1]);
    repair_chunks(&mut repaired[2]);
    repair_blocks(&mut repaired[3]);
    repair_arrays(&mut repaired[4]);
    let merge = match kind % 3 {
        0 => merge::<()>,
        1 => merge::<u64>,
        _ => merge::<Vec<u8>>,
    };
    let whole = merge(&files);
    merge(&repaired) || whole
}

fn merge<V: Value + std::fmt::Debug>([counts, kv, aux, repository, ram]: &[Vec<u8>; 5]) -> bool {
    let memory = SimulatedDisk::with_dir(DIR);
    let place = BucketFiles { disk: memory.disk(), dir: DIR.into(), bucket: 0, buckets: 1 };
    for (content, generation, part) in
        [(kv, BATCH, Part::Operations), (aux, BATCH, Part::Auxiliaries), (repository, REPOSITORY, Part::Repository)]
    {
        if !content.is_empty() {
            memory.put(place.path(generation, part), content.clone());
        }
    }
    let number = |at: usize| counts.get(at).map_or(0, |&byte| u64::from(byte));
    let tail = repository.len().checked_sub(TAIL_BYTES).and_then(|at| repository[at..].first_chunk::<8>());
    let keys = tail.map_or(0, |keys| u64::from_le_bytes(*keys));
    let state = BucketState {
        repository: (!repository.is_empty()).then_some(RepositoryState {
            generation: REPOSITORY,
            bytes: repository.len() as u64,
            keys,
        }),
        frozen: None,
        full: Default::default(),
        pending: BatchState {
            generation: BATCH,
            kv_bytes: kv.len() as u64,
            aux_bytes: aux.len() as u64,
            operations: number(0),
            checks: number(1),
        },
    };
    let state = DrumState { buckets: vec![state] };
    let (disk, dir) = (memory.disk(), Path::new(DIR));
    if let Ok(check) = Check::new(&disk, dir, SavedState::new(&state, ram), dir) {
        let mut faults = Vec::new();
        check.repository::<V>(0, &mut |_, _| Ok(()), &mut faults).expect("the disk does not fail");
        check.operations::<V, Vec<u8>>(0, &mut |_| Ok(()), &mut faults).expect("the disk does not fail");
    }
    let Ok(mut drum) = Drum::<u64, V, Vec<u8>>::open(disk.clone(), dir, OPTIONS, Some(SavedState::new(&state, ram)))
    else {
        return false;
    };
    let _ = drum.for_each_key(super::Keys::All, |_, _| {}, &mut |_, _| {});
    if drum.synchronize(&mut Counter::default()).is_err() {
        return false;
    }
    let state = drum.close(&mut Counter::default()).expect("a DRUM that was merged can be closed");
    let saved = SavedState::new(&state, DrumState::EMPTY_RAM);
    let check = Check::new(&disk, dir, saved, dir).expect("a state of a DRUM is one");
    let mut faults = Vec::new();
    check.repository::<V>(0, &mut |_, _| Ok(()), &mut faults).expect("the disk does not fail");
    assert!(faults.is_empty(), "{faults:?}");
    true
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize)
}

fn set(bytes: &mut [u8], at: usize, sum: u32) {
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// length | entries | crc32 of both and the payload | payload
fn repair_chunks(file: &mut [u8]) {
    let mut at = CONTENT_AT as usize;
    while let Some(length) = word(file, at) {
        let content = at + CHUNK_HEAD_BYTES;
        let Some(payload) = file.get(content..content + length) else { return };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&file[at..at + 8]);
        sum.update(payload);
        set(file, at + 8, sum.finalize());
        at = content + length;
    }
}

/// The blocks of a repository as src/drum/repository.rs draws them, and its tail.
fn repair_blocks(file: &mut [u8]) {
    let Some(end) = file.len().checked_sub(TAIL_BYTES) else { return };
    let mut at = CONTENT_AT as usize;
    while let Some(head) = file.get(at..at + BLOCK_HEAD_BYTES).filter(|_| at + BLOCK_HEAD_BYTES <= end) {
        let short = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let columns = rice::low_bytes(short(20) + 1, head[24]) + short(22);
        let values = at + BLOCK_HEAD_BYTES + columns;
        let next = values + word(head, 12).expect("a head is longer");
        if next > end {
            break;
        }
        let sum = crc32fast::hash(&file[values..next]);
        set(file, at + 16, sum);
        let sum = crc32fast::hash(&file[at + 4..values]);
        set(file, at, sum);
        at = next;
    }
    let sum = crc32fast::hash(&file[end..end + 16]);
    set(file, end + 16, sum);
}

/// count | crc32 of it | entries: bucket | bytes of kv | bytes of aux | crc32 | kv | aux
fn repair_arrays(section: &mut [u8]) {
    if section.len() < 8 {
        return;
    }
    let sum = crc32fast::hash(&section[..4]);
    set(section, 4, sum);
    let mut at = 8;
    while let (Some(kv), Some(aux)) = (word(section, at + 4), word(section, at + 8)) {
        let content = at + 16;
        let Some(arrays) = section.get(content..content + kv + aux) else { return };
        let mut sum = crc32fast::Hasher::new();
        sum.update(&section[at..at + 12]);
        sum.update(arrays);
        set(section, at + 12, sum.finalize());
        at = content + kv + aux;
    }
}

/// A DRUM with a repository, a batch in files and arrays, of each kind of values, in the order of the kinds.
pub fn samples() -> Vec<[Vec<u8>; 5]> {
    let value = |n: u64| vec![n as u8; n as usize % 9];
    vec![sample(|_| ()), sample(|n| n), sample(value)]
}

fn sample<V: Value + std::fmt::Debug>(value: impl Fn(u64) -> V) -> [Vec<u8>; 5] {
    let memory = SimulatedDisk::with_dir(DIR);
    let dir = Path::new(DIR);
    let mut drum = Drum::<u64, V, Vec<u8>>::open(memory.disk(), dir, OPTIONS, None).expect("memory takes all");
    let key = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let fill = |drum: &mut Drum<u64, V, Vec<u8>>, numbers: std::ops::Range<u64>| {
        for n in numbers {
            let aux = (n % 3 > 0).then(|| vec![b'a'; n as usize % 20]);
            let pushed = match n % 3 {
                0 => drum.update(key(n), value(n), aux),
                1 => drum.check(key(n / 2), aux),
                _ => drum.check_update(key(n / 3), value(n), aux),
            };
            pushed.expect("memory takes all");
        }
    };
    fill(&mut drum, 0..90);
    drum.synchronize(&mut Counter::default()).expect("memory takes all");
    fill(&mut drum, 60..140);
    let mut ram = Vec::new();
    let cut = drum.cut(&mut ram).expect("memory takes all");
    let state = &cut.state.buckets[0];
    let batch = state.batches().find(|batch| batch.kv_bytes > 0).cloned().unwrap_or_default();
    let place = BucketFiles { disk: memory.disk(), dir: DIR.into(), bucket: 0, buckets: 1 };
    let file = |generation: u64, part: Part| memory.get(place.path(generation, part)).unwrap_or_default();
    let repository = state.repository.as_ref().map_or(0, |repository| repository.generation);
    let mut files = [
        vec![batch.operations as u8, batch.checks as u8],
        file(batch.generation, Part::Operations),
        file(batch.generation, Part::Auxiliaries),
        file(repository, Part::Repository),
        ram,
    ];
    // the labels say the generations that `merge` gives them
    for (file, part, generation) in
        [(1, Part::Operations, BATCH), (2, Part::Auxiliaries, BATCH), (3, Part::Repository, REPOSITORY)]
    {
        let fresh = SimulatedDisk::with_dir(DIR);
        let place = BucketFiles { disk: fresh.disk(), dir: DIR.into(), bucket: 0, buckets: 1 };
        place.create(generation, part).expect("memory takes all");
        let label = fresh.get(place.path(generation, part)).expect("it was made");
        if !files[file].is_empty() {
            files[file][..label.len()].copy_from_slice(&label);
        }
    }
    files
}
