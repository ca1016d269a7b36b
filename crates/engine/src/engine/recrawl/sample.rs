//! A sample of the pages in the calendar: what is said of all of them without reading any.
//!
//! A page is in it if its mixed key is below a bound, which is halved whenever the sample is full; so it has an even
//! choice of the pages, whatever their intervals are, and a page that is met twice is in it once. A few hundred pages
//! tell a share to two or three in a hundred.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::calendar::{History, Past, Schedule};
use crate::clock::Time;
use crate::fingerprint::Fingerprint;
use crate::fingerprint::mix;

/// Pages at most; half of them at least once there have been this many.
const PAGES_MAX: usize = 512;
/// Time for which figures are reported again before they are computed again.
const FIGURES_AGE_MAX: Duration = Duration::from_secs(10);

/// Figures of the pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SampleFigures {
    /// Mean time since the last visit that had an answer.
    pub mean_age: Duration,
    /// The part of them that are probably still as that visit found them.
    pub freshness: f64,
}

/// A page of the sample.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Page {
    host: Fingerprint,
    fetched: Time,
    history: [f32; 4],
}

/// The sample.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sample {
    /// Number of times that the bound was halved.
    halved: u32,
    pages: BTreeMap<u64, Page>,
    #[serde(skip)]
    told: Option<(Time, SampleFigures)>,
}

impl Sample {
    /// The page of `key` was looked at, and is in the calendar with this.
    pub(crate) fn note(&mut self, key: Fingerprint, host: Fingerprint, past: &Past) {
        let place = mixed(key);
        if place > self.bound() {
            return;
        }
        let History { visits, changes, days, changed_days } = past.history;
        let page = Page { host, fetched: past.fetched, history: [visits, changes, days, changed_days] };
        self.pages.insert(place, page);
        while self.pages.len() > PAGES_MAX {
            self.halved += 1;
            drop(self.pages.split_off(&(self.bound() + 1)));
        }
    }

    /// The page of `key` is in the calendar no more.
    pub(crate) fn forget(&mut self, key: Fingerprint) {
        self.pages.remove(&mixed(key));
    }

    /// Returns the figures at `now`; `None` if there is no page.
    pub(crate) fn figures(&mut self, schedule: &Schedule, now: Time) -> Option<SampleFigures> {
        if let Some((at, told)) = self.told
            && at <= now
            && now.since(at) < FIGURES_AGE_MAX
            && !self.pages.is_empty()
        {
            return Some(told);
        }
        let count = u32::try_from(self.pages.len()).ok().filter(|&count| count > 0)?;
        let (mut age, mut fresh) = (Duration::ZERO, 0.0);
        for page in self.pages.values() {
            let [visits, changes, days, changed_days] = page.history;
            let history = History { visits, changes, days, changed_days };
            age += now.since(page.fetched);
            fresh += schedule.freshness(page.host, &Past::of_visited(page.fetched, Time::ZERO, history), now);
        }
        let told = SampleFigures { mean_age: age / count, freshness: fresh / f64::from(count) };
        self.told = Some((now, told));
        Some(told)
    }

    /// True if its figures are numbers, and in their limits.
    pub(crate) fn is_sound(&self) -> bool {
        let is_number = |page: &Page| page.history.iter().all(|figure| figure.is_finite() && figure.is_sign_positive());
        self.halved < u64::BITS && self.pages.len() <= PAGES_MAX && self.pages.values().all(is_number)
    }

    fn bound(&self) -> u64 {
        u64::MAX >> self.halved
    }
}

/// The bits of a key, mixed (the finaliser of SplitMix64): those of keys that are alike differ everywhere.
fn mixed(key: Fingerprint) -> u64 {
    mix(key.bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::{Bounds, Mode, ScheduleOptions};
    use crate::fingerprint::Fingerprinter;

    fn schedule() -> Schedule {
        let bounds = Bounds { min: Duration::from_secs(60), max: Duration::from_secs(86_400 * 30) };
        let mode = Mode::Fixed { interval: Duration::from_secs(3_600) };
        Schedule::new(ScheduleOptions { mode, bounds, maps: bounds, rules: Vec::new() }, &[])
    }

    #[test]
    fn a_few_pages_tell_of_all_and_each_is_met_once() {
        let prints = Fingerprinter::random(7);
        let mut sample = Sample::default();
        let start = Time::from_ms(1_700_000_000_000);
        let minute = Duration::from_secs(60);
        let (mut random, pages) = (fastrand::Rng::with_seed(11), 20_000_u32);
        let mut fetched = vec![start; pages as usize];
        for n in (0..pages).chain((0..3 * pages).map(|_| random.u32(..pages))) {
            // the first thousand are looked at ten times as often, and last
            let at = start + minute * if n < 1_000 { 10_000 } else { n % 5_000 };
            fetched[n as usize] = at;
            let key = prints.of(format!("https://a.example/{n}").as_bytes());
            sample.note(key, prints.of(b"a.example"), &Past::of_visited(at, Time::ZERO, History::default()));
        }
        assert!((PAGES_MAX / 3..=PAGES_MAX).contains(&sample.pages.len()), "{}", sample.pages.len());
        let now = start + minute * 20_000;
        let told = sample.figures(&schedule(), now).unwrap();
        let age: f64 = fetched.iter().map(|&at| now.since(at).as_secs_f64()).sum::<f64>() / f64::from(pages);
        let part = told.mean_age.as_secs_f64() / age;
        assert!((0.97..1.03).contains(&part), "{part}");
        assert!((0.0..1.0).contains(&told.freshness), "{told:?}");
        let bytes = postcard::to_stdvec(&sample).unwrap();
        let mut read: Sample = postcard::from_bytes(&bytes).unwrap();
        assert!(read.is_sound() && read.figures(&schedule(), now) == Some(told));
        (0..pages).for_each(|n| sample.forget(prints.of(format!("https://a.example/{n}").as_bytes())));
        assert_eq!(sample.figures(&schedule(), now), None);
    }

    #[test]
    fn pages_that_were_never_found_changed_grow_stale_with_time() {
        let prints = Fingerprinter::random(7);
        let (mut sample, start) = (Sample::default(), Time::from_ms(1_700_000_000_000));
        let history = History { visits: 5.0, changes: 1.0, days: 20.0, changed_days: 4.0 };
        sample.note(prints.of(b"k"), prints.of(b"h"), &Past::of_visited(start, Time::ZERO, history));
        let at = |days: u32| start + Duration::from_secs(86_400) * days;
        let [fresh, later, stale] = [0, 3, 300].map(|days| sample.figures(&schedule(), at(days)).unwrap().freshness);
        assert!(fresh > 0.999 && later < fresh && stale < later / 2.0, "{fresh} {later} {stale}");
    }
}
