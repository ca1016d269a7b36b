//! A case: everything about one simulated crawl, drawn from its seed.

mod again;
mod calm;
mod hours;
mod rendered;
mod requisites;
mod supported;
mod walled;
mod wide;

use std::time::Duration;

pub(super) use again::{JITTER, Watch};
pub(super) use calm::calm_recrawl;

use super::mistake::Mistake;
use super::walls::WallOptions;
use crate::checkpoint::Shape;
use crate::container::ContainerOptions;
use crate::contract::Retries;
use crate::disk::simulated::{Fault, Restart};
use crate::drum::{DrumOptions, FrontOptions, PaceOptions};
use crate::engine::{RecrawlOptions, Settings, SlotOptions, SupportOptions};
use crate::frontier::{Budget, FrontierOptions, Politeness};
use crate::simweb::SimOptions;
use crate::warc::Compression;
use crate::web::scope::{Requisites, ScopeMode, ScopeOptions};

/// First seed from which cases have limits, budgets, patterns, rates, depths and scopes too, and larger webs.
pub const WIDE_FROM: u64 = 1_000_000;
/// First seed from which the webs of wide cases embed pictures and sheets of other domains, and the crawls fetch them.
pub const REQUISITES_FROM: u64 = 2_000_000;
/// First seed from which cases are plain ones whose pages are fetched again.
pub const AGAIN_FROM: u64 = 3_000_000;
/// First seed from which cases are plain ones whose crawls keep cookies, in webs with cookie walls.
pub const WALLS_FROM: u64 = 4_000_000;
/// First seed from which cases are plain ones whose pages are rendered.
pub const RENDERED_FROM: u64 = 5_000_000;
/// First seed from which cases are plain ones whose budgets follow from supporters.
pub const SUPPORTED_FROM: u64 = 6_000_000;
/// First seed from which cases are plain ones whose hosts are asked within hours alone.
pub const HOURS_FROM: u64 = 7_000_000;
/// Attempts after the first: more than flaky URLs and the network's troubles use up together.
const RETRIES: u8 = 6;

/// Ways in which one process of the crawl ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A fault happens to the disk after this many changes of it.
    Disk {
        /// Changes from the start of the process on.
        after: u64,
        /// Fault of the disk.
        fault: Fault,
        /// The way in which the machine comes up again.
        restart: Restart,
    },
    /// The process or the machine is gone between two events, after this many of them.
    Between {
        /// Events from the start of the process on.
        after: u64,
        /// The way in which the machine comes up again.
        restart: Restart,
    },
    /// The process is asked to stop after this many events.
    Stop {
        /// Events from the start of the process on.
        after: u64,
    },
}

/// Limits of the whole crawl, of which the first that is reached ends the process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WholeLimits {
    pub pages: Option<u64>,
    pub bytes: Option<u64>,
    pub time: Option<Duration>,
}

/// A process of the crawl that does not live to the crawl's end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    /// The way in which it ends.
    pub end: End,
    /// Limits that end it too, if they come first.
    pub limits: WholeLimits,
    /// Time between its end and the start of the next process.
    pub pause: Duration,
    /// Step by which the clock is set in that time: forwards, or (true) backwards.
    pub clock_set: Option<(Duration, bool)>,
}

/// One simulated crawl.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub seed: u64,
    /// Shards of the crawl.
    pub shards: u32,
    pub web: SimOptions,
    pub trouble: f64,
    pub lives: Vec<Life>,
    pub settings: Settings,
    pub drum: DrumOptions,
    pub front: FrontOptions,
    pub frontier: FrontierOptions,
    pub container: ContainerOptions,
    pub partitions: usize,
    pub scope: ScopeOptions,
    /// Options by which pages are fetched again, where they are.
    pub recrawl: Option<RecrawlOptions>,
    /// Options by which supporters of domains are counted.
    pub support: SupportOptions,
    /// Processes before they are: then that is switched on, in a crawl that has pages.
    pub support_late: u32,
    /// And what is expected of that.
    pub watch: Option<Watch>,
    /// Walls before pages, where there are any: such pages are shown to those alone who send a cookie back.
    pub walls: Option<WallOptions>,
    /// The mistake that the crawler makes deliberately.
    pub mistake: Option<Mistake>,
    /// True where work on the disk takes milliseconds, never seconds.
    pub disk_is_quick: bool,
    /// Checkpoints are also asked for, every this many events.
    pub checkpoint_every: Option<u64>,
}

