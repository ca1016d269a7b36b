//! Name servers that lie, lie slowly, loop or say nothing: a lookup ends in time with an outcome.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crawler::fetch::FetchOptions;
use crawler::outcome::{Cause, Failure};

use super::client::{Client, options_with};
use super::nameserver::{
    A, AAAA, Message, NXDOMAIN, NameServer, Question, REFUSED, Reply, SERVFAIL, address, alias, found, nowhere,
    start_of_authority,
};
use crate::tools::skip;

type Script = fn(&Question) -> Reply;

const GOOD: &str = "127.0.0.3";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn good() -> NameServer {
    NameServer::start(|question| found(question, 300, &[GOOD]))
}

/// A server that says nothing useful, in every way that comes to mind.
const USELESS: [(&str, Script); 10] = [
    ("is silent", |_| None),
    ("fails", |question| Message::to(question).code(SERVFAIL).reply()),
    ("refuses", |question| Message::to(question).code(REFUSED).reply()),
    ("sends an empty datagram", |_| Some(Vec::new())),
    ("sends a header alone", |question| Some(Message::to(question).bytes()[..12].to_vec())),
    ("sends noise", |question| Some([&question.id.to_be_bytes()[..], &[0xff; 200]].concat())),
    ("uses another id", |question| {
        let mut message = Message::to(question).answer(address(&question.name, 300, "127.0.0.66"));
        message.id ^= 0x5555;
        message.reply()
    }),
    ("answers another question", |question| {
        let mut message = Message::to(question).answer(address(&question.name, 300, "127.0.0.66"));
        message.name = "other.test".to_owned();
        message.reply()
    }),
    ("points a name at itself", |question| {
        let mut bytes = Message::to(question).bytes();
        // the question's name is a pointer to the place where it stands
        bytes.splice(12..12 + question.name.len() + 2, [0xc0, 0x0c]);
        Some(bytes)
    }),
    ("promises more records than it sends", |question| {
        let mut bytes = Message::to(question).bytes();
        bytes[6] = 0xff;
        Some(bytes)
    }),
];

#[test]
fn the_second_name_server_answers_whatever_the_first_one_does() {
    std::thread::scope(|threads| {
        for (does, script) in USELESS {
            threads.spawn(move || {
                let (first, second) = (NameServer::start(script), good());
                let client = Client::start(options_with([first.address, second.address]));
                let answer = client.resolve("a.test");
                assert_eq!(answer.unwrap_or_else(|e| panic!("{does}: {e:?}")).0, [ip(GOOD)], "{does}");
                assert!(!first.asked().is_empty(), "{does}");
            });
        }
        threads.spawn(|| {
            let second = good();
            let client = Client::start(options_with([nowhere(), second.address]));
            assert_eq!(client.resolve("a.test").unwrap().0, [ip(GOOD)]);
        });
    });
}

#[test]
fn the_name_server_that_answered_last_is_asked_first() {
    let (first, second) = (NameServer::start(|question| Message::to(question).code(SERVFAIL).reply()), good());
    let client = Client::start(options_with([first.address, second.address]));
    client.resolve("a.test").unwrap();
    let asked = first.asked().len();
    client.resolve("b.test").unwrap();
    assert_eq!(first.asked().len(), asked);
}

#[test]
fn a_lookup_ends_whatever_all_name_servers_do() {
    std::thread::scope(|threads| {
        for (does, script) in USELESS {
            threads.spawn(move || {
                let servers = [NameServer::start(script), NameServer::start(script)];
                let servers = servers.iter().map(|server| server.address);
                let client =
                    Client::start(FetchOptions { dns_timeout: Duration::from_secs(1), ..options_with(servers) });
                let unresolved = client.resolve("a.test").unwrap_err();
                assert_eq!((unresolved.failure, unresolved.valid_for), (Failure::Dns, None), "{does}");
            });
        }
    });
}

#[test]
fn a_truncated_answer_is_asked_for_over_tcp_and_hundreds_of_addresses_are_bounded() {
    let server = NameServer::start(|question| {
        let mut message = Message::to(question);
        message.truncated = !question.over_tcp;
        for last in (1..=255).filter(|_| question.over_tcp) {
            let text = if question.kind == A { format!("127.1.1.{last}") } else { format!("2001:4860::{last}") };
            message = message.answer(address(&question.name, 300, &text));
        }
        message.reply()
    });
    let client = Client::start(options_with([server.address]));
    let (addresses, _) = client.resolve("many.test").unwrap();
    assert_eq!(addresses.iter().filter(|address| address.is_ipv4()).count(), 4);
    assert_eq!(addresses.iter().filter(|address| address.is_ipv6()).count(), 4);
    assert!(addresses[0].is_ipv4() && server.asked().iter().any(|question| question.over_tcp));
}

