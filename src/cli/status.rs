//! `crawler status`: how a crawl stands, from the plain copy of its last checkpoint, or from the crawl itself where it runs
//! and serves its figures.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::exit::Exit;
use super::{DirArg, run};
use crate::clock::{Clock, SystemClock, Time};
use crate::crawl::asked;
use crate::crawl::memory::Ceiling;
use crate::crawl::reports::{self, Left};
use crate::disk::{DirectoryLock, Disk};
use crate::report::closing::{Table, figures, shell_word};
use crate::report::escape::{Escaped, json_line};
use crate::report::figures::{count, date, rate, size, span};
use crate::report::metrics::{Live, Rates};
use crate::report::{Snapshot, State, StoreBytes};

#[derive(Debug, Args)]
#[command(after_help = "\
The figures are those of the last checkpoint, 30 seconds old at most while a crawl runs; with report.metrics they are
those of this moment. The time left is what politeness takes at least for what is queued; links that are not found yet
come on top. Nothing is written, and the crawl is not disturbed.

Examples:
  crawler status
  crawler status --dir news --json
  crawler status --estimate
  crawler status --memory")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    dir: DirArg,
    /// One JSON object with all figures
    #[arg(long)]
    json: bool,
    /// Show what the memory ceiling consists of, too
    #[arg(long)]
    memory: bool,
    /// Tell the time left, also where log and queue have to be read for long
    #[arg(long)]
    estimate: bool,
}

/// So much of log and queue is read for the time left without being asked to.
const ESTIMATE_BYTES: u64 = 32 << 20;

/// All that is told.
#[derive(Serialize)]
struct Told<'a> {
    /// The figures: of this moment where the crawl tells them, else of the last checkpoint.
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    /// Whether a process is at work.
    running: bool,
    /// What the crawl says of itself; `None` where it does not run or serves nothing.
    #[serde(skip)]
    live: Option<&'a Live>,
    /// Whether the figures are of this moment.
    is_live: bool,
    /// Rates of the last seconds, where they are.
    rates: Option<Rates>,
    /// When the last checkpoint was made.
    checkpointed: Time,
    memory_ceiling: Option<&'a Ceiling>,
    /// `None` where it would take long to tell.
    left: Option<&'a Left>,
}

impl StatusArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let dir = &self.dir.dir;
        run::require_crawl(dir)?;
        let mut out = io::stdout().lock();
        let Some(snapshot) = Snapshot::read(&Disk::real(), dir)? else {
            let state =
                if DirectoryLock::is_held(dir) { "a crawl has just begun" } else { "a crawl was begun, and ended" };
            anyhow::ensure!(!self.json, "{}: no checkpoint yet: {state}", dir.display());
            writeln!(out, "{}: no checkpoint yet: {state}", dir.display())?;
            return Ok(Exit::Done);
        };
        let running = DirectoryLock::is_held(dir);
        let live = if running { asked::live(&Disk::real(), dir, snapshot.started) } else { None };
        // live figures are a second old at most: they know nothing of a checkpoint that came after them
        let checkpointed = live
            .as_ref()
            .map_or(snapshot.updated, |live| live.checkpointed.unwrap_or(snapshot.updated).min(live.snapshot.updated));
        let mut newest = live.as_ref().map_or(snapshot, |live| live.snapshot.clone());
        measure(&mut newest.stores, dir);
        let ceiling = Ceiling::of_crawl(&Disk::real(), dir)?;
        let left = self.left(dir)?;
        let told = Told {
            snapshot: &newest,
            running,
            live: live.as_ref(),
            is_live: live.is_some(),
            rates: live.as_ref().map(|live| live.rates),
            checkpointed,
            memory_ceiling: ceiling.as_ref(),
            left: left.as_ref(),
        };
        if self.json {
            writeln!(out, "{}", json_line(&told)?)?;
        } else {
            out.write_all(text(&told, dir, SystemClock::new().now()).as_bytes())?;
            if let Some(ceiling) = ceiling.as_ref().filter(|_| self.memory) {
                out.write_all(parts(ceiling).as_bytes())?;
            }
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    /// The time left, if it does not take long to tell or is wanted anyhow.
    fn left(&self, dir: &Path) -> anyhow::Result<Option<Left>> {
        let is_short = reports::left_reads(dir)? <= ESTIMATE_BYTES;
        Ok(if self.estimate || is_short { Some(reports::left(dir)?) } else { None })
    }
}

