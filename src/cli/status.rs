//! `crawler status`: the progress of a crawl. One that runs is asked by the socket in its directory, as `crawler ctl
//! status` does, and both show the same; of one that does not run, or does not answer, the plain copy of its last
//! checkpoint is shown.

mod shards;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::exit::Exit;
use super::{DirArg, parts, run};
use crate::clock::{Clock, SystemClock, Time};
use crate::crawl::control;
use crate::crawl::control::wire::AskError;
use crate::crawl::memory::Ceiling;
use crate::crawl::reports::coverage::{self, Coverage};
use crate::crawl::reports::{self, Left};
use crate::crawl::sizes::measure;
use crate::dirs::CrawlDirs;
use crate::disk::{DirectoryLock, Disk};
use crate::record::{Bottleneck, Doing, Live, Rates, Snapshot, State};
use crate::report::closing::{Table, figures, shell_word};
use crate::text::escape::{Escaped, json_line};
use crate::text::figures::{count, counted, date, rate, size, span};
use shards::ShardRow;

#[derive(Debug, Args)]
#[command(after_help = "\
The figures of a running crawl are those of this moment, read over the socket in its directory. If the crawl does not \
answer or does not run, they are those of the last checkpoint. The time left is the least time that politeness needs \
for the queued URLs; links that are not found yet are not counted. Nothing is written, and the crawl is not disturbed.

Examples:
  crawler status
  crawler status --dir news --json
  crawler status --estimate
  crawler status --memory
  crawler status --shards     of a crawl that has several, each of them")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    dir: DirArg,
    /// Print all figures as one JSON object
    #[arg(long)]
    json: bool,
    /// Show the parts of the memory ceiling too
    #[arg(long)]
    memory: bool,
    /// Show each shard too, of a crawl that has several
    #[arg(long)]
    shards: bool,
    /// Print the time left even if reading log and queue for it takes long
    #[arg(long)]
    estimate: bool,
}

/// Bytes of log and queue that are read for the time left without being asked to.
const ESTIMATE_BYTES: u64 = 32 << 20;

/// All that is shown.
#[derive(Serialize)]
struct StatusReport<'a> {
    /// The figures: as of this moment if the crawl answers, else of the last checkpoint.
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    /// True if a process is at work.
    running: bool,
    /// Reason for which that process was not asked, or did not answer.
    silent: Option<&'static str>,
    /// True if the figures are of this moment.
    is_live: bool,
    /// Phase of the crawl, where it reports that.
    phase: Option<Doing>,
    pid: Option<u32>,
    /// The number of the last checkpoint, if the crawl says it.
    checkpoint: Option<u64>,
    /// Time at which the last checkpoint was made; `None` before the first one.
    checkpointed_ms: Option<Time>,
    /// Rates of the last seconds, where they are.
    rates: Option<Rates>,
    memory_ceiling: Option<&'a Ceiling>,
    /// `None` if it would take long to compute.
    left: Option<&'a Left>,
    /// Coverage by the last checkpoint; `None` if it would take long to compute.
    coverage: Option<&'a Coverage>,
    /// Each shard, where that is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<&'a [ShardRow]>,
}

