//! The sender of an answer back to the operator, from the one engine or from all of them.
//!
//! A command to a crawl of several shards goes to every engine, and is answered when all have answered: what was
//! refused by one is refused, figures add up. An engine that ends before it has answered leaves the command without an
//! answer, which is one too.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::wire::Reply;
use crate::record::{Live, QueuedHosts};

/// The sender of one engine's answer.
pub(super) struct Answer(ReplyTarget);

/// The receiver of a reply.
enum ReplyTarget {
    Alone(oneshot::Sender<Reply>),
    Shard(usize, Arc<Mutex<Gathered>>),
}

/// Answers of shards.
struct Gathered {
    replies: Vec<Option<Reply>>,
    asked: Option<oneshot::Sender<Reply>>,
}

impl Answer {
    /// The senders of the answers of this many engines to one who has `asked`.
    pub(crate) fn of_engines(count: usize, asked: oneshot::Sender<Reply>) -> Vec<Answer> {
        if count == 1 {
            return vec![Answer(ReplyTarget::Alone(asked))];
        }
        let gathered = Arc::new(Mutex::new(Gathered { replies: vec![None; count], asked: Some(asked) }));
        (0..count).map(|shard| Answer(ReplyTarget::Shard(shard, gathered.clone()))).collect()
    }

    /// The senders of the answers of this many engines in the place of this one.
    pub(crate) fn of_each(self, count: usize) -> Vec<Answer> {
        match self.0 {
            ReplyTarget::Alone(asked) => Answer::of_engines(count, asked),
            ReplyTarget::Shard(..) => vec![self],
        }
    }

    /// Answers. Anyone who asked may have gone.
    pub(crate) fn send(self, reply: Reply) {
        match self.0 {
            ReplyTarget::Alone(asked) => _ = asked.send(reply),
            ReplyTarget::Shard(shard, gathered) => {
                gathered.lock().unwrap_or_else(PoisonError::into_inner).add(shard, reply)
            }
        }
    }
}

impl Gathered {
    fn add(&mut self, shard: usize, reply: Reply) {
        self.replies[shard] = Some(reply);
        if self.replies.iter().all(Option::is_some)
            && let Some(asked) = self.asked.take()
        {
            let _ = asked.send(sum(std::mem::take(&mut self.replies).into_iter().flatten().collect()));
        }
    }
}

/// Returns the answer of all shards of a crawl together; there is at least one.
fn sum(mut replies: Vec<Reply>) -> Reply {
    if let Some(refused) = replies.iter().position(|reply| !reply.ok) {
        return replies.swap_remove(refused);
    }
    let status = Live::sum(replies.iter_mut().filter_map(|reply| reply.status.take()).map(|live| *live));
    let hosts = QueuedHosts::of_shards(replies.iter_mut().filter_map(|reply| reply.hosts.take()), usize::MAX);
    let checkpoint = replies.iter().filter_map(|reply| reply.checkpoint).min();
    let message = match checkpoint {
        // their numbers differ
        Some(_) => format!("a checkpoint of each of {} shards is durable", replies.len()),
        None => replies.swap_remove(0).message,
    };
    Reply { status: status.map(Box::new), hosts, checkpoint, ..Reply::done(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(replies: Vec<Reply>) -> Option<Reply> {
        let (asked, mut answer) = oneshot::channel();
        let answers = Answer::of_engines(3, asked);
        answers.into_iter().zip(replies).for_each(|(answer, reply)| answer.send(reply));
        answer.try_recv().ok()
    }

    #[test]
    fn a_command_is_answered_when_all_engines_have_answered() {
        let paused = || Reply::done("paused");
        assert_eq!(answered(vec![paused(), paused()]), None);
        assert_eq!(answered(vec![paused(), paused(), paused()]), Some(paused()));
        let refused = Reply::refused("the crawl is stopping");
        assert_eq!(answered(vec![paused(), refused.clone(), paused()]), Some(refused));
        let durable = |number| Reply { checkpoint: Some(number), ..Reply::done(format!("checkpoint {number}")) };
        let reply = answered(vec![durable(5), durable(3), durable(9)]).unwrap();
        assert_eq!((reply.checkpoint, &*reply.message), (Some(3), "a checkpoint of each of 3 shards is durable"));
    }

    #[test]
    fn an_engine_that_ends_leaves_no_command_waiting() {
        let (asked, mut answer) = oneshot::channel();
        let mut answers = Answer::of_engines(2, asked);
        answers.remove(0).send(Reply::done("paused"));
        assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        drop(answers);
        assert_eq!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        let (asked, mut answer) = oneshot::channel();
        Answer::of_engines(1, asked).remove(0).send(Reply::done("alone"));
        assert_eq!(answer.try_recv(), Ok(Reply::done("alone")));
    }
}
