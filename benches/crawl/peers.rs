//! Other crawlers on the same pages: each where its program is found.
//!
//! A synthetic web has names that only its own DNS server knows; peers get it as their proxy instead, which spares them
//! the names. Pages are what each peer itself says it got.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;

use super::Target;
use super::options::{Options, Variant};
use super::process::{self, Measured};
use super::size::size_of;

/// The spider of Scrapy, beside this file.
const SCRAPY_SPIDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/crawl_scrapy.py");

/// A peer.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    /// One thread that is given the URLs; stores pages.
    Floor,
    /// Threads; stores files.
    Wget2,
    /// One connection; stores a WARC.
    WgetWarc,
    /// Threads; stores nothing.
    Spider,
    /// One thread; stores nothing.
    Scrapy,
}

/// Figures of a peer's run.
pub struct Run {
    pub measured: Measured,
    pub pages: u64,
    /// Bytes received, 0 where the peer does not keep them.
    pub bytes: u64,
}

/// The peers whose programs are there.
pub fn found(options: &Options) -> Vec<Peer> {
    // a long crawl is about the course of one crawler
    if options.no_peers || options.variant == Variant::Growth {
        return Vec::new();
    }
    let mut all = vec![Peer::Floor, Peer::Wget2, Peer::WgetWarc, Peer::Spider, Peer::Scrapy];
    if !options.is_one_site() {
        // they take one site, and know no names of a synthetic web
        all.retain(|peer| !matches!(peer, Peer::Spider | Peer::Floor));
    }
    if !options.peers.is_empty() {
        all.retain(|peer| options.peers.iter().any(|program| program == peer.program()));
    }
    let (found, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|peer| peer.is_there());
    for peer in missing {
        eprintln!("left out: {}, whose program {} is not found", peer.name(), peer.program());
    }
    found
}

impl Peer {
    fn is_there(self) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        matches!(self, Peer::Floor) || std::env::split_paths(&paths).any(|dir| dir.join(self.program()).is_file())
    }

    pub fn name(self) -> &'static str {
        match self {
            Peer::Floor => "floor",
            Peer::Wget2 => "wget2",
            Peer::WgetWarc => "wget --warc-file",
            Peer::Spider => "spider",
            Peer::Scrapy => "scrapy",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Peer::Floor => "floor",
            Peer::Wget2 => "wget2",
            Peer::WgetWarc => "wget",
            Peer::Spider => "spider",
            Peer::Scrapy => "scrapy",
        }
    }

    /// Crawls everything into its own directory, which is removed again.
    pub fn crawl(self, options: &Options, target: &Target, scratch: &Path) -> Result<Run> {
        let dir = tempfile::tempdir_in(scratch)?;
        let proxy = target.web.as_ref().map(|web| format!("http://127.0.0.1:{}", web.http_port()));
        let said = File::create(dir.path().join("said"))?;
        let mut command = match self {
            Peer::Floor => Command::new(std::env::current_exe()?),
            _ => Command::new(self.program()),
        };
        command.current_dir(dir.path()).stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        if let Some(proxy) = &proxy {
            command.env("http_proxy", proxy);
        }
        let connections = options.connections;
        match self {
            Peer::Floor => {
                let list = dir.path().join("urls");
                fs::write(&list, target.urls(options, scratch)?)?;
                command.arg("--floor").arg(list).args(["--server", &target.server()?.to_string()]);
                command.args(["--connections", &connections.to_string()]);
            }
            Peer::Wget2 => {
                command.args(["--recursive", "--level=inf", "--tries=2", "--directory-prefix=files", "--no-verbose"]);
                command.arg(format!("--max-threads={connections}")).args(&target.seeds);
                if let Some(proxy) = &proxy {
                    command.arg(format!("--http-proxy={proxy}"));
                }
            }
            Peer::WgetWarc => {
                command.args(["--recursive", "--level=inf", "--tries=2", "--directory-prefix=files", "--no-verbose"]);
                command.args(["--delete-after", "--warc-file=archive"]).args(&target.seeds);
            }
            Peer::Spider => {
                command.args(["--http", "--respect-robots-txt", "--url"]).args(&target.seeds);
                // a line for each page; without it some versions fetch nothing
                command.args(["crawl", "--output-links"]);
            }
            Peer::Scrapy => {
                command.args(["runspider", SCRAPY_SPIDER, "-a"]).arg(format!("seeds={}", target.seeds.join(" ")));
                command.arg("-a").arg(format!("everywhere={}", u8::from(proxy.is_some())));
                command.arg("-s").arg(format!("CONCURRENT_REQUESTS_PER_DOMAIN={connections}"));
            }
        }
        if proxy.is_some() && matches!(self, Peer::Wget2 | Peer::WgetWarc) {
            command.arg("--span-hosts");
        }
        let measured = run(&mut command)?;
        let (pages, bytes) = self.result(dir.path())?;
        Ok(Run { measured, pages, bytes })
    }

    /// Pages and bytes that it left in its directory, or says it got.
    fn result(self, dir: &Path) -> Result<(u64, u64)> {
        match self {
            Peer::Floor => Ok((fs::read_to_string(dir.join("said"))?.trim().parse()?, 0)),
            Peer::Wget2 => Ok((files(&dir.join("files"))?, size_of(&dir.join("files"))?)),
            Peer::WgetWarc => responses(&dir.join("archive.warc.gz")),
            Peer::Spider => {
                let said = fs::read_to_string(dir.join("said"))?;
                Ok((said.lines().filter(|line| line.starts_with("http")).count() as u64, 0))
            }
            Peer::Scrapy => {
                let said = fs::read_to_string(dir.join("said"))?;
                let figure = |name: &str| {
                    let rest = said.split_once(&format!("'{name}': "))?.1;
                    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
                };
                let pages = figure("downloader/response_count").context("scrapy told no figures")?;
                Ok((pages, figure("downloader/response_bytes").unwrap_or(0)))
            }
        }
    }
}

fn files(dir: &Path) -> Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        count += if entry.file_type()?.is_dir() { files(&entry.path())? } else { 1 };
    }
    Ok(count)
}

/// Number and length of the responses of an archive.
fn responses(path: &Path) -> Result<(u64, u64)> {
    let mut reader = BufReader::with_capacity(1 << 20, MultiGzDecoder::new(File::open(path)?));
    let (mut line, mut is_response, mut count, mut bytes) = (Vec::new(), false, 0, 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = line.trim_ascii_end();
        if text.starts_with(b"WARC-Type: ") {
            is_response = text.ends_with(b" response");
            count += u64::from(is_response);
        } else if is_response && let Some(number) = text.strip_prefix(b"Content-Length: ") {
            bytes += std::str::from_utf8(number).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            // that of the HTTP head comes after it
            is_response = false;
        }
        line.clear();
    }
    Ok((count, bytes))
}

/// Starts a command that needs no watching over its output.
fn run(command: &mut Command) -> Result<Measured> {
    let start = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    process::watch(child, start, |_| {})
}
