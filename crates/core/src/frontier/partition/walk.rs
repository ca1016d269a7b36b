//! The walk over the hosts of a base: where it goes on, and when it may find one.

use super::key::HostKey;
use super::take::TakeDone;
use crate::clock::Time;
use crate::frontier::policy::TakePolicy;

/// Walks over the hosts of one base, round and round.
#[derive(Debug, Default)]
pub(in crate::frontier) struct Walk {
    /// The host after which it goes on.
    pub rover: Option<HostKey>,
    /// Time at which it may find a host; `None` when it needs another event first.
    wake: Option<Time>,
    /// Time before which it is not begun, as the last one found too few.
    not_before: Time,
    /// True if hosts wait until others of their domain have nothing to do.
    is_blocked: bool,
    /// True if a host of the partition has had nothing more to do since the last walk was planned.
    freed: bool,
    /// True if walks passed over hosts whose domain rests until the next round.
    rests: bool,
}

impl Walk {
    /// Returns the time at which it may find a host.
    pub(in crate::frontier) fn due(&self) -> Option<Time> {
        self.wake.map(|wake| wake.max(self.not_before))
    }

    /// Returns whether it may be begun at `now`, when a take is made for other reasons.
    pub(in crate::frontier) fn may_begin(&self, now: Time) -> bool {
        self.not_before <= now
    }

    /// A host may be found at `time`, if not before.
    pub(in crate::frontier) fn wake_at(&mut self, time: Time) {
        self.wake = Some(self.wake.map_or(time, |before| before.min(time)));
    }

    /// Looks for no host before `time`.
    pub(in crate::frontier) fn sleep_until(&mut self, time: Time) {
        self.wake = Some(time);
    }

    /// Hosts wait until others of their domain have nothing to do.
    pub(in crate::frontier) fn block(&mut self) {
        self.is_blocked = true;
    }

    /// A host of the partition has nothing to do from `now` on: one that waits for that may have its place.
    pub(in crate::frontier) fn host_is_idle(&mut self, now: Time) {
        self.freed = true;
        if std::mem::take(&mut self.is_blocked) {
            self.wake = Some(now);
        }
    }

    /// Begins a walk, which will say when there is more. Until then only domains that are held back are waited for,
    /// until `held_until`.
    pub(in crate::frontier) fn begin(&mut self, held_until: Option<Time>) {
        (self.wake, self.freed) = (held_until, false);
    }

    /// A take of a base of `hosts` is over.
    pub(in crate::frontier) fn end(&mut self, done: &TakeDone, hosts: u64, now: Time) {
        self.rover = done.rover;
        if done.all_around {
            self.not_before = TakePolicy::walk_again(hosts, now);
        }
        // What left the active side while the take was out was not considered by it.
        let freed = (done.blocked && self.freed).then_some(now);
        self.wake = [self.wake, done.wake, freed].into_iter().flatten().min();
        self.is_blocked |= done.blocked;
        self.rests |= done.rests;
    }

    /// Returns whether hosts were passed over since the round began because their domain had used it up.
    pub(in crate::frontier) fn has_resting(&self) -> bool {
        self.rests
    }

    /// A round begins: those that were passed over may be found.
    pub(in crate::frontier) fn round_begins(&mut self, now: Time) {
        if std::mem::take(&mut self.rests) {
            self.wake_at(now);
        }
    }

    /// The base was replaced at `now` by one that has URLs or not.
    pub(in crate::frontier) fn base_replaced(&mut self, has_urls: bool, now: Time) {
        self.wake = has_urls.then_some(now);
        (self.is_blocked, self.rests) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_ms(ms)
    }

    fn done(wake: Option<Time>, blocked: bool, all_around: bool) -> TakeDone {
        TakeDone { taken: Vec::new(), rover: None, wake, all_around, blocked, rests: false }
    }

    #[test]
    fn a_walk_is_due_when_something_may_be_found_and_not_sooner() {
        type Step = fn(&mut Walk);
        let rows: &[(&str, &[Step], Option<Time>)] = &[
            ("at first nothing is known", &[], None),
            (
                "the earliest event counts",
                &[|w| w.wake_at(at(9)), |w| w.wake_at(at(5)), |w| w.wake_at(at(7))],
                Some(at(5)),
            ),
            ("hosts that found no place wait", &[|w| w.wake_at(at(5)), |w| w.sleep_until(at(9))], Some(at(9))),
            ("what begins forgets what was", &[|w| w.wake_at(at(5)), |w| w.begin(None)], None),
            ("but not domains that are held back", &[|w| w.wake_at(at(5)), |w| w.begin(Some(at(8)))], Some(at(8))),
            (
                "what it finds out counts",
                &[|w| w.begin(Some(at(8))), |w| w.end(&done(Some(at(6)), false, false), 9, at(1))],
                Some(at(6)),
            ),
            (
                "what comes up meanwhile too",
                &[|w| w.begin(None), |w| w.wake_at(at(3)), |w| w.end(&done(Some(at(6)), false, false), 9, at(1))],
                Some(at(3)),
            ),
            (
                "one that found too few is not repeated at once",
                &[|w| w.begin(None), |w| w.end(&done(Some(at(2)), false, true), 300, at(1))],
                Some(at(4)),
            ),
            ("a host that rests wakes nobody", &[|w| w.host_is_idle(at(3))], None),
            ("but those that wait for it", &[|w| w.block(), |w| w.host_is_idle(at(3))], Some(at(3))),
            ("once", &[|w| w.block(), |w| w.host_is_idle(at(3)), |w| w.begin(None), |w| w.host_is_idle(at(5))], None),
            (
                "those that a walk passed over too",
                &[|w| w.begin(None), |w| w.end(&done(None, true, false), 9, at(1)), |w| w.host_is_idle(at(3))],
                Some(at(3)),
            ),
            (
                "also where it came to rest during the walk",
                &[|w| w.begin(None), |w| w.host_is_idle(at(1)), |w| w.end(&done(None, true, false), 9, at(2))],
                Some(at(2)),
            ),
            (
                "not where it did before",
                &[|w| w.host_is_idle(at(1)), |w| w.begin(None), |w| w.end(&done(None, true, false), 9, at(2))],
                None,
            ),
            ("a new base is looked at", &[|w| w.wake_at(at(9)), |w| w.base_replaced(true, at(4))], Some(at(4))),
            ("an empty one is not", &[|w| w.wake_at(at(9)), |w| w.base_replaced(false, at(4))], None),
            (
                "nobody waits in a new base",
                &[|w| w.block(), |w| w.base_replaced(false, at(4)), |w| w.host_is_idle(at(5))],
                None,
            ),
        ];
        for (reason, steps, expected) in rows {
            let mut walk = Walk::default();
            steps.iter().for_each(|step| step(&mut walk));
            assert_eq!(walk.due(), *expected, "{reason}");
        }
    }
}
