//! What every store has to do, asked of each: a directory, the simulated one, and S3 by a real server on loopback.

mod gate;
mod server;

use std::path::Path;

use super::simulated::SimulatedStore;
use super::{Body, Error, FileStore, ObjectStore, Part, StoreOptions, open};
use crate::disk::Disk;
use gate::Gate;
use server::Server;

fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}

fn listed(store: &dyn ObjectStore, prefix: &str) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    store.list(prefix, &mut |name, bytes| found.push((name.to_owned(), bytes))).unwrap();
    found.sort();
    found
}

fn put(store: &dyn ObjectStore, name: &str, content: &[u8]) {
    store.put(name, &Body::of(content.to_vec())).unwrap();
}

/// All that the rest of the program relies on.
fn check(store: &dyn ObjectStore, dir: &Path) {
    check_small(store);
    check_names(store);
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
        assert!(matches!(store.get("s/a", from..to), Err(Error::Damaged { offset: 1_000, .. })), "{from}..{to}");
    }
    put(store, "s/a", &content);
    for other in [999, 1_001] {
        assert!(matches!(store.put("s/a", &Body::of(vec![0; other])), Err(Error::Taken { .. })));
    }
    assert_eq!(store.get("s/a", 0..1_000).unwrap(), content, "what is there stays");
    put(store, "s/empty", b"");
    assert_eq!((store.length("s/empty").unwrap(), store.get("s/empty", 0..0).unwrap()), (Some(0), Vec::new()));
    store.delete("s/a").unwrap();
    store.delete("s/a").unwrap();
    assert!(store.length("s/a").unwrap().is_none() && store.get("s/a", 0..1).unwrap_err().is_not_found());
    put(store, "s/a", b"a name is free again, though no crawl uses one twice");
}

fn check_names(store: &dyn ObjectStore) {
    for (name, length) in [("l/017/e1-4/n1.pack", 3), ("l/017/e1-4/n2.pack", 4), ("l/017.x", 5), ("l/0170/y", 6)] {
        put(store, name, &vec![1; length]);
    }
    let below =
        |prefix: &str| listed(store, prefix).into_iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
    let found: Vec<String> = below("l/017/");
    assert_eq!(found, ["l/017/e1-4/n1.pack 3", "l/017/e1-4/n2.pack 4"]);
    let found: Vec<String> = below("l/");
    assert_eq!(found, ["l/017.x 5", "l/017/e1-4/n1.pack 3", "l/017/e1-4/n2.pack 4", "l/0170/y 6"]);
    assert!(listed(store, "").len() >= 6 && listed(store, "nothing/").is_empty());
    for name in ["", "/a", "a/../b", "../a", "a b", ".put-1"] {
        assert!(matches!(store.put(name, &Body::of(Vec::new())), Err(Error::Refused { .. })), "{name:?}");
        assert!(store.get(name, 0..1).is_err() && store.delete(name).is_err() && store.length(name).is_err());
    }
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
    assert!(matches!(store.put("big/a", &Body::of(vec![0; 9 << 20])), Err(Error::Taken { .. })));
    std::thread::scope(|scope| {
        let puts: Vec<_> = (0..4).map(|_| scope.spawn(|| store.put("big/once", &body))).collect();
        assert!(puts.into_iter().all(|put| put.join().unwrap().is_ok()), "the same object, sent at the same time");
    });
    store.delete("big/a").unwrap();
}

#[test]
fn a_directory_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("file://{}/store", dir.path().display());
    check(&*open(&url, &StoreOptions::default()).unwrap(), dir.path());
    check(&FileStore::new(crate::disk::simulated::SimulatedDisk::new(1).disk(), "/store"), dir.path());
    let slow = StoreOptions { bytes_per_second: Some(1 << 30), ..StoreOptions::default() };
    let url = format!("file://{}/slow", dir.path().display());
    check(&*open(&url, &slow).unwrap(), dir.path());
}

#[test]
fn the_simulated_store_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    check(&SimulatedStore::new(1).client(), dir.path());
}

fn s3(server: &Server, port: u16, bucket: &str) -> std::sync::Arc<dyn ObjectStore> {
    open(&format!("s3://{bucket}/crawls/one"), &server.options(port)).unwrap()
}

#[test]
fn a_server_of_s3_keeps_the_contract() {
    let Some(server) = Server::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    server.make_bucket("one");
    let store = s3(&server, server.port, "one");
    check(&*store, dir.path());
    let slow = StoreOptions { bytes_per_second: Some(1 << 30), ..server.options(server.port) };
    check(&*open("s3://one/slow", &slow).unwrap(), dir.path());
    check_many(&*store);
    check_refusals(&server);
    check_lost_answers(&server);
    check_a_server_that_goes(&server, dir.path());
    check_a_server_that_forgets(&server);
}

