//! Documents that are nearly the same, over passes.

use std::collections::BTreeMap;

use super::{A, B, Bench, C, Changed, DAY, Limits, Reason, Seen, UNCHANGED, canonical, moved, urls};
use crate::similar::Signature;

const D: &str = "https://d.example/";

/// A page with this text.
fn signed(text: &str) -> Seen {
    let digest = std::array::from_fn(|at| text.as_bytes()[text.len() - 1 - at]);
    Seen::Content { digest, canonical: None, signature: Signature::of(text) }
}

/// A text of many words, and one more.
fn text(seed: u64, last: &str) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let words: Vec<_> = (0..200).map(|_| random.u32(..).to_string()).collect();
    format!("{} {last}", words.join(" "))
}

fn bench() -> Bench {
    Bench { near_duplicates: Some(0.8), ..Bench::new(Limits::default()) }
}

#[test]
fn the_document_that_consumers_have_stands_for_those_that_are_nearly_the_same() {
    let mut bench = bench();
    bench.see(C, 0, signed(&text(1, "first edition of it")));
    bench.see(A, 0, signed(&text(1, "second edition of it")));
    bench.see(B, 0, signed(&text(2, "another page of it")));
    bench.pass(0);
    assert_eq!(bench.published(), BTreeMap::from([(C.into(), vec![A.into()]), (B.into(), vec![])]));
    // one that comes later is a part of it, on whichever host, and so is what leads to a part
    bench.see(D, 1, signed(&text(1, "third edition of it")));
    bench.see("https://d.example/old", 1, moved(D));
    bench.see("https://d.example/print", 1, canonical(9, D));
    bench.pass(1);
    let others = [A, D, "https://d.example/old", "https://d.example/print"].map(str::to_owned).to_vec();
    assert_eq!(bench.published(), BTreeMap::from([(C.into(), others), (B.into(), vec![])]));
    // a new version is stored later and stays the document
    bench.see(C, 2, signed(&text(1, "fourth edition of it")));
    bench.pass(2);
    assert_eq!((urls(&bench), bench.gone()), (vec![B.into(), C.into()], BTreeMap::new()));
    // the others stand for themselves again when it says something else
    bench.see(C, 3, signed(&text(3, "something else is here")));
    bench.pass(3);
    assert_eq!(urls(&bench), [A, B, C], "one of the two that are left");
}

#[test]
fn a_document_goes_as_a_near_duplicate_once_a_later_visit_finds_it_as_it_was() {
    let mut bench = bench();
    for (url, seed) in [(A, 1), (B, 2)] {
        bench.see(url, 0, signed(&text(seed, "of the page itself")));
    }
    bench.pass(0);
    // an hour in which all pages say the same
    for url in [A, B] {
        bench.see(url, 1, signed(&text(7, "we are back soon")));
    }
    bench.pass(1);
    assert_eq!((urls(&bench), bench.gone()), (vec![A.into(), B.into()], BTreeMap::new()));
    let version = bench.entries().into_iter().find(|entry| entry.url == B).unwrap().content.unwrap().stored.record;
    bench.see(B, DAY + 1, Seen::Again { version });
    bench.pass(DAY + 1);
    assert_eq!(bench.published(), BTreeMap::from([(A.into(), vec![B.into()])]));
    assert_eq!(bench.gone(), BTreeMap::from([(B.into(), Reason::Duplicate)]));
}

#[test]
fn the_setting_counts_for_documents_that_are_there_already_and_back() {
    let mut bench = Bench::new(Limits::default());
    for (url, seed) in [(A, 1), (B, 1), (C, 2)] {
        bench.see(url, 0, signed(&text(seed, "of the page itself")));
    }
    bench.pass(0);
    assert_eq!(urls(&bench), [A, B, C]);
    let changed = Changed { likeness: true, ..UNCHANGED };
    bench.near_duplicates = Some(0.8);
    bench.pass_with(1, &changed);
    assert_eq!(urls(&bench), [A, C]);
    bench.near_duplicates = None;
    bench.pass_with(2, &changed);
    assert_eq!(urls(&bench), [A, B, C]);
}

#[test]
fn more_near_duplicates_than_a_host_may_lose_wait_for_the_operator() {
    let mut bench = Bench::new(Limits::default());
    let pages: Vec<_> = (0..30).map(|page| format!("{A}{page}")).collect();
    pages.iter().for_each(|page| bench.see(page, 0, signed(&text(1, "of the page itself"))));
    bench.pass(0);
    bench.near_duplicates = Some(0.8);
    bench.pass_with(1, &Changed { likeness: true, ..UNCHANGED });
    assert_eq!((urls(&bench).len(), bench.days.waiting().count()), (30, 1));
}
