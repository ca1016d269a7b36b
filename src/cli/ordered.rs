//! Work on many things at once whose results come in the order of the things.
//!
//! What is in progress is bounded by number and by bytes, so a slow thing holds back what comes behind it instead of
//! piling it up. Work that panics gives no result, and the rest goes on.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Scope};

use crossbeam_channel::{Receiver, Sender, bounded};

/// Things in progress a thread.
const THINGS_A_THREAD: usize = 4;
/// Bytes of the things in progress; a single one may have more.
const BYTES_MAX: usize = 64 << 20;

/// Things that are worked on by the threads of a scope.
pub(super) struct Ordered<T, R> {
    jobs: Sender<(T, Sender<R>)>,
    waiting: VecDeque<Waiting<R>>,
    bytes: usize,
    things_max: usize,
}

struct Waiting<R> {
    name: String,
    bytes: usize,
    result: Receiver<R>,
}

/// A result with the name of its thing; none where the work panicked.
pub(super) type Named<R> = (String, Option<R>);

impl<T: Send, R: Send> Ordered<T, R> {
    /// Starts a thread a core; they end when this is dropped.
    pub(super) fn start<'scope>(scope: &'scope Scope<'scope, '_>, work: &'scope (dyn Fn(T) -> R + Sync)) -> Self
    where
        T: 'scope,
        R: 'scope,
    {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let things_max = threads * THINGS_A_THREAD;
        let (jobs, todo) = bounded::<(T, Sender<R>)>(things_max);
        for _ in 0..threads {
            let todo = todo.clone();
            scope.spawn(move || {
                for (thing, result) in todo {
                    if let Ok(done) = catch_unwind(AssertUnwindSafe(|| work(thing))) {
                        // nobody may wait for it any more
                        let _ = result.send(done);
                    }
                }
            });
        }
        Ordered { jobs, waiting: VecDeque::new(), bytes: 0, things_max }
    }

    /// Hands over a thing of this many bytes, and returns the results for which there is no more room, oldest first.
    pub(super) fn push(&mut self, name: String, bytes: usize, thing: T) -> Vec<Named<R>> {
        let mut done = Vec::new();
        while self.waiting.len() >= self.things_max || (self.bytes + bytes > BYTES_MAX && !self.waiting.is_empty()) {
            done.extend(self.next());
        }
        let (sender, result) = bounded(1);
        self.jobs.send((thing, sender)).expect("the threads live as long as the channel");
        self.bytes += bytes;
        self.waiting.push_back(Waiting { name, bytes, result });
        done
    }

    /// The oldest result, as soon as it is there; none where nothing is in progress.
    pub(super) fn next(&mut self) -> Option<Named<R>> {
        let Waiting { name, bytes, result } = self.waiting.pop_front()?;
        self.bytes -= bytes;
        Some((name, result.recv().ok()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn squares(things: &[usize], work: &(dyn Fn(usize) -> usize + Sync)) -> Vec<Named<usize>> {
        thread::scope(|scope| {
            let mut ordered = Ordered::start(scope, work);
            let mut done = Vec::new();
            for &thing in things {
                done.extend(ordered.push(thing.to_string(), thing, thing));
            }
            done.extend(std::iter::from_fn(|| ordered.next()));
            done
        })
    }

    #[test]
    fn results_come_in_the_order_of_the_things() {
        let things: Vec<usize> = (0..500).map(|n| n * 7_919 % 500).collect();
        let work = |n: usize| (0..n * 50).fold(n * n, |square, _| std::hint::black_box(square));
        let expected: Vec<_> = things.iter().map(|n| (n.to_string(), Some(n * n))).collect();
        assert_eq!(squares(&things, &work), expected);
    }

    #[test]
    fn work_that_panics_has_no_result_and_the_rest_goes_on() {
        let work = |n: usize| if n.is_multiple_of(3) { panic!("as it should") } else { n };
        let done = squares(&[1, 2, 3, 4, 6, 7], &work);
        let found: Vec<_> = done.into_iter().map(|(_, result)| result).collect();
        assert_eq!(found, [Some(1), Some(2), None, Some(4), None, Some(7)]);
    }

    #[test]
    fn large_things_are_not_piled_up() {
        let (under_way, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            let work = |n: usize| n;
            let work: &(dyn Fn(usize) -> usize + Sync) = Box::leak(Box::new(work));
            let mut ordered = Ordered::start(scope, work);
            for n in 0..50 {
                let done = ordered.push(String::new(), BYTES_MAX / 2, n).len();
                let now = under_way.fetch_add(1, Ordering::Relaxed) + 1 - done;
                under_way.fetch_sub(done, Ordering::Relaxed);
                most.fetch_max(now, Ordering::Relaxed);
            }
        });
        assert!(most.into_inner() <= 2);
    }
}
