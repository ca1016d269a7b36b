//! A structure as a cut has it: the record that names its files, and the part that was in memory.

use std::fmt;

/// A structure as a cut has it.
pub struct SavedState<'a, S> {
    /// State of the files, as the checkpoint records it.
    pub state: &'a S,
    /// Bytes that were in memory at the cut, from the checkpoint's section of the structure.
    pub ram: &'a [u8],
}

impl<'a, S> SavedState<'a, S> {
    /// The structure of this `state`, with the bytes in `ram`.
    pub fn new(state: &'a S, ram: &'a [u8]) -> Self {
        SavedState { state, ram }
    }
}

impl<S> Clone for SavedState<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for SavedState<'_, S> {}

impl<S: fmt::Debug> fmt::Debug for SavedState<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedState").field("state", self.state).field("ram_bytes", &self.ram.len()).finish()
    }
}