impl Case {
    /// The case of `seed`.
    pub(super) fn draw(seed: u64, mistake: Option<Mistake>) -> Self {
        let mut case = Case::plain(seed, mistake);
        if seed >= HOURS_FROM {
            hours::limit(&mut case);
            return case;
        }
        if seed >= SUPPORTED_FROM {
            supported::support(&mut case);
            return case;
        }
        if seed >= RENDERED_FROM {
            rendered::render(&mut case);
            return case;
        }
        if seed >= WALLS_FROM {
            walled::wall(&mut case);
            return case;
        }
        if seed >= AGAIN_FROM {
            case.watch = Some(again::refetch(&mut case));
            return case;
        }
        if seed >= WIDE_FROM {
            wide::widen(&mut case);
        }
        if seed >= REQUISITES_FROM {
            requisites::embed(&mut case);
        }
        case
    }

    /// Returns what the crawl's identity is made from: randomness, and the shape of its stores.
    pub(super) fn of_identity(&self) -> (u128, Shape<'static>) {
        let shape = Shape { buckets: self.drum.buckets, partitions: self.partitions, strip_query_params: &[] };
        (u128::from(self.seed) << 64 | 0xc4a5, shape)
    }

    /// Returns whether pages are rendered.
    pub(super) fn renders(&self) -> bool {
        self.settings.rendering.is_on
    }

    /// Returns whether settings leave URLs of the web out. Then what is fetched depends on the order of events.
    pub(super) fn leaves_out(&self) -> bool {
        let budget = &self.frontier.budget;
        budget.pages_per_host.is_some()
            || budget.pages_per_domain.is_some()
            || budget.bytes_per_host.is_some()
            || self.settings.urls_per_pattern.is_some()
            || self.settings.pages_per_text.is_some()
            || self.scope.max_depth.is_some()
            || self.scope.mode != ScopeMode::Any
    }

    /// A case without limits, budgets and rates. What a seed below [`WIDE_FROM`] means stays as it is: some are kept as
    /// tests.
    fn plain(seed: u64, mistake: Option<Mistake>) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let rng = &mut rng;
        let lives = (0..[0, 1, 1, 2, 3, 5, 8][rng.usize(0..7)]).map(|_| life(rng)).collect();
        let delay_min = Duration::from_millis(*pick(rng, &[50, 200, 1_000]));
        let mut frontier = FrontierOptions {
            partitions: *pick(rng, &[1, 4, 16]),
            memory: *pick(rng, &[256 << 10, 1 << 20, 8 << 20]),
            active_hosts: *pick(rng, &[2, 5, 64]),
            buffer_urls: *pick(rng, &[1, 4, 16]),
            block_bytes: [64, 512, 32 << 10][(seed % 3) as usize],
            budget: Budget::UNLIMITED,
            give_up: Duration::from_secs(7_200),
            ..FrontierOptions::default()
        };
        frontier.politeness = Politeness {
            delay_min,
            delay_factor: *pick(rng, &[0.0, 2.0]),
            delay_per_ip: Duration::from_millis(*pick(rng, &[0, 30])),
            connections_per_host: *pick(rng, &[1, 1, 2]),
            ..Politeness::default()
        };
        let trouble = *pick(rng, &[0.0, 0.02, 0.1]);
        let mut web = web(rng);
        if trouble > 0.0 {
            // who is in trouble again and again, with long rests in between, must not pass for dead
            (web.dead_share, web.robots_broken_share) = (0.0, 0.0);
            frontier.politeness.dead_after = u32::MAX;
            frontier.give_up = Duration::from_secs(30 * 24 * 3_600);
        }
        Case {
            seed,
            shards: 1,
            web,
            trouble,
            recrawl: None,
            support: SupportOptions::default(),
            support_late: 0,
            watch: None,
            walls: None,
            mistake,
            lives,
            settings: settings(rng),
            drum: DrumOptions {
                buckets: *pick(rng, &[1, 4]),
                ram_per_bucket: *pick(rng, &[1 << 10, 8 << 10]),
                merge_threshold: *pick(rng, &[2 << 10, 16 << 10]),
                ..DrumOptions::default()
            },
            front: FrontOptions {
                lru_entries: *pick(rng, &[8, 256]),
                bloom_memory: 64 << 10,
                bloom_fpr: *pick(rng, &[0.01, 0.4]),
            },
            partitions: frontier.partitions,
            scope: ScopeOptions {
                mode: ScopeMode::Any,
                max_repeated_segments: 2,
                max_redirects: 20,
                // as it was when these cases were drawn first
                requisites: Requisites::Scope,
                ..ScopeOptions::default()
            },
            frontier,
            container: ContainerOptions {
                segment_bytes: *pick(rng, &[16 << 10, 256 << 10]),
                compression: *pick(rng, &[Compression::Gzip, Compression::None]),
                digest_memory: *pick(rng, &[0, 64 << 10]),
                ..ContainerOptions::default()
            },
            disk_is_quick: false,
            checkpoint_every: rng.bool().then(|| rng.u64(5..200)),
        }
    }
}

