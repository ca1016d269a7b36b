//! Cases in which pages are fetched again: some virtual days of a plain case's web, whose processes end as
//! those of other cases do, then a last one until nothing is due. In three of four the pages change by the clock, and
//! sitemaps, which are read more often, tell of it.

use std::time::Duration;

use super::{Case, pick};
use crate::calendar::{Bounds, Mode, ScheduleOptions, WheelOptions};
use crate::engine::RecrawlOptions;
use crate::simulator::BEGIN;
use crate::simweb::Changes;

/// Tells the generator of this part from the others of a seed.
const FOURTH: u64 = 0xca1e_0000_0000_0000;

/// And this one of the changes.
const FIFTH: u64 = 0xc4a6_0000_0000_0000;

const HOUR: Duration = Duration::from_secs(3_600);

/// The time for which a crawl is watched that fetches pages again, and the shortest time between two visits.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulator) struct Watch {
    /// Time by the clock, breaks left out.
    pub time: Duration,
    /// No page is fetched again earlier, but for sitemaps.
    pub shortest: Duration,
    /// Nor later, as long as nothing is in the way.
    pub longest: Duration,
}

/// Intervals are shorter and longer by this part.
pub(in crate::simulator) const JITTER: f64 = 0.1;

impl Watch {
    /// Returns the number of milliseconds after which the next visit of a page is no violation.
    pub fn gap_min(&self) -> u64 {
        let shortest = self.shortest.mul_f64(1.0 - JITTER).saturating_sub(Duration::from_secs(1));
        u64::try_from(shortest.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Gives a plain case a calendar.
pub(super) fn refetch(case: &mut Case) -> Watch {
    let rng = &mut fastrand::Rng::with_seed(case.seed ^ FOURTH);
    let interval = *pick(rng, &[HOUR, 6 * HOUR, 24 * HOUR, 72 * HOUR]);
    let mode = match rng.u8(0..3) {
        0 => Mode::Adaptive { gain: HOUR },
        _ => Mode::Fixed { interval },
    };
    let bounds = Bounds { min: interval, max: interval * rng.u32(1..4) };
    let (time, longest) = match mode {
        Mode::Adaptive { .. } => (bounds.max * 8, bounds.max),
        _ => (interval * rng.u32(2..20), interval),
    };
    case.web.changes = changes(case.seed, interval);
    let maps = match case.web.changes {
        Some(_) => Bounds { min: interval / 6, max: interval / 4 },
        None => bounds,
    };
    let schedule = ScheduleOptions { mode, bounds, maps, rules: Vec::new() };
    // so small that a few pages make files
    let wheel = WheelOptions {
        buffer_bytes: *pick(rng, &[300, 2_000, 64 << 10]),
        memory_bytes: *pick(rng, &[1_000, 8_000, 4 << 20]),
        read_bytes: 4 << 10,
        ready_bytes: *pick(rng, &[1_000, 256 << 10]),
    };
    case.recrawl = Some(RecrawlOptions { schedule, wheel, by_text: rng.bool(), is_on: true, until_fresh: false });
    case.settings.checkpoint_interval = Duration::from_secs(*pick(rng, &[600, 3_600]));
    Watch { time: time.min(HOUR * 24 * 30), shortest: interval, longest }
}

/// Changes about as often as pages are fetched: a tenth of that to ten times as often for most of them.
fn changes(seed: u64, interval: Duration) -> Option<Changes> {
    let rng = &mut fastrand::Rng::with_seed(seed ^ FIFTH);
    let per_interval = *pick(rng, &[0.1, 0.5, 2.0]);
    let changes = Changes {
        per_day: per_interval * (HOUR * 24).div_duration_f64(interval),
        ln_spread: 1.0,
        cosmetic_share: *pick(rng, &[0.0, 0.3]),
        bare_share: *pick(rng, &[0.0, 0.3]),
        dated_sitemaps: rng.bool(),
        ..Changes::from(BEGIN)
    };
    (!seed.is_multiple_of(4)).then_some(changes)
}
