//! The row of a host: what was asked of it, and what was owed to it before each request, by the log alone.
//!
//! The log is translated for the judge of politeness ([`crate::politeness`]): the settings that held, how long answers
//! took, Crawl-delay and Retry-After. Owed is, after a request: `politeness.delay_min`, or `delay_factor` times its
//! duration up to `delay_max`, or the Crawl-delay up to `crawl_delay_max`, whichever is longest; and after a 429 or 5xx
//! that says so, its Retry-After, up to a day; and nothing begins outside of `politeness.hours`. All origins of the
//! name are one host here. A Crawl-delay belongs to one origin, and is owed after its requests and before them,
//! whichever origin was asked before.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::frontier::Politeness;
use crate::politeness::{self, HostJudge, Offence, Terms};
use crate::record::PolitenessNote;

/// No Retry-After is kept to for longer.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Time for which a request may begin, with several connections at once, before the crawl has taken in what has just
/// ended.
const TAKEN_IN_AFTER: Duration = Duration::from_secs(1);
/// Time for which a request may be on its way before it begins.
const DECIDED_BEFORE: Duration = Duration::from_secs(1);
/// Time by which the log may be wrong about starts that several connections make.
const JITTER: Duration = Duration::from_millis(20);
/// Gaps below are counted by the millisecond, others to one part in 512.
const EXACT_MS: u64 = 1_024;

/// A request to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// `scheme://host:port`.
    pub origin: &'a str,
    pub started: Time,
    pub took: Duration,
    pub status: i32,
    pub bytes: u64,
    pub is_robots: bool,
    pub retry_after: Option<Duration>,
}

/// The rules in the robots.txt of an origin of the host, from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Origin of the robots.txt.
    pub origin: Box<str>,
    /// Status of the answer, and the beginning of its payload's digest.
    pub version: String,
    pub crawl_delay: Option<Duration>,
}

/// The requests to a host and how it was treated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRow {
    /// Its name, without scheme and port: all its origins together.
    pub host: String,
    /// Requests made, robots.txt and retries included.
    pub requests: u64,
    /// Answers to requests for pages.
    pub pages: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Requests without an answer.
    pub errors: u64,
    /// URLs that wait.
    pub remaining: u64,
    /// The smallest time from the end of a request to the start of the next one; 0 where they overlapped.
    pub gap_min_ms: Option<u64>,
    /// The median of those.
    pub gap_median_ms: Option<u64>,
    /// The smallest such time that was owed.
    pub owed_min_ms: Option<u64>,
    /// Requests that were in progress at once.
    pub peak: u64,
    /// Status and digest of the robots.txt that was kept to last.
    pub robots: Option<String>,
    /// The longest Crawl-delay that one of its origins states, in seconds.
    pub crawl_delay: Option<f64>,
    /// Answers 429.
    pub answers_429: u64,
    /// Answers 503.
    pub answers_503: u64,
    /// Answers that asked for a pause by Retry-After.
    pub retry_after: u64,
    /// Those of `retry_after` after which a request came too early.
    pub retry_after_broken: u64,
    /// Requests that came too early, or while there were as many as may be.
    pub violations: u64,
}

/// Counts and judges one host: rules and requests in the order of their times.
pub(super) struct Tally<'a> {
    notes: Cow<'a, [PolitenessNote]>,
    row: HostRow,
    /// The delays that origins ask for.
    crawl_delays: BTreeMap<Box<str>, Duration>,
    gaps: Gaps,
    judge: HostJudge<()>,
    /// End of the last answer.
    ended: Option<Time>,
}

impl<'a> Tally<'a> {
    /// The tally of `host` by the settings that held when, the oldest first.
    pub(super) fn new(host: &str, notes: impl Into<Cow<'a, [PolitenessNote]>>) -> Self {
        Tally {
            notes: notes.into(),
            row: HostRow { host: host.to_owned(), ..HostRow::default() },
            crawl_delays: BTreeMap::new(),
            gaps: Gaps::default(),
            judge: HostJudge::default(),
            ended: None,
        }
    }

    pub(super) fn remaining(&mut self, urls: u64) {
        self.row.remaining = self.row.remaining.saturating_add(urls);
    }

    pub(super) fn rules(&mut self, rules: Rules) {
        match rules.crawl_delay {
            Some(delay) => self.crawl_delays.insert(rules.origin, delay),
            None => self.crawl_delays.remove(&rules.origin),
        };
        self.row.crawl_delay = self.crawl_delays.values().max().map(Duration::as_secs_f64);
        self.row.robots = Some(rules.version);
    }

    pub(super) fn request(&mut self, request: &Request<'_>) {
        let end = request.started + request.took;
        self.count(request);
        let pause = self.pause(request, end);
        if let Some(politeness) = at(&self.notes, request.started).cloned() {
            self.judge(request, end, pause, &politeness);
        }
        if let Some(before) = self.ended {
            self.gaps.count(request.started.since(before));
        }
        self.ended = Some(self.ended.map_or(end, |before| before.max(end)));
    }

