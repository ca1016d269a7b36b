//! The pages that named the URLs of which records are built.

use crate::container::Referrer;
use crate::contract::RecentUrls;
use crate::disk::Result;

/// The pages that were read last, by how histories name them.
#[derive(Debug, Default)]
pub(super) struct Referrers(RecentUrls);

impl Referrers {
    /// Reads who named a URL, where that is still to be done.
    pub(super) fn resolve(&mut self, referrer: &mut Referrer) -> Result<()> {
        referrer.resolve_by(|place| self.0.get(place.via(), || place.url()))
    }
}