/// What lies on disk now: the crawl does not count all of it.
fn measure(stores: &mut StoreBytes, dir: &Path) {
    let parts: [(&mut u64, &str); 5] = [
        (&mut stores.url_seen, "url-seen"),
        (&mut stores.robots, "robots"),
        (&mut stores.dns, "dns"),
        (&mut stores.frontier, "frontier"),
        (&mut stores.catalog, "catalog"),
    ];
    for (bytes, part) in parts {
        *bytes = reports::file_bytes(&dir.join(part)).max(*bytes);
    }
}

/// The parts of the ceiling for people.
pub(super) fn parts(ceiling: &Ceiling) -> String {
    let mut lines = String::from("\nmemory at most:\n");
    for part in &ceiling.parts {
        let keys = if part.keys.is_empty() { String::new() } else { format!("  ({})", part.keys) };
        let _ = writeln!(lines, "  {:>10}  {}{keys}", size(part.bytes), part.name);
    }
    lines
}

/// The figures for people.
fn text(told: &Told<'_>, dir: &Path, now: Time) -> String {
    let snapshot = told.snapshot;
    let mut table = Table::default();
    let phase = told.live.map_or("running", |live| match live.phase.as_str() {
        "stopping" => "running; a stop was asked for",
        "closing" | "done" => "running; the last checkpoint is made",
        _ => "running",
    });
    let state = match (snapshot.state, told.running) {
        (_, true) => phase,
        (State::Running, false) => "not running: it was killed; the line that started it resumes it",
        (State::Stopped, false) => "stopped; the line that started it resumes it",
        (State::Finished, false) => "finished",
    };
    table.row("state", state);
    if let Some(finish) = snapshot.finish.filter(|_| !told.running) {
        table.row("finish reason", finish);
    }
    table.row("started", date(snapshot.started));
    let age = span(now.since(snapshot.updated));
    table.row("as of", format!("{} ({age} ago)", date(snapshot.updated)));
    let age = span(now.since(told.checkpointed));
    table.row("last checkpoint", format!("{} ({age} ago)", date(told.checkpointed)));
    if let Some(Rates { pages, requests, bytes }) = told.rates {
        let (pages, requests, bytes) = (rate(pages), rate(requests), size(bytes as u64));
        table.row("now", format!("{pages} pages/s, {requests} requests/s, {bytes}/s"));
    }
    figures(&mut table, &snapshot.statistics, &snapshot.gauges);
    table.row("time left", told.left.map_or("--estimate reads log and queue for it".to_owned(), time_left));
    let gauges = &snapshot.gauges;
    let (active, ready, waiting) = (count(gauges.hosts_active), count(gauges.hosts_ready), count(gauges.hosts_waiting));
    table.row("active hosts", format!("{active}: {ready} ready, {waiting} waiting"));
    table.row("URLs seen", format!("{}, {} keys to merge", count(gauges.keys_seen), count(gauges.keys_pending)));
    let stores = &snapshot.stores;
    for (name, bytes) in [
        ("archive", stores.pages),
        ("archive index", stores.index),
        ("queue", stores.frontier),
        ("URL-seen store", stores.url_seen),
        ("robots.txt store", stores.robots),
        ("DNS store", stores.dns),
        ("catalog", stores.catalog),
    ] {
        table.row(name, size(bytes));
    }
    let layers = &snapshot.layers;
    for (name, layers) in
        [("URL-seen answers", &layers.url_seen), ("robots.txt answers", &layers.robots), ("DNS answers", &layers.dns)]
    {
        let (recent, new) = (count(layers.lru_hits), count(layers.bloom_negatives));
        let (disk, wrong) = (count(layers.bloom_positives), count(layers.bloom_false_positives));
        table.row(name, format!("{recent} by the LRU, {new} new by the Bloom filter, {disk} on disk ({wrong} new)"));
    }
    if let Some(ceiling) = told.memory_ceiling {
        table.row("memory ceiling", format!("{} by the configuration (--memory has its parts)", size(ceiling.bytes)));
    }
    table.row("disk free", size(gauges.disk_free_bytes));
    table.row("inspect with", format!("crawler list --dir {}", shell_word(dir)));
    table.0
}

