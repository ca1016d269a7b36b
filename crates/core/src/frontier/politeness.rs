//! Delays and back-off: pure arithmetic on durations, no state but [`Standing`] that it is given.
//!
//! - delay of a host = max(clamp(factor × duration of the last fetch, min, max), min(Crawl-delay, cap)). A
//!   Crawl-delay never makes a host faster; by choice a host that asks for more than the cap is left alone.
//! - The duration of an answer that is no page never lowers the delay: errors come quickly.
//! - A URL that fails by itself (500, a body that breaks off) waits by itself: 60 s (10 s if there was no answer),
//!   doubling with each attempt up to an hour, 0 to 10 % longer by chance. [`FAULTS_MAX`](super::tuning::FAULTS_MAX)
//!   such URLs in a row are the host's trouble.
//! - Back-off of a host: Retry-After where there is one, else 60 s (10 s for a connection that failed, 5 min for
//!   robots.txt) doubling each time, 0 to 10 % longer by chance, at most a day, forgiven by a good answer and 30 quiet
//!   minutes after its end. Without any delay configured (tests, one's own server) all of them start with 1 s.

use std::time::Duration;

use super::options::Politeness;
use super::record::Standing;
use super::tuning::{
    BACKOFF_CONNECTION, BACKOFF_JITTER, BACKOFF_MAX, BACKOFF_OVERLOAD, BACKOFF_ROBOTS, BACKOFF_WITHOUT_DELAYS,
    DOUBLINGS_MAX, FORGIVEN_AFTER, URL_WAIT_MAX,
};
use crate::clock::Time;
use crate::politeness;
use crate::web::robots::RobotsRules;

/// The trouble for which a host is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It answers that it is overloaded.
    Overload,
    /// No connection, or it broke; no answer from the name servers.
    Connection,
    /// Its robots.txt cannot be had.
    Robots,
}

/// The part of a robots.txt that forbids a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden<'a> {
    /// A rule, by its normalised pattern.
    Disallow(&'a [u8]),
    /// A Crawl-delay beyond `politeness.crawl_delay_max`, where such hosts are left alone.
    CrawlDelay(Duration),
}

impl Politeness {
    /// Returns whether no delay at all is wanted.
    pub(super) fn is_none(&self) -> bool {
        self.delay_factor <= 0.0 && self.delay_min.is_zero() && self.delay_per_ip.is_zero()
    }

    /// The delay that follows from a fetch that took `duration`.
    pub fn pace(&self, duration: Duration) -> Duration {
        politeness::pace(duration, self.delay_factor, self.delay_min, self.delay_max)
    }

    /// The delay between two requests of a host: its own pace or its Crawl-delay, whichever is longer.
    pub fn delay(&self, pace: Duration, crawl_delay: Option<Duration>) -> Duration {
        if self.is_none() {
            return Duration::ZERO;
        }
        pace.max(self.delay_min).max(crawl_delay.unwrap_or_default().min(self.crawl_delay_max))
    }

    /// Returns the time from `at` until the hours of a host begin; zero within them.
    pub fn closed(&self, at: Time) -> Duration {
        self.hours.as_ref().map_or(Duration::ZERO, |hours| hours.opens(at).since(at))
    }

    /// Returns whether robots.txt asks for a longer delay than the longest that is kept.
    pub fn is_beyond(&self, crawl_delay: Option<Duration>) -> bool {
        !self.is_none() && crawl_delay.is_some_and(|delay| delay > self.crawl_delay_max)
    }

    /// Returns whether a host that asks for this is left alone.
    pub fn skips(&self, crawl_delay: Option<Duration>) -> bool {
        self.skip_beyond && self.is_beyond(crawl_delay)
    }

