//! A crawl of pages that change by the clock, without faults, for as many days as asked: how fresh it keeps them. The
//! engine, its stores, its frontier and its processing are the real ones.
//!
//! It reports the visits of each page, and after each visit the first change that the visit did not see. From that and
//! from the rates of the pages anyone can compute how fresh the archive was, and how fresh it could have been.

use std::collections::BTreeMap;
use std::time::Duration;

use super::BEGIN;
use super::case::{Case, End, Life, Watch, WholeLimits, calm_recrawl};
use super::clause::{Clause, Violation};
use super::machine::{Machine, Ran};
use super::network::by_web;
use crate::calendar::ScheduleOptions;
use crate::clock::Time;
use crate::record::Finish;
use crate::simweb::{Changes, SimOptions};

/// A process runs for this long, then the next one resumes the crawl.
const LIFE: Duration = Duration::from_secs(5 * 86_400);

/// No file is longer: a log of a year has a line for each request.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// The web that is crawled, and the way in which its pages are fetched again.
#[derive(Clone, Debug)]
pub struct FreshOptions {
    /// Seed of the web.
    pub seed: u64,
    /// Hosts of the web.
    pub hosts: usize,
    /// Pages of the web, over all hosts.
    pub pages: usize,
    /// Length of the crawl in days.
    pub days: u32,
    /// The way in which pages change. The moment from which on they do is set by the crawl.
    pub changes: Changes,
    /// Options by which pages are fetched again.
    pub schedule: ScheduleOptions,
    /// True if a page whose text is the same counts as unchanged.
    pub by_text: bool,
}

/// A page of the web.
#[derive(Clone, Debug)]
pub struct FreshPage {
    /// The name of its host.
    pub host: String,
    /// Changes a day.
    pub per_day: f64,
    /// Visits of the page: when it was fetched, in days since the crawl began, and its first change after that.
    pub visits: Vec<(f64, f64)>,
}

/// Outcome of a crawl.
#[derive(Clone, Debug, Default)]
pub struct Fresh {
    /// The pages.
    pub pages: Vec<FreshPage>,
    /// Requests for pages.
    pub requests: u64,
    /// Answers with 304.
    pub not_modified: u64,
    /// Requests for robots.txt.
    pub robots: u64,
    /// Processes that the crawl took.
    pub processes: u32,
}

/// Crawls for this many days; `tell` is called for each process that ended, by the days since the beginning.
pub fn keep_fresh(options: &FreshOptions, tell: &mut dyn FnMut(f64)) -> Result<Fresh, Violation> {
    let mut case = Case::calm(web(options), options.seed);
    case.recrawl = Some(calm_recrawl(options.schedule.clone(), options.by_text));
    case.watch = Some(Watch { time: Duration::MAX, shortest: Duration::ZERO, longest: Duration::MAX });
    let unsound = |error: std::io::Error| Violation::new(Clause::Reopens, error.to_string());
    let mut machine = Machine::new(case).map_err(unsound)?;
    machine.let_files_grow(FILE_BYTES_MAX);
    let all = Duration::from_secs(u64::from(options.days) * 86_400);
    let (mut until, mut processes) = (Duration::ZERO, 0);
    while until < all {
        until = (until + LIFE).min(all);
        let limits = WholeLimits { time: Some(until), ..WholeLimits::default() };
        let end = End::Stop { after: u64::MAX };
        let life = Life { end, limits, pause: Duration::ZERO, clock_set: None };
        match machine.live(Some(&life))? {
            Ran::Finished(Finish::TimeLimit) => processes += 1,
            Ran::Finished(finish) => return Err(Violation::new(Clause::Ends, format!("it ended by {finish}"))),
            Ran::Failed(error) => return Err(Violation::new(Clause::Reopens, error.to_string())),
            Ran::Gone => return Err(Violation::new(Clause::Reopens, "gone without a cause")),
        }
        tell(machine.true_now as f64 / 86_400_000.0);
    }
    Ok(Fresh { processes, ..pages_of(&machine) })
}

/// Nothing but pages, which change, on hosts that have no troubles.
fn web(options: &FreshOptions) -> SimOptions {
    SimOptions {
        seed: options.seed,
        hosts: options.hosts,
        pages: options.pages,
        page_bytes: 300,
        links: 1,
        changes: Some(Changes { since: BEGIN, ..options.changes }),
        ..SimOptions::default().smooth().plain()
    }
}

fn pages_of(machine: &Machine) -> Fresh {
    let network = machine.network();
    let web = network.web();
    let page = |url: &String| {
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        Some((url.clone(), FreshPage { host, per_day: web.rate_of(url)?, visits: Vec::new() }))
    };
    let mut pages: BTreeMap<String, FreshPage> = web.expected().pages.keys().filter_map(page).collect();
    let days = |time: Time| time.since(BEGIN).as_secs_f64() / 86_400.0;
    let mut fresh = Fresh::default();
    for request in &network.log {
        let Some(page) = pages.get_mut(&request.url) else {
            fresh.robots += 1;
            continue;
        };
        fresh.requests += 1;
        fresh.not_modified += u64::from(request.status == Some(304));
        let at = by_web(request.start);
        if let (Some(200 | 304), Some(next)) = (request.status, web.next_change(&request.url, at)) {
            page.visits.push((days(at), days(next)));
        }
    }
    fresh.pages = pages.into_values().collect();
    fresh
}
