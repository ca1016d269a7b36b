//! Links between the shards of a crawl: written by the one that finds them, read by the one that owns them.
//!
//! ```text
//! engine of shard 0 ── LinkWriter ──► links/out.g42 ── checkpoint 42 durable ── Registry::commit ──┐
//!                                                                                                   ▼
//! engine of shard 1 ◄── LinksRead ◄── LinkJob, a thread of the process ◄── LinkFile ◄── Registry::news
//! ```
//! A message that left before its page is durable would have to be taken back when the page is lost; one that leaves
//! after needs a place to wait in. The link file is that place, and part of the checkpoint: nothing else is needed, no
//! broker, no acknowledgement, no healing. The [`registry`] module has the invariants.

mod account;
mod format;
mod job;
mod link;
mod local;
mod position;
mod reader;
mod reading;
pub mod registry;
mod up_to;
mod writer;

pub use account::{Account, Difference};
pub use format::{link_path, links_dir, number_of};
pub use job::{LinkJob, LinksRead};
pub use link::{Frame, Inherited, Link, Support};
pub use local::{LocalRegistry, Wake};
pub use position::Position;
pub use reader::{LinkFile, Section};
pub use reading::Reading;
pub use registry::{Again, Head, HeadAt, Idle, News, OutFile, Registry, Visible};
pub use up_to::{Revision, UpTo};
pub use writer::{LinkWriter, Written};

#[cfg(test)]
mod tests;