#[test]
fn a_tcp_server_that_takes_its_time_forever_ends_the_lookup_at_its_time() {
    // UDP says truncated, TCP nothing
    let server = NameServer::start(|question| {
        let mut message = Message::to(question);
        message.truncated = true;
        message.reply().filter(|_| !question.over_tcp)
    });
    let options = FetchOptions { dns_timeout: Duration::from_secs(2), ..options_with([server.address]) };
    assert_eq!(Client::start(options).resolve("a.test").unwrap_err().failure, Failure::Dns);
    assert!(server.asked().iter().any(|question| question.over_tcp));
}

#[test]
fn aliases_are_followed_from_answer_to_answer_and_loops_end() {
    let server = NameServer::start(|question| match question.name.as_str() {
        "a.test" => Message::to(question).answer(alias("a.test", 600, "b.test")).reply(),
        "b.test" => Message::to(question).answer(alias("b.test", 90, "c.test")).reply(),
        "c.test" => found(question, 600, &[GOOD]),
        "self.test" => Message::to(question).answer(alias("self.test", 600, "self.test")).reply(),
        "ping.test" => Message::to(question).answer(alias("ping.test", 600, "pong.test")).reply(),
        "pong.test" => Message::to(question).answer(alias("pong.test", 600, "ping.test")).reply(),
        endless => {
            // every alias leads to one that was never heard of
            let next = format!("x{}", endless.replace("xxxxxxxxxx", ""));
            Message::to(question).answer(alias(endless, 600, &next)).reply()
        }
    });
    let client = Client::start(options_with([server.address]));
    let (addresses, valid_for) = client.resolve("a.test").unwrap();
    assert_eq!(addresses, [ip(GOOD)]);
    assert!(valid_for <= Duration::from_secs(90), "the shortest TTL of the chain holds: {valid_for:?}");
    for name in ["self.test", "ping.test", "endless.test"] {
        let failed = client.resolve(name).unwrap_err();
        assert_eq!((failed.failure, failed.cause), (Failure::Dns, Cause::AliasLoop), "{name}");
    }
    assert!(server.asked().len() < 100, "{} questions", server.asked().len());
}

#[test]
fn records_of_other_names_are_not_taken_from_any_section() {
    let server = NameServer::start(|question| {
        let mut message = Message::to(question).answer(address("other.test", 300, "127.0.0.66"));
        message.additionals.push(address(&question.name, 300, "127.0.0.67"));
        message.reply().filter(|_| question.kind == A).or_else(|| found(question, 300, &[]))
    });
    let client = Client::start(options_with([server.address]));
    assert_eq!(client.resolve("a.test").unwrap_err().failure, Failure::NoSuchHost);
}

#[test]
fn positive_and_negative_answers_hold_within_their_bounds() {
    let server = NameServer::start(|question| match question.name.as_str() {
        "short.test" => found(question, 1, &[GOOD]),
        "hour.test" => found(question, 3_600, &[GOOD]),
        "long.test" => found(question, 1_000_000, &[GOOD]),
        "negative.test" => found(question, u32::MAX, &[GOOD]),
        "gone.test" => Message::to(question).code(NXDOMAIN).authority(start_of_authority("test", 3_600, 90)).reply(),
        "empty.test" => Message::to(question).authority(start_of_authority("test", 120, 3_600)).reply(),
        "unsaid.test" => Message::to(question).code(NXDOMAIN).reply(),
        _ => Message::to(question).code(NXDOMAIN).authority(start_of_authority("test", 90_000, 90_000)).reply(),
    });
    let client = Client::start(options_with([server.address]));
    for (name, seconds) in [("short.test", 60), ("hour.test", 3_600), ("long.test", 86_400), ("negative.test", 60)] {
        let (_, valid_for) = client.resolve(name).unwrap();
        let wanted = Duration::from_secs(seconds);
        assert!(valid_for <= wanted && valid_for + super::client::PATIENCE > wanted, "{name}: {valid_for:?}");
    }
    for (name, seconds) in [("gone.test", 90), ("empty.test", 120), ("unsaid.test", 60), ("far.test", 600)] {
        let unresolved = client.resolve(name).unwrap_err();
        assert_eq!(unresolved.failure, Failure::NoSuchHost, "{name}");
        assert_eq!(unresolved.valid_for, Some(Duration::from_secs(seconds)), "{name}");
    }
}

