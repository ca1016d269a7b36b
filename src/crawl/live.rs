//! What is told of a crawl while it runs: the display, the warnings, the metrics, and answers to `crawler status`.
//!
//! The engine's thread looks at itself here a few times a second, between two events. Anyone who asks gets the same
//! figures, made by the same hands (`Sampler::live`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::machine::Lookout;
use super::metrics::Endpoint;
use super::threads::cores;
use super::warnings::Warnings;
use crate::clock::Time;
use crate::engine::{Engine, SlotPool};
use crate::record::{Live, Rates, Statistics};
use crate::report::Progress;

/// The display is looked after this often.
pub(super) const DISPLAY: Duration = Duration::from_millis(250);
/// Rates are taken, and the metrics put down, this often.
const EVERY: Duration = Duration::from_secs(1);
/// Time that a rate covers.
const WINDOW: Duration = Duration::from_secs(10);

/// What looks at one engine while it runs.
pub(super) struct Observer {
    pub sampler: Sampler,
    warnings: Warnings,
    /// What the number of workers is found by, beside what the engines do.
    slots: Arc<SlotPool>,
    lookout: Lookout,
    due: Time,
}

impl Observer {
    /// That of a crawl that takes no more memory than `ceiling`, and makes its requests in `slots`.
    pub fn new(ceiling: u64, slots: Arc<SlotPool>) -> Observer {
        let (sampler, warnings) = (Sampler::new(ceiling), Warnings::default());
        Observer { sampler, warnings, slots, lookout: Lookout::new(cores()), due: Time::ZERO }
    }

    /// Looks at the crawl, if it is time to, and passes on what it sees.
    pub fn look(&mut self, engine: &mut Engine, now: Time, display: &mut Progress, endpoint: &mut Endpoint) {
        if now < self.due {
            return;
        }
        self.due = now + DISPLAY;
        let (statistics, gauges) = (engine.statistics(), engine.gauges());
        display.tick(&statistics, &gauges, engine.doing(), engine.elapsed(now));
        self.warnings.look(now, gauges.disk_free_bytes, engine.disk_floor());
        self.warnings.look_at_rests(gauges.resting.as_ref());
        if self.sampler.sample(&statistics, now) {
            if gauges.workers.is_some() {
                self.slots.press(self.lookout.look());
            }
            if endpoint.is_open() {
                endpoint.put(self.sampler.live(engine));
            }
        }
    }
}

/// What makes figures of a moment of those that the engine has: the seconds before it, and the memory ceiling.
pub(super) struct Sampler {
    ceiling: u64,
    due: Time,
    samples: VecDeque<(Time, [u64; 3])>,
}

impl Sampler {
    /// Of a crawl that takes no more memory than `ceiling`.
    pub fn new(ceiling: u64) -> Sampler {
        Sampler { ceiling, due: Time::ZERO, samples: VecDeque::new() }
    }

    /// Takes the counters down, if it is time to, and says whether it was.
    fn sample(&mut self, statistics: &Statistics, now: Time) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now + EVERY;
        while self.samples.len() > 1 && now.since(self.samples[1].0) >= WINDOW {
            self.samples.pop_front();
        }
        self.samples.push_back((now, counts(statistics)));
        true
    }

    fn rates(&self, statistics: &Statistics, now: Time) -> Rates {
        let present = counts(statistics);
        let &(since, before) = self.samples.front().unwrap_or(&(now, present));
        let seconds = now.since(since).as_secs_f64();
        let rate = |n: usize| if seconds > 0.0 { present[n].saturating_sub(before[n]) as f64 / seconds } else { 0.0 };
        Rates { pages: rate(0), requests: rate(1), bytes: rate(2) }
    }

    /// How the crawl stands at this moment.
    pub fn live(&self, engine: &mut Engine) -> Live {
        let mut live = engine.live();
        live.rates = self.rates(&live.figures.statistics, live.figures.updated);
        live.memory_ceiling_bytes = self.ceiling;
        live
    }
}

/// What rates are told of: pages, requests, bytes.
fn counts(statistics: &Statistics) -> [u64; 3] {
    [statistics.pages_stored, statistics.requests, statistics.bytes_received]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_covers_the_last_seconds_and_not_what_was_before_the_process() {
        let mut sampler = Sampler::new(0);
        let at = |second: u64| Time::from_ms(1_000_000 + second * 1_000);
        let counted = |requests: u64| Statistics { requests, ..Statistics::default() };
        assert_eq!(sampler.rates(&counted(5_000), at(0)).requests, 0.0);
        for second in 0..=100 {
            let requests = 5_000 + if second <= 50 { second * 10 } else { 500 + (second - 50) * 2 };
            assert!(sampler.sample(&counted(requests), at(second)));
            assert!(!sampler.sample(&counted(requests), at(second)), "once a second");
            if second == 1 {
                assert_eq!(sampler.rates(&counted(requests), at(second)).requests, 10.0);
            }
        }
        assert_eq!(sampler.rates(&counted(5_600), at(100)).requests, 2.0);
        assert!(sampler.samples.len() < 20);
    }
}
