//! The thread of one engine, and the messages between it and the director's thread.
//!
//! The engine sends one report at a time, and waits for the director's instruction before it goes on. Where no
//! instruction can come any more, another engine has failed, or all are done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::control::Orders;
use super::ending::Ending;
use super::live::{Board, Observer};
use super::shard_directory::{Company, ShardDirectory};
use super::shard_run::{Admission, Admitted, News, ShardRun};
use super::threads::{Port, no_thread};
use super::{CrawlError, CrawlRequest};
use crate::clock::Clock;
use crate::contract::Fault;
use crate::engine::{EngineAddress, Event, ExchangeOptions, ListedSeeds, Opening, Past, RoundWanted, Shipping};
use crate::process::{ProcessOptions, Processor};
use crate::shard::Shard;
use crate::web::seeds::SeedLines;
use crate::web::url::KeyMaker;

/// Message of the fault by which an engine ends because another one has failed.
const ABANDONED: &str = "another shard of the crawl has failed";
/// Engines that have to end are told so again after this time.
const TELL_AGAIN: Duration = Duration::from_millis(20);

/// The things with which an engine is run.
pub(super) struct Work<'a> {
    pub request: &'a CrawlRequest,
    pub directory: Arc<ShardDirectory>,
    pub company: Company,
    pub process: ProcessOptions,
    /// The most memory that the process takes.
    pub ceiling: u64,
    /// The seeds that the engine admits.
    pub seeds: ListedSeeds,
    /// Exchange of links with other shards, in a crawl that has several.
    pub exchange: Option<ExchangeOptions>,
    /// Target of its checkpoints that have to survive the machine.
    pub shipping: Option<Arc<dyn Shipping>>,
    /// News of the other shards.
    pub news: News,
}

/// A report of an engine to the director.
pub(super) enum EngineReport {
    /// Its head is known to the others.
    Opened(Past),
    /// All responses were replayed: their number, and the round in which it would go on to fetch again.
    Replayed(u64, RoundWanted),
    /// Its seeds are on their way in.
    Admitted(Admitted),
    /// The engine is done.
    Done(Box<Ending>),
}

/// A report from a shard's thread, or the error that ended it.
pub(super) type ShardReport = (Shard, Result<EngineReport, CrawlError>);

/// The answer of the director to a report of an engine.
pub(super) enum Instruction {
    /// All have opened.
    Replay,
    /// All have replayed.
    Admit(Admission),
    /// All have seeds.
    Crawl(Orders),
}

/// The engine's thread, as the director knows it.
pub(super) struct EngineThread<'scope> {
    pub instructions: Sender<Instruction>,
    pub board: Board,
    reply: EngineAddress,
    thread: ScopedJoinHandle<'scope, ()>,
}

/// The director, as the engine's thread knows it.
struct DirectorLink {
    shard: Shard,
    reports: Sender<ShardReport>,
    instructions: Receiver<Instruction>,
}

/// The reason for which an engine's thread ends before the crawl does.
enum Broken {
    Fault(CrawlError),
    /// The director has no instruction for it.
    Abandoned,
}

impl<E: Into<CrawlError>> From<E> for Broken {
    fn from(error: E) -> Self {
        Broken::Fault(error.into())
    }
}

impl<'scope> EngineThread<'scope> {
    /// Starts the thread for the engine of `shard`, which `port` is of; it sends its `reports`. Its work is made on
    /// that thread.
    pub(crate) fn spawn<'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        shard: Shard,
        make: impl FnOnce() -> Result<Work<'env>, CrawlError> + Send + 'scope,
        port: Port,
        reports: Sender<ShardReport>,
    ) -> Result<EngineThread<'scope>, CrawlError> {
        // the instruction that it waits for
        let (instructions_in, instructions) = bounded(1);
        let (board, reply) = (Board::default(), port.executors.reply().clone());
        let name = if shard.is_whole() { "engine".to_owned() } else { shard.dir_name() };
        let (link, posted) = (DirectorLink { shard, reports, instructions }, board.clone());
        let thread = thread::Builder::new().name(name.clone()).spawn_scoped(scope, move || {
            let worked = catch_unwind(AssertUnwindSafe(|| make()?.run(port, posted, &link)));
            let fault = match worked {
                Ok(Ok(()) | Err(Broken::Abandoned)) => return,
                Ok(Err(Broken::Fault(error))) => error,
                Err(_) => CrawlError::Internal(format!("the thread {name} panicked")),
            };
            // the director may have heard of another one, and hear no more
            let _ = link.reports.send((shard, Err(fault)));
        });
        let thread = thread.map_err(no_thread)?;
        Ok(EngineThread { instructions: instructions_in, board, reply, thread })
    }

    /// Waits for the thread of an engine that is done.
    pub(crate) fn finish(self) {
        drop(self.instructions);
        // the panic was reported
        let _ = self.thread.join();
    }

    /// Tells the engine, unless it has too much before it.
    pub(crate) fn offer(&self, event: Event) {
        self.reply.offer(event);
    }
}

