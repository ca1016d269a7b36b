//! `cargo bench --bench drum -- [OPERATIONS] [DIRECTORY] [front]`: check+updates with 70 bytes of context, half of them
//! of keys that came before, merged on a second thread and checkpointed by a third; prints what they cost.
//!
//! `cargo bench --bench drum -- curve [KEYS] [DIRECTORY]`: the cost of an operation with 1 M keys stored, 10 M and so
//! on up to KEYS (default 10 M), beside what the model says.
//!
//! `cargo bench --bench drum -- visits [PAGES] [DIRECTORY]`: the store of visits beside URL-seen (default 1 M pages).
//!
//! `cargo bench --bench drum -- support [EDGES] [DIRECTORY]`: the store of edges between domains (default 10 M edges).
//!
//! Numbers (default 2 M operations) may have a suffix k or M. With `front`, LRU and Bloom filter are before the DRUM.

mod crew;
mod figures;
mod owner;
mod stream;
mod support;
mod visits;

use std::path::{Path, PathBuf};

use crawler::disk::{Result, SavedState};
use crawler::drum::DrumOptions;

use crew::with_crew;
use figures::{Process, Spent, directory_bytes};
use owner::{Owner, Subject};
use stream::{Growing, Steady};

/// The shape that all figures are for.
const OPTIONS: DrumOptions =
    DrumOptions { buckets: 128, ram_per_bucket: 256 << 10, merge_threshold: 8 << 20, merge_memory: 80 << 20 };

#[derive(Default)]
struct Arguments {
    count: Option<u64>,
    dir: Option<PathBuf>,
    front: bool,
    curve: bool,
    visits: bool,
    support: bool,
}

fn main() {
    let mut arguments = Arguments::default();
    for argument in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        match (parse_count(&argument), argument.as_str()) {
            (Some(count), _) => arguments.count = Some(count),
            (None, "front") => arguments.front = true,
            (None, "curve") => arguments.curve = true,
            (None, "visits") => arguments.visits = true,
            (None, "support") => arguments.support = true,
            (None, path) => arguments.dir = Some(PathBuf::from(path)),
        }
    }
    let parent = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::tempdir_in(parent).expect("a directory to work in");
    let done = match arguments.curve {
        _ if arguments.support => support::run(arguments.count.unwrap_or(10_000_000), dir.path()),
        _ if arguments.visits => visits::run(arguments.count.unwrap_or(1_000_000), dir.path()),
        true => curve(arguments.count.unwrap_or(10_000_000), dir.path()),
        false => throughput(arguments.count.unwrap_or(2_000_000), arguments.front, dir.path()),
    };
    done.expect("the disk works");
}

fn parse_count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    Some(digits.parse::<u64>().ok()? * factor)
}

/// One run from the empty repository.
fn throughput(operations: u64, front: bool, dir: &Path) -> Result<()> {
    with_crew(dir, |crew| {
        let mut owner = Owner::new(Subject::open(dir, OPTIONS, front, None)?, crew);
        let begin = Process::now();
        owner.ask_all(Growing::new(operations))?;
        owner.drain()?;
        owner.checkpoint_and_wait()?;
        print(&owner, &begin.until_now(), operations, dir);
        if front {
            reopen(owner, dir)?;
        }
        Ok(())
    })
}

/// Measures how long it takes to open the store again, with its Bloom filter.
fn reopen(owner: Owner, dir: &Path) -> Result<()> {
    let Owner { cut, subject, .. } = owner;
    drop(subject);
    let begin = Process::now();
    let subject = Subject::open(dir, OPTIONS, true, cut.as_ref().map(|(state, ram)| SavedState::new(state, ram)))?;
    let spent = begin.until_now();
    println!("reopened          {} keys in {:.2} s, {:.2} s of CPU", subject.keys(), spent.seconds, spent.cpu);
    Ok(())
}

