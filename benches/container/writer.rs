//! The thread that owns the container, and the one that makes its cuts durable.

use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crawler::container::{Container, ContainerOptions, SyncDone, SyncJob, WarcInfo};
use crawler::disk::{Disk, Result};
use crawler::warc::Compression;

use crate::pages::{Batch, Pages};

const CUT_EVERY: Duration = Duration::from_secs(30);
const CUT_EVERY_PAGES: u64 = 1_000_000;
/// Pages that are made together, outside of the measured time.
const BATCH_PAGES: u64 = 4_096;
const SEGMENT_BYTES: u64 = 1 << 30;

/// Figures of the storing.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    pub pages: u64,
    /// Seconds in the container, pages' making left out, the wait for the last cut included.
    pub seconds: f64,
    /// Seconds of CPU that the pages' making took.
    pub making_cpu: f64,
    /// The longest that a page or a cut took, and the number of the page.
    pub pause_max: (Duration, u64),
    pub url_bytes: u64,
    pub cuts: u32,
}

pub struct Writer {
    container: Container,
    jobs: SyncSender<SyncJob>,
    done: Receiver<Result<SyncDone>>,
    syncing: bool,
    cut_due: Instant,
    pages_since_cut: u64,
    pub tally: Tally,
}

/// Runs `work` with a new container in `dir`, whose cuts are made durable on their own thread.
pub fn with_writer<T>(dir: &Path, work: impl FnOnce(Writer) -> Result<T>) -> Result<T> {
    let options = ContainerOptions {
        segment_bytes: SEGMENT_BYTES,
        compression: Compression::Gzip,
        ..ContainerOptions::default()
    };
    let (mut container, mut recovery) = Container::open(Disk::real(), dir, options, WarcInfo::default(), None)?;
    assert!(recovery.next(&mut container)?.is_none(), "the directory is new");
    std::thread::scope(|scope| {
        let (jobs, jobs_in) = sync_channel::<SyncJob>(1);
        let (done_out, done) = sync_channel(1);
        let run = move || jobs_in.into_iter().try_for_each(|job| done_out.send(job.run()).map_err(drop));
        std::thread::Builder::new().name("checkpoint".into()).spawn_scoped(scope, run).expect("a thread");
        work(Writer {
            container,
            jobs,
            done,
            syncing: false,
            cut_due: Instant::now() + CUT_EVERY,
            pages_since_cut: 0,
            tally: Tally::default(),
        })
    })
}

impl Writer {
    /// Stores the pages with these numbers, and makes them durable.
    pub fn store(&mut self, pages: &Pages, numbers: Range<u64>) -> Result<()> {
        let mut batch = Batch::default();
        for first in numbers.clone().step_by(BATCH_PAGES as usize) {
            let before = thread_cpu_seconds();
            pages.fill(&mut batch, first..numbers.end.min(first + BATCH_PAGES));
            self.tally.making_cpu += thread_cpu_seconds() - before;
            self.store_batch(&batch, first)?;
        }
        let begin = Instant::now();
        self.cut_and_wait()?;
        self.tally.seconds += begin.elapsed().as_secs_f64();
        Ok(())
    }

    fn store_batch(&mut self, batch: &Batch, first: u64) -> Result<()> {
        let begin = Instant::now();
        let mut before = begin;
        for (page, number) in batch.pages().zip(first..) {
            self.container.append(&page)?;
            self.pages_since_cut += 1;
            self.tally.pages += 1;
            if number % 64 == 0 {
                self.attend(before)?;
            }
            let now = Instant::now();
            self.tally.pause_max = self.tally.pause_max.max((now - before, number));
            before = now;
        }
        self.tally.seconds += begin.elapsed().as_secs_f64();
        self.tally.url_bytes += batch.url_bytes();
        Ok(())
    }

    fn attend(&mut self, now: Instant) -> Result<()> {
        if self.syncing
            && let Ok(done) = self.done.try_recv()
        {
            self.synced(done)?;
        }
        if !self.syncing && (now >= self.cut_due || self.pages_since_cut >= CUT_EVERY_PAGES) {
            self.cut()?;
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<()> {
        let cut = self.container.cut()?;
        self.jobs.send(cut.job).expect("the checkpoint thread lives");
        self.syncing = true;
        self.pages_since_cut = 0;
        self.cut_due = Instant::now() + CUT_EVERY;
        Ok(())
    }

    fn synced(&mut self, done: Result<SyncDone>) -> Result<()> {
        self.container.synced(done?);
        self.syncing = false;
        self.tally.cuts += 1;
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        if self.syncing {
            let done = self.done.recv().expect("the checkpoint thread lives");
            self.synced(done)?;
        }
        Ok(())
    }

    fn cut_and_wait(&mut self) -> Result<()> {
        self.wait()?;
        self.cut()?;
        self.wait()
    }
}

/// Returns the CPU time of this thread, kernel included.
fn thread_cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = text.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0.0);
    nanoseconds / 1e9
}
