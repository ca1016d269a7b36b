//! Digests as the fields of records write them.

use data_encoding::BASE32;

/// A SHA-1 with its label, in Base32.
pub(super) fn digest(sha1: [u8; 20]) -> String {
    format!("sha1:{}", BASE32.encode(&sha1))
}
