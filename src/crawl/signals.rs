//! Signals: the first SIGINT or SIGTERM stops gracefully, the second at once; SIGUSR1 makes a checkpoint.
//!
//! SIGUSR1 ends no process that begins a crawl: before anything is opened it is ignored, and while the crawl is being
//! opened it is remembered. SIGXFSZ ends none at all: a file that grows beyond the limit (`ulimit -f`) is an error of
//! that write, as a full disk is.
//!
//! While a crawl is being opened and replayed the first one ends the process at once too: there is nothing new to keep,
//! and the next start does the same work again from the same checkpoint.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use super::CrawlError;
use crate::engine::{EngineAddress, Event, StopBy};

/// Exit code of a graceful stop, here of one before anything was begun.
const STOPPED: i32 = 11;
/// Exit code of a stop that a second signal forced.
const FORCED: i32 = 13;

/// Makes a write beyond the limit of file sizes fail with EFBIG from here on, where the signal would end the process.
pub(crate) fn survive_file_limit() -> io::Result<()> {
    hold(SignalKind::from_raw(Signal::XFSZ.as_raw()))
}

/// Keeps SIGUSR1 from ending the process from here on; [`listen`] heeds it.
pub(crate) fn survive_checkpoint_signal() -> io::Result<()> {
    hold(SignalKind::user_defined1())
}

/// Waits until somebody wants this process to end, which has no crawl to stop.
pub(crate) fn wait_for_interrupt() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(())
    })
}

/// Replaces what a signal does by default. It is a handler that stays, since the runtime's does.
fn hold(kind: SignalKind) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    signal(kind).map(drop)
}

/// The signals of a process that has no engines at times.
pub(super) struct Signals {
    /// Events that they ask for.
    pub events: Receiver<Event>,
    /// Kept, so that the channel is open also where signals cannot be handled.
    _asked: Sender<Event>,
    is_up: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on. Until somebody takes the events in, the first one ends the process.
    pub(crate) fn listen() -> Result<Signals, CrawlError> {
        let (asked, events) = bounded(16);
        let is_up = Arc::new(AtomicBool::new(false));
        listen(vec![EngineAddress::new(0, asked.clone())], is_up.clone())
            .map_err(|error| CrawlError::Internal(format!("cannot listen for signals: {error}")))?;
        Ok(Signals { events, _asked: asked, is_up })
    }

    /// Notes that somebody takes the events in.
    pub(crate) fn take_in(&self) {
        self.is_up.store(true, Ordering::Release);
    }

    /// Notes that nobody takes the events in for the time being: there is nothing that would have to be stopped.
    pub(crate) fn stand_by(&self) {
        self.is_up.store(false, Ordering::Release);
    }
}

/// Listens for signals on its own thread, for as long as the process lives: what they ask for, they ask of all
/// `engines`. `is_up` says whether these take events in.
pub(super) fn listen(engines: Vec<EngineAddress>, is_up: Arc<AtomicBool>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(wait(engines, is_up)))?;
    Ok(())
}

async fn wait(engines: Vec<EngineAddress>, is_up: Arc<AtomicBool>) {
    let streams =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::user_defined1()));
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut checkpoint)) = streams else {
        tracing::warn!("signals cannot be handled: a stop will not be graceful");
        return;
    };
    let (mut stopping, mut remembered) = (false, false);
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = checkpoint.recv() => {
                ask_for_checkpoint(&engines, is_up.load(Ordering::Acquire), &mut remembered);
                continue;
            }
        }
        if Arc::strong_count(&is_up) == 1 {
            // the crawl is over, and the process goes on to its own end
            continue;
        }
        if stopping {
            tracing::warn!("stopped immediately; the next run recovers what was stored after the last checkpoint");
            std::process::exit(FORCED);
        }
        if !is_up.load(Ordering::Acquire) {
            tracing::warn!(
                "stopped while starting; nothing was requested, and the next start begins at the same point"
            );
            std::process::exit(STOPPED);
        }
        stopping = true;
        tracing::info!("stopping: requests in flight may finish; a second signal stops immediately");
        engines.iter().for_each(|engine| engine.send(Event::Stop(StopBy::Signal)));
    }
}

/// Asks for a checkpoint, and never waits: a thread that waits for the engine hears no stop. While nobody takes events
/// in, one is remembered; a channel that is full has been asked before.
fn ask_for_checkpoint(engines: &[EngineAddress], is_up: bool, remembered: &mut bool) {
    if is_up || !std::mem::replace(remembered, true) {
        engines.iter().for_each(|engine| engine.offer(Event::Checkpoint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n24_signals_while_a_crawl_is_opened_are_remembered_once_and_never_block() {
        let (events, engine) = bounded(3);
        let events = [EngineAddress::new(0, events)];
        let mut remembered = false;
        for _ in 0..100 {
            ask_for_checkpoint(&events, false, &mut remembered);
        }
        assert_eq!(engine.len(), 1);
        for _ in 0..100 {
            ask_for_checkpoint(&events, true, &mut remembered);
        }
        assert_eq!(engine.try_iter().filter(|event| matches!(event, Event::Checkpoint)).count(), 3);
    }
}
