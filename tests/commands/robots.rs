//! robots.txt over real sockets: how much of it is read, where redirects may lead, and what no answer means.
//!
//! The servers are written by hand; the crawler is the real binary, told that nothing has to wait.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

/// Answers by path: the whole answer, or none and an open connection.
type Answers = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;

/// A server, which stays until the process ends.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answers: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Server {
        Server::start_at(Ipv4Addr::LOCALHOST, answers)
    }

    fn start_at(address: Ipv4Addr, answers: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, answers): (_, Arc<Answers>) = (asked.clone(), Arc::new(answers));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, answers) = (log.clone(), answers.clone());
                std::thread::spawn(move || converse(stream.unwrap(), &log, &*answers));
            }
        });
        Server { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

/// Answers one request on a connection.
fn converse(mut stream: TcpStream, log: &Mutex<Vec<String>>, answers: &Answers) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let Some(path) = first.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()) else { return };
    log.lock().unwrap().push(path.to_owned());
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    match answers(path) {
        // the client may have had enough
        Some(answer) => drop(stream.write_all(&answer)),
        // until the client gives up
        None => while lines.next().is_some_and(|line| line.is_ok()) {},
    }
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Option<Vec<u8>> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    Some([head.as_bytes(), body].concat())
}

fn page(links: &[&str]) -> Option<Vec<u8>> {
    let body: String = links.iter().map(|link| format!("<a href='{link}'>x</a>")).collect();
    answer("200 OK", "", body.as_bytes())
}

fn moved(to: &str) -> Option<Vec<u8>> {
    answer("302 Found", &format!("Location: {to}\r\n"), b"")
}

/// Crawls from `seed` on.
fn crawl(seed: &str, allow: &str, extra: &str) -> Output {
    crawl_in(tempfile::tempdir().unwrap().path(), seed, allow, extra)
}

