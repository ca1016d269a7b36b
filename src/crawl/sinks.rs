//! The sinks of a crawl: targets that get its documents, while it runs or from a process beside it. Watches are sinks,
//! too, by names that begin with `watch.`.
//!
//! ```text
//! answers stored ─► writer: a pass ─► feed ─► a reader for each sink ─► delivery
//! ```
//! The writer and the readers are threads of their own, with a lower priority than those of the crawl, and nothing of
//! the crawl waits for them. A reader has its cursor in the directory of the feed, and one batch in memory. When the
//! crawl has ended, they end too, and threads of the usual priority make a last pass and deliver all that is left. A
//! target that fails then is tried for a minute more, and the rest comes with the next run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::CrawlError;
use super::feed::{FeedReader, FeedWriter, Tell, Written};
use super::threads::lower_priority;
use crate::config::reference::resolved;
use crate::config::{Config, Watch};
use crate::feed::{Consumer, Step, Subscription};
use crate::report::metrics::SinkCounters;
use crate::sink::{self, Counters, Delivery, Reference, Settings};
use crate::text::escape::Escaped;
use crate::text::figures::brief;
use crate::watch::Watcher;
use crate::web::secret::Secret;

/// Time for which a target that fails is tried when the crawl has ended.
const GRACE: Duration = Duration::from_secs(60);

/// A sink that the configuration names.
pub(crate) struct Target {
    /// Its name.
    pub(crate) name: String,
    /// True if it keeps documents, which can be read back.
    pub(crate) keeps_documents: bool,
    sink: Box<dyn sink::Sink>,
    limits: sink::Limits,
}

/// Opens the sinks and watches of `config` for the crawl in `dir`; of these names alone, if there are any. Nothing is
/// connected to.
pub(crate) fn open(config: &Config, dir: &Path, names: &[String]) -> Result<Vec<Target>, CrawlError> {
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let sinks = config.sink.iter().filter(|(name, _)| is_wanted(name));
    let mut targets = sinks.map(|(name, settings)| Target::sink(name, settings)).collect::<Result<Vec<_>, _>>()?;
    for (name, watch) in &config.watch {
        if is_wanted(&Watcher::sink_name(name)) {
            targets.push(Target::watch(name, dir, watch)?);
        }
    }
    match names.iter().find(|name| targets.iter().all(|target| target.name != **name)) {
        Some(unknown) => Err(CrawlError::Usage(format!("there is no [sink.{unknown}] in the settings"))),
        None => Ok(targets),
    }
}

/// Feeds the sinks of `config` beside a crawl in `dir`, if there are any.
pub(super) fn beside(config: &Config, dir: &Path) -> Result<Option<Sinks>, CrawlError> {
    let targets = open(config, dir, &[])?;
    let tell = |sentence: &str| tracing::warn!("{sentence}");
    if targets.is_empty() { Ok(None) } else { Sinks::feed(targets, dir, tell).map(Some) }
}

impl Target {
    fn sink(name: &str, settings: &Settings) -> Result<Target, CrawlError> {
        let refuse = |why: String| CrawlError::Usage(format!("sink.{name}: {why}"));
        let secret = secret(&settings.secret).map_err(refuse)?;
        let sink = sink::open(settings, secret.as_ref()).map_err(|error| refuse(error.to_string()))?;
        Ok(Target { name: name.to_owned(), keeps_documents: true, sink, limits: settings.limits() })
    }

    fn watch(name: &str, dir: &Path, settings: &Watch) -> Result<Target, CrawlError> {
        let sink_name = Watcher::sink_name(name);
        let refuse = |why: String| CrawlError::Usage(format!("{sink_name}: {why}"));
        let webhook = secret(&settings.webhook).map_err(refuse)?;
        let sink = Box::new(Watcher::new(name, dir, settings, webhook.as_ref()).map_err(refuse)?);
        Ok(Target { name: sink_name, keeps_documents: false, sink, limits: sink::Limits::default() })
    }

    /// The delivery into it, whose waits are made by `pause`.
    pub(crate) fn delivery(self, pause: sink::Pause) -> Delivery {
        Delivery::new(&self.name, self.sink, self.limits, pause)
    }
}

/// The secret to which the settings refer, if they do.
fn secret(reference: &Reference) -> Result<Option<Secret>, String> {
    let written = reference.written();
    if written.is_empty() { Ok(None) } else { resolved(written).map(Some) }
}

/// The sentence about a failure after which a sink is tried again.
pub(crate) fn again(name: &str, wait: Duration, why: &str) -> String {
    format!("sink {name}: not delivered, tried again in {}: {}", brief(wait), Escaped(why))
}

