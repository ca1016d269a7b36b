//! The last 60 minutes of a crawl: points of five seconds each, in a ring of fixed size.
//!
//! It is fed with the counters of a crawl each second. A point has rates over its step and the gauges at its end. It
//! lives in memory and ends with the process.

use std::collections::VecDeque;

use serde::Serialize;

use crate::clock::Time;
use crate::record::{Live, Snapshot, Statistics};

/// Length of a step.
pub(super) const STEP_MS: u64 = 5_000;
/// Points that are kept: one hour.
const POINTS: usize = 720;
/// Length of a silence after which the next point begins at its end: its rates would be of another time.
const SILENCE_MS: u64 = 4 * STEP_MS;

/// A crawl over the time of one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The end of the step.
    pub at: Time,
    /// Pages stored in a second.
    pub pages_s: f64,
    /// Requests in a second.
    pub requests_s: f64,
    /// Bytes received in a second.
    pub bytes_s: f64,
    /// Answers in a second.
    pub classes: Classes,
    /// Hosts that may be asked.
    pub ready: u64,
    /// Hosts that wait.
    pub waiting: u64,
    /// Requests in flight.
    pub in_flight: u64,
}

/// Answers by class of their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Classes {
    /// Rate of answers with a status of 200 to 299.
    #[serde(rename = "2xx")]
    pub success: f64,
    /// 300 to 399.
    #[serde(rename = "3xx")]
    pub redirect: f64,
    /// 400 to 499.
    #[serde(rename = "4xx")]
    pub client_error: f64,
    /// 500 to 599.
    #[serde(rename = "5xx")]
    pub server_error: f64,
    /// Attempts without an answer.
    pub error: f64,
}

/// The ring.
#[derive(Debug)]
pub(super) struct History {
    points: VecDeque<Point>,
    /// Begin of the current step: its time, and the counters then.
    begun: Option<(Time, Counters)>,
    heard: Time,
}

/// Counters of which rates are shown: pages, requests, bytes, answers by class, attempts without one.
type Counters = [u64; 8];

impl Default for History {
    fn default() -> Self {
        History { points: VecDeque::with_capacity(POINTS), begun: None, heard: Time::ZERO }
    }
}

impl History {
    /// Takes the figures of a crawl that runs down; says whether that made a point.
    pub(crate) fn take(&mut self, now: Time, live: &Live) -> bool {
        let Snapshot { statistics, gauges, .. } = &live.figures;
        let counters = counters(statistics);
        let is_silent = now.since(self.heard).as_millis() as u64 > SILENCE_MS;
        self.heard = now;
        // also after a clock that was set back
        let begun = self.begun.filter(|(begun, _)| !is_silent && *begun <= now);
        let Some((begun, before)) = begun else {
            self.begun = Some((now, counters));
            return false;
        };
        let elapsed = now.since(begun);
        if elapsed.as_millis() < u128::from(STEP_MS) {
            return false;
        }
        // counters of another crawl in the same directory may be smaller
        let rate = |n: usize| counters[n].saturating_sub(before[n]) as f64 / elapsed.as_secs_f64();
        let point = Point {
            at: now,
            pages_s: rate(0),
            requests_s: rate(1),
            bytes_s: rate(2),
            classes: Classes {
                success: rate(3),
                redirect: rate(4),
                client_error: rate(5),
                server_error: rate(6),
                error: rate(7),
            },
            ready: gauges.hosts_ready,
            waiting: gauges.hosts_waiting,
            in_flight: gauges.in_flight,
        };
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(point);
        self.begun = Some((now, counters));
        true
    }

    /// The crawl does not run: what comes next is not measured against what was.
    pub(crate) fn pause(&mut self) {
        self.begun = None;
    }

    /// All points, the oldest first.
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }

    /// The newest point.
    pub(crate) fn newest(&self) -> Option<&Point> {
        self.points.back()
    }
}

fn counters(statistics: &Statistics) -> Counters {
    let [_, success, redirect, client, server] = statistics.status_classes();
    let failures = statistics.failures_total();
    let Statistics { pages_stored, requests, bytes_received, .. } = *statistics;
    [pages_stored, requests, bytes_received, success, redirect, client, server, failures]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Doing, Histogram, Rates, State};

    fn live(requests: u64, status: u16) -> Live {
        let mut statistics = Statistics { requests, pages_stored: requests / 2, ..Statistics::default() };
        (0..requests).for_each(|_| statistics.count_status(status));
        Live {
            phase: Doing::Crawling,
            pid: 1,
            checkpoint: 0,
            checkpointed: None,
            rates: Rates::default(),
            memory_ceiling_bytes: 0,
            durations: Histogram::default(),
            figures: Snapshot {
                version: Snapshot::VERSION,
                state: State::Running,
                finish: None,
                started: Time::ZERO,
                updated: Time::ZERO,
                statistics,
                gauges: crate::record::Gauges { in_flight: 7, ..Default::default() },
                stores: Default::default(),
                layers: Default::default(),
            },
            shards: Vec::new(),
        }
    }

    fn at(second: u64) -> Time {
        Time::from_ms(1_000_000 + second * 1_000)
    }

    #[test]
    fn a_point_has_the_rates_of_its_step_and_the_gauges_of_its_end() {
        let mut history = History::default();
        for second in 0..=10 {
            assert_eq!(history.take(at(second), &live(second * 4, 404)), second > 0 && second % 5 == 0, "{second}");
        }
        let points: Vec<_> = history.points().cloned().collect();
        assert_eq!(points.len(), 2);
        let point = history.newest().unwrap();
        assert_eq!((point.at, point.requests_s, point.pages_s, point.in_flight), (at(10), 4.0, 2.0, 7));
        assert_eq!(point.classes, Classes { client_error: 4.0, ..Classes::default() });
        let json = serde_json::to_value(point).unwrap();
        assert_eq!((json["at"].as_u64(), json["classes"]["4xx"].as_f64()), (Some(1_010_000), Some(4.0)));
    }

    #[test]
    fn an_hour_is_kept_and_no_more_memory_taken_than_at_the_start() {
        let mut history = History::default();
        let capacity = history.points.capacity();
        for second in 0..9_000 {
            history.take(at(second), &live(second % 50, 200));
        }
        assert_eq!((history.points.len(), history.points.capacity()), (POINTS, capacity));
        let first = history.points().next().unwrap();
        assert_eq!(history.newest().unwrap().at.since(first.at).as_secs(), 3_595);
    }

    #[test]
    fn what_was_before_a_silence_a_pause_or_a_clock_that_was_set_is_in_no_rate() {
        let mut history = History::default();
        history.take(at(100), &live(0, 200));
        assert!(!history.take(at(500), &live(4_000, 200)), "a silence");
        history.pause();
        assert!(!history.take(at(505), &live(8_000, 200)));
        assert!(!history.take(at(300), &live(8_010, 200)), "set back");
        assert!(history.take(at(305), &live(8_020, 200)));
        assert_eq!(history.newest().unwrap().requests_s, 2.0);
    }
}
