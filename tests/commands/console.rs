//! The console of crawls by the real binary: what it shows is what the other commands say, it obeys those who have its
//! token and nobody else, and no client keeps it or the crawl from others.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::site::{PATIENCE, RUSH, Site, ms};
use crawler::simweb::SimOptions;
use serde_json::Value;

/// A process that has a console.
struct Opened {
    child: Child,
    said: Arc<Mutex<String>>,
    address: String,
    token: String,
}

/// An answer, with its head in lower case.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    fn error(&self) -> String {
        self.json()["error"].as_str().unwrap().to_owned()
    }
}

/// The address with the token, which a crawl says over its control socket alone where nobody is at a terminal.
pub fn address_by_ctl(said: &str, child: &Child) -> Option<String> {
    let dir = said.split_once("crawler ctl console --dir ")?.1.split_whitespace().next()?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["ctl", "console", "--dir", dir]).current_dir(format!("/proc/{}/cwd", child.id()));
    let output = command.stdin(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Asks the server at `address`.
fn ask_at(address: &str, request: &str, fields: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let host = if fields.iter().any(|(name, _)| *name == "Host") { "" } else { address };
    let mut head = format!("{request} HTTP/1.1\r\n");
    if !host.is_empty() {
        head.push_str(&format!("Host: {host}\r\n"));
    }
    fields.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head, body: answer[end + 4..].to_vec() }
}

impl Opened {
    /// Waits until `child` says where its console is.
    fn of(mut child: Child) -> Opened {
        let (said, stderr) = (Arc::<Mutex<String>>::default(), child.stderr.take().unwrap());
        let hears = said.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                hears.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let start = Instant::now();
        loop {
            let mut text = said.lock().unwrap().clone();
            text.extend(address_by_ctl(&text, &child));
            if let Some((before, token)) = text.split_once("/#token=") {
                let address = before.rsplit_once("http://").unwrap().1.to_owned();
                let token = token.chars().take_while(char::is_ascii_hexdigit).collect();
                return Opened { child, said, address, token };
            }
            assert!(start.elapsed() < PATIENCE && child.try_wait().unwrap().is_none(), "{text}");
            std::thread::sleep(ms(5));
        }
    }

    /// A console for a directory.
    fn beside(dir: &Path) -> Opened {
        // crawler console --dir DIR --address ADDRESS
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["console", "--address", "127.0.0.1:0", "--dir"]).arg(dir);
        Opened::of(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn ask(&self, request: &str, fields: &[(&str, &str)], body: &str) -> Answer {
        ask_at(&self.address, request, fields, body)
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let answer = self.ask(&format!("GET {path}"), &[], "");
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    fn order(&self, command: &str) -> Answer {
        self.ask("POST /api/ctl", &[("X-Crawler-Token", &self.token)], &format!("{{\"command\":\"{command}\"}}"))
    }

    /// The document at `path`, once `is_there` holds.
    #[track_caller]
    fn wait_for(&self, path: &str, is_there: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let answer = self.ask(&format!("GET {path}"), &[], "");
            if answer.status == 200 && is_there(&answer.json()) {
                return answer.json();
            }
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(start.elapsed() < PATIENCE, "{path}: {text}\n{}", self.said.lock().unwrap());
            std::thread::sleep(ms(20));
        }
    }

    /// Opens a stream of events.
    fn stream(&self) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        BufReader::new(stream)
    }

    fn end(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if start.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("it did not end: {}", self.said.lock().unwrap());
            }
            std::thread::sleep(ms(5));
        }
        (self.child.wait().unwrap().code(), self.said.lock().unwrap().clone())
    }
}

/// The next event of this name: its data.
fn next_event(stream: &mut BufReader<TcpStream>, name: &str) -> Value {
    let (mut line, mut is_next) = (String::new(), false);
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended before {name}");
        match line.trim_end().split_once(": ") {
            Some(("event", found)) => is_next = found == name,
            Some(("data", data)) if is_next => return serde_json::from_str(data).unwrap(),
            _ => {}
        }
    }
}

