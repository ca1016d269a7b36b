//! The contract of object stores: all that the rest of the program relies on, asked of a directory and the simulated
//! store in tests/engine, and of servers on loopback in tests/crawls.

#![allow(dead_code, reason = "no test program asks all of it")]

use std::path::Path;

use crawler::disk::Disk;
use crawler::store::{Body, Error, ObjectStore, Part};

pub fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}

pub fn listed(store: &dyn ObjectStore, prefix: &str) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    store.list(prefix, &mut |name, bytes| found.push((name.to_owned(), bytes))).unwrap();
    found.sort();
    found
}

pub fn put(store: &dyn ObjectStore, name: &str, content: &[u8]) {
    store.put(name, &Body::of(content.to_vec())).unwrap();
}

/// Asks everything.
pub fn check(store: &dyn ObjectStore, dir: &Path) {
    check_taken(store);
    check_all_but_taken(store, dir);
}

/// Asks all but that an object is kept where another is put.
pub fn check_all_but_taken(store: &dyn ObjectStore, dir: &Path) {
    check_small(store);
    check_names(store);
    check_listings(store);
    check_large(store, dir);
}

fn check_small(store: &dyn ObjectStore) {
    assert_eq!(store.length("none/a").unwrap(), None);
    assert!(store.get("none/a", 0..1).unwrap_err().is_not_found());
    assert!(store.get("none/a", 0..0).unwrap_err().is_not_found());
    store.delete("none/a").unwrap();
    let content = bytes(1_000, 1);
    put(store, "s/a", &content);
    assert_eq!(store.length("s/a").unwrap(), Some(1_000));
    for (from, to) in [(0, 1_000), (0, 1), (999, 1_000), (10, 20), (5, 5), (1_000, 1_000)] {
        assert_eq!(store.get("s/a", from..to).unwrap(), content[from as usize..to as usize]);
    }
    for (from, to) in [(0, 1_001), (990, 2_000), (1_000, 1_001), (5_000, 6_000), (2_000, 2_000)] {
        let error = store.get("s/a", from..to).unwrap_err();
        assert!(matches!(error, Error::Damaged { offset: 1_000, .. }), "{from}..{to}: {error}");
    }
    put(store, "s/a", &content);
    assert_eq!(store.get("s/a", 0..1_000).unwrap(), content);
    put(store, "s/empty", b"");
    assert_eq!((store.length("s/empty").unwrap(), store.get("s/empty", 0..0).unwrap()), (Some(0), Vec::new()));
    store.delete("s/a").unwrap();
    store.delete("s/a").unwrap();
    assert!(store.length("s/a").unwrap().is_none() && store.get("s/a", 0..1).unwrap_err().is_not_found());
    put(store, "s/a", b"a name is free again, though no crawl uses one twice");
}

fn check_taken(store: &dyn ObjectStore) {
    let content = bytes(1_000, 7);
    put(store, "taken/a", &content);
    for other in [999, 1_001] {
        let error = store.put("taken/a", &Body::of(vec![0; other])).unwrap_err();
        assert!(matches!(error, Error::Taken { .. }), "{error}");
    }
    assert_eq!(store.get("taken/a", 0..1_000).unwrap(), content, "what is there stays");
}

fn check_names(store: &dyn ObjectStore) {
    for name in ["", "/a", "a/../b", "../a", "a b", ".put-1"] {
        assert!(matches!(store.put(name, &Body::of(Vec::new())), Err(Error::Refused { .. })), "{name:?}");
        assert!(store.get(name, 0..1).is_err() && store.delete(name).is_err() && store.length(name).is_err());
    }
}

fn check_listings(store: &dyn ObjectStore) {
    for (name, length) in [("l/017/e1-4/n1.pack", 3), ("l/017/e1-4/n2.pack", 4), ("l/017.x", 5), ("l/0170/y", 6)] {
        put(store, name, &vec![1; length]);
    }
    let below =
        |prefix: &str| listed(store, prefix).into_iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
    let found: Vec<String> = below("l/017/");
    assert_eq!(found, ["l/017/e1-4/n1.pack 3", "l/017/e1-4/n2.pack 4"]);
    let found: Vec<String> = below("l/");
    assert_eq!(found, ["l/017.x 5", "l/017/e1-4/n1.pack 3", "l/017/e1-4/n2.pack 4", "l/0170/y 6"]);
    assert!(listed(store, "").len() >= 4 && listed(store, "nothing/").is_empty());
}

fn check_large(store: &dyn ObjectStore, dir: &Path) {
    let (local, path) = (bytes(20 << 20, 2), dir.join("local"));
    std::fs::write(&path, &local).unwrap();
    let parts = vec![
        Part::Bytes(b"head".to_vec()),
        Part::File { path, offset: 1, bytes: (20 << 20) - 1 },
        Part::Bytes(vec![9]),
    ];
    let (body, whole) = (Body::new(Disk::real(), parts), [b"head", &local[1..], &[9]].concat());
    store.put("big/a", &body).unwrap();
    store.put("big/a", &body).unwrap();
    assert_eq!(store.get("big/a", 0..body.bytes()).unwrap(), whole);
    let border = 8 << 20;
    assert_eq!(store.get("big/a", border - 10..border + 10).unwrap(), whole[border as usize - 10..][..20]);
    assert_eq!(listed(store, "big/"), [("big/a".to_owned(), body.bytes())], "no part is an object");
    let error = store.put("big/a", &Body::of(vec![0; 9 << 20])).unwrap_err();
    assert!(matches!(error, Error::Taken { .. }), "{error}");
    std::thread::scope(|scope| {
        let puts: Vec<_> = (0..4).map(|_| scope.spawn(|| store.put("big/once", &body))).collect();
        assert!(puts.into_iter().all(|put| put.join().unwrap().is_ok()), "the same object, sent at the same time");
    });
    store.delete("big/a").unwrap();
}

/// Asks for a listing of several pages.
pub fn check_many(store: &dyn ObjectStore) {
    std::thread::scope(|scope| {
        for at in 0..5 {
            scope.spawn(move || (0..205).for_each(|of| put(store, &format!("many/{}", at * 205 + of), b"x")));
        }
    });
    assert_eq!(listed(store, "many/").len(), 1_025);
}
