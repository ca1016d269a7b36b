//! Requests: which are in progress, and whether one more may begin.
//!
//! - A request begins where a slot is free ([`slots`]), the rates of the whole crawl permit it ([`limits`]), nobody has
//!   paused the crawl, and the checkpoint that it has to wait for is durable. Whose turn it is, is the frontier's to
//!   say.
//! - Where other machines may ask the same hosts, nothing begins without the right to it ([`Lease`]).
//! - Slots and rates are those of the process: several engines share them ([`pool`]).
//! - A slot is reserved, and the right to a request is taken, before a task is, for a task that is out of the frontier
//!   has to be done. The slot is given back where there is none; the right is kept until there is one.
//! - What begins ends once: [`Requests::end`] and [`Requests::end_fetch`] give the slot back, whatever came.
//! - Nothing of this is in a checkpoint: a crawl that is started again makes requests.

mod auto;
mod limits;
mod pool;
mod slots;

use std::sync::Arc;
use std::time::Duration;

pub use auto::{Pressure, WORKERS_START};
pub use limits::Rates;
pub use pool::{SlotPool, Waker};
pub use slots::SlotOptions;

use crate::clock::Time;
use crate::contract::{FetchJob, Lease, Target};
use crate::frontier::{Contact, HostId};
use crate::record::Workers;
use auto::Kind;
use pool::OwnSlots;

/// Requests in progress on the network, and what holds others back.
pub(super) struct Requests {
    /// Requests and look-ups that are in progress.
    slots: OwnSlots,
    /// Pages among them.
    pages: u64,
    /// Requests among them for what pages embed.
    requisites: u64,
    /// Rates of the whole crawl, and until when they permit nothing.
    rates: Arc<Rates>,
    limited_until: Time,
    /// The right to make requests at all, where other machines may have it.
    lease: Option<Arc<dyn Lease>>,
    /// The right to one request, taken and not used yet: until everything is looked at that could use it.
    has_right: bool,
    /// No request is made until somebody says so.
    is_paused: bool,
    /// No request is made before the checkpoint of this number is durable.
    held_until: u64,
    /// Makes ids of records that nobody has to know again.
    rng: fastrand::Rng,
}

impl Requests {
    /// None yet.
    pub(crate) fn new(
        slots: Arc<SlotPool>,
        rates: Arc<Rates>,
        lease: Option<Arc<dyn Lease>>,
        wake: Waker,
        rng: fastrand::Rng,
    ) -> Requests {
        Requests {
            slots: OwnSlots::join(slots, wake),
            pages: 0,
            requisites: 0,
            rates,
            lease,
            limited_until: Time::ZERO,
            has_right: false,
            is_paused: false,
            held_until: 0,
            rng,
        }
    }

    /// Pauses the crawl, or lets it go on.
    pub(crate) fn pause(&mut self, pause: bool) {
        self.is_paused = pause;
    }

    /// True if somebody has paused the crawl.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Holds all requests back until the checkpoint `number` is durable.
    pub(crate) fn hold_until(&mut self, number: u64) {
        self.held_until = number;
    }

    /// Returns whether nobody holds requests back now that the checkpoint `durable` is durable.
    pub(crate) fn are_wanted(&self, durable: u64) -> bool {
        !self.is_paused && durable >= self.held_until && self.lease.as_ref().is_none_or(|lease| lease.holds())
    }

    /// Other rates from now on.
    pub(crate) fn renew_limits(&mut self, requests_per_second: Option<f64>, bytes_per_second: Option<u64>) {
        self.rates.renew(requests_per_second, bytes_per_second);
        self.limited_until = Time::ZERO;
    }

    /// Returns whether one more may begin, as far as slots and rates go: then a slot is reserved for it.
    pub(crate) fn may_begin(&self, now: Time) -> bool {
        now >= self.limited_until && self.slots.reserve(now)
    }

    /// Reserves a slot, unless that is done; says whether there is one now.
    pub(crate) fn has_slot(&self, now: Time) -> bool {
        self.slots.reserve(now)
    }

