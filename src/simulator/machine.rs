//! The machine that runs a case: processes of the crawler one after the other, on one disk and one network.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::DIR;
use super::case::{Case, End, Life, WholeLimits};
use super::clause::{Clause, Violation};
use super::event_queue::{EventQueue, Hands};
use super::moment;
use super::named::Named;
use super::network::{Network, millis};
use crate::catalog::{Catalog, MemoryCatalog};
use crate::clock::{Clock, ManualClock, Time};
use crate::container::Reader;
use crate::container::WarcInfo;
use crate::disk::simulated::{Fault, Restart, SimulatedDisk};
use crate::disk::{self, Disk};
use crate::engine::{Accounts, Commons, Engine, Event, Opening, Past, Phase, Processed, Purpose, StopBy, mend};
use crate::process::{ProcessOptions, Processor};
use crate::record::{CrawlLog, Finish, SkippedLog, Statistics};
use crate::simweb::PaperWeb;
use crate::web::address::AddressGuard;
use crate::web::seeds::Seed;
use crate::web::url::CanonicalUrl;

/// Its memory is looked at after so many events.
const LOOK_EVERY: u64 = 8;
/// Steps of one process: no crawl of this size takes as many.
const STEPS_MAX: u64 = 2_000_000;

/// The machine.
pub(super) struct Machine {
    case: Case,
    simulated: SimulatedDisk,
    network: Rc<RefCell<Network>>,
    seeds: Vec<CanonicalUrl>,
    /// Milliseconds since the beginning, by no clock of the crawler.
    true_now: u64,
    /// The crawler's clock.
    clock_now: Time,
    boot: u32,
    /// When and how processes ended, in true time.
    pub ends: Vec<moment::Ended>,
    /// What was named by the pages that the crawler has seen.
    pub named: Named,
}

/// One process of the crawler.
struct Process {
    engine: Engine,
    event_queue: Rc<RefCell<EventQueue>>,
    clock: Arc<ManualClock>,
    processor: Processor,
    past: Past,
    /// URLs whose final answer is in the archive.
    done: HashSet<String>,
    /// The one of the last step.
    stored: Option<String>,
    /// What the answer of the last step names: its URL, its links, where it redirects.
    named: Option<(String, Vec<String>, Option<String>)>,
    /// Requests of the log that were judged.
    seen: usize,
}

/// How a process came to its end.
enum Ran {
    Finished(Finish),
    Gone,
    Failed(disk::Error),
}

impl Machine {
    pub(super) fn new(case: Case) -> std::io::Result<Self> {
        let web = PaperWeb::new(case.web.clone())?;
        let seeds = web.seeds().iter().filter_map(|seed| CanonicalUrl::parse(seed).ok()).collect();
        let simulated = SimulatedDisk::new(case.seed ^ 0x5d15);
        let network = Network::new(web, case.trouble, case.seed ^ 0x9e7);
        Ok(Machine {
            simulated,
            network: Rc::new(RefCell::new(network)),
            seeds,
            true_now: 0,
            clock_now: Time::from_ms(1_700_000_000_000),
            boot: 0,
            ends: Vec::new(),
            named: Named::default(),
            case,
        })
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

    /// What the disk did last.
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
        for _ in 0..2 {
            match self.live(None)? {
                Ran::Finished(Finish::Complete) => {
                    let finished = self.finished()?;
                    return Ok(finished);
                }
                // a stop that was asked for before the last life began to count
                Ran::Finished(_) => {}
                Ran::Failed(error) => return Err(Violation::new(Clause::Reopens, error.to_string())),
                Ran::Gone => return Err(Violation::new(Clause::Reopens, "gone without a cause")),
            }
        }
        Err(Violation::new(Clause::Ends, "the crawl stops again and again"))
    }

