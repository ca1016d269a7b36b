//! A crawl from start to end: what is opened, in which order, and how it stops.
//!
//! ```text
//! lock ─► catalog ─► identity ─► threads ─► engine ─► replay ─► seeds ─► loop ─► last checkpoint ─► report
//! ```
//! The calling thread becomes the engine thread. The others are: a network thread (fetch) for four cores, a process
//! thread a core, one for merges of the stores, one for takes and merges of the frontier, one for checkpoints, one that
//! waits for signals. They are the process's (`crawl::runtime`), and each answers a job to the engine that sent it out,
//! through that engine's bounded channel of [`Event`]s. One more takes commands of the operator in, which have a
//! channel of their own ([`control`]). What is the crawl directory's is apart (`crawl::directory`).

mod connections;
pub mod control;
mod directory;
pub mod explain;
mod files;
pub mod live;
mod machine;
pub mod memory;
mod metrics;
mod nothing;
mod options;
pub mod plan;
pub mod reports;
mod request;
mod runtime;
pub(crate) mod signals;
pub mod sizes;
mod threads;
pub mod verify;
mod warnings;

use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::disk::Disk;
use crate::engine::{Commons, Engine, Event, ListedSeeds, Opening, Past, Phase, Purpose, Refetch, mend};
use crate::process::Processor;
use crate::record::Finish;
use crate::report::closing;
use crate::text::escape::Escaped;
use crate::web::seeds::{SeedLines, SeedProblems};
use control::Orders;
use directory::Directory;
use live::{DISPLAY, Observer};
pub use options::key_maker;
pub use request::{CrawlError, CrawlRequest, GivenLimits, Verbosity};
use runtime::{Network, Runtime};
use threads::Port;

/// Events that are taken in before the engine looks at what it can send out.
const EVENTS_PER_PUMP: usize = 64;
/// A long start says how far it is this often.
const TELL: Duration = Duration::from_secs(2);

/// Runs the crawl of `request` to its end, and prints how it went.
pub fn run(mut request: CrawlRequest) -> Result<Finish, CrawlError> {
    let (idle_max, lowered) = files::fit(&mut request.config, files::raise_limit())?;
    lowered.iter().for_each(|what| tracing::warn!("{what}"));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let listed = (request.seeds.split(|&byte| byte == b'\n').count() as u64, request.seeds.len() as u64);
    let seeds = seeds_of(&mut request)?;
    let guard = options::guard(&request.config)?;
    let (_lock, directory) = Directory::open(&request, &*clock)?;
    let known = directory.listed(&request)?;
    let ceiling = memory::Ceiling::of(&request.config, threads::cores()).with_seeds(listed.0 + known, listed.1);
    let process = options::process(&request.config, directory.keys.clone(), guard.clone());
    let network = Network { idle_max, guard };
    let (mut runtime, ports) =
        Runtime::start(&request, &request.dir, clock.clone(), network, slice::from_ref(&process))?;
    let [Port { executors, events }] = <[Port; 1]>::try_from(ports).unwrap_or_else(|_| unreachable!("one crawl"));
    let commons = commons(&request.config, clock.clone());
    let observer = Observer::new(ceiling.bytes, commons.slots.clone());
    let opening = directory.opening(&request, executors, seeds, clock, commons)?;
    let finish = drive(&request, opening, Processor::new(process), (&mut runtime, &events), observer);
    let finish = finish.map_err(|error| threads::cause(error, &events));
    // answers that wait there hold places in memory that the threads may wait for
    drop(events);
    runtime.stop();
    finish
}

/// What the engines of this process share. Where the number of workers is found, the machine bounds it.
fn commons(config: &Config, clock: Arc<dyn Clock>) -> Commons {
    let mut settings = options::settings(config);
    settings.slots.workers_most = settings.slots.workers_most.map(|_| memory::workers_most(config));
    Commons::new(&settings, clock)
}

/// The URLs of the seed file, read line by line when they are taken; lines that are none are reported and left out. A
/// file without a URL starts no crawl, but it may resume one.
fn seeds_of(request: &mut CrawlRequest) -> Result<ListedSeeds, CrawlError> {
    let name = request.seeds_path.display().to_string();
    let mut lines = SeedLines::of(std::mem::take(&mut request.seeds));
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
    if first.is_none() && !mend::is_begun(&Disk::real(), &request.dir) {
        return Err(CrawlError::Usage(format!(
            "{}: no URL in it; write one URL per line, for example https://example.com/",
            request.seeds_path.display()
        )));
    }
    Ok(Box::new(first.into_iter().chain(seeds)))
}

