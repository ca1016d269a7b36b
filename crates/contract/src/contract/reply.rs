//! Replies to jobs, and the addresses that they go to.
//!
//! Threads are a process's, and may serve several engines. None of them knows an engine but by the address of a job.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::fault::Fault;
use super::job::{FetchFailed, Processed, Unresolved};
use super::render_plan::Ask;
use crate::clock::Time;
use crate::frontier::HostId;

/// A reply to a job.
#[derive(Debug)]
pub enum Reply {
    /// An answer was processed.
    Page(Box<Processed>),
    /// An attempt brought no answer.
    Failed(Box<FetchFailed>),
    /// A page that is rendered asks for a URL.
    Asked(Box<Ask>),
    /// The name servers answered, with the addresses that may be connected to and the time until which they hold.
    Resolved(HostId, Box<str>, Result<(Arc<[IpAddr]>, Time), Unresolved>),
}

/// The address of an engine, for replies.
#[derive(Clone)]
pub struct ReplyTo {
    engine: usize,
    send: Arc<dyn Fn(Result<Reply, Fault>) + Send + Sync>,
}

impl ReplyTo {
    /// The address of the engine with this number among those of the process, which takes in what is given to `send`.
    /// Where the engine is gone its crawl is over, and nobody misses the reply.
    pub fn new(engine: usize, send: impl Fn(Result<Reply, Fault>) + Send + Sync + 'static) -> Self {
        ReplyTo { engine, send: Arc::new(send) }
    }

    /// The engine's number, by which a thread finds what it has for this engine alone.
    pub fn engine(&self) -> usize {
        self.engine
    }

    /// Sends a reply, or a fault, by which the crawl stops.
    pub fn send(&self, reply: Result<Reply, Fault>) {
        (self.send)(reply);
    }
}

impl fmt::Debug for ReplyTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyTo").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// A job on its way, with the address for its reply.
#[derive(Debug)]
pub struct Addressed<J> {
    /// Work that is to be done.
    pub job: J,
    /// Address of the engine that asked for it.
    pub reply: ReplyTo,
}
