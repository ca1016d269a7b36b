//! The time for which this process may act for its shards: an atomic deadline.
//!
//! Three rules make it safe, whatever stops the process, the machine or the network:
//!
//! - The time runs from the moment at which a renewal was *sent*, not from the moment of its answer: the server counts
//!   from a moment between the two. It ends by a margin before the server's.
//! - It runs by a clock that goes on while the machine sleeps ([`Clocks::boot`]).
//! - A wall clock that has gone [`JUMP`] further than that clock shows that the machine was suspended. The lease counts
//!   as ended then, until a renewal that was sent after this was noticed has succeeded.
//!
//! A lease that the server has dropped is lost for ever ([`Lease::lose`]): what was claimed under it is claimed again
//! under another one.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::clocks::{Clocks, Micros};

/// Wall clocks are slewed and set by less than this between two renewals.
pub(crate) const JUMP: Duration = Duration::from_secs(2);

/// One lease of the registry.
#[derive(Debug)]
pub struct Lease {
    clocks: Arc<dyn Clocks>,
    margin: Micros,
    /// End of the lease by the boot clock. 0 where it has ended.
    deadline: AtomicU64,
    /// Wall clock less boot clock when the renewal was sent from which the deadline is counted.
    offset: AtomicI64,
    is_lost: AtomicBool,
    /// Time at which a jump of the wall clock was noticed last. Renewals sent before do not count.
    jumped: Mutex<Option<Micros>>,
}

/// The moment at which a renewal is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    boot: Micros,
    wall: Micros,
}

impl Sent {
    /// The present moment.
    pub(crate) fn now(clocks: &dyn Clocks) -> Sent {
        // in this order: a pause between the two looks like a jump, and ends the lease too early rather than too late
        let boot = clocks.boot();
        Sent { boot, wall: clocks.wall() }
    }

    fn offset(self) -> i64 {
        self.wall.wrapping_sub(self.boot).cast_signed()
    }
}

impl Lease {
    /// A lease that does not hold before its first renewal, or granting, is reported.
    pub(crate) fn new(clocks: Arc<dyn Clocks>, margin: Duration) -> Lease {
        Lease {
            clocks,
            margin: micros(margin),
            deadline: AtomicU64::new(0),
            offset: AtomicI64::new(0),
            is_lost: AtomicBool::new(false),
            jumped: Mutex::new(None),
        }
    }

    /// The moment at which a renewal is sent now.
    pub(crate) fn sending(&self) -> Sent {
        Sent::now(&*self.clocks)
    }

    /// The renewal that was sent then has succeeded, for this long; says whether it counts.
    pub(crate) fn renewed(&self, sent: Sent, lasts: Duration) -> bool {
        let jumped = self.jumped.lock().unwrap_or_else(PoisonError::into_inner);
        if jumped.is_some_and(|at| sent.boot <= at) {
            return false;
        }
        let deadline = (sent.boot + micros(lasts)).saturating_sub(self.margin);
        if deadline <= self.deadline.load(Ordering::Relaxed) {
            return false;
        }
        // the offset first: who sees the new deadline sees it too
        self.offset.store(sent.offset(), Ordering::Release);
        self.deadline.store(deadline, Ordering::Release);
        true
    }

    /// The server does not know the lease any more.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
        self.deadline.store(0, Ordering::Release);
    }

    /// Returns whether the server has dropped it.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Returns whether a request may be started now. Reads two clocks and two numbers.
    pub(crate) fn holds(&self) -> bool {
        let deadline = self.deadline.load(Ordering::Acquire);
        let now = Sent::now(&*self.clocks);
        if now.boot >= deadline || self.is_lost() {
            return false;
        }
        let further = now.offset().saturating_sub(self.offset.load(Ordering::Acquire));
        if further > micros(JUMP).cast_signed() {
            self.end(now);
            return false;
        }
        true
    }

    /// Returns how long it holds from now on, as far as is known.
    #[cfg(test)]
    pub(crate) fn left(&self) -> Duration {
        if !self.holds() {
            return Duration::ZERO;
        }
        Duration::from_micros(self.deadline.load(Ordering::Acquire).saturating_sub(self.clocks.boot()))
    }

    /// The clocks were stopped at some time before `now`.
    fn end(&self, now: Sent) {
        let mut jumped = self.jumped.lock().unwrap_or_else(PoisonError::into_inner);
        // a renewal may have come in meanwhile that was sent after the jump
        if now.offset().saturating_sub(self.offset.load(Ordering::Acquire)) > micros(JUMP).cast_signed() {
            *jumped = Some(now.boot);
            self.deadline.store(0, Ordering::Release);
        }
    }
}

/// The right to act for one shard: by a lease, and as long as the claim itself is there.
#[derive(Debug, Default)]
pub struct Hold {
    /// None where nobody else can have the shard.
    lease: Option<Arc<Lease>>,
    is_dropped: AtomicBool,
}

impl Hold {
    /// Makes the hold of a claim under this lease.
    pub(crate) fn under(lease: Arc<Lease>) -> Hold {
        Hold { lease: Some(lease), is_dropped: AtomicBool::new(false) }
    }

    /// Returns whether a request for the shard may be started now.
    pub(crate) fn holds(&self) -> bool {
        !self.is_dropped.load(Ordering::Acquire) && self.lease.as_ref().is_none_or(|lease| lease.holds())
    }