/// Opens the engine, replays, admits the seeds, and feeds it events until it is done.
fn drive(
    request: &CrawlRequest,
    opening: Opening,
    mut processor: Processor,
    (runtime, events): (&mut Runtime, &Receiver<Event>),
    mut observer: Observer,
) -> Result<Finish, CrawlError> {
    let (mut engine, recovery, past) = Engine::open(opening, &mut tell_keys())?;
    let mut find =
        |url: &_, purpose: Purpose<'_>, response: &_, scope: &_| processor.findings(url, purpose, response, scope);
    let replayed = engine.replay(recovery, &mut find, &mut tell_replay())?;
    runtime.threads.engines_are_up();
    tell_past(past, replayed, request);
    if request.force {
        tell_round(&engine.refetch_listed()?);
    } else {
        let again = engine.refetch_unresolved()?;
        if again > 0 {
            tracing::info!(
                "dns.nameservers or network.allow has changed: the names of {again} seeds are resolved again"
            );
        }
        engine.admit_listed();
    }
    let mut orders = runtime.listen(request);
    let finish = run_engine(&mut engine, &mut observer, runtime, events, &mut orders)?;
    drop(orders);
    runtime.hang_up();
    let (statistics, gauges) = (engine.statistics(), engine.gauges());
    runtime.display.finish(&statistics, &gauges, engine.doing(), statistics.elapsed);
    if request.logs_json() {
        closing::event(&statistics, &gauges, &finish, &request.closing());
    } else if request.verbosity != Verbosity::Quiet {
        request.screen.print(&closing::text(&statistics, &gauges, &finish, &request.closing()));
        request.screen.print(&closing::oddities(engine.oddities()));
    }
    tell_reports(request, reports::put_at_the_end(&request.dir));
    if matches!(finish, Finish::Complete | Finish::OnlySilentHosts) && statistics.pages_stored == 0 {
        return Err(CrawlError::NothingFetched(nothing::why(&statistics, &request.dir)));
    }
    Ok(finish)
}

fn run_engine(
    engine: &mut Engine,
    observer: &mut Observer,
    Runtime { clock, display, endpoint, .. }: &mut Runtime,
    events: &Receiver<Event>,
    orders: &mut Orders,
) -> Result<Finish, CrawlError> {
    loop {
        engine.pump()?;
        orders.answer_durable(engine);
        if let Phase::Done { finish } = engine.phase() {
            return Ok(finish);
        }
        let now = clock.now();
        observer.look(engine, now, display, endpoint);
        let wait = engine.next_due().map_or(DISPLAY, |due| due.since(now)).min(DISPLAY);
        let wait = if engine.is_busy() { Duration::ZERO } else { wait.max(Duration::from_millis(1)) };
        match orders.next_event(engine, &observer.sampler, events, wait)? {
            Some(event) => take_in(engine, event)?,
            None => continue,
        }
        for event in events.try_iter().take(EVENTS_PER_PUMP) {
            take_in(engine, event)?;
        }
    }
}

/// A fault of another thread, whichever it is, ends the crawl.
fn take_in(engine: &mut Engine, event: Event) -> Result<(), CrawlError> {
    match event {
        Event::Fault(fault) => Err(fault.into()),
        event => Ok(engine.handle(event)?),
    }
}

/// Says what this run goes on from: a directory with a past is never taken up in silence.
fn tell_past(past: Past, replayed: u64, request: &CrawlRequest) {
    let dir = request.dir.display();
    match past {
        Past::New if replayed == 0 => tracing::info!("a new crawl in {dir}"),
        Past::Stopped(Finish::Complete) if request.force => tracing::info!("the crawl in {dir} is complete"),
        Past::Stopped(Finish::Complete) => {
            tracing::warn!(
                "the crawl in {dir} is complete; only new seeds will be crawled (--force fetches the seed URLs again, \
                 --fresh starts a new crawl)"
            );
        }
        Past::Stopped(finish) => tracing::warn!("resuming the crawl in {dir} (last run: {finish})"),
        Past::New | Past::Killed => tracing::warn!(
            "resuming the crawl in {dir} after an unclean stop; {replayed} responses stored after the last checkpoint \
             were recovered"
        ),
    }
}

/// Says which reports were not written at the end, and why.
fn tell_reports(request: &CrawlRequest, written: Result<Vec<reports::Name>, reports::ReportError>) {
    match written {
        Ok(left_out) => {
            for name in left_out {
                let dir = closing::shell_word(&request.dir);
                tracing::info!("the {name} report would take long: run crawler report {name} --dir {dir}");
            }
        }
        Err(error) => tracing::warn!(%error, "a report could not be written"),
    }
}

/// Says what is fetched again.
fn tell_round(refetch: &Refetch) {
    let Refetch { seeds, listed, .. } = refetch;
    if refetch.goes_on {
        tracing::warn!("continuing the forced run from before; {seeds} of {listed} seed URLs are new in it");
    } else {
        tracing::info!("fetching {seeds} seed URLs, including those that were fetched before");
    }
}

/// Progress of the Bloom filters' rebuild, now and then.
fn tell_keys() -> impl FnMut(u64, u64) {
    let mut told = Instant::now();
    move |done, total| {
        if told.elapsed() > TELL {
            told = Instant::now();
            tracing::warn!("reading the URLs seen before: {done} of {total} keys");
        }
    }
}

/// Progress of the replay, now and then.
fn tell_replay() -> impl FnMut(u64, u64) {
    let mut told = Instant::now();
    move |done, total| {
        if told.elapsed() > TELL {
            told = Instant::now();
            tracing::warn!("recovering what was stored after the last checkpoint: {done} of {total} bytes");
        }
    }
}