    /// After the crawl is complete, one more process finds it so, and asks for nothing.
    fn finished(&mut self) -> Result<Statistics, Violation> {
        self.rest(Duration::from_secs(1), None);
        let before = self.network.borrow().log.len();
        let opened = self.open(WholeLimits::default())?;
        let mut process = opened.map_err(|error| Violation::new(Clause::Reopens, error.to_string()))?;
        let statistics = process.engine.statistics();
        let accounts = process.engine.accounts();
        if accounts.replayed > 0 {
            let what = format!("a stored page belongs to no URL that was admitted: {accounts:?}");
            return Err(Violation::new(Clause::OneOutcome, what));
        }
        if process.past != Past::Stopped(Finish::Complete) {
            return Err(Violation::new(Clause::Reopens, format!("a complete crawl is {:?}", process.past)));
        }
        drop(process);
        match self.live(None)? {
            Ran::Finished(Finish::Complete) if self.network.borrow().log.len() == before => Ok(statistics),
            _ => Err(Violation::new(Clause::NothingTwice, "a complete crawl asks for more")),
        }
    }

    /// One process from its start to its end.
    fn live(&mut self, life: Option<&Life>) -> Result<Ran, Violation> {
        let (end, limits) = (life.map(|life| life.end), life.map(|life| life.limits).unwrap_or_default());
        let opened = self.open(limits)?;
        let mut process = match opened {
            Ok(process) => process,
            Err(error) => return self.failed(end, error),
        };
        let (mut events, stored_before) = (0, process.engine.accounts().stored);
        for _ in 0..STEPS_MAX {
            if let Some(End::Between { after, .. }) = end
                && events >= after
            {
                moment::balanced(&process.engine.accounts(), false)?;
                return Ok(Ran::Gone);
            }
            let stop = matches!(end, Some(End::Stop { after }) if events == after);
            let stepped = process.step(&self.case, stop, &mut events);
            self.true_now = process.event_queue.borrow().true_now();
            self.clock_now = process.clock.now();
            process.watch(&self.network.borrow())?;
            if let Some((url, names, redirect)) = process.named.take() {
                self.named.note(url, names, redirect);
            }
            if events % LOOK_EVERY == 0 && stepped.is_ok() {
                moment::bounded(&self.case, &process.engine.gauges())?;
                moment::balanced(&process.engine.accounts(), false)?;
            }
            match stepped {
                Ok(None) => {}
                Ok(Some(finish)) => {
                    let accounts = process.engine.accounts();
                    moment::balanced(&accounts, finish == Finish::Complete)?;
                    moment::within_limits(limits, finish, &process.engine.statistics(), stored_before)?;
                    return Ok(Ran::Finished(finish));
                }
                Err(error) => {
                    drop(process);
                    return self.failed(end, error);
                }
            }
        }
        Err(Violation::new(Clause::Ends, format!("no end after {STEPS_MAX} steps")))
    }

    /// A process met an error: that is right if the disk had one for it.
    fn failed(&self, end: Option<End>, error: disk::Error) -> Result<Ran, Violation> {
        let struck = matches!(end, Some(End::Disk { .. })) && !self.simulated.has_faults();
        if struck { Ok(Ran::Failed(error)) } else { Err(Violation::new(Clause::Reopens, error.to_string())) }
    }

    /// What the end of a process leaves.
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
        self.network.borrow_mut().hang_up(self.true_now);
        self.ends.push(moment::Ended {
            at: self.true_now,
            clean,
            power_cut: restart == Restart::PowerCut,
            clock_set_forward: false,
            clock_set_back: false,
        });
        self.simulated.clear_faults();
        self.simulated.make_room();
        self.simulated.restart(restart);
        Ok(())
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

    /// Opens the crawl as a new process does. The account of its URLs balances as the checkpoint has it, and after the
    /// replay.
    fn open(&mut self, limits: WholeLimits) -> Result<disk::Result<Process>, Violation> {
        let mut accounts = Vec::new();
        let opened = self.open_unjudged(limits, &mut accounts);
        accounts.iter().try_for_each(|accounts| moment::balanced(accounts, false))?;
        Ok(opened)
    }

