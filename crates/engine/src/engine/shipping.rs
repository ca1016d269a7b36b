//! Shipping of checkpoints that have to survive their machine. A crawl that keeps everything in its directory has none.
//!
//! A checkpoint that is shipped counts when [`Shipping::ship`] has returned, and not before: the other shards hear of
//! it then, and so does the engine. So whatever is deleted because of it is deleted after that, and a crawl that goes
//! on from what was shipped finds everything there. While a store is away the crawl goes on, and makes no further
//! checkpoint; when it has been behind for [`Settings::behind_max`](super::Settings), it makes no more requests.

use std::fmt;
use std::path::Path;

use super::Home;
use super::checkpoint::Checkpoint;
use crate::disk::{Disk, Result};
use crate::exchange::Head;
use crate::shard::Shard;

/// A checkpoint that is durable in its directory.
#[derive(Debug)]
pub struct Durable<'a> {
    /// The file system.
    pub disk: &'a Disk,
    /// The directory of the shard.
    pub dir: &'a Path,
    /// The shard.
    pub shard: Shard,
    /// The checkpoint itself.
    pub checkpoint: &'a Checkpoint,
    /// The head that the other shards get.
    pub head: &'a Head,
}

/// The place to which checkpoints are shipped.
pub trait Shipping: fmt::Debug + Send + Sync {
    /// Ships the checkpoint, and returns when it is what the shard goes on from elsewhere. All files that it names stay
    /// as they are until then. It is called once for each checkpoint, in their order, and once for the one that a shard
    /// is opened with, which may have been shipped before.
    fn ship(&self, durable: &Durable<'_>) -> Result<()>;
}

impl Home {
    /// Ships `checkpoint`, where anything is shipped.
    pub(super) fn ship(&self, checkpoint: &Checkpoint, head: &Head) -> Result<()> {
        let Some(shipping) = &self.shipping else { return Ok(()) };
        let (disk, dir, shard) = (&self.disk, &*self.dir, self.shard);
        shipping.ship(&Durable { disk, dir, shard, checkpoint, head })
    }
}
