//! A recheck as a checkpoint has it: what the start behind it needs to know of bad answers.

use serde::{Deserialize, Serialize};

use crate::clock::Stored;

/// The moment up to which bad answers are not believed, and the settings by which names were resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rechecked {
    /// The moment.
    pub since: Stored,
    /// The settings.
    pub settings: String,
}
