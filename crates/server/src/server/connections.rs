//! A bounded number of connections to this process, of which the one that has idled longest gives way to a new one.
//!
//! Anyone who opens connections and says nothing takes up places, and keeps nobody else out: a new connection is always
//! taken in, unless all places belong to connections that asked to stay. The servers of the control socket, of the
//! metrics and of the console take theirs in here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// The connections that are open, the oldest one first.
#[derive(Debug)]
pub struct Connections {
    max: usize,
    open: VecDeque<Open>,
    tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Open {
    task: AbortHandle,
    stays: Arc<AtomicBool>,
}

/// A handle by which a connection reports its state.
#[derive(Clone, Debug, Default)]
pub struct ConnectionHandle(Arc<AtomicBool>);

impl ConnectionHandle {
    /// Keeps the connection from being closed for another one, from here on.
    pub fn stay(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the connection is not closed for another one.
    pub fn stays(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Lets it be closed for another one again, from here on.
    pub fn may_go(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Connections {
    /// No more than `max` of them.
    pub fn new(max: usize) -> Self {
        Connections { max, open: VecDeque::new(), tasks: JoinSet::new() }
    }

    /// Returns whether another connection can be taken in.
    pub fn has_place(&mut self) -> bool {
        self.open.retain(|open| !open.task.is_finished());
        self.open.len() < self.max || self.idle().is_some()
    }

    /// Takes a connection in: `converse` makes what it does. With all places taken, the oldest one that may go is
    /// closed.
    pub fn take_in<F>(&mut self, converse: impl FnOnce(ConnectionHandle) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.open.retain(|open| !open.task.is_finished());
        if self.open.len() >= self.max
            && let Some(oldest) = self.idle().and_then(|at| self.open.remove(at))
        {
            oldest.task.abort();
        }
        let stays = Arc::new(AtomicBool::new(false));
        let task = self.tasks.spawn(converse(ConnectionHandle(stays.clone())));
        self.open.push_back(Open { task, stays });
    }

    /// Waits until one of them has ended; for ever where there is none.
    pub async fn end_of_one(&mut self) {
        if self.tasks.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until all of them have ended.
    pub async fn end_of_all(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn idle(&self) -> Option<usize> {
        self.open.iter().position(|open| !open.stays.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    /// A connection that says nothing until it is closed, and whether it stays then.
    fn silent(connections: &mut Connections, stays: bool) -> oneshot::Receiver<()> {
        let (held, gone) = oneshot::channel();
        connections.take_in(|place| async move {
            if stays {
                place.stay();
            }
            std::future::pending::<()>().await;
            drop(held);
        });
        gone
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test);
    }

    #[test]
    fn n24_the_oldest_idle_connection_gives_way_to_a_new_one() {
        run(async {
            let mut connections = Connections::new(3);
            let mut open: Vec<_> = (0..3).map(|_| silent(&mut connections, false)).collect();
            for _ in 0..5 {
                assert!(connections.has_place());
                open.push(silent(&mut connections, false));
                connections.end_of_one().await;
                assert!(open.remove(0).await.is_err(), "the oldest one is closed");
                assert!(open.iter_mut().all(|open| open.try_recv() == Err(oneshot::error::TryRecvError::Empty)));
            }
        });
    }

    #[test]
    fn n24_a_connection_that_was_told_to_stay_is_not_closed_for_another_one() {
        run(async {
            let mut connections = Connections::new(2);
            let mut first = silent(&mut connections, true);
            let idle = silent(&mut connections, false);
            // what they say of themselves, they say when they run
            tokio::task::yield_now().await;
            let mut third = silent(&mut connections, true);
            connections.end_of_one().await;
            assert!(idle.await.is_err());
            tokio::task::yield_now().await;
            assert!(!connections.has_place());
            for open in [&mut first, &mut third] {
                assert_eq!(open.try_recv(), Err(oneshot::error::TryRecvError::Empty));
            }
        });
    }
}
