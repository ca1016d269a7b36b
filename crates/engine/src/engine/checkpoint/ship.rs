//! Ships a checkpoint that is durable in its directory, and has it count.

use std::fmt;

use super::{Checkpoint, CheckpointDone};
use crate::disk::Result;
use crate::engine::Home;
use crate::engine::exchange::Publish;
use crate::exchange::Head;

/// The work that is left where checkpoints are shipped.
pub struct ShipJob {
    pub(in crate::engine) home: Home,
    pub(in crate::engine) checkpoint: Box<Checkpoint>,
    pub(in crate::engine) publish: Option<Publish>,
    pub(in crate::engine) done: CheckpointDone,
}

impl fmt::Debug for ShipJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShipJob").field("number", &self.checkpoint.number).finish_non_exhaustive()
    }
}

impl ShipJob {
    /// Does it. It may take as long as the store is away.
    pub fn run(self) -> Result<CheckpointDone> {
        let ShipJob { home, checkpoint, publish, done } = self;
        let alone = Head { number: checkpoint.number, ..Head::default() };
        let head = publish.as_ref().map_or(&alone, |publish| publish.head().1);
        home.ship(&checkpoint, head)?;
        publish.into_iter().for_each(Publish::run);
        Ok(done)
    }
}
