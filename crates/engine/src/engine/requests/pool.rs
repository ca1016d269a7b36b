//! The slots of a process, shared exactly by all of its engines.
//!
//! - In all engines together no more requests are in progress than [`SlotOptions`] permits. A slot is reserved before a
//!   task is looked for and given back where there is none, so that two engines never use the same one.
//! - An engine that found no slot is woken when there is one for it; until it has looked again, once.
//! - No engine starves: one that waits and has fewer slots than its equal share comes before those that have more, and
//!   of several such engines the one that has waited longest. Otherwise an engine keeps using the slot that its own
//!   answer freed, for waking another one costs more than it brings.
//!
//! Where the number of workers is not fixed, it is found here ([`super::auto`]), by what all engines do.
//!
//! One lock, held for a look into lists; an engine alone meets nobody there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::auto::{Controller, Kind, Pressure};
use super::slots::{SlotOptions, Slots};
use crate::clock::Time;
use crate::frontier::{Contact, HostId};
use crate::record::Workers;

/// Tells an engine that a slot is free for it. It must not wait: it is called by other engines.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// The slots of a process.
#[derive(Debug)]
pub struct SlotPool {
    shared: Mutex<Shared>,
}

#[derive(Debug)]
struct Shared {
    slots: Slots,
    /// Finds the number of workers.
    controller: Option<Controller>,
    members: Vec<Member>,
    /// Slots that are reserved, all engines together.
    reserved: usize,
    /// The next ticket of an engine that begins to wait.
    ticket: u64,
    joined: u32,
}

/// An engine, as the pool knows it.
struct Member {
    engine: u32,
    wake: Waker,
    /// It has a slot for the request that it looks for.
    has_reserved: bool,
    /// It waits for a slot, with this ticket: a lower one has waited longer.
    waits: Option<u64>,
    /// It was woken, and has not looked since.
    is_woken: bool,
    /// It had a host ready when it settled last.
    has_work: bool,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("engine", &self.engine).field("waits", &self.waits).finish_non_exhaustive()
    }
}

/// The slots of one engine: its way to those of the process.
#[derive(Debug)]
pub(super) struct OwnSlots {
    pool: Arc<SlotPool>,
    engine: u32,
    /// Requests of this engine that are in progress.
    in_progress: usize,
}

impl SlotPool {
    /// A pool with the slots of `options`, and nobody who uses them.
    pub(crate) fn new(options: SlotOptions) -> Self {
        let controller = options.workers_most.map(Controller::new);
        let workers = controller.as_ref().map_or(options.workers, Controller::workers);
        let slots = Slots::new(SlotOptions { workers, ..options });
        let shared = Shared { slots, controller, members: Vec::new(), reserved: 0, ticket: 0, joined: 0 };
        SlotPool { shared: Mutex::new(shared) }
    }

    /// Notes what is short on the machine, from now on.
    pub fn press(&self, pressure: Pressure) {
        if let Some(controller) = &mut self.lock().controller {
            controller.press(pressure);
        }
    }

