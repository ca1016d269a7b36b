//! `crawler status`: how a crawl stands, from the plain copy of its last checkpoint.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::exit::Exit;
use super::{DirArg, run};
use crate::clock::{Clock, SystemClock, Time};
use crate::crawl::memory::Ceiling;
use crate::disk::{DirectoryLock, Disk};
use crate::report::closing::{Table, figures, shell_word};
use crate::report::escape::json_line;
use crate::report::figures::{count, date, size, span};
use crate::report::{Snapshot, State};

#[derive(Debug, Args)]
#[command(after_help = "\
The figures are those of the last checkpoint, 30 seconds old at most while a crawl runs. Nothing is written, and the
crawl is not disturbed.

Examples:
  crawler status
  crawler status --dir news --json
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
}

/// The figures of the last checkpoint, and what follows from the configuration.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    memory_ceiling: Option<&'a Ceiling>,
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
        let ceiling = Ceiling::of_crawl(&Disk::real(), dir)?;
        if self.json {
            let told = Told { snapshot: &snapshot, memory_ceiling: ceiling.as_ref() };
            writeln!(out, "{}", json_line(&told)?)?;
        } else {
            let held = DirectoryLock::is_held(dir);
            out.write_all(text(&snapshot, ceiling.as_ref(), dir, held, SystemClock::new().now()).as_bytes())?;
            if let Some(ceiling) = ceiling.filter(|_| self.memory) {
                out.write_all(parts(&ceiling).as_bytes())?;
            }
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

/// The parts of the ceiling for people.
fn parts(ceiling: &Ceiling) -> String {
    let mut lines = String::from("\nmemory at most:\n");
    for part in &ceiling.parts {
        let keys = if part.keys.is_empty() { String::new() } else { format!("  ({})", part.keys) };
        let _ = writeln!(lines, "  {:>10}  {}{keys}", size(part.bytes), part.name);
    }
    lines
}

/// The figures for people.
fn text(snapshot: &Snapshot, ceiling: Option<&Ceiling>, dir: &Path, held: bool, now: Time) -> String {
    let mut table = Table::default();
    let state = match (snapshot.state, held) {
        (_, true) => "running",
        (State::Running, false) => "not running: it was killed; the line that started it resumes it",
        (State::Stopped, false) => "stopped; the line that started it resumes it",
        (State::Finished, false) => "finished",
    };
    table.row("state", state);
    if let Some(finish) = snapshot.finish.filter(|_| !held) {
        table.row("finish reason", finish);
    }
    table.row("started", date(snapshot.started));
    let age = span(now.since(snapshot.updated));
    table.row("as of", format!("{} ({age} ago)", date(snapshot.updated)));
    figures(&mut table, &snapshot.statistics, &snapshot.gauges);
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
    if let Some(ceiling) = ceiling {
        table.row("memory ceiling", format!("{} by the configuration (--memory has its parts)", size(ceiling.bytes)));
    }
    table.row("disk free", size(gauges.disk_free_bytes));
    table.row("inspect with", format!("crawler list --dir {}", shell_word(dir)));
    table.0
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_crawl_that_was_killed_is_not_said_to_run() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirectoryLock::acquire(dir.path()).unwrap();
        assert!(DirectoryLock::is_held(dir.path()));
        drop(lock);
        assert!(!DirectoryLock::is_held(dir.path()));
        let now = Time::from_ms(1_114_651_005_000);
        assert!(text(&snapshot(), None, dir.path(), true, now).contains(" running\n"));
        let killed = text(&snapshot(), None, dir.path(), false, now);
        assert!(killed.contains("not running: it was killed"), "{killed}");
        assert!(killed.contains("2005-04-28 01:16:40 UTC (5s ago)"), "{killed}");
    }

    #[test]
    fn a_finished_crawl_says_why_it_ended() {
        let finished = Snapshot { state: State::Finished, finish: Some(Finish::Complete), ..snapshot() };
        let text = text(&finished, None, Path::new("crawl"), false, Time::MAX);
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
