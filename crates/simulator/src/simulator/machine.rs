//! The machine that runs a case: processes of the crawler one after the other, on one disk and one network.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::case::{Case, End, Life, WholeLimits};
use super::clause::{Clause, Violation};
use super::moment;
use super::named::Named;
use super::network::{Network, millis};
use super::places;
use super::support;
use super::walls::Walls;
use super::{BEGIN, DIR};
use crate::checkpoint::Identity;
use crate::clock::Time;
use crate::container::Reader;
use crate::disk::simulated::{Fault, Restart, SimulatedDisk};
use crate::disk::{self, Disk};
use crate::engine::SupportOptions;
use crate::record::layout;
use crate::record::{Finish, Statistics};
use crate::shard::Shard;
use crate::simweb::PaperWeb;
use crate::web::url::CanonicalUrl;

/// Its memory is looked at after this many events.
const LOOK_EVERY: u64 = 8;
/// Steps of one shard in one process: no crawl of this size takes as many. A shard that has nothing left to do makes a
/// checkpoint in each interval, for as long as another one waits for its hosts.
const STEPS_MAX: u64 = 2_000_000;

/// The machine.
pub(super) struct Machine {
    case: Case,
    pub simulated: SimulatedDisk,
    pub network: Rc<RefCell<Network>>,
    seeds: Vec<CanonicalUrl>,
    /// Milliseconds since the beginning, by no clock of the crawler.
    pub true_now: u64,
    /// The crawler's clock.
    pub clock_now: Time,
    pub boot: u32,
    /// Identity of the whole crawl, where it has several shards.
    pub identity: Option<Identity>,
    /// Times and ways in which processes ended, in true time.
    pub ends: Vec<moment::Ended>,
    /// URLs that were named by the pages that the crawler has seen.
    pub named: Named,
    /// Pages that a process found behind its checkpoint, and when they were asked for.
    pub replayed: Rc<RefCell<HashSet<(String, Time)>>>,
    /// Steps of one shard in one process, at most.
    pub steps_max: u64,
}

/// Ways in which a process came to its end.
pub(super) enum Ran {
    Finished(Finish),
    Gone,
    Failed(disk::Error),
}

impl Machine {
    pub(super) fn new(case: Case) -> std::io::Result<Self> {
        let web = PaperWeb::new(case.web.clone())?;
        let seeds = web.seeds().iter().filter_map(|seed| CanonicalUrl::parse(seed).ok()).collect();
        let simulated = SimulatedDisk::new(case.seed ^ 0x5d15);
        let walls = case.walls.map(|options| Walls::new(options, case.seed ^ 0xa11));
        let network = Network::new(web, case.trouble, case.renders(), case.seed ^ 0x9e7, walls);
        Ok(Machine {
            simulated,
            network: Rc::new(RefCell::new(network)),
            seeds,
            true_now: 0,
            clock_now: BEGIN,
            boot: 0,
            identity: None,
            ends: Vec::new(),
            named: Named::default(),
            replayed: Rc::default(),
            steps_max: STEPS_MAX,
            case,
        })
    }

    /// A machine beside this one, with its own disk, on the same network.
    pub(super) fn beside(&self, disk_seed: u64) -> Machine {
        Machine {
            case: self.case.clone(),
            simulated: SimulatedDisk::new(disk_seed),
            network: self.network.clone(),
            seeds: self.seeds.clone(),
            identity: self.identity.clone(),
            ends: Vec::new(),
            named: Named::default(),
            replayed: Rc::default(),
            ..*self
        }
    }

    /// Requests to the hosts that `text` names, the last ones, and when processes ended.
    pub(super) fn requests_of(&self, text: &str) -> Vec<String> {
        const SHOWN: usize = 40;
        let network = self.network.borrow();
        let named = network.log.iter().filter(|request| text.contains(&request.host));
        let lines: Vec<String> = named
            .map(|request| format!("{}-{} ms {} {:?}", request.start, request.end, request.url, request.status))
            .collect();
        let ends = self.ends.iter().map(|end| format!("process ended at {} ms", end.at));
        lines[lines.len().saturating_sub(SHOWN)..].iter().cloned().chain(ends).collect()
    }

