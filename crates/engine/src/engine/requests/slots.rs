//! Slots of requests: as many as there are workers, and more for those that are slow.
//!
//! A server that sends a byte every ten seconds keeps its request in progress for as long as the limits of time allow.
//! If it kept its worker too, some dozens of such servers would stop the crawl of all others. So a request that takes
//! much longer than requests of this crawl usually do gives up its worker and goes on in one of the places for slow
//! ones; it is bounded by all limits as before. What is usual is the median of the answers so far, followed step by
//! step. With all places for slow requests taken, slow requests keep their workers: then the limits of time decide
//! alone.
//!
//! A request to a host that never answered is slow sooner, and one that is likely to stay silent
//! (`frontier::first_contacts` says which are) begins in a place for slow ones, so that it costs no worker at all; a
//! quarter of these places is left to others.
//!
//! The list is that of all engines of the process: a request belongs to one of them, its place is everybody's.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use crate::clock::Time;
use crate::frontier::{Contact, HostId};

/// A request is slow that takes this many times as long as usual: until then it costs a worker, however many drip.
const SLOW_FACTOR: f64 = 2.0;
/// But none is before this time.
const SLOW_MIN: Duration = Duration::from_millis(30);
/// Factor by which the estimate of the median moves with an answer.
const STEP: f64 = 1.05;
/// A first contact is slow after this long: most hosts that answer have done so by then.
const STRANGER_SLOW_AFTER: Duration = Duration::from_millis(250);
/// Bounds of the estimate.
const USUAL_S: (f64, f64) = (0.001, 60.0);

/// Limits of requests in progress.
#[derive(Clone, Copy, Debug)]
pub struct SlotOptions {
    /// Requests that are not slow; where their number is found, as many as there are at the start.
    pub workers: usize,
    /// The most workers that there may be, where their number is found; nothing where it is fixed.
    pub workers_most: Option<usize>,
    /// Requests that are, beside those.
    pub slow: usize,
    /// Time after which a request is slow, whatever is usual.
    pub slow_after: Duration,
}

/// A request or look-up that is in progress.
#[derive(Clone, Copy, Debug)]
struct Running {
    began: Time,
    /// The number of its engine.
    engine: u32,
    host: HostId,
    /// The number of its worker.
    worker: u32,
}

impl Running {
    fn is(&self, engine: u32, host: HostId) -> bool {
        self.host == host && self.engine == engine
    }
}

/// The requests and look-ups that are in progress, in the order of their beginning.
#[derive(Debug)]
pub(super) struct Slots {
    options: SlotOptions,
    under_way: VecDeque<Running>,
    /// The same of first contacts.
    first_contacts: VecDeque<Running>,
    /// Further requests that began as slow ones.
    suspects: Vec<Running>,
    /// Numbers of workers that were given back.
    free: BinaryHeap<Reverse<u32>>,
    /// Workers that were needed at once so far.
    numbered: u32,
    /// The median of what answers took, in seconds.
    usual_s: f64,
}

impl Slots {
    pub(crate) fn new(options: SlotOptions) -> Slots {
        let usual_s = options.slow_after.as_secs_f64() / SLOW_FACTOR;
        Slots {
            options,
            under_way: VecDeque::new(),
            first_contacts: VecDeque::new(),
            suspects: Vec::new(),
            free: BinaryHeap::new(),
            numbered: 0,
            usual_s,
        }
    }

    /// Workers that there are.
    pub(crate) fn workers(&self) -> usize {
        self.options.workers
    }

    /// Other workers from now on. Those that are busy beyond their number end what they do.
    pub(crate) fn set_workers(&mut self, workers: usize) {
        self.options.workers = workers;
    }

    /// A request of `engine` for `host` begins. A host has one look-up or robots.txt at a time, and pages have a flight
    /// each, so that no two requests of an engine have the same id.
    pub(crate) fn begin(&mut self, engine: u32, host: HostId, contact: Contact, now: Time) {
        let worker = self.free.pop().map_or(self.numbered + 1, |Reverse(worker)| worker);
        self.numbered = self.numbered.max(worker);
        let running = Running { began: now, engine, host, worker };
        match contact {
            // another engine may have taken the last place for slow ones since this one was told of it
            Contact::Suspect if self.slow(now) < self.options.slow => self.suspects.push(running),
            Contact::Suspect | Contact::First => self.first_contacts.push_back(running),
            Contact::Known => self.under_way.push_back(running),
        }
    }

    /// Returns how many more may begin that are likely to stay silent. Without places for slow ones they are like all
    /// others.
    pub(crate) fn slots_for_suspects(&self, now: Time) -> usize {
        let slow = self.options.slow;
        match slow {
            0 => usize::MAX,
            _ => slow.saturating_sub(self.slow(now)).min((slow - slow / 4).saturating_sub(self.suspects.len())),
        }
    }

