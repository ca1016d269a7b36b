//! Signatures of requests: a door, behind which nothing is in a crawl that does not sign.

use std::fmt::Debug;

use crate::clock::Time;
use crate::web::url::CanonicalUrl;

/// Fields of the head of a signed request: names in lower case, and values.
pub type SignatureFields = [(&'static str, String); 3];

/// Signs requests.
pub trait RequestSigner: Debug + Send + Sync {
    /// The fields that make a request for `url` at `now` a signed one.
    fn sign(&self, method: &str, url: &CanonicalUrl, now: Time) -> SignatureFields;
    /// A text that is the same for two signers that no server can tell apart.
    fn identity(&self) -> String;
}

impl PartialEq for dyn RequestSigner {
    fn eq(&self, other: &dyn RequestSigner) -> bool {
        self.identity() == other.identity()
    }
}