    /// Files of the disk may become so long.
    pub(super) fn let_files_grow(&self, bytes_max: u64) {
        self.simulated.let_files_grow(bytes_max);
    }

    /// Returns the last operations of the disk.
    pub(super) fn trace(&self) -> Vec<String> {
        self.simulated.trace()
    }

    /// Changes of the disk so far.
    pub(super) fn changes(&self) -> u64 {
        self.simulated.changes()
    }

    /// Requests in the upper half, changes of the disk in the lower one.
    pub(super) fn log_checksum(&self) -> u64 {
        let mut requests = crc32fast::Hasher::new();
        for request in &self.network.borrow().log {
            let (times, answer) = ((request.start, request.end), (request.status, request.bytes, request.address));
            requests.update(format!("{times:?} {} {answer:?}\n", request.url).as_bytes());
        }
        u64::from(requests.finalize()) << 32 | u64::from(self.simulated.log_checksum())
    }

    pub(super) fn network(&self) -> std::cell::Ref<'_, Network> {
        self.network.borrow()
    }

    pub(super) fn seeds(&self) -> &[CanonicalUrl] {
        &self.seeds
    }

    pub(super) fn case(&self) -> &Case {
        &self.case
    }

    pub(super) fn disk(&self) -> Disk {
        self.simulated.disk()
    }

    /// The shards of the crawl.
    pub(super) fn shards(&self) -> impl Iterator<Item = Shard> + use<> {
        Shard::all(self.case.shards)
    }

    /// Returns the directory of a shard.
    pub(super) fn dir_of(&self, shard: Shard) -> PathBuf {
        if shard.is_whole() { PathBuf::from(DIR) } else { Path::new(DIR).join(shard.dir_name()) }
    }

    /// Returns how the process that is open, or was last, counts supporters.
    pub(super) fn support(&self) -> SupportOptions {
        let is_on = self.case.support.is_on && self.boot > self.case.support_late;
        SupportOptions { is_on, ..self.case.support }
    }

    /// Holds the supporters that were counted against the archive.
    pub(super) fn judge_support(&self, is_complete: bool) -> Result<(), Violation> {
        let subject = support::Subject {
            disk: self.disk(),
            dirs: self.shards().map(|shard| self.dir_of(shard)).collect(),
            case: &self.case,
            seeds: &self.seeds,
            process: &|keys| self.process(keys),
        };
        support::judge(&subject, is_complete)
    }

    /// Returns the directories of the archives of all shards.
    pub(super) fn archives(&self) -> Vec<PathBuf> {
        self.shards().map(|shard| self.dir_of(shard).join(layout::PAGES)).collect()
    }

    /// Runs the case to the end of its crawl.
    pub(super) fn run(&mut self) -> Result<Statistics, Violation> {
        for life in self.case.lives.clone() {
            if let End::Disk { after, fault, .. } = life.end {
                self.simulated.fail_at(self.simulated.changes() + after, fault);
            }
            let ran = self.live(Some(&life))?;
            self.end(life.end, &ran)?;
            self.rest(life.pause, life.clock_set);
            if let (Some(ended), Some((_, back))) = (self.ends.last_mut(), life.clock_set) {
                (ended.clock_set_forward, ended.clock_set_back) = (!back, back);
            }
        }
        if let Some(watch) = self.case.watch {
            self.watch(watch.time)?;
        }
        for _ in 0..2 {
            match self.live(None)? {
                Ran::Finished(Finish::Complete | Finish::Fresh) => {
                    let finished = self.finished()?;
                    return Ok(finished);
                }
                Ran::Finished(finish @ Finish::LinksLost) => {
                    return Err(Violation::new(Clause::NothingMissing, finish.to_string()));
                }
                // a stop that was asked for before the last life began to count
                Ran::Finished(_) => {}
                Ran::Failed(error) => return Err(Violation::new(Clause::Reopens, error.to_string())),
                Ran::Gone => return Err(Violation::new(Clause::Reopens, "gone without a cause")),
            }
        }
        Err(Violation::new(Clause::Ends, "the crawl stops again and again"))
    }

    /// Lets the crawl, which does not end by itself, go on until it has run for `time` in all. The next one ends when
    /// nothing is due.
    fn watch(&mut self, time: Duration) -> Result<(), Violation> {
        let limits = WholeLimits { time: Some(time), ..WholeLimits::default() };
        let life = Life { end: End::Stop { after: u64::MAX }, limits, pause: Duration::ZERO, clock_set: None };
        loop {
            match self.live(Some(&life))? {
                Ran::Finished(Finish::TimeLimit) => break,
                Ran::Finished(Finish::StoppedBySignal) => {}
                Ran::Finished(finish) => return Err(Violation::new(Clause::Ends, format!("it ended by {finish}"))),
                Ran::Failed(error) => return Err(Violation::new(Clause::Reopens, error.to_string())),
                Ran::Gone => return Err(Violation::new(Clause::Reopens, "gone without a cause")),
            }
        }
        if let Some(recrawl) = &mut self.case.recrawl {
            recrawl.until_fresh = true;
        }
        Ok(())
    }

    /// Runs one more process after the crawl is complete, which finds it so, and asks for nothing.
    pub(super) fn finished(&mut self) -> Result<Statistics, Violation> {
        self.rest(Duration::from_secs(1), None);
        let before = self.network.borrow().log.len();
        let opened = self.open(WholeLimits::default())?;
        let mut process = opened.map_err(|error| Violation::new(Clause::Reopens, error.to_string()))?;
        let statistics = process.statistics();
        let dirs: Vec<PathBuf> = self.shards().map(|shard| self.dir_of(shard)).collect();
        let waiting = places::waiting(&self.disk(), &dirs, self.clock_now);
        process.is_complete(waiting.map_err(|error| Violation::new(Clause::Sound, error.to_string()))?)?;
        drop(process);
        match self.live(None)? {
            // by now something may be due
            Ran::Finished(Finish::Fresh) => Ok(statistics),
            Ran::Finished(Finish::Complete) if self.network.borrow().log.len() == before => Ok(statistics),
            _ => Err(Violation::new(Clause::NothingTwice, "a complete crawl asks for more")),
        }
    }

    /// One process from its start to its end.
    pub(super) fn live(&mut self, life: Option<&Life>) -> Result<Ran, Violation> {
        let (end, limits) = (life.map(|life| life.end), life.map(|life| life.limits).unwrap_or_default());
        let opened = self.open(limits)?;
        let mut process = match opened {
            Ok(process) => process,
            Err(error) => return self.failed(end, error),
        };
        let (mut events, stored_before) = (0, process.statistics().counted_pages());
        let (steps_max, begun) = (self.steps_max * u64::from(self.case.shards), self.true_now);
        for _ in 0..steps_max {
            if let Some(End::Between { after, .. }) = end
                && events >= after
            {
                process.balanced(false)?;
                return Ok(Ran::Gone);
            }
            let stop = matches!(end, Some(End::Stop { after }) if events == after);
            let stepped = process.step(&self.case, stop, &mut events);
            self.true_now = process.true_now();
            self.clock_now = process.now();
            process.watch(&self.network.borrow(), self.gap_min())?;
            process.idled.take().map_or(Ok(()), Err)?;
            for names in process.named.drain(..) {
                self.named.note(names);
            }
            if events % LOOK_EVERY == 0 && stepped.is_ok() {
                process.bounded(&self.case)?;
                process.balanced(false)?;
            }
            match stepped {
                Ok(None) => {}
                Ok(Some(finish)) => {
                    process.balanced(matches!(finish, Finish::Complete | Finish::Fresh))?;
                    moment::within_limits(limits, finish, &process.statistics(), stored_before)?;
                    return Ok(Ran::Finished(finish));
                }
                Err(error) => {
                    drop(process);
                    return self.failed(end, error);
                }
            }
        }
        Err(Violation::new(Clause::Ends, format!("no end after {steps_max} steps, and {} ms", self.true_now - begun)))
    }

    /// Returns the number of milliseconds after which a page may be asked for again whose answer is in the archive, if
    /// ever. A clock that was set says nothing about that.
    fn gap_min(&self) -> Option<u64> {
        let is_set = self.ends.iter().any(|end| end.clock_set_back || end.clock_set_forward);
        self.case.watch.as_ref().map(|watch| if is_set { 0 } else { watch.gap_min() })
    }

    /// A process met an error: that is right if the disk had one for it.
    fn failed(&self, end: Option<End>, error: disk::Error) -> Result<Ran, Violation> {
        let struck = matches!(end, Some(End::Disk { .. })) && !self.simulated.has_faults();
        if struck { Ok(Ran::Failed(error)) } else { Err(Violation::new(Clause::Reopens, error.to_string())) }
    }

    /// Leaves the disk and the machine as a process leaves them that has come to this end.
    fn end(&mut self, end: End, ran: &Ran) -> Result<(), Violation> {
        let restart = match (end, ran) {
            (_, Ran::Finished(_)) => Restart::Killed,
            (End::Disk { restart, .. } | End::Between { restart, .. }, _) => restart,
            (End::Stop { .. }, _) => Restart::Killed,
        };
        let clean = matches!(ran, Ran::Finished(_));
        if let (End::Disk { fault: Fault::Full | Fault::Error, .. }, Ran::Gone) = (end, ran) {
            return Err(Violation::new(Clause::Reopens, "a fault of the disk ended the process in silence"));
        }
        self.network.borrow_mut().hang_up(self.true_now, |_| true);
        self.ends.push(moment::Ended {
            at: self.true_now,
            clean,
            power_cut: restart == Restart::PowerCut,
            clock_set_forward: false,
            clock_set_back: false,
            taken_over: false,
        });
        self.simulated.clear_faults();
        self.simulated.make_room();
        self.simulated.restart(restart);
        if self.support().is_on {
            self.judge_support(false)?;
        }
        if self.case.watch.is_none() {
            return Ok(());
        }
        let dirs: Vec<PathBuf> = self.shards().map(|shard| self.dir_of(shard)).collect();
        places::judge(&self.disk(), &dirs)
    }

    fn rest(&mut self, pause: Duration, clock_set: Option<(Duration, bool)>) {
        self.true_now += millis(pause);
        self.clock_now = self.clock_now + pause;
        match clock_set {
            Some((by, true)) => self.clock_now = self.clock_now - by,
            Some((by, false)) => self.clock_now = self.clock_now + by,
            None => {}
        }
    }

    /// URLs whose newest answer in the archive is final, and when they were asked for by the crawler's clock. Requests
    /// whose answers are there are marked.
    pub(super) fn archived(&self) -> disk::Result<HashMap<String, Time>> {
        let mut newest = HashMap::new();
        let mut answers = HashSet::new();
        for pages in self.archives() {
            for record in Reader::open(self.simulated.disk(), &pages)?.records() {
                let record = record?;
                if moment::asks_for_rest(record.status) {
                    answers.insert((record.url.clone(), record.time));
                }
                if !record.robots && !record.of_rendering {
                    let is_final = moment::is_final(record.status, record.truncated);
                    newest.insert(record.url, is_final.then_some(record.time));
                }
            }
        }
        for request in self.network.borrow_mut().log.iter_mut().filter(|request| !request.rest.is_zero()) {
            request.archived |= answers.contains(&(request.url.clone(), request.started));
        }
        Ok(newest.into_iter().filter_map(|(url, time)| Some((url, time?))).collect())
    }
}
