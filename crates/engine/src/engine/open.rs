//! Opening a crawl: a new one, or one that goes on from its last checkpoint.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::admission::Admission;
use super::books::Books;
use super::checkpoint::{self, Checkpoint, Checkpoints, Last, Sections};
use super::course::Course;
use super::depths::Depths;
use super::exchange::{Exchange, ExchangeOptions, ExchangeState};
use super::fetching::Fetching;
use super::hold_log::HoldLog;
use super::login::Sessions;
use super::past::Past;
use super::patterns::PatternBudget;
use super::prerequisites::Prerequisites;
use super::recrawl::{RecrawlOptions, Recrawls};
use super::rendering::{RenderState, Renderings};
use super::requests::{Requests, Waker};
use super::seeding::{AnswerSettings, Intake, Recheck, Seeding};
use super::seeds::{SeedTable, Territory};
use super::session_params::SessionParams;
use super::stores::{AdmissionSink, Jobs, StoreValue, Stores};
use super::support::SupportOptions;
use super::texts::TextBudget;
use super::values::{Doubtful, decode_rules};
use super::{Commons, Engine, Executors, Home, Settings, Shipping};
use crate::checkpoint::Identity;
use crate::checkpoint::begin::any_checkpoint;
use crate::clock::{Clock, Stored, Time};
use crate::container::{Container, ContainerOptions, Recovery, WarcInfo};
use crate::disk::{self, Disk, Error};
use crate::drum::{DrumOptions, FrontOptions, Pace, Store};
use crate::exchange::Head;
use crate::frontier::{Frontier, FrontierOptions, SavedFrontier};
use crate::record::layout::{self, StoreName};
use crate::record::{CrawlLog, Finish, SkippedLog};
use crate::shard::Shard;
use crate::web::cookies::CookieJars;
use crate::web::scope::{Scope, ScopeError, ScopeOptions};
use crate::web::seeds::Seed;
use crate::web::url::KeyMaker;

/// The seeds of a run, read as they are taken.
pub type ListedSeeds = Box<dyn Iterator<Item = Seed> + Send>;

/// Everything that an engine is opened with.
pub struct Opening {
    /// The file system.
    pub disk: Disk,
    /// The crawl directory.
    pub dir: PathBuf,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The hands.
    pub executors: Box<dyn Executors>,
    /// The things that it shares with the other engines of the process.
    pub commons: Commons,
    /// Called when another engine has left a slot that this one waits for.
    pub wake: Waker,
    /// The crawl's identity.
    pub identity: Identity,
    /// The number of its last checkpoint, where that is known from elsewhere.
    pub last_known: Option<u64>,
    /// True if the crawl was created just now: then no host can have been asked before.
    pub is_new: bool,
    /// Makes fingerprints.
    pub keys: Arc<KeyMaker>,
    /// Settings by which the engine decides.
    pub settings: Settings,
    /// Scope rules.
    pub scope: ScopeOptions,
    /// True if bad answers of earlier runs are asked for again.
    pub force: bool,
    /// The settings that decide what answers say.
    pub answer_settings: AnswerSettings,
    /// The seeds of this run; they get their numbers when the crawl is opened.
    pub seeds: ListedSeeds,
    /// Shape of the three stores.
    pub drum: DrumOptions,
    /// Front of URL-seen.
    pub seen_front: FrontOptions,
    /// Front of the robots and DNS stores.
    pub host_front: FrontOptions,
    /// The frontier.
    pub frontier: FrontierOptions,
    /// The container.
    pub container: ContainerOptions,
    /// Content of the first record of every value file.
    pub warcinfo: WarcInfo,
    /// logs/crawl.log.
    pub crawl_log: CrawlLog,
    /// logs/skipped.jsonl.
    pub skipped_log: SkippedLog,
    /// Options of fetching pages again, where they are.
    pub recrawl: Option<RecrawlOptions>,
    /// Options of counting supporters of domains.
    pub support: SupportOptions,
    /// Options that make it a shard, where the crawl has several.
    pub exchange: Option<ExchangeOptions>,
    /// The place to which its checkpoints are shipped, where they are.
    pub shipping: Option<Arc<dyn Shipping>>,
}

/// Reason for which a crawl cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The state on disk.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// A rule of the scope.
    #[error(transparent)]
    Scope(#[from] ScopeError),
}

