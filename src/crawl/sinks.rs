//! The sinks of a crawl: targets that get its documents, while it runs or from a process beside it.
//!
//! ```text
//! answers stored ─► writer: a pass ─► feed ─► a reader for each sink ─► delivery
//! ```
//! The writer and the readers are threads of their own, with a lower priority than those of the crawl, and nothing of
//! the crawl waits for them. A reader has its cursor in the directory of the feed, and one batch in memory. At the end
//! of a crawl the writer makes a last pass, and the readers deliver all that is left; a target that fails then is tried
//! for a minute more, and the rest comes with the next run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::CrawlError;
use super::feed::FeedWriter;
use super::threads::lower_priority;
use crate::config::Config;
use crate::config::reference::resolved;
use crate::feed::{self, Documents, Subscription, Waiting};
use crate::sink::{self, Counters, Delivery, Settings};
use crate::text::escape::Escaped;
use crate::text::figures::{brief, counted};

/// Time for which a target that fails is tried when the crawl has ended.
const GRACE: Duration = Duration::from_secs(60);
/// Hosts of which is said that their deletions wait, at most.
const WAITING_SAID: usize = 10;

/// Says something to the operator.
pub(crate) type Tell = fn(&str);

/// A sink that the configuration names.
pub(crate) struct Target {
    /// Its name.
    pub(crate) name: String,
    sink: Box<dyn sink::Sink>,
    limits: sink::Limits,
}

/// Opens the sinks of `config`; of these names alone, if there are any. Nothing is connected to.
pub(crate) fn open(config: &Config, names: &[String]) -> Result<Vec<Target>, CrawlError> {
    if let Some(unknown) = names.iter().find(|name| !config.sink.contains_key(*name)) {
        return Err(CrawlError::Usage(format!("there is no [sink.{unknown}] in the settings")));
    }
    let is_wanted = |name: &String| names.is_empty() || names.contains(name);
    config
        .sink
        .iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, settings)| Target::open(name, settings))
        .collect()
}

/// Feeds the sinks of `config` beside a crawl in `dir`, if there are any.
pub(super) fn beside(config: &Config, dir: &Path) -> Result<Option<Sinks>, CrawlError> {
    let targets = open(config, &[])?;
    let tell = |sentence: &str| tracing::warn!("{sentence}");
    if targets.is_empty() { Ok(None) } else { Sinks::feed(targets, dir, tell).map(Some) }
}

impl Target {
    fn open(name: &str, settings: &Settings) -> Result<Target, CrawlError> {
        let refuse = |why: String| CrawlError::Usage(format!("sink.{name}: {why}"));
        let reference = settings.secret.written();
        let secret = (!reference.is_empty()).then(|| resolved(reference)).transpose().map_err(refuse)?;
        let sink = sink::open(settings, secret.as_ref()).map_err(|error| refuse(error.to_string()))?;
        Ok(Target { name: name.to_owned(), sink, limits: settings.limits() })
    }

    /// The delivery into it, whose waits are made by `pause`.
    pub(crate) fn delivery(self, pause: sink::Pause) -> Delivery {
        Delivery::new(&self.name, self.sink, self.limits, pause)
    }
}

/// The sentence about a failure after which a sink is tried again.
pub(crate) fn again(name: &str, wait: Duration, why: &str) -> String {
    format!("sink {name}: not delivered, tried again in {}: {}", brief(wait), Escaped(why))
}

/// A sentence for each host whose deletions wait.
pub(crate) fn waiting(waiting: &[Waiting]) -> impl Iterator<Item = String> {
    waiting.iter().take(WAITING_SAID).map(|host| {
        let deletions = counted(host.deletions, "document");
        format!(
            "{deletions} of {host} would go, which is more than a day's share: nothing of it is deleted. If that is \
             right: crawler follow --documents --allow-deletions {host}",
            host = Escaped(&host.host)
        )
    })
}

