//! A crawl of this process: an engine thread for each shard, and the calling thread, which directs them.
//!
//! ```text
//! director   seeds numbered ─► all opened ─► all replayed ─► one round ─► all crawl ─► all done ─► statistics
//! engine                       head known    notes, replay   seeds        ...          answers commands
//! ```
//! No engine replays before all have told what they have for the others, and none admits a seed before all have
//! replayed. What is of the whole crawl is the director's: display and warnings, the metrics, the one end; and where
//! there are several shards, what they have in common ([`Common`]). One shard is the case of one: it has its directory,
//! seeds and figures for itself, and no others to hear of. Signals and commands go to every engine directly. A fault of
//! one ends all, as the fault of any thread does: without a last checkpoint, as a kill would.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded, never};

use super::cluster::{Shipments, shipping};
use super::control::{Incoming, SeedsOrder};
use super::directory::Directory;
use super::ending::{self, Ending};
use super::engine_thread::{self, EngineReport, EngineThread, Instruction, ShardReport, Work, own_seeds};
use super::live::{DISPLAY, Posted, Teller};
use super::runtime::Runtime;
use super::shard_directory::Company;
use super::shard_run::{Admission, Admitted, News};
use super::threads::Port;
use super::{CrawlError, CrawlRequest};
use crate::clock::{Clock, Time};
use crate::disk::Disk;
use crate::engine::{Commons, ExchangeOptions, ListedSeeds, RoundWanted, SeedList};
use crate::exchange::{LocalRegistry, Registry};
use crate::process::ProcessOptions;
use crate::record::{Doing, Finish, Snapshot};
use crate::shard::Shard;

/// The copy of the last checkpoints' figures is written no more often than this.
const COPY_EVERY: Duration = Duration::from_secs(5);

/// The things with which the engines of the crawl are run.
pub(super) struct Plan<'a> {
    pub request: &'a CrawlRequest,
    pub process: ProcessOptions,
    /// The most memory that the process takes.
    pub ceiling: u64,
    pub seeds: RunSeeds,
    /// Target of checkpoints that have to survive the machine.
    pub shipments: Option<Arc<Shipments>>,
}

/// The seeds of a run.
#[expect(clippy::large_enum_variant, reason = "a crawl has one of them")]
pub(super) enum RunSeeds {
    /// Those of a crawl with one shard: its engine gives them their numbers.
    Own(ListedSeeds),
    /// Those of a crawl with several: the lines of the file, which its list has.
    Listed { file: Arc<[u8]>, list: SeedList },
}

/// The things that several shards have in common, and one has not: the list of the seeds, and the news of each other.
struct Common {
    list: SeedList,
    registry: Arc<LocalRegistry>,
}

/// The thread that has no engine.
struct Director<'a, 'scope> {
    request: &'a CrawlRequest,
    clock: Arc<dyn Clock>,
    common: Option<Common>,
    shipments: Option<Arc<Shipments>>,
    threads: Vec<EngineThread<'scope>>,
    reports: Receiver<ShardReport>,
    teller: Teller,
    copy_due: Time,
}

