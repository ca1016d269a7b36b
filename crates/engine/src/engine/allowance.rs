//! An engine's share in the limits of the whole crawl, where other machines have parts of them too. In a crawl of one
//! machine there is none.
//!
//! The limits are dealt out elsewhere. Here it is known how much was granted to the engine's shard in all, and the
//! engine never has more pages stored and in flight than that, those of its record and of a replay included. Bytes are
//! known only when they have come: no page is begun when as many have come as were granted. The engine asks nobody: it
//! says that it waits, goes on with what it has, and is woken when there is more.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Amounts that were granted in all; `None`: there is no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Pages.
    pub pages: Option<u64>,
    /// Bytes.
    pub bytes: Option<u64>,
}

impl Granted {
    /// Nothing, of both.
    pub const NOTHING: Granted = Granted { pages: Some(0), bytes: Some(0) };

    /// Returns whether an engine that has used `used` may begin one more page.
    pub fn permits(self, used: Used) -> bool {
        self.pages.is_none_or(|pages| used.taken < pages) && self.bytes.is_none_or(|bytes| used.bytes < bytes)
    }
}

/// Amounts that an engine has used of its allowance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Pages that are stored.
    pub stored: u64,
    /// These, and those in flight or reserved.
    pub taken: u64,
    /// Bytes that have come.
    pub bytes: u64,
    /// Something could be requested, and nothing was left for it when the engine looked last.
    pub waits: bool,
}

/// The allowance of one engine, as it knows it and as those know it who deal it out.
pub struct Allowance {
    state: Mutex<(Granted, Used)>,
    /// Called when the engine begins to wait. It must not block.
    ask: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allowance").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Allowance {
    /// Nothing yet; `ask` is called when the engine begins to wait for more, and must not block.
    pub fn new(ask: Box<dyn Fn() + Send + Sync>) -> Allowance {
        Allowance { state: Mutex::new((Granted::NOTHING, Used::default())), ask }
    }

    /// Sets what was granted in all. The engine has to be woken: it looks whether it still has to wait.
    pub fn grant(&self, granted: Granted) {
        self.state().0 = granted;
    }

    /// Returns what was granted, and what the engine has used.
    pub fn look(&self) -> (Granted, Used) {
        *self.state()
    }

    /// Takes back what the engine has not used, if it has done nothing since a checkpoint with this many pages: from
    /// now on no more is granted than the answer says.
    pub fn take_back(&self, pages: u64) -> Option<Granted> {
        let (granted, used) = &mut *self.state();
        if used.waits || used.taken != pages || used.stored != pages {
            return None;
        }
        let less = |granted: Option<u64>, used: u64| granted.map(|granted| granted.min(used));
        let kept = Granted { pages: less(granted.pages, pages), bytes: less(granted.bytes, used.bytes) };
        (kept != *granted).then(|| {
            *granted = kept;
            kept
        })
    }

    /// The engine has so many pages stored, so many with those in flight and reserved, and so many bytes.
    pub(super) fn settle(&self, stored: u64, taken: u64, bytes: u64) {
        let used = &mut self.state().1;
        (used.stored, used.taken, used.bytes) = (stored, taken, bytes);
    }

    /// Takes a page, if there is one.
    pub(super) fn take(&self) -> bool {
        let (granted, used) = &mut *self.state();
        let is_taken = granted.permits(*used);
        if is_taken {
            used.taken += 1;
            used.waits = false;
        }
        is_taken
    }

    /// A page that was taken is not begun.
    pub(super) fn untake(&self) {
        self.state().1.taken -= 1;
    }

    /// There is something, or not, that could be requested if there were a page for it.
    pub(super) fn wait(&self, waits: bool) {
        let began = {
            let used = &mut self.state().1;
            waits && !std::mem::replace(&mut used.waits, waits)
        };
        if began {
            (self.ask)();
        }
    }

    /// True if the engine waits for more than was granted.
    pub(super) fn waits(&self) -> bool {
        let (granted, used) = self.look();
        used.waits && !granted.permits(used)
    }

    fn state(&self) -> MutexGuard<'_, (Granted, Used)> {
        // every change is whole before the lock is given back
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn pages(pages: u64) -> Granted {
        Granted { pages: Some(pages), bytes: None }
    }

    #[test]
    fn no_more_is_taken_than_was_granted_and_the_wait_is_told_once() {
        let asked = Arc::new(AtomicU32::new(0));
        let asks = asked.clone();
        let allowance = Allowance::new(Box::new(move || _ = asks.fetch_add(1, Ordering::Relaxed)));
        assert!(!allowance.take(), "nothing is known yet");
        (0..3).for_each(|_| allowance.wait(true));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert!(allowance.waits());
        // four pages are of the record
        allowance.settle(4, 4, 0);
        allowance.grant(pages(6));
        assert!(!allowance.waits() && allowance.look().1.waits, "it has not looked");
        assert!(allowance.take() && allowance.take() && !allowance.take() && !allowance.waits());
        allowance.settle(5, 5, 0);
        assert!(allowance.take(), "one of them has failed");
        allowance.untake();
        allowance.grant(Granted { pages: None, bytes: Some(100) });
        allowance.settle(5, 5, 99);
        assert!(allowance.take());
        allowance.settle(6, 6, 150);
        assert!(!allowance.take());
    }

    #[test]
    fn only_an_engine_that_has_done_nothing_since_its_checkpoint_gives_back() {
        let allowance = Allowance::new(Box::new(|| {}));
        allowance.grant(pages(10));
        allowance.settle(4, 5, 0);
        assert_eq!(allowance.take_back(4), None, "a page is in flight");
        allowance.settle(5, 5, 0);
        assert_eq!(allowance.take_back(4), None, "one was stored since");
        assert_eq!(allowance.take_back(5), Some(pages(5)));
        assert_eq!(allowance.take_back(5), None, "there is no more");
        assert!(!allowance.take());
        allowance.grant(pages(7));
        allowance.wait(true);
        assert_eq!(allowance.take_back(5), None, "it is about to use it");
    }
}