/// The time left, and what decides about it.
fn time_left(left: &Left) -> String {
    match (left.urls, left.host.as_str()) {
        (0, _) if left.hosts == 0 => "nothing is queued".to_owned(),
        (0, _) => format!("no host has to be waited for; {} hosts have URLs that wait", count(left.hosts)),
        (urls, "") => {
            format!("{} at least, by politeness.requests_per_second for {} URLs", span(left.at_least), count(urls))
        }
        (urls, host) => {
            let (hosts, urls) = (count(left.hosts), count(urls));
            format!("{} at least: {urls} URLs of {}, of {hosts} hosts", span(left.at_least), Escaped(host))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::Finish;

    fn snapshot() -> Snapshot {
        Snapshot {
            version: Snapshot::VERSION,
            state: State::Running,
            finish: None,
            started: Time::from_ms(1_114_650_975_990),
            updated: Time::from_ms(1_114_651_000_000),
            statistics: Default::default(),
            gauges: Default::default(),
            stores: Default::default(),
            layers: Default::default(),
        }
    }

    fn text(snapshot: &Snapshot, running: bool, now: Time) -> String {
        let told = Told {
            snapshot,
            running,
            live: None,
            is_live: false,
            rates: None,
            checkpointed: snapshot.updated,
            memory_ceiling: None,
            left: None,
        };
        super::text(&told, Path::new("crawl"), now)
    }

    #[test]
    fn the_time_left_says_what_decides_about_it() {
        let left = Left { at_least: Duration::from_secs(7_800), host: "http://a\x1b".into(), urls: 7_801, hosts: 3 };
        assert_eq!(time_left(&left), "2h 10m at least: 7,801 URLs of http://a\\x1b, of 3 hosts");
        let rated = Left { host: String::new(), ..left };
        assert!(time_left(&rated).contains("politeness.requests_per_second for 7,801 URLs"));
        assert_eq!(time_left(&Left::default()), "nothing is queued");
    }

    #[test]
    fn a_crawl_that_was_killed_is_not_said_to_run() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirectoryLock::acquire(dir.path()).unwrap();
        assert!(DirectoryLock::is_held(dir.path()));
        drop(lock);
        assert!(!DirectoryLock::is_held(dir.path()));
        let now = Time::from_ms(1_114_651_005_000);
        assert!(text(&snapshot(), true, now).contains(" running\n"));
        let killed = text(&snapshot(), false, now);
        assert!(killed.contains("not running: it was killed"), "{killed}");
        assert!(killed.contains("2005-04-28 01:16:40 UTC (5s ago)"), "{killed}");
    }

    #[test]
    fn a_finished_crawl_says_why_it_ended() {
        let finished = Snapshot { state: State::Finished, finish: Some(Finish::Complete), ..snapshot() };
        let text = text(&finished, false, Time::MAX);
        assert!(text.contains("no URL is left"), "{text}");
    }

    #[test]
    fn looking_does_not_keep_a_crawl_from_starting() {
        let dir = tempfile::tempdir().unwrap();
        drop(DirectoryLock::acquire(dir.path()).unwrap());
        assert!(!DirectoryLock::is_held(dir.path()));
        DirectoryLock::acquire(dir.path()).unwrap();
    }
}
