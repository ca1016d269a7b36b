//! Opening a crawl: a new one, or one that goes on from its last checkpoint.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::anew::Anew;
use super::checkpoint::{self, Checkpoint, Sections};
use super::limits::Limits;
use super::linger::Linger;
use super::patterns::PatternBudget;
use super::refetch::Round;
use super::rests::RestLog;
use super::seed_log::SeedLog;
use super::seeds::SeedTable;
use super::slots::Slots;
use super::values::decode_rules;
use super::vias::Vias;
use super::way::{Arrival, DnsStage, RobotsStage, SeenStage};
use super::{Engine, Executors, Phase, Settings, UnderWay};
use crate::catalog::{Batch, Catalog};
use crate::clock::{Clock, Time};
use crate::container::{Container, ContainerOptions, Recovery, WarcInfo};
use crate::disk::{self, Disk, Error};
use crate::drum::{DrumOptions, FrontOptions, Pace, Store};
use crate::fingerprint::Fingerprinter;
use crate::frontier::{Frontier, FrontierOptions};
use crate::report::metrics::Histogram;
use crate::report::{CrawlLog, Finish, SkippedLog};
use crate::web::scope::{Scope, ScopeError, ScopeOptions};
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Key of the identity in the catalog.
const IDENTITY_KEY: &str = "identity";
/// A plain copy of the identity.
const COPY_FILE: &str = "identity.json";
/// Version of the whole directory's format.
const FORMAT: u16 = 1;

/// What makes a crawl this crawl, fixed when it was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Version of the directory's format.
    pub format: u16,
    /// Seed of all randomness that must be the same in every run, and the crawl's name.
    pub id: u128,
    /// When it was created.
    pub created: Time,
    /// The polynomial of its fingerprints.
    pub polynomial: u64,
    /// Buckets of the three stores.
    pub buckets: usize,
    /// Partitions of the frontier.
    pub partitions: usize,
    /// Query parameters that do not distinguish URLs.
    pub strip_query_params: Vec<String>,
}

impl Identity {
    /// The identity in `catalog`, or a new one of the given shape, which is durable when this returns; and whether it
    /// is new.
    pub fn load_or_create(
        catalog: &dyn Catalog,
        dir: &Path,
        now: Time,
        random: u128,
        shape: (usize, usize, &[String]),
    ) -> disk::Result<(Self, bool)> {
        if let Some(identity) = Identity::load(catalog, dir)? {
            return Ok((identity, false));
        }
        let (buckets, partitions, strip_query_params) = shape;
        let identity = Identity {
            format: FORMAT,
            id: random,
            created: now,
            polynomial: Fingerprinter::random(random as u64).polynomial(),
            buckets,
            partitions,
            strip_query_params: strip_query_params.to_vec(),
        };
        let mut batch = Batch::new();
        batch.put(IDENTITY_KEY, postcard::to_stdvec(&identity).expect("an identity consists of plain data"));
        catalog.commit(&batch)?;
        Ok((identity, true))
    }

    /// The identity in `catalog`, if there is one yet.
    pub fn load(catalog: &dyn Catalog, dir: &Path) -> disk::Result<Option<Self>> {
        let path = dir.join("catalog");
        let Some(bytes) = catalog.get(IDENTITY_KEY)? else { return Ok(None) };
        let (format, _): (u16, _) = postcard::take_from_bytes(&bytes)
            .map_err(|e| Error::damaged(&path, 0, "a readable identity", e.to_string()))?;
        if format > FORMAT {
            return Err(Error::Newer { path, found: format, known: FORMAT });
        }
        let identity =
            postcard::from_bytes(&bytes).map_err(|e| Error::damaged(&path, 0, "a readable identity", e.to_string()))?;
        Ok(Some(identity))
    }

    /// Puts a copy into the crawl directory for those who read it while the crawl has the catalog locked.
    pub fn write_copy(&self, disk: &Disk, dir: &Path) -> disk::Result<()> {
        let mut json = serde_json::to_vec_pretty(self).expect("an identity consists of plain data");
        json.push(b'\n');
        disk.replace(&dir.join(COPY_FILE), &json)
    }

    /// Whether there is a copy: it is made after the identity is durable in the catalog, so the catalog has to have one.
    pub fn is_copied(dir: &Path) -> bool {
        dir.join(COPY_FILE).exists()
    }

    /// Reads the copy.
    pub fn read_copy(disk: &Disk, dir: &Path) -> disk::Result<Self> {
        let path = dir.join(COPY_FILE);
        let json = disk.read(&path)?;
        serde_json::from_slice(&json).map_err(|e| Error::damaged(&path, 0, "the identity of a crawl", e.to_string()))
    }

    /// Makes the fingerprints of this crawl.
    pub fn key_maker(&self) -> KeyMaker {
        KeyMaker::new(Fingerprinter::new(self.polynomial), &self.strip_query_params)
    }
}

