//! The work that the engine needs done elsewhere. The crawl has threads for it; a simulator does it in line.

use super::checkpoint::CheckpointJob;
use super::hold_log::HoldSync;
use super::stores::StoreMerge;
use crate::calendar::SlotRead;
use crate::container::CompactionJob;
use crate::contract::{Answer, AskId, FetchJob, RenderJob, ResolveJob};
use crate::exchange::LinkJob;
use crate::frontier::PartitionJob;

/// The hands of the engine. No call blocks: the engine never has more jobs out than there are places for.
pub trait Executors {
    /// Makes a request; the answer goes through processing.
    fn fetch(&mut self, job: FetchJob);
    /// True if pages can be rendered; where not, no job for it comes.
    fn can_render(&self) -> bool;
    /// Renders a page. It comes back as an answer to its request, with what the rendering has made of it; before, what
    /// the page asks for comes.
    fn render(&mut self, job: RenderJob);
    /// Tells a page what it gets that has asked.
    fn answer(&mut self, ask: AskId, answer: Answer);
    /// Resolves a name.
    fn resolve(&mut self, job: ResolveJob);
    /// Merges a bucket of a store.
    fn merge(&mut self, job: StoreMerge);
    /// Takes from or merges a partition of the frontier.
    fn partition(&mut self, job: PartitionJob);
    /// Makes a checkpoint durable.
    fn checkpoint(&mut self, job: CheckpointJob);
    /// Does a step of a compaction of the archive.
    fn compact(&mut self, job: CompactionJob);
    /// Reads links of another shard.
    fn read_links(&mut self, job: LinkJob);
    /// Reads a slot of the calendar.
    fn read_calendar(&mut self, job: SlotRead);
    /// Makes the hold log durable.
    fn sync_holds(&mut self, job: HoldSync);
}
