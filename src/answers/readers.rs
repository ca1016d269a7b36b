//! Threads that read the archive for servers, a few at a time.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::operation::Operation;
use super::{Answers, Problem};

/// Questions that are answered at a time: each may hold a body.
const AT_ONCE: usize = 4;

/// Places on threads that read the archive.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Semaphore>);

impl Readers {
    /// A few of them.
    pub(crate) fn new() -> Readers {
        Readers(Arc::new(Semaphore::new(AT_ONCE)))
    }

    /// Asks an operation of `archive`.
    pub(crate) async fn ask(
        &self,
        archive: &Arc<dyn Answers>,
        operation: &'static Operation,
        parameters: Value,
    ) -> Result<Value, Problem> {
        let archive = archive.clone();
        let answer = self.run(move || operation.asked(&*archive, parameters)).await;
        answer.unwrap_or_else(|| Err(Problem::internal()))
    }

    /// Does `work` on a thread of its own, once there is a place. Nothing where it panicked; the log has that.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let permit = self.0.clone().acquire_owned().await.ok()?;
        let kept = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(kept).await.ok()
    }
}
