//! Shipping: a crawl's checkpoints in a store of objects, and a directory from there.
//!
//! ```text
//! shard's directory ── inventory ──► Shipper ── pack, pieces, link file, manifest ──► store
//!                                                                                       │
//! another machine   ◄── restore: all files       StoreView: files read by ranges  ◄─────┘
//! ```
//! A checkpoint names files with the lengths that count ([`NamedFile`](crate::record::NamedFile)). What of them the
//! store does not have yet goes into one object, the *pack*; what the archive got goes into a *piece* for each value
//! file, since those stay as they are for ever; and a *manifest* (`manifest`) says of which parts of which objects
//! every file consists.
//!
//! # What holds
//!
//! - *Names are used once.* An object's name has the era, the epoch of its owner's claim and the checkpoint's number
//!   (`names`). What goes into which object is fixed when shipping begins: a repeat sends the same bytes.
//! - *The manifest comes last*, when all that it names is in the store.
//! - *Deletion follows commits.* [`Shipper::committed`] deletes what the former manifest names and the new one does
//!   not, and [`sweep`] what earlier owners left and the head does not name; nothing else is ever deleted.
//! - *Bytes are checked.* Every part has a checksum in the manifest, and [`restore`] compares it.
//! - *Readers keep what they read.* What a next checkpoint may delete is copied ([`Pinned`]) before any of it is
//!   looked at.
//!
//! A [`Copying`] brings the files of a checkpoint into another directory of this machine, by the same list.
//!
//! Which checkpoint counts is not decided here: the owner of a shard moves its head after [`Shipper::ship`] and before
//! [`Shipper::committed`]. A crawl without such a record takes the [`newest`] manifest whose objects are all there.

mod check;
mod copy;
pub mod fuzzing;
pub(crate) mod manifest;
mod merge;
pub(crate) mod names;
mod newest;
mod parts;
mod pinned;
mod plan;
mod restore;
mod shipper;
mod source;
mod sweep;
#[cfg(test)]
mod tests;
mod throttle;
mod view;

use serde::{Deserialize, Serialize};

use crate::record::layout::{self, Entry, Form, Place};

pub use check::{Checked, Fault, check};
pub use copy::Copying;
pub use manifest::{Manifest, ShippedFile, ShippedLinks};
pub use names::Names;
pub use newest::{Reads, Since, newest};
pub use newest::{keep_newest, newest_since};
pub use pinned::Pinned;
pub use restore::{Archive, restore};
pub use shipper::{ShipOptions, Shipped, Shipper};
pub use sweep::{greatest_claim, sweep};
pub use view::StoreView;

/// The names of the directories of a shard that may have no file that a checkpoint names, and are there all the same.
fn dirs() -> impl Iterator<Item = &'static str> {
    // a store that a checkpoint names may have no file yet
    let is_there = |entry: &&Entry| {
        entry.place == Place::Shard && (entry.is_made_at_opening() || matches!(entry.form, Form::Store(_)))
    };
    layout::ENTRIES.iter().filter(is_there).map(|entry| entry.name).chain([layout::SEEDS])
}

/// One opening of a shard by one owner: no two have the same, also where one of them never committed anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// Raised when the record of heads was lost and rebuilt.
    pub era: u32,
    /// Number of the claim. It rises within an era.
    pub epoch: u64,
}
