//! Signals: the first SIGINT or SIGTERM stops gracefully, the second at once; SIGUSR1 makes a checkpoint.
//!
//! While a crawl is being opened and replayed the first one ends the process at once too: there is nothing new to keep,
//! and the next start does the same work again from the same checkpoint.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam_channel::Sender;
use tokio::signal::unix::{SignalKind, signal};

use crate::engine::{Event, StopBy};

/// Exit code of a graceful stop, here of one before anything was begun.
const STOPPED: i32 = 11;
/// Exit code of a stop that a second signal forced.
const FORCED: i32 = 13;

/// Listens for signals on a thread of its own, for as long as the process lives. `is_up` tells whether the engine takes
/// events in.
pub(super) fn listen(events: Sender<Event>, is_up: Arc<AtomicBool>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(wait(events, &is_up)))?;
    Ok(())
}

async fn wait(events: Sender<Event>, is_up: &AtomicBool) {
    let streams =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::user_defined1()));
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut checkpoint)) = streams else {
        tracing::warn!("signals cannot be watched: a stop will not be graceful");
        return;
    };
    let mut stopping = false;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = checkpoint.recv() => {
                let _ = events.send(Event::Checkpoint);
                continue;
            }
        }
        if stopping {
            tracing::warn!("stopped at once; the next run takes back in what was stored since the last checkpoint");
            std::process::exit(FORCED);
        }
        if !is_up.load(Ordering::Acquire) {
            tracing::warn!(
                "stopped while starting; nothing was requested, and the next start begins where this one did"
            );
            std::process::exit(STOPPED);
        }
        stopping = true;
        tracing::warn!("stopping: requests under way may finish; once more stops at once");
        let _ = events.send(Event::Stop(StopBy::Signal));
    }
}