    /// The request of `engine` for `host` has ended; the number of the worker that made it, 1 and upwards, and for how
    /// long it was one, if it was.
    pub(crate) fn end(&mut self, engine: u32, host: HostId, now: Time) -> (u32, Option<Duration>) {
        let (ended, held_at_most) = self.remove(engine, host);
        debug_assert!(ended.is_some(), "what ends has begun");
        let Some(Running { began, worker, .. }) = ended else { return (0, None) };
        self.free.push(Reverse(worker));
        (worker, held_at_most.map(|at_most| now.since(began).min(at_most)))
    }

    /// With the longest time that counts for it: a few that take for ever must not make the mean of all others. It is
    /// not the time after which it is slow, for on a line that is full all of them take longer than that.
    fn remove(&mut self, engine: u32, host: HostId) -> (Option<Running>, Option<Duration>) {
        let longest = Duration::from_secs_f64(self.usual_s * SLOW_FACTOR).max(SLOW_MIN);
        for line in [&mut self.under_way, &mut self.first_contacts] {
            if let Some(place) = line.iter().position(|running| running.is(engine, host)) {
                return (line.remove(place), Some(longest));
            }
        }
        let place = self.suspects.iter().position(|running| running.is(engine, host));
        (place.map(|place| self.suspects.swap_remove(place)), None)
    }

    /// All requests of `engine` are over, for it is gone.
    pub(crate) fn end_all(&mut self, engine: u32) {
        let Slots { under_way, first_contacts, suspects, free, .. } = self;
        let mut keep = |running: &Running| {
            let others = running.engine != engine;
            free.extend((!others).then_some(Reverse(running.worker)));
            others
        };
        under_way.retain(&mut keep);
        first_contacts.retain(&mut keep);
        suspects.retain(&mut keep);
    }

    /// An answer took `duration`.
    pub(crate) fn learn(&mut self, duration: Duration) {
        let step = if duration.as_secs_f64() > self.usual_s { STEP } else { 1.0 / STEP };
        self.usual_s = (self.usual_s * step).clamp(USUAL_S.0, USUAL_S.1);
    }

    /// Requests in progress, slow ones included.
    pub(crate) fn len(&self) -> usize {
        self.under_way.len() + self.first_contacts.len() + self.suspects.len()
    }

    /// Workers that are taken.
    pub(crate) fn busy(&self, now: Time) -> usize {
        self.len() - self.slow(now)
    }

    /// Requests of `engine` that are not slow, and so hold a worker in any case.
    pub(crate) fn held(&self, engine: u32, now: Time) -> usize {
        let of = |line: &VecDeque<Running>, after| {
            line.range(late(line, now, after)..).filter(|running| running.engine == engine).count()
        };
        of(&self.under_way, self.slow_after()) + of(&self.first_contacts, self.first_contact_slow_after())
    }

    /// Returns when a worker becomes free without an answer, if that can be.
    pub(crate) fn free_at(&self, now: Time) -> Option<Time> {
        if self.slow(now) >= self.options.slow {
            return None;
        }
        // those that are slow by now have their places
        let next =
            |line: &VecDeque<Running>, after| line.get(late(line, now, after)).map(|running| running.began + after);
        let known = next(&self.under_way, self.slow_after());
        known.into_iter().chain(next(&self.first_contacts, self.first_contact_slow_after())).min()
    }

    fn slow(&self, now: Time) -> usize {
        let known = late(&self.under_way, now, self.slow_after());
        let first_contacts = late(&self.first_contacts, now, self.first_contact_slow_after());
        self.suspects.len() + (known + first_contacts).min(self.options.slow.saturating_sub(self.suspects.len()))
    }

    fn first_contact_slow_after(&self) -> Duration {
        self.slow_after().min(STRANGER_SLOW_AFTER)
    }

    fn slow_after(&self) -> Duration {
        Duration::from_secs_f64(self.usual_s * SLOW_FACTOR).max(SLOW_MIN).min(self.options.slow_after)
    }
}