/// Crawls from `seed` on, or goes on with the crawl that is in `dir` with it.
fn crawl_in(dir: &Path, seed: &str, allow: &str, extra: &str) -> Output {
    let config = format!(
        "[network]\nallow = [\"{allow}\"]\n[dns]\nnameservers = [\"127.0.0.1:9\"]\n[scope]\nmode = \"any\"\n\
         favicon = false\n\
         [politeness]\ndelay_factor = 0.0\ndelay_min = \"0s\"\ndelay_per_ip = \"0s\"\ngive_up = \"1s\"\n{extra}"
    );
    fs::write(dir.join("seeds.txt"), seed).unwrap();
    fs::write(dir.join("crawler.toml"), config).unwrap();
    Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Three megabytes: a rule at the start, one that ends just before 500 KiB, and one behind.
fn large_robots_txt() -> Vec<u8> {
    let mut file = b"User-agent: *\nDisallow: /first\n".to_vec();
    let last = b"\nDisallow: /last\n";
    file.resize((500 << 10) - last.len(), b'#');
    file.extend_from_slice(last);
    file.extend_from_slice(b"Disallow: /beyond\n");
    file.resize(3 << 20, b'#');
    file
}

#[test]
fn r7_of_a_large_file_the_first_500_kib_are_obeyed_also_where_it_is_a_bomb() {
    let plain = large_robots_txt();
    let mut bomb = plain.clone();
    bomb.resize(100 << 20, b'#');
    for (headers, body) in [("", plain), ("Content-Encoding: gzip\r\n", gzip(&bomb))] {
        let server = Server::start(move |path| match path {
            "/robots.txt" => answer("200 OK", headers, &body),
            "/" => page(&["/first", "/last", "/beyond", "/open"]),
            _ => page(&[]),
        });
        let output = crawl(&format!("http://127.0.0.1:{}/", server.port), "127.0.0.0/8", "");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert_eq!(server.asked(), ["/", "/beyond", "/open", "/robots.txt"], "{headers}");
    }
}

#[test]
fn r7_lines_of_a_megabyte_and_binary_bytes_do_no_harm_on_the_way() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut body = b"User-agent: *\nDisallow: /no\n".to_vec();
    body.extend((0..100_000).map(|_| random.u8(..)));
    body.extend_from_slice(b"\nDisallow: /");
    body.resize(2 << 20, b'x');
    let server = Server::start(move |path| match path {
        "/robots.txt" => answer("200 OK", "", &body),
        "/" => page(&["/no", "/yes"]),
        _ => page(&[]),
    });
    let output = crawl(&format!("http://127.0.0.1:{}/", server.port), "127.0.0.0/8", "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(server.asked(), ["/", "/robots.txt", "/yes"]);
}

#[test]
fn r8_rules_behind_a_redirect_to_another_origin_hold_for_the_first_one() {
    let other = Server::start_at(Ipv4Addr::new(127, 0, 0, 2), |path| match path {
        "/rules" => answer("200 OK", "", b"User-agent: *\nDisallow: /no\n"),
        "/robots.txt" => answer("404 Not Found", "", b""),
        _ => page(&[]),
    });
    let (port, rules) = (other.port, format!("http://127.0.0.2:{}/rules", other.port));
    let server = Server::start(move |path| match path {
        "/robots.txt" => moved(&rules),
        "/" => page(&["/no", "/yes", &format!("http://127.0.0.2:{port}/no")]),
        _ => page(&[]),
    });
    let output = crawl(&format!("http://127.0.0.1:{}/", server.port), "127.0.0.0/8", "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(server.asked(), ["/", "/robots.txt", "/yes"]);
    assert_eq!(other.asked(), ["/no", "/robots.txt", "/rules"]);
}

#[test]
fn s5_r8_a_redirect_to_a_private_address_is_not_connected_and_no_leave_to_crawl() {
    let private = Server::start_at(Ipv4Addr::new(127, 0, 0, 2), |_| answer("200 OK", "", b""));
    for host in ["127.0.0.2", "2130706434", "0x7f.0.0.2", "[::ffff:127.0.0.2]"] {
        let target = format!("http://{host}:{}/robots.txt", private.port);
        // on the second hop
        let server = Server::start(move |path| match path {
            "/robots.txt" => moved("/hop"),
            "/hop" => moved(&target),
            _ => page(&[]),
        });
        let output = crawl(&format!("http://127.0.0.1:{}/", server.port), "127.0.0.1/32", "");
        assert_eq!(output.status.code(), Some(5), "{host}: {}", said(&output));
        assert!(server.asked().iter().all(|path| path != "/"), "{host}: {:?}", server.asked());
        assert_eq!(private.asked(), Vec::<String>::new(), "{host}");
    }
}

#[test]
fn rules_are_asked_for_again_where_settings_change_what_they_say() {
    let server = Server::start(|path| match path {
        "/robots.txt" => answer("200 OK", "", b"User-agent: otherbot\nDisallow: /no\n"),
        _ => page(&[]),
    });
    let dir = tempfile::tempdir().unwrap();
    let mut before = Vec::new();
    // what is asked for when `seed` is added
    let mut asked = |seed: &str, extra: &str| {
        let output = crawl_in(dir.path(), &format!("http://127.0.0.1:{}{seed}", server.port), "127.0.0.0/8", extra);
        assert_eq!(output.status.code(), Some(0), "{seed}: {}", said(&output));
        let now = server.asked.lock().unwrap().clone();
        let new = now[before.len()..].to_vec();
        before = now;
        new
    };
    let other = "[crawl]\nuser_agent = \"otherbot/1.0 (+http://127.0.0.1/)\"\n";
    let at_host = "[[site]]\nhost = [\"127.0.0.1\"]\nuser_agent = \"otherbot/1.0 (+http://127.0.0.1/)\"\n";
    assert_eq!(asked("/no/a", ""), ["/robots.txt", "/no/a"]);
    assert_eq!(asked("/no/b", ""), ["/no/b"]);
    assert_eq!(asked("/no/c", other), ["/robots.txt"]);
    assert_eq!(asked("/yes/d", other), ["/yes/d"]);
    assert_eq!(asked("/no/e", "[robots]\nobey = false\n"), ["/no/e"]);
    assert_eq!(asked("/no/f", other), ["/robots.txt"]);
    assert_eq!(asked("/no/g", ""), ["/robots.txt", "/no/g"]);
    assert_eq!(asked("/no/h", at_host), ["/robots.txt"]);
}

#[test]
fn r9_a_robots_txt_that_does_not_come_lets_no_page_be_fetched() {
    let stalls = Server::start(|path| if path == "/robots.txt" { None } else { page(&[]) });
    let breaks = Server::start(|path| if path == "/robots.txt" { Some(b"HTTP/1.1 200".to_vec()) } else { page(&[]) });
    // what came would permit everything
    let half = Server::start(|path| match path {
        "/robots.txt" => Some(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\nDisallow:".to_vec()),
        _ => page(&[]),
    });
    let plain = Server::start(|_| page(&[]));
    let overloaded = Server::start(|path| match path {
        "/robots.txt" => answer("429 Too Many Requests", "", b"User-agent: *\nAllow: /\n"),
        _ => page(&[]),
    });
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let extra = "[fetch]\ntimeout_total = \"1s\"\ntimeout_connect = \"1s\"\n";
    for (scheme, port) in [
        ("http", stalls.port),
        ("http", breaks.port),
        ("http", half.port),
        // nothing there speaks TLS
        ("https", plain.port),
        ("http", overloaded.port),
        ("http", away),
    ] {
        let output = crawl(&format!("{scheme}://127.0.0.1:{port}/"), "127.0.0.0/8", extra);
        assert_eq!(output.status.code(), Some(5), "{scheme} {port}: {}", said(&output));
    }
    for server in [&stalls, &breaks, &half, &plain, &overloaded] {
        assert!(server.asked().iter().all(|path| path == "/robots.txt"), "{:?}", server.asked());
    }
}
