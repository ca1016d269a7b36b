//! What listings are for: garbage of earlier owners, and the newest checkpoint where no record says which one counts.

use std::collections::{BTreeSet, HashMap};

use super::manifest::Manifest;
use super::{Claim, Names};
use crate::store::{Error, ObjectStore, Result};

/// What a sweep did.
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

/// The manifest of the greatest (era, epoch, number) whose objects are all listed, with their lengths. One that was
/// never committed is a checkpoint like any other: it was written last, and on top of the last head.
pub fn newest(store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<Option<Manifest>> {
    newest_since(store, names, shard, (0, None))
}

/// The same of those of this era and later ones; where there is none, the one from which the era went on.
pub fn newest_since(
    store: &dyn ObjectStore,
    names: &Names,
    shard: u32,
    (era, base): (u32, Option<(Claim, u64)>),
) -> Result<Option<Manifest>> {
    let mut listed: HashMap<String, u64> = HashMap::new();
    let mut manifests: BTreeSet<(Claim, u64)> = BTreeSet::new();
    store.list(&names.shard(shard), &mut |name, bytes| {
        let named = names.parse_manifest(shard, name);
        manifests.extend(named.filter(|(claim, number)| claim.era >= era || base == Some((*claim, *number))));
        listed.insert(name.to_owned(), bytes);
    })?;
    for (claim, number) in manifests.into_iter().rev() {
        let name = names.manifest(shard, claim, number);
        // what is listed under a spelling of the name that is not ours has no length here
        let Some(&bytes) = listed.get(&name) else { continue };
        let manifest = match store.get(&name, 0..bytes) {
            Ok(bytes) => Manifest::read(&bytes, names, shard, &name),
            Err(error) => Err(error),
        };
        match manifest {
            Ok(manifest) if manifest.objects.iter().all(|object| listed.get(&object.name) == Some(&object.bytes)) => {
                return Ok(Some(manifest));
            }
            Ok(_) => tracing::warn!("{name}: not all objects that it names are in the store"),
            Err(error @ (Error::Damaged { .. } | Error::NotFound { .. })) => tracing::warn!("{error}"),
            Err(Error::Disk(error @ crate::disk::Error::Damaged { .. })) => tracing::warn!("{error}"),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
