//! Cases whose pages are rendered: plain ones, half of whose pages show nothing without a browser.

use std::time::Duration;

use super::{Case, pick};
use crate::contract::RenderMode;
use crate::engine::RenderSettings;
use crate::frontier::RequisitePace;

/// Tells the generator of this part from the others of a seed.
const SIXTH: u64 = 0x4e4d_0000_0000_0000;

/// Has the pages of a plain case rendered.
pub(super) fn render(case: &mut Case) {
    let rng = &mut fastrand::Rng::with_seed(case.seed ^ SIXTH);
    let mode = *pick(rng, &[RenderMode::Always, RenderMode::Needed]);
    case.settings.rendering = RenderSettings {
        mode,
        is_on: true,
        pages: rng.usize(1..4),
        pace: RequisitePace {
            delay: Duration::from_millis(*pick(rng, &[0, 50, 500])),
            connections: *pick(rng, &[1, 2, 4]),
        },
        ..RenderSettings::default()
    };
}
