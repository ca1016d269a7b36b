//! A crawl of the web by the real binary, on one core, with the crawler's defaults.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use crawler::disk::Disk;
use crawler::record::{Snapshot, Statistics};

use super::bodies::Linked;
use super::child::WebProcess;
use super::hosts::Host;
use super::options::{Options, Scheme};
use super::process::{self, Measured};
use super::web::{Ready, Served};
use super::{CRAWLER_CORE, progress, size};

/// The state of a crawl at a line of progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub elapsed_s: f64,
    pub cpu_s: f64,
    /// CPU of the web.
    pub web_s: f64,
    pub pages: u64,
}

/// A crawl that is over.
pub struct Run {
    pub title: String,
    pub hosts: u32,
    pub measured: Measured,
    pub statistics: Statistics,
    pub served: Served,
    pub ready: Ready,
    pub bytes_on_disk: u64,
    pub samples: Vec<Sample>,
}

impl Run {
    /// CPU of the crawler in all, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.measured.user_s + self.measured.system_s
    }

    /// Pages stored.
    pub fn pages(&self) -> u64 {
        self.statistics.pages_stored.max(1)
    }
}

/// Crawls the web of `options` into its own directory, which is removed again.
pub fn crawl(binary: &Path, options: &Options, scratch: &Path) -> Result<Run> {
    let dir = tempfile::tempdir_in(scratch)?;
    let root = dir.path().join("root.pem");
    let mut web = WebProcess::start(options, &root)?;
    fs::write(dir.path().join("seeds.txt"), seeds(options, web.ready.port))?;
    fs::write(dir.path().join("crawler.toml"), config(options, web.ready, &root)?)?;
    let (web_pid, start) = (web.pid(), Instant::now());
    let web_before = cpu_s(web_pid);
    let mut child = command(binary, dir.path()).spawn().context("cannot start the crawler")?;
    let pages = Arc::new(AtomicU64::new(0));
    let (lines, told) = (BufReader::new(child.stderr.take().context("standard error is a pipe")?), pages.clone());
    let reader = std::thread::spawn(move || {
        for number in lines.lines().map_while(Result::ok).filter_map(|line| progress::pages(&line)) {
            told.store(number, Ordering::Relaxed);
        }
    });
    let mut samples = vec![Sample::default()];
    let measured = process::watch(child, start, |pid| {
        let pages = pages.load(Ordering::Relaxed);
        if samples.last().is_some_and(|sample| sample.pages != pages) {
            let (elapsed_s, web_s) = (start.elapsed().as_secs_f64(), cpu_s(web_pid) - web_before);
            samples.push(Sample { elapsed_s, cpu_s: cpu_s(pid), web_s, pages });
        }
    })?;
    reader.join().expect("reading lines cannot panic");
    let crawl = dir.path().join("crawl");
    let snapshot = Snapshot::read(&Disk::real(), &crawl)?.context("the crawl left no figures")?;
    let (served, bytes_on_disk) = (web.served()?, size::size_of(&crawl)?);
    let (title, hosts, ready) = (options.title(), options.hosts, web.ready);
    Ok(Run { title, hosts, measured, statistics: snapshot.statistics, served, ready, bytes_on_disk, samples })
}

/// CPU of a process so far, in seconds.
fn cpu_s(pid: u32) -> f64 {
    process::cpu(pid).map_or(0.0, |(user_s, system_s)| user_s + system_s)
}

/// The first page of each host.
fn seeds(options: &Options, port: u16) -> String {
    let linked = Linked::of(options, port);
    (0..options.hosts).map(|number| linked.url(Host(number), 0) + "\n").collect()
}

/// The line that begins the crawl, on the crawler's core.
fn command(binary: &Path, dir: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", CRAWLER_CORE]);
    command.arg(binary).args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]);
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The configuration: names, addresses and the root of this web, HTML only, and the defaults for everything else.
fn config(options: &Options, ready: Ready, root: &Path) -> Result<String> {
    let mut text = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[dns]\nnameservers = [\"127.0.0.1:{}\"]\n\
         [scope]\nmode = \"any\"\nfavicon = false\n[report]\ninterval = \"1s\"\n",
        ready.dns_port
    );
    if options.scheme == Scheme::Https {
        text.push_str(&format!("[fetch]\nca_file = {root:?}\n"));
    }
    if options.no_robots {
        text.push_str("[robots]\nobey = false\n");
    }
    if let Some(more) = &options.config {
        text.push_str(&fs::read_to_string(more).with_context(|| format!("cannot read {}", more.display()))?);
    }
    Ok(text)
}