impl Opening {
    /// Opens the crawl at its last checkpoint. What the archive holds beyond it comes back as a [`Recovery`], to be
    /// replayed by [`Engine::replay`] before anything else. `progress` hears of keys put into the Bloom filter of a
    /// store, and how many there may be.
    pub fn open(self, progress: &mut dyn FnMut(u64, u64)) -> Result<(Engine, Recovery, Past), OpenError> {
        let mut opening = self;
        let (disk, dir) = (opening.disk.clone(), opening.dir.clone());
        let (disk, dir, clock) = (&disk, &dir, opening.clock.clone());
        let now = clock.now();
        let Some(mut last) = Last::find(disk, dir)? else {
            return Err(Error::damaged(&any_checkpoint(dir), 0, "a checkpoint of the crawl", "none").into());
        };
        if let Some(known) = opening.last_known.filter(|&known| known > last.number) {
            tracing::warn!("checkpoint {known} is lost: the crawl goes on from checkpoint {}", last.number);
        }
        last.keep_alone(disk, dir)?;
        let (mut seeds, intake) = open_seeds(&mut opening, last.checkpoint.as_ref())?;
        let scope = open_scope(&opening.scope, &mut seeds)?;
        let past = Past::of(last.checkpoint.as_ref(), opening.is_new);
        last.go_on(disk, dir)?;
        let Last { number, checkpoint: saved, mut sections, .. } = last;
        let exchange_section = std::mem::take(&mut sections.exchange);
        let statistics = saved.as_ref().map(|c| c.statistics.clone()).unwrap_or_default();
        let kept = saved.as_ref().map(|c| &c.rechecked);
        // the end of the run that made it, whether the crawl went on from it before or not
        let ended = saved.as_ref().and_then(|c| c.finish);
        let anew = Recheck::at_start(kept, &opening.answer_settings, opening.force, ended, now);
        (opening.frontier.forgiven, opening.frontier.rules_since) = (anew.doubtful().bad, anew.doubtful().rules);
        opening.frontier.ledger = opening.commons.ledger.clone();
        let recrawls = open_recrawls(&mut opening, saved.as_ref(), &sections, now)?;
        opening.frontier.rounds = opening.support.rounds(saved.as_ref());
        let mut cookies = CookieJars::from_bytes(&sections.cookies);
        let rendering = RenderState::from_bytes(&sections.rendering).ok_or_else(|| {
            let path = checkpoint::checkpoint_path(dir, number);
            Error::damaged(&path, 0, "what was learnt of renderings", "other bytes under a right checksum")
        })?;
        opening.settings.sites.iter().for_each(|sites| cookies.fill(sites.cookies()));
        let (mut stores, rests) = open_stores(&opening, saved.as_ref(), sections, now, past, progress)?;
        let (container, recovery) = Container::open(
            disk.clone(),
            &dir.join(layout::PAGES),
            opening.container.clone(),
            opening.warcinfo.clone(),
            saved.as_ref().map(|c| &c.container),
        )?;
        let forgotten = container.forgotten();
        let scope = if forgotten.is_empty() { scope } else { scope.with_rules(&scope.rules().forgetting(forgotten)) };
        stores.sink.frontier.exclude_by(scope.rules());
        let round = saved.as_ref().map(|c| c.round).unwrap_or_default();
        let mut exchange = open_exchange(&mut opening, number, &exchange_section)?;
        if ended == Some(Finish::LinksLost) {
            exchange.iter_mut().for_each(|exchange| exchange.send_all_again());
        }
        let shard = exchange.as_ref().map_or(Shard::WHOLE, |exchange| exchange.shard());
        let id = opening.identity.id as u64;
        let home = Home {
            disk: opening.disk,
            dir: opening.dir,
            identity: Arc::new(opening.identity),
            keys: opening.keys,
            shard,
            shipping: opening.shipping,
        };
        if let Some(saved) = &saved {
            let head = exchange.as_ref().map(|exchange| exchange.opened_head(number));
            home.ship(saved, &head.unwrap_or_else(|| Head { number, ..Head::default() }))?;
        }
        exchange.iter().for_each(|exchange| exchange.publish_opened(number));
        let settings = opening.settings.clone();
        let rng = fastrand::Rng::with_seed(id ^ now.ms().rotate_left(32));
        let (quota, allowance) = (opening.commons.quota.clone(), opening.commons.allowance.clone());
        let disk_free = home.disk.free_bytes(&home.dir)?;
        let requests =
            Requests::new(opening.commons.slots, opening.commons.rates, opening.commons.lease, opening.wake, rng);
        let course = Course::new(now, statistics.elapsed, disk_free, quota, allowance);
        let checkpoints = Checkpoints::new(number, now + settings.checkpoint_interval, rests);
        let admission = Admission {
            home,
            clock,
            settings,
            scope: Arc::new(scope),
            stores,
            container,
            books: Books::new(statistics, seeds, opening.crawl_log, opening.skipped_log),
            seeding: Seeding::new(intake, round, anew, past),
            recrawls,
            exchange,
            // the first checkpoint of a process is made
            is_changed: true,
        };
        let fetching = Fetching {
            executors: opening.executors,
            requests,
            sessions: Sessions::new(cookies),
            prerequisites: Prerequisites::default(),
            renderings: Renderings::new(rendering),
        };
        let mut engine = Engine { admission, fetching, checkpoints, course };
        engine.settle_quota();
        Ok((engine, recovery, past))
    }
}

