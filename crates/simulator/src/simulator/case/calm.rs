//! A case without troubles and faults, with the stores of a real crawl: for measuring what a crawl does in many days.

use std::time::Duration;

use super::{Case, unlimited};
use crate::calendar::{ScheduleOptions, WheelOptions};
use crate::container::ContainerOptions;
use crate::contract::Retries;
use crate::drum::{DrumOptions, FrontOptions};
use crate::engine::{RecrawlOptions, Settings, SlotOptions, SupportOptions};
use crate::frontier::{Budget, FrontierOptions, Politeness};
use crate::simweb::SimOptions;
use crate::web::scope::{ScopeMode, ScopeOptions};

impl Case {
    /// A case of the web that `web` describes.
    pub(in crate::simulator) fn calm(web: SimOptions, seed: u64) -> Case {
        let politeness = Politeness { delay_min: Duration::from_secs(1), delay_factor: 0.0, ..Politeness::default() };
        let frontier =
            FrontierOptions { partitions: 4, politeness, budget: Budget::UNLIMITED, ..FrontierOptions::default() };
        Case {
            support: SupportOptions::default(),
            support_late: 0,
            seed,
            shards: 1,
            web,
            trouble: 0.0,
            lives: Vec::new(),
            settings: settings(),
            drum: DrumOptions { buckets: 4, ..DrumOptions::default() },
            front: FrontOptions { lru_entries: 1 << 14, bloom_memory: 1 << 20, bloom_fpr: 0.01 },
            partitions: frontier.partitions,
            frontier,
            container: ContainerOptions { segment_bytes: 16 << 20, ..ContainerOptions::default() },
            scope: ScopeOptions { mode: ScopeMode::Any, ..ScopeOptions::default() },
            recrawl: None,
            walls: None,
            watch: None,
            mistake: None,
            disk_is_quick: false,
            checkpoint_every: None,
        }
    }
}

/// Pages are fetched again by `schedule`.
pub(in crate::simulator) fn calm_recrawl(schedule: ScheduleOptions, by_text: bool) -> RecrawlOptions {
    RecrawlOptions { schedule, wheel: WheelOptions::default(), by_text, is_on: true, until_fresh: false }
}

fn settings() -> Settings {
    let slots = SlotOptions { workers: 64, workers_most: None, slow: 0, slow_after: Duration::from_secs(2) };
    Settings { retries: Retries::usual(3), ..unlimited(slots) }
}
