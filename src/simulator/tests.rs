use super::*;

#[test]
fn the_contract_holds_in_a_hundred_crawls() {
    let mut all = Held::default();
    for seed in 0..100 {
        match run(seed) {
            Ok(held) => {
                all.requests += held.requests;
                all.deaths += held.deaths;
                all.changes += held.changes;
            }
            Err(broken) => panic!("seed {seed}: {}\n{}", broken.violation, broken.trace.join("\n")),
        }
    }
    println!("{all:?}");
    assert!(all.deaths > 100 && all.requests > 2_000, "{all:?}");
}