impl<'a> StatusReport<'a> {
    /// The figures of the last checkpoint.
    fn stored(snapshot: &'a Snapshot) -> StatusReport<'a> {
        StatusReport {
            snapshot,
            running: false,
            silent: None,
            is_live: false,
            phase: None,
            pid: None,
            checkpoint: None,
            checkpointed_ms: Some(snapshot.updated),
            rates: None,
            memory_ceiling: None,
            left: None,
            coverage: None,
            shards: None,
        }
    }

    /// The figures of this moment. The last checkpoint was made at `checkpointed`, if not by this process.
    fn live(live: &'a Live, checkpointed: Option<Time>) -> StatusReport<'a> {
        StatusReport {
            running: true,
            is_live: true,
            phase: Some(live.phase),
            pid: Some(live.pid),
            checkpoint: Some(live.checkpoint),
            checkpointed_ms: live.checkpointed.or(checkpointed.map(|made| made.min(live.figures.updated))),
            rates: Some(live.rates),
            ..StatusReport::stored(&live.figures)
        }
    }
}

/// Facts that are computed beside the figures.
struct Beside {
    ceiling: Option<Ceiling>,
    left: Option<Left>,
    coverage: Option<Coverage>,
}

impl Beside {
    /// Those of `report`, of the crawl in `dir` whose settings are in `home`. The time left is computed if it does
    /// not take long, or is `wanted` anyhow.
    fn of(
        dir: &Path,
        disk: &Disk,
        home: &Path,
        report: &StatusReport<'_>,
        wanted: bool,
        now: Time,
    ) -> anyhow::Result<Beside> {
        let resting = report.snapshot.gauges.resting.as_ref();
        Ok(Beside {
            ceiling: Ceiling::of_crawl(disk, home)?,
            left: left(dir, wanted)?.map(|left| left.with_resting_hosts(resting, now)),
            coverage: coverage::at_the_end(dir),
        })
    }

    fn add_to<'a>(&'a self, report: StatusReport<'a>) -> StatusReport<'a> {
        let Beside { ceiling, left, coverage } = self;
        StatusReport { memory_ceiling: ceiling.as_ref(), left: left.as_ref(), coverage: coverage.as_ref(), ..report }
    }
}

impl StatusArgs {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let dir = &self.dir.dir;
        run::require_crawl(dir)?;
        let mut out = io::stdout().lock();
        let running = DirectoryLock::is_held(dir);
        let live = running.then(|| control::live(dir, control::LIVE_PATIENCE));
        // it may have ended in between
        let running = running && !matches!(live, Some(Err(AskError::NotRunning(_))));
        let disk = Disk::real();
        let dirs = CrawlDirs::open(&disk, dir)?;
        let mut of_shards = dirs.snapshots(&disk)?;
        for (stored, dir) in of_shards.iter_mut().zip(dirs.shards()) {
            stored.iter_mut().for_each(|stored| measure(&mut stored.stores, dir));
        }
        let rows =
            self.shards.then(|| shards::rows(&dirs, live.as_ref().and_then(|live| live.as_ref().ok()), &of_shards));
        let stored = Snapshot::sum(of_shards.into_iter().flatten());
        let report = match (&live, &stored) {
            (Some(Ok(live)), stored) => StatusReport::live(live, stored.as_ref().map(|stored| stored.updated)),
            (live, Some(stored)) => {
                let silent = live.as_ref().and_then(|live| live.as_ref().err()).filter(|_| running).map(why_silent);
                StatusReport { running, silent, ..StatusReport::stored(stored) }
            }
            (_, None) => {
                let state = if running { "a crawl has just begun".to_owned() } else { ended(dir) };
                anyhow::ensure!(!self.json, "{}: no checkpoint yet: {state}", dir.display());
                writeln!(out, "{}: no checkpoint yet: {state}", dir.display())?;
                return Ok(Exit::Done);
            }
        };
        let now = SystemClock::new().now();
        let beside = Beside::of(dir, &disk, dirs.home(), &report, self.estimate, now)?;
        let report = StatusReport { shards: rows.as_deref(), ..beside.add_to(report) };
        if self.json {
            writeln!(out, "{}", json_line(&report)?)?;
        } else {
            out.write_all(text(&report, dir, now).as_bytes())?;
            out.write_all(rows.as_deref().map_or(String::new(), |rows| shards::text(rows, now)).as_bytes())?;
            if let Some(ceiling) = report.memory_ceiling.filter(|_| self.memory) {
                out.write_all(parts(ceiling).as_bytes())?;
            }
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

/// Describes a crawl in `dir` that ended before its first checkpoint.
fn ended(dir: &Path) -> String {
    // what cannot be read the next start says, and `verify`
    let stored =
        parts::open_archive(&Disk::real(), dir).map_or(0, |archive| archive.entries().map_while(Result::ok).count());
    let archive = match stored {
        0 => "nothing is stored yet".to_owned(),
        1 => "1 record is in the archive and will be recovered".to_owned(),
        more => format!("{} records are in the archive and will be recovered", count(more as u64)),
    };
    format!("a crawl was started, and ended; run the same command again: {archive}")
}

/// Returns what a crawl in `dir` reports of itself, as `crawler status` shows it.
pub(super) fn text_of(live: &Live, dir: &Path) -> anyhow::Result<String> {
    let disk = Disk::real();
    let stored = CrawlDirs::open(&disk, dir)?.snapshot(&disk)?;
    let now = SystemClock::new().now();
    let report = StatusReport::live(live, stored.map(|stored| stored.updated));
    let beside = Beside::of(dir, &disk, dir, &report, false, now)?;
    let report = beside.add_to(report);
    Ok(text(&report, dir, now))
}

/// The time left, if it does not take long to compute or is wanted anyhow.
fn left(dir: &Path, is_wanted: bool) -> anyhow::Result<Option<Left>> {
    let is_short = reports::left_reads(dir)? <= ESTIMATE_BYTES;
    Ok(if is_wanted || is_short { Some(reports::left(dir)?) } else { None })
}

/// Returns why there are no figures of this moment.
fn why_silent(error: &AskError) -> &'static str {
    match error {
        AskError::NotListening(_) => "it is starting or ending, or cannot be controlled",
        AskError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            "only the user who runs it can query it"
        }
        AskError::Silent(_) => "it does not answer",
        AskError::NotRunning(_) | AskError::TooLong | AskError::NoAnswer(_) | AskError::Io { .. } => {
            "it gave no answer"
        }
    }
}

/// The parts of the ceiling for people.
pub(super) fn parts(ceiling: &Ceiling) -> String {
    let mut lines = String::from("\nmemory at most:\n");
    for part in &ceiling.parts {
        let _ = writeln!(lines, "  {:>10}  {}", size(part.bytes), part.name);
        if !part.keys.is_empty() {
            let _ = writeln!(lines, "  {:>10}  ({})", "", part.keys);
        }
    }
    lines
}

/// The figures for people.
fn text(report: &StatusReport<'_>, dir: &Path, now: Time) -> String {
    let snapshot = report.snapshot;
    let mut table = Table::default();
    let state = match (snapshot.state, report.running) {
        (_, true) => report.phase.map_or("running", Doing::meaning),
        (State::Running, false) => "not running: it was killed; run the same command again to resume",
        (State::Stopped, false) => "stopped; run the same command again to resume",
        (State::Finished, false) => "finished",
    };
    table.row("state", state);
    if let Some(why) = report.silent {
        table.row("", format!("figures of the last checkpoint: {why}"));
    }
    if let Some(pid) = report.pid {
        table.row("process", pid);
    }
    if let Some(finish) = snapshot.finish.filter(|_| !report.running) {
        table.row("finish reason", finish);
    }
    table.row("started", date(snapshot.started));
    let age = span(now.since(snapshot.updated));
    table.row("as of", format!("{} ({age} ago)", date(snapshot.updated)));
    let made = report.checkpointed_ms;
    let number = report.checkpoint.map_or(String::new(), |number| format!(", number {number}"));
    let of = |made: Time| format!("{} ({} ago){number}", date(made), span(now.since(made)));
    table.row("last checkpoint", made.map_or_else(|| "none yet".to_owned(), of));
    if let Some(Rates { pages, requests, bytes }) = report.rates {
        let (pages, requests, bytes) = (rate(pages), rate(requests), size(bytes as u64));
        table.row("now", format!("{pages} pages/s, {requests} requests/s, {bytes}/s"));
    }
    if let Some(phase) = report.phase {
        table.row("limited by", Bottleneck::of(phase, &snapshot.gauges));
    }
    if let Some(wait) = snapshot.gauges.constraints.disk_wait.filter(|_| report.is_live) {
        table.row("waiting", wait);
    }
    figures(&mut table, &snapshot.statistics, &snapshot.gauges);
    let content = report.coverage.map_or("crawler report coverage counts it".to_owned(), Coverage::sentence);
    table.row("content", content);
    let left = match (report.left, made) {
        (_, None) => "known with the first checkpoint".to_owned(),
        (Some(left), _) => time_left(left),
        (None, _) => "--estimate reads log and queue for it".to_owned(),
    };
    table.row("time left", left);
    let gauges = &snapshot.gauges;
    let (active, ready, waiting) = (count(gauges.hosts_active), count(gauges.hosts_ready), count(gauges.hosts_waiting));
    table.row("active hosts", format!("{active}: {ready} ready, {waiting} waiting"));
    if report.is_live {
        table.row("in flight", count(gauges.in_flight));
    }
    table.row("URLs seen", format!("{}, {} keys to merge", count(gauges.keys_seen), count(gauges.keys_pending)));
    let stores = &snapshot.stores;
    let of_stores = stores.stores.iter().map(|(store, bytes)| (format!("{} store", store.title()), *bytes));
    let others = [
        ("archive", stores.pages),
        ("archive index", stores.index),
        ("queue", stores.frontier),
        ("calendar", stores.calendar),
        ("catalog", stores.catalog),
    ];
    for (name, bytes) in others.map(|(name, bytes)| (name.to_owned(), bytes)).into_iter().chain(of_stores) {
        table.row(&name, size(bytes));
    }
    for (store, layers) in &snapshot.layers {
        let (recent, new) = (count(layers.lru_hits), count(layers.bloom_negatives));
        let (disk, wrong) = (count(layers.bloom_positives), count(layers.bloom_false_positives));
        let name = format!("{} answers", store.title());
        table.row(&name, format!("{recent} by the LRU, {new} new by the Bloom filter, {disk} on disk ({wrong} new)"));
    }
    if let Some(ceiling) = report.memory_ceiling {
        table.row("memory ceiling", format!("{} by the configuration (--memory lists its parts)", size(ceiling.bytes)));
    }
    table.row("disk free", size(gauges.disk_free_bytes));
    table.row("inspect with", format!("crawler list --dir {}", shell_word(dir)));
    table.0
}

/// The time left, and what decides about it.
fn time_left(left: &Left) -> String {
    if let Some(until) = left.rests_until {
        let (host, why) = (Escaped(&left.host), Escaped(&left.why));
        return format!("{} at least: {host} waits until {} ({why})", span(left.at_least), date(until));
    }
    match (left.urls, left.host.as_str()) {
        (0, _) if left.hosts == 0 => "nothing is queued".to_owned(),
        (0, _) => format!("no host has to wait; {} with queued URLs", counted(left.hosts, "host")),
        (urls, "") => {
            let urls = counted(urls, "URL");
            format!("{} at least, by politeness.requests_per_second for {urls}", span(left.at_least))
        }
        (urls, host) => {
            let (hosts, urls) = (counted(left.hosts, "host"), counted(urls, "URL"));
            format!("{} at least: {urls} of {}, of {hosts}", span(left.at_least), Escaped(host))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::Finish;

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
        let report = StatusReport { running, ..StatusReport::stored(snapshot) };
        super::text(&report, Path::new("crawl"), now)
    }

    #[test]
    fn the_time_left_says_what_decides_about_it() {
        let left = Left {
            at_least: Duration::from_secs(7_800),
            host: "http://a\x1b".into(),
            urls: 7_801,
            hosts: 3,
            ..Left::default()
        };
        assert_eq!(time_left(&left), "2h 10m at least: 7,801 URLs of http://a\\x1b, of 3 hosts");
        let rated = Left { host: String::new(), ..left };
        assert!(time_left(&rated).contains("politeness.requests_per_second for 7,801 URLs"));
        assert_eq!(time_left(&Left::default()), "nothing is queued");
    }

    #[test]
    fn n12_the_time_left_counts_the_rests_of_hosts() {
        let now = Time::from_ms(1_800_000_000_000);
        let host = crate::record::RestingHost {
            host: "http://b".to_owned(),
            why: "connection refused".to_owned(),
            until: now + Duration::from_secs(90),
        };
        let resting = crate::record::Resting { longest: vec![host], ..Default::default() };
        let rests = Left { hosts: 1, ..Left::default() }.with_resting_hosts(Some(&resting), now);
        let expected = "1m 30s at least: http://b waits until 2027-01-15 08:01:30 UTC (connection refused)";
        assert_eq!(time_left(&rests), expected);
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
