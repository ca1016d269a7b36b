//! The thread that asks the registry for what the directing thread of a node wants, so that this one waits for nobody.
//!
//! What is asked for is done in its order. While the registry is away it waits here, and the answers come when it is
//! back; signals and the engines' words are heard meanwhile.

use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::cluster::{Claimed, ClusterError, EndRecord, FiguresRecord, HaltedRecord, Ownership};
use crate::crawl::CrawlError;
use crate::crawl::threads::no_thread;
use crate::exchange::Revision;

/// Tells figures of the node to others, and learns theirs.
pub(super) trait Figures: Send {
    /// Tells them; what the others say comes back.
    fn exchange(&self, own: &FiguresRecord) -> Result<Vec<FiguresRecord>, ClusterError>;
}

/// A question or an order to the registry.
#[derive(Debug)]
pub(super) enum Ask {
    /// A claim of the shard.
    Claim(u32),
    /// The claim is given up.
    Release(Arc<Claimed>),
    /// The shard is not claimed by anyone from now on.
    Halt(Arc<Claimed>, HaltedRecord),
    /// The crawl has ended, unless what is wanted has changed since.
    End(Revision, EndRecord),
    /// Figures of the node, to be shown to others.
    Figures(FiguresRecord),
}

/// The result of an [`Ask`].
#[derive(Debug)]
pub(super) enum Answer {
    /// Result of a claim of the shard; `None` where it was not free.
    Claimed(u32, Result<Option<Claimed>, ClusterError>),
    /// The shard is halted.
    Halted(Result<(), ClusterError>),
    /// The end was asked for.
    Ended,
    /// Figures of other nodes; none where there was no answer.
    Figures(Vec<FiguresRecord>),
}

/// The way to the thread, and back.
pub(super) struct Clerk {
    asks: Sender<Ask>,
    pub answers: Receiver<Answer>,
}

impl Clerk {
    /// Starts the thread. It ends when this is dropped, once the registry has answered what it was asked last.
    pub(crate) fn start(ownership: Arc<dyn Ownership>, figures: Box<dyn Figures>) -> Result<Clerk, CrawlError> {
        // bounded by those who ask: one claim, one release and one halt of each shard, one end, one list of figures
        let ((asks, asked), (answers_in, answers)) = (unbounded(), unbounded());
        let work = move || {
            for ask in asked {
                let answer = carry_out(&*ownership, &*figures, ask);
                if answer.is_some_and(|answer| answers_in.send(answer).is_err()) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("clerk".to_owned()).spawn(work);
        thread.map_err(no_thread)?;
        Ok(Clerk { asks, answers })
    }

    /// Passes `ask` to the thread. Its result is among the answers.
    pub(crate) fn ask(&self, ask: Ask) {
        // a thread that has panicked has said so; then no answer comes
        let _ = self.asks.send(ask);
    }
}

fn carry_out(ownership: &dyn Ownership, figures: &dyn Figures, ask: Ask) -> Option<Answer> {
    match ask {
        Ask::Claim(shard) => Some(Answer::Claimed(shard, ownership.claim(shard))),
        Ask::Release(claimed) => {
            if let Err(error) = ownership.release(&claimed) {
                tracing::warn!("shard {}: the claim ends with the lease: {error}", claimed.shard);
            }
            None
        }
        Ask::Halt(claimed, halted) => Some(Answer::Halted(ownership.halt(&claimed, &halted))),
        Ask::End(want_at, end) => {
            if let Err(error) = ownership.put_end(want_at, end) {
                tracing::warn!("the end of the crawl waits: {error}");
            }
            Some(Answer::Ended)
        }
        Ask::Figures(own) => {
            let others = figures.exchange(&own);
            Some(Answer::Figures(others.unwrap_or_else(|error| {
                tracing::debug!("figures wait: {error}");
                Vec::new()
            })))
        }
    }
}
