//! A broad crawl without faults: many domains with one host each, budgets by supporters, delays; and the time that its
//! workers lose. The engine, its stores, its frontier and its processing are the real ones.

use std::time::Duration;

use super::case::Case;
use super::clause::{Clause, Violation};
use super::lost::{self, IdleTime};
use super::machine::{Machine, Ran};
use crate::drum::DrumOptions;
use crate::engine::SupportOptions;
use crate::frontier::{Budget, FrontierOptions, Politeness, RoundBudgets};
use crate::record::Finish;
use crate::simweb::SimOptions;

/// Steps for a page, at most.
const STEPS_PER_PAGE: u64 = 100;
/// No file is longer.
const FILE_BYTES_MAX: u64 = 8 << 30;

/// The web that is crawled, and the pace.
#[derive(Clone, Debug)]
pub struct BroadOptions {
    /// Seed of the web.
    pub seed: u64,
    /// Registrable domains, each of one host.
    pub domains: usize,
    /// Pages of the web, over all domains.
    pub pages: usize,
    /// Requests at a time.
    pub workers: usize,
    /// Time between two requests of a host.
    pub delay: Duration,
    /// Time until an answer comes.
    pub latency: Duration,
}

/// Outcome of a crawl.
#[derive(Clone, Debug, Default)]
pub struct Broad {
    /// Requests.
    pub requests: u64,
    /// The time that workers lost.
    pub idle: IdleTime,
}

/// Crawls to the end.
pub fn crawl_broadly(options: &BroadOptions) -> Result<Broad, Violation> {
    let unsound = |error: std::io::Error| Violation::new(Clause::Reopens, error.to_string());
    let mut machine = Machine::new(case(options)).map_err(unsound)?;
    machine.let_files_grow(FILE_BYTES_MAX);
    machine.steps_max = STEPS_PER_PAGE * options.pages as u64;
    match machine.live(None)? {
        Ran::Finished(Finish::Complete) => {}
        Ran::Finished(finish) => return Err(Violation::new(Clause::Ends, format!("it ended by {finish}"))),
        Ran::Failed(error) => return Err(Violation::new(Clause::Reopens, error.to_string())),
        Ran::Gone => return Err(Violation::new(Clause::Reopens, "gone without a cause")),
    }
    let idle = lost::measure(&machine);
    Ok(Broad { requests: machine.network().log.len() as u64, idle })
}

fn case(options: &BroadOptions) -> Case {
    let budgets = RoundBudgets::default();
    let mut case = Case::calm(web(options), options.seed);
    case.settings.slots.workers = options.workers;
    case.disk_is_quick = true;
    case.support = SupportOptions { budgets, by_network: false, by_standing: true, is_on: true };
    let politeness = Politeness {
        delay_min: options.delay,
        delay_factor: 0.0,
        delay_per_ip: Duration::ZERO,
        ..Politeness::default()
    };
    case.frontier = FrontierOptions { politeness, budget: Budget::UNLIMITED, ..FrontierOptions::default() };
    (case.partitions, case.drum) = (case.frontier.partitions, DrumOptions::default());
    case
}

fn web(options: &BroadOptions) -> SimOptions {
    SimOptions {
        seed: options.seed,
        hosts: options.domains,
        domains: options.domains,
        pages: options.pages,
        addresses: 250,
        latency: options.latency,
        page_bytes: 400,
        links: 6,
        cross_links: 0.3,
        ..SimOptions::default().smooth().plain()
    }
}
