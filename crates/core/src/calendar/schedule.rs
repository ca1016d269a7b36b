//! The schedule: the times at which a page is visited again, by what its visits found.
//!
//! Pure: it knows neither disk nor clock, and the same visits in the same order plan the same. It promises:
//!
//! - A page that was compared three times or more gets the interval at which one more visit wins `gain` of fresh time,
//!   by its estimated rate of change (`rate.rs`); before that half or twice the time since the visit before, and after
//!   the first visit what fits pages of its host (`priors.rs`).
//! - Intervals are between the bounds of the page's rule, or of sitemaps and feeds for such, both times the stretch
//!   (`stretch.rs`), and up to [`JITTER`] longer or shorter, by the page's fingerprint.
//! - A page that changes faster than visits can follow is not given up, as the optimal allocation has it: it is where
//!   new links are found. It is visited each [`HOPELESS`] x `gain`.
//! - An answer that says nothing of the page changes nothing: it is visited again soon.
//! - A page is gone when [`GONE_VISITS`] visits or more over [`GONE_AFTER`] found none; a visit within [`GONE_APART`]
//!   of another does not count.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::past::{Gone, History, Past};
use super::priors::Priors;
use super::rate::{Classes, Posterior};
use super::stretch::Stretch;
use crate::clock::Time;
use crate::fingerprint::Fingerprint;
use crate::fingerprint::mix;
use crate::web::site::SiteMatch;

/// Intervals are up to this part longer or shorter.
pub const JITTER: f64 = 0.05;
/// Multiple of what a visit has to win after which a page is visited whose changes cannot be followed.
pub(crate) const HOPELESS: f64 = 48.0;
/// Visits in a row that have to find no page.
pub(crate) const GONE_VISITS: u8 = 3;
/// The least time from the first to the last of them.
pub(crate) const GONE_AFTER: Duration = DAY.saturating_mul(7);
/// The least time from one to the next.
pub(crate) const GONE_APART: Duration = HOUR;

/// Visits that have to compare a page before its rate is estimated.
const VISITS_MIN: f32 = 3.0;
/// Factor by which the weight of a visit falls with each later one: it halves in 34 visits.
const KEPT: f32 = 0.98;
/// Probability that a page is unchanged, below which its change counts for less.
const SURE: f64 = 0.05;
/// The longest time without a change for which a date of Last-Modified is believed.
const UNCHANGED_MAX: Duration = DAY.saturating_mul(7);

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// The result of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The page for the first time: there is nothing to compare it with. And its Last-Modified, where it has one.
    New {
        /// Time at which it changed the last time, by the server's word.
        modified: Option<Time>,
    },
    /// The page as it was before; a 304 too.
    Same,
    /// Another page than before. And its Last-Modified, where it has one: believed where it is between two visits.
    Changed {
        /// Time at which it changed the last time, by the server's word.
        modified: Option<Time>,
    },
    /// No page (404, 410).
    Gone,
    /// Nothing about the page: an error of the network or the server, or a host that is held.
    NoAnswer,
}

/// The kind of a page: each kind has its own bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// A page like others.
    Page,
    /// A sitemap or a feed: it names other pages.
    Map,
}

/// A visit that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The URL, for the rules.
    pub url: &'a str,
    /// Fingerprint of its key form.
    pub key: Fingerprint,
    /// Fingerprint of its host.
    pub host: Fingerprint,
    /// Kind of the page.
    pub kind: PageKind,
    /// Time at which the request started.
    pub at: Time,
    /// Result of the visit.
    pub found: Found,
}

/// The consequence of a visit: the next one, and what is known by then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Time at which the page is due, in whole seconds.
    pub due: Time,
    /// Its visits and changes, this one included.
    pub history: History,
    /// Time at which it was found changed the last time.
    pub changed: Time,
    /// Visits in a row that found no page, if it is not there.
    pub gone: Option<Gone>,
}

/// The way in which the interval of a page is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Never: it is fetched once.
    Off,
    /// An interval by how often it changes: one more visit has to win this much fresh time.
    Adaptive {
        /// A longer one saves requests.
        gain: Duration,
    },
    /// Always the same.
    Fixed {
        /// This one.
        interval: Duration,
    },
}

/// The shortest and the longest interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

/// A rule for pages whose URL matches.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name by which reports call it.
    pub name: String,
    /// Patterns of the URLs for which it holds.
    pub include: Vec<SiteMatch>,
    /// The way in which their intervals are found.
    pub mode: Mode,
    /// Bounds of their intervals.
    pub bounds: Bounds,
}