    /// Returns what in `rules` forbids `url`, if anything does.
    pub fn forbidden<'a>(&self, rules: &'a RobotsRules, url: &str) -> Option<Forbidden<'a>> {
        match (rules.deciding(url), rules.crawl_delay()) {
            (Some((pattern, false)), _) => Some(Forbidden::Disallow(pattern)),
            (_, Some(delay)) if self.skips(Some(delay)) => Some(Forbidden::CrawlDelay(delay)),
            _ => None,
        }
    }

    /// The delay after a request that took `duration`, of a host of which nothing else is known.
    pub(super) fn delay_after(&self, duration: Duration) -> Duration {
        self.delay(self.pace(duration), None)
    }

    pub(super) fn backoff_base(&self, trouble: Trouble) -> Duration {
        match trouble {
            _ if self.is_none() => BACKOFF_WITHOUT_DELAYS,
            Trouble::Overload => BACKOFF_OVERLOAD,
            Trouble::Connection => BACKOFF_CONNECTION,
            Trouble::Robots => BACKOFF_ROBOTS,
        }
    }

    /// Returns the time for which a URL waits that failed by itself after this many earlier attempts.
    pub(super) fn url_wait(&self, trouble: Trouble, attempts: u8, rng: &mut fastrand::Rng) -> Duration {
        let doubled = self.backoff_base(trouble).saturating_mul(1 << u32::from(attempts).min(DOUBLINGS_MAX));
        doubled.min(URL_WAIT_MAX).mul_f64(1.0 + BACKOFF_JITTER * rng.f64())
    }

    /// Holds a host back for `trouble` that a request of `started` met, and says until when.
    ///
    /// Requests that were in progress together raise the back-off once.
    pub(super) fn back_off(
        &self,
        standing: &mut Standing,
        trouble: Trouble,
        retry_after: Option<Duration>,
        started: Time,
        now: Time,
        rng: &mut fastrand::Rng,
    ) -> Time {
        if now >= standing.backoff_until + FORGIVEN_AFTER {
            standing.backoff_level = 0;
        }
        let level = match trouble {
            Trouble::Robots => standing.robots_level,
            _ => standing.backoff_level,
        };
        let mut own = || {
            let doubled = self.backoff_base(trouble).saturating_mul(1 << u32::from(level).min(DOUBLINGS_MAX));
            doubled.min(BACKOFF_MAX).mul_f64(1.0 + BACKOFF_JITTER * rng.f64())
        };
        let wait = match (trouble, retry_after) {
            // how long a robots.txt cannot be had is not for one answer to say, which may ask for more but not for less
            (Trouble::Robots, Some(wait)) => wait.max(own()),
            (_, Some(wait)) => wait,
            (_, None) => own(),
        };
        if trouble == Trouble::Robots {
            standing.robots_level = standing.robots_level.saturating_add(1);
        } else if started >= standing.backoff_set || level == 0 {
            standing.backoff_level = standing.backoff_level.saturating_add(1);
            standing.backoff_set = now;
        } else if retry_after.is_none() {
            return standing.backoff_until;
        }
        standing.backoff_until = standing.backoff_until.max(now + wait.min(BACKOFF_MAX));
        standing.backoff_until
    }

    /// A request of `started` had a good answer: unless the host was held back after it began, the next back-off is a
    /// first one again.
    pub(super) fn forgive(standing: &mut Standing, started: Time) {
        if started >= standing.backoff_set {
            standing.backoff_level = 0;
        }
    }

    /// Learns from a fetch that took `duration`; only an answer that counts may lower the pace.
    pub(super) fn learn(&self, standing: &mut Standing, duration: Duration, may_lower: bool) {
        let pace = self.pace(duration);
        if may_lower || pace > standing.pace {
            standing.pace = pace;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn p3_the_delay_follows_the_fetch_within_bounds_and_a_crawl_delay_never_shortens_it() {
        let politeness = Politeness::default();
        assert_eq!(politeness.pace(S / 100), S);
        assert_eq!(politeness.pace(S * 2), S * 10);
        assert_eq!(politeness.pace(S * 20), S * 30);
        assert_eq!(politeness.delay(S * 10, Some(S * 4)), S * 10);
        assert_eq!(politeness.delay(S * 10, Some(S * 40)), S * 40);
        assert_eq!(politeness.delay(S * 10, Some(S * 4_000)), S * 300);
    }

    #[test]
    fn three_zeros_mean_no_delay_at_all() {
        let none = Politeness {
            delay_factor: 0.0,
            delay_min: Duration::ZERO,
            delay_per_ip: Duration::ZERO,
            ..Politeness::default()
        };
        assert_eq!(none.delay(none.pace(S * 9), Some(S * 9)), Duration::ZERO);
        let almost = Politeness { delay_per_ip: S, ..none };
        assert_eq!(almost.delay(almost.pace(S * 9), Some(S * 9)), S * 9);
    }

    #[test]
    fn a_factor_that_is_no_number_or_huge_does_no_harm() {
        for factor in [f64::NAN, f64::INFINITY, -3.0, 1e300] {
            let politeness = Politeness { delay_factor: factor, ..Politeness::default() };
            assert!((S..=S * 30).contains(&politeness.pace(S * 2)), "{factor}");
        }
    }

    #[test]
    fn p4_fast_errors_never_lower_the_delay() {
        let politeness = Politeness::default();
        let mut standing = Standing { pace: S * 10, ..Standing::default() };
        politeness.learn(&mut standing, S / 1000, false);
        assert_eq!(standing.pace, S * 10);
        politeness.learn(&mut standing, S * 3, false);
        assert_eq!(standing.pace, S * 15);
        politeness.learn(&mut standing, S / 1000, true);
        assert_eq!(standing.pace, S);
    }

    fn waits(politeness: &Politeness, trouble: Trouble, times: usize) -> Vec<u64> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut standing = Standing::default();
        let mut now = Time::from_ms(1 << 40);
        let mut waits = Vec::new();
        for _ in 0..times {
            let until = politeness.back_off(&mut standing, trouble, None, now, now, &mut rng);
            waits.push(until.since(now).as_secs());
            now = until;
        }
        waits
    }

    #[test]
    fn p2_a_back_off_doubles_with_a_tenth_of_jitter_up_to_a_day() {
        for (trouble, base) in [(Trouble::Overload, 60), (Trouble::Connection, 10), (Trouble::Robots, 300)] {
            let waits = waits(&Politeness::default(), trouble, 20);
            for (n, &wait) in waits.iter().enumerate() {
                let doubled = (base << n).min(86_400);
                assert!((doubled..=(doubled * 11 / 10).min(86_400)).contains(&wait), "{trouble:?} {waits:?}");
            }
        }
    }

    #[test]
    fn p2_thirty_quiet_minutes_forgive() {
        let politeness = Politeness::default();
        let mut rng = fastrand::Rng::with_seed(7);
        let mut standing = Standing::default();
        let mut now = Time::from_ms(1 << 40);
        for _ in 0..4 {
            now = politeness.back_off(&mut standing, Trouble::Overload, None, now, now, &mut rng);
        }
        let later = now + S * 60 * 29;
        let mut other = standing;
        assert!(
            politeness.back_off(&mut other, Trouble::Overload, None, later, later, &mut rng).since(later) > S * 900
        );
        let later = now + S * 60 * 30;
        assert!(
            politeness.back_off(&mut standing, Trouble::Overload, None, later, later, &mut rng).since(later) < S * 67
        );
    }

    #[test]
    fn n11_a_good_answer_forgives_unless_it_was_under_way_before_the_back_off() {
        let politeness = Politeness::default();
        let mut rng = fastrand::Rng::with_seed(7);
        let mut standing = Standing::default();
        let now = Time::from_ms(1 << 40);
        let until = politeness.back_off(&mut standing, Trouble::Overload, None, now, now, &mut rng);
        Politeness::forgive(&mut standing, now - S);
        assert_eq!(standing.backoff_level, 1);
        Politeness::forgive(&mut standing, until);
        assert_eq!((standing.backoff_level, standing.backoff_until), (0, until));
    }

    #[test]
    fn n17_a_url_waits_twice_as_long_with_each_attempt_up_to_an_hour() {
        let mut rng = fastrand::Rng::with_seed(7);
        for (attempts, least) in [(0, 60), (1, 120), (2, 240), (10, 3_600), (255, 3_600)] {
            let wait = Politeness::default().url_wait(Trouble::Overload, attempts, &mut rng);
            assert!((S * least..=S * least * 11 / 10).contains(&wait), "{attempts}: {wait:?}");
        }
    }

    #[test]
    fn p1_retry_after_is_honoured_up_to_a_day_and_requests_under_way_together_count_once() {
        let politeness = Politeness::default();
        let mut rng = fastrand::Rng::with_seed(7);
        let mut standing = Standing::default();
        let now = Time::from_ms(1 << 40);
        let mut back_off = |standing: &mut Standing, after| {
            politeness.back_off(standing, Trouble::Overload, after, now - S, now, &mut rng).since(now)
        };
        assert_eq!(back_off(&mut standing, Some(S * 120)), S * 120);
        assert_eq!(back_off(&mut standing, None), S * 120);
        assert_eq!(standing.backoff_level, 1);
        assert_eq!(back_off(&mut standing, Some(S * 86_400 * 3_650)), BACKOFF_MAX);
    }
}