/// The part of the crawl that the threads are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The crawl stores answers.
    Beside,
    /// The rest is delivered, and what fails is tried until then.
    Last(Option<Instant>),
    /// Nothing more is delivered.
    Over,
}

#[derive(Debug)]
struct Stage {
    phase: Phase,
    /// Passes after which there may have been changes.
    passes: u64,
}

/// The state that the threads share.
#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    stage: Mutex<Stage>,
    changed: Condvar,
    tell: Tell,
}

impl Shared {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Stage)) {
        change(&mut self.stage());
        self.changed.notify_all();
    }

    /// True until the crawl has ended.
    fn is_beside(&self) -> bool {
        self.stage().phase == Phase::Beside
    }

    /// Waits for `time`, or less if the crawl ends. Says whether it goes on.
    fn rest(&self, time: Duration) -> bool {
        let goes_on = |stage: &mut Stage| stage.phase == Phase::Beside;
        let waited = self.changed.wait_timeout_while(self.stage(), time, goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).0.phase == Phase::Beside
    }

    /// Waits before a delivery is tried again. Says whether it is.
    fn pause(&self, name: &str, wait: Duration, why: &str) -> bool {
        (self.tell)(&again(name, wait, why));
        let phase = self.stage().phase;
        match phase {
            Phase::Beside => self.rest(wait),
            Phase::Last(last) if last.is_none_or(|last| Instant::now() + wait <= last) => {
                thread::sleep(wait);
                true
            }
            Phase::Last(_) | Phase::Over => false,
        }
    }

    /// Waits for passes after the first `seen`. Returns their number; nothing when the crawl has ended.
    fn news(&self, seen: u64) -> Option<u64> {
        let has_none = |stage: &mut Stage| stage.passes == seen && stage.phase == Phase::Beside;
        let stage = self.changed.wait_while(self.stage(), has_none).unwrap_or_else(PoisonError::into_inner);
        (stage.phase == Phase::Beside).then_some(stage.passes)
    }

    /// Makes a pass.
    fn write(&self, writer: &mut FeedWriter) -> Result<Written, ()> {
        let written = writer.write().map_err(|error| (self.tell)(&format!("the sinks get nothing more: {error}")))?;
        self.change(|stage| stage.passes += u64::from(written.may_have_changed));
        Ok(written)
    }
}

/// The sinks of a crawl, which are being fed.
pub(crate) struct Sinks {
    shared: Arc<Shared>,
    writer: JoinHandle<Result<FeedWriter, ()>>,
    readers: Vec<Reading>,
}

/// A thread that feeds a sink.
struct Reading {
    name: String,
    counters: Arc<Counters>,
    thread: JoinHandle<Result<Reader, ()>>,
}

impl Sinks {
    /// Feeds `targets` with the documents of the crawl in `dir`, which need not be there yet.
    pub(crate) fn feed(targets: Vec<Target>, dir: &Path, tell: Tell) -> Result<Sinks, CrawlError> {
        let stage = Mutex::new(Stage { phase: Phase::Beside, passes: 0 });
        let shared = Arc::new(Shared { dir: dir.to_owned(), stage, changed: Condvar::new(), tell });
        let writes = shared.clone();
        let writer = spawn("feed", move || write_beside(&writes))?;
        let readers = targets.into_iter().map(|target| Reading::begin(target, &shared)).collect::<Result<_, _>>()?;
        Ok(Sinks { shared, writer, readers })
    }

    /// The counters of each.
    pub(crate) fn counters(&self) -> SinkCounters {
        self.readers.iter().map(|reading| (reading.name.clone(), reading.counters.clone())).collect()
    }

    /// True if no sink takes anything any more.
    pub(crate) fn have_failed(&self) -> bool {
        self.writer.is_finished() || self.readers.iter().all(|reading| reading.thread.is_finished())
    }

    /// Delivers all that is stored now, and ends. A target that fails is tried for a minute more where the crawl waits,
    /// else as often as its settings say. Says whether all has arrived everywhere.
    pub(crate) fn finish(self, crawl_waits: bool) -> bool {
        let last = crawl_waits.then(|| Instant::now() + GRACE);
        let Ended { shared, writer, readers, have_all } = self.end(Phase::Last(last));
        let Ok(mut writer) = writer else { return false };
        loop {
            match shared.write(&mut writer) {
                Ok(written) if written.has_more => {}
                Ok(_) => break,
                Err(()) => return false,
            }
        }
        let shared = &*shared;
        thread::scope(|scope| {
            let last = |mut reader: Reader| scope.spawn(move || reader.finish(shared).is_ok());
            let threads: Vec<_> = readers.into_iter().map(last).collect();
            threads.into_iter().fold(have_all, |all, thread| thread.join().unwrap_or(false) && all)
        })
    }

    /// Ends after the batches that are on their way.
    pub(crate) fn stop(self) {
        self.end(Phase::Over);
    }

