//! `crawler simulate --faults`: many simulated crawls with faults, on all cores, until one breaks the crash contract.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::disk::Aside;
use crate::simulator::{self, Broken, Held, Mistake};

/// A line of progress comes this often.
const TELL: Duration = Duration::from_secs(10);

/// Reads `A..B`, `A..` excluded: the seeds from A up to and without B.
pub(super) fn cases(text: &str) -> Result<Range<u64>, String> {
    let problem = || format!("{text} is not a range of seeds; write 0..1000");
    let (start, end) = text.split_once("..").ok_or_else(problem)?;
    let range = start.parse().map_err(|_| problem())?..end.parse().map_err(|_| problem())?;
    if range.is_empty() { Err(problem()) } else { Ok(range) }
}

/// The shards and machines on which a crawl runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machines {
    /// Its shards.
    pub shards: u32,
    /// The machines that share them.
    pub nodes: u32,
}

impl Machines {
    fn run(self, seed: u64, mistake: Option<Mistake>) -> Result<Held, Box<Broken>> {
        match self.nodes {
            1 => simulator::run_in_shards(seed, mistake, self.shards),
            nodes => simulator::run_on_nodes(seed, mistake, self.shards, nodes as usize),
        }
    }
}

/// Runs the cases of `seeds`, perhaps with a deliberate mistake; an error describes the first one that broke the
/// contract, with what led to it. Checksums of their logs go to a file.
pub(super) fn run(
    seeds: Range<u64>,
    machines: Machines,
    mistake: Option<Mistake>,
    checksums: Option<&Path>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let next = AtomicU64::new(seeds.start);
    let stop = AtomicBool::new(false);
    let logs = Mutex::new(BTreeMap::new());
    let sums = Mutex::new((0_u64, Held::default(), None::<Box<Broken>>));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // a panic of a case is a finding, and reported with its seed; the hook would print it in the middle of the progress
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if !seeds.contains(&seed) {
                            return;
                        }
                        let result = machines.run(seed, mistake);
                        let mut sums = sums.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        match result {
                            Ok(held) => {
                                let mut logs = logs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                                logs.insert(seed, held.log);
                                sums.0 += 1;
                                sums.1.add(held);
                            }
                            Err(broken) => {
                                stop.store(true, Ordering::Relaxed);
                                // the smallest seed of those that were in progress
                                if sums.2.as_ref().is_none_or(|other| broken.seed < other.seed) {
                                    sums.2 = Some(broken);
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        let mut told = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(Duration::from_millis(50));
            if told.elapsed() > TELL {
                told = Instant::now();
                let done = sums.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0;
                let _ = writeln!(io::stderr(), "{done} of {} crawls", seeds.end - seeds.start);
            }
        }
    });
    drop(std::panic::take_hook());
    let (crawls, held, broken) = sums.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(broken) = broken {
        let trace = broken.trace.join("\n  ");
        anyhow::bail!(
            "the crawl of seed {} breaks the crash contract\n  {}\nwhat led to it:\n  {trace}",
            broken.seed,
            broken.violation
        );
    }
    if let Some(path) = checksums {
        let logs = logs.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let lines: String = logs.iter().map(|(seed, log)| format!("{seed} {log:016x}\n")).collect();
        Aside::put(path, lines.as_bytes())?;
    }
    let take_overs = match machines.nodes {
        1 => String::new(),
        _ => format!(" {} take-overs,", held.take_overs),
    };
    writeln!(
        io::stdout(),
        "{crawls} simulated crawls kept the crash contract: {} requests, {} processes that ended early,{take_overs} {} \
         changes of the disk, {:.1} s",
        held.requests,
        held.deaths,
        held.changes,
        started.elapsed().as_secs_f64()
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_seeds_is_read_and_nothing_else() {
        assert_eq!(cases("3..7"), Ok(3..7));
        for text in ["3", "3..", "..7", "7..3", "3..3", "a..b", "-1..4"] {
            assert!(cases(text).is_err(), "{text}");
        }
    }
}
