//! Waits before what has failed is tried again.

use std::time::Duration;

/// The wait after the first failure.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait that is our own.
const LONGEST: Duration = Duration::from_secs(300);
/// The longest wait that a server may ask for.
const ASKED_MAX: Duration = Duration::from_secs(3_600);

/// Waits that double from failure to failure, a fifth of each by chance.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Failures so far.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure; says how long to wait, at least as long as the server has asked.
    pub fn wait(&mut self, asked: Option<Duration>) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let own = doubled.mul_f64(0.8 + 0.2 * fastrand::f64());
        own.max(asked.unwrap_or_default().min(ASKED_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_a_bound_and_are_no_shorter_than_was_asked() {
        let mut backoff = Backoff::default();
        for failure in 0..40 {
            let doubled = FIRST.saturating_mul(1 << failure.min(16)).min(LONGEST);
            let wait = backoff.wait(None);
            assert!((doubled.mul_f64(0.8)..=doubled).contains(&wait), "{failure}: {wait:?}");
        }
        assert_eq!(backoff.failures(), 40);
        assert_eq!(Backoff::default().wait(Some(Duration::from_secs(9))), Duration::from_secs(9));
        assert_eq!(Backoff::default().wait(Some(Duration::from_secs(1 << 40))), ASKED_MAX);
    }
}
