//! The reports of a crawl at its end, and of what it went on from when it began.

use serde_json::json;

use super::reports::coverage;
use super::runtime::Runtime;
use super::shard_run::ShardRun;
use super::{CrawlError, CrawlRequest, Verbosity, nothing, reports};
use crate::engine::Past;
use crate::record::{Doing, Finish, Gauges, Oddities, Statistics};
use crate::report::closing::{self, Closing, Got};
use crate::report::closing_json;

/// The state of an engine that is done.
pub(super) struct Ending {
    pub finish: Finish,
    statistics: Statistics,
    gauges: Gauges,
    doing: Doing,
    oddities: Oddities,
}

impl Ending {
    /// Returns the ending of the engine of `run`.
    pub(crate) fn of(run: &mut ShardRun, finish: Finish) -> Ending {
        let engine = &mut run.engine;
        let (statistics, gauges) = (engine.figures().statistics(), engine.figures().gauges());
        Ending {
            finish,
            statistics,
            gauges,
            doing: engine.figures().doing(),
            oddities: engine.figures().oddities().clone(),
        }
    }

    /// Returns the ending of a crawl of which another shard has ended as `other`.
    pub(crate) fn and(mut self, other: Ending) -> Ending {
        let Ending { finish, statistics, gauges, doing, oddities } = other;
        self.finish = self.finish.and(finish);
        self.statistics += &statistics;
        self.gauges += &gauges;
        self.doing = self.doing.min(doing);
        self.oddities += &oddities;
        self
    }

    /// Prints the closing statistics of one machine among several.
    pub(crate) fn print(&self, request: &CrawlRequest) {
        let Ending { finish, statistics, gauges, .. } = self;
        if request.logs_json() {
            closing::event(statistics, gauges, finish, &request.closing());
        } else if request.verbosity != Verbosity::Quiet {
            request.screen.print(&closing::text(statistics, gauges, finish, &request.closing()));
        }
    }

    /// Tells the closing statistics, and writes the reports. A crawl that came to its end with nothing is an error.
    pub(crate) fn tell(self, request: &CrawlRequest, runtime: &mut Runtime) -> Result<Finish, CrawlError> {
        let Ending { finish, statistics, gauges, doing, oddities } = self;
        // first, while the display says that the crawl ends: nobody waits for anything after the statistics
        let written = reports::put_at_the_end(&request.dir);
        let coverage = coverage::at_the_end(&request.dir);
        let coverage = coverage.map(|found| Got { sentence: found.sentence(), figures: json!(found) });
        let closing = Closing { coverage: coverage.as_ref(), ..request.closing() };
        runtime.display.finish(&statistics, &gauges, doing, statistics.elapsed);
        if request.logs_json() {
            closing::event(&statistics, &gauges, &finish, &closing);
        } else if request.verbosity != Verbosity::Quiet {
            request.screen.print(&closing::text(&statistics, &gauges, &finish, &closing));
            request.screen.print(&closing::oddities(&oddities));
        }
        if let Some(path) = &request.json_path {
            let object = closing_json::object(&statistics, &gauges, finish, &closing);
            closing_json::write(&object, path)?;
        }
        tell_reports(request, written);
        if matches!(finish, Finish::Complete | Finish::OnlySilentHosts) && statistics.pages_stored == 0 {
            return Err(CrawlError::NothingFetched(nothing::why(&statistics, &request.dir)));
        }
        Ok(finish)
    }
}

/// Says what this run goes on from: a directory with a past is never taken up in silence.
pub(super) fn tell_past(past: Past, replayed: u64, request: &CrawlRequest) {
    let dir = request.dir.display();
    match past {
        Past::New if replayed == 0 => tracing::info!("a new crawl in {dir}"),
        Past::Stopped(Finish::Complete) if request.force => tracing::info!("the crawl in {dir} is complete"),
        Past::Stopped(Finish::Complete) => {
            tracing::info!(
                "the crawl in {dir} is complete; only new seeds will be crawled (--force fetches the seed URLs again, \
                 --fresh starts a new crawl)"
            );
        }
        Past::Stopped(finish) => tracing::info!("resuming the crawl in {dir} (last run: {finish})"),
        Past::New | Past::Killed => tracing::info!(
            "resuming the crawl in {dir} after an unclean stop; {replayed} responses stored after the last checkpoint \
             were recovered"
        ),
    }
}

/// The past of a crawl of two shards, or of more of which these are two.
pub(super) fn past_of_both(one: Past, other: Past) -> Past {
    match (one, other) {
        (Past::New, Past::New) => Past::New,
        (Past::Stopped(one), Past::Stopped(other)) => Past::Stopped(one.and(other)),
        _ => Past::Killed,
    }
}

/// Says which reports were not written at the end, and why.
fn tell_reports(request: &CrawlRequest, written: Result<Vec<reports::Name>, reports::ReportError>) {
    match written {
        Ok(left_out) => {
            for name in left_out {
                let dir = closing::shell_word(&request.dir);
                tracing::info!("the {name} report would take long: run crawler report {name} --dir {dir}");
            }
        }
        Err(error) => tracing::warn!(%error, "a report could not be written"),
    }
}
