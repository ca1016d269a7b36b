//! A site of documentation on loopback: what rustdoc makes of a small crate, and a first page that links to it. Its
//! pages have entity tags, as those of a real server do.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use sha1::{Digest, Sha1};

const CRATE: &str = r#"//! A small crate, an example for those who read documentation.
//!
//! It has [`Lamp`]s, and a room for them in [`house`].
#![crate_name = "small"]

/// A lamp, which is on or off.
pub struct Lamp { /** Whether it shines. */ pub on: bool }

impl Lamp {
    /// Turns it on.
    ///
    /// # Examples
    ///
    /// `lamp.turn_on()` is an example.
    pub fn turn_on(&mut self) { self.on = true }
}

/// Where lamps are.
pub mod house {
    /// A room with a [`Lamp`](crate::Lamp).
    pub enum Room { /** With a stove. */ Kitchen, /** With a bed. */ Chamber }
}
"#;

const FIRST: &str = "<!doctype html><html><head><title>Documentation</title><link rel=stylesheet href=style.css>\
    <meta name=description content=\"All there is\"></head><body><h1>Documentation of a small crate</h1>\
    <p>Not only an example: <a href=small/index.html>the crate</a>, <a href=moved>its old address</a>, \
    <a href=missing.html>nowhere</a>, <a href=plain.html>plain</a></p>NEWS</body></html>";

/// Pages by path.
pub(super) type Pages = HashMap<String, Vec<u8>>;

pub(super) struct Documentation {
    pages: Arc<Mutex<Pages>>,
    root: String,
}

impl Documentation {
    /// Serves these pages, for as long as this process lives.
    pub(super) fn serve(pages: Pages) -> Documentation {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let root = format!("http://{}/", listener.local_addr().unwrap());
        let pages = Arc::new(Mutex::new(pages));
        let served = pages.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let served = served.clone();
                // a client that went away is none of its business
                std::thread::spawn(move || stream.and_then(|stream| answer(stream, &served)));
            }
        });
        Documentation { pages, root }
    }

    /// The address of its first page.
    pub(super) fn root(&self) -> String {
        self.root.clone()
    }

    /// Links to a new page from the first one.
    pub(super) fn change(&self) {
        let mut pages = self.pages.lock().unwrap();
        pages.insert("/".to_owned(), FIRST.replace("NEWS", "<a href=news.html>news</a>").into());
        pages.insert("/news.html".to_owned(), b"<title>News</title><p>A second lamp".to_vec());
    }
}

/// The pages of the site, before anything changes.
pub(super) fn pages() -> Pages {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("small.rs"), CRATE).unwrap();
    // beside the cargo that runs this test
    let beside = Path::new(env!("CARGO")).with_file_name("rustdoc");
    let rustdoc = if beside.is_file() { beside } else { "rustdoc".into() };
    let mut command = Command::new(rustdoc);
    let output = command.args(["--edition", "2024", "-o", "doc", "small.rs"]).current_dir(dir.path()).output();
    let output = output.unwrap_or_else(|e| panic!("rustdoc cannot be run: {e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let mut pages = Pages::new();
    gather(&dir.path().join("doc"), "/", &mut pages);
    pages.insert("/".to_owned(), FIRST.replace("NEWS", "").into());
    pages.insert("/style.css".to_owned(), b"h1 { color: teal }".to_vec());
    pages.insert("/plain.html".to_owned(), b"<p>A page without a title, as an example".to_vec());
    pages.insert("/robots.txt".to_owned(), b"User-agent: *\nAllow: /\n".to_vec());
    pages
}

/// Takes all files below `dir` as pages below `path`.
fn gather(dir: &Path, path: &str, pages: &mut Pages) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = format!("{path}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            gather(&entry.path(), &format!("{name}/"), pages);
        } else {
            pages.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// Answers one request of a connection.
fn answer(mut stream: TcpStream, pages: &Mutex<Pages>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let path = request.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/").to_owned();
    let mut known = None;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some(tag) = line.to_ascii_lowercase().strip_prefix("if-none-match: ") {
            known = Some(tag.to_owned());
        }
    }
    let page = pages.lock().unwrap().get(&path).cloned();
    let (status, fields, body) = match page {
        _ if path == "/moved" => ("301 Moved Permanently", "Location: /small/index.html\r\n".to_owned(), Vec::new()),
        None => ("404 Not Found", "Content-Type: text/plain\r\n".to_owned(), b"not here".to_vec()),
        Some(body) => {
            let tag = format!("\"{}\"", data_encoding::HEXLOWER.encode(&Sha1::digest(&body)));
            let fields = format!("ETag: {tag}\r\nContent-Type: {}\r\n", mime(&path));
            if known == Some(tag) { ("304 Not Modified", fields, Vec::new()) } else { ("200 OK", fields, body) }
        }
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

fn mime(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("png") => "image/png",
        Some("txt" | "md") => "text/plain",
        _ => "text/html; charset=utf-8",
    }
}
