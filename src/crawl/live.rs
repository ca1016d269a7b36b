//! What is told of a crawl while it runs: the display, the warnings, the metrics, and answers to `crawler status`.
//!
//! The engine's thread looks at itself here a few times a second, between two events. Whoever asks gets the same
//! figures, made by the same hands (`Pulse::live`).

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use super::CrawlRequest;
use super::metrics::Desk;
use super::reports::file_bytes;
use super::warnings::Warnings;
use crate::clock::Time;
use crate::engine::Engine;
use crate::record::{Live, Rates, Statistics, StoreBytes};
use crate::report::Progress;

/// The display is looked after this often.
pub(super) const DISPLAY: Duration = Duration::from_millis(250);
/// Rates are taken, and the metrics put down, this often.
const EVERY: Duration = Duration::from_secs(1);
/// Time that a rate covers.
const WINDOW: Duration = Duration::from_secs(10);

/// All that looks at a crawl while it runs.
pub(super) struct Onlookers {
    pub display: Progress,
    pub pulse: Pulse,
    desk: Desk,
    warnings: Warnings,
    due: Time,
}

impl Onlookers {
    /// Those of the crawl of `request`, which takes no more memory than `ceiling`; `desk` is where its metrics are.
    pub fn new(request: &CrawlRequest, desk: Desk, ceiling: u64) -> Onlookers {
        let (pulse, warnings) = (Pulse::new(ceiling), Warnings::default());
        Onlookers { display: request.progress(), pulse, desk, warnings, due: Time::ZERO }
    }

    /// Looks at the crawl, if it is time to.
    pub fn look(&mut self, engine: &mut Engine, now: Time) {
        if now < self.due {
            return;
        }
        self.due = now + DISPLAY;
        let (statistics, gauges) = (engine.statistics(), engine.gauges());
        self.display.tick(&statistics, &gauges, engine.doing(), engine.elapsed(now));
        self.warnings.look(now, gauges.disk_free_bytes, engine.disk_floor());
        self.warnings.look_at_rests(gauges.resting.as_ref());
        if self.pulse.beat(&statistics, now) && self.desk.is_open() {
            self.desk.put(self.pulse.live(engine));
        }
    }
}

/// What makes figures of a moment of those that the engine has: the seconds before it, and the memory ceiling.
pub(super) struct Pulse {
    ceiling: u64,
    due: Time,
    samples: VecDeque<(Time, [u64; 3])>,
}

impl Pulse {
    /// Of a crawl that takes no more memory than `ceiling`.
    pub fn new(ceiling: u64) -> Pulse {
        Pulse { ceiling, due: Time::ZERO, samples: VecDeque::new() }
    }

    /// Takes the counters down, if it is time to, and says whether it was.
    fn beat(&mut self, statistics: &Statistics, now: Time) -> bool {
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

/// Puts down what lies on disk in `dir` now: the engine does not count all of it.
pub fn measure(stores: &mut StoreBytes, dir: &Path) {
    let parts: [(&mut u64, &str); 5] = [
        (&mut stores.url_seen, "url-seen"),
        (&mut stores.robots, "robots"),
        (&mut stores.dns, "dns"),
        (&mut stores.frontier, "frontier"),
        (&mut stores.catalog, "catalog"),
    ];
    for (bytes, part) in parts {
        *bytes = file_bytes(&dir.join(part)).max(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_covers_the_last_seconds_and_not_what_was_before_the_process() {
        let mut pulse = Pulse::new(0);
        let at = |second: u64| Time::from_ms(1_000_000 + second * 1_000);
        let counted = |requests: u64| Statistics { requests, ..Statistics::default() };
        assert_eq!(pulse.rates(&counted(5_000), at(0)).requests, 0.0);
        for second in 0..=100 {
            let requests = 5_000 + if second <= 50 { second * 10 } else { 500 + (second - 50) * 2 };
            assert!(pulse.beat(&counted(requests), at(second)));
            assert!(!pulse.beat(&counted(requests), at(second)), "once a second");
            if second == 1 {
                assert_eq!(pulse.rates(&counted(requests), at(second)).requests, 10.0);
            }
        }
        assert_eq!(pulse.rates(&counted(5_600), at(100)).requests, 2.0);
        assert!(pulse.samples.len() < 20);
    }
}
