//! A crawl by the crawler itself, and how it went over time.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use crawler::disk::Disk;
use crawler::record::Snapshot;

use super::Target;
use super::filled::{self, Past};
use super::options::{Options, Variant};
use super::pace::Pace;
use super::process::{self, Measured};
use super::progress;
use super::size::size_of;
use super::waits::Waits;

/// The state of a crawl at some moment of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub elapsed_s: f64,
    pub cpu_s: f64,
    pub pages: u64,
    /// The number of times that the machine's pace was measured so far, and the seconds that this took in all.
    pub paces: f64,
    pub pace_s: f64,
}

/// A crawl that is over.
pub struct Run {
    pub measured: Measured,
    pub pages: u64,
    pub bytes_received: u64,
    pub bytes_on_disk: u64,
    pub samples: Vec<Sample>,
    /// Waits of links between shards, where they are asked for.
    pub waits: Waits,
}

/// A crawler to measure: a build, and into how many shards it cuts a crawl.
#[derive(Clone, Debug)]
pub struct Crawler {
    pub binary: PathBuf,
    pub shards: usize,
}

/// Crawls everything into its own directory, which is removed again. With a `past`, the crawl goes on from there.
pub fn crawl(crawler: &Crawler, options: &Options, target: &Target, past: Option<Past>, scratch: &Path) -> Result<Run> {
    let Crawler { binary, shards } = crawler;
    let dir = prepared(options, target, *shards, scratch)?;
    if let Some(web) = &target.web {
        web.clear_log();
    }
    if let Some(past) = past {
        let said = command(binary, dir.path()).args(["--max-pages", "1"]).output()?;
        anyhow::ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        filled::fill(&dir.path().join("crawl"), past)?;
    }
    let mut command = command(binary, dir.path());
    if past.is_some() {
        // what is queued from the past never comes out: the crawl ends before the web does
        command.args(["--max-pages", &(options.pages() * 9 / 10).to_string()]);
    }
    if options.waits {
        command.arg("-vv");
    }
    command.stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
    // a line of progress every second, read here and turned into a sample there
    let pages = Arc::new(Mutex::new(None));
    let lines = BufReader::new(child.stderr.take().context("standard error is a pipe")?).lines();
    let told = pages.clone();
    let reader = std::thread::spawn(move || {
        let mut waits = Waits::default();
        for line in lines.map_while(Result::ok) {
            waits.read(&line);
            let number = progress::pages(&line);
            if number.is_some() {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = number;
            }
        }
        waits
    });
    let (mut samples, mut pace) = (vec![Sample::default()], Pace::new());
    let (mut paces, mut pace_s) = (0.0, 0.0);
    let measured = process::watch(child, start, |pid| {
        let new = pages.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(pages), Some((user_s, system_s))) = (new, process::cpu(pid)) {
            (paces, pace_s) = (paces + 1.0, pace_s + pace.measure());
            let elapsed_s = start.elapsed().as_secs_f64();
            samples.push(Sample { elapsed_s, cpu_s: user_s + system_s, pages, paces, pace_s });
        }
    })?;
    let waits = reader.join().expect("reading lines cannot panic");
    let crawl = dir.path().join("crawl");
    let snapshot = Snapshot::read(&Disk::real(), &crawl)?.context("the crawl left no figures")?;
    let pages = snapshot.statistics.pages_stored;
    let cpu_s = measured.user_s + measured.system_s;
    samples.push(Sample { elapsed_s: measured.wall_s, cpu_s, pages, paces, pace_s });
    let bytes_on_disk = size_of(&crawl)?;
    Ok(Run { measured, pages, bytes_received: snapshot.statistics.bytes_received, bytes_on_disk, samples, waits })
}

/// The URLs of all pages, one per line.
pub fn urls(crawler: &Crawler, options: &Options, target: &Target, scratch: &Path) -> Result<String> {
    let dir = prepared(options, target, 1, scratch)?;
    let crawled = command(&crawler.binary, dir.path()).output()?;
    anyhow::ensure!(crawled.status.success(), "{}", String::from_utf8_lossy(&crawled.stderr));
    let mut list = Command::new(&crawler.binary);
    list.args(["list", "--dir", "crawl", "--columns", "url", "--status", "200"]).current_dir(dir.path());
    let listed = list.output()?;
    anyhow::ensure!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    Ok(String::from_utf8(listed.stdout)?)
}

/// A directory with the seeds and the configuration of a crawl.
fn prepared(options: &Options, target: &Target, shards: usize, scratch: &Path) -> Result<tempfile::TempDir> {
    let dir = tempfile::tempdir_in(scratch)?;
    fs::write(dir.path().join("seeds.txt"), target.seeds.join("\n"))?;
    fs::write(dir.path().join("crawler.toml"), config(options, target, shards)?)?;
    Ok(dir)
}

/// The line that begins the crawl in `dir`, and goes on with it.
fn command(binary: &Path, dir: &Path) -> Command {
    let mut command = Command::new(binary);
    command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn config(options: &Options, target: &Target, shards: usize) -> Result<String> {
    // a crawl with a past ends before its web does; the others end when dead hosts are given up
    let give_up = if options.variant == Variant::Past { "" } else { "give_up = \"1s\"\n" };
    let politeness = format!(
        "delay_factor = 0.0\ndelay_min = \"0s\"\ndelay_per_ip = \"0s\"\n{give_up}connections_per_host = {}\n",
        options.connections
    );
    let mut text = match &target.web {
        Some(web) => web.config_with(&politeness),
        // the other crawlers ask for no icon
        None => format!(
            "[network]\nallow = [\"127.0.0.0/8\"]\n[scope]\nmode = \"host\"\nfavicon = false\n\
             [politeness]\n{politeness}"
        ),
    };
    if options.variant == Variant::Past {
        // its limit counts every page
        text = text.replace("[scope]\n", "[scope]\nrequisites = \"scope\"\n");
    }
    text.push_str("[report]\ninterval = \"1s\"\n");
    // no host of these webs is a trap
    text.push_str("[budget]\npages_per_host = \"unlimited\"\npages_per_domain = \"unlimited\"\n");
    if shards > 1 {
        text.push_str(&format!("[crawl]\nshards = {shards}\n"));
    }
    if let Some(more) = &options.config {
        text.push_str(&fs::read_to_string(more).with_context(|| format!("cannot read {}", more.display()))?);
    }
    Ok(text)
}
