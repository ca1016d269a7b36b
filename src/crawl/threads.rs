//! The threads of a process, and the channels between them and its engines.
//!
//! The threads are shared by all engines of the process: each job carries the address of the engine that sent it out,
//! and is answered there. Every channel is bounded, and has room for every message that can be in progress: of an
//! engine at most `workers` requests (slow ones included), one merge, [`PARTITION_PLACES`] jobs of the frontier,
//! [`LINK_PLACES`] that read links, one that reads the calendar, one checkpoint (made or shipped),
//! one step of a compaction, one sync of the hold log; where pages are rendered, this many requests of each of them as
//! may be open. So no engine ever waits on a send, and neither does a network thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::catalog::Catalog;
use super::{CrawlError, reports, signals};
use crate::calendar::SlotRead;
use crate::clock::Clock;
use crate::container::CompactionJob;
use crate::contract::{Addressed, Answer, AskId, Fault, FetchJob, RenderJob, ResolveJob};
use crate::disk;
use crate::engine::checkpoint::{CheckpointJob, Ran, ShipJob};
use crate::engine::{EngineAddress, Event, Executors, HoldSync, StoreMerge, Waker};
use crate::exchange::LinkJob;
use crate::fetch::{FetchHandle, FetchOptions, Fetcher};
use crate::frontier::PartitionJob;
use crate::process::{ProcessOptions, ProcessPool};
use crate::render::{OPEN_MAX, RenderExecutorOptions, RenderHandle, Renderer};
use crate::shard::Shard;

const PARTITION_PLACES: usize = 8;
/// Engines that have one thread of each kind together.
const ENGINES_PER_WORKER: usize = 4;
/// Reports of a crawl of several shards are written no more often than this.
const REPORTS_EVERY: Duration = Duration::from_secs(10);
/// Jobs that read links of other shards.
const LINK_PLACES: usize = 4;
/// Jobs that read the calendar.
const CALENDAR_PLACES: usize = 1;
/// Events of renderings that have come to their end one way or the other while others begin.
const RENDER_SPARE: usize = 64;
/// Events that are not the answer to a request: merges, takes, checkpoints, signals.
const OTHER_EVENTS: usize = 64;

/// Steps by which the priority of threads that nobody waits for is below that of the others.
const NICENESS: i32 = 10;

/// Lowers the priority of this thread. Where that is not permitted, it has the share of the others.
pub(in crate::crawl) fn lower_priority() {
    // on Linux this is of the thread alone
    let _ = rustix::process::nice(NICENESS);
}

/// Everything that has to be stopped when a process ends.
pub(super) struct Threads {
    shared: Arc<Shared>,
    pool: ProcessPool,
    are_up: Arc<AtomicBool>,
    /// Requests that all engines together may have in progress, and requests of pages that are rendered.
    workers: usize,
}

/// The threads to which the engines send their jobs.
struct Shared {
    fetcher: Fetcher,
    /// Renderer of pages, in a crawl that renders any.
    renderer: Option<Renderer>,
    merges: Workers<StoreMerge>,
    partitions: Workers<PartitionJob>,
    checkpoints: Workers<CheckpointJob>,
    /// A thread for each engine: no shard waits for what another one ships.
    ships: Arc<Workers<ShipJob>>,
    compactions: Workers<CompactionJob>,
    reads: Workers<ReadJob>,
    holds: Workers<HoldSync>,
    catalog: Arc<Catalog>,
}

/// Targets of checkpoints that are durable in their directory.
pub(super) struct DurableCheckpoints {
    /// The catalog that notes them.
    pub catalog: Catalog,
    /// True if they are sent to a store of objects.
    pub are_shipped: bool,
}

/// A job of reading beside an engine that is in no hurry for it.
enum ReadJob {
    Links(LinkJob),
    Calendar(SlotRead),
}

impl ReadJob {
    fn run(self) -> disk::Result<Event> {
        match self {
            ReadJob::Links(job) => job.run().map(|read| Event::LinksRead(Box::new(read))),
            ReadJob::Calendar(job) => job.run().map(|read| Event::CalendarRead(Box::new(read))),
        }
    }
}

