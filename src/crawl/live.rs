//! The figures of a crawl while it runs: the display, the warnings, the metrics, and answers to `crawler status`.
//!
//! An engine's thread looks at its engine here a few times a second, between two events, and puts what it sees on a
//! board; the thread that directs adds up what is on the boards. Anyone who asks gets the same figures
//! (`Sampler::live`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::machine::Lookout;
use super::metrics::Endpoint;
use super::warnings::Warnings;
use crate::clock::Time;
use crate::engine::{Engine, SlotPool};
use crate::frontier::Activity;
use crate::record::{LimitedList, Live, Rates, Snapshot, Statistics};
use crate::report::Progress;

/// The display is looked after this often.
pub(super) const DISPLAY: Duration = Duration::from_millis(250);
/// Rates are taken, and the metrics put down, this often.
const EVERY: Duration = Duration::from_secs(1);
/// Time that a rate covers.
const WINDOW: Duration = Duration::from_secs(10);

/// Shows people how a crawl goes, by the display, the warnings and the metrics: it adds up what the engines of this
/// process have put down. It also informs the slots what the machine is short of.
pub(super) struct Teller {
    warnings: Warnings,
    slots: Arc<SlotPool>,
    lookout: Lookout,
    /// True for a crawl with several shards, each of which its figures list.
    lists_shards: bool,
    due: Time,
    machine_due: Time,
    metrics_due: Time,
}

impl Teller {
    /// Makes the teller of a crawl with this number of shards, which makes its requests in `slots`.
    pub(crate) fn new(slots: Arc<SlotPool>, shards: usize) -> Teller {
        Teller {
            warnings: Warnings::default(),
            slots,
            lookout: Lookout::new(),
            lists_shards: shards > 1,
            due: Time::ZERO,
            machine_due: Time::ZERO,
            metrics_due: Time::ZERO,
        }
    }

    /// Makes the next look due: a crawl that ends at once has something to say too.
    pub(crate) fn hurry(&mut self) {
        self.due = Time::ZERO;
    }

    /// Looks at the `boards` of the engines, if it is time to, and shows what they say together, once all have said
    /// something.
    pub(crate) fn look<'a>(
        &mut self,
        display: &mut Progress,
        endpoint: &mut Endpoint,
        now: Time,
        boards: impl Iterator<Item = &'a Board> + Clone,
    ) {
        if now < self.due {
            return;
        }
        self.due = now + DISPLAY;
        let wanted = display.hosts_wanted();
        boards.clone().for_each(|board| board.want_hosts(wanted));
        let Some(mut posted) = boards.map(Board::read).collect::<Option<Vec<Posted>>>() else { return };
        let Some(disk_floor) = posted.iter().map(|posted| posted.disk_floor).max() else { return };
        if wanted > 0 {
            let hosts = posted.iter_mut().flat_map(|posted| std::mem::take(&mut posted.hosts)).collect();
            display.tell_hosts(Activity::first(hosts, wanted), now);
        }
        let mut shards = posted.into_iter().map(|posted| posted.live);
        let Some(live) = (if self.lists_shards { Live::sum(shards) } else { shards.next() }) else { return };
        let Snapshot { statistics, gauges, .. } = &live.figures;
        display.tick(statistics, gauges, live.phase, statistics.elapsed);
        self.warnings.look(now, gauges.disk_free_bytes, disk_floor);
        self.warnings.look_at_resting(gauges.resting.as_ref());
        if gauges.workers.is_some() && now >= self.machine_due {
            self.machine_due = now + EVERY;
            self.slots.press(self.lookout.look());
        }
        if now >= self.metrics_due && endpoint.is_open() {
            self.metrics_due = now + EVERY;
            endpoint.put(live);
        }
    }
}

/// The figures of a shard, as its thread has put them down last, for the thread that adds them up.
#[derive(Clone, Default)]
pub(super) struct Board {
    posted: Arc<Mutex<Option<Posted>>>,
    /// Hosts that the display has room for.
    hosts_wanted: Arc<AtomicUsize>,
}

/// The figures that a shard has put down.
#[derive(Clone)]
pub(super) struct Posted {
    pub live: Live,
    pub disk_floor: u64,
    pub hosts: Vec<Activity>,
}

impl Board {
    /// Returns what was put down last, if anything was.
    pub(crate) fn read(&self) -> Option<Posted> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says how many hosts the display has room for.
    fn want_hosts(&self, hosts: usize) {
        self.hosts_wanted.store(hosts, Ordering::Relaxed);
    }
}

/// A view of an engine while it runs.
pub(super) struct Observer {
    sampler: Sampler,
    board: Board,
    due: Time,
}

impl Observer {
    /// Makes the view of a process that takes no more memory than `ceiling`. What it sees is put down on `board`.
    pub(crate) fn new(ceiling: u64, board: Board) -> Observer {
        Observer { sampler: Sampler::new(ceiling), board, due: Time::ZERO }
    }

    /// Looks at the engine, if it is time to. It is called between two events.
    pub(crate) fn look(&mut self, engine: &mut Engine, now: Time) {
        if now >= self.due {
            self.due = now + DISPLAY;
            self.post(engine, now);
        }
    }

    /// Puts down what is to be seen of the engine.
    pub(crate) fn post(&mut self, engine: &mut Engine, now: Time) {
        let mut live = self.sampler.live(engine);
        self.sampler.sample(&live.figures.statistics, now);
        // neither display nor metrics tell of it, and it is long
        live.figures.statistics.limited = LimitedList::default();
        let wanted = self.board.hosts_wanted.load(Ordering::Relaxed);
        let hosts = if wanted > 0 { engine.figures().activity(wanted) } else { Vec::new() };
        let posted = Posted { live, disk_floor: engine.figures().disk_floor(), hosts };
        *self.board.posted.lock().unwrap_or_else(PoisonError::into_inner) = Some(posted);
    }

    /// Makes the figures of this moment, for anyone who asks.
    pub(crate) fn sampler(&self) -> &Sampler {
        &self.sampler
    }
}

/// Makes figures of a moment from those of the engine: it adds the rates of the seconds before it, and the memory
/// ceiling.
pub(super) struct Sampler {
    ceiling: u64,
    due: Time,
    samples: VecDeque<(Time, [u64; 3])>,
}

impl Sampler {
    /// Makes the sampler of a crawl that takes no more memory than `ceiling`.
    pub(crate) fn new(ceiling: u64) -> Sampler {
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

    /// Returns the state of the crawl at this moment.
    pub(crate) fn live(&self, engine: &mut Engine) -> Live {
        let mut live = engine.figures().live();
        live.rates = self.rates(&live.figures.statistics, live.figures.updated);
        live.memory_ceiling_bytes = self.ceiling;
        live
    }
}

/// Returns the counts of which rates are computed: pages, requests, bytes.
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
