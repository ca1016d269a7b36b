//! A few whole crawls of each kind in the simulator, with kills, power cuts and faults. The many are tests/simulations.

#[path = "../cases/mod.rs"]
mod cases;

use cases::{found_by, hold, hold_on_nodes};
use crawler_simulator::simulator::{
    AGAIN_FROM, Clause, HOURS_FROM, Mistake, RENDERED_FROM, REQUISITES_FROM, SUPPORTED_FROM, WALLS_FROM, WIDE_FROM,
    run_in_shards,
};

#[test]
fn c2_the_contract_holds_in_a_dozen_crawls() {
    let all = hold(0..12, |_| 1);
    assert!(all.deaths > 12 && all.requests > 200, "{all:?}");
}

#[test]
fn the_contract_holds_in_a_few_crawls_of_each_kind() {
    for from in [WIDE_FROM, REQUISITES_FROM, WALLS_FROM, RENDERED_FROM, SUPPORTED_FROM, HOURS_FROM] {
        let all = hold(from..from + 4, |seed| if seed % 4 == 0 { 3 } else { 1 });
        assert!(all.deaths > 2 && all.requests > 200, "{from}: {all:?}");
    }
}

#[test]
fn the_contract_holds_in_two_crawls_that_fetch_again() {
    let all = hold(AGAIN_FROM..AGAIN_FROM + 2, |_| 1);
    assert!(all.deaths > 1 && all.requests > 200, "{all:?}");
}

#[test]
fn the_contract_holds_in_two_crawls_on_three_machines() {
    let all = hold_on_nodes(0..2);
    assert!(all.take_overs > 1 && all.requests > 40, "{all:?}");
}

/// Else the crawls above could not fail.
#[test]
fn mistakes_of_four_kinds_are_found() {
    assert_eq!(found_by(Mistake::LosesLinks, 4..30, 1), Clause::NothingMissing);
    assert_eq!(found_by(Mistake::DeletesEarly, 0..100, 1), Clause::Reopens);
    assert_eq!(found_by(Mistake::Hurries, 0..20, 1), Clause::Polite);
    assert_eq!(found_by(Mistake::MovesOn, 0..20, 3), Clause::NothingMissing);
}

/// A crawl in which links vanish does not count as complete, whatever has lost them.
#[test]
fn links_that_are_lost_are_said_at_the_end() {
    let mut broken = (0..20).filter_map(|seed| run_in_shards(seed, Some(Mistake::MovesOn), 3).err());
    assert!(broken.any(|broken| broken.violation.what.contains("links between shards are lost")));
}
