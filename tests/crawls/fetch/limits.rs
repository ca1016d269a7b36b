//! HTTP servers that drip, flood, lie about lengths and break off: every request ends, with a failure or with what came
//! of the body and why it is not all.

use std::sync::Arc;
use std::time::Duration;

use crawler::contract::{RequestSettings, Response};
use crawler::fetch::FetchOptions;
use crawler::outcome::Failure;
use crawler::warc::Truncation;

use crossbeam_channel::{Receiver, unbounded};

use super::client::{Client, Outcome, PATIENCE, options, usual};
use super::crawl::Plan;
use super::http::{Connection, HttpServer, page};

/// Time between two pieces of something that drips.
const DRIP: Duration = Duration::from_millis(20);

/// Returns settings of requests that read this many bytes of a body.
fn body_max(bytes: usize) -> Arc<RequestSettings> {
    usual(|usual| usual.body_max = bytes)
}

fn impatient() -> FetchOptions {
    FetchOptions {
        timeout_connect: Duration::from_secs(1),
        usual: usual(|usual| (usual.timeout_head, usual.body_max) = (Duration::from_secs(1), 64 << 10)),
        body_max: 64 << 10,
        ..options()
    }
}

/// Returns the outcome of a request to a server that answers by `converse`.
fn fetch(options: FetchOptions, converse: impl Fn(&mut Connection) + Send + Sync + 'static) -> Outcome {
    let server = HttpServer::start("127.0.0.1", move |connection| {
        if connection.request().is_some() {
            converse(connection);
        }
    });
    Client::start(options).get(&server.url("a.test"), &["127.0.0.1"])
}

fn failure(converse: impl Fn(&mut Connection) + Send + Sync + 'static) -> Failure {
    fetch(impatient(), converse).unwrap_err().failure
}

fn response(options: FetchOptions, converse: impl Fn(&mut Connection) + Send + Sync + 'static) -> Response {
    fetch(options, converse).unwrap()
}

/// Sends `piece` again and again until the client has had enough.
fn drip(connection: &mut Connection, piece: &[u8]) {
    while connection.send(piece) {
        std::thread::sleep(DRIP);
    }
}

#[test]
fn s8_a_server_that_accepts_and_says_nothing_is_too_slow() {
    assert_eq!(failure(Connection::wait_for_end), Failure::TooSlow);
}

#[test]
fn s8_a_head_that_drips_is_too_slow() {
    let dripping = |connection: &mut Connection| {
        connection.send("HTTP/1.1 200 OK\r\nx-slow: ");
        drip(connection, b"a");
    };
    assert_eq!(failure(dripping), Failure::TooSlow);
}

#[test]
fn s9_interim_answers_without_end_are_too_slow() {
    let interim = |connection: &mut Connection| drip(connection, b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
    assert_eq!(failure(interim), Failure::TooSlow);
}

#[test]
fn s8_the_total_time_ends_what_the_other_limits_let_pass() {
    let options = FetchOptions { usual: usual(|usual| usual.timeout_total = Duration::from_secs(1)), ..options() };
    assert_eq!(fetch(options.clone(), Connection::wait_for_end).unwrap_err().failure, Failure::Timeout);
    let response = response(options, |connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\n");
        drip(connection, &[b'a'; 100]);
    });
    assert_eq!(response.truncated, Some(Truncation::Time));
    assert!(!response.body.is_empty());
}

#[test]
fn s9_a_hundred_and_one_headers_break_a_limit() {
    let headers = |connection: &mut Connection| {
        let lines: String = (0..101).map(|number| format!("x-{number}: a\r\n")).collect();
        connection.send(page(&lines, "one"));
    };
    assert_eq!(failure(headers), Failure::Protocol);
}

#[test]
fn s9_a_header_of_a_megabyte_breaks_a_limit() {
    let header = |connection: &mut Connection| {
        connection.send(page(&format!("x: {}\r\n", "a".repeat(1 << 20)), "one"));
        connection.wait_for_end();
    };
    assert_eq!(failure(header), Failure::Protocol);
}

#[test]
fn s9_a_header_without_end_breaks_a_limit() {
    let endless = |connection: &mut Connection| {
        connection.send("HTTP/1.1 200 OK\r\nx: ");
        while connection.send([b'a'; 4_096]) {}
    };
    assert_eq!(failure(endless), Failure::Protocol);
}

#[test]
fn what_is_no_http_is_told_from_a_connection_that_broke() {
    for noise in ["SSH-2.0-OpenSSH\r\n", "\0\0\0\0\0\0\0\0\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"]
    {
        let noisy = move |connection: &mut Connection| {
            connection.send(noise);
            connection.wait_for_end();
        };
        assert_eq!(failure(noisy), Failure::Protocol, "{noise:?}");
    }
    for cut in ["", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let cutting = move |connection: &mut Connection| {
            connection.send(cut);
        };
        assert_eq!(failure(cutting), Failure::Disconnected, "{cut:?}");
    }
}

