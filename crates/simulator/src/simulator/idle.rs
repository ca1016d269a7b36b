//! Idle workers, judged of every process while it runs.
//!
//! A process may let a worker be idle while a host is ready for a hundredth of its time, and in a round of budgets, for
//! which hosts rest, for a hundredth of that round beside the least time between two rounds. What is on the disk side
//! or is in a merge cannot be asked for, and does not count.

use std::time::Duration;

use super::case::Case;
use super::clause::{Clause, Violation};
use crate::clock::Time;
use crate::engine::Idleness;

/// The part of the time in which workers may be idle.
const PART: u32 = 100;
/// Error that the milliseconds of the clock may add up to.
const SLACK: Duration = Duration::from_millis(100);
/// The least time between two rounds is no longer.
const ROUND_LEAST_MAX: Duration = Duration::from_secs(60);

/// The judge of one engine in one process.
#[derive(Debug)]
pub(super) struct IdleJudge {
    of_process: Stretch,
    of_round: Stretch,
    round: Option<u32>,
}

/// Time that passes while an engine waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    /// Reason for which workers are idle, if some are.
    pub idleness: Option<Idleness>,
    /// The round of budgets, where there are any.
    pub round: Option<u32>,
    pub since: Time,
    pub until: Time,
}

/// A stretch of time, and how much of it workers were idle.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    begun: Time,
    idle: Duration,
}

impl Stretch {
    fn from(begun: Time) -> Self {
        Stretch { begun, idle: Duration::ZERO }
    }

    /// Adds idle time until `now`; says whether that is too much beside what is `allowed` anyway.
    fn add(&mut self, idle: Duration, allowed: Duration, now: Time) -> bool {
        self.idle += idle;
        self.idle > now.since(self.begun) / PART + allowed + SLACK
    }
}

impl IdleJudge {
    pub(super) fn new(now: Time) -> Self {
        IdleJudge { of_process: Stretch::from(now), of_round: Stretch::from(now), round: None }
    }

    /// Judges what an engine has its workers do while this time passes.
    pub(super) fn pass(&mut self, passed: &Passed, case: &Case) -> Result<(), Violation> {
        let (idle, now) = (passed.until.since(passed.since), passed.until);
        if self.round != passed.round {
            (self.round, self.of_round) = (passed.round, Stretch::from(passed.since));
        }
        let Some(found) = passed.idleness else { return Ok(()) };
        if found.has_ready {
            return match self.of_process.add(idle, Duration::ZERO, now) {
                true => Err(lost("while hosts are ready", self.of_process, now)),
                false => Ok(()),
            };
        }
        if !found.ends_round {
            return Ok(());
        }
        match self.of_round.add(idle, round_least(case), now) {
            true => Err(lost("while hosts rest until the next round", self.of_round, now)),
            false => Ok(()),
        }
    }
}

/// The time between the beginnings of two rounds, at least.
fn round_least(case: &Case) -> Duration {
    let pages = u32::try_from(case.support.budgets.pages_min.max(1)).unwrap_or(u32::MAX);
    case.frontier.politeness.delay_min.saturating_mul(pages).min(ROUND_LEAST_MAX)
}

fn lost(why: &str, stretch: Stretch, now: Time) -> Violation {
    let what = format!("workers were idle for {:?} of {:?} {why}", stretch.idle, now.since(stretch.begun));
    Violation::new(Clause::Busy, what)
}
