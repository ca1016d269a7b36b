//! The day of a billion pages, with everything on: the CPU of a crawl of very many hosts over TLS, on one core.
//!
//!     cargo bench --bench day                       4,000 hosts of 16 pages: about two minutes
//!     cargo bench --bench day -- --stages           the same, and five other webs: CPU by stage
//!     cargo bench --bench day -- --http2            hosts that offer HTTP/2
//!     cargo bench --bench day -- --sizes decoded    smaller pages (`bodies.rs` says of which source)
//!     cargo bench --bench day -- --authority p384   certificates signed as Let's Encrypt does
//!     cargo bench --bench day -- --binary OLD --binary NEW --rounds 3
//!
//! The web runs in a child process on core 1, together with this process, and the crawler, which is the real release
//! binary, on core 0. Each host has its own name, address (127.0.0.0/8), certificate (a chain of three, ECDSA) and
//! robots.txt; TLS is 1.3, with a new connection for each host; DNS goes by UDP. Bodies have the sizes of a published
//! distribution and come in gzip. Everything of the crawler is on and has its default: one request at a time to a
//! host and a second or more between two, robots.txt, URL-seen, the archive in WARC, a checkpoint every 30 s.
//!
//! **What is not as on the internet**: the line is loopback, so packets cost less in the kernel and are never lost;
//! latency (100 to 300 ms, the same for all answers of a host) is a sleep of the server; every name resolves, every
//! host answers, and no page redirects or fails; pages embed nothing; a host's links lead to its own pages, nearly all
//! of which are known (the line of links says how many are new).
//!
//! A crawl is bound by its core only where that is used up: the share of it is printed, beside the pages/s that were
//! measured and those that a whole core would make with the same CPU a page. The web's core must not be used up.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Parser;

mod bodies;
#[path = "../crawl/builds.rs"]
mod builds;
mod certificates;
mod child;
mod hosts;
mod options;
#[path = "../crawl/process.rs"]
mod process;
#[path = "../crawl/progress.rs"]
mod progress;
mod report;
mod run;
#[path = "../crawl/scratch.rs"]
mod scratch;
#[path = "../crawl/size.rs"]
mod size;
mod stages;
mod web;

use options::{Options, Scheme};
use report::Table;

const CRAWLER_CORE: &str = "0";
const WEB_CORE: &str = "1";

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!(!options.by_address || options.scheme == Scheme::Http, "certificates have names: add --scheme http");
    ensure!(!options.stages || options.scheme == Scheme::Https, "the stages begin with https");
    if let Some(root) = &options.serve {
        return web::run(&options, root);
    }
    if !options.pinned {
        return pin();
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{:?} in gzip; load average {}", options.sizes, load.trim());
    let scratch = scratch::made_in(options.dir.as_deref())?;
    let mut table = Table::default();
    for _ in 0..options.rounds {
        for (name, binary) in builds::chosen(&options.binary) {
            let run = run::crawl(&binary, &options, scratch.path())?;
            report::tell(&name, &run);
            table.push(&name, &run);
            if options.stages {
                stages::tell(&name, &binary, &options, &run, scratch.path(), &mut table)?;
            }
        }
    }
    table.tell();
    Ok(())
}

/// Begins again on the web's core, which children inherit.
fn pin() -> Result<()> {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", WEB_CORE]).arg(std::env::current_exe()?).args(std::env::args_os().skip(1));
    Err(command.arg("--pinned").exec()).context("cannot run taskset, of util-linux")
}
