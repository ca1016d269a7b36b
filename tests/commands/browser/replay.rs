//! Archived pages in a real browser: they work after their servers are gone, and nothing of them leaves.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::json;

use super::chromium::{self, Browser};
use crate::serve::Served;
use crate::serve::site::Passing;
use crate::site::{Crawl, PATIENCE, RUSH};

/// Time for which a browser may do what it does by itself before listeners are looked at.
const AFTERWARDS: Duration = Duration::from_secs(5);
/// A browser, or a machine, that does not know names under `localhost`.
const NO_NAMES: &str = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1";
/// A picture of one pixel.
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\x00\x00\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,\
    \x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// A file of a site.
#[derive(Clone)]
struct File {
    path: String,
    mime: String,
    status: String,
    field: String,
    body: Vec<u8>,
}

impl File {
    fn of(path: &str, mime: &str, body: impl Into<Vec<u8>>) -> File {
        let (status, field) = ("200 OK".to_owned(), String::new());
        File { path: path.to_owned(), mime: mime.to_owned(), status, field, body: body.into() }
    }
}

fn answer(mut stream: TcpStream, files: &[File]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    // bodies of requests are short, and come with the head or behind it: what is left of them does not matter
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let asked = first.split(' ').nth(1).unwrap_or_default();
    let found = files.iter().find(|file| file.path == asked);
    let missing = File { status: "404 Not Found".to_owned(), ..File::of(asked, "text/plain", "no") };
    let File { status, mime, field, body, .. } = found.unwrap_or(&missing);
    let length = body.len();
    let close = format!("{field}Connection: close");
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {mime}\r\nContent-Length: {length}\r\n{close}\r\n\r\n")?;
    stream.write_all(body)
}

/// Listens at a free port of this machine.
fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// A crawl of two sites, which are gone when it is over.
fn crawled(files: &dyn Fn(&str, &str) -> Vec<File>, scope: &str, seeds: &dyn Fn(&str, &str) -> String) -> Archived {
    let (first, second) = (listener(), listener());
    let origin = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
    let (own, other) = (origin(&first), origin(&second));
    let files = files(&own, &other);
    let passing = |listener, files: Vec<File>| Passing::start(listener, move |stream| answer(stream, &files));
    let sites = [passing(first, files.clone()), passing(second, files)];
    let scope = format!("[scope]\nmode = \"host\"\n{scope}\n[network]\nallow = [\"127.0.0.0/8\"]\n");
    let config = format!("[politeness]\n{RUSH}{scope}");
    let crawl = Crawl::new(&seeds(&own, &other), &config);
    crawl.run(&[]).expect(0, &[]);
    drop(sites);
    Archived { crawl, own }
}

/// A crawl whose sites are gone, and the origin of the first of them.
struct Archived {
    crawl: Crawl,
    own: String,
}

/// The value of an expression in the archived page.
fn in_frame(browser: &mut Browser, expression: &str) -> serde_json::Value {
    // an archived page has a process of its own, once it is there
    let session = browser.messages.frames.first().cloned();
    let is_apart = session.is_some();
    let session = session.unwrap_or_else(|| browser.session().to_owned());
    let tree = browser.try_call("Page.getFrameTree", &json!({}), &session).unwrap_or_default();
    let tree = if is_apart { &tree["frameTree"] } else { &tree["frameTree"]["childFrames"][0] };
    let frame = &tree["frame"]["id"];
    if !frame.is_string() {
        return serde_json::Value::Null;
    }
    // the page may go meanwhile
    let world = browser.try_call("Page.createIsolatedWorld", &json!({ "frameId": frame }), &session);
    let asked = json!({
        "expression": expression,
        "contextId": world.unwrap_or_default()["executionContextId"],
        "returnByValue": true,
        "awaitPromise": true,
    });
    let got = browser.try_call("Runtime.evaluate", &asked, &session);
    got.unwrap_or_default()["result"]["value"].clone()
}

