//! Tests of the content of the drawn cases. The crawls themselves are separate tests (tests/engine,
//! tests/simulations).

use super::*;

#[test]
fn among_the_cases_that_fetch_again_some_last_for_thirty_days_with_restarts() {
    let days = |case: &Case| case.watch.map_or(0, |watch| watch.time.as_secs() / 86_400);
    let cases = (AGAIN_FROM..AGAIN_FROM + 60).map(|seed| Case::draw(seed, None));
    assert!(cases.filter(|case| days(case) == 30 && case.lives.len() > 1).count() > 3);
}