/// The ends by which one engine uses the threads.
pub(super) struct Port {
    /// Its way to them.
    pub executors: ThreadExecutors,
    /// The way of events back to the engine.
    pub events: Receiver<Event>,
}

/// An engine's way to the threads.
pub(super) struct ThreadExecutors {
    /// Its requests end with it.
    requests: FetchHandle,
    /// And so do its pages.
    pages: Option<RenderHandle>,
    shared: Arc<Shared>,
    reply: EngineAddress,
}

impl Threads {
    /// Starts everything for `count` engines of one crawl, which together may have `workers` requests in progress, and
    /// which ship their checkpoints or not.
    pub(super) fn start(
        count: usize,
        workers: usize,
        fetch: FetchOptions,
        process: &ProcessOptions,
        render: Option<RenderExecutorOptions>,
        clock: Arc<dyn Clock>,
        durable: DurableCheckpoints,
    ) -> Result<Threads, CrawlError> {
        let in_render = render.as_ref().map_or(0, |render| render.pages * (OPEN_MAX + 1) + RENDER_SPARE);
        let renderer = render.map(Renderer::start).transpose().map_err(no_thread)?;
        let (answers_in, answers) = bounded(workers + 1);
        let pool = ProcessPool::start(cores(), process, &answers).map_err(no_thread)?;
        let ship = |job: ShipJob, _: &EngineAddress| job.run().map(|done| Some(Event::Checkpointed(done)));
        let of_ships = if durable.are_shipped { count } else { 0 };
        let ships = Arc::new(Workers::with_threads("ship", count, 1, of_ships, ship).map_err(no_thread)?);
        let catalog = Arc::new(durable.catalog);
        let shared = Arc::new(Shared {
            catalog: catalog.clone(),
            fetcher: Fetcher::start(fetch, process.guard.clone(), clock, answers_in)?,
            renderer,
            merges: Workers::start("merge", count, 1, |job: StoreMerge| job.run().map(Event::Merged))
                .map_err(no_thread)?,
            partitions: Workers::start("frontier", count, PARTITION_PLACES, |job: PartitionJob| {
                job.run().map(Event::Partition)
            })
            .map_err(no_thread)?,
            checkpoints: {
                let reports = CheapReports::of_crawl_with(count);
                let ships = ships.clone();
                Workers::with_threads("checkpoint", count, 1, threads_for(count), move |job, reply| {
                    checkpoint(job, reply, &reports, &ships, &catalog)
                })
                .map_err(no_thread)?
            },
            ships,
            compactions: Workers::start("compaction", count, 1, |job: CompactionJob| {
                job.run().map(|done| Event::Compacted(Box::new(done)))
            })
            .map_err(no_thread)?,
            reads: Workers::start("read", count, LINK_PLACES + CALENDAR_PLACES, ReadJob::run).map_err(no_thread)?,
            holds: Workers::start("holds", count, 1, |job: HoldSync| job.run().map(|()| Event::HoldsSynced))
                .map_err(no_thread)?,
        });
        Ok(Threads { shared, pool, are_up: Arc::default(), workers: workers + in_render })
    }

    /// The port of the engine with this number, one of as many as there may be. An engine takes it once; the next
    /// engine of that number takes one of its own.
    pub(super) fn port(&self, number: usize) -> Port {
        let (events_in, events) = bounded(self.workers + OTHER_EVENTS);
        let executors = ThreadExecutors {
            requests: self.shared.fetcher.handle(),
            pages: self.shared.renderer.as_ref().map(Renderer::handle),
            shared: self.shared.clone(),
            reply: EngineAddress::new(number, events_in),
        };
        Port { executors, events }
    }

    /// Sends what signals ask for to all of these engines, from now on.
    pub(super) fn listen(&self, engines: Vec<EngineAddress>) -> Result<(), CrawlError> {
        signals::listen(engines, self.are_up.clone()).map_err(no_thread)
    }

