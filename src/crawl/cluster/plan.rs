//! The things with which the engines of a node are run.

use std::sync::Arc;

use super::quotas::Quotas;
use crate::cluster::{Claimed, View};
use crate::crawl::control::NodeOrders;
use crate::crawl::shard_directory::ShardDirectory;
use crate::crawl::{CrawlError, CrawlRequest, share};
use crate::engine::Commons;
use crate::node::Grounds;
use crate::process::ProcessOptions;
use crate::web::url::KeyMaker;

/// The things with which the engines of a node are run.
pub(super) struct Plan<'a> {
    pub request: &'a CrawlRequest,
    pub grounds: Grounds,
    /// Limits of the whole crawl, where it has any.
    pub quotas: Option<Arc<Quotas>>,
    pub process: ProcessOptions,
    pub keys: Arc<KeyMaker>,
    pub commons: Commons,
    pub ceiling: u64,
    /// Commands to this node.
    pub orders: NodeOrders,
    /// The node's name, and its weight.
    pub node: (String, u32),
}

impl Plan<'_> {
    /// Among how many shards the memory of this node is divided that holds that many of them.
    pub(crate) fn at_once(&self, known: &View, held: usize) -> usize {
        let others = known.nodes.iter().filter(|(name, _)| **name != self.node.0);
        let weights = others.map(|(_, node)| node.record.weight);
        share::shards_at_once(self.request.config.crawl.shards, self.node.1, weights, held)
    }

    /// Opens the directory of the claimed shard, as its head has it; what comes of it is shipped from then on.
    pub(crate) fn open(&self, claimed: &Arc<Claimed>) -> Result<ShardDirectory, CrawlError> {
        let grounds = &self.grounds;
        let head = grounds.prepare(claimed)?;
        let identity = grounds.identity.of_shard(grounds.shard(claimed.shard));
        let directory = ShardDirectory::open_shard(self.request, grounds.view.disk(), identity, false)?;
        grounds.own(claimed, head)?;
        Ok(directory)
    }
}