/// Waits until an expression in the archived page is true.
#[track_caller]
pub fn until(browser: &mut Browser, expression: &str) {
    let asked = format!("(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()");
    let start = Instant::now();
    while in_frame(browser, &asked) != true {
        if start.elapsed() > PATIENCE.min(Duration::from_secs(30)) {
            let page = in_frame(browser, "location.href + document.documentElement.outerHTML");
            panic!("never true: {expression}\n{:#?}\n{page}", browser.messages.problems);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn site_files(_: &str, other: &str) -> Vec<File> {
    let page = "<!doctype html><html><head><title>Shop</title><link rel=stylesheet href='/s.css'></head><body>\
        <img id=pic src='p.gif'><iframe src='/frame.html'></iframe><div id=written></div>\
        <form id=form action='/search'><input name=q value=x></form><a id=link href='/page2' target=_blank>more</a>\
        <script src='/app.js'></script></body></html>";
    vec![
        File::of("/", "text/html", page),
        File::of("/s.css", "text/css", "body { color: rgb(1, 2, 3); background: url(/p.gif) }"),
        File::of("/p.gif", "image/gif", PIXEL),
        File::of("/q.gif", "image/gif", PIXEL),
        File::of("/frame.html", "text/html", "<p>framed"),
        File::of("/app.js", "text/javascript", include_str!("replay.js").replace("@OTHER@", other)),
        File::of("/data.json", "application/json", "{\"name\":\"own\"}"),
        File::of("/other.json", "application/json", "{\"name\":\"other\"}"),
        File::of("/api", "application/json", "{\"name\":\"posted\"}"),
        File::of("/module.js", "text/javascript", "export const name = 'module'"),
        File::of("/search?q=x", "text/html", "<p id=results>results"),
        File::of("/page2", "text/html", "<p id=two>two<script>history.pushState(null, '', '/pushed')</script>"),
    ]
}

fn site_seeds(own: &str, other: &str) -> String {
    let mut seeds: Vec<String> =
        ["/", "/data.json", "/module.js", "/search?q=x", "/page2"].map(|path| format!("{own}{path}")).into();
    seeds.extend(["/other.json", "/q.gif"].map(|path| format!("{other}{path}")));
    seeds.push(format!("{{\"url\":\"{own}/api\",\"method\":\"POST\",\"json\":{{\"a\":1}}}}"));
    seeds.join("\n")
}

#[test]
fn a_page_works_as_it_did_after_its_servers_are_gone() {
    let Some(mut browser) = chromium::start() else { return };
    let Archived { crawl, own } = crawled(&site_files, "", &site_seeds);
    let served = Served::of(&crawl);
    assert_page_works(&mut browser, &served, &own);
    until(&mut browser, "location.pathname === '/search'");
    assert!(browser.messages.problems.is_empty(), "{:#?}", browser.messages.problems);
}

#[test]
fn a_page_works_by_a_worker_where_names_of_this_machine_are_not_resolved() {
    let Some(mut browser) = chromium::start_with(&[NO_NAMES]) else { return };
    let Archived { crawl, own } = crawled(&site_files, "", &site_seeds);
    let served = Served::of(&crawl);
    assert_page_works(&mut browser, &served, &own);
    until(&mut browser, &format!("location.host === '{}' && navigator.serviceWorker.controller", served.replay));
    let is_expected = |problem: &String| problem.contains("http://go.");
    let problems = &browser.messages.problems;
    assert!(problems.iter().all(is_expected), "{problems:#?}");
}

/// Opens the page of [`site_files`], whose scripts ask for all kinds of things, and goes from it to others.
#[track_caller]
fn assert_page_works(browser: &mut Browser, served: &Served, own: &str) {
    let path = served.newest(&format!("{own}/"));
    browser.open(&format!("http://{}{path}", served.home));
    for (id, text) in [
        ("own", "own"),
        ("other", "other"),
        ("post", "posted"),
        ("image", "1"),
        ("module", "module"),
        ("xhr", "200"),
        ("cookie", "a=b"),
        ("frame", "framed"),
    ] {
        until(browser, &format!("document.getElementById('{id}').textContent === '{text}'"));
    }
    until(browser, "document.getElementById('pic').naturalWidth === 1");
    until(browser, "document.getElementById('inner').naturalWidth === 1");
    until(browser, "getComputedStyle(document.body).color === 'rgb(1, 2, 3)'");
    assert_eq!(browser.text("document.querySelector('#q').value"), format!("{own}/"));
    until(browser, "document.getElementById('link').click() || true");
    until(browser, "document.getElementById('two')");
    until(browser, "location.pathname.endsWith('/pushed')");
    browser.until(&format!("document.querySelector('#q').value === '{own}/page2'"));
    browser.open(&format!("http://{}{path}", served.home));
    until(browser, "document.getElementById('frame') && (document.getElementById('form').requestSubmit(), true)");
    until(browser, "document.getElementById('results')");
    browser.assert_alone(&[&format!("http://{}", served.home), &format!("http://{}", served.replay)]);
}

/// Pages that replays find hard, and their files.
const CASES: &str = include_str!("cases.txt");
/// Paths at the host that is not ASCII.
const AT_UNICODE: &str = "/unicode-host/";
/// Its address in a crawl.
const UNICODE: &str = "[dns]\nhosts = { \"xn--bcher-kva.example\" = \"127.0.0.1\" }";
/// Cases that are not shown as the site showed them.
const LIMITS: [&str; 1] = ["/frame-blob/"];

fn case_files(own: &str, other: &str) -> Vec<File> {
    let begin =
        "<!doctype html><meta charset=utf-8><link rel=stylesheet href=/works.css><script src=/works.js></script>";
    let text = CASES.replace("{begin}", begin).replace("{own}", own).replace("{other}", other);
    let text = text.replace("{unicode}", &unicode(own));
    let file = |part: &str| {
        let (head, body) = part.split_once('\n').unwrap();
        let mut words = head.splitn(4, ' ');
        let (path, mime) = (words.next().unwrap(), words.next().unwrap());
        let body = format!("{}\n", body.trim_end());
        let body = match mime {
            // of windows-1252 there are only characters that are bytes
            _ if mime.contains("1252") => body.chars().map(|c| c as u8).collect(),
            _ if mime.starts_with("video/") => BASE64.decode(body.replace('\n', "").as_bytes()).unwrap(),
            _ => body.into_bytes(),
        };
        let status = words.next().filter(|word| *word != "POST").unwrap_or("200").to_owned();
        let field = words.next().map(|field| format!("{field}\r\n")).unwrap_or_default();
        File { status, field, ..File::of(path, mime, body) }
    };
    text.split("\n@ ").skip(1).map(file).collect()
}

fn case_seeds(own: &str, other: &str) -> String {
    let mut seeds = Vec::new();
    for File { path, .. } in case_files(own, other) {
        match &*path {
            "/post/api" => seeds.push(format!("{{\"url\":\"{own}{path}\",\"method\":\"POST\",\"json\":{{\"a\":1}}}}")),
            _ if path.starts_with(AT_UNICODE) => seeds.extend([format!("{own}{path}"), unicode(own) + &path]),
            _ => seeds.extend([format!("{own}{path}"), format!("{other}{path}")]),
        }
    }
    seeds.join("\n")
}

/// The origin at the same port whose host has letters beyond ASCII.
fn unicode(own: &str) -> String {
    format!("http://bücher.example:{}", own.rsplit_once(':').unwrap().1)
}

#[test]
fn pages_that_are_hard_to_replay_work_as_they_did() {
    let Some(mut browser) = chromium::start() else { return };
    let Archived { crawl, own } = crawled(&case_files, UNICODE, &case_seeds);
    let served = Served::of(&crawl);
    let is_case = |file: &File| {
        let name = file.path.split('?').next().unwrap();
        name.ends_with('/') && name.matches('/').count() == 2 && file.mime.starts_with("text/html")
    };
    let cases: Vec<File> = case_files(&own, "http://other.example").into_iter().filter(is_case).collect();
    assert!(cases.len() > 90, "{}", cases.len());
    for case in cases.iter().filter(|case| !LIMITS.contains(&&*case.path)) {
        let path = match &*case.path {
            // as people write it
            AT_UNICODE => format!("/2099/{}{AT_UNICODE}", unicode(&own)),
            path => served.newest(&format!("{own}{path}")),
        };
        browser.open(&format!("http://{}{path}", served.home));
        until(&mut browser, &format!("'{}' && document.documentElement.className === 'works'", case.path));
    }
    browser.assert_alone(&[&format!("http://{}", served.home), &format!("http://{}", served.replay)]);
}

#[test]
fn nothing_of_an_archived_page_leaves_whatever_it_tries() {
    let Some(mut browser) = chromium::start() else { return };
    let (tcp, udp) = (listener(), UdpSocket::bind("127.0.0.1:0").unwrap());
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let there = tcp.local_addr().unwrap().port().to_string();
    let packets = udp.local_addr().unwrap().port().to_string();
    let page = include_str!("replay.html").replace("@TCP@", &there).replace("@UDP@", &packets);
    let files = |_: &str, _: &str| vec![File::of("/", "text/html", page.clone())];
    let others = format!("requisites = \"scope\"\nexclude = [\":{there}/\", \":{there}$\", \"^https:\"]");
    let Archived { crawl, own } = crawled(&files, &others, &|own, _| format!("{own}/"));
    let kind = |listener: &TcpListener| listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(kind(&tcp), Err(ErrorKind::WouldBlock), "the crawl has connected");
    let served = Served::of(&crawl);
    browser.open(&format!("http://{}{}", served.home, served.newest(&format!("{own}/"))));
    until(&mut browser, "document.getElementById('done')");
    std::thread::sleep(AFTERWARDS);
    let heard: Vec<String> = std::iter::from_fn(|| tcp.accept().ok()).map(|(stream, _)| first_line(stream)).collect();
    assert_eq!(heard, [""; 0], "somebody has connected");
    let packet = udp.recv_from(&mut [0; 2048]).map_err(|error| error.kind());
    assert_eq!(packet, Err(ErrorKind::WouldBlock), "a packet has come");
}

/// The first line of what a connection brings, or that it brings none.
fn first_line(stream: TcpStream) -> String {
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(300)));
    let mut line = String::new();
    let _ = BufReader::new(stream).read_line(&mut line);
    if line.is_empty() { "a connection without a word".to_owned() } else { line }
}