    /// The engines take events in from now on: a signal is one of them.
    pub(super) fn engines_are_up(&self) {
        self.are_up.store(true, Ordering::Release);
    }

    /// Ends all threads. The engines, and with them their executors, are gone by now.
    pub(super) fn stop(self) {
        if let Some(shared) = Arc::into_inner(self.shared) {
            let Shared { fetcher, renderer, merges, partitions, checkpoints, ships, .. } = shared;
            // those that send jobs on go before the ones that take them
            drop((merges, partitions, checkpoints, shared.compactions, shared.reads, shared.holds));
            drop((ships, shared.catalog));
            renderer.into_iter().for_each(Renderer::stop);
            fetcher.stop();
        }
        self.pool.join();
    }
}

/// Returns the error with which a crawl ends: one that only follows from another gives way to the fault that a thread
/// has reported, and that waits among the `events`.
pub(super) fn cause(error: CrawlError, events: &Receiver<Event>) -> CrawlError {
    let CrawlError::Disk(fault) = &error else { return error };
    if !fault.is_secondary() {
        return error;
    }
    let reported = events.try_iter().find_map(|event| match event {
        Event::Fault(fault) => Some(fault.into()),
        _ => None,
    });
    reported.unwrap_or(error)
}

/// Makes a checkpoint, and the reports that cost little beside it. One that is to be shipped is answered behind that.
fn checkpoint(
    job: CheckpointJob,
    reply: &EngineAddress,
    reports: &CheapReports,
    ships: &Workers<ShipJob>,
    catalog: &Catalog,
) -> disk::Result<Option<Event>> {
    let (dir, shard, number) = (job.dir().to_owned(), job.shard(), job.number());
    let ran = job.make_durable()?;
    catalog.note(shard, number);
    if reports.are_due() {
        // nothing depends on them
        if let Err(error) = reports::put_cheap(&dir) {
            tracing::warn!(%error, "a report could not be written");
        }
    }
    Ok(match ran {
        Ran::Done(done) => Some(Event::Checkpointed(done)),
        Ran::ToShip(job) => {
            ships.send(Assigned { job: *job, engine: reply.clone() });
            None
        }
    })
}

/// Returns the error of a process that gets no more threads, and so cannot go on.
pub(super) fn no_thread(error: std::io::Error) -> CrawlError {
    CrawlError::Internal(format!("cannot start a thread: {error}"))
}

/// Threads of one kind for that many engines.
fn threads_for(engines: usize) -> usize {
    engines.div_ceil(ENGINES_PER_WORKER)
}

/// The reports that are written at checkpoints. They are of the whole crawl, and shards make checkpoints far more often
/// than a crawl of one.
struct CheapReports {
    every: Duration,
    written: Mutex<Option<Instant>>,
}

impl CheapReports {
    fn of_crawl_with(shards: usize) -> CheapReports {
        let every = if shards == 1 { Duration::ZERO } else { REPORTS_EVERY };
        CheapReports { every, written: Mutex::new(None) }
    }

    /// Returns whether it is time to write them. If so, they count as written now.
    fn are_due(&self) -> bool {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let are_due = written.is_none_or(|written| written.elapsed() >= self.every);
        if are_due {
            *written = Some(Instant::now());
        }
        are_due
    }
}

/// Process threads: one a core.
pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(2, usize::from)
}

impl ThreadExecutors {
    /// The address of its engine.
    pub(super) fn reply(&self) -> &EngineAddress {
        &self.reply
    }

    /// The number of the last checkpoint of `shard` by the catalog.
    pub(super) fn last_checkpoint(&self, shard: Shard) -> Option<u64> {
        self.shared.catalog.last(shard)
    }

    /// Wakes the engine that this is the way of. One that has much before it looks for slots behind that anyway.
    pub(super) fn waker(&self) -> Waker {
        let reply = self.reply.clone();
        Arc::new(move || reply.offer(Event::SlotFree))
    }