/// Runs the engines of all shards of the `directory` to the end of the crawl.
pub(super) fn run(
    plan: Plan<'_>,
    directory: &Directory,
    runtime: &mut Runtime,
    ports: Vec<Port>,
) -> Result<Finish, CrawlError> {
    let Plan { request, process, ceiling, seeds, shipments } = plan;
    let count = u32::try_from(directory.shards.len()).expect("a crawl has few shards");
    // one that is waited for, and a fault
    let (reports_in, reports) = bounded(2 * directory.shards.len());
    let (clock, settings) = (runtime.clock.clone(), super::settings(&request.config));
    let (mut own, file, common, commons) = match seeds {
        RunSeeds::Own(seeds) => (Some(seeds), None, None, Commons::new(&settings, clock.clone())),
        RunSeeds::Listed { file, list } => {
            let registry = Arc::new(LocalRegistry::new(count, list.len()));
            (None, Some(file), Some(Common { list, registry }), Commons::of_shards(&settings, clock.clone()))
        }
    };
    let ending = thread::scope(|scope| {
        let mut director = Director {
            request,
            clock: clock.clone(),
            common,
            shipments: shipments.clone(),
            threads: Vec::new(),
            reports,
            teller: Teller::new(commons.slots.clone(), directory.shards.len()),
            copy_due: Time::ZERO,
        };
        let started = directory.shards.iter().zip(ports).try_for_each(|(shard_directory, port)| {
            let (shard, news) = (shard_directory.identity.shard(), News::default());
            let exchange = director.common.as_ref().map(|common| common.exchange(shard, request, &news, &port));
            let seeds = match &file {
                Some(file) => own_seeds(file.clone(), shard, directory.keys.clone()),
                None => own.take().expect("seeds that are no list's are those of the only shard"),
            };
            let work = Work {
                request,
                directory: shard_directory.clone(),
                company: Company {
                    at_once: request.config.crawl.shards,
                    keys: directory.keys.clone(),
                    clock: clock.clone(),
                    commons: commons.clone(),
                },
                process: process.clone(),
                ceiling,
                seeds,
                exchange,
                shipping: shipping(shipments.clone()),
                news,
            };
            director.threads.push(EngineThread::spawn(scope, shard, move || Ok(work), port, reports_in.clone())?);
            Ok(())
        });
        drop((reports_in, file));
        // a panic here must not leave engines that crawl on
        let ended = started.and_then(|()| {
            catch_unwind(AssertUnwindSafe(|| director.direct(runtime)))
                .unwrap_or_else(|_| Err(CrawlError::Internal("the directing thread panicked".to_owned())))
        });
        director.dismiss(ended)
    })?;
    runtime.hang_up();
    put_copy(request);
    runtime.end_sinks(ending.finish);
    ending.tell(request, runtime)
}

impl Common {
    /// Returns how the engine of `shard`, which `port` is of, exchanges links with the others; `news` tell it of them.
    fn exchange(&self, shard: Shard, request: &CrawlRequest, news: &News, port: &Port) -> ExchangeOptions {
        let (told, reply) = (news.clone(), port.executors.reply().clone());
        self.registry.watch(shard.index(), Box::new(move || told.tell(&reply)));
        let registry = self.registry.clone();
        ExchangeOptions { shard, registry, crawl_dir: request.dir.clone(), disk: Disk::real() }
    }
}

impl Director<'_, '_> {
    /// Leads all engines to the end of the crawl.
    fn direct(&mut self, runtime: &mut Runtime) -> Result<Ending, CrawlError> {
        let pasts = self.gather(|report| if let EngineReport::Opened(past) = report { Some(past) } else { None })?;
        let past = pasts.into_iter().reduce(ending::past_of_both).expect("there are shards");
        self.instruct(self.threads.iter().map(|_| Instruction::Replay).collect());
        let replayed = self.gather(|report| match report {
            EngineReport::Replayed(replayed, wanted) => Some((replayed, wanted)),
            _ => None,
        })?;
        runtime.threads.engines_are_up();
        ending::tell_past(past, replayed.iter().map(|(count, _)| count).sum(), self.request);
        let admission = match self.request.force {
            true => Admission::Again(RoundWanted::of_all(replayed.into_iter().map(|(_, wanted)| wanted))),
            false => Admission::Listed,
        };
        self.instruct(self.threads.iter().map(|_| Instruction::Admit(admission)).collect());
        let admitted =
            self.gather(|report| if let EngineReport::Admitted(admitted) = report { Some(admitted) } else { None })?;
        admitted.into_iter().reduce(Admitted::and).expect("there are shards").tell();
        let Incoming { orders, seeds, .. } = runtime.listen(self.request);
        self.instruct(orders.into_iter().map(Instruction::Crawl).collect());
        self.watch(runtime, seeds)
    }

    /// Waits until every engine has reported what `wanted` takes out of its report.
    fn gather<T>(&self, wanted: impl Fn(EngineReport) -> Option<T>) -> Result<Vec<T>, CrawlError> {
        let mut all = Vec::new();
        while all.len() < self.threads.len() {
            all.push(wanted(self.received(self.reports.recv().ok())?).expect("engines go on together"));
        }
        Ok(all)
    }

    /// Returns what a thread has reported; an error when all threads have ended, which they do not before they are
    /// done.
    fn received(&self, report: Option<ShardReport>) -> Result<EngineReport, CrawlError> {
        report.map_or_else(
            || Err(CrawlError::Internal("the threads of all shards have ended".to_owned())),
            |(_, report)| report,
        )
    }