/// The end up to which the threads go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// While the crawl stores answers.
    Crawled,
    /// Until all is delivered that is stored now; a target that fails is tried until then.
    Delivered(Option<Instant>),
    /// No longer than a batch takes.
    Now,
}

/// The state that the threads share.
#[derive(Debug)]
struct Stage {
    until: Until,
    /// Passes after which there may have been changes.
    passes: u64,
    /// True after the last pass.
    is_written: bool,
}

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

    /// Waits for `time`, or less if `until` is not, or no more, the end of the threads. Returns what is.
    fn wait(&self, until: Until, time: Duration) -> Until {
        let holds = |stage: &mut Stage| stage.until == until;
        self.changed.wait_timeout_while(self.stage(), time, holds).unwrap_or_else(PoisonError::into_inner).0.until
    }

    /// Waits before a delivery is tried again. Says whether it is.
    fn pause(&self, name: &str, wait: Duration, why: &str) -> bool {
        (self.tell)(&again(name, wait, why));
        let end = Instant::now() + wait;
        let mut until = self.stage().until;
        loop {
            let last = match until {
                Until::Now => return false,
                Until::Delivered(last) => last,
                Until::Crawled => None,
            };
            let now = Instant::now();
            if last.is_some_and(|last| now >= last) {
                return false;
            }
            if now >= end {
                return true;
            }
            until = self.wait(until, last.map_or(end, |last| last.min(end)) - now);
        }
    }

    /// Waits for passes after the first `seen`. Returns their number, and whether there will be no more; nothing where
    /// the threads are to end.
    fn news(&self, seen: u64) -> Option<(u64, bool)> {
        let has_none = |stage: &mut Stage| stage.passes == seen && !stage.is_written && stage.until != Until::Now;
        let stage = self.changed.wait_while(self.stage(), has_none).unwrap_or_else(PoisonError::into_inner);
        (stage.until != Until::Now).then_some((stage.passes, stage.is_written))
    }
}

/// The sinks of a crawl, which are being fed.
pub(crate) struct Sinks {
    shared: Arc<Shared>,
    writer: JoinHandle<bool>,
    readers: Vec<Reader>,
}

/// A sink, and the thread that feeds it.
struct Reader {
    name: String,
    counters: Arc<Counters>,
    thread: JoinHandle<Result<(), sink::Error>>,
}

/// The counters of a sink, to be read by others.
pub(crate) type SinkCounters = Vec<(String, Arc<Counters>)>;

impl Sinks {
    /// Feeds `targets` with the documents of the crawl in `dir`, which need not be there yet.
    pub(crate) fn feed(targets: Vec<Target>, dir: &Path, tell: Tell) -> Result<Sinks, CrawlError> {
        let stage = Mutex::new(Stage { until: Until::Crawled, passes: 0, is_written: false });
        let shared = Arc::new(Shared { dir: dir.to_owned(), stage, changed: Condvar::new(), tell });
        let writes = shared.clone();
        let writer = spawn("feed", move || write(&writes))?;
        let readers = targets.into_iter().map(|target| Reader::feed(target, &shared)).collect::<Result<_, _>>()?;
        Ok(Sinks { shared, writer, readers })
    }

    /// The counters of each.
    pub(crate) fn counters(&self) -> SinkCounters {
        self.readers.iter().map(|reader| (reader.name.clone(), reader.counters.clone())).collect()
    }

    /// True if no sink takes anything any more.
    pub(crate) fn have_failed(&self) -> bool {
        self.readers.iter().all(|reader| reader.thread.is_finished())
    }

    /// Delivers all that is stored now, and ends. A target that fails is tried for a minute more where the crawl waits,
    /// else as often as its settings say. Says whether all has arrived everywhere.
    pub(crate) fn finish(self, crawl_waits: bool) -> bool {
        let last = crawl_waits.then(|| Instant::now() + GRACE);
        self.end(Until::Delivered(last))
    }