impl Rule {
    /// Returns whether `url` is one of its URLs.
    pub fn holds_for(&self, url: &str) -> bool {
        self.include.iter().any(|matched| matched.holds_for(url))
    }
}

/// Settings of a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleOptions {
    /// The way in which intervals are found.
    pub mode: Mode,
    /// Bounds of pages.
    pub bounds: Bounds,
    /// Bounds of sitemaps and feeds.
    pub maps: Bounds,
    /// Rules of pages, of which the first that matches holds; sitemaps and feeds follow none.
    pub rules: Vec<Rule>,
}

impl ScheduleOptions {
    /// The longest interval that they permit.
    fn longest(&self) -> Duration {
        let rules = self.rules.iter().map(|rule| (rule.mode, rule.bounds));
        let all = rules.chain([(self.mode, self.bounds), (self.mode, self.maps)]);
        let longest = all.map(|(mode, bounds)| match mode {
            Mode::Off => Duration::ZERO,
            Mode::Adaptive { .. } => bounds.max,
            Mode::Fixed { interval } => interval.max(bounds.min),
        });
        longest.max().unwrap_or_default().max(GONE_AFTER).mul_f64(1.0 + JITTER)
    }
}

/// An estimate of a page's rate of change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Changes a day: the median, so that as much is believed of faster rates as of slower ones.
    pub per_day: f64,
    /// Factor by which it may be wrong, upwards and downwards: a standard deviation.
    pub factor: f64,
}

/// The state of a schedule in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Saved {
    priors: Priors,
    stretch: Stretch,
}

/// The schedule: bounded memory, whatever the number of pages.
#[derive(Debug)]
pub struct Schedule {
    options: ScheduleOptions,
    classes: Classes,
    priors: Priors,
    stretch: Stretch,
    /// The longest wait that it has planned.
    longest: Duration,
}

impl Schedule {
    /// A schedule that knows what it had learnt when [`cut`](Self::cut) wrote `saved`; nothing where that is empty, or
    /// of another version: it learns it again.
    pub fn new(options: ScheduleOptions, saved: &[u8]) -> Schedule {
        let read = postcard::take_from_bytes::<Saved>(saved).ok();
        // what was saved before there was one has none
        let calm = read.as_ref().and_then(|(_, rest)| postcard::take_from_bytes::<f64>(rest).ok());
        let (calm, rest) = calm.unwrap_or((0.0, &[]));
        let longest = postcard::from_bytes(rest).map(Duration::from_millis);
        let Saved { priors, stretch } = read
            .map(|(saved, _)| saved)
            .filter(|saved| saved.priors.is_sound() && saved.stretch.is_sound())
            .unwrap_or_else(|| Saved { priors: Priors::new(), stretch: Stretch::new() });
        let stretch = stretch.with_calm(calm);
        let longest = longest.unwrap_or_else(|_| options.longest().mul_f64(stretch.factor()));
        Schedule { options, classes: Classes::new(), priors, stretch, longest }
    }

    /// Plans the next visit of a page after `visit`, `past` being what is known from those before it. `None`: it is not
    /// visited again, because it is gone for good or its rule says so.
    pub fn plan(&mut self, visit: &Visit<'_>, past: Option<&Past>) -> Option<Plan> {
        let (mode, bounds) = self.rule_of(visit.url, visit.kind);
        if mode == Mode::Off {
            return None;
        }
        let plan = Plan {
            due: visit.at,
            history: past.map(|past| past.history).unwrap_or_default(),
            changed: past.map_or(visit.at, |past| past.changed),
            gone: past.and_then(|past| past.gone),
        };
        match (visit.found, past) {
            (Found::NoAnswer, _) => {
                let due = self.due(visit, retry_after(visit.at, past));
                Some(Plan { due, ..plan })
            }
            (Found::Gone, _) => {
                let gone = note_gone(visit.at, past);
                let wait = wait_for_gone(visit.at, gone)?;
                Some(Plan { due: self.due(visit, wait), gone: Some(gone), ..plan })
            }
            (found, None) | (found @ Found::New { .. }, Some(_)) => Some(self.first(visit, found, mode, bounds)),
            (found, Some(past)) => Some(self.compared(visit, found, past, mode, bounds)),
        }
    }

    /// A visit that was due at `due` started: the lag decides on the stretch.
    pub fn note_start(&mut self, due: Time, started: Time) {
        self.stretch.note_start(due, started);
    }

    /// Returns the factor by which intervals are longer, because more is due than can be visited.
    pub fn stretch(&self) -> f64 {
        self.stretch.factor()
    }