    fn open_unjudged(&mut self, limits: WholeLimits, accounts: &mut Vec<Accounts>) -> disk::Result<Process> {
        self.boot += 1;
        let clock = Arc::new(ManualClock::new(self.clock_now));
        let event_queue = EventQueue::new(
            clock.clone(),
            self.network.clone(),
            (self.simulated.clone(), self.case.mistake),
            self.true_now,
            self.case.seed ^ u64::from(self.boot) << 32,
        );
        let event_queue = Rc::new(RefCell::new(event_queue));
        let (mut opening, process) = self.opening(clock.clone(), Box::new(Hands(event_queue.clone())))?;
        let settings = &mut opening.settings;
        (settings.pages_max, settings.bytes_max, settings.time_max) = (limits.pages, limits.bytes, limits.time);
        let (mut engine, recovery, past) = Engine::open(opening, &mut |_, _| {}).map_err(|error| match error {
            crate::engine::OpenError::Disk(error) => error,
            crate::engine::OpenError::Scope(error) => {
                disk::Error::damaged(Path::new(DIR), 0, "a scope", error.to_string())
            }
        })?;
        let mut processor = Processor::new(process);
        let mut find =
            |url: &_, purpose: Purpose<'_>, response: &_, scope: &_| processor.findings(url, purpose, response, scope);
        accounts.push(engine.accounts());
        engine.replay(recovery, &mut find, &mut |_, _| {})?;
        accounts.push(engine.accounts());
        engine.admit_listed();
        let done = self.archived()?;
        let seen = self.network.borrow().log.len();
        Ok(Process { engine, event_queue, clock, processor, past, done, stored: None, named: None, seen })
    }

    fn opening(
        &self,
        clock: Arc<ManualClock>,
        executors: Box<dyn crate::engine::Executors>,
    ) -> disk::Result<(Opening, ProcessOptions)> {
        let disk = self.simulated.disk();
        let dir = PathBuf::from(DIR);
        for part in ["catalog", "url-seen", "robots", "dns", "frontier", "pages", "logs"] {
            disk.create_dir_all(&dir.join(part))?;
        }
        let entries = dir.join("catalog").join("entries");
        if self.loses_catalog() {
            disk.remove(&entries)?;
        }
        let catalog: Arc<dyn Catalog> = Arc::new(MemoryCatalog::open(disk.clone(), entries)?);
        // also where the process before died over that
        if catalog.scan("")?.is_empty() && mend::look(&disk, &*catalog, &dir).is_err() {
            mend::refill(&disk, &*catalog, &dir)?;
        }
        let shape = (self.case.drum.buckets, self.case.partitions, &[][..]);
        let random = u128::from(self.case.seed) << 64 | 0xc4a5;
        let (identity, is_new) = mend::begin(&disk, &*catalog, &dir, (clock.now(), random), shape)?;
        let keys = Arc::new(identity.key_maker());
        let loopback = "127.0.0.0/8".parse().expect("loopback is a network");
        let process = ProcessOptions {
            keys: keys.clone(),
            agent_token: "crawler".to_owned(),
            links_max: 10_000,
            url_bytes_max: 2_048,
            decoded_max: 1 << 20,
            robots_bytes_max: 500 << 10,
            sitemaps_max: 1_000,
            respect_nofollow: true,
            request_records: true,
            compression: self.case.container.compression,
            guard: AddressGuard::new(&[loopback]),
        };
        let opening = Opening {
            crawl_log: CrawlLog::open(&disk, &dir)?,
            skipped_log: SkippedLog::open(&disk, &dir)?,
            exchange: None,
            disk,
            dir,
            catalog,
            commons: Commons::new(&self.case.settings, clock.clone()),
            wake: Arc::new(|| {}),
            clock,
            executors,
            container: crate::container::ContainerOptions { crawl_id: identity.id, ..self.case.container.clone() },
            identity,
            is_new,
            keys,
            settings: self.case.settings.clone(),
            scope: self.case.scope.clone(),
            force: false,
            name_settings: String::new(),
            seeds: Box::new(self.seeds.clone().into_iter().map(|url| Seed {
                line: 0,
                url,
                fallback: None,
                names_user: false,
            })),
            drum: self.case.drum,
            seen_front: self.case.front,
            host_front: self.case.front,
            frontier: self.case.frontier.clone(),
            warcinfo: WarcInfo::default(),
        };
        Ok((opening, process))
    }