    /// Ends after the batches that are on their way.
    pub(crate) fn stop(self) {
        self.end(Until::Now);
    }

    fn end(self, until: Until) -> bool {
        let Sinks { shared, writer, readers } = self;
        shared.change(|stage| stage.until = until);
        let mut has_all = matches!(writer.join(), Ok(true));
        for reader in readers {
            // the reason was told
            has_all &= matches!(reader.thread.join(), Ok(Ok(())));
        }
        has_all
    }
}

fn spawn<T: Send + 'static>(name: &str, run: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>, CrawlError> {
    let run = move || {
        lower_priority();
        run()
    };
    let failed = |error| CrawlError::Internal(format!("no thread for sinks: {error}"));
    thread::Builder::new().name(name.to_owned()).spawn(run).map_err(failed)
}

/// Keeps the feed up, until all is in it that a crawl has stored at its end. Says whether it could.
fn write(shared: &Shared) -> bool {
    let _last = LastPass(shared);
    let mut writer = FeedWriter::new(&shared.dir, None);
    loop {
        let until = shared.stage().until;
        if until == Until::Now {
            return true;
        }
        let written = match writer.write() {
            Ok(written) => written,
            Err(error) => {
                (shared.tell)(&format!("the sinks get nothing more: {error}"));
                return false;
            }
        };
        if written.unreadable > 0 {
            (shared.tell)(&unreadable(written.unreadable));
        }
        shared.change(|stage| stage.passes += u64::from(written.may_have_changed));
        match until {
            _ if written.has_more => {}
            Until::Crawled => _ = shared.wait(until, writer.rest()),
            Until::Delivered(_) | Until::Now => return true,
        }
    }
}

/// Says at the end of the writer, whatever ends it, that there will be no more passes: readers wait for them.
struct LastPass<'a>(&'a Shared);

impl Drop for LastPass<'_> {
    fn drop(&mut self) {
        self.0.change(|stage| stage.is_written = true);
    }
}

/// The sentence about answers that cannot be read.
pub(crate) fn unreadable(answers: u64) -> String {
    format!("{} cannot be read, and changed nothing", counted(answers, "answer"))
}

impl Reader {
    fn feed(target: Target, shared: &Arc<Shared>) -> Result<Reader, CrawlError> {
        let (name, shared) = (target.name.clone(), shared.clone());
        let pause = {
            let (name, shared) = (name.clone(), shared.clone());
            move |wait, why: &str| shared.pause(&name, wait, why)
        };
        let delivery = target.delivery(Box::new(pause));
        let (counters, sink) = (delivery.counters(), name.clone());
        let run = move || {
            let fed = read(&shared, delivery, &sink);
            if let Err(error) = &fed {
                (shared.tell)(&format!("{}; crawler sink run delivers the rest", Escaped(&error.to_string())));
            }
            fed
        };
        Ok(Reader { thread: spawn(&format!("sink {name}"), run)?, name, counters })
    }
}

/// Delivers what each pass has changed.
fn read(shared: &Shared, delivery: Delivery, name: &str) -> Result<(), sink::Error> {
    let (mut subscription, mut is_placed) = (Subscription::new(delivery), false);
    let (mut seen, mut hosts_said) = (0, 0);
    while let Some((passes, is_last)) = shared.news(seen) {
        match Documents::open(&shared.dir) {
            Err(feed::Error::NoFeed(_)) => {}
            documents => {
                let mut documents = documents?;
                let hosts = documents.waiting();
                if hosts.len() > hosts_said {
                    waiting(&hosts).for_each(|sentence| (shared.tell)(&sentence));
                }
                hosts_said = hosts.len();
                if !is_placed {
                    subscription.keep_in_feed(&shared.dir, name)?;
                    is_placed = true;
                }
                subscription.deliver(&mut documents)?;
            }
        }
        if is_last {
            break;
        }
        seen = passes;
    }
    Ok(())
}