    /// All has begun that can at `now`: a slot that is reserved and was not needed is for other engines.
    /// Hosts may be ready all the same.
    pub(crate) fn settle(&mut self, has_ready: bool, now: Time) {
        self.give_back_right();
        self.slots.settle(has_ready, now);
    }

    /// None is to begin for the time being, and so no slot is waited for.
    pub(crate) fn stand_back(&mut self) {
        self.give_back_right();
        self.slots.stand_back();
    }

    /// Returns how many more may begin that are likely to stay silent.
    pub(crate) fn slots_for_suspects(&self, now: Time) -> usize {
        self.slots.slots_for_suspects(now)
    }

    /// Takes the right to one request, unless it is there; says whether it is now.
    pub(crate) fn take_right(&mut self) -> bool {
        if !self.has_right {
            match self.rates.request() {
                Ok(()) => self.has_right = true,
                Err(again) => self.limited_until = again,
            }
        }
        self.has_right
    }

    fn give_back_right(&mut self) {
        if std::mem::take(&mut self.has_right) {
            self.rates.give_back();
        }
    }

    /// The right is used by a request.
    pub(crate) fn use_right(&mut self) {
        self.has_right = false;
    }

    /// A look-up for `host` begins, or a request that no URL of it waits for.
    pub(crate) fn begin(&mut self, host: HostId, contact: Contact, now: Time) {
        self.slots.begin(host, contact, now);
    }

    /// The request `job` begins.
    pub(crate) fn begin_fetch(&mut self, job: &FetchJob, contact: Contact, now: Time) {
        self.pages += u64::from(matches!(job.target, Target::Page { .. }));
        self.requisites += u64::from(is_requisite(job));
        self.slots.begin(job.host, contact, now);
    }

    /// A look-up for `host` has ended; the number of the worker that made it.
    pub(crate) fn end(&mut self, host: HostId, now: Time) -> u32 {
        self.slots.end(host, Kind::LookUp, 0, now)
    }

    /// The request `job` has ended, and brought that many bytes; the number of the worker that made it.
    pub(crate) fn end_fetch(&mut self, job: &FetchJob, bytes: u64, now: Time) -> u32 {
        self.end_page(job);
        self.leave_slot(job, bytes, now)
    }

    /// A page that had left its slot is not in progress any more.
    pub(crate) fn end_page(&mut self, job: &FetchJob) {
        self.pages -= u64::from(matches!(job.target, Target::Page { .. }));
        self.requisites -= u64::from(is_requisite(job));
    }

    /// The request `job` has ended, and its page is in progress still.
    pub(crate) fn leave_slot(&mut self, job: &FetchJob, bytes: u64, now: Time) -> u32 {
        let is_page = matches!(job.target, Target::Page { .. });
        let kind = if is_page { Kind::Page } else { Kind::Robots };
        self.slots.end(job.host, kind, bytes, now)
    }

    /// An answer came: `bytes`, and how long that took where it says what is usual.
    pub(crate) fn answered(&mut self, bytes: u64, usual: Option<Duration>) {
        usual.into_iter().for_each(|duration| self.slots.learn(duration));
        self.rates.received(bytes);
    }

    /// Workers of the process, where their number is found.
    pub(crate) fn workers(&self) -> Option<Workers> {
        self.slots.workers()
    }

    /// Requests and look-ups that are in progress.
    pub(crate) fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// Pages among them, with what these embed.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Pages among them that `crawl.max_pages` counts: without what pages embed.
    pub(crate) fn counted_pages(&self) -> u64 {
        self.pages - self.requisites
    }

    /// True if most workers of the process have nothing to do.
    pub(crate) fn are_few(&self, now: Time) -> bool {
        let (busy, workers) = self.slots.busy(now);
        busy < workers / 2
    }

    /// True if nearly all workers of the process are busy.
    pub(crate) fn are_many(&self, now: Time) -> bool {
        let (busy, workers) = self.slots.busy(now);
        busy >= workers - workers / 8
    }

