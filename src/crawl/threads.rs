//! The threads of a process, and the channels between them and its engines.
//!
//! The threads are shared by all engines of the process: each job carries the address of the engine that sent it out,
//! and is answered there. Every channel is bounded, and has room for every message that can be in progress: of an
//! engine at most `workers` requests (slow ones included), one merge, [`PARTITION_PLACES`] jobs of the frontier, one
//! checkpoint, one sync of the rests. So no engine ever waits on a send, and neither does a network thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{CrawlError, reports, signals};
use crate::clock::Clock;
use crate::disk;
use crate::engine::checkpoint::CheckpointJob;
use crate::engine::{Addressed, Event, Executors, Fault, FetchJob, HoldSync, ReplyTo, ResolveJob, StoreMerge, Waker};
use crate::exchange::LinkJob;
use crate::fetch::{FetchOptions, Fetcher};
use crate::frontier::PartitionJob;
use crate::process::{ProcessOptions, ProcessPool};
use crate::web::address::AddressGuard;

const PARTITION_PLACES: usize = 8;
/// Jobs that read links of other shards.
const LINK_PLACES: usize = 4;
/// Events that are not the answer to a request: merges, takes, checkpoints, signals.
const OTHER_EVENTS: usize = 64;

/// Everything that has to be stopped when a process ends.
pub(super) struct Threads {
    shared: Arc<Shared>,
    pool: ProcessPool,
    are_up: Arc<AtomicBool>,
}

/// What the engines send their jobs to.
struct Shared {
    fetcher: Fetcher,
    merges: Worker<StoreMerge>,
    partitions: Worker<PartitionJob>,
    checkpoints: Worker<CheckpointJob>,
    links: Worker<LinkJob>,
    rests: Worker<HoldSync>,
}

/// What one engine has of the threads.
pub(super) struct Port {
    /// Its way to them.
    pub executors: ThreadExecutors,
    /// Their way back.
    pub events: Receiver<Event>,
}

/// An engine's way to the threads.
pub(super) struct ThreadExecutors {
    shared: Arc<Shared>,
    reply: ReplyTo,
}

impl Threads {
    /// Starts everything for `count` engines of one crawl, which together may have `workers` requests in progress.
    /// Their ports come in the order of their numbers.
    pub(super) fn start(
        count: usize,
        workers: usize,
        (fetch, guard): (FetchOptions, AddressGuard),
        process: &ProcessOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<(Threads, Vec<Port>), CrawlError> {
        let no_thread = |e: std::io::Error| CrawlError::Internal(format!("cannot start a thread: {e}"));
        let (answers_in, answers) = bounded(workers + 1);
        let pool = ProcessPool::start(cores(), process, &answers).map_err(no_thread)?;
        let shared = Arc::new(Shared {
            fetcher: Fetcher::start(fetch, guard, clock, answers_in)?,
            merges: Worker::start("merge", count, |job: StoreMerge| job.run().map(Event::Merged)).map_err(no_thread)?,
            partitions: Worker::start("frontier", PARTITION_PLACES * count, |job: PartitionJob| {
                job.run().map(Event::Partition)
            })
            .map_err(no_thread)?,
            checkpoints: Worker::start("checkpoint", count, checkpoint).map_err(no_thread)?,
            links: Worker::start("links", LINK_PLACES * count, |job: LinkJob| {
                job.run().map(|read| Event::LinksRead(Box::new(read)))
            })
            .map_err(no_thread)?,
            rests: Worker::start("rests", count, |job: HoldSync| job.run().map(|()| Event::HoldsSynced))
                .map_err(no_thread)?,
        });
        let port = |number| {
            let (events_in, events) = bounded(workers + OTHER_EVENTS);
            Port {
                executors: ThreadExecutors { shared: shared.clone(), reply: ReplyTo::new(number, events_in) },
                events,
            }
        };
        let ports: Vec<Port> = (0..count).map(port).collect();
        let are_up = Arc::new(AtomicBool::new(false));
        let engines = ports.iter().map(|port| port.executors.reply.clone()).collect();
        signals::listen(engines, are_up.clone()).map_err(no_thread)?;
        Ok((Threads { shared, pool, are_up }, ports))
    }

    /// The engines take events in from now on: a signal is one of them.
    pub(super) fn engines_are_up(&self) {
        self.are_up.store(true, Ordering::Release);
    }

    /// Ends all threads. The engines, and with them their executors, are gone by now.
    pub(super) fn stop(self) {
        if let Some(Shared { fetcher, merges, partitions, checkpoints, links, rests }) = Arc::into_inner(self.shared) {
            drop((merges, partitions, checkpoints, links, rests));
            fetcher.stop();
        }
        self.pool.join();
    }
}

/// What a crawl ends with: an error that only follows from another gives way to the fault that a thread has reported,
/// and that waits among the `events`.
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

/// Makes a checkpoint, and the reports that cost little beside it.
fn checkpoint(job: CheckpointJob) -> disk::Result<Event> {
    let dir = job.dir().to_owned();
    let done = job.run()?;
    // nothing depends on them
    if let Err(error) = reports::put_cheap(&dir) {
        tracing::warn!(%error, "a report could not be written");
    }
    Ok(Event::Checkpointed(done))
}

/// Process threads: one a core.
pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(2, usize::from)
}

