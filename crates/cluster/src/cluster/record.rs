//! The values of a crawl's keys in etcd: postcard, and small.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exchange::{Idle, UpTo};
use crate::record::Finish;

/// No value is longer: all heads of the largest crawl have to fit into etcd's memory many times.
pub const VALUE_BYTES_MAX: usize = 300;
/// Version of the way in which these values are written. Another binary may have another one.
pub const FORMAT: u32 = 1;

/// A value that is not what has to be there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("{key} in etcd has a value that is none of a crawl's, or is of another version: {detail}")]
    Unreadable {
        /// The key.
        key: String,
        /// The error, in words.
        detail: String,
    },
    /// It is too long to be written.
    #[error("{key} would have {bytes} bytes, and at most {VALUE_BYTES_MAX} may be")]
    TooLong {
        /// The key.
        key: String,
        /// Its length.
        bytes: usize,
    },
}

/// Properties that are fixed when a crawl is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlRecord {
    /// [`FORMAT`].
    pub format: u32,
    /// The etcd in which the crawl was made.
    pub cluster: u64,
    /// The store of the objects.
    pub store: String,
    /// Into how many shards it is cut.
    pub shards: u32,
    /// The version of the list of public suffixes.
    pub suffixes: u64,
}

/// The states that all nodes may have to be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Crawl.
    #[default]
    Run,
    /// Start no request.
    Pause,
    /// End all engines, after a last checkpoint.
    Stop,
}

/// The state that is wanted of the crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantRecord {
    /// State of all nodes.
    pub state: State,
    /// The number of lists of seeds.
    pub seeds: u32,
}

/// A list of seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedsRecord {
    /// The object that has it.
    pub object: String,
    /// Seeds of all lists before it.
    pub before: u64,
    /// Seeds in it.
    pub count: u64,
    /// The round of the crawl in which they are fetched again; 0: those that are known are passed over.
    pub round: u32,
}

/// The end of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// Why.
    pub finish: Finish,
}

/// The reason why a shard may not be claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaltedRecord {
    /// Name of the node that found the damage.
    pub node: String,
    /// Where: a file or an object.
    pub file: String,
    /// Offset of the damage in it.
    pub offset: u64,
}

/// A node that is alive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The number of shards it can take, in relation to others.
    pub weight: u32,
    /// Version of the binary.
    pub version: String,
    /// Shards that it cannot run; the first ones, where they are many.
    pub cannot: Vec<u32>,
    /// True if it gives up its shards.
    pub is_draining: bool,
}

/// The owner of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnerRecord {
    /// The node's name.
    pub node: String,
}

/// The last committed checkpoint of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// Era of the claim under which it was committed.
    pub era: u32,
    /// Epoch of that claim. 0 before the first commit.
    pub epoch: u64,
    /// The checkpoint; 0 before the first one.
    pub number: u64,
    /// The object with its manifest.
    pub manifest: String,
    /// True if its link file has URLs that join the scope.
    pub has_notes: bool,
    /// Revision of the shard's last commit with a link file; 0: this one.
    pub links_at: u64,
    /// Revisions of others of which everything is in it.
    pub read_to: UpTo,
    /// Degree of its idleness: what was left to do.
    pub idle: Idle,
    /// Pages of the shard.
    pub pages: u64,
    /// Bytes that it has received.
    pub bytes: u64,
}

/// The rest that limits of the whole crawl leave. `None`: there is no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaRecord {
    /// Rest of `crawl.max_pages`.
    pub pages: Option<u64>,
    /// Rest of `crawl.max_bytes`.
    pub bytes: Option<u64>,
}

/// Pages and bytes that were granted to a shard in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Pages.
    pub pages: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Figures that a node reports from time to time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiguresRecord {
    /// Shards that have free workers and nothing to do for them.
    pub hungry: Vec<u32>,
    /// Pages that its shards have, also those that are not committed yet.
    pub pages: u64,
    /// Bytes that they have received.
    pub bytes: u64,
    /// Pages in a second, in thousandths.
    pub pages_per_1000s: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// URLs queued.
    pub queued: u64,
}

/// The value of the key, as bytes.
pub(super) fn written<T: Serialize>(key: &str, record: &T) -> Result<Vec<u8>, RecordError> {
    let bytes = postcard::to_stdvec(record).expect("records are plain values");
    match bytes.len() {
        0..=VALUE_BYTES_MAX => Ok(bytes),
        bytes => Err(RecordError::TooLong { key: key.to_owned(), bytes }),
    }
}

/// The value of the key.
pub(super) fn read<T: DeserializeOwned>(key: &str, value: &[u8]) -> Result<T, RecordError> {
    let fault = |detail: String| RecordError::Unreadable { key: key.to_owned(), detail };
    match postcard::take_from_bytes(value) {
        Ok((record, [])) => Ok(record),
        Ok((_, rest)) => Err(fault(format!("{} bytes more than expected", rest.len()))),
        Err(error) => Err(fault(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_head_is_short() {
        let head = HeadRecord {
            era: u32::MAX,
            epoch: u64::MAX,
            number: u64::MAX,
            manifest: "crawls/0123456789abcdef0123456789abcdef/4095/e4294967295-18446744073709551615/n999999.manifest"
                .to_owned(),
            has_notes: true,
            links_at: u64::MAX,
            read_to: UpTo::all(u64::MAX),
            idle: Idle::Silent,
            pages: u64::MAX,
            bytes: u64::MAX,
        };
        let bytes = written("head/4095", &head).unwrap();
        assert!(bytes.len() < 200, "{} bytes", bytes.len());
        assert_eq!(read::<HeadRecord>("head/4095", &bytes).unwrap(), head);
        let long = HeadRecord { manifest: "m".repeat(300), ..head };
        assert!(matches!(written("head/1", &long), Err(RecordError::TooLong { bytes: 301.., .. })));
    }

    #[test]
    fn values_of_others_are_refused_and_said() {
        let bytes = written("want", &WantRecord { state: State::Stop, seeds: 2 }).unwrap();
        for wrong in [&bytes[..1], &[bytes.clone(), vec![0]].concat(), &[9, 9, 9]] {
            let error = read::<WantRecord>("/crawler/1/0001/live/want", wrong).unwrap_err();
            assert!(error.to_string().starts_with("/crawler/1/0001/live/want in etcd"), "{error}");
        }
    }
}