/// Returns what a command of the binary prints as JSON.
fn printed(arguments: &[&str], dir: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_crawler")).args(arguments).arg("--dir").arg(dir).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

const SLOW: &str = "delay_factor = 0.0\ndelay_min = \"100ms\"\ndelay_per_ip = \"0s\"\n";

fn site(more: &str) -> Site {
    Site::new(SimOptions { hosts: 10, pages: 400, ..SimOptions::default() }, &format!("{SLOW}{more}"))
}

/// Returns the figures of a crawl that is paused: those that do not change from second to second.
fn figures(live: &Value) -> Vec<Value> {
    let statistics = ["pages_stored", "requests", "bytes_received", "statuses", "failures", "hosts", "unique"];
    let gauges = ["queued", "hosts_active", "in_flight", "keys_seen"];
    let figures = &live["figures"];
    let of_statistics = statistics.map(|name| figures["statistics"][name].clone());
    let of_gauges = gauges.map(|name| figures["gauges"][name].clone());
    let mut all: Vec<Value> = of_statistics.into_iter().chain(of_gauges).collect();
    assert!(!all.contains(&Value::Null), "{all:?}");
    all.extend([live["phase"].clone(), live["pid"].clone(), live["memory_ceiling_bytes"].clone()]);
    all
}

fn in_flight(state: &Value) -> u64 {
    state["live"]["figures"]["gauges"]["in_flight"].as_u64().unwrap()
}

/// The console says of a crawl that is paused what `crawler ctl status` says, while merges may still go on.
#[track_caller]
fn agree(console: &Opened, dir: &Path) {
    let start = Instant::now();
    loop {
        let before = figures(&console.get("/api/state")["live"]);
        let by_command = figures(&printed(&["ctl", "status", "--json"], dir)["status"]);
        // figures of a moment serve for half a second
        std::thread::sleep(ms(600));
        if figures(&console.get("/api/state")["live"]) == before {
            return assert_eq!(before, by_command);
        }
        assert!(start.elapsed() < PATIENCE, "{before:?}");
    }
}

#[test]
fn the_console_shows_what_ctl_says_and_a_pause_with_the_token_stops_requests() {
    let site = site("");
    let console = Opened::of(site.crawl.start(&["--console", "127.0.0.1:0"]));
    let file = site.crawl.path("crawl/console.address");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim_end(), console.address);
    site.wait_for_requests(60);
    let mut stream = console.stream();
    assert_eq!(next_event(&mut stream, "state")["running"], true);
    let state = console.wait_for("/api/state", |state| state["controls"] == true);
    assert!(!state["bottleneck"]["phrase"].as_str().unwrap().is_empty());
    assert_eq!(state["limits"]["max_pages"], Value::Null);
    let reply = console.order("pause").json();
    assert_eq!((&reply["ok"], &reply["message"].as_str().unwrap()[..6]), (&true.into(), "paused"));
    let paused = console.wait_for("/api/state", |state| state["live"]["phase"] == "paused" && in_flight(state) == 0);
    let requests = site.log().len();
    assert_eq!(paused["bottleneck"]["code"], "paused");
    let dir = site.crawl.path("crawl");
    agree(&console, &dir);
    let hosts = console.wait_for("/api/hosts?limit=5", |hosts| hosts["hosts"].as_array().unwrap().len() == 5);
    let queues: Vec<u64> =
        hosts["hosts"].as_array().unwrap().iter().map(|row| row["queued"].as_u64().unwrap()).collect();
    assert!(queues.is_sorted_by(|a, b| a >= b) && queues[4] > 0, "{queues:?}");
    // lines of the log come within a second
    let rows = |answer: &Value| answer["rows"].as_array().unwrap().clone();
    let made = console.wait_for("/api/requests?limit=1000", |answer| rows(answer).len() >= 30);
    assert!(rows(&made).iter().all(|row| row["url"].as_str().unwrap().contains(':')), "{made}");
    for _ in 0..2 {
        next_event(&mut stream, "state");
    }
    assert_eq!(site.log().len(), requests, "requests of a crawl that is paused");
    assert_eq!(console.order("resume").json()["message"], "resumed");
    site.wait_for_requests(requests + 20);
    let point = next_event(&mut stream, "point");
    let history = console.get("/api/history");
    assert_eq!(history["step_ms"], 5_000);
    assert!(history["points"].as_array().unwrap().contains(&point), "{point} is not in {history}");
    let token = console.token.clone();
    let address = console.address.clone();
    assert_eq!(console.order("stop").json()["ok"], true);
    next_event(&mut stream, "end");
    let (code, said) = console.end();
    assert_eq!(code, Some(11), "{said}");
    assert!(!said.contains(&token), "the token is in what may be a log:\n{said}");
    for entry in walk(&dir) {
        let content = std::fs::read(&entry).unwrap();
        let is_there = content.windows(token.len()).any(|bytes| bytes == token.as_bytes());
        assert!(!is_there, "the token is in {}", entry.display());
    }
    assert!(!file.exists() && TcpStream::connect(address).is_err());
}

