//! Merges of the stores, as jobs: out with what may be deleted before, back with the results.

use std::fmt;

use super::value::{BucketMerge, BucketMerged};
use crate::disk::{Removal, Result};
use crate::record::layout::StoreName;

/// A bucket of one of the stores that is to be merged.
pub struct StoreMerge {
    /// Files that nothing names any more; they go first, for the merge needs room.
    pub(in crate::engine) removal: Removal,
    pub(in crate::engine) bucket: Box<dyn BucketMerge>,
}

impl StoreMerge {
    /// Deletes what is superfluous, and merges.
    pub fn run(self) -> Result<StoreMerged> {
        self.removal.run()?;
        self.bucket.run().map(StoreMerged)
    }
}

impl fmt::Debug for StoreMerge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreMerge").field("removal", &self.removal).finish_non_exhaustive()
    }
}

/// A finished merge of one of the stores.
pub struct StoreMerged(pub(super) Box<dyn BucketMerged>);

impl StoreMerged {
    /// Returns the store whose bucket it is.
    pub fn store(&self) -> StoreName {
        self.0.store()
    }
}

impl fmt::Debug for StoreMerged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreMerged").field(&self.store()).finish()
    }
}
