//! The store of supporters: what an edge between two domains costs that is asked for on every page that has it.
//!
//! The stream is made of new edges and of ones that came before: of every four pairs one is new, one is one of the last
//! 65,536, as a site repeats its navigation, and two are any of those before. The context is the target's fingerprint
//! in eight bytes: what is added up is looked up by that.

use std::path::Path;

use crawler::disk::{Disk, Result};
use crawler::drum::{Admission, Aux, Dispatcher, FrontOptions, Need, Store};
use crawler::fingerprint::Fingerprint;

use crate::OPTIONS;
use crate::figures::{Process, directory_bytes};
use crate::stream::{key, mix};

/// Pairs that are asked for each new edge.
const PAIRS_PER_EDGE: u64 = 4;
/// Edges that a site repeats.
const RECENT: u64 = 65_536;
/// Tag, key, length of the context, context.
const SPOOL_BYTES: u64 = 1 + 8 + 1 + 8;
/// Pairs between two looks for a merge.
const ATTEND_EVERY: u64 = 1 << 14;

/// The fingerprint of the domain that is linked.
struct Target(u64);

impl Aux for Target {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Target(u64::from_le_bytes(bytes.try_into().ok()?)))
    }
}

/// A store with its answers counted.
struct Counted {
    store: Store<(), Target>,
    unique: Unique,
}

#[derive(Default)]
struct Unique(u64);

impl Dispatcher<Fingerprint, (), Target> for Unique {
    fn unique_key_update(&mut self, _: Fingerprint, (): (), _: Option<Target>) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn duplicate_key_update(&mut self, _: Fingerprint, (): (), _: Option<Target>) -> Result<()> {
        Ok(())
    }
}

/// Measures a store as it grows to `edges` edges, with fronts of several sizes.
pub fn run(edges: u64, dir: &Path) -> Result<()> {
    let front = |lru_entries, bloom_memory| FrontOptions { lru_entries, bloom_memory, bloom_fpr: 0.01 };
    measured("next to no front", front(1 << 10, 1 << 20), edges, dir)?;
    measured("LRU of 65,536 edges, 16 MiB of Bloom filter", front(1 << 16, 16 << 20), edges, dir)?;
    on_paper(1_000_000_000);
    Ok(())
}

fn measured(what: &str, front: FrontOptions, edges: u64, dir: &Path) -> Result<()> {
    let dir = dir.join("support");
    println!("{what}");
    println!(
        "{:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "edges", "bytes each", "model", "CPU µs/pair", "moved B/pair", "to the DRUM", "on disk, MB", "peak RSS, MB"
    );
    let store = Store::open(Disk::real(), &dir, OPTIONS, front, None, &mut |_, _| {})?;
    let mut counted = Counted { store, unique: Unique::default() };
    let steps = [1, 5].map(|n| (0..).map(move |power| n * 1_000_000 * 10_u64.pow(power)));
    let mut sizes: Vec<u64> = steps.into_iter().flat_map(|all| all.take_while(|&size| size < edges)).collect();
    sizes.push(edges);
    sizes.sort_unstable();
    let mut known = 0;
    for size in sizes {
        let (begin, before) = (Process::now(), counted.moved());
        let asked = counted.asked();
        counted.grow(known, size)?;
        let (spent, pairs) = (begin.until_now(), (size - known) * PAIRS_PER_EDGE);
        let per_pair = |amount: f64| amount / pairs as f64;
        let repository = counted.store.drum_counters().repository_bytes;
        assert_eq!(counted.unique.0, size, "every edge is new once");
        println!(
            "{size:>12} {:>12.3} {:>12.3} {:>12.3} {:>12.1} {:>12.3} {:>12.0} {:>12.0}",
            repository as f64 / size as f64,
            model(size),
            per_pair(spent.cpu * 1e6),
            per_pair((counted.moved() - before) as f64),
            per_pair((counted.asked() - asked) as f64),
            directory_bytes(&dir) as f64 / 1e6,
            Process::peak_rss_mb()
        );
        known = size;
    }
    drop(counted);
    std::fs::remove_dir_all(&dir).expect("the directory is the benchmark's own");
    Ok(())
}

impl Counted {
    /// Asks for all pairs until this many edges are known, and merges and dispatches everything.
    fn grow(&mut self, from: u64, to: u64) -> Result<()> {
        for number in from * PAIRS_PER_EDGE..to * PAIRS_PER_EDGE {
            let (known, lot) = (number / PAIRS_PER_EDGE, mix(number));
            let edge = match number % PAIRS_PER_EDGE {
                0 => known,
                1 => known - lot % RECENT.min(known + 1),
                _ => lot % (known + 1),
            };
            if let Admission::Unique(_) = self.store.admit(key(edge), (), Target(lot))? {
                self.unique.0 += 1;
            }
            if number % ATTEND_EVERY == 0 {
                self.merge(Need::Threshold)?;
            }
        }
        self.store.synchronize(&mut self.unique)?;
        self.remove_unneeded();
        Ok(())
    }

    fn merge(&mut self, need: Need) -> Result<()> {
        if let Some(job) = self.store.next_merge(need)? {
            self.store.finish_merge(job.run()?);
        }
        while self.store.dispatch(&mut self.unique, 10_000)? > 0 {}
        self.remove_unneeded();
        Ok(())
    }

    fn remove_unneeded(&mut self) {
        for path in self.store.take_unneeded() {
            std::fs::remove_file(path).expect("the file is the benchmark's own");
        }
    }

    fn moved(&self) -> u64 {
        let counters = self.store.drum_counters();
        counters.bytes_written + counters.bytes_read
    }

    /// Returns the number of questions that the front did not answer.
    fn asked(&self) -> u64 {
        let counters = self.store.counters();
        counters.negatives + counters.positives
    }
}

/// Bytes of a key among so many (docs/performance/stores.md).
fn model(keys: u64) -> f64 {
    (64.0 + std::f64::consts::E.log2() - (keys as f64).log2()) / 8.0 + 0.03
}

/// Prints what this many edges cost, by the model of docs/performance/stores.md.
fn on_paper(keys: u64) {
    let repository = model(keys) * keys as f64;
    // a batch is twice the repository, until it is as large as a merge may be
    let by_memory = OPTIONS.merge_memory as f64 / 40.0 * OPTIONS.buckets as f64;
    let batch = (2.0 * repository / SPOOL_BYTES as f64).min(by_memory);
    println!(
        "on paper, {keys} edges: {:.2} GB, {:.2} bytes each; {:.0} M operations in the batches, {:.1} GB pending, \
         {:.0} bytes moved for an operation",
        repository / 1e9,
        model(keys),
        batch / 1e6,
        batch * SPOOL_BYTES as f64 / 1e9,
        (2 * SPOOL_BYTES + 9) as f64 + 2.0 * repository / batch
    );
}