/// A listing of several pages.
fn check_many(store: &dyn ObjectStore) {
    std::thread::scope(|scope| {
        for at in 0..5 {
            scope.spawn(move || (0..205).for_each(|of| put(store, &format!("many/{}", at * 205 + of), b"x")));
        }
    });
    assert_eq!(listed(store, "many/").len(), 1_025);
}

fn check_refusals(server: &Server) {
    let store = s3(server, server.port, "missing");
    for error in [
        store.put("a", &Body::of(b"x".to_vec())).unwrap_err(),
        store.put("a", &Body::of(vec![0; 9 << 20])).unwrap_err(),
        store.list("", &mut |_, _| ()).unwrap_err(),
    ] {
        assert!(matches!(&error, Error::Refused { detail, .. } if detail.contains("bucket")), "{error}");
    }
    let elsewhere =
        [("AWS_ENDPOINT_URL", "http://192.0.2.1:9"), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
    let environment = elsewhere.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let store = open("s3://one/a", &StoreOptions { environment, ..server.options(server.port) }).unwrap();
    let error = store.length("a").unwrap_err();
    assert!(matches!(&error, Error::Refused { detail, .. } if detail.contains("AWS_ALLOW_HTTP")), "{error}");
}

/// What was done and not answered is found out by the object itself.
fn check_lost_answers(server: &Server) {
    let gate = Gate::before(server.port);
    let store = s3(server, gate.port, "one");
    gate.lose_answer_of(b"/lost/small");
    put(&*store, "lost/small", b"small");
    assert!(gate.has_lost());
    gate.lose_answer_of(b"?uploadId=");
    store.put("lost/completed", &Body::of(bytes(9 << 20, 3))).unwrap();
    assert!(gate.has_lost());
    // an upload that begins twice leaves one behind, which a life-cycle rule removes
    gate.lose_answer_of(b"?uploads");
    store.put("lost/begun", &Body::of(bytes(9 << 20, 4))).unwrap();
    gate.lose_answer_of(b"GET ");
    assert_eq!(store.get("lost/completed", 0..9 << 20).unwrap(), bytes(9 << 20, 3));
    gate.lose_answer_of(b"DELETE ");
    store.delete("lost/begun").unwrap();
    gate.lose_answer_of(b"list-type");
    assert_eq!(listed(&*store, "lost/"), [("lost/completed".to_owned(), 9 << 20), ("lost/small".to_owned(), 5)]);
    assert!(gate.has_lost());
}

/// The way to the server breaks in the middle of an upload, for some connections; then for all.
fn check_a_server_that_goes(server: &Server, dir: &Path) {
    let gate = Gate::before(server.port);
    let store = s3(server, gate.port, "one");
    let path = dir.join("large");
    std::fs::write(&path, bytes(30 << 20, 5)).unwrap();
    let body = Body::new(Disk::real(), vec![Part::File { path, offset: 0, bytes: 30 << 20 }]);
    gate.break_after(14 << 20, 6);
    store.put("gone/a", &body).unwrap();
    assert_eq!(gate.refused(), 6);
    assert_eq!(store.get("gone/a", 0..30 << 20).unwrap(), bytes(30 << 20, 5));
    gate.break_after(14 << 20, usize::MAX);
    let options = StoreOptions { retry_for: std::time::Duration::from_millis(300), ..server.options(gate.port) };
    let error = open("s3://one/crawls/one", &options).unwrap().put("gone/b", &body).unwrap_err();
    assert!(error.is_transient(), "{error}");
    gate.open();
    assert_eq!(store.length("gone/b").unwrap(), None, "nothing is there in parts");
}

/// The server comes back in the middle of an upload, and knows nothing of it.
fn check_a_server_that_forgets(server: &Server) {
    let Some(next) = Server::start() else { return };
    next.make_bucket("one");
    let gate = Gate::before(server.port);
    gate.go_on_with(next.port);
    gate.break_after(14 << 20, 3);
    let options = StoreOptions { retry_for: std::time::Duration::from_secs(2), ..server.options(gate.port) };
    let (store, content) = (open("s3://one/crawls/one", &options).unwrap(), bytes(30 << 20, 6));
    let body = Body::of(content.clone());
    // moto fails over an upload that it does not know, where others say so: then a caller asks again
    if let Err(error) = store.put("forgotten/a", &body) {
        assert!(error.is_transient(), "{error}");
        store.put("forgotten/a", &body).unwrap();
    }
    assert_eq!(gate.refused(), 3);
    assert_eq!(s3(&next, next.port, "one").get("forgotten/a", 0..30 << 20).unwrap(), content);
    assert_eq!(s3(server, server.port, "one").length("forgotten/a").unwrap(), None);
}
