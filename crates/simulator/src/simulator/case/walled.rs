//! Cases with cookies: plain ones in whose web some domains have cookie walls, by a crawl that sends cookies back.

use std::sync::Arc;
use std::time::Duration;

use super::{Case, RETRIES, pick};
use crate::simulator::walls::{Keeping, WallOptions};

/// Tells the generator of this part from the others of a seed.
const SIXTH: u64 = 0xc00c_0000_0000_0000;

/// Puts walls into a plain case's web.
pub(super) fn wall(case: &mut Case) {
    let rng = &mut fastrand::Rng::with_seed(case.seed ^ SIXTH);
    let lasts = Duration::from_secs(*pick(rng, &[600, 3_600, 365 * 24 * 3_600]));
    case.walls = Some(WallOptions { share: *pick(rng, &[0.3, 1.0]), lasts });
    case.settings.sites = Some(Arc::new(Keeping::new()));
    // a page may meet its wall at each of its attempts, if the value changes meanwhile
    case.settings.retries.usual = 3 * RETRIES;
    case.frontier.politeness.connections_per_host = *pick(rng, &[1, 2, 4]);
}
