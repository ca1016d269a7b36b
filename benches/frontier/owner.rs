//! The work of the engine's thread with a frontier: it pushes, hands out jobs, takes tasks and answers them at once.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crawler::clock::{Stored, Time};
use crawler::disk::{Disk, Removal, Result};
use crawler::frontier::{
    Budget, Feedback, Frontier, FrontierOptions, FrontierState, NameAnswer, Politeness, RobotsAnswer, Rules,
    SavedFrontier, Task,
};
use crawler::outcome::Blame;

use crate::crew::{Checkpoint, Crew};
use crate::urls::Shape;

const START: Time = Time::from_ms(1_800_000_000_000);
const DAY: Duration = Duration::from_secs(86_400);
/// Calls of the cheap kinds whose times are taken together.
const ROW: u64 = 16;
/// Calls between two looks at the jobs.
const SERVE_EVERY: u64 = 64;
/// URLs between two cuts.
const CUT_EVERY: u64 = 2_000_000;

/// Rules that allow everything.
#[derive(Debug)]
struct Allowed;

impl Rules for Allowed {
    fn allows(&self, _: &str) -> bool {
        true
    }

    fn crawl_delay(&self) -> Option<Duration> {
        None
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"allowed: everything, as a typical set of rules");
    }
}

fn decode_rules(_: &[u8]) -> Option<Arc<dyn Rules>> {
    Some(Arc::new(Allowed))
}

/// The options of a crawl, but for politeness and budget: hosts are always due.
fn options() -> FrontierOptions {
    let politeness = Politeness {
        delay_min: Duration::ZERO,
        delay_factor: 0.0,
        delay_per_ip: Duration::ZERO,
        ..Politeness::default()
    };
    FrontierOptions { politeness, budget: Budget::UNLIMITED, ..FrontierOptions::default() }
}

/// Durations of calls.
#[derive(Clone, Copy, Default)]
pub struct Pauses {
    /// Rows of pushes, of tasks with their answers.
    pub row: Duration,
    /// Planning a job, taking over what it brought.
    pub job: Duration,
    pub cut: Duration,
}

/// The owner of the frontier.
pub struct Owner {
    frontier: Frontier,
    crew: Crew,
    rules: Arc<dyn Rules>,
    now: Time,
    jobs_out: usize,
    pub jobs: [u64; 2],
    checkpointing: bool,
    /// Files that the cut in progress supersedes.
    superseded: Option<Removal>,
    pub cuts: u64,
    pub saved: Option<(FrontierState, Vec<u8>)>,
    pub pauses: Pauses,
    pub fetched: u64,
}

impl Owner {
    pub fn new(dir: &Path, crew: Crew) -> Result<Self> {
        let frontier = Frontier::open(Disk::real(), dir, options(), decode_rules, 1, None, START, true)?;
        Ok(Owner {
            frontier,
            crew,
            rules: Arc::new(Allowed),
            now: START,
            jobs_out: 0,
            jobs: [0; 2],
            checkpointing: false,
            superseded: None,
            cuts: 0,
            saved: None,
            pauses: Pauses::default(),
            fetched: 0,
        })
    }

    pub fn queued(&self) -> u64 {
        self.frontier.queued()
    }

    /// Drops the frontier and opens it again from the last cut.
    pub fn reopen(&mut self, dir: &Path) -> Result<()> {
        let (state, ram) = self.saved.as_ref().expect("a cut was made");
        let saved = Some(SavedFrontier { state, ram, cut: Stored::new(self.now) });
        self.frontier = Frontier::open(Disk::real(), dir, options(), decode_rules, 1, saved, self.now, true)?;
        Ok(())
    }

    /// Pushes URLs and does the jobs that they make due.
    pub fn push_all(&mut self, shape: Shape, urls: u64) -> Result<()> {
        let mut text = String::new();
        let mut row = Vec::with_capacity(ROW as usize);
        for start in (0..urls).step_by(ROW as usize) {
            row.extend((start..urls.min(start + ROW)).map(|n| shape.url(n, &mut text)));
            let begin = Instant::now();
            for url in row.drain(..) {
                self.frontier.push(url, self.now)?;
            }
            self.pauses.row = self.pauses.row.max(begin.elapsed());
            if start % SERVE_EVERY == 0 {
                self.tick();
                self.serve()?;
            }
            if start % CUT_EVERY == 0 && start > 0 {
                self.cut()?;
            }
        }
        self.settle()
    }

    /// Lets a little virtual time pass.
    fn tick(&mut self) {
        self.now = self.now + Duration::from_millis(1);
    }

    /// Hands out jobs, and takes over those that are done.
    fn serve(&mut self) -> Result<()> {
        while let Ok(done) = self.crew.done.try_recv() {
            self.finish(done?)?;
        }
        self.plan()
    }

