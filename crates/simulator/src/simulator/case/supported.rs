//! Cases whose budgets follow from supporters: plain ones, with rounds so short that most domains rest now and then.

use super::{Case, pick, rendered};
use crate::engine::SupportOptions;
use crate::frontier::RoundBudgets;

/// Tells the fifth generator of a seed from the others.
const FIFTH: u64 = 0x5099_0000_0000_0000;

/// Gives a plain case rounds, and perhaps a larger web, which has more domains; renders the pages of some.
pub(super) fn support(case: &mut Case) {
    let rng = &mut fastrand::Rng::with_seed(case.seed ^ FIFTH);
    if rng.u8(0..3) == 0 {
        case.web.hosts = rng.usize(20..60);
        case.web.pages = rng.usize(200..500);
    }
    case.web.cross_links = *pick(rng, &[0.2, 0.6]);
    case.support = SupportOptions {
        budgets: RoundBudgets {
            pages_min: *pick(rng, &[1, 2, 10]),
            pages_max: *pick(rng, &[10, 30, 10_000]),
            top_domains: *pick(rng, &[1, 5, 10_000]),
            are_kept: true,
        },
        by_network: rng.u8(0..4) == 0,
        // such counts depend on the order of pages, but for links of the domains of seeds
        by_standing: rng.u8(0..4) == 0,
        is_on: true,
    };
    if rng.u8(0..4) == 0 {
        rendered::render(case);
    } else if rng.u8(0..3) == 0 {
        case.support_late = rng.u32(0..=case.lives.len() as u32);
    }
}