    /// A job of a request, with the address for its reply.
    fn addressed<J>(&self, job: J) -> Addressed<J> {
        Addressed { job, reply: self.reply.replies().clone() }
    }

    /// A job of the engine's own.
    fn assigned<J>(&self, job: J) -> Assigned<J> {
        Assigned { job, engine: self.reply.clone() }
    }
}

impl Executors for ThreadExecutors {
    fn fetch(&mut self, job: FetchJob) {
        self.requests.fetch(self.addressed(job));
    }

    fn can_render(&self) -> bool {
        self.pages.is_some()
    }

    fn render(&mut self, job: RenderJob) {
        let pages = self.pages.as_ref().expect("no page is to be rendered where none can be");
        pages.render(self.addressed(job));
    }

    fn answer(&mut self, ask: AskId, answer: Answer) {
        self.pages.iter().for_each(|pages| pages.answer(self.reply.engine(), ask, answer.clone()));
    }

    fn resolve(&mut self, job: ResolveJob) {
        self.shared.fetcher.resolve(self.addressed(job));
    }

    fn merge(&mut self, job: StoreMerge) {
        self.shared.merges.send(self.assigned(job));
    }

    fn partition(&mut self, job: PartitionJob) {
        self.shared.partitions.send(self.assigned(job));
    }

    fn checkpoint(&mut self, job: CheckpointJob) {
        self.shared.checkpoints.send(self.assigned(job));
    }

    fn compact(&mut self, job: CompactionJob) {
        self.shared.compactions.send(self.assigned(job));
    }

    fn read_links(&mut self, job: LinkJob) {
        self.shared.reads.send(self.assigned(ReadJob::Links(job)));
    }

    fn read_calendar(&mut self, job: SlotRead) {
        self.shared.reads.send(self.assigned(ReadJob::Calendar(job)));
    }

    fn sync_holds(&mut self, job: HoldSync) {
        self.shared.holds.send(self.assigned(job));
    }
}

/// A job for a thread, with the address of the engine that it is for.
struct Assigned<J> {
    job: J,
    engine: EngineAddress,
}

/// Threads that do jobs and answer each with an event: one for some engines each, so that the jobs of an engine are
/// done one after the other.
struct Workers<J> {
    jobs: Vec<Sender<Assigned<J>>>,
    threads: Vec<JoinHandle<()>>,
}

