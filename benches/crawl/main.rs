//! The speed of whole crawls: the real binary with everything on, beside peers on the same pages in the same run.
//!
//!     cargo bench --bench crawl                          documentation-like pages: 8 hosts, 20,000 pages of 24 KB
//!     cargo bench --bench crawl -- wide                  4,000 hosts, 20,000 pages of 20 KB
//!     cargo bench --bench crawl -- growth                500,000 pages of 8 KB, told for each tenth of the crawl
//!     cargo bench --bench crawl -- past                  from stores that hold millions of URLs already
//!     cargo bench --bench crawl -- --site URL            a site that is served already, on loopback
//!     cargo bench --bench crawl -- --shards 1,4          the same in one shard and in four, in turn
//!     cargo bench --bench crawl -- --help                sizes, rounds, peers, other builds to compare with
//!
//! CPU (user and system of the crawling process alone, from /proc when it has ended) is the figure: the synthetic web
//! serves from this process, whose time nobody counts, but which shares the cores, so elapsed times are only as good as
//! the machine is idle. Everything on: robots.txt, URL-seen, DNS, request, metadata and response records in gzip,
//! checkpoints every 30 s. There are no delays, and 8 connections a host, or the politeness would be measured.
//!
//! `benches/crawl/README.md` says how to install the peers, and what each of them does and leaves out.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use crawler::simweb::SimWeb;

mod filled;
mod options;
mod own;
mod pace;
mod peers;
mod process;
mod table;
mod thread;

use options::{Options, Variant};
use own::Crawler;
use table::{Row, Table};

/// What is crawled.
struct Target {
    /// Keeps the synthetic web running, where it is one.
    web: Option<SimWeb>,
    seeds: Vec<String>,
}

impl Target {
    fn start(options: &Options) -> Result<Target> {
        if let Some(seeds) = options.served_seeds()? {
            return Ok(Target { web: None, seeds });
        }
        let web = SimWeb::start(options.web()).context("cannot start the synthetic web")?;
        let seeds = web.seeds();
        Ok(Target { web: Some(web), seeds })
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let target = Target::start(&options)?;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{}; load average {}", options.title(), load.trim());
    let scratch = match &options.dir {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let scratch = scratch.context("cannot make a directory for the crawls")?;
    let mut table = Table::default();
    for round in 0..options.rounds {
        let mut turns = crawlers(&options);
        // who comes first changes, so that nobody always meets the warmer machine
        if round % 2 == 1 {
            turns.reverse();
        }
        for (name, crawler) in turns {
            if options.variant == Variant::Past {
                for past in options.pasts() {
                    let run = own::crawl(&crawler, &options, &target, Some(past), scratch.path())?;
                    table::tell_past(&name, past, &run);
                }
                continue;
            }
            let run = own::crawl(&crawler, &options, &target, None, scratch.path())?;
            if options.variant == Variant::Growth {
                table::tell_growth(&name, &run.samples);
            }
            if options.stages {
                table::tell_stages(&name, &run.measured, run.pages);
            }
            tell(&mut table, Row::of(name, &run.measured, run.pages, run.bytes_received, Some(run.bytes_on_disk)));
        }
        for peer in peers::found(&options) {
            let run = peer.crawl(&options, &target, scratch.path())?;
            let bytes = run.bytes;
            tell(&mut table, Row::of(peer.name().to_owned(), &run.measured, run.pages, bytes, None));
        }
    }
    print!("\n{table}");
    Ok(())
}

/// What is measured, by its name: each build with each number of shards.
fn crawlers(options: &Options) -> Vec<(String, Crawler)> {
    let mut crawlers = Vec::new();
    for (name, binary) in binaries(options) {
        for &shards in &options.shards {
            let name = if shards == 1 { name.clone() } else { format!("{name}, {shards} shards") };
            crawlers.push((name, Crawler { binary: binary.clone(), shards }));
        }
    }
    crawlers
}

/// Names and paths of the builds to measure.
fn binaries(options: &Options) -> Vec<(String, PathBuf)> {
    if options.binary.is_empty() {
        return vec![("crawler".to_owned(), PathBuf::from(env!("CARGO_BIN_EXE_crawler")))];
    }
    let name = |path: &PathBuf| path.file_name().map_or("crawler".into(), |name| name.to_string_lossy().into_owned());
    // the crawls run in directories of their own
    let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    options.binary.iter().map(|path| (name(path), whole(path))).collect()
}

/// Prints a run at once, and keeps it for the medians.
fn tell(table: &mut Table, row: Row) {
    println!("{row}");
    table.push(row);
}
