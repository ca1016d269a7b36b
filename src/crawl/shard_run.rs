//! One engine of the process, from its opening to its end, on the thread of its
//! [`EngineThread`](super::engine_thread::EngineThread).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use super::control::Orders;
use super::live::{DISPLAY, Observer};
use super::{CrawlError, threads};
use crate::clock::Clock;
use crate::container::Recovery;
use crate::contract::Purpose;
use crate::engine::start_reads::StartReads;
use crate::engine::{Engine, EngineAddress, Event, Opening, Past, Phase, Refetch, RoundWanted};
use crate::process::Processor;
use crate::record::Finish;

/// Events that are taken in before the engine looks at what it can send out.
const EVENTS_PER_PUMP: usize = 64;
/// A long start says how far it is this often.
const TELL: Duration = Duration::from_secs(2);

/// The way in which the seeds of a run are admitted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Admission {
    /// As they are listed: those that are known already are passed over.
    Listed,
    /// The seeds are fetched again, in this round of the whole crawl.
    Again(RoundWanted),
}

/// The result of an [`Admission`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Admitted {
    /// The names of this many seeds are resolved again.
    Listed(usize),
    /// They are fetched again.
    Again(Refetch),
}

impl Admitted {
    /// Returns the result of two shards, or of more of which these are two.
    pub(crate) fn and(self, other: Admitted) -> Admitted {
        match (self, other) {
            (Admitted::Listed(one), Admitted::Listed(other)) => Admitted::Listed(one + other),
            (Admitted::Again(one), Admitted::Again(other)) => Admitted::Again(Refetch {
                goes_on: one.goes_on || other.goes_on,
                seeds: one.seeds + other.seeds,
                listed: one.listed + other.listed,
                ..one
            }),
            (again @ Admitted::Again(_), _) | (_, again) => again,
        }
    }

    /// Says what is fetched again.
    pub(crate) fn tell(self) {
        match self {
            Admitted::Listed(0) => {}
            Admitted::Listed(again) => tracing::info!(
                "dns.nameservers, dns.hosts or network.allow has changed: the names of {again} seeds are resolved again"
            ),
            Admitted::Again(Refetch { goes_on: true, seeds, listed, .. }) => {
                tracing::info!("continuing the forced run from before; {seeds} of {listed} seed URLs are new in it");
            }
            Admitted::Again(Refetch { seeds, .. }) => {
                tracing::info!("fetching {seeds} seed URLs, including those that were fetched before");
            }
        }
    }
}

/// An engine, and what it needs beside its jobs.
pub(super) struct ShardRun {
    pub engine: Engine,
    processor: Processor,
    events: Receiver<Event>,
    recovery: Option<Recovery>,
    news: News,
}

/// A flag that is set while a change that concerns all shards was not looked at by the engine yet. Its event only wakes
/// the engine: where there is no place for it, nothing is lost, and of many changes it hears once.
#[derive(Clone, Default)]
pub(super) struct News(Arc<AtomicBool>);

impl News {
    /// Notes that something has changed; the engine at `reply` is woken, unless it is on its way.
    pub(crate) fn tell(&self, reply: &EngineAddress) {
        if !self.0.swap(true, Ordering::AcqRel) {
            reply.offer(Event::HeadChanged);
        }
    }

    fn take(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::AcqRel)
    }
}

impl ShardRun {
    /// Opens the engine at its last checkpoint; what comes for it comes by `events`.
    pub(crate) fn open(
        opening: Opening,
        processor: Processor,
        events: Receiver<Event>,
        news: News,
    ) -> Result<(ShardRun, Past), CrawlError> {
        let (engine, recovery, past) = opening.open(&mut tell_keys())?;
        Ok((ShardRun { engine, processor, events, recovery: Some(recovery), news }, past))
    }

    /// Replays what was stored after the last checkpoint, and says how many responses that are.
    pub(crate) fn replay(&mut self) -> Result<u64, CrawlError> {
        let Some(recovery) = self.recovery.take() else { return Ok(0) };
        let ShardRun { engine, processor, .. } = self;
        let mut find =
            |url: &_, purpose: Purpose<'_>, response: &_, scope: &_| processor.findings(url, purpose, response, scope);
        let replayed = engine.replay(recovery, &mut find, &mut tell_reads())?;
        let sent = engine.resend(&mut find, &mut tell_resend())?;
        if sent > 0 {
            tracing::warn!("links to other shards were lost: those of {sent} archived pages are sent again");
        }
        Ok(replayed)
    }