/// Heads that browsers read and the library refuses, and what is said of each.
const REFUSED_HEADS: [(&str, &str); 9] = [
    ("HTTP/1.1  200 OK\r\n", "no status code in its head"),
    ("HTTP/1.1 200OK\r\n", "no status code in its head"),
    ("http/1.1 200 OK\r\n", "no version of HTTP in its head that is known"),
    ("HTTP/2 200 OK\r\n", "no version of HTTP in its head that is known"),
    ("HTTP/1.1 200 OK\r\nx: a\rb\r\n", "a malformed field in its head"),
    ("HTTP/1.1 200 OK\r\ncontent-length: 2;\r\n", "a malformed Content-Length in its head"),
    ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n", "a malformed Content-Length in its head"),
    ("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n", "a Transfer-Encoding in its head that cannot be"),
    ("MANY", "more or longer fields in its head than can be"),
];

#[test]
fn a_head_that_is_refused_costs_one_request_and_what_is_wrong_with_it_is_said() {
    let server = HttpServer::start("127.0.0.1", |connection| {
        let Some(head) = connection.request() else { return };
        let path = head.split(' ').nth(1).unwrap_or_default();
        let link = |number| format!("<a href=/{number}>x</a><a href=/good{number}>x</a>");
        let links: String = (0..REFUSED_HEADS.len()).map(link).collect();
        let number = path.trim_start_matches('/').parse::<usize>().ok();
        match number.map(|number| REFUSED_HEADS[number].0) {
            None if path == "/" => connection.send(page("content-type: text/html\r\n", &links)),
            // so that the host is not given up
            None if path.starts_with("/good") => connection.send(page("", "good")),
            None => connection.send("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
            Some("MANY") => {
                let fields: String = (0..101).map(|number| format!("x-{number}: a\r\n")).collect();
                connection.send(page(&fields, "ok"))
            }
            Some(begin) => connection.send(format!("{begin}connection: close\r\n\r\nok")),
        };
    });
    let seed = server.url("127.0.0.1");
    let crawled = Plan::of(std::slice::from_ref(&seed)).run();
    for (number, (head, words)) in REFUSED_HEADS.iter().enumerate() {
        let url = format!("{seed}{number}");
        assert_eq!(crawled.lines(&url).len(), 1, "{head:?}: {}", crawled.crawl_log);
        crawled.expect(&url, &words.replace(' ', "%20"));
        let explained = crawled.ask(&["explain", &url]);
        assert!(explained.contains(words), "{head:?}: {explained}");
        let asked = server.requests().iter().filter(|(_, line)| line.contains(&format!("/{number} "))).count();
        assert_eq!(asked, 1, "{head:?}");
    }
}

#[test]
fn s8_a_body_that_stops_or_drips_is_cut_by_its_rate_though_no_byte_comes() {
    let slow = FetchOptions {
        rate_min: 100_000,
        usual: usual(|usual| usual.timeout_total = Duration::from_secs(600)),
        ..options()
    };
    std::thread::scope(|threads| {
        for piece in [None, Some(b"a")] {
            let options = slow.clone();
            threads.spawn(move || {
                let response = response(options, move |connection| {
                    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nbegin");
                    match piece {
                        None => connection.wait_for_end(),
                        Some(piece) => drip(connection, piece),
                    }
                });
                assert_eq!(response.truncated, Some(Truncation::Time), "{piece:?}");
                assert!(response.body.starts_with(b"begin"), "{piece:?}");
            });
        }
    });
}

#[test]
fn a_body_that_is_longer_than_the_limit_is_cut_there() {
    let sized = response(impatient(), |connection| {
        connection.send(page("", &"a".repeat(100_000)));
    });
    let endless = response(impatient(), |connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\n");
        while connection.send([b'a'; 4_096]) {}
    });
    let tiny_chunks = response(impatient(), |connection| {
        connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        while connection.send("1\r\na\r\n".repeat(1_000)) {}
    });
    for response in [sized, endless, tiny_chunks] {
        assert_eq!((response.truncated, response.body.len()), (Some(Truncation::Length), 64 << 10));
    }
}