    fn count(&mut self, request: &Request<'_>) {
        let row = &mut self.row;
        row.requests += 1;
        row.pages += u64::from(request.status > 0 && !request.is_robots);
        row.errors += u64::from(request.status < 0);
        row.bytes = row.bytes.saturating_add(request.bytes);
        row.answers_429 += u64::from(request.status == 429);
        row.answers_503 += u64::from(request.status == 503);
        row.retry_after += u64::from(request.retry_after.is_some());
    }

    /// Judges whether `request` began too early.
    fn judge(&mut self, request: &Request<'_>, end: Time, pause: Duration, politeness: &Politeness) {
        let several = politeness.connections_per_host > 1;
        let crawl_delay = self.crawl_delays.get(request.origin).copied();
        // with one connection: what the origin itself asks for, whichever was asked before; the rest is the pause
        // before
        let is_led = several || (crawl_delay.is_some() && !request.is_robots);
        let lead = if is_led { politeness.delay(Duration::ZERO, crawl_delay) } else { Duration::ZERO };
        let terms = Terms {
            connections: politeness.connections_per_host,
            start_slack: JITTER,
            taken_in_after: if several { TAKEN_IN_AFTER } else { Duration::ZERO },
            ..Terms::default()
        };
        let made = politeness::Request {
            started: Duration::from_millis(request.started.ms()),
            ended: Duration::from_millis(end.ms()),
            pause,
            lead,
            rest: request.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX),
            // it may have been decided just before the end of a window
            closed: politeness.closed(request.started).min(politeness.closed(request.started - DECIDED_BEFORE)),
        };
        let (mut offends, mut breaks) = (false, false);
        let at_once = self.judge.request(&made, (), &terms, |offence| {
            offends = true;
            breaks |= matches!(offence, Offence::RestCutShort { again: false, .. });
        });
        self.row.peak = self.row.peak.max(at_once as u64);
        self.row.retry_after_broken += u64::from(breaks);
        self.row.violations += u64::from(offends);
    }

    /// Returns the pause that is owed after `request`, from `end` on.
    fn pause(&mut self, request: &Request<'_>, end: Time) -> Duration {
        let crawl_delay = self.crawl_delays.get(request.origin).copied();
        let delay = |politeness: &Politeness| politeness.delay(politeness.pace(request.took), crawl_delay);
        // settings may change while a request is in progress
        let owed = [request.started, end].into_iter().filter_map(|time| at(&self.notes, time)).map(delay).min();
        let owed = owed.unwrap_or_default();
        let ms = u64::try_from(owed.as_millis()).unwrap_or(u64::MAX);
        self.row.owed_min_ms = Some(self.row.owed_min_ms.map_or(ms, |least| least.min(ms)));
        owed
    }

    /// The row.
    pub(super) fn finish(mut self) -> HostRow {
        self.row.gap_min_ms = self.gaps.least;
        self.row.gap_median_ms = self.gaps.median();
        self.row
    }
}

/// The settings that held at `time`.
fn at(notes: &[PolitenessNote], time: Time) -> Option<&Politeness> {
    let after = notes.partition_point(|note| note.since <= time);
    // what is older than the first note was made by the settings in it, as far as anybody knows
    notes.get(after.saturating_sub(1)).map(|note| &note.politeness)
}

/// Gaps by their length, in bounded memory whatever their number.
#[derive(Default)]
struct Gaps {
    counts: Vec<u64>,
    total: u64,
    least: Option<u64>,
}

impl Gaps {
    fn count(&mut self, gap: Duration) {
        let ms = u64::try_from(gap.as_millis()).unwrap_or(u64::MAX);
        let place = Gaps::place(ms);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.total += 1;
        self.least = Some(self.least.map_or(ms, |least| least.min(ms)));
    }

    /// The lower one of the two in the middle; never below the smallest one.
    fn median(&self) -> Option<u64> {
        let mut left = self.total.checked_sub(1)? / 2;
        for (place, &count) in self.counts.iter().enumerate() {
            if left < count {
                return Some(Gaps::lower_bound(place).max(self.least?));
            }
            left -= count;
        }
        None
    }

    fn place(ms: u64) -> usize {
        let shift = u64::from(ms.max(1).ilog2()).saturating_sub(9);
        // below 1,024 the shift is 0; above, 512 places for each power of two
        let place = if ms < EXACT_MS { ms } else { EXACT_MS / 2 * shift + (ms >> shift) };
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    fn lower_bound(place: usize) -> u64 {
        let place = place as u64;
        if place < EXACT_MS {
            return place;
        }
        let shift = place / (EXACT_MS / 2) - 1;
        (place - EXACT_MS / 2 * shift) << shift
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
