//! Opening of the crawl of a simulated process: every shard, then the notes of the shards for each other, then the
//! replay, then the seeds, in the order of the real crawler.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::DIR;
use super::case::WholeLimits;
use super::clause::Violation;
use super::event_queue::{EventQueue, QueueExecutors};
use super::idle::IdleJudge;
use super::machine::Machine;
use super::mistake::Mistake;
use super::moment;
use super::network::Asker;
use super::process::{Member, Process};
use super::registry::MistakenRegistry;
use crate::checkpoint::{Identity, begin};
use crate::clock::{Clock, ManualClock};
use crate::container::{ContainerOptions, Recovery, WarcInfo};
use crate::disk::{self, Disk};
use crate::engine::{
    Accounts, AnswerSettings, Commons, ExchangeOptions, Executors, OpenError, Opening, SeedList, Shipping, Waker,
};
use crate::exchange::{LocalRegistry, Registry, Wake};
use crate::node::{Heads, Shipments};
use crate::process::{ProcessOptions, Processor};
use crate::record::layout;
use crate::record::{CrawlLog, SkippedLog};
use crate::shard::Shard;
use crate::web::address::AddressGuard;
use crate::web::seeds::Seed;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// State that all engines of a process share.
pub(super) struct Shared {
    pub clock: Arc<ManualClock>,
    pub commons: Commons,
    pub limits: WholeLimits,
    pub others: Others,
}

/// The other engines of the crawl, of which an engine has to hear.
pub(super) enum Others {
    /// There are none.
    None,
    /// They are in its process.
    Here(Arc<LocalRegistry>, Arc<MistakenRegistry>),
    /// Some are on other nodes.
    OnNodes {
        heads: Arc<Heads>,
        shipments: Arc<Shipments>,
        /// The files of this node, and those in the store.
        disk: Disk,
        /// Number by which the network knows the node.
        node: u32,
    },
}

impl Others {
    fn registry(&self) -> Option<Arc<dyn Registry>> {
        match self {
            Others::None => None,
            Others::Here(_, mistaken) => Some(mistaken.clone()),
            Others::OnNodes { heads, .. } => Some(heads.clone()),
        }
    }

    fn watch(&self, shard: u32, wake: Wake) {
        match self {
            Others::None => {}
            Others::Here(registry, _) => registry.watch(shard, wake),
            Others::OnNodes { heads, .. } => heads.watch(shard, wake),
        }
    }
}

impl Machine {
    /// Opens the crawl as a new process does. The account of its URLs balances as the checkpoint has it, and after the
    /// replay.
    pub(super) fn open(&mut self, limits: WholeLimits) -> Result<disk::Result<Process>, Violation> {
        let mut accounts = Vec::new();
        let opened = self.open_unjudged(limits, &mut accounts);
        accounts.iter().try_for_each(|accounts| moment::balanced(accounts, false))?;
        Ok(opened)
    }

    fn open_unjudged(&mut self, limits: WholeLimits, accounts: &mut Vec<Accounts>) -> disk::Result<Process> {
        self.boot += 1;
        let clock = Arc::new(ManualClock::new(self.clock_now));
        let shared = self.shared(clock.clone(), limits)?;
        let mut members = Vec::new();
        let mut recoveries = Vec::new();
        for shard in self.shards() {
            let (member, recovery) = self.open_shard(shard, &shared)?;
            accounts.push(member.engine.accounts());
            members.push(member);
            recoveries.push(recovery);
        }
        for (member, recovery) in members.iter_mut().zip(recoveries) {
            member.replay(recovery, &self.replayed)?;
            accounts.push(member.engine.accounts());
        }
        for member in &mut members {
            member.engine.seeder().admit_listed();
        }
        let done = self.archived()?;
        let seen = self.network().log.len();
        Ok(Process::new(members, clock, done, seen))
    }