#[test]
fn n18_a_body_that_was_compressed_for_its_transfer_is_stored_without_that_or_refused() {
    let text = b"plain text ".repeat(1_000);
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    let bomb = gzip(&vec![b' '; 1 << 20]);
    let (once, twice) = (gzip(&text), gzip(&gzip(&text)));
    let chunked = |coding: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {coding}\r\n\r\n{:x}\r\n", body.len());
        [head.as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
    };
    let to_the_end = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", &*once].concat();
    let of = |answer: Vec<u8>| {
        fetch(impatient(), move |connection| {
            connection.send(&answer);
        })
    };
    for answer in [
        chunked("gzip, chunked", &once),
        chunked("X-GZip;q=1 , Chunked", &once),
        chunked("gzip\r\ntransfer-encoding: gzip, chunked", &twice),
        chunked("identity, chunked", &text),
        to_the_end,
    ] {
        let response = of(answer).unwrap();
        assert_eq!((response.truncated, response.body), (None, text.clone()));
    }
    let cut = of(chunked("gzip, chunked", &bomb)).unwrap();
    assert_eq!(cut.truncated, Some(Truncation::Length));
    assert_eq!(cut.body.len(), (64 << 10) - bomb.len(), "both together have the room of one body");
    let broken = of(chunked("gzip, chunked", &once[..once.len() / 2]));
    for refused in [broken, of(chunked("compress, chunked", &once))] {
        let failed = refused.unwrap_err();
        assert_eq!(failed.failure, Failure::Protocol);
        assert!(failed.detail.contains("transfer coding"), "{}", failed.detail);
    }
}

#[test]
fn a_body_that_is_shorter_than_announced_is_cut_by_the_disconnect() {
    let short = response(impatient(), |connection| {
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nonly this");
    });
    let unended = response(impatient(), |connection| {
        connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nonly this\r\n");
    });
    let no_chunk = response(impatient(), |connection| {
        connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nonly this\r\nnine\r\n");
        connection.wait_for_end();
    });
    let beyond_all = response(impatient(), |connection| {
        connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nonly this\r\nfffffffffffffffff\r\n");
        connection.wait_for_end();
    });
    for response in [short, unended, no_chunk, beyond_all] {
        assert_eq!((response.truncated, &*response.body), (Some(Truncation::Disconnect), &b"only this"[..]));
    }
}

#[test]
fn a_body_that_is_longer_than_announced_ends_where_that_was() {
    let response = response(impatient(), |connection| {
        connection.send(page("", "announced"));
        connection.send("and more".repeat(1_000));
        connection.wait_for_end();
    });
    assert_eq!((response.truncated, &*response.body), (None, &b"announced"[..]));
}

#[test]
fn a_lie_about_length_reserves_no_memory() {
    let response = response(impatient(), |connection| {
        connection.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\nlittle", i64::MAX));
    });
    assert_eq!((response.truncated, &*response.body), (Some(Truncation::Disconnect), &b"little"[..]));
    assert!(response.body.capacity() <= 256 << 10);
}

/// A body in which no part is like another.
fn varied(bytes: usize) -> String {
    (0..).map(|number: u32| format!("{number:08x}")).take(bytes.div_ceil(8)).collect::<String>()[..bytes].to_owned()
}

#[test]
fn many_large_bodies_at_once_share_the_memory_and_all_come() {
    let body = varied(2 << 20);
    let server = HttpServer::answering(page("", &body));
    // there are places for three bodies of this size
    let client = Client::start(FetchOptions { usual: body_max(16 << 20), body_max: 16 << 20, ..options() });
    for number in 0..24 {
        client.begin(&server.url(&format!("host{number}.test")), &["127.0.0.1"]);
    }
    for _ in 0..24 {
        let response = client.end().unwrap();
        assert!(response.truncated.is_none() && response.body == body.as_bytes(), "{} bytes", response.body.len());
    }
}

#[test]
fn a_large_body_comes_whole_or_up_to_where_it_was_cut_whatever_its_length() {
    const BLOCK: usize = 256 << 10;
    let options =
        || FetchOptions { usual: body_max(3 * BLOCK), body_max: 3 * BLOCK, spool_max: 3 * BLOCK, ..options() };
    for bytes in [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK - 1, 3 * BLOCK] {
        let body = varied(bytes);
        let sent = body.clone();
        let whole = response(options(), move |connection| {
            connection.send(page("", &sent));
        });
        assert!(whole.truncated.is_none() && whole.body == body.as_bytes(), "{bytes}: {}", whole.body.len());
        let sent = body.clone();
        let broken = response(options(), move |connection| {
            connection.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{sent}", bytes + 1));
        });
        assert!(broken.truncated == Some(Truncation::Disconnect) && broken.body == body.as_bytes(), "{bytes}");
    }
    let body = varied(5 * BLOCK);
    let sent = body.clone();
    let cut = response(options(), move |connection| {
        connection.send(page("", &sent));
        connection.wait_for_end();
    });
    assert!(cut.truncated == Some(Truncation::Length) && cut.body == body.as_bytes()[..3 * BLOCK]);
}