/// All files below `dir`.
fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let all = crate::site::everything(dir).into_iter().map(|(path, _, _)| path);
    all.filter(|path| path.is_file()).collect()
}

#[test]
fn orders_need_the_token_and_every_request_an_address_and_a_page_of_the_console() {
    let site = site("[report]\nconsole = \"127.0.0.1:0\"\n");
    let console = Opened::of(site.crawl.start(&[]));
    let own = ("X-Crawler-Token", &*console.token);
    let pause = "{\"command\":\"pause\"}";
    let mut wrong = console.token.clone();
    wrong.replace_range(..1, if wrong.starts_with('0') { "1" } else { "0" });
    let port = console.address.rsplit_once(':').unwrap().1;
    let (evil, localhost) = (format!("evil.example:{port}"), format!("localhost:{port}"));
    let (origin, foreign) = (format!("http://{}", console.address), format!("http://{evil}"));
    console.wait_for("/api/state", |state| state["controls"] == true);
    for (fields, status) in [
        (vec![], 403),
        (vec![("X-Crawler-Token", "")], 403),
        (vec![("X-Crawler-Token", &*wrong)], 403),
        (vec![own, own], 403),
        (vec![own, ("Host", &*evil)], 421),
        (vec![own, ("Origin", &*foreign)], 403),
        (vec![own, ("Origin", "null")], 403),
        (vec![own, ("Sec-Fetch-Site", "cross-site")], 403),
        (vec![own, ("Sec-Fetch-Site", "same-site")], 403),
    ] {
        let answer = console.ask("POST /api/ctl", &fields, pause);
        assert_eq!(answer.status, status, "{fields:?}");
        assert!(!answer.error().is_empty());
    }
    assert_eq!(console.get("/api/state")["live"]["phase"], "crawling");
    let asked = [
        ("GET /", vec![], 200),
        ("HEAD /", vec![], 200),
        ("GET /assets/main.js", vec![], 200),
        ("GET /assets/nothing.js", vec![], 404),
        ("GET /assets/../mod.rs", vec![], 404),
        ("GET /api/state", vec![("Host", &*localhost)], 200),
        ("GET /api/state", vec![("Host", &*evil)], 421),
        ("GET /api/state", vec![("Origin", &*foreign)], 403),
        ("GET /api/explain?url=http://a/", vec![("Sec-Fetch-Site", "cross-site")], 403),
        ("GET /api/explain", vec![], 400),
        ("GET /api/explain?url=nothing", vec![], 400),
        ("GET /api/hosts?limit=many", vec![], 400),
        ("GET /preview?url=http://nowhere.example/", vec![], 404),
        ("GET /calendar?url=http://nowhere.example/", vec![], 404),
        ("GET /api/nothing", vec![], 404),
        ("PUT /api/state", vec![], 405),
        ("OPTIONS /api/ctl", vec![("Origin", &*origin)], 405),
        ("GET /api/ctl", vec![], 404),
    ];
    for (request, fields, status) in asked {
        let answer = console.ask(request, &fields, "");
        assert_eq!(answer.status, status, "{request} {fields:?}: {}", String::from_utf8_lossy(&answer.body));
        for field in [
            "\r\ncontent-security-policy: default-src 'none'; script-src 'self'",
            "\r\nx-content-type-options: nosniff\r\n",
            "\r\nreferrer-policy: no-referrer\r\n",
            "\r\ncross-origin-resource-policy: same-origin\r\n",
        ] {
            assert!(format!("{}\r\n", answer.head).contains(field), "{request}: no {field:?} in\n{}", answer.head);
        }
        assert_eq!(answer.head.contains("no-store"), !request.contains("assets/main") && !request.ends_with(" /"));
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
    }
    let page = console.ask("GET /", &[], "");
    let tag = page.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    assert_eq!(console.ask("GET /", &[("If-None-Match", "\"x\"")], "").status, 200);
    let tag_as_sent = {
        let mut stream = TcpStream::connect(&console.address).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", console.address).unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with("etag: ")).unwrap().to_owned();
        line["etag: ".len()..].to_owned()
    };
    assert_eq!(tag_as_sent.to_ascii_lowercase(), tag);
    let again = console.ask("GET /", &[("If-None-Match", &tag_as_sent)], "");
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(console.ask("POST /api/ctl", &[own], "{\"command\":\"format\"}").status, 400);
    assert_eq!(console.ask("POST /api/ctl", &[own], &"x".repeat(1 << 20)).status, 413);
    let long = "x".repeat(60 << 10);
    assert_eq!(console.ask("GET /api/state", &[("X-Long", &long)], "").status, 431);
    let done = console.ask("POST /api/ctl", &[own, ("Origin", &origin), ("Sec-Fetch-Site", "same-origin")], pause);
    assert_eq!((done.status, &done.json()["ok"]), (200, &Value::Bool(true)));
    let (code, said) = console.end();
    assert_eq!(code, Some(11), "{said}");
}

