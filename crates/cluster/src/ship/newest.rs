//! The newest checkpoint of a shard by a listing, where no record says which one counts.
//!
//! An owner that goes on puts the manifest of its next checkpoint before it deletes what that one does not name. So an
//! object that the newest manifest names and that is not there is damage; where a newer manifest is listed afterwards,
//! nothing follows from it, and all is listed again ([`Listed::is_superseded`]).

use std::collections::{BTreeSet, HashMap};

use super::manifest::{Manifest, Object};
use super::pinned::Pinned;
use super::{Claim, Names};
use crate::record::layout::{self, StoreName};
use crate::store::{Error, ObjectStore, Result};

/// The most listings of a shard that goes on meanwhile. What was read of the checkpoints before is kept, so that each
/// try has less to read than an interval between two checkpoints brings.
pub(super) const TRIES: usize = 20;

/// Said of a shard whose checkpoints follow too fast.
pub(super) const GOES_ON: &str =
    "the crawl makes checkpoints faster than they can be read: try again, or once it is paused";
/// The files of a checkpoint that a command reads. What is left out is read from the store where it is wanted all the
/// same, as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The index of the archive, and what is of the whole crawl.
    Archive,
    /// All but stores and queue, of which a question about one URL wants little.
    Url,
    /// All but stores.
    Reports,
}

impl Reads {
    fn includes(self, path: &str) -> bool {
        let leaves_out: &[&str] = match self {
            Reads::Archive => &[layout::FRONTIER, layout::LOGS, layout::LINKS],
            Reads::Url => &[layout::FRONTIER],
            Reads::Reports => &[],
        };
        let top = path.split('/').next().unwrap_or(path);
        // stores and calendar have a file of each bucket or slot and generation
        let is_store = top == layout::CALENDAR || StoreName::ALL.iter().any(|store| store.dir_name() == top);
        !is_store && !leaves_out.contains(&top)
    }
}

/// The eras whose manifests count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Since {
    /// This one and later ones.
    pub era: u32,
    /// The checkpoint from which the era went on.
    pub base: Option<(Claim, u64)>,
}

impl Since {
    fn counts(self, claim: Claim, number: u64) -> bool {
        claim.era >= self.era || self.base == Some((claim, number))
    }
}

/// Listing of a shard's objects.
#[derive(Default)]
pub(super) struct Listed {
    /// Lengths by name.
    pub objects: HashMap<String, u64>,
    /// Claims and numbers of manifests.
    pub manifests: BTreeSet<(Claim, u64)>,
}

impl Listed {
    pub(crate) fn of(store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<Listed> {
        let mut listed = Listed::default();
        store.list(&names.shard(shard), &mut |name, bytes| {
            listed.manifests.extend(names.parse_manifest(shard, name));
            listed.objects.insert(name.to_owned(), bytes);
        })?;
        Ok(listed)
    }

    /// Returns true where another manifest is the newest by now.
    pub(crate) fn is_superseded(&self, store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<bool> {
        Ok(Listed::of(store, names, shard)?.manifests.last() != self.manifests.last())
    }

    /// The length of the object; nothing where it is not there. A listing may lag, or have passed its name before it
    /// was put.
    pub(crate) fn length(&self, store: &dyn ObjectStore, object: &Object) -> Result<Option<u64>> {
        match self.objects.get(&object.name) {
            Some(&bytes) if bytes == object.bytes => Ok(Some(bytes)),
            _ => store.length(&object.name),
        }
    }

    /// The newest of the manifests that count whose objects are all there; and what is wrong with those behind it.
    fn newest_whole(
        &self,
        store: &dyn ObjectStore,
        names: &Names,
        shard: u32,
        since: Since,
    ) -> Result<(Option<Manifest>, Vec<String>)> {
        let mut faults = Vec::new();
        for &(claim, number) in self.manifests.iter().rev().filter(|(claim, number)| since.counts(*claim, *number)) {
            let name = names.manifest(shard, claim, number);
            // what is listed under a spelling of the name that is not ours has no length here
            let Some(&bytes) = self.objects.get(&name) else { continue };
            match store.get(&name, 0..bytes).and_then(|bytes| Manifest::read(&bytes, names, shard, &name)) {
                Ok(manifest) => {
                    if self.has_all(store, &manifest)? {
                        return Ok((Some(manifest), faults));
                    }
                    faults.push(format!("{name}: not all objects that it names are in the store"));
                }
                Err(error @ (Error::Damaged { .. } | Error::NotFound { .. })) => faults.push(error.to_string()),
                Err(Error::Disk(error @ crate::disk::Error::Damaged { .. })) => faults.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Ok((None, faults))
    }

    fn has_all(&self, store: &dyn ObjectStore, manifest: &Manifest) -> Result<bool> {
        for object in &manifest.objects {
            if self.length(store, object)? != Some(object.bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The manifest of the greatest (era, epoch, number) whose objects are all there, with their lengths. One that was
/// never committed is a checkpoint like any other: it was written last, and on top of the last head.
pub fn newest(store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<Option<Manifest>> {
    newest_since(store, names, shard, Since::default())
}

/// The same of those that count.
pub fn newest_since(store: &dyn ObjectStore, names: &Names, shard: u32, since: Since) -> Result<Option<Manifest>> {
    Ok(find(store, names, shard, since)?.whole)
}

/// Result of a search.
struct Found {
    whole: Option<Manifest>,
    /// Set where a manifest is listed that counts, whole or not.
    is_any_listed: bool,
}

fn find(store: &dyn ObjectStore, names: &Names, shard: u32, since: Since) -> Result<Found> {
    let mut tries = 0;
    loop {
        let listed = Listed::of(store, names, shard)?;
        let (whole, faults) = listed.newest_whole(store, names, shard, since)?;
        tries += 1;
        // a listing that has no manifest may have passed the place of the newest one before that was put, and come to
        // that of the one before when it was deleted
        let is_certain = whole.is_some() && faults.is_empty();
        if is_certain || listed.objects.is_empty() || tries == TRIES || !listed.is_superseded(store, names, shard)? {
            faults.iter().for_each(|fault| tracing::warn!("{fault}"));
            return Ok(Found { is_any_listed: whole.is_some() || !faults.is_empty(), whole });
        }
    }
}

/// Copies of the newest checkpoint that counts what a command `reads`, so that all of it is of this checkpoint whatever
/// its owner deletes; its manifest, and nothing where there is no checkpoint yet. An error, where none is whole, or
/// where the owner goes on faster than it can be read.
pub fn keep_newest(store: &Pinned, names: &Names, shard: u32, since: Since, reads: Reads) -> Result<Option<Manifest>> {
    for _ in 0..TRIES {
        let found = find(store, names, shard, since)?;
        let Some(manifest) = found.whole else {
            return match found.is_any_listed {
                false => Ok(None),
                true => Err(Error::Damaged {
                    name: names.shard(shard),
                    offset: 0,
                    expected: "a checkpoint of which all objects are there".to_owned(),
                    found: "none; crawler verify --store says what is missing".to_owned(),
                }),
            };
        };
        let lost = store.keep(&manifest, &|file| reads.includes(&file.path))?;
        // bytes that are not what was put there are met by the command, which says more of them
        if !lost.iter().any(|lost| lost.error.is_not_found()) {
            return Ok(Some(manifest));
        }
    }
    Err(Error::unavailable(&names.shard(shard), GOES_ON))
}
