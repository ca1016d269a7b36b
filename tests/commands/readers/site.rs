//! A site whose every answer is known, and crawls of it: pages, pages that are confirmed, pages of one content, and
//! answers to requests by POST.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::site::next_second;

const ETAG: &str = "\"first\"";
/// Queries that the server is sent by POST. Two of the answers are the same.
pub const QUERIES: [&str; 3] = ["cats", "dogs", "birds"];
/// Paths that it is asked for without a query.
pub const PATHS: [&str; 6] = ["/plain", "/kept", "/coded", "/first", "/second", "/found"];

/// An answer of the server.
pub struct Answer {
    /// The type that it states.
    pub kind: &'static str,
    /// Body that a reader shows: without content coding.
    pub body: String,
    is_coded: bool,
    has_tag: bool,
}

/// The answer to a request for `path`, which sends `query` if it is a POST.
pub fn answer(path: &str, query: Option<&str>) -> Answer {
    let page = |name: &str| format!("<!doctype html><title>{name}</title>{}", format!("<p>{name} \u{e4}").repeat(90));
    let (kind, body) = match (path, query) {
        ("/api", Some("birds")) => ("application/json", json!({ "found": vec!["sparrow"; 90] }).to_string()),
        // what nothing is found for is the same, however it is asked for
        ("/api", _) | ("/found", None) => ("application/json", json!({ "found": vec!["nothing"; 90] }).to_string()),
        ("/first" | "/second", None) => ("text/html; charset=utf-8", page("/same")),
        (path, _) => ("text/html; charset=utf-8", page(path)),
    };
    Answer { kind, body, is_coded: path == "/coded", has_tag: ["/kept", "/coded"].contains(&path) }
}

/// Answers one request after the other, with the page that is in `extra` for its path where one is.
fn converse(mut stream: TcpStream, extra: &[(String, String)]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while lines.read_line(&mut head)? > 0 {
        if !head.ends_with("\r\n\r\n") {
            continue;
        }
        let fields = head.to_lowercase();
        let field = |name: &str| fields.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let mut sent = vec![0; field("content-length:").map_or(0, |length| length.parse().unwrap())];
        lines.read_exact(&mut sent)?;
        let sent: Option<Value> = serde_json::from_slice(&sent).ok();
        let query = sent.as_ref().and_then(|sent| sent["query"].as_str());
        let path = head.split(' ').nth(1).unwrap();
        let known = PATHS.contains(&path) || path == "/api";
        let text = match extra.iter().find(|(name, _)| name == path) {
            Some((_, page)) => plain("200 OK", "text/html; charset=utf-8", page.as_bytes(), ""),
            None if !known => plain("404 Not Found", "text/plain", b"", ""),
            None => {
                let answer = answer(path, query);
                let tag = if answer.has_tag { format!("ETag: {ETAG}\r\n") } else { String::new() };
                if answer.has_tag && field("if-none-match:") == Some(ETAG) {
                    format!("HTTP/1.1 304 Not Modified\r\n{tag}\r\n").into_bytes()
                } else if answer.is_coded {
                    let mut coder = GzEncoder::new(Vec::new(), Compression::default());
                    coder.write_all(answer.body.as_bytes())?;
                    plain("200 OK", answer.kind, &coder.finish()?, &format!("{tag}Content-Encoding: gzip\r\n"))
                } else {
                    plain("200 OK", answer.kind, answer.body.as_bytes(), &tag)
                }
            }
        };
        stream.write_all(&text)?;
        head.clear();
    }
    Ok(())
}

fn plain(status: &str, kind: &str, body: &[u8], fields: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{fields}\r\n");
    [head.as_bytes(), body].concat()
}

/// A server, and a directory for crawls of it.
pub struct Site {
    pub dir: tempfile::TempDir,
    pub port: u16,
}

/// A capture of a crawl: what a reader is asked for, and what it has to give.
#[derive(Clone)]
pub struct Capture {
    /// URL and method, to be recognised by.
    pub name: String,
    /// `20261121043800`.
    pub timestamp: String,
    pub method: &'static str,
    pub url: String,
    /// Body of the request.
    pub sent: String,
    pub kind: &'static str,
    pub body: String,
}

impl Site {
    pub fn start(extra: Vec<(String, String)>) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, extra) = (stream.unwrap(), extra.clone());
                std::thread::spawn(move || converse(stream, &extra));
            }
        });
        let site = Site { dir: tempfile::tempdir().unwrap(), port };
        let address = site.url("");
        let mut seeds: Vec<String> = PATHS.iter().map(|path| format!("{address}{path}")).collect();
        let of_query = |query| json!({ "url": format!("{address}/api"), "json": { "query": query } }).to_string();
        seeds.extend(QUERIES.map(of_query));
        fs::write(site.path("seeds.txt"), seeds.join("\n")).unwrap();
        site.configure("crawler.toml", "");
        site
    }

    /// Writes a file of settings; `container` is in the section of that name.
    pub fn configure(&self, name: &str, container: &str) {
        let config = format!(
            "[crawl]\nmax_depth = 0\n[scope]\nfavicon = false\n[network]\nallow = [\"127.0.0.0/8\"]\n[dns]\n\
             nameservers = [\"127.0.0.1:9\"]\n[container]\n{container}\n[politeness]\n{}",
            crate::site::RUSH
        );
        fs::write(self.path(name), config).unwrap();
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Runs the crawler, which ends well.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(args).current_dir(self.dir.path()).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Crawls everything into `dir`.
    pub fn crawl(&self, dir: &str, more: &[&str]) {
        self.run(&[&["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", dir], more].concat());
    }

    /// A site of which everything was crawled into `crawl` and, a second later, crawled again.
    pub fn crawled_twice() -> Site {
        let site = Site::start(Vec::new());
        site.crawl("crawl", &[]);
        next_second();
        site.crawl("crawl", &["--force"]);
        site
    }

    /// The captures that `list` gives with `args`.
    pub fn captures(&self, args: &[&str]) -> Vec<Capture> {
        let listed = self.run(&[&["list", "--json"], args].concat()).stdout;
        String::from_utf8(listed).unwrap().lines().map(|line| self.capture(line)).collect()
    }

    fn capture(&self, line: &str) -> Capture {
        let entry: Value = serde_json::from_str(line).unwrap();
        let listed = entry["url"].as_str().unwrap();
        let query = QUERIES.into_iter().find(|query| listed.contains(query));
        let (url, _) = listed.split_once('#').unwrap_or((listed, ""));
        let path = url.strip_prefix(&self.url("")).unwrap();
        let Answer { kind, body, .. } = answer(path, query);
        let time = entry["time"].as_str().unwrap();
        let digits: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
        Capture {
            name: format!("{path} {} {} {digits}", query.unwrap_or("GET"), entry["status"]),
            timestamp: digits,
            method: if query.is_some() { "POST" } else { "GET" },
            url: url.to_owned(),
            sent: query.map_or(String::new(), |query| json!({ "query": query }).to_string()),
            kind,
            body,
        }
    }
}