    /// Returns whether the claim is gone for ever: the shard has to be dropped, and claimed again.
    pub fn is_lost(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire) || self.lease.as_ref().is_some_and(|lease| lease.is_lost())
    }

    /// The claim is given up, or gone.
    pub fn drop_claim(&self) {
        self.is_dropped.store(true, Ordering::Release);
    }
}

fn micros(time: Duration) -> Micros {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Micros = 1_000_000;
    const LASTS: Duration = Duration::from_secs(20);

    #[derive(Debug, Default)]
    struct ManualClocks {
        boot: AtomicU64,
        wall: AtomicU64,
    }

    impl Clocks for ManualClocks {
        fn boot(&self) -> Micros {
            self.boot.load(Ordering::Relaxed)
        }

        fn wall(&self) -> Micros {
            self.wall.load(Ordering::Relaxed)
        }
    }

    impl ManualClocks {
        fn advance(&self, time: Micros) {
            self.boot.fetch_add(time, Ordering::Relaxed);
            self.wall.fetch_add(time, Ordering::Relaxed);
        }
    }

    fn lease() -> (Arc<ManualClocks>, Lease) {
        let hands = Arc::new(ManualClocks { boot: AtomicU64::new(1_000 * S), wall: AtomicU64::new(1_700_000_000 * S) });
        (hands.clone(), Lease::new(hands, Duration::from_secs(5)))
    }

    #[test]
    fn a_lease_ends_by_its_margin_before_the_time_counted_from_the_sending() {
        let (hands, lease) = lease();
        assert!(!lease.holds(), "nothing was granted yet");
        let sent = lease.sending();
        // the answer takes ten seconds: they are gone
        hands.advance(10 * S);
        assert!(lease.renewed(sent, LASTS) && lease.holds());
        assert_eq!(lease.left(), Duration::from_secs(5));
        hands.advance(5 * S - 1);
        assert!(lease.holds());
        hands.advance(1);
        assert!(!lease.holds() && !lease.is_lost());
        // a renewal that the server took in time goes on with it
        assert!(lease.renewed(lease.sending(), LASTS) && lease.holds());
    }

    #[test]
    fn an_answer_that_comes_late_does_not_shorten_a_lease() {
        let (hands, lease) = lease();
        let (first, second) = (lease.sending(), {
            hands.advance(3 * S);
            lease.sending()
        });
        assert!(lease.renewed(second, LASTS));
        assert!(!lease.renewed(first, LASTS));
        assert_eq!(lease.left(), Duration::from_secs(15));
    }

    #[test]
    fn clocks_that_stood_still_end_a_lease_until_a_renewal_sent_after_that() {
        let (hands, lease) = lease();
        lease.renewed(lease.sending(), LASTS);
        hands.advance(S);
        hands.wall.fetch_add(1_900_000, Ordering::Relaxed);
        assert!(lease.holds(), "so far a clock is set by people");
        let before = lease.sending();
        hands.wall.fetch_add(200_000, Ordering::Relaxed);
        assert!(!lease.holds());
        // setting the wall clock back does not bring it back, nor does what was sent before it was noticed
        hands.wall.fetch_sub(2_100_000, Ordering::Relaxed);
        assert!(!lease.holds() && !lease.renewed(before, LASTS) && !lease.holds());
        hands.advance(1);
        assert!(lease.renewed(lease.sending(), LASTS) && lease.holds());
    }

    #[test]
    fn a_renewal_that_was_sent_before_the_clocks_stood_still_is_found_out() {
        let (hands, lease) = lease();
        lease.renewed(lease.sending(), LASTS);
        let sent = lease.sending();
        hands.wall.fetch_add(60 * S, Ordering::Relaxed);
        hands.advance(10);
        // nobody asked meanwhile
        lease.renewed(sent, LASTS);
        assert!(!lease.holds());
    }

    #[test]
    fn a_wall_clock_that_is_set_back_changes_nothing() {
        let (hands, lease) = lease();
        lease.renewed(lease.sending(), LASTS);
        hands.wall.fetch_sub(86_400 * S, Ordering::Relaxed);
        assert!(lease.holds());
        hands.advance(15 * S);
        assert!(!lease.holds());
    }

    #[test]
    fn what_is_lost_stays_lost_and_a_dropped_claim_leaves_the_lease_alone() {
        let (hands, lease) = lease();
        let lease = Arc::new(lease);
        lease.renewed(lease.sending(), LASTS);
        let (one, other) = (Hold::under(lease.clone()), Hold::under(lease.clone()));
        one.drop_claim();
        assert!(!one.holds() && one.is_lost() && other.holds() && !other.is_lost());
        lease.lose();
        hands.advance(S);
        lease.renewed(lease.sending(), LASTS);
        assert!(!lease.holds() && !other.holds() && other.is_lost());
        assert!(Hold::default().holds());
    }

    #[test]
    fn the_clock_of_the_machine_goes_on() {
        let clocks = super::super::clocks::SystemClocks;
        let (boot, wall) = (clocks.boot(), clocks.wall());
        assert!(boot > 0 && wall > 1_600_000_000 * S);
        assert!(clocks.boot() >= boot);
    }
}
