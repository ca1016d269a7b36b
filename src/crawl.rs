//! A crawl from start to end: what is opened, in which order, and how it stops.
//!
//! ```text
//! lock ─► catalog ─► identity ─► threads ─► engine ─► replay ─► seeds ─► loop ─► last checkpoint ─► report
//! ```
//! The calling thread becomes the engine thread. The others are: two network threads (fetch), a process thread a
//! core, one for merges of the stores, one for takes and merges of the frontier, one for checkpoints, one that waits
//! for signals. All of them talk to the engine through one bounded channel of [`Event`]s.

mod options;
mod signals;
mod threads;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::catalog::{Catalog, SledCatalog};
use crate::clock::{Clock, SystemClock};
use crate::cli::run::CrawlRequest;
use crate::disk::{self, DirectoryLock, Disk};
use crate::engine::{Engine, Event, Identity, OpenError, Opening, Past, Phase};
use crate::fetch::StartError;
use crate::process::Processor;
use crate::report::{self, CrawlLog, Finish, Progress};
use crate::web::seeds::{Seed, parse_seeds};
use threads::Threads;

/// Events that are taken in before the engine looks at what it can send out.
const EVENTS_PER_PUMP: usize = 64;
/// The display is looked after this often.
const DISPLAY: Duration = Duration::from_millis(250);

/// Why a crawl could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// Something on disk.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The engine cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The network side cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The configuration contradicts itself.
    #[error("{0}")]
    Configuration(String),
    /// The seeds hold no URL, and there is nothing to resume.
    #[error("{0}: no URL in it; write one URL a line, for example https://example.com/")]
    NoSeeds(String),
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Runs the crawl of `request` to its end, and prints how it went.
pub fn run(request: CrawlRequest) -> Result<Finish, CrawlError> {
    let disk = Disk::real();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let seeds = read_seeds(&request);
    let known = request.dir.join("catalog").exists();
    if seeds.is_empty() && !known {
        return Err(CrawlError::NoSeeds(request.seeds_path.display().to_string()));
    }
    let guard = options::guard(&request.config)?;
    disk.create_dir_all(&request.dir)?;
    let _lock = DirectoryLock::acquire(&request.dir)?;
    for part in ["catalog", "url-seen", "robots", "dns", "frontier", "pages", "logs", "reports"] {
        disk.create_dir_all(&request.dir.join(part))?;
    }
    let catalog: Arc<dyn Catalog> = Arc::new(SledCatalog::open(&request.dir.join("catalog"))?);
    let identity = options::identity(&request, &*catalog, clock.now())?;
    let keys = Arc::new(identity.key_maker());

    let process = options::process(&request.config, keys.clone(), guard.clone());
    let fetch = options::fetch(&request.config)?;
    let (threads, executors, events) =
        Threads::start(request.config.fetch.workers, fetch, guard, process.clone(), clock.clone())?;
    let opening = options::opening(&request, disk, catalog, clock.clone(), identity, keys);
    let log = CrawlLog::open(&request.dir.join("logs"))?;
    let opening = opening(Box::new(executors), log, seeds.iter().map(|seed| seed.url.clone()).collect());
    let finish = drive(&request, opening, &seeds, Processor::new(process), &events, &*clock);
    threads.stop();
    finish
}

/// The URLs of the seed file; lines that are none are reported and left out.
fn read_seeds(request: &CrawlRequest) -> Vec<Seed> {
    let (seeds, problems) = parse_seeds(&request.seeds);
    for problem in problems {
        eprintln!("crawler: {}:{}: {}: {}", request.seeds_path.display(), problem.line, problem.why, problem.text);
    }
    seeds
}

/// Opens the engine, replays, admits the seeds, and feeds it events until it is done.
fn drive(
    request: &CrawlRequest,
    opening: Opening,
    seeds: &[Seed],
    mut processor: Processor,
    events: &Receiver<Event>,
    clock: &dyn Clock,
) -> Result<Finish, CrawlError> {
    let mut display = Progress::new(request.quiet(), request.config.report.interval);
    let (mut engine, recovery, past) = Engine::open(opening, &mut |_| {})?;
    let mut find = |url: &_, depth, response: &_, scope: &_| processor.findings(url, depth, response, scope);
    let replayed = engine.replay(recovery, &mut find, &mut |done, total| display.replaying(done, total))?;
    tell_past(past, replayed, &request.dir);
    for seed in seeds {
        engine.admit_seed(&seed.url, seed.fallback.as_ref())?;
    }
    let finish = run_engine(&mut engine, &mut display, events, clock)?;
    display.end();
    let (statistics, gauges) = (engine.statistics(), engine.gauges());
    eprint!("{}", report::closing(&statistics, &gauges, finish, &request.dir, &request.command_line()));
    Ok(finish)
}

fn run_engine(
    engine: &mut Engine,
    display: &mut Progress,
    events: &Receiver<Event>,
    clock: &dyn Clock,
) -> Result<Finish, CrawlError> {
    loop {
        engine.pump()?;
        if let Phase::Done { finish } = engine.phase() {
            return Ok(finish);
        }
        let now = clock.now();
        if display.is_due() {
            display.tick(&engine.statistics(), &engine.gauges(), engine.elapsed(now));
        }
        let wait = engine.next_due().map_or(DISPLAY, |due| due.since(now)).min(DISPLAY);
        let wait = if engine.is_busy() { Duration::ZERO } else { wait.max(Duration::from_millis(1)) };
        match events.recv_timeout(wait) {
            Ok(event) => engine.handle(event)?,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the engine's executors hold a sender"),
        }
        for event in events.try_iter().take(EVENTS_PER_PUMP) {
            engine.handle(event)?;
        }
    }
}

/// Says what this run goes on from: a directory with a past is never taken up in silence.
fn tell_past(past: Past, replayed: u64, dir: &Path) {
    let dir = dir.display();
    match past {
        Past::New if replayed == 0 => eprintln!("crawler: a new crawl in {dir}"),
        Past::Stopped(Finish::Complete) => {
            eprintln!("crawler: the crawl in {dir} is complete; only new seeds will be crawled (--fresh starts anew)");
        }
        Past::Stopped(finish) => eprintln!("crawler: resuming the crawl in {dir} (last run: {finish})"),
        Past::New | Past::Killed => eprintln!(
            "crawler: resuming the crawl in {dir} after an unclean stop; \
             {replayed} answers stored since the last checkpoint were taken back in"
        ),
    }
}
