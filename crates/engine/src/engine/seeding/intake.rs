//! Seeds on their way into the crawl: numbered before anything else, admitted a few at a time between two events.
//!
//! All seeds of a run get their numbers when the crawl is opened, before the replay, so that what is replayed finds the
//! seeds that it speaks of. They are admitted once [`Intake::begin`] or [`Intake::begin_forced`] says so: those of
//! this run in their order, then those that an earlier run listed and did not come to admit before it was killed. A
//! million of them hold up no event, and the first ones are asked for while the last ones wait here, four bytes each.
//!
//! The next checkpoint notes that all are admitted; one in between does not, and a start behind it begins again. To be
//! admitted twice does no harm: the URL-seen test passes over the second time.

use std::ops::Range;

use crate::disk::Result;
use crate::engine::seeds::SeedTable;
use crate::web::seeds::Seed;

/// Seeds that wait.
#[derive(Debug, Default)]
pub(in crate::engine) struct Intake {
    /// Seeds of this run, and the number of them that are in.
    listed: Vec<u32>,
    taken: usize,
    /// Seeds of earlier runs.
    backlog: Range<u32>,
    begun: bool,
    /// Seeds that are fetched again while the crawl goes on, the last one first.
    again: Vec<u32>,
    /// True if those of this run are fetched again.
    forced: bool,
}

impl Intake {
    /// Gives the seeds of this run their numbers.
    pub(crate) fn number(table: &mut SeedTable, seeds: impl Iterator<Item = Seed>) -> Result<Intake> {
        let backlog = table.admitted()..table.len();
        let number = |seed: Seed| table.number(seed.url.as_str(), seed.fallback.as_ref().map(|url| url.as_str()));
        let listed = seeds.map(number).collect::<Result<Vec<u32>>>()?;
        Ok(Intake { listed, backlog, ..Intake::default() })
    }

    /// The crawl has this many seeds now: the new ones come behind all others.
    pub(crate) fn extend(&mut self, seeds: u32) {
        let start = if self.backlog.is_empty() { self.backlog.end } else { self.backlog.start };
        self.backlog = start..seeds;
    }

    /// Lets the seeds in; says how many those of this run are.
    pub(crate) fn begin(&mut self) -> usize {
        self.begun = true;
        self.listed.len()
    }

    /// Lets `listed` in, to be fetched again although they were seen; then those of earlier runs.
    pub(crate) fn begin_forced(&mut self, listed: Vec<u32>) {
        *self =
            Intake { listed, taken: 0, backlog: self.backlog.clone(), begun: true, again: Vec::new(), forced: true };
    }

    /// Lets these in before all that wait, to be fetched again although they were seen.
    pub(crate) fn fetch_again(&mut self, seeds: impl DoubleEndedIterator<Item = u32>) {
        let waiting = std::mem::take(&mut self.again);
        self.again = seeds.rev().chain(waiting).collect();
    }

    /// The seeds of this run that were not let in.
    pub(crate) fn take_listed(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.listed)
    }

    /// The seeds of this run, by number.
    pub(crate) fn listed(&self) -> &[u32] {
        &self.listed
    }

    /// True if there are seeds that `pump` has to admit.
    pub(crate) fn is_waiting(&self) -> bool {
        self.begun && !self.is_empty()
    }

    /// True if every seed is in.
    pub fn is_empty(&self) -> bool {
        self.taken == self.listed.len() && self.backlog.is_empty() && self.again.is_empty()
    }

    /// True if some of them have to be in, and durable, before any request is made.
    pub(crate) fn holds_requests(&self) -> bool {
        self.is_waiting() && (self.forced || !self.again.is_empty())
    }

    /// The next one, and whether it is fetched again.
    pub(crate) fn next(&mut self) -> Option<(u32, bool)> {
        if let Some(number) = self.again.pop() {
            return Some((number, true));
        }
        match self.listed.get(self.taken) {
            Some(&number) => {
                self.taken += 1;
                Some((number, self.forced))
            }
            None => self.backlog.next().map(|number| (number, false)),
        }
    }

    /// Gives the memory of the list back, when every seed is in.
    pub(crate) fn forget(&mut self) {
        if self.is_empty() {
            (self.listed, self.taken) = (Vec::new(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intake(listed: Vec<u32>) -> Intake {
        Intake { listed, backlog: 7..9, ..Intake::default() }
    }

    #[test]
    fn seeds_of_this_run_come_before_those_that_an_earlier_one_left() {
        let mut intake = intake(vec![4, 2]);
        assert!(!intake.is_waiting() && !intake.is_empty());
        assert_eq!(intake.begin(), 2);
        assert!(intake.is_waiting() && !intake.holds_requests());
        let all: Vec<_> = std::iter::from_fn(|| intake.next()).collect();
        assert_eq!(all, [(4, false), (2, false), (7, false), (8, false)]);
        intake.forget();
        assert!(intake.is_empty() && !intake.is_waiting());
    }

    #[test]
    fn seeds_that_are_fetched_again_hold_requests_back_until_they_are_in() {
        let mut intake = intake(vec![4]);
        let listed = intake.take_listed();
        intake.begin_forced(listed);
        assert!(intake.holds_requests());
        assert_eq!(
            [intake.next(), intake.next(), intake.next()],
            [Some((4, true)), Some((7, false)), Some((8, false))]
        );
        assert!(!intake.holds_requests() && intake.is_empty());
    }

    #[test]
    fn seeds_that_are_fetched_again_while_it_goes_on_come_before_those_that_wait() {
        let mut intake = intake(vec![4]);
        intake.begin();
        intake.fetch_again([5, 6].into_iter());
        assert!(intake.holds_requests());
        assert_eq!([intake.next(), intake.next()], [Some((5, true)), Some((6, true))]);
        assert!(!intake.holds_requests() && intake.is_waiting());
        assert_eq!([intake.next(), intake.next()], [Some((4, false)), Some((7, false))]);
    }
}
