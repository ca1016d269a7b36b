//! The last round of fetching again (`--force`), as a checkpoint has it.

use serde::{Deserialize, Serialize};

/// The last round of fetching again, as a checkpoint notes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// 1, 2, 3, ...; 0 where there was none.
    pub number: u32,
    /// Length of key.dat when it began: what is behind was stored in it or later.
    pub from: u64,
    /// True if the run that made the checkpoint is one with `--force`.
    pub running: bool,
}
