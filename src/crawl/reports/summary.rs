//! The crawl report and the status codes report: the figures of the last checkpoint, or of a crawl that has none yet.

use serde::Serialize;

use super::seeds::{self, Counts};
use super::{Form, NO_CHECKPOINT, Out, ReportError};
use crate::crawl::control;
use crate::dirs::CrawlDirs;
use crate::disk::{DirectoryLock, Disk};
use crate::outcome::status_text;
use crate::record::{Snapshot, State};
use crate::report::closing::{Table, figures};
use crate::text::figures::{date, size};

/// The summary as one JSON object.
#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    snapshot: &'a Snapshot,
    running: bool,
    seeds: Counts,
}

/// The figures of the last checkpoint; if there is none yet, the figures of the crawl that runs in these directories.
fn snapshot(disk: &Disk, dirs: &CrawlDirs) -> Result<Option<Snapshot>, ReportError> {
    let stored = dirs.snapshot(disk)?;
    if stored.is_some() || !DirectoryLock::is_held(dirs.root()) {
        return Ok(stored);
    }
    // one that does not answer is starting or ending: there are no figures then
    Ok(control::live(dirs.root(), control::LIVE_PATIENCE).ok().map(|live| live.figures))
}

pub(super) fn crawl(disk: &Disk, dirs: &CrawlDirs, out: &mut Out<'_>) -> Result<(), ReportError> {
    let Some(snapshot) = snapshot(disk, dirs)? else { return out.text(format_args!("{NO_CHECKPOINT}")) };
    let running = DirectoryLock::is_held(dirs.root());
    let seeds = seeds::counts(disk, dirs)?;
    if out.form == Form::Json {
        return out.row(&Summary { snapshot: &snapshot, running, seeds }, format_args!(""));
    }
    let mut table = Table::default();
    let state = match (snapshot.state, snapshot.finish) {
        (State::Running, _) if running => "running; crawler status shows what it does".to_owned(),
        (State::Running, _) if out.is_of_store => "not ended, by its last checkpoint in the store".to_owned(),
        (State::Running, _) => "killed, or resuming from here".to_owned(),
        (State::Stopped | State::Finished, finish) => finish.map_or("stopped".to_owned(), |finish| finish.to_string()),
    };
    table.row("state", state);
    table.row("created", date(snapshot.started));
    table.row("as of", date(snapshot.updated));
    table.row("seeds", seeds.text());
    figures(&mut table, &snapshot.statistics, &snapshot.gauges);
    table.row("archive", size(snapshot.stores.pages));
    out.text(format_args!("{}", table.0))
}

#[derive(Serialize)]
struct Row {
    code: i32,
    urls: u64,
    meaning: String,
}

pub(super) fn status_codes(disk: &Disk, dirs: &CrawlDirs, out: &mut Out<'_>) -> Result<(), ReportError> {
    let Some(snapshot) = snapshot(disk, dirs)? else { return out.text(format_args!("{NO_CHECKPOINT}")) };
    let statistics = &snapshot.statistics;
    let answers = statistics.statuses.iter().map(|(&code, &urls)| {
        let meaning = Some(status_text(code)).filter(|words| !words.is_empty());
        Row { code: code.into(), urls, meaning: meaning.unwrap_or("(unknown)").to_owned() }
    });
    let failures = statistics.failures.iter();
    let failures = failures.map(|(failure, &urls)| Row { code: failure.code(), urls, meaning: failure.to_string() });
    let dropped = statistics.dropped.iter();
    let dropped =
        dropped.map(|(reason, &urls)| Row { code: reason.code(), urls, meaning: format!("left out: {reason}") });
    out.text(format_args!("as of {}\n\n{:>10} {:>6} meaning\n", date(snapshot.updated), "urls", "code"))?;
    for row in answers.chain(failures).chain(dropped) {
        out.row(&row, format_args!("{:>10} {:>6} {}\n", row.urls, row.code, row.meaning))?;
    }
    out.text(format_args!(
        "\nStatus codes of pages. Codes below 0: attempts without an answer, and URLs that were never requested.\n"
    ))
}