    /// Returns the time by which the last visits started later than they were due, on average.
    pub fn lag(&self) -> Duration {
        self.stretch.lag()
    }

    /// Appends to `out` what [`new`](Self::new) reads: at most some 120 KB.
    pub fn cut(&self, out: &mut Vec<u8>) {
        let saved = Saved { priors: self.priors.clone(), stretch: self.stretch };
        let longest_ms = u64::try_from(self.longest.as_millis()).unwrap_or(u64::MAX);
        out.extend(postcard::to_stdvec(&(saved, self.stretch.calm(), longest_ms)).expect("moments are plain data"));
    }

    /// The longest wait that it has planned in this crawl: nothing is due later than that from now on.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// Returns whether pages of this URL are visited more than once.
    pub fn visits(&self, url: &str, kind: PageKind) -> bool {
        self.rule_of(url, kind).0 != Mode::Off
    }

    /// Estimates how often a page of `host` changes, from its visits.
    pub fn estimate(&self, host: Fingerprint, history: &History) -> Estimate {
        let posterior = self.classes.posterior(self.priors.of(host), history);
        Estimate { per_day: posterior.ln_mean.exp(), factor: posterior.ln_variance.sqrt().exp() }
    }

    /// Returns whether enough visits compared a page for its interval to follow its estimated rate.
    pub fn is_estimated(history: &History) -> bool {
        history.visits > VISITS_MIN * KEPT.powi(3)
    }

    /// The probability that a page of `host` is still what its last visit found.
    pub fn freshness(&self, host: Fingerprint, past: &Past, now: Time) -> f64 {
        self.classes.posterior(self.priors.of(host), &past.history).unchanged(days(now.since(past.fetched)))
    }

    /// The first visit of a page, or one that has nothing to compare with.
    fn first(&mut self, visit: &Visit<'_>, found: Found, mode: Mode, bounds: Bounds) -> Plan {
        let mut history = History::default();
        if let Found::New { modified: Some(modified) } = found {
            // it said nothing of its content before; that it was left alone since is worth half a visit
            history.days = days(visit.at.since(modified).min(UNCHANGED_MAX)) as f32 / 2.0;
        }
        let interval = match mode {
            Mode::Fixed { interval } => self.fixed(interval),
            Mode::Adaptive { gain } => {
                let posterior = self.classes.posterior(self.priors.of(visit.host), &history);
                self.best(&posterior, gain, bounds)
            }
            Mode::Off => bounds.max,
        };
        Plan { due: self.planned(visit, interval), history, changed: visit.at, gone: None }
    }

    /// A visit that compared the page with what it was before.
    fn compared(&mut self, visit: &Visit<'_>, found: Found, past: &Past, mode: Mode, bounds: Bounds) -> Plan {
        let passed = visit.at.since(past.fetched);
        let is_changed = found != Found::Same;
        let prior = self.priors.of(visit.host);
        let expected = self.classes.posterior(prior, &past.history).unchanged(days(passed));
        // that a page changed which always changes in so long a time says little, and would hide in the mean what
        // said that came sooner
        let weight = if is_changed { (expected / SURE).min(1.0) as f32 } else { 1.0 };
        let history = counted(past, visit.at, found, weight);
        let posterior = self.classes.posterior(prior, &history);
        self.priors.learn(visit.host, &posterior, days(passed));
        let interval = match mode {
            Mode::Fixed { interval } => self.fixed(interval),
            Mode::Adaptive { gain } if Schedule::is_estimated(&history) => self.best(&posterior, gain, bounds),
            _ if is_changed => self.clamped(passed / 2, bounds),
            _ => self.clamped(passed * 2, bounds),
        };
        let changed = if is_changed { visit.at } else { past.changed };
        Plan { due: self.planned(visit, interval), history, changed, gone: None }
    }

    /// Returns the mode and the bounds that hold for pages of this URL.
    pub fn rule_of(&self, url: &str, kind: PageKind) -> (Mode, Bounds) {
        let options = &self.options;
        match kind {
            PageKind::Map => {
                let Bounds { min, max } = options.maps;
                let mode = match options.mode {
                    Mode::Fixed { interval } => Mode::Fixed { interval: interval.clamp(min, max) },
                    mode => mode,
                };
                (mode, options.maps)
            }
            PageKind::Page => {
                let rule = options.rules.iter().find(|rule| rule.holds_for(url));
                rule.map_or((options.mode, options.bounds), |rule| (rule.mode, rule.bounds))
            }
        }
    }