#[test]
fn clients_that_say_or_read_nothing_keep_neither_others_nor_the_crawl_waiting() {
    let site = site("[report]\nconsole = \"127.0.0.1:0\"\n");
    let console = Opened::of(site.crawl.start(&[]));
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&console.address).unwrap()).collect();
    // readers that read nothing, more than there are streams and connections
    let deaf: Vec<_> = (0..200).map(|_| console.stream()).collect();
    let half = |text: &str| {
        let mut stream = TcpStream::connect(&console.address).unwrap();
        write!(stream, "{text}").unwrap();
        stream
    };
    let halves: Vec<TcpStream> = (0..200).map(|_| half("GET /api/state HTTP/1.1\r\nHost: ")).collect();
    let order = format!(
        "POST /api/ctl HTTP/1.1\r\nHost: {}\r\nX-Crawler-Token: {}\r\nContent-Length: 100\r\n\r\n{{",
        console.address, console.token
    );
    let orders: Vec<TcpStream> = (0..40).map(|_| half(&order)).collect();
    let before = site.log().len();
    assert_eq!(console.get("/api/state")["running"], true);
    let mut stream = console.stream();
    for _ in 0..3 {
        assert_eq!(next_event(&mut stream, "state")["running"], true);
        assert!(console.get("/api/requests")["rows"].is_array());
    }
    site.wait_for_requests(before + 30);
    drop((silent, deaf, halves, orders));
    let (code, said) = console.end();
    assert_eq!(code, Some(11), "{said}");
}