/// Everything that an engine is opened with.
pub struct Opening {
    /// The file system.
    pub disk: Disk,
    /// The crawl directory.
    pub dir: PathBuf,
    /// The catalog.
    pub catalog: Arc<dyn Catalog>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The hands.
    pub executors: Box<dyn Executors>,
    /// The crawl's identity.
    pub identity: Identity,
    /// Whether the crawl was created just now: then no host can have been asked before.
    pub is_new: bool,
    /// Makes fingerprints.
    pub keys: Arc<KeyMaker>,
    /// What the engine decides by.
    pub settings: Settings,
    /// Scope rules.
    pub scope: ScopeOptions,
    /// Whether bad answers of earlier runs are asked for again.
    pub force: bool,
    /// The settings by which names are resolved.
    pub name_settings: String,
    /// The seeds of this run.
    pub seeds: Vec<CanonicalUrl>,
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
    /// What the first record of every value file says.
    pub warcinfo: WarcInfo,
    /// logs/crawl.log.
    pub crawl_log: CrawlLog,
    /// logs/skipped.jsonl.
    pub skipped_log: SkippedLog,
}

/// Why a crawl cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The state on disk.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// A rule of the scope.
    #[error(transparent)]
    Scope(#[from] ScopeError),
}

/// How the last run left the crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// There was none.
    New,
    /// It stopped in good order, for this reason.
    Stopped(Finish),
    /// It was killed.
    Killed,
}

