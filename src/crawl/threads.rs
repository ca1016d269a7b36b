//! The threads beside the engine, and the channels between them.
//!
//! Every channel is bounded, and has room for every message that can be under way: at most `workers` requests (slow
//! ones included), one merge, [`PARTITION_PLACES`] jobs of the frontier, one checkpoint, one sync of the rests. So the
//! engine never waits on a send, and neither does a network thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{CrawlError, reports, signals};
use crate::clock::Clock;
use crate::disk;
use crate::engine::checkpoint::CheckpointJob;
use crate::engine::{Event, Executors, FetchJob, ResolveJob, RestSync, StoreMerge};
use crate::fetch::{FetchOptions, Fetcher};
use crate::frontier::PartitionJob;
use crate::process::{ProcessOptions, ProcessPool};
use crate::web::address::AddressGuard;

const PARTITION_PLACES: usize = 8;
/// Events that are not the answer to a request: merges, takes, checkpoints, signals.
const OTHER_EVENTS: usize = 64;

/// Everything that has to be stopped when the crawl ends.
pub(super) struct Threads {
    fetcher: Arc<Fetcher>,
    pool: ProcessPool,
    is_up: Arc<AtomicBool>,
}

/// The engine's way to them.
pub(super) struct ThreadExecutors {
    fetcher: Arc<Fetcher>,
    merges: Worker<StoreMerge>,
    partitions: Worker<PartitionJob>,
    checkpoints: Worker<CheckpointJob>,
    rests: Worker<RestSync>,
}

impl Threads {
    /// Starts everything; the receiver is the engine's.
    pub(super) fn start(
        workers: usize,
        fetch: FetchOptions,
        guard: AddressGuard,
        process: ProcessOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<(Threads, ThreadExecutors, Receiver<Event>), CrawlError> {
        let no_thread = |e: std::io::Error| CrawlError::Internal(format!("cannot start a thread: {e}"));
        let (answers_in, answers) = bounded(workers + 1);
        let (events_in, events) = bounded(workers + OTHER_EVENTS);
        let pool = ProcessPool::start(cores(), &process, &answers, &events_in).map_err(no_thread)?;
        let fetcher = Arc::new(Fetcher::start(fetch, guard, clock, answers_in, events_in.clone())?);
        let executors = ThreadExecutors {
            fetcher: fetcher.clone(),
            merges: Worker::start("merge", 1, &events_in, |job: StoreMerge| job.run().map(Event::Merged))
                .map_err(no_thread)?,
            partitions: Worker::start("frontier", PARTITION_PLACES, &events_in, |job: PartitionJob| {
                job.run().map(Event::Partition)
            })
            .map_err(no_thread)?,
            checkpoints: Worker::start("checkpoint", 1, &events_in, |job: CheckpointJob| {
                let dir = job.dir().to_owned();
                let done = job.run()?;
                // nothing depends on them
                if let Err(error) = reports::put_cheap(&dir) {
                    tracing::warn!(%error, "a report could not be written");
                }
                Ok(Event::Checkpointed(done))
            })
            .map_err(no_thread)?,
            rests: Worker::start("rests", 1, &events_in, |job: RestSync| job.run().map(|()| Event::RestsSynced))
                .map_err(no_thread)?,
        };
        let is_up = Arc::new(AtomicBool::new(false));
        signals::listen(events_in, is_up.clone()).map_err(no_thread)?;
        Ok((Threads { fetcher, pool, is_up }, executors, events))
    }

    /// The engine takes events in from now on: a signal is one of them.
    pub(super) fn engine_is_up(&self) {
        self.is_up.store(true, Ordering::Release);
    }

    /// Ends the network threads and the process threads. The engine, and with it the executors, is gone by now.
    pub(super) fn stop(self) {
        if let Some(fetcher) = Arc::into_inner(self.fetcher) {
            fetcher.stop();
        }
        self.pool.join();
    }
}

/// Process threads: one a core.
pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(2, usize::from)
}

impl Executors for ThreadExecutors {
    fn fetch(&mut self, job: FetchJob) {
        self.fetcher.fetch(job);
    }

    fn resolve(&mut self, job: ResolveJob) {
        self.fetcher.resolve(job);
    }

    fn merge(&mut self, job: StoreMerge) {
        self.merges.send(job);
    }

    fn partition(&mut self, job: PartitionJob) {
        self.partitions.send(job);
    }

    fn checkpoint(&mut self, job: CheckpointJob) {
        self.checkpoints.send(job);
    }

    fn sync_rests(&mut self, job: RestSync) {
        self.rests.send(job);
    }
}

/// A thread that does jobs one after the other and reports each as an event.
struct Worker<J> {
    jobs: Option<Sender<J>>,
    thread: Option<JoinHandle<()>>,
}

impl<J: Send + 'static> Worker<J> {
    fn start(
        name: &'static str,
        places: usize,
        events: &Sender<Event>,
        work: impl Fn(J) -> disk::Result<Event> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (jobs_in, jobs) = bounded::<J>(places);
        let events = events.clone();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            for job in jobs {
                let event = match catch_unwind(AssertUnwindSafe(|| work(job))) {
                    Ok(Ok(event)) => event,
                    Ok(Err(fault)) => Event::Fault(fault),
                    Err(_) => Event::Panic(format!("the {name} thread panicked")),
                };
                if events.send(event).is_err() {
                    return;
                }
            }
        })?;
        Ok(Worker { jobs: Some(jobs_in), thread: Some(thread) })
    }

    fn send(&self, job: J) {
        if let Some(jobs) = &self.jobs {
            jobs.send(job).expect("a worker ends only when its sender is dropped");
        }
    }
}

impl<J> Drop for Worker<J> {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // a panic was reported as an event when it happened
            let _ = thread.join();
        }
    }
}