#[test]
fn a_directory_without_a_process_is_shown_with_its_archive_and_takes_no_orders() {
    let site = Site::new(SimOptions { hosts: 8, pages: 150, ..SimOptions::default() }, RUSH);
    site.crawl.run(&[]).expect(0, &[]);
    let dir = site.crawl.path("crawl");
    let console = Opened::beside(&dir);
    let state = console.wait_for("/api/state", |state| state["live"].is_object());
    let status = printed(&["status", "--json"], &dir);
    assert_eq!((&state["running"], &state["controls"]), (&Value::Bool(false), &Value::Bool(false)));
    assert_eq!(state["bottleneck"]["code"], "finished");
    for part in ["statistics", "stores"] {
        assert_eq!(state["live"]["figures"][part], status[part], "{part}");
    }
    let refused = console.order("pause");
    assert_eq!((refused.status, refused.error().contains("no crawl is running")), (409, true), "{}", refused.error());
    // the archive: what list has, by the tree from its top to the pages
    let stored = site.crawl.stored();
    let top = console.wait_for("/api/tree?under=", |tree| tree["complete"] == true);
    let sum =
        |tree: &Value| tree["rows"].as_array().unwrap().iter().map(|row| row["pages"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum(&top), stored.len() as u64);
    let (mut under, mut pages) =
        (top["rows"][0]["prefix"].as_str().unwrap().to_owned(), top["rows"][0]["pages"].clone());
    for _ in 0..2 {
        let tree = console.get(&format!("/api/tree?under={}", encoded(&under)));
        assert_eq!(sum(&tree), pages, "{under}: {tree}");
        under = tree["rows"][0]["prefix"].as_str().unwrap().to_owned();
        pages = tree["rows"][0]["pages"].clone();
    }
    assert_eq!(console.ask("GET /api/tree?under=nowhere.example", &[], "").status, 404);
    // a page
    let (url, _) = stored.iter().find(|(url, status)| **status == 200 && url.ends_with('/')).unwrap();
    let asked = encoded(url);
    let versions = console.get(&format!("/api/versions?url={asked}"));
    assert_eq!(versions["versions"][0]["url"], **url);
    assert_eq!((&versions["versions"][0]["number"], &versions["versions"][0]["status"]), (&0.into(), &200.into()));
    let explained = console.get(&format!("/api/explain?url={asked}"));
    let mut by_command = printed(&["explain", url, "--json"], &dir);
    assert_eq!(explained["text"], by_command["verdict"]);
    by_command["crawl"]["now"] = explained["crawl"]["now"].clone();
    by_command["text"] = explained["text"].clone();
    assert_eq!(explained, by_command);
    // its replay is at another port, and the page lets its frames go there alone
    let replay = format!("127.0.0.1:{}", versions["replay_port"]);
    let page = console.ask("GET /", &[], "");
    assert!(page.head.contains(&format!("frame-src http://{replay} http://*.")), "{}", page.head);
    let stored = ask_at(&replay, &format!("GET /2999id_/{url}"), &[("Sec-Fetch-Dest", "empty")], "");
    let got = Command::new(env!("CARGO_BIN_EXE_crawler")).args(["get", url, "--dir"]).arg(&dir).output().unwrap();
    assert_eq!((stored.status, stored.body), (200, got.stdout));
    let calendar = console.ask(&format!("GET /calendar?url={asked}"), &[], "");
    assert_eq!(calendar.status, 200);
    assert!(calendar.head.contains(&format!("frame-src http://{replay} http://*.")), "{}", calendar.head);
    assert_eq!(console.ask("GET /2026/http://nowhere.example/", &[("Sec-Fetch-Site", "cross-site")], "").status, 403);
    assert_eq!(ask_at(&replay, "GET /2026/http://nowhere.example/", &[], "").status, 404);
    // tables
    let seeds = console.get("/api/seeds?offset=1&limit=2");
    assert_eq!(seeds["total"], site.web.seeds().len());
    assert_eq!(
        seeds["rows"][0]["seed"].as_str().unwrap().trim_end_matches('/'),
        site.web.seeds()[1].trim_end_matches('/')
    );
    let requests = console.get("/api/requests?limit=1000");
    let times: Vec<u64> = requests["rows"].as_array().unwrap().iter().map(|row| row["at"].as_u64().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b) && times.len() > 100);
    assert!(console.get("/api/disk")["free_bytes"].as_u64().unwrap() > 0);
    for (path, rows) in
        [("/api/hosts", "hosts"), ("/api/budgets", "rows"), ("/api/warnings", "rows"), ("/api/history", "points")]
    {
        assert!(console.get(path)[rows].is_array(), "{path}");
    }
    let before = crate::site::everything(&dir);
    let (code, said) = console.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(crate::site::everything(&dir), before, "a console writes nothing");
}