    /// True if no worker of the process is free.
    pub(crate) fn are_all_busy(&self, now: Time) -> bool {
        let (busy, workers) = self.slots.busy(now);
        busy >= workers
    }

    /// True if the configured rates permitted nothing when a request was wanted, and do not yet.
    pub(crate) fn are_limited(&self, now: Time) -> bool {
        now < self.limited_until
    }

    /// True if a worker is free, and could begin a request.
    pub(crate) fn are_spare(&self, now: Time) -> bool {
        !self.are_all_busy(now) && !self.are_limited(now)
    }

    /// Returns when the next request may begin, of which those who want it say that it is due at `due`.
    pub(crate) fn next_due(&self, due: impl FnOnce() -> Option<Time>, now: Time) -> Option<Time> {
        let next = match self.slots.ask(now) {
            true => due(),
            // anyone who is due has to wait for an answer, or until a request is slow
            false if !self.slots.are_shared() => self.slots.free_at(now),
            // or to be woken by another engine; who is due later has to ask then
            false => self.slots.free_at(now).into_iter().chain(due().filter(|&due| due > now)).min(),
        };
        next.map(|next| next.max(self.limited_until))
    }

    /// Returns a seed for the ids of records that nobody has to know again.
    pub(crate) fn id_seed(&mut self) -> u128 {
        self.rng.u128(..)
    }
}

/// True if it asks for what a page embeds. A job keeps its scope, so that the answer is the same at its end.
fn is_requisite(job: &FetchJob) -> bool {
    matches!(&job.target, Target::Page { url, .. } if job.scope.is_requisite(url.hops.embeds()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::clock::ManualClock;

    const NOW: Time = Time::from_ms(1_000_000);

    #[derive(Debug, Default)]
    struct Switch(AtomicBool);

    impl Lease for Switch {
        fn holds(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn requests(per_second: Option<f64>) -> (Requests, Arc<ManualClock>) {
        requests_by(per_second, None)
    }

    fn requests_by(per_second: Option<f64>, lease: Option<Arc<dyn Lease>>) -> (Requests, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(NOW));
        let slots = SlotOptions { workers: 2, workers_most: None, slow: 1, slow_after: Duration::from_secs(2) };
        let slots = Arc::new(SlotPool::new(slots));
        let rates = Arc::new(Rates::new(clock.clone(), per_second, None));
        (Requests::new(slots, rates, lease, Arc::new(|| {}), fastrand::Rng::with_seed(1)), clock)
    }

    #[test]
    fn a_right_is_kept_until_a_request_uses_it_whichever_asks_for_it() {
        let (mut requests, clock) = requests(Some(1.0));
        assert!(requests.may_begin(NOW) && requests.take_right() && requests.take_right());
        requests.settle(false, NOW);
        assert!(requests.rates.request().is_ok(), "another engine uses it");
        requests.rates.give_back();
        assert!(requests.may_begin(NOW) && requests.take_right());
        requests.use_right();
        assert!(!requests.take_right() && !requests.may_begin(NOW) && requests.has_slot(NOW));
        let next = requests.next_due(|| Some(NOW), NOW).unwrap();
        assert!(next > NOW && next <= NOW + Duration::from_millis(1_001));
        clock.advance(next.since(NOW));
        assert!(requests.may_begin(next) && requests.take_right());
    }

    #[test]
    fn nothing_begins_without_the_right_to_it() {
        let lease = Arc::new(Switch::default());
        let (requests, _) = requests_by(None, Some(lease.clone()));
        assert!(!requests.are_wanted(0));
        lease.0.store(true, Ordering::Relaxed);
        assert!(requests.are_wanted(0));
    }

    #[test]
    fn a_pause_and_a_checkpoint_that_is_not_durable_hold_requests_back() {
        let (mut requests, _) = requests(None);
        assert!(requests.are_wanted(0));
        requests.hold_until(3);
        assert!(!requests.are_wanted(2) && requests.are_wanted(3));
        requests.pause(true);
        assert!(!requests.are_wanted(3) && requests.is_paused());
        requests.pause(false);
        assert!(requests.are_wanted(4));
    }
}