    /// Workers, where their number is found.
    pub(crate) fn workers(&self) -> Option<Workers> {
        let shared = self.lock();
        let found = shared.controller.as_ref()?;
        Some(Workers { now: found.workers() as u64, most: found.most() as u64, bound: found.bound() })
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnSlots {
    /// The slots of one more engine, which is woken by `wake`.
    pub(crate) fn join(pool: Arc<SlotPool>, wake: Waker) -> OwnSlots {
        let mut shared = pool.lock();
        let engine = shared.joined;
        shared.joined += 1;
        shared.members.push(Member {
            engine,
            wake,
            has_reserved: false,
            waits: None,
            is_woken: false,
            has_work: false,
        });
        drop(shared);
        OwnSlots { pool, engine, in_progress: 0 }
    }

    /// Reserves a slot for the next request, unless that is done; says whether there is one now. Otherwise this engine
    /// waits from now on.
    pub(crate) fn reserve(&self, now: Time) -> bool {
        self.pool.lock().reserve(self.engine, now)
    }

    /// Returns whether there is a slot for this engine; otherwise it waits from now on.
    pub(crate) fn ask(&self, now: Time) -> bool {
        self.pool.lock().ask(self.engine, now)
    }

    /// This engine has looked at all that it could do at `now`, and may still have a host ready: what it has not used
    /// is for others, who are woken.
    pub(crate) fn settle(&self, has_work: bool, now: Time) {
        let woken = self.pool.lock().settle(self.engine, has_work, now);
        woken.iter().for_each(|wake| wake());
    }

    /// This engine wants no slot for the time being.
    pub(crate) fn stand_back(&self) {
        let mut shared = self.pool.lock();
        shared.release(self.engine);
        let own = shared.member(self.engine);
        (own.waits, own.is_woken, own.has_work) = (None, false, false);
    }

    /// A request begins, in the slot that is reserved for it unless it takes none.
    pub(crate) fn begin(&mut self, host: HostId, contact: Contact, now: Time) {
        self.in_progress += 1;
        let mut shared = self.pool.lock();
        shared.slots.begin(self.engine, host, contact, now);
        shared.release(self.engine);
    }

    /// The request for `host` has ended, and brought `bytes` bytes; the number of the worker that made it.
    pub(crate) fn end(&mut self, host: HostId, kind: Kind, bytes: u64, now: Time) -> u32 {
        self.in_progress -= 1;
        let mut shared = self.pool.lock();
        let (worker, held) = shared.slots.end(self.engine, host, now);
        if let (Some(controller), Some(held)) = (&mut shared.controller, held) {
            controller.ended(kind, held, bytes, now);
        }
        worker
    }

    /// Workers of the process, where their number is found.
    pub(crate) fn workers(&self) -> Option<Workers> {
        self.pool.workers()
    }

    /// An answer took `duration`.
    pub(crate) fn learn(&self, duration: Duration) {
        self.pool.lock().slots.learn(duration);
    }

    /// Requests of this engine that are in progress, slow ones included.
    pub(crate) fn len(&self) -> usize {
        self.in_progress
    }

    /// Workers of the process that are busy, and how many there are.
    pub(crate) fn busy(&self, now: Time) -> (usize, usize) {
        let shared = self.pool.lock();
        (shared.slots.busy(now), shared.slots.workers())
    }

    /// True if other engines use the same slots.
    pub(crate) fn are_shared(&self) -> bool {
        self.pool.lock().members.len() > 1
    }

    /// Returns when a slot becomes free without an answer, if that can be.
    pub(crate) fn free_at(&self, now: Time) -> Option<Time> {
        self.pool.lock().slots.free_at(now)
    }

    /// Returns how many more may begin that are likely to stay silent.
    pub(crate) fn slots_for_suspects(&self, now: Time) -> usize {
        self.pool.lock().slots.slots_for_suspects(now)
    }
}

impl Drop for OwnSlots {
    /// The engine is gone, and nobody waits for its requests.
    fn drop(&mut self) {
        let mut shared = self.pool.lock();
        shared.release(self.engine);
        shared.slots.end_all(self.engine);
        shared.members.retain(|member| member.engine != self.engine);
        // the slots that it had may be theirs
        let waiting: Vec<Waker> =
            shared.members.iter().filter(|member| member.waits.is_some()).map(|member| member.wake.clone()).collect();
        drop(shared);
        waiting.iter().for_each(|wake| wake());
    }
}

impl Shared {
    fn member(&mut self, engine: u32) -> &mut Member {
        self.members.iter_mut().find(|member| member.engine == engine).expect("an engine is a member until it is gone")
    }

    fn free(&self, now: Time) -> usize {
        self.slots.workers().saturating_sub(self.slots.busy(now) + self.reserved)
    }

    fn reserve(&mut self, engine: u32, now: Time) -> bool {
        if self.member(engine).has_reserved {
            return true;
        }
        let granted = self.ask(engine, now);
        if granted {
            self.reserved += 1;
            self.member(engine).has_reserved = true;
        }
        granted
    }

    fn release(&mut self, engine: u32) {
        let released = std::mem::take(&mut self.member(engine).has_reserved);
        self.reserved -= usize::from(released);
    }

    fn ask(&mut self, engine: u32, now: Time) -> bool {
        let granted = self.may_take(engine, now);
        let ticket = self.ticket;
        let member = self.member(engine);
        member.is_woken = false;
        if granted {
            member.waits = None;
        } else if member.waits.is_none() {
            member.waits = Some(ticket);
            self.ticket += 1;
        }
        granted
    }

    /// Returns whether there is a slot for `engine`, and one for each engine that comes before it.
    fn may_take(&self, engine: u32, now: Time) -> bool {
        let free = self.free(now);
        if free == 0 || !self.members.iter().any(|other| other.engine != engine && other.waits.is_some()) {
            return free > 0;
        }
        let Some(rank) = self.members.iter().find(|member| member.engine == engine).map(|own| self.rank(own, now))
        else {
            return false;
        };
        let before = |other: &&Member| {
            let theirs = self.rank(other, now);
            other.engine != engine && other.waits.is_some() && !theirs.0 && theirs < rank
        };
        free > self.members.iter().filter(before).count()
    }

    /// Returns the rank of an engine: the lowest comes first. It is whether the engine has its equal share already, and
    /// since when it waits.
    fn rank(&self, member: &Member, now: Time) -> (bool, u64) {
        let share = self.slots.workers() / self.members.len();
        let held = self.slots.held(member.engine, now) + usize::from(member.has_reserved);
        (held >= share.max(1), member.waits.unwrap_or(u64::MAX))
    }

    /// Takes notice of whether workers are short, where their number is found.
    fn look(&mut self, now: Time) {
        let Some(controller) = &mut self.controller else { return };
        let busy = self.slots.busy(now) + self.reserved;
        let is_short = busy >= self.slots.workers() && self.members.iter().any(|member| member.has_work);
        if controller.look(busy, is_short, now) {
            self.slots.set_workers(controller.workers());
        }
    }

    /// Gives back what `engine` has reserved; those are to be woken for whom there is a slot.
    fn settle(&mut self, engine: u32, has_work: bool, now: Time) -> Vec<Waker> {
        self.release(engine);
        self.member(engine).has_work = has_work;
        self.look(now);
        if self.members.len() < 2 {
            return Vec::new();
        }
        let waiting = |member: &&Member| member.engine != engine && member.waits.is_some();
        // those who were woken and have not looked yet have a slot each
        let woken = self.members.iter().filter(waiting).filter(|member| member.is_woken).count();
        let free = self.free(now).saturating_sub(woken);
        if free == 0 {
            return Vec::new();
        }
        let sleeping = self.members.iter().filter(waiting).filter(|member| !member.is_woken);
        let mut ranked: Vec<_> = sleeping.map(|member| (self.rank(member, now), member.engine)).collect();
        ranked.sort_unstable();
        let wake = |(_, engine)| {
            let member = self.member(engine);
            member.is_woken = true;
            member.wake.clone()
        };
        ranked.into_iter().take(free).map(wake).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const START: Time = Time::from_ms(1_000_000);
    const KNOWN: Contact = Contact::Known;

    fn host(index: u32) -> HostId {
        HostId::numbered(index)
    }

    fn pool(workers: usize, slow: usize) -> Arc<SlotPool> {
        Arc::new(SlotPool::new(SlotOptions { workers, workers_most: None, slow, slow_after: Duration::from_secs(2) }))
    }

    /// A member, and how often it was woken.
    fn join(pool: &Arc<SlotPool>) -> (OwnSlots, Arc<AtomicUsize>) {
        let woken = Arc::new(AtomicUsize::new(0));
        let counted = woken.clone();
        let wake = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        (OwnSlots::join(pool.clone(), Arc::new(wake)), woken)
    }

    /// Begins as many requests as it may, numbered from `first` on.
    fn fill(slots: &mut OwnSlots, first: u32, now: Time) -> u32 {
        let mut begun = 0;
        while slots.reserve(now) {
            slots.begin(host(first + begun), KNOWN, now);
            begun += 1;
        }
        slots.settle(true, now);
        begun
    }

    #[test]
    fn a_reserved_slot_is_nobody_elses_until_it_is_given_back() {
        let pool = pool(1, 0);
        let ((one, _), (other, woken)) = (join(&pool), join(&pool));
        assert!(one.reserve(START) && one.reserve(START));
        assert!(!other.reserve(START) && !other.ask(START));
        one.settle(true, START);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert!(other.reserve(START) && !one.reserve(START));
    }

    #[test]
    fn an_engine_that_waits_with_fewer_than_its_share_comes_first() {
        let pool = pool(4, 0);
        let ((mut rich, _), (mut poor, woken)) = (join(&pool), join(&pool));
        assert_eq!(fill(&mut rich, 0, START), 4);
        assert!(!poor.ask(START));
        for (ended, share) in [(0, 1), (1, 2)] {
            rich.end(host(ended), Kind::Page, 0, START);
            assert!(!rich.reserve(START), "the slot is kept for who waits");
            rich.settle(true, START);
            assert_eq!((woken.load(Ordering::Relaxed), fill(&mut poor, 10 * share, START)), (share as usize, 1));
        }
        // both have their shares now: everyone goes on with its own
        rich.end(host(2), Kind::Page, 0, START);
        assert!(rich.reserve(START));
        rich.begin(host(5), KNOWN, START);
        rich.settle(true, START);
        assert_eq!(woken.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn an_engine_is_woken_once_until_it_looks_and_not_while_it_stands_back() {
        let pool = pool(2, 0);
        let ((mut one, _), (other, woken)) = (join(&pool), join(&pool));
        fill(&mut one, 0, START);
        assert!(!other.ask(START));
        for ended in 0..2 {
            one.end(host(ended), Kind::Page, 0, START);
            one.settle(true, START);
        }
        one.settle(true, START);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert!(other.ask(START));
        fill(&mut one, 2, START);
        assert!(!other.ask(START));
        other.stand_back();
        one.end(host(2), Kind::Page, 0, START);
        assert!(one.reserve(START), "nobody waits");
        one.settle(true, START);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_slots_of_an_engine_that_is_gone_are_free() {
        let pool = pool(2, 4);
        let ((mut gone, _), (other, woken)) = (join(&pool), join(&pool));
        fill(&mut gone, 0, START);
        gone.begin(host(9), Contact::Suspect, START);
        assert!(!other.ask(START));
        drop(gone);
        assert_eq!((woken.load(Ordering::Relaxed), other.busy(START)), (1, (0, 2)));
        assert!(other.reserve(START) && other.slots_for_suspects(START) == 3);
    }

    #[test]
    fn whatever_engines_do_no_more_is_in_progress_than_permitted_and_no_engine_starves() {
        for seed in 0..50 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (engines, workers, slow) = (rng.usize(2..6), rng.usize(1..12), rng.usize(0..6));
            let pool = pool(workers, slow);
            let mut members: Vec<_> = (0..engines).map(|_| join(&pool)).collect();
            let mut running: Vec<Vec<u32>> = vec![Vec::new(); engines];
            let mut begun = vec![0; engines];
            let (mut now, mut next, mut heard) = (START, 0, vec![0; engines]);
            for step in 0..2_000 {
                // those who were woken look soon
                let is_woken = |&n: &usize| members[n].1.load(Ordering::Relaxed) > heard[n];
                let first = rng.usize(0..engines);
                let woken = (0..engines).map(|n| (first + n) % engines).find(is_woken);
                let n = woken.unwrap_or(first);
                heard[n] = members[n].1.load(Ordering::Relaxed);
                let own = &mut members[n].0;
                if woken.is_none() && !running[n].is_empty() {
                    let at = rng.usize(0..running[n].len());
                    let ended = running[n].swap_remove(at);
                    assert!(own.end(host(ended), Kind::Page, 0, now) as usize <= workers + slow, "seed {seed}");
                }
                // all of them have work without end
                while own.reserve(now) {
                    next += 1;
                    own.begin(host(next), if rng.u8(0..8) == 0 { Contact::Suspect } else { KNOWN }, now);
                    running[n].push(next);
                    begun[n] += 1;
                }
                own.settle(true, now);
                let all: usize = running.iter().map(Vec::len).sum();
                assert!(all <= workers + slow, "seed {seed}, step {step}: {all} of {workers} and {slow}");
                let (busy, _) = members[0].0.busy(now);
                assert!(busy <= workers, "seed {seed}, step {step}: {busy} busy of {workers}");
                now = now + Duration::from_millis(rng.u64(0..200));
            }
            let all: usize = begun.iter().sum();
            assert!(begun.iter().all(|&begun| begun > all / engines / 4), "seed {seed}: {begun:?}");
        }
    }
}
