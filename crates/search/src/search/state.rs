//! The state of an index in its crawl: the payload of tantivy's commit.

use serde::{Deserialize, Serialize};

use crate::archive::Cursor;

/// The version of fields, terms and payload. An index of another one is rebuilt.
const FORMAT: u32 = 1;

/// The state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// The last pages that are in the index, and the crawl that they are of.
    pub cursor: Cursor,
    /// Acts of `crawler forget` that the index knows.
    pub forgotten: usize,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    cursor: String,
    forgotten: usize,
}

impl State {
    /// The payload.
    pub fn payload(&self) -> String {
        let stored = Stored { format: FORMAT, cursor: self.cursor.to_json(), forgotten: self.forgotten };
        serde_json::to_string(&stored).expect("numbers and texts always have a JSON form")
    }

    /// Reads a payload; nothing where there is none, or one of another version.
    pub fn parse(payload: Option<&str>) -> Option<State> {
        let stored: Stored = serde_json::from_str(payload?).ok()?;
        let cursor = Cursor::from_json(&stored.cursor).ok()?;
        (stored.format == FORMAT).then_some(State { cursor, forgotten: stored.forgotten })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_this_version_is_read_back_and_no_other() {
        let state = State { cursor: "0-16".parse().unwrap(), forgotten: 3 };
        let payload = state.payload();
        assert_eq!(State::parse(Some(&payload)), Some(state));
        let other = payload.replacen("\"format\":1", "\"format\":2", 1);
        assert_ne!(other, payload);
        for payload in [None, Some(""), Some("{}"), Some(other.as_str())] {
            assert_eq!(State::parse(payload), None);
        }
    }
}
