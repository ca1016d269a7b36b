//! A recheck as a checkpoint has it: what the start behind it needs to know of answers that are not to be believed.

use serde::{Deserialize, Serialize};

use crate::clock::Stored;

/// The answers that are not believed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rechecked {
    /// Bad answers, and the settings by which names were resolved.
    pub bad: Doubted,
    /// Rules of robots.txt files, and the settings by which these were read.
    pub rules: Doubted,
}

/// The moment up to which answers are not believed, and the settings by which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubted {
    /// The moment.
    pub since: Stored,
    /// The settings.
    pub settings: String,
}
