//! The contract of object stores, asked of servers of others on loopback ([`makes`]), and of the store that the
//! environment names.

mod beside;
#[path = "../contract/mod.rs"]
mod contract;
mod gate;
mod makes;
mod server;
mod sinks;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{bytes, check, check_all_but_taken, check_many, listed, put};
use crawler::disk::Disk;
use crawler::store::{Body, Error, ObjectStore, Part, StoreOptions, open};
use gate::Gate;
use makes::{MOTO, Make};
use server::Server;

use crate::site::PATIENCE;

/// The store of `server`, reached on `port`.
fn store_of(server: &Server, port: u16) -> Arc<dyn ObjectStore> {
    open(&server.address("crawls/one"), &server.options(port)).unwrap()
}

#[test]
fn moto_keeps_the_contract() {
    let Some(server) = Server::start(&MOTO) else { return };
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
    let Some(server) = Server::start(make) else { return };
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
#[ignore = "needs CRAWLER_TEST_STORE, the address of a store: --ignored a_store_of_the_environment"]
fn a_store_of_the_environment_keeps_the_contract() {
    let address = std::env::var("CRAWLER_TEST_STORE").expect("CRAWLER_TEST_STORE is the address of a store");
    let dir = tempfile::tempdir().unwrap();
    let own = format!("{}/contract-{:x}", address.trim_end_matches('/'), fastrand::u64(..));
    let store = open(&own, &StoreOptions::default()).unwrap();
    check(&*store, dir.path());
    check_many(&*store);
    for (name, _) in listed(&*store, "") {
        store.delete(&name).unwrap();
    }
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

/// Checks that what was done and not answered is found out by the object itself.
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
    let expected: Vec<String> = (0..steps.len()).map(|at| format!("uploads/{at}")).collect();
    let names = || listed(&*store, "uploads/").into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    // a server may still be at work on what it has not answered
    let start = Instant::now();
    while names() != expected && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(names(), expected);
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
    let options = StoreOptions { retry_for: Duration::from_millis(300), ..server.options(gate.port) };
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
    let options = StoreOptions { retry_for: Duration::from_secs(2), ..server.options(gate.port) };
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