fn print(owner: &Owner, spent: &Spent, operations: u64, dir: &Path) {
    let tally = owner.tally;
    let counters = owner.subject.counters();
    let keys = owner.subject.keys();
    let per_operation = |bytes: u64| bytes as f64 / operations as f64;
    println!("operations        {operations}");
    println!("unique, duplicate {}, {}", tally.unique, tally.duplicate);
    println!("elapsed           {:.2} s, {:.0} operations/s", spent.seconds, operations as f64 / spent.seconds);
    println!("CPU               {:.2} s, {:.3} µs an operation", spent.cpu, spent.cpu * 1e6 / operations as f64);
    println!("peak RSS          {:.0} MB", Process::peak_rss_mb());
    println!("keys              {keys}, {:.3} bytes a key", counters.repository_bytes as f64 / keys as f64);
    println!(
        "bytes moved       {:.1} written, {:.1} read an operation",
        per_operation(counters.bytes_written),
        per_operation(counters.bytes_read)
    );
    println!("bytes on disk     {} at the end, {} pending at most", directory_bytes(dir), owner.pending_bytes_max);
    println!("merges            {}, {} checkpoints", counters.merges, owner.checkpoints);
    let (pause, at) = owner.pause_max;
    println!(
        "longest pause     {:.1} ms for 64 operations in a row, from number {at} on; {} of 5 ms or more",
        pause.as_secs_f64() * 1e3,
        owner.long_pauses
    );
    if let Some(front) = owner.subject.front() {
        println!("front             {front:?}");
    }
    println!(
        "drum operations={operations} seconds={:.2} cpu_seconds={:.2} peak_rss_mb={:.0} disk_mb={:.0} \
         unique={} duplicate={}",
        spent.seconds,
        spent.cpu,
        Process::peak_rss_mb(),
        directory_bytes(dir) as f64 / 1e6,
        tally.unique,
        tally.duplicate
    );
}

/// Operations on repositories of growing size.
fn curve(keys_max: u64, dir: &Path) -> Result<()> {
    println!(
        "{:>12} {:>12} {:>12} {:>14} {:>16} {:>16}",
        "keys", "operations", "op/s", "CPU µs/op", "moved B/op", "model B/op"
    );
    with_crew(dir, |crew| {
        let mut owner = Owner::new(Subject::open(dir, OPTIONS, false, None)?, crew);
        let sizes = (0..).map(|power| 1_000_000 * 10_u64.pow(power)).take_while(|&keys| keys < keys_max);
        let mut stored = 0;
        for keys in sizes.chain([keys_max]) {
            owner.fill(stored..keys)?;
            owner.drain()?;
            owner.checkpoint_and_wait()?;
            stored = keys;
            // every bucket is merged twice at least
            let due =
                OPTIONS.merge_threshold.max(2 * owner.subject.counters().repository_bytes / OPTIONS.buckets as u64);
            let operations = 2 * OPTIONS.buckets as u64 * due / SPOOL_BYTES;
            let (before, begin) = (owner.subject.counters(), Process::now());
            owner.ask_all(Steady::new(keys, operations))?;
            owner.drain()?;
            let (after, spent) = (owner.subject.counters(), begin.until_now());
            let moved = after.bytes_written + after.bytes_read - before.bytes_written - before.bytes_read;
            let batch = due / SPOOL_BYTES * OPTIONS.buckets as u64;
            println!(
                "{keys:>12} {operations:>12} {:>12.0} {:>14.3} {:>16.1} {:>16.1}",
                operations as f64 / spent.seconds,
                spent.cpu * 1e6 / operations as f64,
                moved as f64 / operations as f64,
                model(after.repository_bytes, batch)
            );
        }
        Ok(())
    })
}

/// Bytes of an operation in the files: tag, key, length of the context, context.
const SPOOL_BYTES: u64 = 1 + 8 + 1 + 70;

/// Bytes moved for each operation: it is written once and read once, its key once more for the dispatch, and its share
/// of a repository that is read and written once for each batch.
fn model(repository_bytes: u64, batch: u64) -> f64 {
    (2 * SPOOL_BYTES + 9) as f64 + 2.0 * repository_bytes as f64 / batch as f64
}
