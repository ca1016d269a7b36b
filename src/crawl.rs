//! A crawl from start to end: what is opened, in which order, and how it stops.
//!
//! ```text
//! lock ─► identity ─► threads ─► engine ─► replay ─► seeds ─► loop ─► last checkpoint ─► report
//! ```
//! The calling thread directs an engine thread for each shard (`crawl::director`). The others are: a network thread
//! (fetch) for four cores, a process thread a core, one for merges of the stores, one for takes and merges of the
//! frontier, one for checkpoints, one that waits for signals. They are the process's (`crawl::runtime`), and each
//! answers a job to the engine that sent it out, through that engine's bounded channel of
//! [`Event`](crate::engine::Event)s. One more takes commands of the operator in, which have their own channel
//! (`control`). What is the crawl directory's is apart (`crawl::directory`).

pub(crate) mod answers;
pub(crate) mod backup;
mod captures;
mod catalog;
pub(crate) mod cluster;
pub(crate) mod console;
pub(crate) mod control;
pub(crate) mod dedup;
mod director;
mod directory;
mod documents;
pub(crate) mod due;
mod ending;
mod engine_thread;
pub(crate) mod explain;
pub(crate) mod extent;
mod feed;
mod figures;
mod files;
mod hours;
pub(crate) mod import;
pub(crate) mod live;
mod machine;
pub(crate) mod memory;
mod metrics;
mod nothing;
mod options;
pub(crate) mod plan;
pub(crate) mod recrawl;
pub(crate) mod related;
mod rendering;
pub(crate) mod reports;
mod request;
pub(crate) mod retention;
mod runtime;
mod secrets;
mod seed_places;
pub(crate) mod serve;
mod shard_directory;
mod shard_run;
mod share;
pub(crate) mod signals;
pub(crate) mod sinks;
pub(crate) mod sites;
pub(crate) mod sizes;
mod threads;
mod treatment;
pub mod verify;
mod warnings;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::disk::Disk;
use crate::engine::{ListedSeeds, SeedList, Settings};
use crate::fetch::Permission;
use crate::process::ProcessOptions;
use crate::record::Finish;
use crate::text::escape::Escaped;
use crate::web::seeds::{SeedLines, SeedProblems};
use cluster::Shipments;
use director::{Plan, RunSeeds};
use directory::Directory;
pub(crate) use feed::{FeedReader, FeedWriter, Written};
pub(crate) use options::copied_config;
pub use options::key_maker;
pub use request::{CrawlError, CrawlRequest, GivenLimits, Verbosity};
use runtime::{Network, Runtime};

/// Runs the crawl of `request` to its end, and prints how it went.
pub fn run(request: CrawlRequest) -> Result<Finish, CrawlError> {
    run_by(request, Arc::new(SystemClock::new()))
}

/// The same by another clock than the machine's, for tests of what takes days. Whatever waits looks at it several times
/// a second.
pub fn run_by(mut request: CrawlRequest, clock: Arc<dyn Clock>) -> Result<Finish, CrawlError> {
    directory::keep_shards(&mut request)?;
    let (idle_max, lowered) = files::fit(&mut request.config, files::raise_limit())?;
    lowered.iter().for_each(|what| tracing::warn!("{what}"));
    let file: Arc<[u8]> = std::mem::take(&mut request.seeds).into();
    let lines = file.split(|&byte| byte == b'\n').count() as u64;
    let seeds = seeds_of(&request, file.clone())?;
    let guard = options::guard(&request.config)?;
    let directory = Directory::open(&request, &*clock)?;
    let known = directory.listed(&request)?;
    let ceiling = memory::Ceiling::of(&request.config, threads::cores()).with_seeds(lines + known, file.len() as u64);
    let dedup = dedup::prepare(&request.config, &Disk::real(), &request.dir)?;
    let process = ProcessOptions { dedup, ..options::process(&request.config, directory.keys.clone(), guard)? };
    let network = Network { idle_max, lease: Permission::default() };
    let mut runtime = Runtime::start(&request, clock, network, &process)?;
    let ports = runtime.ports(&request)?;
    let shipments = cluster::begin(&request, &directory)?;
    let seeds = numbered(&request, &directory, shipments.as_ref(), seeds, file)?;
    let plan = Plan { request: &request, process, ceiling: ceiling.bytes, seeds, shipments: shipments.clone() };
    let finish = director::run(plan, &directory, &mut runtime, ports);
    // the engines are gone, and with them answers that hold places in memory which the threads may wait for
    runtime.stop();
    shipments.into_iter().for_each(|shipments| shipments.tell());
    finish
}

/// Returns the settings by which the engines of a crawl decide. Where the number of workers is found, the machine
/// bounds it.
fn settings(config: &Config) -> Settings {
    let mut settings = options::settings(config);
    settings.slots.workers_most = settings.slots.workers_most.map(|_| memory::workers_most(config));
    settings
}

/// Returns the seeds of a run, lines of `file`, as its engines take them. In a crawl with several shards they get
/// their numbers here, durably.
fn numbered(
    request: &CrawlRequest,
    directory: &Directory,
    shipments: Option<&Arc<Shipments>>,
    seeds: ListedSeeds,
    file: Arc<[u8]>,
) -> Result<RunSeeds, CrawlError> {
    let shards: Vec<PathBuf> = directory.shards.iter().map(|shard| shard.dir.clone()).collect();
    if shards.len() == 1 {
        return Ok(RunSeeds::Own(seeds));
    }
    let mut list = SeedList::open(&Disk::real(), &request.dir, &shards)?;
    for seed in seeds {
        list.number(seed.url.as_str(), seed.fallback.as_ref().map(|url| url.as_str()))?;
    }
    list.make_durable()?;
    shipments.into_iter().try_for_each(|shipments| cluster::ship_seeds(shipments, &request.dir))?;
    Ok(RunSeeds::Listed { file, list })
}

/// Returns whether there is a crawl in `dir`, or the rest of one.
pub(crate) fn is_begun(dir: &Path) -> bool {
    directory::is_begun(&Disk::real(), dir)
}

/// The URLs of the seed file, read line by line when they are taken; lines that are none are reported and left out. A
/// file without a URL starts no crawl, but it may resume one.
fn seeds_of(request: &CrawlRequest, file: Arc<[u8]>) -> Result<ListedSeeds, CrawlError> {
    let name = request.seeds_name();
    let mut lines = SeedLines::of(file);
    let (mut problems, mut users) = (SeedProblems::default(), warnings::SeedUsers::default());
    let mut seeds = std::iter::from_fn(move || {
        for line in lines.by_ref() {
            match line {
                Ok(seed) => {
                    users.note(&seed);
                    return Some(seed);
                }
                Err(problem) => {
                    if let Some(problem) = problems.add(problem) {
                        tracing::warn!("{name}:{}: {}: {}", problem.line, Escaped(&problem.why), problem.text);
                    }
                }
            }
        }
        if let Some(rest) = std::mem::take(&mut problems).rest() {
            tracing::warn!("{name}: {rest}");
        }
        std::mem::take(&mut users).tell(&name);
        None
    });
    let first = seeds.next();
    if first.is_none() && !is_begun(&request.dir) {
        return Err(CrawlError::Usage(format!(
            "{}: no URL in it; write one URL per line, for example https://example.com/",
            request.seeds_name()
        )));
    }
    Ok(Box::new(first.into_iter().chain(seeds)))
}
