//! A server that sends bodies in every content coding and framing, written by hand so that each byte is known.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

/// The page that is sent in every coding.
pub const PAGE: &str = include_str!("page.html");
/// [`PAGE`] as `brotli --quality=11 --lgwin=18` made it: the crate has no encoder for it.
const PAGE_BROTLI: &[u8] = include_bytes!("page.html.br");
pub const CODINGS: [&str; 5] = ["identity", "gzip", "deflate", "br", "zstd"];

/// Ways in which the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Length,
    /// Chunks of this many bytes, and trailers behind them.
    Chunks(usize),
    Close,
}

/// An answer that is sent for a path.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: &'static str,
    pub content_type: &'static str,
    pub coding: Option<&'static str>,
    /// More lines of the head, each with its end.
    pub fields: &'static str,
    pub body: Vec<u8>,
    pub framing: Framing,
    /// The body ends after this many bytes, and the connection with it, whatever was announced.
    pub breaks_at: Option<usize>,
    /// True if no more comes after that, but the connection stays open until the client has enough.
    pub stalls: bool,
}

impl Answer {
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Answer {
            status: "200 OK",
            content_type: "text/html; charset=utf-8",
            coding: None,
            fields: "",
            body: body.into(),
            framing: Framing::Length,
            breaks_at: None,
            stalls: false,
        }
    }

    pub fn not_found() -> Self {
        Answer { status: "404 Not Found", ..Answer::html("not here") }
    }

    /// [`PAGE`] in `coding`.
    pub fn page(coding: &'static str, framing: Framing) -> Self {
        let coded = Some(coding).filter(|&coding| coding != "identity");
        Answer { coding: coded, framing, ..Answer::html(encoded(coding)) }
    }

    fn write(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut head =
            format!("HTTP/1.1 {}\r\nServer: by hand\r\nContent-Type: {}\r\n", self.status, self.content_type);
        head += self.fields;
        if let Some(coding) = self.coding {
            head += &format!("Content-Encoding: {coding}\r\n");
        }
        let mut body = self.body.clone();
        match self.framing {
            Framing::Length => head += &format!("Content-Length: {}\r\n", body.len()),
            Framing::Chunks(size) => {
                head += "Transfer-Encoding: chunked\r\nTrailer: X-Checked\r\n";
                body = chunked(&body, size);
            }
            Framing::Close => head += "Connection: close\r\n",
        }
        body.truncate(self.breaks_at.unwrap_or(body.len()));
        stream.write_all(head.as_bytes())?;
        stream.write_all(b"\r\n")?;
        stream.write_all(&body)
    }
}

/// [`PAGE`] in `coding`, as it is sent.
pub fn encoded(coding: &str) -> Vec<u8> {
    let page = PAGE.as_bytes();
    match coding {
        "identity" => page.to_vec(),
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(page).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(page).unwrap();
            encoder.finish().unwrap()
        }
        "br" => PAGE_BROTLI.to_vec(),
        "zstd" => zstd::stream::encode_all(page, 3).unwrap(),
        other => unreachable!("no coding {other}"),
    }
}

/// The page behind `coding` again.
pub fn decoded(coding: Option<&str>, body: &[u8]) -> Vec<u8> {
    let mut page = Vec::new();
    match coding {
        None => page.extend_from_slice(body),
        Some("gzip") => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut page).unwrap()),
        Some("deflate") => drop(flate2::read::ZlibDecoder::new(body).read_to_end(&mut page).unwrap()),
        Some("br") => drop(brotli_decompressor::Decompressor::new(body, 4_096).read_to_end(&mut page).unwrap()),
        Some("zstd") => page = zstd::stream::decode_all(body).unwrap(),
        Some(other) => unreachable!("no coding {other}"),
    }
    page
}

fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in body.chunks(size) {
        out.extend_from_slice(format!("{:x};by=hand\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\nX-Checked: yes\r\n\r\n");
    out
}

/// Serves `answers` until the test's process ends; returns the port. The page `/` links to all of them but robots.txt,
/// and what is not among them is not found.
pub fn serve(answers: Vec<(String, Answer)>) -> u16 {
    serve_but(&[], |_| answers)
}

/// The same for answers that name the port; no link leads to the paths of `unlinked`.
pub fn serve_but(unlinked: &[&str], answers: impl FnOnce(u16) -> Vec<(String, Answer)>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = answers(port);
    let linked = answers.iter().filter(|(path, _)| path != "/robots.txt" && !unlinked.contains(&path.as_str()));
    let links: String = linked.map(|(path, _)| format!("<a href='{path}'>{path}</a>\n")).collect();
    let mut all = answers;
    all.push(("/".to_owned(), Answer::html(links)));
    let all = Arc::new(all);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, all) = (stream.unwrap(), all.clone());
            std::thread::spawn(move || converse(stream, &all));
        }
    });
    port
}

/// Answers one request after the other until either side ends the connection.
fn converse(mut stream: TcpStream, answers: &[(String, Answer)]) {
    let mut requests = BufReader::new(stream.try_clone().unwrap());
    while let Some(path) = read_request(&mut requests) {
        let known = answers.iter().find(|(known, _)| *known == path);
        let answer = known.map_or_else(Answer::not_found, |(_, answer)| answer.clone());
        if answer.write(&mut stream).is_err() {
            return;
        }
        if answer.stalls {
            // the client ends it
            let _ = requests.read(&mut [0]);
            return;
        }
        if answer.framing == Framing::Close || answer.breaks_at.is_some() {
            return;
        }
    }
}

fn read_request(requests: &mut impl BufRead) -> Option<String> {
    let mut first = String::new();
    requests.read_line(&mut first).ok().filter(|&bytes| bytes > 0)?;
    loop {
        let mut line = String::new();
        requests.read_line(&mut line).ok().filter(|&bytes| bytes > 0)?;
        if line == "\r\n" {
            return Some(first.split(' ').nth(1)?.to_owned());
        }
    }
}