    /// Ends the threads beside the crawl.
    fn end(self, phase: Phase) -> Ended {
        let Sinks { shared, writer, readers } = self;
        shared.change(|stage| stage.phase = phase);
        let writer = writer.join().unwrap_or(Err(()));
        let ended: Vec<_> = readers.into_iter().map(|reading| reading.thread.join().unwrap_or(Err(()))).collect();
        let have_all = ended.iter().all(Result::is_ok);
        Ended { shared, writer, readers: ended.into_iter().flatten().collect(), have_all }
    }
}

/// Sinks whose threads beside the crawl have ended. What went wrong was told.
struct Ended {
    shared: Arc<Shared>,
    writer: Result<FeedWriter, ()>,
    /// Those that took what came so far.
    readers: Vec<Reader>,
    /// True if these are all.
    have_all: bool,
}

fn spawn<T: Send + 'static>(name: &str, run: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, CrawlError> {
    let run = move || {
        lower_priority();
        run()
    };
    let failed = |error| CrawlError::Internal(format!("no thread for sinks: {error}"));
    thread::Builder::new().name(name.to_owned()).spawn(run).map_err(failed)
}

/// Keeps the feed up until the crawl has ended.
fn write_beside(shared: &Shared) -> Result<FeedWriter, ()> {
    let mut writer = FeedWriter::new(&shared.dir, None, shared.tell);
    while shared.is_beside() {
        let written = shared.write(&mut writer)?;
        if !written.has_more {
            shared.rest(writer.rest());
        }
    }
    Ok(writer)
}

impl Reading {
    fn begin(target: Target, shared: &Arc<Shared>) -> Result<Reading, CrawlError> {
        let name = target.name.clone();
        let pause = {
            let (name, shared) = (name.clone(), shared.clone());
            move |wait, why: &str| shared.pause(&name, wait, why)
        };
        let delivery = target.delivery(Box::new(pause));
        let counters = delivery.counters();
        let watched = Watched { delivery, shared: shared.clone(), phase: Phase::Beside };
        let reader = Reader {
            name: name.clone(),
            feed: FeedReader::new(&shared.dir, shared.tell),
            subscription: Subscription::new(watched),
            is_placed: false,
        };
        let shared = shared.clone();
        let thread = spawn(&format!("sink {name}"), move || read_beside(reader, &shared))?;
        Ok(Reading { name, counters, thread })
    }
}

/// Delivers what each pass has changed, until the crawl has ended.
fn read_beside(mut reader: Reader, shared: &Shared) -> Result<Reader, ()> {
    let mut seen = 0;
    while let Some(passes) = shared.news(seen) {
        reader.deliver(shared)?;
        seen = passes;
    }
    Ok(reader)
}

/// A sink, and how far it has got.
struct Reader {
    name: String,
    feed: FeedReader,
    subscription: Subscription<Watched>,
    /// True if it has its cursor.
    is_placed: bool,
}

impl Reader {
    /// Delivers what is new. One that the end of the crawl interrupts goes on afterwards.
    fn deliver(&mut self, shared: &Shared) -> Result<(), ()> {
        let phase = shared.stage().phase;
        self.subscription.consumer().phase = phase;
        match self.deliver_in(shared) {
            Err(sink::Error::Stopped { .. }) if phase == Phase::Beside => Ok(()),
            delivered => delivered.map_err(|error| {
                (shared.tell)(&format!("{}; crawler sink run delivers the rest", Escaped(&error.to_string())));
            }),
        }
    }

    /// Delivers the rest.
    fn finish(&mut self, shared: &Shared) -> Result<(), ()> {
        self.deliver(shared)?;
        let ended = self.subscription.consumer().delivery.rest(true);
        ended.map_err(|error| (shared.tell)(&Escaped(&error.to_string()).to_string()))
    }

    fn deliver_in(&mut self, shared: &Shared) -> Result<(), sink::Error> {
        let Some(mut documents) = self.feed.documents()? else { return Ok(()) };
        if !self.is_placed {
            self.subscription.keep_in_feed(&shared.dir, &self.name)?;
            self.is_placed = true;
        }
        self.subscription.deliver(&mut documents)
    }
}

/// A delivery that ends with the part of the crawl in which it began.
struct Watched {
    delivery: Delivery,
    shared: Arc<Shared>,
    phase: Phase,
}

impl Consumer for Watched {
    type Error = sink::Error;

    fn take(&mut self, step: Step) -> Result<bool, sink::Error> {
        if self.shared.stage().phase != self.phase {
            return Err(self.delivery.stop());
        }
        self.delivery.take(step)
    }

    fn flush(&mut self) -> Result<(), sink::Error> {
        self.delivery.flush()
    }
}
