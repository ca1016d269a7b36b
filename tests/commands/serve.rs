//! The archive of a crawl served by the real binary: captures by time, Memento, a crawl that goes on meanwhile, and who
//! may ask.

pub mod programs;
pub mod proxy;
pub mod site;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::site::{Crawl, PATIENCE, RUSH, Site, ms};
use crate::warc::server::{Answer as Sent, serve};
use crawler::simweb::SimOptions;

/// A process that serves an archive.
pub struct Served {
    child: Child,
    /// Address of the pages about the archive.
    pub home: String,
    /// The token in the first address, if there is one.
    pub token: String,
    /// Address of archived pages.
    pub replay: String,
    /// Address of the proxy, if there is one.
    pub proxy: String,
    /// The digest of its authority's key.
    pub pin: String,
}

/// An answer; the names of its fields in lower case.
pub struct Answer {
    pub status: u16,
    fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a field.
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Served {
    /// Serves the archive of a crawl.
    pub fn of(crawl: &Crawl) -> Served {
        Served::with(crawl, &[])
    }

    /// The same with these options.
    pub fn with(crawl: &Crawl, options: &[&str]) -> Served {
        Served::by(&[], &crawl.path("crawl"), options)
    }

    /// Serves the archive in a crawl directory by a program that runs what is behind its arguments.
    pub fn by(program: &[&str], dir: &Path, options: &[&str]) -> Served {
        // crawler serve --dir DIR --address ADDRESS --replay ADDRESS
        let line = [program, &[env!("CARGO_BIN_EXE_crawler")]].concat();
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).args(["serve", "--address", "127.0.0.1:0", "--replay", "127.0.0.1:0", "--dir"]);
        command.arg(dir).args(options).current_dir(dir.parent().unwrap());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut address_and_path = |before: &str| {
            let line = said.next().unwrap().unwrap();
            let rest = line.strip_prefix(before).unwrap_or_else(|| panic!("{line}"));
            rest.split_once('/').map(|(address, path)| (address.to_owned(), path.to_owned())).unwrap()
        };
        let (home, path) = address_and_path("The archive is at http://");
        let token = path.strip_prefix("?token=").unwrap_or_default().to_owned();
        let mut address = |before: &str| address_and_path(before).0;
        let replay = address("Its pages are at http://");
        let (mut proxy, mut pin) = (String::new(), String::new());
        if options.contains(&"--proxy") {
            proxy = address("Its proxy is at http://");
            pin = said.next().unwrap().unwrap().split_once("spki-list=").unwrap().1.to_owned();
        }
        std::thread::spawn(move || said.for_each(drop));
        Served { child, home, token, replay, proxy, pin }
    }