    /// Makes what the engines share. The seeds of a crawl of several shards are numbered, durably, before any of them
    /// opens.
    fn shared(&mut self, clock: Arc<ManualClock>, limits: WholeLimits) -> disk::Result<Shared> {
        let settings = &self.case().settings;
        if self.case().shards == 1 {
            let commons = Commons::new(settings, clock.clone());
            return Ok(Shared { clock, commons, limits, others: Others::None });
        }
        let commons = match self.case().mistake {
            Some(Mistake::SharesNoTurns) => Commons::new(settings, clock.clone()),
            _ => Commons::of_shards(settings, clock.clone()),
        };
        let shards: Vec<PathBuf> = Shard::all(self.case().shards).map(|shard| self.dir_of(shard)).collect();
        let registry = Arc::new(LocalRegistry::new(self.case().shards, self.number_seeds(&shards)?));
        let mistaken = Arc::new(MistakenRegistry::new(registry.clone(), self.case().mistake));
        Ok(Shared { clock, commons, limits, others: Others::Here(registry, mistaken) })
    }

    /// Gives all seeds their numbers, durably; how many there are. The list has what these shards know of it. A node
    /// has all of its list from the store.
    pub(super) fn number_seeds(&self, shards: &[PathBuf]) -> disk::Result<u32> {
        let disk = self.disk();
        disk.create_dir_all(Path::new(DIR))?;
        let mut list = SeedList::open(&disk, Path::new(DIR), shards)?;
        for seed in self.seeds() {
            list.number(seed.as_str(), None)?;
        }
        list.make_durable()?;
        Ok(list.len())
    }

    pub(super) fn open_shard(&mut self, shard: Shard, shared: &Shared) -> disk::Result<(Member, Recovery)> {
        let boot_seed = u64::from(self.boot) << 32 ^ u64::from(shard.index()) << 56;
        let mut event_queue = EventQueue::new(
            shared.clock.clone(),
            self.network.clone(),
            self.simulated.clone(),
            self.case().mistake,
            self.true_now,
            self.dir_of(shard),
            self.case().seed ^ boot_seed,
        );
        event_queue.replayed = self.replayed.clone();
        event_queue.disk_is_quick = self.case().disk_is_quick;
        match &shared.others {
            Others::None => {}
            Others::Here(_, mistaken) => event_queue.registry = Some(mistaken.clone()),
            Others::OnNodes { node, .. } => {
                event_queue.asker = Some(Asker { node: *node, shard: shard.index() });
                event_queue.lease = shared.commons.lease.clone();
            }
        }
        let event_queue = Rc::new(RefCell::new(event_queue));
        let slot_is_free = Arc::new(AtomicBool::new(false));
        let freed = slot_is_free.clone();
        let hears = self.case().mistake != Some(Mistake::MissesSlots);
        let wake: Waker = Arc::new(move || freed.store(hears, Ordering::Relaxed));
        let (opening, process) = self.opening(shard, shared, Box::new(QueueExecutors(event_queue.clone())), wake)?;
        let is_woken = Arc::new(AtomicBool::new(false));
        let woken = is_woken.clone();
        shared.others.watch(shard.index(), Box::new(move || woken.store(true, Ordering::Relaxed)));
        let (engine, recovery, past) = opening.open(&mut |_, _| {}).map_err(|error| match error {
            OpenError::Disk(error) => error,
            OpenError::Scope(error) => disk::Error::damaged(Path::new(DIR), 0, "a scope", error.to_string()),
        })?;
        let processor = Processor::new(process);
        let idle = IdleJudge::new(shared.clock.now());
        Ok((Member { engine, event_queue, processor, past, is_woken, slot_is_free, finish: None, idle }, recovery))
    }