impl<J: Send + 'static> Workers<J> {
    /// Starts as many as it takes for `engines` engines, each of which may have `places` jobs out.
    fn start(
        name: &'static str,
        engines: usize,
        places: usize,
        work: impl Fn(J) -> disk::Result<Event> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let threads = threads_for(engines);
        Workers::with_threads(name, engines, places, threads, move |job, _| work(job).map(Some))
    }

    /// Starts that many. A job without an event is answered by somebody else.
    fn with_threads(
        name: &'static str,
        engines: usize,
        places: usize,
        threads: usize,
        work: impl Fn(J, &EngineAddress) -> disk::Result<Option<Event>> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let work = Arc::new(work);
        let mut workers = Workers { jobs: Vec::new(), threads: Vec::new() };
        for _ in 0..threads {
            let (jobs_in, jobs) = bounded::<Assigned<J>>(places * engines.div_ceil(threads));
            let work = work.clone();
            let thread = thread::Builder::new().name(name.into()).spawn(move || {
                for Assigned { job, engine } in jobs {
                    let done = Fault::catch(|| format!("the {name} thread panicked"), || work(job, &engine));
                    done.unwrap_or_else(|fault| Some(Event::Fault(fault)))
                        .into_iter()
                        .for_each(|done| engine.send(done));
                }
            })?;
            workers.jobs.push(jobs_in);
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    fn send(&self, job: Assigned<J>) {
        let worker = job.engine.engine() % self.jobs.len();
        self.jobs[worker].send(job).expect("a worker ends only when its sender is dropped");
    }
}

impl<J> Drop for Workers<J> {
    fn drop(&mut self) {
        self.jobs.clear();
        for thread in self.threads.drain(..) {
            // a panic was reported as an event when it happened
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::disk::Error;

    #[test]
    fn a_job_is_answered_to_the_engine_that_sent_it_out() {
        let worker = Workers::start("test", 3, 4, |number: u64| match number {
            0 => Err(Error::limit("do", Path::new("job"), "no")),
            1 => panic!("a job that panics"),
            _ => Ok(Event::HoldsSynced),
        });
        let worker = worker.unwrap();
        let ports: Vec<_> = (0..3).map(|number| (number, bounded(4))).collect();
        for (number, (events, _)) in &ports {
            worker.send(Assigned { job: *number as u64, engine: EngineAddress::new(*number, events.clone()) });
        }
        let heard: Vec<Event> = ports.iter().map(|(_, (_, events))| events.recv().unwrap()).collect();
        assert!(matches!(heard[0], Event::Fault(Fault::Disk(Error::Limit { .. }))), "{heard:?}");
        assert!(
            matches!(&heard[1], Event::Fault(Fault::Panic(said)) if said == "the test thread panicked"),
            "{heard:?}"
        );
        assert!(matches!(heard[2], Event::HoldsSynced), "{heard:?}");
        assert!(ports.iter().all(|(_, (_, events))| events.is_empty()));
    }

    #[test]
    fn the_jobs_of_an_engine_are_done_in_their_order_however_many_workers_there_are() {
        let done = Arc::new(Mutex::new(Vec::new()));
        let told = done.clone();
        let workers = Workers::start("test", 10, 8, move |(engine, number): (usize, usize)| {
            told.lock().unwrap().push((engine, number));
            Ok(Event::HoldsSynced)
        });
        let workers = workers.unwrap();
        assert_eq!(workers.threads.len(), 3);
        let (events_in, events) = bounded(80);
        for number in 0..8 {
            for engine in 0..10 {
                workers.send(Assigned { job: (engine, number), engine: EngineAddress::new(engine, events_in.clone()) });
            }
        }
        (0..80).for_each(|_| drop(events.recv().unwrap()));
        for engine in 0..10 {
            let all = done.lock().unwrap();
            let own: Vec<usize> = all.iter().filter(|(of, _)| *of == engine).map(|(_, number)| *number).collect();
            assert_eq!(own, (0..8).collect::<Vec<_>>(), "engine {engine}");
        }
    }

    #[test]
    fn an_engine_that_is_gone_keeps_no_other_from_its_answers() {
        let worker = Workers::start("test", 2, 4, |()| Ok(Event::HoldsSynced)).unwrap();
        let (gone, (events_in, events)) = (bounded(1).0, bounded(1));
        worker.send(Assigned { job: (), engine: EngineAddress::new(0, gone) });
        worker.send(Assigned { job: (), engine: EngineAddress::new(1, events_in) });
        assert!(matches!(events.recv().unwrap(), Event::HoldsSynced));
    }

    #[test]
    fn a_crawl_ends_with_the_fault_that_a_thread_had_and_not_with_what_follows_from_it() {
        let full = || Error::io("write", Path::new("x"), std::io::ErrorKind::StorageFull.into());
        let poisoned = || CrawlError::Disk(Error::poisoned("write", Path::new("x")));
        let (events_in, events) = bounded(4);
        assert!(matches!(cause(poisoned(), &events), CrawlError::Disk(Error::Poisoned { .. })));
        events_in.send(Event::HoldsSynced).unwrap();
        events_in.send(Event::Fault(full().into())).unwrap();
        assert!(matches!(cause(poisoned(), &events), CrawlError::Disk(Error::Io { .. })));
        events_in.send(Event::Fault(Fault::Panic("it panicked".to_owned()))).unwrap();
        assert!(matches!(cause(poisoned(), &events), CrawlError::Internal(said) if said == "it panicked"));
        events_in.send(Event::Fault(Fault::Panic("later".to_owned()))).unwrap();
        assert!(matches!(cause(CrawlError::Disk(full()), &events), CrawlError::Disk(Error::Io { .. })));
    }
}
