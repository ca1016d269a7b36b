//! Keys of URLs, and places of their versions in the archive.

use serde::{Deserialize, Serialize};

use crate::web::url::{CanonicalUrl, KeyMaker};

/// The place of a URL in the order of the feed: all URLs of a host stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Key {
    /// Fingerprint of its host.
    pub host: u64,
    /// Fingerprint of its key form.
    pub url: u64,
}

impl Key {
    /// Length of its bytes.
    pub const BYTES: usize = 16;

    /// The key of a URL.
    pub fn of(url: &CanonicalUrl, keys: &KeyMaker) -> Key {
        let keys = keys.keys(url);
        Key { host: keys.host.bits(), url: keys.key.bits() }
    }

    /// Bytes that sort as keys do.
    pub fn to_bytes(self) -> [u8; Key::BYTES] {
        let mut bytes = [0; Key::BYTES];
        bytes[..8].copy_from_slice(&self.host.to_be_bytes());
        bytes[8..].copy_from_slice(&self.url.to_be_bytes());
        bytes
    }
}

/// The place of a version in the archive. Versions sort as they were stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Stored {
    pub shard: u32,
    /// Offset of its key record.
    pub record: u64,
}
