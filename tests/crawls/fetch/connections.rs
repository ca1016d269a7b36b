//! Connections: which are kept open, to whom they go, and what is sent over them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crawler::contract::Lease;
use crawler::fetch::{FetchOptions, Permission};
use crawler::outcome::Failure;

use super::client::{Client, options, options_with};
use super::crawl::Plan;
use super::http::{Connection, HttpServer, page};
use super::nameserver::{NameServer, found};
use crate::tools::{Tool, has};

#[test]
fn one_connection_serves_the_pages_of_a_host_one_after_the_other() {
    let server = HttpServer::answering(page("", "one"));
    let client = Client::start(options());
    for _ in 0..10 {
        assert_eq!(client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap().body, b"one");
    }
    let connections: HashSet<usize> = server.requests().iter().map(|&(connection, _)| connection).collect();
    assert_eq!((server.requests().len(), connections.len()), (10, 1));
}

#[test]
fn beyond_the_places_for_idle_connections_they_are_closed_behind_the_answer() {
    let (served, gone) = crossbeam_channel::unbounded();
    let server = HttpServer::start("127.0.0.1", move |connection| {
        while connection.request().is_some() && connection.send(page("", "one")) {}
        let _ = served.send(());
    });
    let client = Client::start(FetchOptions { idle_max: 3, ..options() });
    for number in 0..10 {
        client.get(&server.url(&format!("host{number}.test")), &["127.0.0.1"]).unwrap();
    }
    // seven ended; three wait for another page, each of its host
    for _ in 0..7 {
        gone.recv_timeout(super::client::PATIENCE).unwrap();
    }
    for number in 0..3 {
        client.get(&server.url(&format!("host{number}.test")), &["127.0.0.1"]).unwrap();
    }
    let connections: HashSet<usize> = server.requests().iter().map(|&(connection, _)| connection).collect();
    assert_eq!((server.requests().len(), connections.len()), (13, 10));
}

/// Answers one request of a connection, promises more, and ends the connection when the next one comes.
fn one_each(connection: &mut Connection, answer: impl Fn(&str) -> String) {
    if let Some(head) = connection.request() {
        connection.send(answer(&head));
        connection.request();
    }
}

#[test]
fn a_kept_connection_that_is_dead_costs_no_answer_and_a_host_of_such_gets_none() {
    let server = HttpServer::start("127.0.0.1", |connection| one_each(connection, |_| page("", "one")));
    let client = Client::start(options());
    for _ in 0..12 {
        assert_eq!(client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap().body, b"one");
    }
    // two died, and none was kept from then on
    assert_eq!(server.requests().len(), 12 + 2);
}

#[test]
fn pages_of_a_server_that_closes_kept_connections_are_fetched_without_a_second_attempt() {
    let server = HttpServer::start("127.0.0.1", |connection| {
        one_each(connection, |head| match head.split(' ').nth(1).unwrap() {
            "/robots.txt" => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "/" => {
                page("content-type: text/html\r\n", &(0..30).map(|n| format!("<a href=/{n}>x</a>")).collect::<String>())
            }
            _ => page("content-type: text/html\r\n", "one"),
        });
    });
    let seed = server.url("127.0.0.1");
    let crawled = Plan::of(std::slice::from_ref(&seed)).run();
    assert_eq!(crawled.code, Some(0), "{}", crawled.crawl_log);
    let pages = crawled.crawl_log.lines().filter(|line| line.contains(" 200 ")).count();
    assert_eq!((pages, crawled.crawl_log.lines().count()), (31, 32), "{}", crawled.crawl_log);
}