    fn finish(&mut self, done: crawler::frontier::PartitionDone) -> Result<()> {
        self.jobs_out -= 1;
        let begin = Instant::now();
        self.frontier.finish_job(done, self.now)?;
        self.pauses.job = self.pauses.job.max(begin.elapsed());
        Ok(())
    }

    fn plan(&mut self) -> Result<()> {
        loop {
            let begin = Instant::now();
            let starving = self.frontier.starving(self.now);
            let job = self.frontier.next_job(starving)?;
            self.pauses.job = self.pauses.job.max(begin.elapsed());
            let Some(job) = job else { return Ok(()) };
            self.jobs[usize::from(job.is_merge())] += 1;
            self.jobs_out += 1;
            self.crew.jobs.send(job).expect("the crew works");
        }
    }

    /// Works until no job is due.
    fn settle(&mut self) -> Result<()> {
        self.plan()?;
        while self.jobs_out > 0 {
            let done = self.crew.done.recv().expect("the crew works");
            self.finish(done?)?;
            self.plan()?;
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<()> {
        self.await_checkpoint()?;
        let mut ram = Vec::new();
        let begin = Instant::now();
        let cut = self.frontier.cut(&mut ram)?;
        self.pauses.cut = self.pauses.cut.max(begin.elapsed());
        self.saved = None;
        self.superseded = Some(Removal::new(&Disk::real(), cut.superseded));
        let checkpoint = Checkpoint { ram, sync: cut.sync, sync_dirs: cut.sync_dirs };
        self.crew.checkpoints.send(checkpoint).expect("the crew works");
        self.checkpointing = true;
        self.cuts += 1;
        Ok(())
    }

    fn await_checkpoint(&mut self) -> Result<()> {
        if std::mem::take(&mut self.checkpointing) {
            self.crew.checkpointed.recv().expect("the crew works")?;
            self.superseded.take().map_or(Ok(()), Removal::run)?;
        }
        Ok(())
    }

    /// A cut that is durable when this returns, and is kept for [`Owner::reopen`].
    pub fn cut_and_wait(&mut self) -> Result<()> {
        self.cut()?;
        self.await_checkpoint()?;
        let mut ram = Vec::new();
        let cut = self.frontier.cut(&mut ram)?;
        self.saved = Some((cut.state, ram));
        Ok(())
    }

    /// Takes everything out.
    pub fn drain(&mut self) -> Result<()> {
        self.plan()?;
        let mut cut_at = CUT_EVERY;
        while !self.frontier.is_idle() {
            let before = self.fetched;
            self.tick();
            let mut some = true;
            while some && self.fetched < before + SERVE_EVERY {
                let begin = Instant::now();
                for _ in 0..ROW {
                    some = some && self.answer_next()?;
                }
                self.pauses.row = self.pauses.row.max(begin.elapsed());
            }
            self.serve()?;
            if !some && self.jobs_out > 0 {
                let done = self.crew.done.recv().expect("the crew works");
                self.finish(done?)?;
                self.plan()?;
            }
            if self.fetched >= cut_at {
                self.cut()?;
                cut_at += CUT_EVERY;
            }
        }
        self.settle()
    }

    /// Answers the next task, if there is one.
    fn answer_next(&mut self) -> Result<bool> {
        let now = self.now;
        let Some(task) = self.frontier.next(now)? else { return Ok(false) };
        match task {
            Task::Resolve { host, name } => {
                let bits = name.bytes().fold(0_u32, |bits, byte| bits.wrapping_mul(31) ^ u32::from(byte));
                let address = IpAddr::V4(Ipv4Addr::from(bits | 1 << 24));
                self.frontier.resolved(host, NameAnswer::Found([address].into()), now + DAY, now)?;
            }
            Task::Robots { host, .. } => {
                let (rules, duration) = (self.rules.clone(), Duration::from_millis(1));
                let answer = RobotsAnswer::Rules { rules, expires: now + DAY, duration, bytes: 100 };
                self.frontier.robots(host, answer, now)?;
            }
            Task::Fetch { host, addresses, .. } => {
                self.fetched += 1;
                let feedback = Feedback {
                    is_turned_away: false,
                    started: now,
                    duration: Duration::from_millis(1),
                    bytes: 10_000,
                    blame: Blame::Nobody,
                    failure: None,
                    retry_after: None,
                    address: Some(addresses[0]),
                    counts_as_page: true,
                    may_lower_delay: true,
                };
                self.frontier.done(host, &feedback, None, now)?;
            }
            Task::Drop { .. } => unreachable!("everything is allowed and no host fails"),
        }
        Ok(true)
    }
}