#[test]
fn nothing_is_remembered_beside_the_dns_store() {
    let server = good();
    let client = Client::start(options_with([server.address]));
    for _ in 0..3 {
        client.resolve("a.test").unwrap();
    }
    assert_eq!(server.asked().iter().filter(|question| question.kind == A).count(), 3);
}

#[test]
fn private_addresses_are_left_out_and_a_host_that_has_no_other_is_told() {
    let server = NameServer::start(|question| match question.name.as_str() {
        "mixed.test" => found(question, 300, &["10.0.0.1", GOOD, "fe80::1", "169.254.169.254"]),
        _ => found(question, 120, &["10.0.0.1", "192.168.1.1", "fd00::1", "::ffff:10.0.0.1"]),
    });
    let client = Client::start(options_with([server.address]));
    assert_eq!(client.resolve("mixed.test").unwrap().0, [ip(GOOD)]);
    let unresolved = client.resolve("private.test").unwrap_err();
    assert_eq!((unresolved.failure, unresolved.valid_for), (Failure::PrivateAddress, Some(Duration::from_secs(120))));
    // answered by the resolver itself (RFC 6761), and private like any other
    let strict = Client::start_allowing(options_with([server.address]), &[]);
    assert_eq!(strict.resolve("localhost").unwrap_err().failure, Failure::PrivateAddress);
}

#[test]
fn half_an_answer_is_none_and_addresses_do_not_wait_for_the_other_family() {
    let server = NameServer::start(|question| match (question.name.as_str(), question.kind) {
        // many a server never answers AAAA
        ("four.test", A) => found(question, 300, &[GOOD]),
        ("four.test", _) => None,
        ("half.test", AAAA) => Message::to(question).code(SERVFAIL).reply(),
        _ => found(question, 300, &[]),
    });
    let options = FetchOptions { dns_timeout: Duration::from_secs(60), ..options_with([server.address]) };
    let client = Client::start(options);
    assert_eq!(client.resolve("four.test").unwrap().0, [ip(GOOD)]);
    assert_eq!(client.resolve("half.test").unwrap_err().failure, Failure::Dns);
    assert_eq!(client.resolve("none.test").unwrap_err().failure, Failure::NoSuchHost);
}

#[test]
fn strange_names_are_asked_as_they_are_and_impossible_ones_not_at_all() {
    let server = good();
    let client = Client::start(options_with([server.address]));
    let long_label = format!("{}.test", "a".repeat(63));
    for name in ["_under_score.test", "dot.test.", "-dash-.test", "xn--bcher-kva.test", "intranet", &long_label] {
        assert_eq!(client.resolve(name).unwrap().0, [ip(GOOD)], "{name}");
        let asked = server.asked();
        // no search domain is put behind it
        let wanted = name.trim_end_matches('.');
        assert!(asked.iter().rev().take(2).all(|question| question.name == wanted), "{name}: {asked:?}");
    }
    let asked = server.asked().len();
    let (too_long, many) = (format!("{}.test", "a".repeat(64)), "a.".repeat(130) + "test");
    for name in [too_long.as_str(), &many, "a..test", "."] {
        assert_eq!(client.resolve(name).unwrap_err().failure, Failure::NoSuchHost, "{name}");
    }
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn the_file_of_hosts_is_not_looked_at() {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let names = hosts.lines().filter_map(|line| line.split('#').next()?.split_whitespace().nth(1));
    let Some(name) = names.into_iter().find(|name| !name.contains("localhost") && !name.contains(':')) else {
        return skip("/etc/hosts has no name of its own");
    };
    let client = Client::start(options_with([good().address]));
    assert_eq!(client.resolve(name).unwrap().0, [ip(GOOD)], "{name}");
}

#[test]
fn n12_why_a_lookup_failed_is_told_apart() {
    let cause = |servers: Vec<SocketAddr>| {
        let options = FetchOptions { dns_timeout: Duration::from_secs(1), ..options_with(servers) };
        Client::start(options).resolve("a.test").unwrap_err().cause
    };
    let says = |code| NameServer::start(move |question| Message::to(question).code(code).reply());
    let (failing, silent) = (says(SERVFAIL), NameServer::start(|_| None));
    assert_eq!(cause(vec![failing.address]), Cause::ServFail);
    assert_eq!(cause(vec![says(REFUSED).address]), Cause::DnsRefused);
    assert_eq!(cause(vec![silent.address]), Cause::DnsSilent);
    assert_eq!(cause(vec![failing.address, silent.address]), Cause::ServFail, "what was said counts");
}
