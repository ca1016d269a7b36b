//! Wide cases: what a plain case is drawn without, from a separate generator.
//!
//! So every setting that can end a URL or the crawl is tried against every kind of death, in webs of several hundred
//! pages.

use std::time::Duration;

use super::{Case, WholeLimits, pick};
use crate::frontier::Budget;
use crate::web::scope::ScopeMode;

/// Tells the second generator of a seed from the first.
const SECOND: u64 = 0x71de_0000_0000_0000;

/// Gives a plain case limits, budgets, patterns, rates, depth, scope, rules that expire, and perhaps a larger web.
pub(super) fn widen(case: &mut Case) {
    let rng = &mut fastrand::Rng::with_seed(case.seed ^ SECOND);
    if rng.u8(0..6) == 0 {
        case.web.hosts = rng.usize(4..40);
        case.web.pages = rng.usize(200..600);
    }
    // whether what always answers 500 had its last attempt before a budget was used up nobody could tell
    case.web.server_error_share = 0.0;
    let budget = &mut case.frontier.budget;
    *budget = Budget {
        pages_per_host: *pick(rng, &[None, None, None, Some(2), Some(15)]),
        pages_per_domain: *pick(rng, &[None, None, None, Some(5), Some(40)]),
        bytes_per_host: *pick(rng, &[None, None, None, Some(3_000), Some(20_000)]),
    };
    let settings = &mut case.settings;
    settings.urls_per_pattern = *pick(rng, &[None, None, None, None, Some(1), Some(3)]);
    if settings.urls_per_pattern.is_some() {
        // each checkpoint goes over all of its cells
        settings.checkpoint_interval = Duration::from_secs(600);
    }
    settings.requests_per_second = *pick(rng, &[None, None, None, Some(2.0), Some(100.0)]);
    settings.bytes_per_second = *pick(rng, &[None, None, None, Some(5_000)]);
    settings.robots_cache = Duration::from_secs(*pick(rng, &[120, 24 * 3_600]));
    settings.merge_pace.share = *pick(rng, &[0.5, 0.5, 0.01]);
    case.scope.max_depth = *pick(rng, &[None, None, Some(1), Some(3)]);
    case.scope.mode = *pick(rng, &[ScopeMode::Any, ScopeMode::Any, ScopeMode::Domain, ScopeMode::Host]);
    // what a redirect takes into scope is in scope for pages that come later: another crawl each time
    settings.follow_seed_redirects = case.scope.mode == ScopeMode::Any;
    for life in &mut case.lives {
        life.limits = match rng.u8(0..6) {
            0 | 1 => WholeLimits { pages: Some(rng.u64(1..200)), ..WholeLimits::default() },
            2 => WholeLimits { bytes: Some(rng.u64(1_000..200_000)), ..WholeLimits::default() },
            3 => WholeLimits { time: Some(Duration::from_secs(rng.u64(1..1_000))), ..WholeLimits::default() },
            _ => WholeLimits::default(),
        };
    }
    case.settings.slots.workers_most = *pick(rng, &[None, None, None, Some(3), Some(40), Some(1_000)]);
    if case.settings.urls_per_pattern.is_none() {
        case.settings.pages_per_text = *pick(rng, &[None, None, None, None, None, Some(1)]);
    }
    if case.settings.pages_per_text.is_some() {
        case.settings.checkpoint_interval = Duration::from_secs(600);
    }
}
