//! `crawler-simulator`: many simulated crawls with faults, on all cores, until one breaks the crash contract.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use crawler_contract::text::escape::Escaped;
use crawler_core::disk::Aside;
use crawler_simulator::simulator::{self, Broken, Held, Mistake};

/// A line of progress comes this often.
const TELL: Duration = Duration::from_secs(10);

/// Crawl small webs in virtual time, on a disk and a network that fail, and check the crash contract.
#[derive(Debug, Parser)]
struct Args {
    /// Range of seeds A..B, without its end; from 1,000,000 on with limits, budgets, rates, depths and scopes, from
    /// 2,000,000 on also with what pages embed from other domains, from 3,000,000 on with pages that change and are
    /// fetched again.
    #[arg(default_value = "0..1000", value_parser = seeds)]
    seeds: Range<u64>,
    /// Shards of the simulated crawls.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    shards: u32,
    /// Machines of the simulated crawls, which share their shards: two shards at least, and seeds below 1000000.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    nodes: u32,
    /// Let the simulated crawler make a mistake, to see that the check finds it.
    #[arg(long, value_name = "MISTAKE")]
    mistake: Option<Mistake>,
    /// Write one line per seed with a checksum of its requests and its changes of the disk. Two versions that behave
    /// alike write the same lines.
    #[arg(long, value_name = "FILE")]
    checksums: Option<PathBuf>,
}

impl Args {
    /// Reads the command line, and ends the process if no crawl can be like that.
    fn read() -> Args {
        let args = Args::parse();
        if args.nodes > 1 && (args.shards == 1 || args.seeds.end > simulator::WIDE_FROM) {
            let problem = "--nodes needs --shards 2 or more, and seeds below 1000000";
            Args::command().error(ErrorKind::ArgumentConflict, problem).exit();
        }
        args
    }

    /// Runs the case of `seed`.
    fn run(&self, seed: u64) -> Result<Held, Box<Broken>> {
        match self.nodes {
            1 => simulator::run_in_shards(seed, self.mistake, self.shards),
            nodes => simulator::run_on_nodes(seed, self.mistake, self.shards, nodes as usize),
        }
    }
}

/// Reads `A..B`, the seeds from A up to and without B.
fn seeds(text: &str) -> Result<Range<u64>, String> {
    let problem = || format!("{text} is not a range of seeds; write 0..1000");
    let (start, end) = text.split_once("..").ok_or_else(problem)?;
    let range = start.parse().map_err(|_| problem())?..end.parse().map_err(|_| problem())?;
    if range.is_empty() { Err(problem()) } else { Ok(range) }
}

/// The results of the cases that have ended.
#[derive(Default)]
struct Results {
    /// Sums of the cases that held.
    held: Held,
    /// Checksums of their logs, by seed.
    logs: BTreeMap<u64, u64>,
    /// The case of the smallest seed among those that broke the contract.
    broken: Option<Box<Broken>>,
}

impl Results {
    fn add(&mut self, seed: u64, result: Result<Held, Box<Broken>>) {
        match result {
            Ok(held) => {
                self.logs.insert(seed, held.log);
                self.held.add(held);
            }
            // several cases are in progress when the first one breaks
            Err(broken) if self.broken.as_ref().is_none_or(|other| broken.seed < other.seed) => {
                self.broken = Some(broken);
            }
            Err(_) => {}
        }
    }

    /// The lines of the file of checksums.
    fn checksums(&self) -> String {
        self.logs.iter().map(|(seed, log)| format!("{seed} {log:016x}\n")).collect()
    }
}

/// Cases that run on all cores.
struct Cases<'a> {
    args: &'a Args,
    next: AtomicU64,
    stop: AtomicBool,
    results: Mutex<Results>,
}

impl Cases<'_> {
    /// Runs the cases until one breaks the contract.
    fn run(args: &Args) -> Results {
        let next = AtomicU64::new(args.seeds.start);
        let cases = Cases { args, next, stop: AtomicBool::new(false), results: Mutex::default() };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // a panic of a case is a finding, and reported with its seed; the hook would print it amid the progress
        std::panic::set_hook(Box::new(|_| {}));
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| cases.work())).collect();
            cases.report_until(|| workers.iter().all(|worker| worker.is_finished()));
        });
        drop(std::panic::take_hook());
        cases.results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if !self.args.seeds.contains(&seed) {
                return;
            }
            let result = self.args.run(seed);
            if result.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.results().add(seed, result);
        }
    }

    /// Prints the progress from time to time until the work is done.
    fn report_until(&self, is_done: impl Fn() -> bool) {
        let all = self.args.seeds.end - self.args.seeds.start;
        let mut told = Instant::now();
        while !is_done() {
            std::thread::park_timeout(Duration::from_millis(50));
            if told.elapsed() > TELL {
                told = Instant::now();
                let done = self.results().logs.len();
                let _ = writeln!(io::stderr(), "{done} of {all} crawls");
            }
        }
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first case that broke the contract, and what led to it.
fn description(broken: &Broken) -> String {
    let Broken { seed, violation, trace } = broken;
    let trace = trace.join("\n  ");
    format!("the crawl of seed {seed} breaks the crash contract\n  {violation}\nwhat led to it:\n  {trace}")
}

/// Runs the cases and prints their sums; an error describes the first one that broke the contract. Checksums of their
/// logs go to a file.
fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let results = Cases::run(args);
    if let Some(broken) = &results.broken {
        anyhow::bail!(description(broken));
    }
    if let Some(path) = &args.checksums {
        Aside::put(path, results.checksums().as_bytes())?;
    }
    let held = results.held;
    let take_overs = match args.nodes {
        1 => String::new(),
        _ => format!(" {} take-overs,", held.take_overs),
    };
    writeln!(
        io::stdout(),
        "{} simulated crawls kept the crash contract: {} requests, {} processes that ended early,{take_overs} {} \
         changes of the disk, {:.1} s",
        results.logs.len(),
        held.requests,
        held.deaths,
        held.changes,
        started.elapsed().as_secs_f64()
    )?;
    Ok(())
}

fn main() -> ExitCode {
    let Err(error) = run(&Args::read()) else { return ExitCode::SUCCESS };
    let text = format!("crawler-simulator: {error:#}");
    let lines: Vec<String> = text.lines().map(|line| Escaped(line).to_string()).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n  "));
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_range_of_seeds_is_read_and_nothing_else() {
        assert_eq!(seeds("3..7"), Ok(3..7));
        for text in ["3", "3..", "..7", "7..3", "3..3", "a..b", "-1..4"] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }
}
