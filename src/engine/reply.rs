//! Addresses of engines: each job carries one, so that its answer finds the engine that sent it out.
//!
//! Threads are a process's, and may serve several engines. None of them knows an engine but by the address of a job.

use crossbeam_channel::Sender;

use super::Event;

/// The address of an engine.
#[derive(Clone, Debug)]
pub struct ReplyTo {
    engine: usize,
    events: Sender<Event>,
}

impl ReplyTo {
    /// The address of the engine with this number among those of the process, which takes in what is sent to `events`.
    pub fn new(engine: usize, events: Sender<Event>) -> Self {
        ReplyTo { engine, events }
    }

    /// The engine's number, by which a thread finds what it has for this engine alone.
    pub fn engine(&self) -> usize {
        self.engine
    }

    /// Sends an answer. Where the engine is gone its crawl is over, and nobody misses the answer.
    pub fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Sends unless the engine has too much before it, or is gone.
    pub fn offer(&self, event: Event) {
        let _ = self.events.try_send(event);
    }
}

/// A job on its way, with the address for its answer.
#[derive(Debug)]
pub struct Addressed<J> {
    /// Work that is to be done.
    pub job: J,
    /// Address of the engine that asked for it.
    pub reply: ReplyTo,
}
