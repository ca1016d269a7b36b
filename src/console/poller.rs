//! The thread that asks a source for the state of its crawl each second, keeps the history, and informs all streams.
//!
//! The last state is in one place, from which each stream takes it at its own speed: a stream that is slow misses what
//! was in between, and nothing is kept for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use tokio::sync::watch;

use super::documents::State;
use super::history::{History, Point, STEP_MS};
use super::source::Source;
use crate::answers::Problem;
use crate::clock::{Clock, SystemClock};

/// The source is asked this often.
const EVERY: Duration = Duration::from_secs(1);

/// The last state and point that streams send.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    /// The state as JSON; empty before the first one.
    pub state: Bytes,
    /// The newest point as JSON, and its number; 0 before the first one.
    pub point: (u64, Bytes),
}

/// The thread, and the state that it publishes.
pub(super) struct Poller {
    pub shared: Shared,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The history and the last report, as the server has them.
#[derive(Clone)]
pub(super) struct Shared {
    history: Arc<Mutex<History>>,
    published: watch::Receiver<Published>,
}

impl Poller {
    /// Starts it.
    pub(crate) fn start(source: Arc<dyn Source>) -> std::io::Result<Poller> {
        let (publish, published) = watch::channel(Published::default());
        let history = Arc::<Mutex<History>>::default();
        let (stop, stopped) = bounded(0);
        let shared = Shared { history: history.clone(), published };
        let thread = thread::Builder::new().name("console-poller".to_owned());
        let thread = thread.spawn(move || run(&*source, &history, &publish, &stopped))?;
        Ok(Poller { shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Asks no more; streams end.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the console's thread for figures panicked");
        }
    }
}

fn run(source: &dyn Source, history: &Mutex<History>, publish: &watch::Sender<Published>, stopped: &Receiver<()>) {
    let clock = SystemClock::new();
    let mut points = 0;
    loop {
        let answer = source.state();
        let point = answer.as_ref().ok().and_then(|state| {
            let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
            take(&mut history, state, &clock)
        });
        publish.send_modify(|published| {
            published.state = json(&answer);
            if let Some(point) = point {
                points += 1;
                published.point = (points, point);
            }
        });
        match stopped.recv_timeout(EVERY) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

/// Takes figures into the history; a new point as JSON, where they make one.
fn take(history: &mut History, state: &State, clock: &dyn Clock) -> Option<Bytes> {
    let Some(live) = state.live.as_ref().filter(|_| state.running) else {
        history.pause();
        return None;
    };
    if !history.take(clock.now(), live) {
        return None;
    }
    let point: &Point = history.newest()?;
    serde_json::to_vec(point).ok().map(Bytes::from)
}

fn json(answer: &Result<State, Problem>) -> Bytes {
    let json = match answer {
        Ok(state) => serde_json::to_vec(state),
        Err(problem) => serde_json::to_vec(&serde_json::json!({ "error": problem.to_string() })),
    };
    json.map(Bytes::from).unwrap_or_default()
}

impl Shared {
    /// All points, as JSON.
    pub(crate) fn history(&self) -> serde_json::Value {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let points: Vec<&Point> = history.points().collect();
        serde_json::json!({ "step_ms": STEP_MS, "points": points })
    }

    /// Returns a receiver of all reports from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<Published> {
        self.published.clone()
    }
}