#[test]
fn a_request_over_a_fresh_connection_that_ends_is_not_repeated() {
    let server = HttpServer::start("127.0.0.1", |connection| drop(connection.request()));
    let client = Client::start(options());
    let failed = client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap_err();
    assert_eq!(failed.failure, Failure::Disconnected, "{}", failed.detail);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_post_that_a_dead_connection_took_is_not_sent_twice() {
    let server = HttpServer::start("127.0.0.1", |connection| one_each(connection, |_| page("", "one")));
    let client = Client::start(options());
    let post = format!("{}#~POST", server.url("a.test"));
    client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap();
    let failed = client.get(&post, &["127.0.0.1"]).unwrap_err();
    assert_eq!(failed.failure, Failure::Disconnected, "{}", failed.detail);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_an_engine_has_asked_for_ends_with_it() {
    let (begun, body_begun) = crossbeam_channel::unbounded();
    let (gone, is_gone) = crossbeam_channel::unbounded();
    let server = HttpServer::start("127.0.0.1", move |connection| {
        if connection.request().is_some() {
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nmore will");
            let _ = begun.send(());
            // no further request comes, and no end of this one but the connection's
            assert!(connection.request().is_none());
            let _ = gone.send(());
        }
    });
    let mut client = Client::start(options());
    client.begin(&server.url("a.test"), &["127.0.0.1"]);
    body_begun.recv_timeout(super::client::PATIENCE).unwrap();
    client.hang_up();
    is_gone.recv_timeout(super::client::PATIENCE).unwrap();
}

/// A right to make requests that can be taken away.
#[derive(Debug, Default)]
struct Switch(AtomicBool);

impl Lease for Switch {
    fn holds(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn an_answer_that_has_begun_is_dropped_with_the_right_to_it_and_asked_for_again() {
    let (begun, body_begun) = crossbeam_channel::unbounded();
    let (gone, is_gone) = crossbeam_channel::unbounded();
    let asked = AtomicUsize::new(0);
    let server = HttpServer::start("127.0.0.1", move |connection| {
        while connection.request().is_some() {
            if asked.fetch_add(1, Ordering::Relaxed) > 0 {
                connection.send(page("", "whole"));
                continue;
            }
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nmore will");
            let _ = begun.send(());
            assert!(connection.request().is_none());
            let _ = gone.send(());
            return;
        }
    });
    let right = Arc::new(Switch(AtomicBool::new(true)));
    let lease = Permission::by(Some(right.clone()));
    let client = Client::start(FetchOptions { lease, ..options() });
    client.begin(&server.url("a.test"), &["127.0.0.1"]);
    body_begun.recv_timeout(super::client::PATIENCE).unwrap();
    right.0.store(false, Ordering::Relaxed);
    is_gone.recv_timeout(super::client::PATIENCE).unwrap();
    right.0.store(true, Ordering::Relaxed);
    assert_eq!(client.end().unwrap().body, b"whole");
}

#[test]
fn s21_no_cookie_and_no_other_trace_of_an_answer_is_sent_back() {
    let server = HttpServer::answering(page(
        "set-cookie: id=1; path=/\r\nset-cookie: wide=2; domain=test\r\n\
         www-authenticate: Basic realm=\"x\"\r\netag: \"7\"\r\n",
        "one",
    ));
    let client = Client::start(options());
    for _ in 0..3 {
        client.get(&server.url("a.test"), &["127.0.0.1"]).unwrap();
    }
    for (_, head) in server.requests() {
        let mut names: Vec<&str> = head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"], "{head}");
    }
}

#[test]
fn a_host_with_a_dead_address_is_fetched_from_the_live_one_in_either_order() {
    let server = HttpServer::answering(page("", "alive"));
    let client = Client::start(options());
    // nothing listens there on that port
    for addresses in [["127.0.0.99", "127.0.0.1"], ["127.0.0.1", "127.0.0.99"]] {
        let host = if addresses[0] == "127.0.0.1" { "a.test" } else { "b.test" };
        let response = client.get(&server.url(host), &addresses).unwrap();
        assert_eq!(response.body, b"alive");
        assert_eq!(response.address, Some([127, 0, 0, 1].into()));
    }
    let failed = client.get(&server.url("c.test"), &["127.0.0.99", "127.0.0.98"]).unwrap_err();
    assert_eq!(failed.failure, Failure::Connect);
}

#[test]
fn addresses_of_both_families_are_tried_whichever_is_dead() {
    if !has(Tool::Ipv6) {
        return;
    }
    let v6 = HttpServer::start(
        "::1",
        |connection| {
            while connection.request().is_some() && connection.send(page("", "six")) {}
        },
    );
    let client = Client::start(options());
    let response = client.get(&v6.url("a.test"), &["127.0.0.1", "::1"]).unwrap();
    assert_eq!((response.body.as_slice(), response.address), (&b"six"[..], "::1".parse().ok()));
    let v4 = HttpServer::answering(page("", "four"));
    let response = client.get(&v4.url("b.test"), &["::1", "127.0.0.1"]).unwrap();
    assert_eq!((response.body.as_slice(), response.address), (&b"four"[..], "127.0.0.1".parse().ok()));
}

#[test]
fn a_host_that_has_only_an_ipv6_address_is_resolved_and_fetched() {
    let names = NameServer::start(|question| found(question, 300, &["::1"]));
    let client = Client::start(options_with([names.address]));
    assert_eq!(client.resolve("six.test").unwrap().0, ["::1".parse::<std::net::IpAddr>().unwrap()]);
    if !has(Tool::Ipv6) {
        return;
    }
    let server = HttpServer::start(
        "::1",
        |connection| {
            while connection.request().is_some() && connection.send(page("", "six")) {}
        },
    );
    let response = client.get(&server.url("six.test"), &["::1"]).unwrap();
    assert_eq!((response.body.as_slice(), response.address), (&b"six"[..], "::1".parse().ok()));
}

#[test]
fn s3_the_address_that_was_checked_is_connected_to_whatever_the_name_means_later() {
    let server = HttpServer::start("127.0.0.2", |connection| {
        while connection.request().is_some() && connection.send(page("connection: close\r\n", "public")) {}
    });
    // the first lookup finds a public server, every later one the crawler's own machine
    let lookups = std::sync::atomic::AtomicUsize::new(0);
    let names = NameServer::start(move |question| {
        let first =
            question.kind == super::nameserver::A && lookups.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        found(question, 0, &[if first { "127.0.0.2" } else { "127.0.0.1" }])
    });
    let client = Client::start_allowing(options_with([names.address]), &["127.0.0.2"]);
    let (addresses, _) = client.resolve("rebound.test").unwrap();
    assert_eq!(addresses, [std::net::IpAddr::from([127, 0, 0, 2])]);
    let asked = names.asked().len();
    for _ in 0..3 {
        let response = client.get(&server.url("rebound.test"), &["127.0.0.2"]).unwrap();
        assert_eq!(response.address, Some([127, 0, 0, 2].into()));
    }
    assert_eq!(names.asked().len(), asked, "pinned addresses need no name server");
    // without pinned addresses, and by a stored answer that has gone bad, the guard has the last word
    for addresses in [&[][..], &["127.0.0.1"]] {
        let failed = client.get(&server.url("rebound.test"), addresses).unwrap_err();
        assert_eq!(failed.failure, Failure::PrivateAddress, "{}", failed.detail);
    }
    assert_eq!(client.resolve("rebound.test").unwrap_err().failure, Failure::PrivateAddress);
    let failed = client.get(&server.url("127.0.0.1"), &[]).unwrap_err();
    assert_eq!(failed.failure, Failure::PrivateAddress);
}