/// Encodes a text as it is in a query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_crawl_of_shards_is_shown_as_one_and_from_beside_too() {
    let site = site("[crawl]\nshards = 4\n");
    let console = Opened::of(site.crawl.start(&["--console", "127.0.0.1:0"]));
    site.wait_for_requests(60);
    let dir = site.crawl.path("crawl");
    let beside = Opened::beside(&dir);
    assert_ne!(beside.token, console.token);
    assert_eq!(beside.ask("POST /api/ctl", &[("X-Crawler-Token", &console.token)], "{}").status, 403);
    assert_eq!(beside.order("pause").json()["ok"], true);
    let is_still = |state: &Value| state["live"]["phase"] == "paused" && in_flight(state) == 0;
    let own = console.wait_for("/api/state", is_still);
    assert_eq!(own["live"]["shards"].as_array().unwrap().len(), 4);
    agree(&console, &dir);
    agree(&beside, &dir);
    let queued = |console: &Opened| -> Vec<(Value, Value)> {
        let hosts = console.get("/api/hosts?limit=100");
        hosts["hosts"].as_array().unwrap().iter().map(|row| (row["host"].clone(), row["queued"].clone())).collect()
    };
    assert!(queued(&console).len() > 4);
    let start = Instant::now();
    while queued(&console) != queued(&beside) {
        assert!(start.elapsed() < PATIENCE, "{:?} and {:?}", queued(&console), queued(&beside));
        std::thread::sleep(ms(100));
    }
    assert_eq!(console.order("stop").json()["ok"], true);
    let (code, said) = console.end();
    assert_eq!(code, Some(11), "{said}");
    let stopped = beside.wait_for("/api/state", |state| state["running"] == false);
    assert_eq!(stopped["bottleneck"]["code"], "stopped", "{stopped}");
    let hosts = beside.wait_for("/api/hosts", |hosts| hosts["hosts"][0]["state"] == "queued");
    assert!(hosts["hosts"][0]["queued"].as_u64().unwrap() > 0, "{hosts}");
    assert_eq!(beside.end().0, Some(0));
}

#[test]
fn an_address_that_is_taken_is_told_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let site = site("");
    let words = ["the console cannot listen at 127.0.0.1:", "127.0.0.1:0 for any free one"];
    site.crawl.run(&["--console", &address]).expect(2, &words);
    let dir = site.crawl.path("crawl");
    let output = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["console", "--address", &address, "--dir"])
        .arg(&dir)
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2), "{said}");
}

#[test]
fn a_demo_shows_its_crawl_in_the_console_and_stays_open_until_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    // crawler demo --console ADDRESS
    command.args(["demo", "--console", "127.0.0.1:0", "--dir"]).arg(dir.path().join("demo"));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let demo = Opened::of(child);
    let running = demo.wait_for("/api/state", |state| state["controls"] == true);
    assert!(!running["bottleneck"]["phrase"].as_str().unwrap().is_empty());
    let finished = demo.wait_for("/api/state", |state| state["bottleneck"]["code"] == "finished");
    assert!(finished["live"]["figures"]["statistics"]["pages_stored"].as_u64().unwrap() > 500);
    assert!(!demo.get("/api/history")["points"].as_array().unwrap().is_empty());
    let start = Instant::now();
    while !demo.said.lock().unwrap().contains("stays open") {
        assert!(start.elapsed() < PATIENCE, "{}", demo.said.lock().unwrap());
        std::thread::sleep(ms(20));
    }
    let (code, said) = demo.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("requests in flight may finish"), "{said}");
}
