//! The registry of a simulated crawl of several shards: the real one, behind which deliberate mistakes can be made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::mistake::Mistake;
use crate::exchange::{Head, Idle, LocalRegistry, News, Registry, Revision, UpTo};

/// The registry, and what is done wrong with it.
#[derive(Debug)]
pub(super) struct MistakenRegistry {
    real: Arc<LocalRegistry>,
    mistake: Option<Mistake>,
    /// The last number of each shard that was committed.
    committed: Mutex<HashMap<u32, u64>>,
}

impl MistakenRegistry {
    pub(super) fn new(real: Arc<LocalRegistry>, mistake: Option<Mistake>) -> Self {
        MistakenRegistry { real, mistake, committed: Mutex::default() }
    }
}

impl Registry for MistakenRegistry {
    fn open(&self, shard: u32, head: Head) -> Revision {
        self.real.open(shard, head)
    }

    /// Commits the head. A checkpoint that was committed too early is not committed again.
    fn commit(&self, shard: u32, mut head: Head) -> Revision {
        if self.mistake == Some(Mistake::EndsEarly) {
            (head.read_to, head.idle) = (UpTo::all(Revision::MAX), Idle::Yes);
        }
        let mut committed = self.committed.lock().unwrap_or_else(PoisonError::into_inner);
        match committed.insert(shard, head.number) {
            Some(before) if before == head.number => self.real.news().known.last(),
            _ => self.real.commit(shard, head),
        }
    }

    fn news(&self) -> News {
        self.real.news()
    }

    fn set_hungry(&self, shard: u32, is_hungry: bool) {
        self.real.set_hungry(shard, is_hungry);
    }

    fn is_hungry(&self, shard: u32) -> bool {
        self.real.is_hungry(shard)
    }
}
