//! Cases with requisites: what pages embed is on other domains, and is fetched from there.
//!
//! They are wide cases whose scope is one of hosts or domains, so that what a page embeds is mostly out of it, drawn
//! from a separate generator.

use super::{Case, pick};
use crate::web::scope::{Requisites, ScopeMode};

/// Tells the third generator of a seed from the others.
const THIRD: u64 = 0x3ed0_0000_0000_0000;

/// Gives a wide case a narrow scope, and a web whose pages embed what is elsewhere.
pub(super) fn embed(case: &mut Case) {
    let rng = &mut fastrand::Rng::with_seed(case.seed ^ THIRD);
    case.web.requisite_share = *pick(rng, &[0.2, 0.8]);
    case.scope.mode = *pick(rng, &[ScopeMode::Domain, ScopeMode::Host, ScopeMode::Prefix]);
    case.settings.follow_seed_redirects = false;
    case.scope.requisites = Requisites::Page;
    case.scope.requisite_hops = rng.u8(1..=4);
}