impl Engine {
    /// Opens the crawl at its last checkpoint. What the archive holds beyond it comes back as a [`Recovery`], to be
    /// replayed by [`Engine::replay`] before anything else. `progress` hears of keys put into the Bloom filter of a
    /// store, and how many there may be.
    pub fn open(
        mut opening: Opening,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(Engine, Recovery, Past), OpenError> {
        let (disk, dir) = (opening.disk.clone(), opening.dir.clone());
        let (disk, dir, catalog, clock) = (&disk, &dir, opening.catalog.clone(), opening.clock.clone());
        let now = clock.now();
        let saved = checkpoint::load(&*catalog, dir)?;
        let sections = match &saved {
            Some(checkpoint) => read_sections(disk, dir, checkpoint.number)?,
            None => Sections::default(),
        };
        remove_unnamed_checkpoints(disk, dir, saved.as_ref().map(|checkpoint| checkpoint.number))?;
        let seeds = SeedTable::load(&*catalog, dir)?;
        let scope_added = saved.as_ref().map(|checkpoint| checkpoint.scope_added.clone()).unwrap_or_default();
        let scope = open_scope(&opening, &seeds, &scope_added)?;
        let past = Past::of(saved.as_ref(), opening.is_new);
        let number = saved.as_ref().map_or(0, |c| c.number);
        let statistics = saved.as_ref().map(|c| c.statistics.clone()).unwrap_or_default();
        let anew = Anew::at_start(&*catalog, &opening.name_settings, opening.force, past, now)?;
        opening.frontier.forgiven = anew.since;
        let (mut way, rests) = open_way(&opening, saved.as_ref(), sections, (now, past), progress)?;
        let (container, recovery) = Container::open(
            disk.clone(),
            &dir.join("pages"),
            opening.container.clone(),
            opening.warcinfo.clone(),
            saved.as_ref().map(|c| &c.container),
        )?;
        way.arrival().frontier.exclude_by(scope.rules());
        let round = saved.as_ref().map(|c| c.round).unwrap_or_default();
        if let Some(checkpoint) = saved {
            checkpoint::go_on_from(&*catalog, checkpoint)?;
        }
        let settings = opening.settings.clone();
        let seed_log = SeedLog::open(disk, dir, &seeds, past == Past::Killed)?;
        let limits = Limits::new(clock.clone(), settings.requests_per_second, settings.bytes_per_second);
        let engine = Engine {
            way,
            past,
            round: Round { running: false, ..round },
            killed_in_round: past == Past::Killed && round.running,
            held_until: 0,
            paused: false,
            told_delay_cap: false,
            container,
            limits,
            limited_until: Time::ZERO,
            may_request: false,
            vias: Vias::default(),
            hops: Vec::new(),
            scope: Arc::new(scope),
            scope_added,
            seeds,
            rng: fastrand::Rng::with_seed(opening.identity.id as u64 ^ now.ms().rotate_left(32)),
            elapsed_before: statistics.elapsed,
            durations: Histogram::default(),
            checkpointed: None,
            statistics,
            under_way: UnderWay {
                requests: Slots::new(settings.slots),
                pages: 0,
                merges: 0,
                partitions: 0,
                checkpoint: false,
            },
            phase: Phase::Crawling,
            linger: Linger::default(),
            anew,
            rests,
            checkpoint_number: number,
            checkpoint_due: now + settings.checkpoint_interval,
            checkpoint_wanted: false,
            cut_before_full: None,
            superseded: Vec::new(),
            cut_at: Duration::ZERO,
            last_cut: false,
            merge_pace: Pace::new(settings.merge_pace),
            log_flush_due: Time::ZERO,
            disk_check_due: now,
            disk_free: 0,
            started: now,
            keys: opening.keys,
            executors: opening.executors,
            crawl_log: opening.crawl_log,
            skipped_log: opening.skipped_log,
            seed_log,
            created: opening.identity.created,
            dispatching: false,
            settings,
            disk: opening.disk,
            dir: opening.dir,
            catalog,
            clock,
        };
        Ok((engine, recovery, past))
    }
}

impl Past {
    fn of(saved: Option<&Checkpoint>, is_new: bool) -> Past {
        match saved {
            None if is_new => Past::New,
            // killed before its first checkpoint
            None => Past::Killed,
            Some(checkpoint) => match checkpoint.finish {
                Some(finish) if checkpoint.clean => Past::Stopped(finish),
                _ => Past::Killed,
            },
        }
    }
}

/// The stores and the frontier as `saved` has them, and the rests that began after it.
fn open_way(
    opening: &Opening,
    saved: Option<&Checkpoint>,
    sections: Sections,
    (now, past): (Time, Past),
    progress: &mut dyn FnMut(u64, u64),
) -> disk::Result<(SeenStage, RestLog)> {
    let (disk, dir, drum) = (&opening.disk, &opening.dir, opening.drum);
    let of_seen = saved.map(|c| (&c.seen, sections.seen.as_slice()));
    let seen = Store::open(disk.clone(), &dir.join("url-seen"), drum, opening.seen_front, of_seen, progress)?;
    let of_robots = saved.map(|c| (&c.robots, sections.robots.as_slice()));
    let robots = Store::open(disk.clone(), &dir.join("robots"), drum, opening.host_front, of_robots, progress)?;
    let of_dns = saved.map(|c| (&c.dns, sections.dns.as_slice()));
    let dns = Store::open(disk.clone(), &dir.join("dns"), drum, opening.host_front, of_dns, progress)?;
    let mut frontier = Frontier::open(
        disk.clone(),
        &dir.join("frontier"),
        opening.frontier.clone(),
        decode_rules,
        opening.identity.id as u64 ^ now.ms(),
        saved.map(|c| (&c.frontier, sections.frontier.as_slice())),
        now,
        past != Past::Killed,
    )?;
    let number = saved.map_or(0, |c| c.number);
    let (rests, resting) = RestLog::open(disk.clone(), dir, number, now)?;
    resting.into_iter().for_each(|(origin, until)| frontier.hold(origin, until, now));
    let patterns = open_patterns(opening, &sections, number)?;
    let arrival = Arrival {
        frontier,
        replayed: sections.replayed.into_iter().collect(),
        now,
        anew: opening.frontier.forgiven,
        unique: saved.map_or(0, |c| c.statistics.unique),
        duplicate: saved.map_or(0, |c| c.statistics.duplicates),
        dropped: Vec::new(),
    };
    let robots = RobotsStage { store: robots, patterns, next: DnsStage { store: dns, next: arrival } };
    Ok((SeenStage { store: seen, next: robots }, rests))
}

/// What was in RAM at checkpoint `number`, which the catalog names; without its file the directory is damaged.
fn read_sections(disk: &Disk, dir: &Path, number: u64) -> disk::Result<Sections> {
    Sections::read(disk, dir, number).map_err(|error| {
        if !error.is_not_found() {
            return error;
        }
        let path = checkpoint::checkpoint_path(dir, number);
        Error::damaged(&path, 0, "the file of the last checkpoint that the catalog knows", "no such file")
    })
}

fn open_patterns(opening: &Opening, sections: &Sections, number: u64) -> disk::Result<PatternBudget> {
    let (keys, limit) = (opening.keys.clone(), opening.settings.urls_per_pattern);
    let path = checkpoint::checkpoint_path(&opening.dir, number);
    PatternBudget::open(keys, limit, &sections.patterns)
        .ok_or_else(|| Error::damaged(&path, 0, "counts of URLs by pattern", "other bytes under a right checksum"))
}

fn open_scope(opening: &Opening, seeds: &SeedTable, added: &[String]) -> Result<Scope, ScopeError> {
    let earlier: Vec<CanonicalUrl> =
        seeds.all().iter().filter_map(|seed| CanonicalUrl::parse(&seed.url).ok()).collect();
    let mut scope = Scope::new(&opening.scope, earlier.iter().chain(&opening.seeds))?;
    for url in added.iter().filter_map(|url| CanonicalUrl::parse(url).ok()) {
        scope = scope.with_seed(&url);
    }
    Ok(scope)
}

/// A checkpoint file that the catalog does not name was not finished, or is superseded.
fn remove_unnamed_checkpoints(disk: &Disk, dir: &Path, named: Option<u64>) -> disk::Result<()> {
    for name in disk.list(dir)? {
        let number = checkpoint::number_of(&name);
        if number.is_some() && number != named {
            disk.remove(&dir.join(name))?;
        }
    }
    Ok(())
}
