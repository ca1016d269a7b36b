//! Durations counted by their length, as Prometheus wants them.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Durations by their length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Number of durations that were no longer than each of [`Histogram::BOUNDS_S`] and longer than the one before; the
    /// last one counts those that were longer than all.
    counts: Vec<u64>,
    #[serde(rename = "sum_s", with = "super::seconds")]
    sum: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; Histogram::BOUNDS_S.len() + 1], sum: Duration::ZERO }
    }
}

impl Histogram {
    /// Upper bounds, in seconds.
    pub(crate) const BOUNDS_S: [f64; 14] =
        [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

    /// Counts a duration.
    pub fn count(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let place = Histogram::BOUNDS_S.partition_point(|&bound| bound < seconds);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(duration);
    }

    /// All durations together.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns for each bound, and last for none, the number of durations that were no longer.
    pub fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = Histogram::BOUNDS_S.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }
}

/// Adds the durations of another shard.
impl AddAssign<&Histogram> for Histogram {
    fn add_assign(&mut self, other: &Histogram) {
        let Histogram { counts, sum } = other;
        self.counts.iter_mut().zip(counts).for_each(|(count, more)| *count += more);
        self.sum = self.sum.saturating_add(*sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_each_duration_up_to_its_bound() {
        let mut histogram = Histogram::default();
        [0, 10, 11, 300_000, 300_001].iter().for_each(|&ms| histogram.count(Duration::from_millis(ms)));
        let cumulative: Vec<_> = histogram.cumulative().collect();
        assert_eq!(cumulative[0], (Some(0.01), 2));
        assert_eq!(cumulative[1], (Some(0.025), 3));
        assert_eq!(cumulative[13], (Some(300.0), 4));
        assert_eq!(cumulative[14], (None, 5));
    }
}