    /// Asks at an address.
    pub fn ask(&self, address: &str, request: &str, fields: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{request} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        if !fields.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {address}\r\n"));
        }
        fields.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        let _ = write!(stream, "{head}\r\n{body}");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let field = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        Answer { status, fields: lines.map(field).collect(), body: answer[end + 4..].to_vec() }
    }

    /// Asks for a path of the replay.
    pub fn get(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask(&self.replay, &format!("GET {path}"), fields, "")
    }

    /// The path of the newest capture of a URL.
    #[track_caller]
    pub fn newest(&self, url: &str) -> String {
        let found = self.get(&format!("/timegate/{url}"), &[]);
        assert_eq!(found.status, 302, "{url}: {}", found.text());
        found.field("location").strip_prefix(&format!("http://{}", self.replay)).unwrap().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A crawl of the pages at these paths.
pub fn crawled(answers: Vec<(String, Sent)>, sections: &str) -> Crawled {
    let port = serve(answers);
    let origin = format!("http://127.0.0.1:{port}");
    let scope = "[scope]\nmode = \"host\"\n[network]\nallow = [\"127.0.0.0/8\"]\n";
    let crawl = Crawl::new(&format!("{origin}/"), &format!("[politeness]\n{RUSH}{scope}{sections}"));
    crawl.run(&[]).expect(0, &[]);
    Crawled { crawl, origin }
}

/// A crawl that is over, and the origin of its site.
pub struct Crawled {
    pub crawl: Crawl,
    pub origin: String,
}

fn site() -> Crawled {
    let html = |text: &str| Sent::html(text);
    let typed = |content_type: &'static str, body: &str| Sent { content_type, ..Sent::html(body) };
    crawled(
        vec![
            (
                "/".to_owned(),
                html("<link rel=stylesheet href=s.css><a href=/moved>m</a><a href=/v>v</a><a href=/gone>g</a>"),
            ),
            ("/s.css".to_owned(), typed("text/css", "body { background: url(/p.png) }")),
            (
                "/moved".to_owned(),
                Sent { status: "301 Moved", fields: "Location: /to?a=b#c\r\nSet-Cookie: a=b\r\n", ..html("") },
            ),
            (
                "/to?a=b".to_owned(),
                Sent { fields: "Content-Security-Policy: sandbox\r\nX-Own: yes\r\n", ..html("<p>there") },
            ),
            ("/v".to_owned(), typed("text/plain", "0123456789")),
            ("/gone".to_owned(), Sent { status: "410 Gone", ..html("<p>gone") }),
        ],
        "",
    )
}

#[test]
fn captures_are_replayed_by_time_and_everything_in_them_leads_into_the_archive() {
    let Crawled { crawl, origin } = site();
    let served = Served::of(&crawl);
    let replay = format!("http://{}", served.replay);
    let path = served.newest(&format!("{origin}/"));
    let time = path[1..15].to_owned();
    let page = served.get(&path, &[]);
    assert_eq!((page.status, page.field("content-type")), (200, "text/html;charset=utf-8"));
    assert!(page.text().starts_with("<script src=\"/replay-head.js\"></script><link"), "{}", page.text());
    assert!(page.text().contains(&format!("href=\"{replay}/{time}/{origin}/s.css\"")), "{}", page.text());
    assert!(page.field("content-security-policy").starts_with("default-src 'self'"));
    for name in ["memento-datetime", "link", "x-archive-orig-server"] {
        assert!(!page.field(name).is_empty(), "{name}");
    }
    // another time leads to this one
    for other in ["2", "1999", "20300101000000"] {
        let led = served.get(&format!("/{other}/{origin}/"), &[]);
        assert_eq!((led.status, led.field("location")), (302, &*format!("{replay}{path}")), "{other}");
    }
    // it may have been fetched in another second than the page
    let mut of_bytes = served.newest(&format!("{origin}/v"));
    of_bytes.insert_str(15, "id_");
    let stored = served.get(&of_bytes, &[]);
    assert_eq!((stored.status, stored.text()), (200, "0123456789".to_owned()));
    let part = served.get(&served.newest(&format!("{origin}/v")), &[("Range", "bytes=2-4")]);
    assert_eq!((part.status, part.text()), (206, "234".to_owned()));
    let moved = served.get(&served.newest(&format!("{origin}/moved")), &[]);
    assert_eq!(moved.status, 301);
    assert!(moved.field("location").ends_with(&format!("/{origin}/to?a=b#c")), "{}", moved.field("location"));
    assert_eq!((moved.field("set-cookie"), moved.field("x-archive-orig-set-cookie")), ("", "a=b"));
    let there = served.get(&served.newest(&format!("{origin}/to?a=b")), &[]);
    assert!(there.text().contains("<p>there") && !there.field("content-security-policy").contains("sandbox"));
    assert_eq!(served.get(&served.newest(&format!("{origin}/gone")), &[]).status, 410);
    let missing = served.get(&format!("/{time}/{origin}/nowhere"), &[]);
    assert!(missing.status == 404 && missing.text().contains("Not in the archive"));
    let head = served.ask(&served.replay, &format!("HEAD {path}"), &[], "");
    assert!(head.status == 200 && head.body.is_empty());
    let home = served.ask(&served.home, "GET /", &[], "").text();
    assert!(home.contains(&format!("<a href=\"{path}\">{origin}/</a>")), "{home}");
    let calendar = served.ask(&served.home, &format!("GET /calendar?url={origin}/gone"), &[], "");
    assert!(calendar.status == 200 && calendar.text().contains("</a> <span>410 text/html"), "{}", calendar.text());
}

#[test]
fn a_client_of_memento_finds_captures_by_date() {
    let Crawled { crawl, origin } = site();
    let served = Served::of(&crawl);
    let (url, replay) = (format!("{origin}/"), format!("http://{}", served.replay));
    let gate = served.get(&format!("/timegate/{url}"), &[("Accept-Datetime", "Thu, 31 May 2001 20:35:00 GMT")]);
    assert_eq!((gate.status, gate.field("vary")), (302, "accept-datetime"));
    assert!(gate.field("link").contains(&format!("<{url}>; rel=\"original\"")), "{}", gate.field("link"));
    let memento = served.get(gate.field("location").strip_prefix(&replay).unwrap(), &[]);
    let date = memento.field("memento-datetime").to_owned();
    assert!(date.ends_with(" GMT"), "{date}");
    for rel in ["original", "timegate", "timemap", "first last memento"] {
        assert!(memento.field("link").contains(&format!("rel=\"{rel}\"")), "{rel}: {}", memento.field("link"));
    }
    let map = served.get(&format!("/timemap/link/{url}"), &[]);
    assert_eq!((map.status, map.field("content-type")), (200, "application/link-format"));
    let line = format!("<{}>; rel=\"first last memento\"; datetime=\"{date}\"", gate.field("location"));
    assert!(map.text().contains(&line), "{}", map.text());
    let map = served.get(&format!("/timemap/json/{url}"), &[]);
    let map: serde_json::Value = serde_json::from_slice(&map.body).unwrap();
    assert_eq!(map["mementos"]["list"][0]["uri"], gate.field("location"));
    assert_eq!(served.get(&format!("/timegate/{url}"), &[("Accept-Datetime", "soon")]).status, 400);
    assert_eq!(served.get("/timegate/http://nowhere.example/", &[]).status, 404);
}

#[test]
fn only_requests_to_our_addresses_from_our_pages_are_answered() {
    let Crawled { crawl, origin } = site();
    let served = Served::of(&crawl);
    let path = served.newest(&format!("{origin}/"));
    let port = |address: &str| address.rsplit_once(':').unwrap().1.to_owned();
    let (evil, local) =
        (format!("evil.example:{}", port(&served.replay)), format!("localhost:{}", port(&served.replay)));
    let own = format!("http://{}", served.replay);
    for (fields, status) in [
        (vec![("Host", &*evil)], 421),
        (vec![("Host", &*local)], 200),
        (vec![("Origin", "http://evil.example")], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Origin", &*own)], 200),
        (vec![("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "image")], 403),
        (vec![("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "iframe")], 403),
        (vec![("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "document")], 302),
        (vec![("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Dest", "iframe")], 200),
        (vec![("Sec-Fetch-Site", "none"), ("Sec-Fetch-Dest", "document")], 302),
    ] {
        assert_eq!(served.get(&path, &fields).status, status, "{fields:?}");
    }
    let led = served.get(&path, &[("Sec-Fetch-Dest", "document")]);
    assert_eq!(led.field("location"), format!("http://{}{path}", served.home));
    let frame = served.ask(&served.home, &format!("GET {path}"), &[], "");
    assert!(frame.text().contains(&format!("src=\"{own}/replay-start#{path}\"")), "{}", frame.text());
    assert!(frame.field("content-security-policy").contains(&format!("frame-src {own} http://*.")));
    for (fields, status) in [
        (vec![("Host", "evil.example")], 421),
        (vec![("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Dest", "empty")], 403),
        (vec![("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Dest", "document")], 200),
        (vec![("Origin", &*own)], 403),
    ] {
        assert_eq!(served.ask(&served.home, "GET /", &fields, "").status, status, "{fields:?}");
    }
    for path in ["/../../etc/passwd", "/2026/..%2f..%2fetc%2fpasswd", "/2026/file:///etc/passwd", "/2026/http://%00/"] {
        assert_eq!(served.get(path, &[]).status, 404, "{path}");
    }
    let long = format!("/2026/{origin}/{}", "x".repeat(200 << 10));
    assert!((400..500).contains(&served.get(&long, &[]).status));
}

#[test]
fn an_archive_with_a_token_is_seen_by_nobody_without_it() {
    let Crawled { crawl, origin } = site();
    // crawler serve --token
    let served = Served::with(&crawl, &["--token"]);
    let (home, replay, token) = (&served.home, &served.replay, &served.token);
    assert_eq!(token.len(), 32);
    let page = format!("/2100/{origin}/");
    let api = "/api/archive/coverage".to_owned();
    for (address, path) in [(home, "/"), (home, &*api), (home, "/mcp"), (home, "/changes.atom"), (replay, &*page)] {
        let refused = served.ask(address, &format!("GET {path}"), &[], "");
        assert_eq!((refused.status, refused.body.is_empty()), (401, false), "{path}");
    }
    let entered = served.ask(home, &format!("GET /?token={token}"), &[], "");
    assert_eq!((entered.status, entered.field("location")), (303, "/"));
    let cookie = entered.field("set-cookie").split(';').next().unwrap().to_owned();
    for (address, path, status) in [(home, "/", 200), (home, &*api, 200), (replay, &*page, 302)] {
        assert_eq!(served.ask(address, &format!("GET {path}"), &[("Cookie", &cookie)], "").status, status, "{path}");
    }
    let bearer = format!("Bearer {token}");
    assert_eq!(served.ask(home, &format!("GET {api}"), &[("Authorization", &bearer)], "").status, 200);
    // pages of other sites get nowhere, whatever the browser has
    let foreign = [("Cookie", &*cookie), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "script")];
    assert_eq!(served.ask(home, &format!("GET {api}"), &foreign, "").status, 403);
    // another run has another token
    assert_ne!(Served::with(&crawl, &["--token"]).token, *token);
}

#[test]
fn clients_that_say_nothing_keep_nobody_waiting() {
    let Crawled { crawl, origin } = site();
    let served = Served::of(&crawl);
    for address in [&served.home, &served.replay] {
        let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
        let half = |_| {
            let mut stream = TcpStream::connect(address).unwrap();
            write!(stream, "POST /2026/{origin}/ HTTP/1.1\r\nHost: {address}\r\nContent-Length: 100\r\n\r\n{{")
                .unwrap();
            stream
        };
        let halves: Vec<TcpStream> = (0..100).map(half).collect();
        let start = Instant::now();
        let status = if address == &served.home { 200 } else { 404 };
        assert_eq!(served.ask(address, "GET /", &[], "").status, status);
        assert!(start.elapsed() < Duration::from_secs(5));
        drop((silent, halves));
    }
}

#[test]
fn pages_of_a_crawl_that_goes_on_are_found_within_seconds() {
    let site = Site::new(
        SimOptions { hosts: 4, pages: 400, ..SimOptions::default() },
        &format!("{RUSH}requests_per_second = 10.0\n"),
    );
    let child = site.crawl.start(&[]);
    site.wait_for_requests(5);
    let served = Served::of(&site.crawl);
    let stored = |url: &str| served.get(&format!("/timegate/{url}"), &[]).status == 302;
    for _ in 0..3 {
        let before = site.log().len();
        site.wait_for_requests(before + 5);
        let log = site.log();
        let Some(page) = log[before..].iter().find(|request| request.status == 200 && !request.path.contains("robots"))
        else {
            continue;
        };
        let (url, start) = (page.url(site.web.http_port()), Instant::now());
        while !stored(&url) {
            assert!(start.elapsed() < PATIENCE, "{url}");
            std::thread::sleep(ms(50));
        }
    }
    crate::site::interrupt(child);
}