/// The stores and the frontier as `saved` has them, and the rests that began after it.
fn open_stores(
    opening: &Opening,
    saved: Option<&Checkpoint>,
    sections: Sections,
    now: Time,
    past: Past,
    progress: &mut dyn FnMut(u64, u64),
) -> disk::Result<(Stores, HoldLog)> {
    let (disk, dir) = (&opening.disk, &opening.dir);
    let mut opener = StoreOpener { opening, saved, sections: &sections, progress };
    let (seen, robots, dns) = (opener.open(opening.seen_front)?, opener.host()?, opener.host()?);
    let visits = opening.recrawl.as_ref().map(|_| opener.host()).transpose()?;
    let support = opening.frontier.rounds.map(|_| opener.host()).transpose()?;
    let begins_late = support.is_some() && saved.is_some_and(|saved| !saved.stores.contains_key(&StoreName::Support));
    let mut frontier = Frontier::open(
        disk.clone(),
        &dir.join(layout::FRONTIER),
        opening.frontier.clone(),
        decode_rules,
        opening.identity.id as u64 ^ now.ms(),
        saved.map(|c| SavedFrontier { state: &c.frontier, ram: &sections.frontier, cut: Stored::new(c.time) }),
        now,
        past != Past::Killed,
    )?;
    let number = saved.map_or(0, |c| c.number);
    let behind = saved.map(|c| Stored::new(c.time)).unwrap_or_default();
    let (rests, resting) = HoldLog::open(disk.clone(), dir, number, behind, now)?;
    resting.into_iter().for_each(|(origin, until)| frontier.hold(origin, until, now));
    let patterns = open_patterns(opening, &sections, number)?;
    let texts = open_texts(opening, &sections, number)?;
    let depths = open_depths(opening, &sections, number)?;
    let session_params = open_session_params(opening, &sections, number)?;
    let sink = AdmissionSink {
        frontier,
        replayed: sections.replayed.into_iter().collect(),
        now,
        doubtful: Doubtful { bad: opening.frontier.forgiven, rules: opening.frontier.rules_since },
        unique: saved.map_or(0, |c| c.statistics.unique),
        again: saved.map_or(0, |c| c.statistics.ends.again),
        duplicate: saved.map_or(0, |c| c.statistics.duplicates),
        dropped: Vec::new(),
        met: opening.recrawl.as_ref().map(|_| Vec::new()),
        brought_forward: HashMap::new(),
        stale: 0,
        early: 0,
        depths,
    };
    let pace = Pace::new(opening.settings.merge_pace);
    let stores = Stores {
        seen,
        patterns,
        texts,
        session_params,
        robots,
        dns,
        visits,
        support,
        by_network: opening.support.by_network,
        by_standing: opening.support.by_standing,
        support_begins_late: begins_late,
        sink,
        jobs: Jobs::none(pace),
    };
    Ok((stores, rests))
}

