//! Tests of what the simulated store does to its callers, and what it never does.

use std::collections::BTreeSet;

use super::*;

fn body(content: &[u8]) -> Body {
    Body::of(content.to_vec())
}

fn listed(client: &SimulatedClient, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    client.list(prefix, &mut |name, _| names.push(name.to_owned())).unwrap();
    names
}

#[test]
fn each_fault_does_what_it_says() {
    for (fault, is_there, is_there_later) in [
        (Fault::Fails, false, false),
        (Fault::AnswerLost, true, true),
        (Fault::Late, false, true),
        (Fault::Refused, false, false),
    ] {
        let store = SimulatedStore::new(1);
        let client = store.client();
        store.fail_at(1, fault);
        let error = client.put("a", &body(b"x")).unwrap_err();
        assert_eq!(error.is_transient(), fault != Fault::Refused, "{error}");
        assert_eq!(store.content("a").is_some(), is_there, "{fault:?}");
        store.settle();
        assert_eq!(store.content("a").is_some(), is_there_later, "{fault:?}");
        client.put("a", &body(b"x")).unwrap();
    }
}

#[test]
fn a_put_lands_behind_its_repetition_and_a_deletion() {
    let store = SimulatedStore::new(2);
    let client = store.client();
    store.fail_at(1, Fault::Late);
    client.put("a", &body(b"x")).unwrap_err();
    client.put("a", &body(b"x")).unwrap();
    client.delete("a").unwrap();
    store.settle();
    assert_eq!(store.content("a").unwrap(), b"x", "garbage that a sweep has to find");
}

#[test]
fn a_machine_is_cut_off_in_one_direction_or_in_both_and_others_are_not() {
    let store = SimulatedStore::new(3);
    let (one, two) = (store.client(), store.client());
    one.set_reach(Reach::NoAnswers);
    assert!(one.put("a", &body(b"1")).is_err() && two.length("a").unwrap() == Some(1));
    one.set_reach(Reach::Nothing);
    assert!(one.put("b", &body(b"1")).is_err() && one.length("a").is_err() && two.length("b").unwrap().is_none());
    store.set_away(true);
    assert!(two.get("a", 0..1).unwrap_err().is_transient());
    store.set_away(false);
    one.set_reach(Reach::Whole);
    assert_eq!(one.get("a", 0..1).unwrap(), b"1");
}

#[test]
fn with_all_whims_no_object_changes_and_what_was_acknowledged_stays() {
    let mut seen = BTreeSet::new();
    for seed in 0..300 {
        let store = SimulatedStore::new(seed);
        let client = store.client();
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut there, mut tried) = (BTreeSet::new(), BTreeSet::new());
        store.set_whims(Whims::WILD);
        for _ in 0..60 {
            let name = format!("s/{}", rng.u8(0..20));
            if rng.bool() {
                tried.insert(name.clone());
                if client.put(&name, &body(name.as_bytes())).is_ok() {
                    there.insert(name.clone());
                }
            }
            if let Ok(content) = client.get(&name, 0..name.len() as u64) {
                assert_eq!(content, name.as_bytes(), "seed {seed}");
            }
            store.set_whims(Whims { fails: 0, ..Whims::WILD });
            let (shown, objects) = (listed(&client, "s/"), store.objects());
            store.set_whims(Whims::WILD);
            if objects.iter().any(|(name, _)| !shown.contains(name)) {
                seen.insert("there and not listed");
            }
            if objects.iter().any(|(name, _)| !there.contains(name)) {
                seen.insert("there without an answer");
            }
            let is_there = |name: &String| objects.iter().any(|(object, _)| object == name);
            assert!(there.iter().all(is_there), "seed {seed}: acknowledged and lost");
            assert!(objects.iter().all(|(name, _)| tried.contains(name)), "seed {seed}");
        }
        store.set_whims(Whims::default());
        store.settle();
        let shown = listed(&client, "s/");
        assert_eq!(shown, store.objects().into_iter().map(|(name, _)| name).collect::<Vec<_>>(), "seed {seed}");
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn the_same_calls_with_the_same_seed_bring_the_same() {
    let run = |seed| {
        let store = SimulatedStore::new(seed);
        store.set_whims(Whims::WILD);
        let client = store.client();
        let answers: Vec<bool> = (0..100).map(|at| client.put(&format!("{}", at % 30), &body(b"x")).is_ok()).collect();
        (answers, store.objects())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn objects_can_be_lost_and_damaged() {
    let store = SimulatedStore::new(4);
    let client = store.client();
    client.put("a", &body(b"abc")).unwrap();
    assert!(store.damage("a", 1) && !store.damage("a", 3));
    assert_eq!(client.get("a", 0..3).unwrap(), [b'a', !b'b', b'c']);
    assert!(store.lose("a") && client.get("a", 0..3).unwrap_err().is_not_found());
}