    /// Lets the seeds in.
    pub(crate) fn admit(&mut self, admission: Admission) -> Result<Admitted, CrawlError> {
        let engine = &mut self.engine;
        Ok(match admission {
            Admission::Again(round) => Admitted::Again(engine.seeder().refetch_listed_in(round)?),
            Admission::Listed => {
                let again = engine.seeder().refetch_unresolved()?;
                engine.seeder().admit_listed();
                engine.from_shards().fetch_listed_again()?;
                Admitted::Listed(again)
            }
        })
    }

    /// Feeds the engine events until it is done.
    pub(crate) fn run(
        &mut self,
        clock: &dyn Clock,
        orders: &mut Orders,
        observer: &mut Observer,
    ) -> Result<Finish, CrawlError> {
        let ShardRun { engine, processor, events, news, .. } = self;
        let mut find =
            |url: &_, purpose: Purpose<'_>, response: &_, scope: &_| processor.findings(url, purpose, response, scope);
        loop {
            if news.take() {
                engine.handle(Event::HeadChanged)?;
            }
            engine.pump()?;
            engine.read_nearer(&mut find)?;
            orders.answer_durable(engine);
            let now = clock.now();
            if let Phase::Done { finish } = engine.phase() {
                observer.post(engine, now);
                return Ok(finish);
            }
            observer.look(engine, now);
            let wait = engine.next_due().map_or(DISPLAY, |due| due.since(now)).min(DISPLAY);
            let wait = if engine.is_busy() { Duration::ZERO } else { wait.max(Duration::from_millis(1)) };
            match orders.next_event(engine, observer.sampler(), events, wait)? {
                Some(event) => take_in(engine, event)?,
                None => continue,
            }
            for event in events.try_iter().take(EVENTS_PER_PUMP) {
                take_in(engine, event)?;
            }
        }
    }

    /// The fault that was behind `error`, if one has come for the engine.
    pub(crate) fn cause(&self, error: CrawlError) -> CrawlError {
        threads::cause(error, &self.events)
    }
}

/// A fault of another thread, whichever it is, ends the crawl.
fn take_in(engine: &mut Engine, event: Event) -> Result<(), CrawlError> {
    match event {
        Event::Fault(fault) => Err(fault.into()),
        // the news themselves are told by their flag
        Event::HeadChanged => Ok(()),
        event => Ok(engine.handle(event)?),
    }
}

/// Returns true now and then, of a long start.
fn is_time(told: &mut Instant) -> bool {
    let is_time = told.elapsed() > TELL;
    if is_time {
        *told = Instant::now();
    }
    is_time
}

/// Progress of a long start, now and then: what `says` makes of what is done and of all.
fn tell_progress(says: impl Fn(u64, u64) -> String) -> impl FnMut(u64, u64) {
    let mut told = Instant::now();
    move |done, total| {
        if is_time(&mut told) {
            tracing::warn!("{}", says(done, total));
        }
    }
}

/// Reports the progress of the Bloom filters' rebuild.
fn tell_keys() -> impl FnMut(u64, u64) {
    tell_progress(|done, total| format!("reading the URLs seen before: {done} of {total} keys"))
}

/// Reports the progress of sending links again.
fn tell_resend() -> impl FnMut(u64, u64) {
    tell_progress(|done, total| {
        format!("sending the links of archived pages to other shards again: {done} of {total} pages")
    })
}

/// Reports the progress of reading the archive at the start.
fn tell_reads() -> impl FnMut(StartReads, u64, u64) {
    let mut told = Instant::now();
    move |reads, done, total| {
        if is_time(&mut told) {
            let (what, unit) = match reads {
                StartReads::Calendar => ("putting archived pages into the recrawl calendar", "pages"),
                StartReads::Support => ("reading the links of archived pages", "pages"),
                StartReads::Recovery => ("recovering what was stored after the last checkpoint", "bytes"),
            };
            tracing::warn!("{what}: {done} of {total} {unit}");
        }
    }
}
