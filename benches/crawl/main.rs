//! The speed of whole crawls: the real binary with everything on, beside peers on the same pages in the same run.
//!
//!     cargo bench --bench crawl                          documentation-like pages: 8 hosts, 20,000 pages of 24 KB
//!     cargo bench --bench crawl -- wide                  4,000 hosts, 20,000 pages of 20 KB
//!     cargo bench --bench crawl -- growth                500,000 pages of 8 KB, told for each tenth of the crawl
//!     cargo bench --bench crawl -- past                  from stores that hold millions of URLs already
//!     cargo bench --bench crawl -- --site URL            a site that is served already, on loopback
//!     cargo bench --bench crawl -- --shards 1,4          the same in one shard and in four, in turn
//!     cargo bench --bench crawl -- --files DIR           the files below a directory, served by this process
//!     cargo bench --bench crawl -- --codings plain,gzip  pages without and with Content-Encoding, in turns
//!     cargo bench --bench crawl -- --help                sizes, rounds, peers, other builds to compare with
//!
//! CPU (user and system of the crawling process alone, from /proc when it has ended) is the figure: the synthetic web
//! serves from this process, whose time nobody counts, but which shares the cores, so elapsed times are only as good as
//! the machine is idle. Everything on: robots.txt, URL-seen, DNS, request, metadata and response records in gzip,
//! checkpoints every 30 s. There are no delays, and 8 connections a host, or the politeness would be measured.
//!
//! `benches/crawl/README.md` says how to install the peers, and what each of them does and leaves out.

use std::cell::OnceCell;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use crawler::simweb::SimWeb;
use url::Url;

mod builds;
mod files;
mod filled;
mod floor;
mod options;
mod own;
mod pace;
mod peers;
mod process;
mod progress;
mod scratch;
mod size;
mod table;
mod thread;
mod waits;

use files::FileServer;
use options::{Coding, Options, Variant};
use own::Crawler;
use table::{Row, Table};

/// The subject that is crawled.
struct Target {
    /// Words behind the names of the crawlers in the table.
    suffix: &'static str,
    /// Keeps the synthetic web running, where it is one.
    web: Option<SimWeb>,
    /// Keeps the files served, where it is some.
    files: Option<Arc<FileServer>>,
    seeds: Vec<String>,
    /// The URLs of all pages, for those who are given them; found when they are asked for.
    urls: OnceCell<String>,
}

impl Target {
    /// The web in each of the codings that are asked for.
    fn start_all(options: &Options) -> Result<Vec<Target>> {
        let served = options.served_seeds()?;
        let files = if options.files.is_empty() { None } else { Some(Arc::new(FileServer::start(&options.files)?)) };
        ensure!(served.is_none() || options.codings.len() == 1, "a site that is served already has the coding it has");
        let start = |coding: &Coding| {
            let suffix = if options.codings.len() > 1 { coding.suffix() } else { "" };
            if let Some(seeds) = &served {
                return Ok(Target { suffix, web: None, files: None, seeds: seeds.clone(), urls: OnceCell::new() });
            }
            if let Some(files) = &files {
                let seeds = vec![files.root(*coding == Coding::Gzip)];
                return Ok(Target { suffix, web: None, files: Some(files.clone()), seeds, urls: OnceCell::new() });
            }
            let web = SimWeb::start(options.web(*coding)).context("cannot start the synthetic web")?;
            let seeds = web.seeds();
            Ok(Target { suffix, web: Some(web), files: None, seeds, urls: OnceCell::new() })
        };
        options.codings.iter().map(start).collect()
    }

    /// The URLs of all pages, one per line, by a crawl of this build.
    fn urls(&self, options: &Options, scratch: &Path) -> Result<&str> {
        if self.urls.get().is_none() {
            let (_, crawler) = crawlers(options).swap_remove(0);
            let urls = own::urls(&crawler, options, self, scratch)?;
            let _ = self.urls.set(urls);
        }
        self.urls.get().map(String::as_str).context("they were just found")
    }

    /// The address of the site's server.
    fn server(&self) -> Result<SocketAddr> {
        let seed = Url::parse(self.seeds.first().context("there is a seed")?)?;
        seed.socket_addrs(|| None)?.into_iter().find(SocketAddr::is_ipv4).context("the server is on loopback")
    }

    /// Says how much of what was served since the last call was in gzip, where that is known.
    fn tell_coding(&self, name: &str) {
        if let Some(files) = &self.files {
            println!("{name}: {:.1} % of the responses in gzip", files.take_gzip_share() * 100.0);
        }
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    if let (Some(list), Some(server)) = (&options.floor, options.server) {
        println!("{}", floor::run(list, server, options.connections)?);
        return Ok(());
    }
    let targets = Target::start_all(&options)?;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{}; load average {}", options.title(), load.trim());
    let scratch = scratch::made_in(options.dir.as_deref())?;
    let mut table = Table::default();
    for round in 0..options.rounds {
        for target in &targets {
            round_of(round, &options, target, scratch.path(), &mut table)?;
        }
    }
    print!("\n{table}");
    Ok(())
}

/// Returns the crawlers that are measured, by name: each build with each number of shards.
fn crawlers(options: &Options) -> Vec<(String, Crawler)> {
    let mut crawlers = Vec::new();
    for (name, binary) in builds::chosen(&options.binary) {
        for &shards in &options.shards {
            let name = if shards == 1 { name.clone() } else { format!("{name}, {shards} shards") };
            crawlers.push((name, Crawler { binary: binary.clone(), shards }));
        }
    }
    crawlers
}

/// One turn of each build and each peer.
fn round_of(round: usize, options: &Options, target: &Target, scratch: &Path, table: &mut Table) -> Result<()> {
    let mut turns = crawlers(options);
    // who comes first changes, so that nobody always meets the warmer machine
    if round % 2 == 1 {
        turns.reverse();
    }
    for (name, crawler) in turns {
        let name = format!("{name}{}", target.suffix);
        if options.variant == Variant::Past {
            for past in options.pasts() {
                let run = own::crawl(&crawler, options, target, Some(past), scratch)?;
                table::tell_past(&name, past, &run);
            }
            continue;
        }
        let mut run = own::crawl(&crawler, options, target, None, scratch)?;
        run.waits.tell(&name, run.pages);
        if options.variant == Variant::Growth {
            table::tell_growth(&name, &run.samples);
        }
        if options.stages {
            run.measured.tell_threads(&name, run.pages);
        }
        target.tell_coding(&name);
        tell(table, Row::of(name, &run.measured, run.pages, run.bytes_received, Some(run.bytes_on_disk)));
    }
    for peer in peers::found(options) {
        let run = peer.crawl(options, target, scratch)?;
        let name = format!("{}{}", peer.name(), target.suffix);
        target.tell_coding(&name);
        tell(table, Row::of(name, &run.measured, run.pages, run.bytes, None));
    }
    Ok(())
}

/// Prints a run at once, and keeps it for the medians.
fn tell(table: &mut Table, row: Row) {
    println!("{row}");
    table.push(row);
}
