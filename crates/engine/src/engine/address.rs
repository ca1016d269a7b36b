//! Addresses of engines: jobs that are done beside an engine carry one, so that what comes of them finds it.

use crossbeam_channel::Sender;

use super::Event;
use crate::contract::ReplyTo;

/// The address of an engine.
#[derive(Clone, Debug)]
pub struct EngineAddress {
    events: Sender<Event>,
    replies: ReplyTo,
}

impl EngineAddress {
    /// The address of the engine with this number among those of the process, which takes in what is sent to `events`.
    pub fn new(engine: usize, events: Sender<Event>) -> Self {
        let to = events.clone();
        let replies = ReplyTo::new(engine, move |reply| drop(to.send(reply.map_or_else(Event::Fault, Event::Reply))));
        EngineAddress { events, replies }
    }

    /// The engine's number, by which a thread finds what it has for this engine alone.
    pub fn engine(&self) -> usize {
        self.replies.engine()
    }

    /// The address for replies to requests.
    pub fn replies(&self) -> &ReplyTo {
        &self.replies
    }

    /// Sends an event. Where the engine is gone its crawl is over, and nobody misses it.
    pub fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Sends unless the engine has too much before it, or is gone.
    pub fn offer(&self, event: Event) {
        let _ = self.events.try_send(event);
    }
}
