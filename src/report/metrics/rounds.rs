//! The families of the rounds in which domains have their budgets, of a crawl that has any.

use super::text::{Exposition, Kind};
use crate::record::RoundFigures;
use Kind::{Counter, Gauge};

/// Adds them to `out`.
pub(super) fn rounds(out: &mut Exposition, rounds: &RoundFigures) {
    out.family("crawler_rounds_total", Counter, "Rounds of budgets that have begun.").value(rounds.number);
    out.family("crawler_round_begun_seconds", Gauge, "When the last round began, as a Unix time.")
        .value(rounds.begun_ms as f64 / 1_000.0);
    out.family(
        "crawler_round_top_supporters",
        Gauge,
        "Supporters from which on a domain has the most pages of a round.",
    )
    .value(rounds.limit);
    out.family("crawler_round_resting_hosts", Gauge, "Hosts in memory that wait for the next round.")
        .value(rounds.resting_hosts);
    out.family("crawler_domain_pairs", Gauge, "Pairs of domains of which one links to the other.").value(rounds.pairs);
    out.family("crawler_domain_pairs_bytes", Gauge, "Bytes of the store of these pairs.").value(rounds.pairs_bytes);
}