    /// Sends an instruction to each engine; one that has ended has reported the reason, or will.
    fn instruct(&self, instructions: Vec<Instruction>) {
        self.threads
            .iter()
            .zip(instructions)
            .for_each(|(thread, instruction)| _ = thread.instructions.send(instruction));
    }

    /// Tells how the crawl goes, and takes seeds in, until all engines are done.
    fn watch(&mut self, runtime: &mut Runtime, mut seeds: Receiver<SeedsOrder>) -> Result<Ending, CrawlError> {
        let mut endings: Vec<Ending> = Vec::new();
        while endings.len() < self.threads.len() {
            crossbeam_channel::select! {
                recv(self.reports) -> report => match self.received(report.ok())? {
                    EngineReport::Done(ending) => endings.push(*ending),
                    _ => unreachable!("an engine that crawls reports its end"),
                },
                recv(seeds) -> order => match order {
                    Ok(order) => self.add_seeds(order)?,
                    // the control thread is gone
                    Err(_) => seeds = never(),
                },
                default(DISPLAY) => {}
            }
            self.look(runtime);
        }
        self.teller.hurry();
        self.look(runtime);
        Ok(endings.into_iter().reduce(Ending::and).expect("there are shards"))
    }

    /// Tells what the engines have put down, if it is time to.
    fn look(&mut self, runtime: &mut Runtime) {
        let now = self.clock.now();
        let boards = self.threads.iter().map(|thread| &thread.board);
        self.teller.look(&mut runtime.display, &mut runtime.endpoint, now, boards);
        if now >= self.copy_due {
            self.copy_due = now + COPY_EVERY;
            put_copy(self.request);
        }
    }

    /// Returns what the engines have put down, once all have.
    fn posted(&self) -> Option<Vec<Posted>> {
        self.threads.iter().map(|thread| thread.board.read()).collect()
    }

    /// Gives seeds their numbers, and tells all engines of them once they are durable.
    fn add_seeds(&mut self, order: SeedsOrder) -> Result<(), CrawlError> {
        let goes_on = |posted: &Posted| posted.live.phase <= Doing::Paused;
        let is_ending = self.posted().is_some_and(|all| !all.iter().all(goes_on));
        let goes_on = |common: &&mut Common| !is_ending && common.registry.news().end.is_none();
        let Some(Common { list, registry }) = self.common.as_mut().filter(goes_on) else {
            order.refuse("the crawl is stopping");
            return Ok(());
        };
        let before = list.len();
        for seed in &order.seeds {
            list.number(seed.url.as_str(), seed.fallback.as_ref().map(|url| url.as_str()))?;
        }
        list.make_durable()?;
        self.shipments.iter().try_for_each(|shipments| super::cluster::ship_seeds(shipments, &self.request.dir))?;
        let added = list.len() - before;
        if added > 0 && registry.add_seeds(list.len()).is_none() {
            order.refuse("the crawl has just ended; it has the seeds in its list, and the next run takes them in");
        } else {
            order.answer(u64::from(added));
        }
        Ok(())
    }

    /// Makes all threads end. After an error this goes on until all have heard of it.
    fn dismiss(self, ended: Result<Ending, CrawlError>) -> Result<Ending, CrawlError> {
        let mut cause = match ended {
            // without the threads no instruction can come any more: engines that are done end by that
            Ok(ending) => return Ok(ending),
            Err(error) => error,
        };
        engine_thread::abandon(self.threads, &self.reports, |(_, report)| {
            if let Err(CrawlError::Disk(error)) = report
                && !error.is_secondary()
                && matches!(&cause, CrawlError::Disk(first) if first.is_secondary())
            {
                cause = CrawlError::Disk(error);
            }
        });
        Err(cause)
    }
}

/// Puts the figures of the last checkpoints of all shards, added up, into the crawl directory, which has those of an
/// only shard already. Nothing depends on them.
fn put_copy(request: &CrawlRequest) {
    if request.config.crawl.shards == 1 {
        return;
    }
    let disk = Disk::real();
    let shards: Vec<_> = request.dirs().iter().filter_map(|dir| Snapshot::read(&disk, dir).ok().flatten()).collect();
    if shards.len() < request.config.crawl.shards {
        return;
    }
    if let Some(sum) = Snapshot::sum(shards)
        && let Err(error) = sum.write(&disk, &request.dir)
    {
        tracing::warn!(%error, "the copy of the figures could not be written");
    }
}