/// Counts those in `line` that began at least `after` ago.
fn late(line: &VecDeque<Running>, now: Time, after: Duration) -> usize {
    line.partition_point(|running| running.began + after <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::from_ms(1_000_000);

    fn host(index: u32) -> HostId {
        HostId::numbered(index)
    }

    fn slots(workers: usize, slow: usize) -> Slots {
        Slots::new(SlotOptions { workers, workers_most: None, slow, slow_after: Duration::from_secs(2) })
    }

    fn is_free(slots: &Slots, now: Time) -> bool {
        slots.busy(now) < slots.workers()
    }

    #[test]
    fn a_slow_request_gives_its_worker_to_others_as_long_as_there_is_place_for_slow_ones() {
        let mut slots = slots(2, 3);
        (0..2).for_each(|n| slots.begin(0, host(n), Contact::Known, START));
        assert!(!is_free(&slots, START));
        assert_eq!(slots.free_at(START), Some(START + Duration::from_secs(2)));
        let later = START + Duration::from_secs(2);
        assert!(is_free(&slots, later));
        (2..4).for_each(|n| slots.begin(0, host(n), Contact::Known, later));
        assert!(!is_free(&slots, later));
        let last = later + Duration::from_secs(2);
        // four are slow now, and there is place for three of them
        assert_eq!((slots.len(), slots.busy(last)), (4, 1));
        slots.begin(0, host(4), Contact::Known, last);
        assert!(!is_free(&slots, last));
        assert_eq!(slots.free_at(last), None);
        slots.end(0, host(1), START);
        assert_eq!((slots.len(), slots.busy(last)), (4, 1));
    }

    #[test]
    fn a_worker_has_the_lowest_number_that_is_free() {
        let mut slots = slots(2, 3);
        (0..3).for_each(|n| slots.begin(0, host(n), Contact::Known, START));
        assert_eq!((slots.end(0, host(1), START).0, slots.end(0, host(0), START).0), (2, 1));
        slots.begin(0, host(3), Contact::Known, START);
        slots.begin(0, host(4), Contact::Known, START);
        slots.begin(0, host(5), Contact::Known, START);
        let ended = [5, 4, 3, 2].map(|n| slots.end(0, host(n), START).0);
        assert_eq!(ended, [4, 2, 1, 3]);
    }

    #[test]
    fn what_is_slow_follows_what_is_usual() {
        let mut slots = slots(1, 10);
        let slow_after = |slots: &Slots| slots.slow_after().as_millis();
        assert_eq!(slow_after(&slots), 2_000);
        (0..500).for_each(|n| slots.learn(Duration::from_millis(if n % 3 == 0 { 3_000 } else { 80 })));
        assert!((125..200).contains(&slow_after(&slots)), "{}", slow_after(&slots));
        (0..500).for_each(|_| slots.learn(Duration::from_millis(1)));
        assert_eq!(slow_after(&slots), SLOW_MIN.as_millis());
        (0..500).for_each(|_| slots.learn(Duration::from_secs(100)));
        assert_eq!(slow_after(&slots), 2_000);
    }

    #[test]
    fn n13_hosts_that_are_likely_to_stay_silent_take_no_worker_and_not_all_slow_places() {
        let mut slots = slots(8, 6);
        assert_eq!(slots.slots_for_suspects(START), 5);
        (0..5).for_each(|n| slots.begin(0, host(n), Contact::Suspect, START));
        assert_eq!(slots.slots_for_suspects(START), 0);
        assert_eq!((slots.busy(START), slots.len()), (0, 5));
        (5..13).for_each(|n| slots.begin(0, host(n), Contact::Known, START));
        assert!(!is_free(&slots, START));
        assert_eq!(slots.free_at(START), Some(START + Duration::from_secs(2)));
        slots.end(0, host(1), START);
        assert_eq!(slots.slots_for_suspects(START), 1);
        // without such places they are like all others
        let mut none =
            Slots::new(SlotOptions { workers: 1, workers_most: None, slow: 0, slow_after: Duration::from_secs(2) });
        none.begin(0, host(0), Contact::Suspect, START);
        assert_eq!(none.slots_for_suspects(START), usize::MAX);
        assert!(!is_free(&none, START + Duration::from_secs(9)));
        assert_eq!(none.end(0, host(0), START).0, 1);
    }

    #[test]
    fn n13_a_first_contact_gives_its_worker_up_after_a_quarter_of_a_second() {
        let mut slots = slots(2, 3);
        slots.begin(0, host(0), Contact::Known, START);
        slots.begin(0, host(1), Contact::First, START);
        assert!(!is_free(&slots, START));
        let then = START + Duration::from_millis(250);
        assert_eq!(slots.free_at(START), Some(then));
        assert!(is_free(&slots, then) && slots.busy(then) == 1);
        assert_eq!(slots.end(0, host(1), START).0, 2);
        assert!(is_free(&slots, START));
    }

    #[test]
    fn requests_that_all_take_long_count_with_their_time_and_single_ones_with_twice_the_usual() {
        let mut slots = slots(2, 3);
        let after = |slots: &mut Slots, contact, seconds| {
            slots.begin(0, host(0), contact, START);
            slots.end(0, host(0), START + Duration::from_secs(seconds)).1.unwrap().as_millis()
        };
        assert_eq!(after(&mut slots, Contact::Known, 60), 2_000);
        (0..200).for_each(|_| slots.learn(Duration::from_secs(5)));
        assert_eq!(after(&mut slots, Contact::Known, 5), 5_000);
        assert_eq!(after(&mut slots, Contact::First, 5), 5_000);
        slots.begin(0, host(1), Contact::Suspect, START);
        assert_eq!(slots.end(0, host(1), START + Duration::from_secs(5)).1, None);
    }
}
