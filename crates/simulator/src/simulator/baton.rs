//! Work that waits, in virtual time: a separate thread each, of which one runs at a time.
//!
//! Shipping a checkpoint asks the store and the registry many times, and other nodes go on between two of these calls.
//! So such work is a [`Course`]: it runs until it passes its turn ([`pass`]), and goes on when the simulator says so.
//! There is one runner at any moment, and who it is follows from virtual time alone; so a seed stays a seed.

use std::cell::{Cell, RefCell};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

thread_local! {
    static TURN: RefCell<Option<Turn>> = const { RefCell::new(None) };
}

/// The side of the work.
struct Turn {
    pass: Box<dyn Fn(Duration) -> bool>,
    is_dead: Cell<bool>,
}

/// Outcome of a turn of a piece of work.
pub(super) enum Step<T> {
    /// It goes on after this long.
    Waits(Duration),
    /// It is done.
    Done(T),
}

/// Work that is in progress. Where it is dropped, its process is gone: every call that it still makes fails, and it is
/// waited for.
pub(super) struct Course<T> {
    steps: Receiver<Step<T>>,
    go_on: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Course<T> {
    /// Begins with the work, which runs when it is resumed.
    pub(super) fn begin(work: impl FnOnce() -> T + Send + 'static) -> Course<T> {
        let (told, steps): (SyncSender<Step<T>>, _) = sync_channel(1);
        let (go_on, goes): (Sender<()>, Receiver<()>) = channel();
        let thread = thread::spawn(move || {
            let is_dead = Cell::new(goes.recv().is_err());
            let tell = told.clone();
            let pass = move |time| tell.send(Step::Waits(time)).is_ok() && goes.recv().is_ok();
            TURN.set(Some(Turn { pass: Box::new(pass), is_dead }));
            let done = work();
            TURN.set(None);
            // nobody hears it whose process is gone
            let _ = told.send(Step::Done(done));
        });
        Course { steps, go_on: Some(go_on), thread: Some(thread) }
    }

    /// Lets it run until it waits, or is done.
    pub(super) fn go_on(&mut self) -> Step<T> {
        if let Some(go_on) = &self.go_on {
            let _ = go_on.send(());
        }
        self.steps.recv().expect("work tells what it comes to; a panic of it is told with its seed")
    }
}

impl<T> Drop for Course<T> {
    fn drop(&mut self) {
        self.go_on = None;
        while self.steps.recv().is_ok() {}
        // what it has panicked with is reported where it is waited for
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Passes the turn for this long; at once on the thread that directs, whose steps take no time.
pub(super) fn pass(time: Duration) {
    TURN.with_borrow(|turn| {
        let Some(turn) = turn.as_ref().filter(|turn| !turn.is_dead.get()) else { return };
        if !(turn.pass)(time) {
            turn.is_dead.set(true);
        }
    });
}

/// Returns whether the work that runs here waits in virtual time.
pub(super) fn can_wait() -> bool {
    TURN.with_borrow(|turn| turn.as_ref().is_some_and(|turn| !turn.is_dead.get()))
}

/// Returns whether the process of the work that runs here is gone.
pub(super) fn is_dead() -> bool {
    TURN.with_borrow(|turn| turn.as_ref().is_some_and(|turn| turn.is_dead.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_when_it_is_told_to_and_dies_with_its_process() {
        let mut course = Course::begin(|| {
            assert!(can_wait());
            pass(Duration::from_secs(3));
            pass(Duration::from_secs(4));
            7
        });
        assert!(matches!(course.go_on(), Step::Waits(time) if time == Duration::from_secs(3)));
        assert!(matches!(course.go_on(), Step::Waits(time) if time == Duration::from_secs(4)));
        assert!(matches!(course.go_on(), Step::Done(7)));
        let (told, heard) = channel();
        let mut course = Course::begin(move || {
            pass(Duration::ZERO);
            told.send((is_dead(), can_wait())).unwrap();
            pass(Duration::from_secs(1));
        });
        let _ = course.go_on();
        drop(course);
        assert_eq!(heard.recv().unwrap(), (true, false));
        // one that was never told to go on
        drop(Course::begin(|| assert!(is_dead())));
        assert!(!can_wait() && !is_dead());
    }
}