/// Opens stores as a checkpoint has them.
struct StoreOpener<'a> {
    opening: &'a Opening,
    saved: Option<&'a Checkpoint>,
    sections: &'a Sections,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl StoreOpener<'_> {
    fn open<V: StoreValue>(&mut self, front: FrontOptions) -> disk::Result<Store<V, V::Asks>> {
        let Opening { disk, dir, drum, .. } = self.opening;
        let saved = self.saved.and_then(|saved| saved.store(V::STORE, self.sections));
        Store::open(disk.clone(), &V::STORE.dir(dir), *drum, front, saved, self.progress)
    }

    /// Opens one that has a key for each host or page of a few.
    fn host<V: StoreValue>(&mut self) -> disk::Result<Store<V, V::Asks>> {
        self.open(self.opening.host_front)
    }
}

/// The calendar as `saved` has it. One that there is stays, whether pages are fetched again now or not.
fn open_recrawls(
    opening: &mut Opening,
    saved: Option<&Checkpoint>,
    sections: &Sections,
    now: Time,
) -> disk::Result<Option<Box<Recrawls>>> {
    let calendar = saved.and_then(|checkpoint| checkpoint.calendar.as_ref());
    if calendar.is_none() {
        opening.recrawl = opening.recrawl.take().filter(|options| options.is_on);
    }
    let Some(options) = opening.recrawl.clone() else { return Ok(None) };
    Recrawls::open(options, &opening.disk, &opening.dir, calendar, sections, now, saved.is_none())
        .map(|recrawls| Some(Box::new(recrawls)))
}

fn open_patterns(opening: &Opening, sections: &Sections, number: u64) -> disk::Result<PatternBudget> {
    let (keys, limit) = (opening.keys.clone(), opening.settings.urls_per_pattern);
    let path = checkpoint::checkpoint_path(&opening.dir, number);
    PatternBudget::open(keys, limit, &sections.patterns)
        .ok_or_else(|| Error::damaged(&path, 0, "counts of URLs by pattern", "other bytes under a right checksum"))
}

fn open_texts(opening: &Opening, sections: &Sections, number: u64) -> disk::Result<TextBudget> {
    let path = checkpoint::checkpoint_path(&opening.dir, number);
    TextBudget::open(opening.settings.pages_per_text, &sections.texts)
        .ok_or_else(|| Error::damaged(&path, 0, "counts of pages by text", "other bytes under a right checksum"))
}

fn open_depths(opening: &Opening, sections: &Sections, number: u64) -> disk::Result<Depths> {
    let path = checkpoint::checkpoint_path(&opening.dir, number);
    Depths::open(opening.scope.limits_depth(), &sections.depths)
        .ok_or_else(|| Error::damaged(&path, 0, "depths of URLs", "other bytes under a right checksum"))
}

fn open_session_params(opening: &Opening, sections: &Sections, number: u64) -> disk::Result<SessionParams> {
    let path = checkpoint::checkpoint_path(&opening.dir, number);
    SessionParams::open(opening.keys.clone(), opening.settings.learn_session_params, &sections.session_params)
        .ok_or_else(|| Error::damaged(&path, 0, "session parameters", "other bytes under a right checksum"))
}

/// The seeds as `saved` has them, with those of this run under their own numbers.
fn open_seeds(opening: &mut Opening, saved: Option<&Checkpoint>) -> disk::Result<(SeedTable, Intake)> {
    let number = saved.map(|checkpoint| checkpoint.number);
    let share = opening.exchange.as_ref().map(|options| (options.shard, opening.keys.clone()));
    let mut table = SeedTable::open(&opening.disk, &opening.dir, number, share)?;
    let listed = std::mem::replace(&mut opening.seeds, Box::new(std::iter::empty()));
    let intake = Intake::number(&mut table, listed)?;
    Ok((table, intake))
}

/// Opens what this shard has of the others, at checkpoint `number`, which is durable.
fn open_exchange(opening: &mut Opening, number: u64, section: &[u8]) -> disk::Result<Option<Box<Exchange>>> {
    let Some(options) = opening.exchange.take() else { return Ok(None) };
    let state = ExchangeState::read(section, &checkpoint::checkpoint_path(&opening.dir, number))?;
    Ok(Some(Box::new(Exchange::open(options, &opening.disk, &opening.dir, number, state)?)))
}

fn open_scope(options: &ScopeOptions, seeds: &mut SeedTable) -> Result<Scope, OpenError> {
    let mut scope = Scope::begin(options)?;
    seeds.for_each_territory(|territory| match territory {
        Territory::Seed(url) => scope.add(&url),
        Territory::Joined(url) => scope.add_joined(&url),
    })?;
    Ok(scope.finish())
}
