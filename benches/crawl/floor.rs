//! The floor: the least work that brings and archives the same pages, by a program that is given their URLs.
//!
//! One thread and a few connections that are asked in turn. For each page: one request, one read of the answer, a scan
//! for links that puts each into a set, two SHA-1, deflate at level 1 and one write. No robots.txt, no scope, no
//! queue, no record heads, nothing durable: a crawler that comes near it spends nothing on being one.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use memchr::memmem;
use sha1::{Digest, Sha1};
use url::Url;

const READ_BYTES: usize = 256 << 10;

/// Gets all URLs of the file `list` from `server`, and archives them in `pages` beside it. Returns their number.
pub fn run(list: &Path, server: SocketAddr, connections: usize) -> Result<u64> {
    let text = fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let urls: Vec<Url> = text.lines().map(Url::parse).collect::<Result<_, _>>()?;
    let mut archive = Archive::create(&list.with_file_name("pages"))?;
    let mut sockets = (0..connections.max(1)).map(|_| TcpStream::connect(server)).collect::<Result<Vec<_>, _>>()?;
    let (mut answer, mut pages) = (Vec::new(), 0);
    for turn in urls.chunks(sockets.len()) {
        for (url, socket) in turn.iter().zip(&mut sockets) {
            request(url, socket)?;
        }
        for (url, socket) in turn.iter().zip(&mut sockets) {
            let body_at = read_answer(socket, &mut answer).with_context(|| format!("no answer to {url}"))?;
            archive.add(&answer, body_at)?;
            pages += 1;
        }
    }
    Ok(pages)
}

fn request(url: &Url, socket: &mut TcpStream) -> Result<()> {
    let host = url.authority();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let lines = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: floor\r\nAccept-Encoding: gzip\r\n\r\n");
    Ok(socket.write_all(lines.as_bytes())?)
}

/// Reads an answer with a stated length, or in chunks. Returns the place of its body.
fn read_answer(socket: &mut TcpStream, answer: &mut Vec<u8>) -> Result<usize> {
    answer.clear();
    let mut buffer = [0; READ_BYTES];
    loop {
        let got = socket.read(&mut buffer)?;
        ensure!(got > 0, "the connection ended");
        answer.extend_from_slice(&buffer[..got]);
        let Some(head) = memmem::find(answer, b"\r\n\r\n") else { continue };
        let body_at = head + 4;
        match field(&answer[..head], b"content-length: ") {
            Some(length) if answer.len() - body_at >= length.parse::<usize>()? => return Ok(body_at),
            Some(_) => {}
            None if answer.ends_with(b"\r\n0\r\n\r\n") => {
                unchunk(answer, body_at)?;
                return Ok(body_at);
            }
            None => {}
        }
    }
}

/// Removes the lines of a chunked body.
fn unchunk(answer: &mut Vec<u8>, body_at: usize) -> Result<()> {
    let (mut from, mut to) = (body_at, body_at);
    loop {
        let line = memmem::find(&answer[from..], b"\r\n").context("a chunk has a line")?;
        let length = usize::from_str_radix(std::str::from_utf8(&answer[from..from + line])?, 16)?;
        if length == 0 {
            answer.truncate(to);
            return Ok(());
        }
        let start = from + line + 2;
        answer.copy_within(start..start + length, to);
        (from, to) = (start + length + 2, to + length);
    }
}

/// The value of a field, whose name is in lower case with its colon and a blank.
fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let is_it = |line: &&[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let line = head.split(|&byte| byte == b'\n').find(is_it)?;
    Some(std::str::from_utf8(&line[name.len()..]).ok()?.trim_end())
}

struct Archive {
    file: File,
    compressor: Compressor,
    decompressor: Decompressor,
    hasher: RandomState,
    seen: HashSet<u64>,
    content: Vec<u8>,
    record: Vec<u8>,
}

impl Archive {
    fn create(path: &Path) -> Result<Archive> {
        Ok(Archive {
            file: File::create(path)?,
            compressor: Compressor::new(CompressionLvl::new(1).expect("libdeflate has a level 1")),
            decompressor: Decompressor::new(),
            hasher: RandomState::new(),
            seen: HashSet::new(),
            content: Vec::new(),
            record: Vec::new(),
        })
    }

    fn add(&mut self, answer: &[u8], body_at: usize) -> Result<()> {
        let (head, body) = answer.split_at(body_at);
        let is_gzip = field(head, b"content-encoding: ") == Some("gzip");
        if is_gzip {
            let [.., a, b, c, d] = *body else { anyhow::bail!("a gzip member has its length") };
            self.content.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
            self.decompressor.gzip_decompress(body, &mut self.content)?;
        }
        let content = if is_gzip { &self.content } else { body };
        for name in [&b"href=\""[..], b"src=\""] {
            for at in memmem::find_iter(content, name) {
                let value = &content[at + name.len()..];
                let end = memchr::memchr(b'"', value).unwrap_or(value.len());
                self.seen.insert(self.hasher.hash_one(&value[..end]));
            }
        }
        let digests = [Sha1::digest(answer), Sha1::digest(body)];
        // what came compressed is stored as it came
        let stored = if is_gzip { head } else { answer };
        self.record.resize(self.compressor.gzip_compress_bound(stored.len()), 0);
        let length = self.compressor.gzip_compress(stored, &mut self.record)?;
        self.record.truncate(length);
        self.record.extend_from_slice(if is_gzip { body } else { &[] });
        digests.iter().for_each(|digest| self.record.extend_from_slice(digest));
        Ok(self.file.write_all(&self.record)?)
    }
}
