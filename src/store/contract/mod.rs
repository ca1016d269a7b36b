//! What every store has to do, asked of each: a directory, the simulated one, servers of others on loopback as far as
//! they are installed ([`makes`]), and whatever store the environment names.

mod gate;
mod makes;
mod server;

use std::path::Path;
use std::sync::Arc;

use super::simulated::SimulatedStore;
use super::{Body, Error, FileStore, ObjectStore, Part, StoreOptions, open};
use crate::disk::Disk;
use gate::Gate;
use makes::{MOTO, Make};
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
    check_taken(store);
    check_all_but_taken(store, dir);
}

fn check_all_but_taken(store: &dyn ObjectStore, dir: &Path) {
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

/// The store of `server`, reached on `port`.
fn store_of(server: &Server, port: u16) -> Arc<dyn ObjectStore> {
    open(&server.address("crawls/one"), &server.options(port)).unwrap()
}

#[test]
fn moto_keeps_the_contract() {
    let Some(server) = Server::start(&MOTO) else {
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!in_ci, "moto_server is not installed; with CI=false this test is skipped");
        println!("skipped: moto_server, a server of S3, is not installed (pip install 'moto[server]')");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let store = store_of(&server, server.port);
    check(&*store, dir.path());
    let slow = StoreOptions { bytes_per_second: Some(1 << 30), ..server.options(server.port) };
    check(&*open("s3://one/slow", &slow).unwrap(), dir.path());
    check_many(&*store);
    check_refusals(&server);
    check_lost_answers(&server);
    check_a_server_that_goes(&server, dir.path());
    check_a_server_that_forgets(&server, &MOTO);
}

#[test]
fn seaweedfs_keeps_the_contract() {
    check_other(&makes::SEAWEEDFS);
}

#[test]
fn s3proxy_keeps_the_contract() {
    check_other(&makes::S3PROXY);
}

#[test]
fn rclone_keeps_the_contract_where_objects_are_looked_up_before() {
    check_other(&makes::RCLONE);
}

#[test]
fn azurite_keeps_the_contract() {
    check_other(&makes::AZURITE);
}

#[test]
fn googles_requests_keep_the_contract_but_for_conditions_at_a_server_of_s3() {
    check_other(&makes::SEAWEEDFS_AS_GOOGLE);
}

fn check_other(make: &'static Make) {
    let Some(server) = Server::start(make) else {
        println!("skipped: {} is not installed (src/store/contract/install)", make.name);
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let store = store_of(&server, server.port);
    match make.keeps_what_is_there {
        true => check(&*store, dir.path()),
        false => check_all_but_taken(&*store, dir.path()),
    }
    check_many(&*store);
    check_lost_answers(&server);
    check_a_server_that_goes(&server, dir.path());
    check_a_server_that_forgets(&server, make);
}

/// A bucket of a provider, for instance: the test of what an operator means to use.
#[test]
fn a_store_of_the_environment_keeps_the_contract() {
    let Ok(address) = std::env::var("CRAWLER_TEST_STORE") else {
        println!("skipped: CRAWLER_TEST_STORE names no store");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let own = format!("{}/contract-{:x}", address.trim_end_matches('/'), fastrand::u64(..));
    let store = open(&own, &StoreOptions::default()).unwrap();
    check(&*store, dir.path());
    check_many(&*store);
    for (name, _) in listed(&*store, "") {
        store.delete(&name).unwrap();
    }
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
    let store = open("s3://missing/crawls/one", &server.options(server.port)).unwrap();
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
    check_lost_small(server);
    check_lost_upload(server);
}

fn check_lost_small(server: &Server) {
    let gate = Gate::before(server.port);
    let store = store_of(server, gate.port);
    let content = bytes(5_000, 8);
    gate.lose_answer_of(b"PUT ");
    put(&*store, "lost/small", &content);
    assert!(gate.has_lost());
    gate.lose_answer_of(b"GET ");
    assert_eq!(store.get("lost/small", 0..5_000).unwrap(), content);
    assert!(gate.has_lost());
    put(&*store, "deleted/a", b"x");
    gate.lose_answer_of(b"DELETE ");
    store.delete("deleted/a").unwrap();
    assert!(gate.has_lost());
    gate.lose_answer_of(b"prefix=");
    assert_eq!(listed(&*store, "lost/"), [("lost/small".to_owned(), 5_000)]);
    assert!(gate.has_lost());
}

/// Each step of an upload.
fn check_lost_upload(server: &Server) {
    let gate = Gate::before(server.port);
    let store = store_of(server, gate.port);
    // an upload that begins twice leaves one behind, which a life-cycle rule removes
    let steps: &[&[u8]] = match server.address("").starts_with("az:") {
        true => &[b"comp=blocklist", b"comp=block&"],
        false => &[b"?uploads", b"?uploadId=", b"partNumber="],
    };
    for (at, step) in steps.iter().enumerate() {
        let (name, content) = (format!("uploads/{at}"), bytes(9 << 20, 3 + at as u64));
        gate.lose_answer_of(step);
        store.put(&name, &Body::of(content.clone())).unwrap();
        assert!(gate.has_lost(), "{}", String::from_utf8_lossy(step));
        assert_eq!(store.get(&name, 0..9 << 20).unwrap(), content);
    }
    let names: Vec<String> = listed(&*store, "uploads/").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, (0..steps.len()).map(|at| format!("uploads/{at}")).collect::<Vec<_>>());
}

/// The way to the server breaks in the middle of an upload, for some connections; then for all.
fn check_a_server_that_goes(server: &Server, dir: &Path) {
    let gate = Gate::before(server.port);
    let store = store_of(server, gate.port);
    let path = dir.join("large");
    std::fs::write(&path, bytes(30 << 20, 5)).unwrap();
    let body = Body::new(Disk::real(), vec![Part::File { path, offset: 0, bytes: 30 << 20 }]);
    gate.break_after(14 << 20, 6);
    store.put("gone/a", &body).unwrap();
    assert_eq!(gate.refused(), 6);
    assert_eq!(store.get("gone/a", 0..30 << 20).unwrap(), bytes(30 << 20, 5));
    gate.break_after(14 << 20, usize::MAX);
    let options = StoreOptions { retry_for: std::time::Duration::from_millis(300), ..server.options(gate.port) };
    let error = open(&server.address("crawls/one"), &options).unwrap().put("gone/b", &body).unwrap_err();
    assert!(error.is_transient(), "{error}");
    gate.open();
    assert_eq!(store.length("gone/b").unwrap(), None, "nothing is there in parts");
}

/// The server comes back in the middle of an upload, and knows nothing of it.
fn check_a_server_that_forgets(server: &Server, make: &'static Make) {
    let Some(next) = Server::start(make) else { return };
    let gate = Gate::before(server.port);
    gate.go_on_with(next.port);
    gate.break_after(14 << 20, 3);
    let options = StoreOptions { retry_for: std::time::Duration::from_secs(2), ..server.options(gate.port) };
    let (store, content) = (open(&server.address("crawls/one"), &options).unwrap(), bytes(30 << 20, 6));
    let body = Body::of(content.clone());
    // moto fails over an upload that it does not know, where others say so: then a caller asks again
    if let Err(error) = store.put("forgotten/a", &body) {
        assert!(error.is_transient(), "{error}");
        store.put("forgotten/a", &body).unwrap();
    }
    assert_eq!(gate.refused(), 3);
    assert_eq!(store_of(&next, next.port).get("forgotten/a", 0..30 << 20).unwrap(), content);
    assert_eq!(store_of(server, server.port).length("forgotten/a").unwrap(), None);
}
