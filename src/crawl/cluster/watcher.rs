//! The thread that takes in what others have committed, and new seeds: what this needs from the store it waits for
//! there, and the directing thread waits for nobody.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::lists::Lists;
use crate::crawl::CrawlError;
use crate::crawl::threads::no_thread;
use crate::exchange::UpTo;
use crate::node::Grounds;

/// Time between two looks around.
const TICK: Duration = Duration::from_millis(250);
/// Time for which the end of a node waits for the thread, where the store does not answer it.
const END_WAIT: Duration = Duration::from_secs(1);

/// The thread, and what it has taken in.
pub(super) struct Watcher {
    shared: Arc<Shared>,
    /// Rings when something was taken in.
    pub news: Receiver<()>,
    thread: JoinHandle<()>,
}

struct Shared {
    /// The lines of all lists of seeds.
    lines: Mutex<Arc<[u8]>>,
    is_over: AtomicBool,
}

impl Watcher {
    /// Starts the thread, from what `lists` has taken in.
    pub(crate) fn start(grounds: Grounds, lists: Lists) -> Result<Watcher, CrawlError> {
        let (bell, news) = bounded(1);
        let shared = Arc::new(Shared { lines: Mutex::new(lists.lines()), is_over: AtomicBool::new(false) });
        let told = shared.clone();
        let work = move || watch(&grounds, lists, &told, &bell);
        let thread = thread::Builder::new().name("heads".to_owned()).spawn(work);
        Ok(Watcher { shared, news, thread: thread.map_err(no_thread)? })
    }

    /// The lines of all lists of seeds that were taken in.
    pub(crate) fn lines(&self) -> Arc<[u8]> {
        self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the thread, and waits for it: for as long as it takes where the node goes on, since the next session opens
    /// the same list of seeds.
    pub(crate) fn end(self, goes_on: bool) {
        self.shared.is_over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let began = Instant::now();
        while !goes_on && !self.thread.is_finished() && began.elapsed() < END_WAIT {
            thread::sleep(Duration::from_millis(10));
        }
        if goes_on || self.thread.is_finished() {
            // what it has panicked with was reported
            let _ = self.thread.join();
        }
    }
}

fn watch(grounds: &Grounds, mut lists: Lists, shared: &Shared, bell: &Sender<()>) {
    let mut seen = UpTo::NOTHING;
    while !shared.is_over.load(Ordering::Acquire) {
        // one view for both: what is said to be read must have been taken in
        let known = grounds.ownership.heads();
        match grounds.with_eras(|eras| lists.take(eras, grounds.era, &known)) {
            Ok(false) => {}
            Ok(true) => *shared.lines.lock().unwrap_or_else(PoisonError::into_inner) = lists.lines(),
            Err(error) => tracing::warn!("a list of seeds waits: {error}"),
        }
        // seeds of a list that could not be read are not covered by a revision that is reported
        let is_whole = known.seeds.len() == lists.taken() as usize;
        match is_whole.then(|| grounds.heads.refresh(&known, lists.seeds(), lists.again())) {
            Some(Ok(())) if known.known > seen => {
                seen = known.known;
                // one that is full has rung
                let _ = bell.try_send(());
            }
            Some(Err(error)) => tracing::warn!("heads of other shards wait: {error}"),
            _ => {}
        }
        thread::park_timeout(TICK);
    }
}
