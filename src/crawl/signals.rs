//! Signals: the first SIGINT or SIGTERM stops gracefully, the second at once; SIGUSR1 makes a checkpoint.

use std::io;
use std::thread;

use crossbeam_channel::Sender;
use tokio::signal::unix::{SignalKind, signal};

use crate::engine::Event;

/// Exit code of a stop that a second signal forced.
const FORCED: i32 = 13;

/// Listens for signals on a thread of its own, for as long as the process lives.
pub(super) fn listen(events: Sender<Event>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(wait(events)))?;
    Ok(())
}

async fn wait(events: Sender<Event>) {
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
        stopping = true;
        tracing::warn!("stopping: requests under way may finish; once more stops at once");
        let _ = events.send(Event::Stop);
    }
}
