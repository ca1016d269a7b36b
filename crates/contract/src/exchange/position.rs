//! The position to which a shard has read the links of another one.

use serde::{Deserialize, Serialize};

/// The next link file of a sender that is read, and the frames of it that are in.
///
/// Numbers below it are done, and so are numbers at which the sender has no link file. Behind the last frame of a file
/// is the next number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Checkpoint of the sender.
    pub number: u64,
    /// Frames of its file for this shard that were admitted.
    pub frames: u64,
}

impl Position {
    /// The position after all of the file of checkpoint `number`.
    pub fn behind(number: u64) -> Position {
        Position { number: number + 1, frames: 0 }
    }
}