impl ThreadExecutors {
    /// The address of its engine.
    pub(super) fn reply(&self) -> &ReplyTo {
        &self.reply
    }

    /// Wakes the engine that this is the way of. One that has much before it looks for slots behind that anyway.
    pub(super) fn waker(&self) -> Waker {
        let reply = self.reply.clone();
        Arc::new(move || reply.offer(Event::SlotFree))
    }

    fn addressed<J>(&self, job: J) -> Addressed<J> {
        Addressed { job, reply: self.reply.clone() }
    }
}

impl Executors for ThreadExecutors {
    fn fetch(&mut self, job: FetchJob) {
        self.shared.fetcher.fetch(self.addressed(job));
    }

    fn resolve(&mut self, job: ResolveJob) {
        self.shared.fetcher.resolve(self.addressed(job));
    }

    fn merge(&mut self, job: StoreMerge) {
        self.shared.merges.send(self.addressed(job));
    }

    fn partition(&mut self, job: PartitionJob) {
        self.shared.partitions.send(self.addressed(job));
    }

    fn checkpoint(&mut self, job: CheckpointJob) {
        self.shared.checkpoints.send(self.addressed(job));
    }

    fn read_links(&mut self, job: LinkJob) {
        self.shared.links.send(self.addressed(job));
    }

    fn sync_rests(&mut self, job: HoldSync) {
        self.shared.rests.send(self.addressed(job));
    }
}

/// A thread that does jobs one after the other and answers each with an event.
struct Worker<J> {
    jobs: Option<Sender<Addressed<J>>>,
    thread: Option<JoinHandle<()>>,
}

impl<J: Send + 'static> Worker<J> {
    fn start(
        name: &'static str,
        places: usize,
        work: impl Fn(J) -> disk::Result<Event> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (jobs_in, jobs) = bounded::<Addressed<J>>(places);
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            for Addressed { job, reply } in jobs {
                let done = Fault::catch(|| format!("the {name} thread panicked"), || work(job));
                reply.send(done.unwrap_or_else(Event::Fault));
            }
        })?;
        Ok(Worker { jobs: Some(jobs_in), thread: Some(thread) })
    }

    fn send(&self, job: Addressed<J>) {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::disk::Error;

    #[test]
    fn a_job_is_answered_to_the_engine_that_sent_it_out() {
        let worker = Worker::start("test", 4, |number: u64| match number {
            0 => Err(Error::limit("do", Path::new("job"), "no")),
            1 => panic!("a job that panics"),
            _ => Ok(Event::HoldsSynced),
        });
        let worker = worker.unwrap();
        let ports: Vec<_> = (0..3).map(|number| (number, bounded(4))).collect();
        for (number, (events, _)) in &ports {
            worker.send(Addressed { job: *number as u64, reply: ReplyTo::new(*number, events.clone()) });
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
    fn an_engine_that_is_gone_keeps_no_other_from_its_answers() {
        let worker = Worker::start("test", 4, |()| Ok(Event::HoldsSynced)).unwrap();
        let (gone, (events_in, events)) = (bounded(1).0, bounded(1));
        worker.send(Addressed { job: (), reply: ReplyTo::new(0, gone) });
        worker.send(Addressed { job: (), reply: ReplyTo::new(1, events_in) });
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
