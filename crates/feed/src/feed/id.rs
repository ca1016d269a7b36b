//! The id of a document.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::web::url::{CanonicalUrl, KeyMaker};

/// The id of the document at `url`: the first half of the SHA-256 of its key form, which is the same in all crawls with
/// the same `scope.strip_query_params`.
pub(super) fn id_of(url: &CanonicalUrl, keys: &KeyMaker) -> String {
    HEXLOWER.encode(&Sha256::digest(keys.key_text(url))[..16])
}
