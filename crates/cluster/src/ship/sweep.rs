//! Garbage of earlier owners, found by listings.

use super::manifest::Manifest;
use super::{Claim, Names};
use crate::store::{ObjectStore, Result};

/// Sums of what a sweep has deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects that were deleted.
    pub objects: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// Deletes what earlier owners of the shard left: objects below `claim` that the head, as it was read when the claim
/// was made, does not name. No later head can name one of those, so a sweep does no harm however late it comes.
pub fn sweep(
    store: &dyn ObjectStore,
    names: &Names,
    shard: u32,
    claim: Claim,
    head: Option<&Manifest>,
) -> Result<Swept> {
    let named = head.map(|head| head.named(names)).unwrap_or_default();
    let (mut manifests, mut others) = (Vec::new(), Vec::new());
    store.list(&names.shard(shard), &mut |name, bytes| {
        let is_earlier = names.parse(shard, name).is_some_and(|(of, _)| of < claim);
        if is_earlier && !named.contains(name) {
            let is_manifest = names.parse_manifest(shard, name).is_some();
            if is_manifest { &mut manifests } else { &mut others }.push((name.to_owned(), bytes));
        }
    })?;
    let mut swept = Swept::default();
    // manifests before what they name: one that is there is whole
    for (name, bytes) in manifests.into_iter().chain(others) {
        store.delete(&name)?;
        swept.objects += 1;
        swept.bytes += bytes;
    }
    Ok(swept)
}

/// The greatest claim under which an object of the shard is listed.
pub fn greatest_claim(store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<Option<Claim>> {
    let mut greatest = None;
    store.list(&names.shard(shard), &mut |name, _| {
        greatest = greatest.max(names.parse(shard, name).map(|(claim, _)| claim));
    })?;
    Ok(greatest)
}
