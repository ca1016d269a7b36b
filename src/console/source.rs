//! Source of what a console shows and does: all that the console knows of a crawl.
//!
//! Each call may read disks and wait for a crawl, within its own bounds; none is made on a thread that a crawl or
//! the server needs. Several may be made at once.

use super::documents::{DiskUse, MetBudget, RequestRow, Seeds, State, Tree, Version};
use super::warnings::Warning;
use crate::answers::Problem;
use crate::record::QueuedHosts;

/// A crawl, as a console sees it.
pub trait Source: Send + Sync {
    /// Returns the state of the crawl at this moment. It is asked once a second.
    fn state(&self) -> Result<State, Problem>;
    /// Hosts with the longest queues, `limit` of them.
    fn hosts(&self, limit: usize) -> Result<QueuedHosts, Problem>;
    /// Budgets of which URLs were left out.
    fn budgets(&self) -> Result<Vec<MetBudget>, Problem>;
    /// The last requests, the newest first.
    fn requests(&self, limit: usize) -> Result<Vec<RequestRow>, Problem>;
    /// The last warnings, the newest first.
    fn warnings(&self) -> Result<Vec<Warning>, Problem>;
    /// Seeds from number `offset` on.
    fn seeds(&self, offset: u64, limit: usize) -> Result<Seeds, Problem>;
    /// Returns what takes memory and disk.
    fn disk(&self) -> Result<DiskUse, Problem>;
    /// Everything that is known of a URL, as JSON, with one sentence as its `text`.
    fn explain(&self, url: &str) -> Result<serde_json::Value, Problem>;
    /// The archived versions of a URL, the newest first.
    fn versions(&self, url: &str) -> Result<Vec<Version>, Problem>;
    /// Returns what is archived below a node: of the whole crawl where `under` is empty, else of a [`prefix`] of a row.
    ///
    /// [`prefix`]: super::TreeRow::prefix
    fn tree(&self, under: &str) -> Result<Tree, Problem>;
    /// Carries an order out, which is JSON as the control socket has it, and gives the answer.
    fn order(&self, command: &[u8]) -> Result<serde_json::Value, Problem>;
}