    fn opening(
        &mut self,
        shard: Shard,
        shared: &Shared,
        executors: Box<dyn Executors>,
        wake: Waker,
    ) -> disk::Result<(Opening, ProcessOptions)> {
        let (disk, shipping) = match &shared.others {
            Others::OnNodes { disk, shipments, .. } => (disk.clone(), Some(shipments.clone() as Arc<dyn Shipping>)),
            _ => (self.disk(), None),
        };
        let dir = self.dir_of(shard);
        for entry in layout::ENTRIES.iter().filter(|entry| entry.is_directory()) {
            disk.create_dir_all(&dir.join(entry.name))?;
        }
        let (identity, is_new) = self.identity(shard, &disk, &dir, shared)?;
        let keys = Arc::new(identity.key_maker());
        let process = self.process(keys.clone());
        let mut settings = self.case().settings.clone();
        (settings.pages_max, settings.bytes_max, settings.time_max) =
            (shared.limits.pages, shared.limits.bytes, shared.limits.time);
        let exchange = shared.others.registry().map(|registry| ExchangeOptions {
            shard,
            registry,
            crawl_dir: PathBuf::from(DIR),
            disk: disk.clone(),
        });
        let case = self.case();
        let opening = Opening {
            shipping,
            crawl_log: CrawlLog::open(&disk, &dir)?,
            skipped_log: SkippedLog::open(&disk, &dir)?,
            exchange,
            disk,
            dir,
            last_known: None,
            commons: shared.commons.clone(),
            wake,
            clock: shared.clock.clone(),
            executors,
            container: ContainerOptions { crawl_id: identity.id, ..case.container.clone() },
            identity,
            is_new,
            settings,
            scope: case.scope.clone(),
            force: false,
            answer_settings: AnswerSettings::default(),
            seeds: Box::new(self.listed(shard, &keys).into_iter()),
            keys,
            drum: case.drum,
            seen_front: case.front,
            host_front: case.front,
            frontier: case.frontier.clone(),
            recrawl: case.recrawl.clone(),
            support: self.support(),
            warcinfo: WarcInfo::default(),
        };
        Ok((opening, process))
    }

    /// The identity of the shard in `dir`, and whether it is new.
    fn identity(&mut self, shard: Shard, disk: &Disk, dir: &Path, shared: &Shared) -> disk::Result<(Identity, bool)> {
        let now = shared.clock.now();
        let (random, shape) = self.case().of_identity();
        if shard.is_whole() {
            return begin::begin(disk, dir, now, random, shape);
        }
        let made = Identity::of_crawl(now, random, shape, shard.count());
        let identity = self.identity.get_or_insert(made).of_shard(shard);
        let is_new = begin::begin_shard(disk, dir, &identity)?;
        Ok((identity, is_new))
    }

    /// The seeds of the domains that the shard owns.
    fn listed(&self, shard: Shard, keys: &KeyMaker) -> Vec<Seed> {
        let seed = |url: &CanonicalUrl| Seed { line: 0, url: url.clone(), fallback: None, names_user: false };
        self.seeds().iter().filter(|url| shard.owns(keys.keys(url).domain)).map(seed).collect()
    }

    pub(super) fn process(&self, keys: Arc<KeyMaker>) -> ProcessOptions {
        let loopback = "127.0.0.0/8".parse().expect("loopback is a network");
        ProcessOptions {
            keys,
            agent_token: "crawler".to_owned(),
            links_max: 10_000,
            url_bytes_max: 2_048,
            decoded_max: 1 << 20,
            robots_bytes_max: 500 << 10,
            sitemaps_max: 1_000,
            respect_nofollow: true,
            lazy_attributes: Vec::new(),
            script_files: false,
            json_links: crate::web::json::JsonLinks::Off,
            text_links: false,
            llms_txt: false,
            markdown_twins: false,
            content_first: false,
            favicon: false,
            licenses: false,
            request_records: true,
            text_digests: self.case().recrawl.as_ref().is_some_and(|recrawl| recrawl.by_text),
            likenesses: self.case().settings.pages_per_text.is_some(),
            learn_session_params: self.case().settings.learn_session_params,
            compression: self.case().container.compression,
            guard: AddressGuard::new(&[loopback]),
            dedup: None,
            kinds: None,
            asks_missing: false,
            kinds_without_links: Vec::new(),
            documents: None,
            sites: None,
        }
    }
}
