//! The reach of knowledge: a revision up to which everything is known, or read.
//!
//! A plain [`Revision`] says when something happened, and nothing of what came before it. A process knows what it has
//! done itself at once, and what others do some time later; so "the greatest revision that I know" and "the revision up
//! to which I know everything" are two numbers, and links were lost where one was taken for the other. An [`UpTo`] is
//! made in two ways only: by the one that has taken in everything in its order ([`UpTo::all`]), and as a part of
//! another one ([`UpTo::before`], the lesser of two). A revision is not compared with it; it is asked whether it
//! [covers](UpTo::covers) one.

use serde::{Deserialize, Serialize};

/// The order of commits, openings and lists of seeds over all shards of a crawl; 0 is before the first one.
pub type Revision = u64;

/// All revisions up to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UpTo(Revision);

impl UpTo {
    /// No revision.
    pub const NOTHING: UpTo = UpTo(0);

    /// All up to `revision`: for the one that has taken in all of them, and left nothing out.
    pub const fn all(revision: Revision) -> UpTo {
        UpTo(revision)
    }

    /// Returns whether `revision` is among them.
    pub fn covers(self, revision: Revision) -> bool {
        revision <= self.0
    }

    /// The part before `revision`.
    pub(crate) fn before(self, revision: Revision) -> UpTo {
        UpTo(self.0.min(revision.saturating_sub(1)))
    }

    /// The last one: to be shown, to be stored, or to go on from.
    pub fn last(self) -> Revision {
        self.0
    }
}