    /// The interval at which a visit wins `gain`, for a page of which so much is known.
    fn best(&self, posterior: &Posterior, gain: Duration, bounds: Bounds) -> Duration {
        let stretch = self.stretch.factor();
        // slow pages are due after the root of what a visit has to win: all intervals are longer by the stretch
        let gain = days(gain) * stretch.powi(2);
        let (min, max) = (days(bounds.min) * stretch, days(bounds.max) * stretch);
        let interval = posterior.interval(gain, min, max);
        let hopeless = (HOPELESS * gain).max(min);
        // the best interval is far behind its changes, of which there is more than one in `gain`
        let is_hopeless = interval > hopeless / 2.0 && posterior.ln_mean + gain.ln() > 0.0;
        let interval = if is_hopeless { hopeless.min(max) } else { interval };
        Duration::from_secs_f64(interval * DAY.as_secs_f64())
    }

    fn fixed(&self, interval: Duration) -> Duration {
        interval.mul_f64(self.stretch.factor())
    }

    fn clamped(&self, interval: Duration, bounds: Bounds) -> Duration {
        let stretch = self.stretch.factor();
        interval.clamp(bounds.min.mul_f64(stretch), bounds.max.mul_f64(stretch))
    }

    /// Returns the time at which a visit after `interval` is due, and notes the interval, by which the stretch is
    /// controlled.
    fn planned(&mut self, visit: &Visit<'_>, interval: Duration) -> Time {
        self.stretch.note_interval(interval);
        self.due(visit, interval)
    }

    /// Pages that are fetched one after the other are not due at once, whatever their intervals are.
    fn due(&mut self, visit: &Visit<'_>, wait: Duration) -> Time {
        let part = spread(visit.key.bits() ^ visit.at.ms()) * 2.0 - 1.0;
        let due = visit.at + wait.mul_f64(1.0 + JITTER * part);
        let due = Time::from_ms(due.ms().div_ceil(1_000) * 1_000);
        self.longest = self.longest.max(due.since(visit.at));
        due
    }
}

/// The history with one more visit at `at`, which counts for `weight`.
fn counted(past: &Past, at: Time, found: Found, weight: f32) -> History {
    let old = past.history;
    let passed = days(at.since(past.fetched)) as f32;
    let mut changed_in = 0.0;
    if let Found::Changed { modified } = found {
        // it has been as it is now since then, where the server does not give the time of the request
        let modified = modified.filter(|&time| time > past.fetched && time + Duration::from_secs(60) < at);
        changed_in = days(modified.unwrap_or(at).since(past.fetched)) as f32;
    }
    let changed = if found == Found::Same { 0.0 } else { 1.0 };
    let kept = 1.0 - weight * (1.0 - KEPT);
    History {
        // the visit was made, whatever it says
        visits: (old.visits + 1.0) * KEPT,
        changes: (old.changes + weight * changed) * kept,
        days: (old.days + weight * passed) * kept,
        changed_days: (old.changed_days + weight * changed_in) * kept,
    }
}

/// Returns the time to wait after a visit that brought no answer: a part of the time since the last that did.
fn retry_after(at: Time, past: Option<&Past>) -> Duration {
    past.map_or(DAY, |past| (at.since(past.fetched) / 8).clamp(HOUR, DAY))
}

/// The visits that found no page, with that at `at`.
fn note_gone(at: Time, past: Option<&Past>) -> Gone {
    match past.and_then(|past| past.gone.map(|gone| (gone, past.fetched))) {
        None => Gone { visits: 1, since: at },
        Some((gone, last)) if at.since(last) < GONE_APART => gone,
        Some((gone, _)) => Gone { visits: gone.visits.saturating_add(1), ..gone },
    }
}

/// Returns the time to wait until it is looked at again; `None` where it is gone for good.
fn wait_for_gone(at: Time, gone: Gone) -> Option<Duration> {
    let passed = at.since(gone.since);
    if gone.visits >= GONE_VISITS && passed >= GONE_AFTER {
        return None;
    }
    // two days after the first, then when the week is over for sure, jitter included
    let next = if gone.visits < 2 { DAY * 2 } else { GONE_AFTER.saturating_sub(passed).mul_f64(1.0 / (1.0 - JITTER)) };
    Some(next.max(GONE_APART * 2))
}

fn days(duration: Duration) -> f64 {
    duration.as_secs_f64() / DAY.as_secs_f64()
}

/// A number from 0 to 1 that all bits decide on (the finaliser of SplitMix64).
fn spread(bits: u64) -> f64 {
    (mix(bits) >> 11) as f64 / (1_u64 << 53) as f64
}