    /// Whether the catalog is lost before this start, so that it has to be rebuilt from a checkpoint file: in an
    /// eighth of those that are not the last.
    fn loses_catalog(&self) -> bool {
        let drawn = (self.case.seed << 8 | u64::from(self.boot)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
        drawn == 0 && (self.boot as usize) <= self.case.lives.len() && self.case.mistake.is_none()
    }

    /// URLs whose newest answer in the archive is final. Requests whose answers lie there are marked.
    fn archived(&self) -> disk::Result<HashSet<String>> {
        let reader = Reader::open(self.simulated.disk(), &Path::new(DIR).join("pages"))?;
        let mut newest = HashMap::new();
        let mut answers = HashSet::new();
        for record in reader.records() {
            let record = record?;
            if moment::asks_for_rest(record.status) {
                answers.insert((record.url.clone(), record.time));
            }
            if !record.robots {
                newest.insert(record.url, moment::is_final(record.status, record.truncated));
            }
        }
        for request in self.network.borrow_mut().log.iter_mut().filter(|request| !request.rest.is_zero()) {
            request.archived |= answers.contains(&(request.url.clone(), request.started));
        }
        Ok(newest.into_iter().filter_map(|(url, is_final)| is_final.then_some(url)).collect())
    }
}

impl Process {
    /// Lets the engine do what it can, then the next thing happen.
    fn step(&mut self, case: &Case, stop: bool, events: &mut u64) -> disk::Result<Option<Finish>> {
        self.engine.pump()?;
        if let Phase::Done { finish } = self.engine.phase() {
            return Ok(Some(finish));
        }
        if stop {
            *events += 1;
            self.engine.handle(Event::Stop(StopBy::Signal))?;
            return Ok(None);
        }
        if case.checkpoint_every.is_some_and(|every| (*events + 1).is_multiple_of(every)) {
            self.engine.handle(Event::Checkpoint)?;
            self.engine.pump()?;
        }
        let now = self.clock.now();
        let next = self.event_queue.borrow().next_due();
        let due = if self.engine.is_busy() { Some(now) } else { self.engine.next_due() };
        let to = next.into_iter().chain(due).min().unwrap_or(now);
        if next.is_none_or(|next| next > now) {
            // what is due and cannot be done yet needs time to pass
            let least = Duration::from_millis(u64::from(!self.engine.is_busy()));
            self.clock.advance(to.since(now).max(least));
        }
        let now = self.clock.now();
        let event = self.event_queue.borrow_mut().take(now, &mut self.processor)?;
        if let Some(event) = event {
            *events += 1;
            let answered = match &event {
                Event::Page(page) => {
                    self.named = Some(named_by(page));
                    Some((page.job.url.as_str().to_owned(), page.response.status, page.response.truncated))
                }
                _ => None,
            };
            self.engine.handle(event)?;
            if let Some((url, status, truncated)) = answered
                && moment::is_final(status, truncated.is_some())
            {
                self.stored = Some(url);
            }
        }
        Ok(None)
    }

    /// No URL whose final answer is in the archive is asked for.
    fn watch(&mut self, network: &Network) -> Result<(), Violation> {
        for request in &network.log[self.seen.min(network.log.len())..] {
            // what robots.txt leads to is asked again when its rules have expired
            let page = network.web().expected().pages.contains_key(&request.url);
            if page && self.done.contains(&request.url) {
                let what = format!("{} is in the archive and was asked for again at {} ms", request.url, request.start);
                return Err(Violation::new(Clause::NothingTwice, what));
            }
        }
        self.seen = network.log.len();
        self.done.extend(self.stored.take());
        Ok(())
    }
}

/// The URL of an answer, its links, and where it redirects.
fn named_by(page: &Processed) -> (String, Vec<String>, Option<String>) {
    let links = page.findings.links.iter().map(|link| link.url.to_string()).collect();
    let redirect = page.findings.redirect.as_ref().map(|(target, _)| target.as_str().to_owned());
    (page.job.url.as_str().to_owned(), links, redirect)
}

/// Where the archive of a machine lies.
pub(super) fn pages_dir() -> PathBuf {
    Path::new(DIR).join("pages")
}
