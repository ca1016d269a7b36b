//! The threads that ask a source what reads disks or waits for a crawl: few, with short queues.
//!
//! There are two lanes, so that what may take long (a URL explained, the tree of an archive) does not keep figures and
//! orders waiting. A lane that is full refuses, and an answer that takes too long is waited for no more; its thread
//! goes on until it has it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::source::Source;
use crate::answers::Problem;

/// Threads of a lane.
const THREADS: usize = 2;
/// Questions that wait for them.
const WAITING_MAX: usize = 16;
/// An answer is waited for this long.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Lanes of questions, by the time that these may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// No longer than it takes to read a bounded part of a file.
    Quick,
    /// Questions that may take as long as the crawl is large.
    Slow,
}

type Job = Box<dyn FnOnce(&dyn Source) + Send>;

/// The way to the threads, which end when all ways are gone.
#[derive(Clone)]
pub(super) struct Readers {
    quick: Sender<Job>,
    slow: Sender<Job>,
}

impl Readers {
    /// Starts the threads, which ask `source`.
    pub(crate) fn start(source: &Arc<dyn Source>) -> std::io::Result<Readers> {
        Ok(Readers { quick: lane("console-quick", source)?, slow: lane("console-slow", source)? })
    }

    /// Asks `question` on a thread of `lane`, and waits for the answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        lane: Lane,
        question: impl FnOnce(&dyn Source) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (give, given) = oneshot::channel();
        let job: Job = Box::new(move |source| {
            let answer = catch_unwind(AssertUnwindSafe(|| question(source)));
            let _ = give.send(answer.unwrap_or_else(|_| Err(Problem::internal())));
        });
        let to = if lane == Lane::Quick { &self.quick } else { &self.slow };
        if to.try_send(job).is_err() {
            return Err(Problem::Busy("too many questions at once; try again".to_owned()));
        }
        match timeout(ANSWER_MAX, given).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Problem::Busy("the console is closing".to_owned())),
            Err(_) => Err(Problem::Busy(format!("no answer within {} s; try again", ANSWER_MAX.as_secs()))),
        }
    }
}

fn lane(name: &str, source: &Arc<dyn Source>) -> std::io::Result<Sender<Job>> {
    let (to, jobs): (_, Receiver<Job>) = bounded(WAITING_MAX);
    for _ in 0..THREADS {
        let (jobs, source) = (jobs.clone(), source.clone());
        thread::Builder::new().name(name.to_owned()).spawn(move || jobs.iter().for_each(|job| job(&*source)))?;
    }
    Ok(to)
}
