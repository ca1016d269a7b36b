//! The section of a checkpoint about links between shards: how far they are read, which files are kept, the account.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Kept;
use crate::disk::{Error, Result};
use crate::exchange::{Account, Position};

/// The section of one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeState {
    /// Positions in the links of each shard.
    pub positions: Vec<Position>,
    /// The newest checkpoint of each shard that was known: no shard goes back behind it.
    pub heads: Vec<u64>,
    /// The link files that others may still have to read.
    pub kept: Vec<Kept>,
    /// Set where a file is lost that others had to read: the links of all archived pages are sent again (`resend`).
    pub resends: bool,
    /// Links that were sent and read.
    pub account: Account,
}

impl ExchangeState {
    /// The section of a checkpoint's file.
    pub fn to_section(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("positions are plain data")
    }

    /// Reads the section of a checkpoint's file, which is at `path`; that of checkpoint 0 is empty.
    pub fn read(section: &[u8], path: &Path) -> Result<ExchangeState> {
        if section.is_empty() {
            return Ok(ExchangeState::default());
        }
        postcard::from_bytes(section)
            .map_err(|error| Error::damaged(path, 0, "positions in the links of other shards", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_back_and_one_that_is_cut_short_is_damage() {
        let positions = vec![Position::behind(3), Position::default()];
        let kept = vec![Kept { number: 4, has_notes: true }];
        let account = Account { sent: vec![0, 9], read: vec![300, 0] };
        let state = ExchangeState { positions, heads: vec![5, 6], kept, resends: true, account };
        let section = state.to_section();
        assert_eq!(ExchangeState::read(&section, Path::new("x")).unwrap(), state);
        for cut in 1..section.len() {
            assert!(ExchangeState::read(&section[..cut], Path::new("x")).is_err(), "{cut} bytes");
        }
    }
}