/// Makes the engines of all these `threads` end, wherever they are, because one has failed, and waits for them. Calls
/// `on_report` with each report that comes meanwhile.
pub(super) fn abandon<'scope>(
    threads: impl IntoIterator<Item = EngineThread<'scope>>,
    reports: &Receiver<ShardReport>,
    mut on_report: impl FnMut(ShardReport),
) {
    // those that wait for an instruction end by that, for none can come any more
    let abandoned: Vec<_> = threads.into_iter().map(|EngineThread { reply, thread, .. }| (reply, thread)).collect();
    while !abandoned.iter().all(|(_, thread)| thread.is_finished()) {
        // one that has much before it hears of it the next time
        for (reply, _) in &abandoned {
            reply.offer(Event::Fault(Fault::Panic(ABANDONED.to_owned())));
        }
        if let Ok(report) = reports.recv_timeout(TELL_AGAIN) {
            on_report(report);
        }
    }
}

impl DirectorLink {
    /// Sends a report, and waits for the director's instruction.
    fn report(&self, report: EngineReport) -> Result<Instruction, Broken> {
        self.reports.send((self.shard, Ok(report))).map_err(|_| Broken::Abandoned)?;
        self.instructions.recv().map_err(|_| Broken::Abandoned)
    }
}

impl Work<'_> {
    fn run(self, Port { executors, events }: Port, board: Board, link: &DirectorLink) -> Result<(), Broken> {
        let Work { request, directory, company, process, ceiling, seeds, exchange, shipping, news } = self;
        let clock = company.clock.clone();
        let opening = directory.opening(request, company, executors, seeds)?;
        let opening = Opening { exchange, shipping, ..opening };
        let (mut run, past) = ShardRun::open(opening, Processor::new(process), events, news)?;
        let mut observer = Observer::new(ceiling, board);
        crawl(&mut run, past, &*clock, &mut observer, link).map_err(|broken| match broken {
            Broken::Fault(error) => Broken::Fault(run.cause(error)),
            Broken::Abandoned => Broken::Abandoned,
        })
    }
}

/// Takes the engine of `run` from its opening to its end, step by step, as the director says.
fn crawl(
    run: &mut ShardRun,
    past: Past,
    clock: &dyn Clock,
    observer: &mut Observer,
    link: &DirectorLink,
) -> Result<(), Broken> {
    const ORDER: &str = "the director gives one instruction after the other";
    let Instruction::Replay = link.report(EngineReport::Opened(past))? else { unreachable!("{ORDER}") };
    run.engine.from_shards().take_notes()?;
    let replayed = run.replay()?;
    let report = EngineReport::Replayed(replayed, run.engine.seeder().round_wanted());
    let Instruction::Admit(admission) = link.report(report)? else { unreachable!("{ORDER}") };
    let admitted = run.admit(admission)?;
    let Instruction::Crawl(mut orders) = link.report(EngineReport::Admitted(admitted))? else {
        unreachable!("{ORDER}")
    };
    let finish = run.run(clock, &mut orders, observer)?;
    let _ = link.reports.send((link.shard, Ok(EngineReport::Done(Box::new(Ending::of(run, finish))))));
    orders.answer_until(&mut run.engine, observer.sampler(), &link.instructions)?;
    Ok(())
}

/// The seeds of the `file` that `shard` admits, of a crawl whose list has them all by now. Of lines that are none was
/// told when they were listed.
pub(super) fn own_seeds(file: Arc<[u8]>, shard: Shard, keys: Arc<KeyMaker>) -> ListedSeeds {
    let seeds = SeedLines::of(file).filter_map(Result::ok);
    Box::new(seeds.filter(move |seed| shard.owns(keys.keys(&seed.url).domain)))
}
