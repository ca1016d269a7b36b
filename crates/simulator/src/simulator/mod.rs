//! Whole crawls in virtual time, on a disk that forgets and a network that fails: the crash contract, tried.
//!
//! A case is a function of its seed: a small synthetic web, the crawl's settings, what happens to the network, and how
//! each process of the crawl ends: stopped, killed between two events or at any change of the disk, with the power cut,
//! with an error of the disk or with a full one; perhaps with its clock set before the next one starts. The engine, its
//! stores and processing are the real ones; only time, the disk ([`crate::disk::simulated`]) and
//! the network are simulated. Cases from [`WIDE_FROM`] on also
//! have limits, budgets, patterns, rates, depths and scopes; those from [`REQUISITES_FROM`] on embed what is on other
//! domains; those from [`AGAIN_FROM`] on are plain ones that fetch their pages again for some days, most of them in a
//! web whose pages change by the clock; those from [`WALLS_FROM`] on are plain ones in webs with cookie walls; those
//! from [`RENDERED_FROM`] on have their pages rendered; those from [`SUPPORTED_FROM`] on have budgets that follow from
//! supporters; those from [`HOURS_FROM`] on have hosts that are asked within hours alone. At every end of a process the
//! account of its URLs has to balance
//! ([`Accounts`](crate::engine::Accounts)); where pages are fetched again, each has one place: in the calendar, queued,
//! or ended; and where supporters of domains are counted, they are those of the archive's links. After the last process
//! has come to the end of the crawl, [`Clause`] by clause is judged.
//!
//! What it cannot show: threads (work on the disk is done at one moment between two events, though it can be cut short
//! there by a death), sled (its own tests have it), and what a real kernel does.

mod again;
mod baton;
mod broad;
mod case;
mod clause;
mod event_queue;
mod fresh;
mod idle;
mod judge;
mod lost;
mod machine;
mod mistake;
mod moment;
mod named;
mod network;
mod nodes;
mod opening;
mod outcomes;
mod places;
mod polite;
mod process;
mod registry;
mod rendering;
mod support;
#[cfg(test)]
mod tests;
mod visits;
mod walls;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use broad::{Broad, BroadOptions, crawl_broadly};
use case::Case;
pub use case::{AGAIN_FROM, HOURS_FROM, RENDERED_FROM, REQUISITES_FROM, SUPPORTED_FROM, WALLS_FROM, WIDE_FROM};
pub use clause::{Clause, Violation};
pub use fresh::{Fresh, FreshOptions, keep_fresh};
use machine::Machine;
pub use mistake::Mistake;

use crate::clock::Time;
use crate::contract::panic_text;

/// Events between two checkpoints that are asked for, in a crawl of several shards that fetches pages again.
const EVENTS_MIN: u64 = 100;
/// Time at which the web begins, and the clock of the first process.
pub const BEGIN: Time = Time::from_ms(1_700_000_000_000);
/// The crawl directory on the simulated disk.
const DIR: &str = "/crawl";

/// Figures of a case that held.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Requests.
    pub requests: u64,
    /// Processes that died before the crawl was complete.
    pub deaths: u64,
    /// Changes of the disk.
    pub changes: u64,
    /// Hosts that were asked.
    pub hosts: u64,
    /// The number of times that a shard went from one node to another.
    pub take_overs: u64,
    /// Answers that only a cookie brought.
    pub passed: u64,
    /// Checksum of the case's log: every request with its times and its answer, and every change of the disk. Two
    /// versions of the crawler that do the same have the same.
    pub log: u64,
}

impl Held {
    /// Takes another case's sums in.
    pub fn add(&mut self, other: Held) {
        self.requests += other.requests;
        self.deaths += other.deaths;
        self.changes += other.changes;
        self.hosts += other.hosts;
        self.take_overs += other.take_overs;
        self.passed += other.passed;
    }
}

/// A case that broke the contract.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Its seed.
    pub seed: u64,
    /// The violation that was found.
    pub violation: Violation,
    /// The ends of its processes, and the last operations of the disk.
    pub trace: Vec<String>,
}

/// Runs the case of `seed`, by a crawler that makes `mistake`.
pub fn run(seed: u64, mistake: Option<Mistake>) -> Result<Held, Box<Broken>> {
    run_in_shards(seed, mistake, 1)
}

/// The same by a crawl of `shards` shards on `nodes` machines: two shards and two machines at least, and a case without
/// limits, below [`WIDE_FROM`].
pub fn run_on_nodes(seed: u64, mistake: Option<Mistake>, shards: u32, nodes: usize) -> Result<Held, Box<Broken>> {
    let case = Case { shards, ..Case::draw(seed, mistake) };
    let ran = catch_unwind(AssertUnwindSafe(|| nodes::run(case, nodes)));
    let ran = ran.unwrap_or_else(|panic| Err((panicked(&*panic), Vec::new())));
    ran.map_err(|(violation, trace)| Box::new(Broken { seed, violation, trace }))
}

fn panicked(panic: &(dyn Any + Send)) -> Violation {
    Violation::new(Clause::Reopens, format!("panicked: {}", panic_text(panic)))
}

/// The same by a crawl of this many shards.
pub fn run_in_shards(seed: u64, mistake: Option<Mistake>, shards: u32) -> Result<Held, Box<Broken>> {
    let mut case = Case { shards, ..Case::draw(seed, mistake) };
    if case.watch.is_some() && shards > 1 {
        // each checkpoint is news for all others, which would be events enough for the next one, and so on for days
        case.checkpoint_every = case.checkpoint_every.map(|every| every.max(EVENTS_MIN));
    }
    let lives: Vec<String> = case.lives.iter().map(|life| format!("{life:?}")).collect();
    let broken = |violation, trace: Vec<String>| {
        Box::new(Broken { seed, violation, trace: lives.iter().cloned().chain(trace).collect() })
    };
    let mut machine = match Machine::new(case) {
        Ok(machine) => machine,
        Err(error) => return Err(broken(Violation::new(Clause::Ends, error.to_string()), Vec::new())),
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        let statistics = machine.run()?;
        judge::judge(&machine, &statistics)
    }));
    let result = result.unwrap_or_else(|panic| Err(panicked(&*panic)));
    match result {
        Ok(()) => Ok(Held {
            requests: machine.network().log.len() as u64,
            deaths: machine.ends.len() as u64,
            changes: machine.changes(),
            hosts: judge::hosts(&machine) as u64,
            take_overs: 0,
            passed: machine.network().walls().map_or(0, walls::Walls::passed),
            log: machine.log_checksum(),
        }),
        Err(violation) => {
            let trace = machine.requests_of(&violation.what).into_iter().chain(machine.trace()).collect();
            Err(broken(violation, trace))
        }
    }
}