/// A server whose bodies begin with `bytes` and then stay where they are; says through the channel that they do.
fn stalling(bytes: usize) -> (HttpServer, Receiver<()>) {
    let (stalled_in, stalled) = unbounded();
    let server = HttpServer::start("127.0.0.1", move |connection| {
        if connection.request().is_some() {
            connection.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}", 8 << 20, varied(bytes)));
            stalled_in.send(()).unwrap();
            connection.wait_for_end();
        }
    });
    (server, stalled)
}

#[test]
fn s8_large_bodies_that_trickle_keep_no_other_large_body_waiting() {
    let (server, stalled) = stalling(1 << 20);
    let client = Client::start(FetchOptions { usual: body_max(16 << 20), body_max: 16 << 20, ..options() });
    // twice as many as there are places in memory
    for number in 0..6 {
        client.begin(&server.url(&format!("slow{number}.test")), &["127.0.0.1"]);
    }
    (0..6).for_each(|_| stalled.recv_timeout(PATIENCE).unwrap());
    let body = varied(4 << 20);
    let others = HttpServer::answering(page("", &body));
    for number in 0..6 {
        let response = client.get(&others.url(&format!("host{number}.test")), &["127.0.0.1"]).unwrap();
        // the first that ends: none of the slow ones has
        assert!(response.truncated.is_none() && response.body == body.as_bytes(), "{} bytes", response.body.len());
    }
}

#[test]
fn s8_a_large_body_for_which_the_disk_has_no_room_is_cut_when_its_time_is_over() {
    let (server, stalled) = stalling(900 << 10);
    let limits = FetchOptions { body_max: 1 << 20, spool_max: 1 << 20, ..options() };
    let client =
        Client::start(FetchOptions { usual: usual(|usual| usual.timeout_total = Duration::from_secs(4)), ..limits });
    client.begin(&server.url("slow.test"), &["127.0.0.1"]);
    stalled.recv_timeout(PATIENCE).unwrap();
    let others = HttpServer::answering(page("", &varied(1 << 20)));
    client.begin(&others.url("host.test"), &["127.0.0.1"]);
    for _ in 0..2 {
        let response = client.end().unwrap();
        assert!(varied(1 << 20).as_bytes().starts_with(&response.body), "{} bytes", response.body.len());
        assert!(response.body.len() >= 256 << 10, "{} bytes", response.body.len());
    }
    // what the slow one had is free again
    let response = client.get(&others.url("host.test"), &["127.0.0.1"]).unwrap();
    assert_eq!((response.truncated, response.body.len()), (None, 1 << 20));
}

#[test]
fn a_disk_that_takes_no_large_body_is_told_as_its_fault() {
    let server = HttpServer::answering(page("", &varied(1 << 20)));
    let client = Client::start(FetchOptions { spool_dir: "/nowhere/at/all".into(), ..options() });
    client.begin(&server.url("host.test"), &["127.0.0.1"]);
    let fault = client.fault().to_string();
    assert!(fault.contains("/nowhere/at/all"), "{fault}");
}

#[test]
fn n11_a_folded_or_malformed_header_field_does_not_cost_the_head() {
    let odd = |connection: &mut Connection| {
        connection.send(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html;\r\n charset=koi8-r\r\nno field at all\r\nbad name: x\r\n\
             x-space : y\r\n: z\r\ncontent-length: 4\r\n\r\nbody",
        );
    };
    let response = response(options(), odd);
    assert_eq!((response.status, &*response.body, response.truncated), (200, &b"body"[..], None));
    // RFC 9112, section 5.2: the fold counts as spaces
    let content_type = response.header("content-type").unwrap();
    let charset: Vec<&str> = content_type.split_ascii_whitespace().collect();
    assert_eq!(charset, ["text/html;", "charset=koi8-r"]);
    assert_eq!(response.header("x-space"), Some("y".into()));
    assert_eq!(response.headers.len(), 3, "{:?}", response.headers);
}

#[test]
fn n11_two_lengths_that_differ_are_no_answer_and_two_that_agree_are_one() {
    let lengths = |lines: &'static str| {
        move |connection: &mut Connection| {
            connection.send(format!("HTTP/1.1 200 OK\r\n{lines}\r\nbody"));
        }
    };
    // browsers show an error page (ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH); the URL fails, not its host
    assert_eq!(failure(lengths("content-length: 4\r\ncontent-length: 5\r\n")), Failure::Protocol);
    for lines in ["content-length: 4\r\ncontent-length: 4\r\n", "content-length: 4, 4\r\n"] {
        assert_eq!(response(options(), lengths(lines)).body, b"body", "{lines:?}");
    }
}