pub(super) fn pick<'a, T>(rng: &mut fastrand::Rng, choices: &'a [T]) -> &'a T {
    &choices[rng.usize(0..choices.len())]
}

fn life(rng: &mut fastrand::Rng) -> Life {
    let restart = if rng.bool() { Restart::PowerCut } else { Restart::Killed };
    // early ends meet openings and recoveries, late ones merges and rotations
    let after = match rng.u8(0..3) {
        0 => rng.u64(1..60),
        1 => rng.u64(1..600),
        _ => rng.u64(1..4_000),
    };
    let end = match rng.u8(0..10) {
        0..5 => End::Disk { after, fault: Fault::Stop, restart },
        5 => End::Disk { after, fault: Fault::Error, restart },
        6 => End::Disk { after, fault: Fault::Full, restart: Restart::Killed },
        7 => End::Stop { after },
        _ => End::Between { after, restart },
    };
    let clock_set = (rng.u8(0..8) == 0).then(|| (Duration::from_secs(rng.u64(1..20_000)), rng.bool()));
    let limits = WholeLimits::default();
    Life { end, limits, pause: Duration::from_millis(*pick(rng, &[0, 1, 5_000, 3_600_000])), clock_set }
}

fn web(rng: &mut fastrand::Rng) -> SimOptions {
    let hosts = rng.usize(2..20);
    SimOptions {
        seed: rng.u64(..),
        hosts,
        pages: rng.usize(hosts..hosts * 12),
        addresses: rng.usize(1..5),
        latency: Duration::from_millis(*pick(rng, &[0, 20, 300])),
        page_bytes: rng.usize(200..1_500),
        links: rng.usize(2..14),
        robots_5xx_share: 0.0,
        retry_after_s: *pick(rng, &[1, 40, 3_600]),
        flaky_share: *pick(rng, &[0.0, 0.05]),
        overload_share: *pick(rng, &[0.0, 0.3]),
        overload_s: *pick(rng, &[1, 40, 3_600]),
        sitemap_share: *pick(rng, &[0.0, 0.5]),
        robots_moved_share: *pick(rng, &[0.0, 0.2]),
        robots_broken_share: *pick(rng, &[0.0, 0.1]),
        dead_share: *pick(rng, &[0.0, 0.1]),
        robots_crawl_delay_share: *pick(rng, &[0.0, 0.2]),
        robots_crawl_delay: Duration::from_secs(3),
        ..SimOptions::default()
    }
}

fn settings(rng: &mut fastrand::Rng) -> Settings {
    let slots = SlotOptions {
        workers: *pick(rng, &[2, 8, 32]),
        workers_most: None,
        slow: *pick(rng, &[0, 4]),
        slow_after: Duration::from_secs(2),
    };
    Settings {
        checkpoint_interval: Duration::from_secs(*pick(rng, &[5, 30, 600])),
        // hosts that are dead are given up before
        linger: Duration::from_secs(90 * 24 * 3_600),
        ..unlimited(slots)
    }
}

/// Settings without limits.
fn unlimited(slots: SlotOptions) -> Settings {
    Settings {
        slots,
        retries: Retries::usual(RETRIES),
        pages_max: None,
        bytes_max: None,
        time_max: None,
        checkpoint_interval: Duration::from_secs(6 * 3_600),
        behind_max: None,
        disk_floor: 0,
        urls_per_pattern: None,
        pages_per_text: None,
        learn_session_params: false,
        purpose: Vec::new(),
        follow_seed_redirects: true,
        obey_robots: true,
        sites: None,
        hosts: Default::default(),
        rendering: Default::default(),
        robots_cache: Duration::from_secs(24 * 3_600),
        negative_ttl: Duration::from_secs(600),
        merge_pace: PaceOptions::default(),
        linger: Duration::from_secs(24 * 3_600),
        stop_grace: Duration::from_secs(10),
        requests_per_second: None,
        bytes_per_second: None,
    }
}
