//! The ceiling on what merging may take of the machine: a share of the time, and bytes a second.
//!
//! One [`Pace`] serves all DRUMs that merge on the same thread. After a merge that took the time t and moved b bytes,
//! the next one begins no sooner than max(t / share, b / bandwidth) after that one began. Waiting is not lost: a bucket
//! that gathers more merges cheaper. It would be lost once a batch is full, so that full batches need not wait for
//! their share of the time, nor does an owner that has nothing else to do. The bandwidth holds always: it is for those
//! who share the disk with others, and where it is set too low, what is pending grows on disk.

use std::time::Duration;

use crate::clock::Time;

use super::Need;

/// A merge that only feeds an owner who starves takes at most this share of the time: it moves much for few answers.
const STARVING_SHARE: f64 = 0.2;

/// Ceilings on merging.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaceOptions {
    /// Largest share of the time, from 0 (exclusive) to 1.
    pub share: f64,
    /// Most bytes a second that merges read and write.
    pub bytes_per_second: Option<u64>,
}

impl Default for PaceOptions {
    fn default() -> Self {
        PaceOptions { share: 0.5, bytes_per_second: None }
    }
}

/// Says when the next merge may begin.
#[derive(Debug)]
pub struct Pace {
    options: PaceOptions,
    began: Time,
    took: Duration,
    /// Time from which on the bandwidth permits the next merge.
    bandwidth_from: Time,
}

impl Pace {
    /// A pace by which a merge may begin at once.
    pub fn new(options: PaceOptions) -> Self {
        Pace { options, began: Time::ZERO, took: Duration::ZERO, bandwidth_from: Time::ZERO }
    }

    /// Returns whether a merge for this `need` may begin at `now`.
    pub fn permits(&self, need: Need, now: Time) -> bool {
        let share = match need {
            Need::Full | Need::All => return now >= self.bandwidth_from,
            Need::Threshold => self.options.share,
            Need::Starving => self.options.share.min(STARVING_SHARE),
        };
        now >= self.bandwidth_from.max(self.began + self.took.div_f64(share.clamp(1e-3, 1.0)))
    }

    /// Notes that a merge begins.
    pub fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// Notes that the merge that began last is done, and moved this many bytes.
    pub fn end(&mut self, bytes: u64, now: Time) {
        // the clock counts milliseconds: a merge that took less took something
        self.took = now.since(self.began).max(Duration::from_millis(1));
        let seconds = self.options.bytes_per_second.map_or(0.0, |rate| bytes as f64 / rate.max(1) as f64);
        self.bandwidth_from = self.began + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_ms(1_000_000 + ms)
    }

    fn after_a_merge(options: PaceOptions, ms: u64, bytes: u64) -> Pace {
        let mut pace = Pace::new(options);
        assert!(
            [Need::Full, Need::Threshold, Need::Starving, Need::All].map(|need| pace.permits(need, at(0))) == [true; 4]
        );
        pace.begin(at(0));
        pace.end(bytes, at(ms));
        pace
    }

    #[test]
    fn merges_take_their_share_of_the_time_and_no_more() {
        let pace = after_a_merge(PaceOptions { share: 0.5, bytes_per_second: None }, 100, 1 << 30);
        let from = |need| (0..).find(|&ms| pace.permits(need, at(ms))).unwrap();
        assert_eq!([Need::Threshold, Need::Starving, Need::Full, Need::All].map(from), [200, 500, 0, 0]);
        let pace = after_a_merge(PaceOptions { share: 1.0, bytes_per_second: None }, 100, 1 << 30);
        assert!(pace.permits(Need::Threshold, at(100)) && !pace.permits(Need::Starving, at(499)));
    }

    #[test]
    fn bytes_a_second_hold_whatever_the_need() {
        let pace = after_a_merge(PaceOptions { share: 0.5, bytes_per_second: Some(1_000) }, 10, 700);
        for need in [Need::Full, Need::Threshold, Need::Starving, Need::All] {
            assert!(!pace.permits(need, at(699)) && pace.permits(need, at(700)), "{need:?}");
        }
    }

    #[test]
    fn a_merge_without_measurable_length_still_counts() {
        let pace = after_a_merge(PaceOptions { share: 0.1, bytes_per_second: None }, 0, 0);
        assert!(!pace.permits(Need::Threshold, at(9)) && pace.permits(Need::Threshold, at(10)));
    }
}
