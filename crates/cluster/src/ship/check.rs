//! The newest checkpoint of a shard in a store, held to its manifest: whether every object is there, with its length
//! and, but for value files, with its bytes.
//!
//! An owner that goes on deletes what its next checkpoints need no more. So what is missing counts as damage only when
//! the checkpoint is still the newest one; otherwise all is looked at again by the newer manifest. Value files have
//! their own checksums, and a check of the archive reads them anyway.

use std::collections::HashSet;

use super::Names;
use super::manifest::{Manifest, ShippedFile};
use super::newest::{GOES_ON, Listed, TRIES};
use super::pinned::{Lost, Pinned};
use crate::disk;
use crate::record::FileKind;
use crate::store::{Error, ObjectStore, Result};

/// An object that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub name: String,
    /// Offset in it.
    pub offset: u64,
    /// The fault, in words.
    pub what: String,
    /// True if none of it can be used: it is not there, or has another length.
    pub is_lost: bool,
}

/// The state of a shard in the store.
#[derive(Debug, Default)]
pub struct Checked {
    /// The newest manifest that can be read.
    pub manifest: Option<Manifest>,
    /// Faults of its objects.
    pub faults: Vec<Fault>,
    /// Objects that were looked at.
    pub objects: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Objects of other owners that the manifest does not name, and bytes in them.
    pub left_over: (u64, u64),
}

impl Checked {
    /// The manifest without the files of which a part is lost.
    pub fn readable(&self) -> Option<Manifest> {
        let mut manifest = self.manifest.clone()?;
        let lost: HashSet<&str> =
            self.faults.iter().filter(|fault| fault.is_lost).map(|fault| fault.name.as_str()).collect();
        let objects = std::mem::take(&mut manifest.objects);
        let is_lost = |part: &super::manifest::Part| lost.contains(objects[part.object as usize].name.as_str());
        manifest.files.retain(|file| !file.parts.iter().any(is_lost));
        manifest.objects = objects;
        Some(manifest)
    }
}

/// Checks the newest checkpoint of the shard, and copies all of it but value files: what is read of it afterwards is of
/// this checkpoint, whatever its owner deletes. An error, where its owner goes on faster than it can be read.
pub fn check(store: &Pinned, names: &Names, shard: u32) -> Result<Checked> {
    for _ in 0..TRIES {
        let listed = Listed::of(store, names, shard)?;
        let checked = check_listed(store, names, shard, &listed)?;
        let is_sound = checked.faults.is_empty() && checked.manifest.is_some();
        if is_sound || listed.objects.is_empty() || !listed.is_superseded(store, names, shard)? {
            return Ok(checked);
        }
    }
    Err(Error::unavailable(&names.shard(shard), GOES_ON))
}

fn check_listed(store: &Pinned, names: &Names, shard: u32, listed: &Listed) -> Result<Checked> {
    let mut checked = Checked::default();
    for &(claim, number) in listed.manifests.iter().rev() {
        let name = names.manifest(shard, claim, number);
        let Some(&bytes) = listed.objects.get(&name) else { continue };
        checked.objects += 1;
        checked.bytes += bytes;
        match store.get(&name, 0..bytes).and_then(|bytes| Manifest::read(&bytes, names, shard, &name)) {
            Ok(manifest) => {
                checked.manifest = Some(manifest);
                break;
            }
            Err(error) => checked.faults.push(fault(error, &name)?),
        }
    }
    let Some(manifest) = checked.manifest.take() else {
        let is_ours = |name: &&String| names.parse(shard, name).is_some();
        checked.left_over.0 = listed.objects.keys().filter(is_ours).count() as u64;
        checked.left_over.1 = listed.objects.iter().filter(|(name, _)| is_ours(name)).map(|(_, bytes)| bytes).sum();
        return Ok(checked);
    };
    for object in &manifest.objects {
        checked.objects += 1;
        let what = match listed.length(store, object)? {
            Some(bytes) if bytes == object.bytes => continue,
            Some(bytes) => format!("it has {bytes} bytes, not {}", object.bytes),
            None => "missing".to_owned(),
        };
        let what = format!("{what}; {}", files_in(&manifest, &object.name));
        checked.faults.push(Fault { name: object.name.clone(), offset: 0, what, is_lost: true });
    }
    check_parts(store, &manifest, &mut checked)?;
    let named = manifest.named(names);
    for (name, bytes) in listed.objects.iter().filter(|(name, _)| !named.contains(*name)) {
        if names.parse(shard, name).is_some_and(|(claim, _)| claim != manifest.claim) {
            checked.left_over.0 += 1;
            checked.left_over.1 += bytes;
        }
    }
    checked.manifest = Some(manifest);
    Ok(checked)
}

/// Copies the parts of all files but value files, compared with their checksums, where their objects are there.
fn check_parts(store: &Pinned, manifest: &Manifest, checked: &mut Checked) -> Result<()> {
    let known: HashSet<String> = checked.faults.iter().map(|fault| fault.name.clone()).collect();
    let lost = store.keep(manifest, &|_| true)?;
    for Lost { object, error } in lost.into_iter().filter(|lost| !known.contains(&lost.object)) {
        checked.faults.push(fault(error, &object)?);
    }
    let files = manifest.files.iter().filter(|file| file.kind != FileKind::Archive);
    checked.bytes += files.map(ShippedFile::bytes).sum::<u64>();
    Ok(())
}

/// Returns what is wrong with an object, by the error that was met when it was read. Other errors come back.
fn fault(error: Error, name: &str) -> Result<Fault> {
    let name = name.to_owned();
    match error {
        Error::NotFound { .. } => Ok(Fault { name, offset: 0, what: "missing".to_owned(), is_lost: true }),
        Error::Damaged { offset, expected, found, .. }
        | Error::Disk(disk::Error::Damaged { offset, expected, found, .. }) => {
            Ok(Fault { name, offset, what: format!("expected {expected}, found {found}"), is_lost: false })
        }
        error => Err(error),
    }
}

/// Returns which files have a part in the object, as words.
fn files_in(manifest: &Manifest, object: &str) -> String {
    let has_part =
        |file: &&super::manifest::ShippedFile| file.parts.iter().any(|part| manifest.object(part).name == object);
    let mut files: Vec<&str> = manifest.files.iter().filter(has_part).map(|file| file.path.as_str()).collect();
    let more = files.len().saturating_sub(3);
    files.truncate(3);
    match (files.is_empty(), more) {
        (true, _) => "no file needs it any more".to_owned(),
        (false, 0) => format!("it has parts of {}", files.join(", ")),
        (false, more) => format!("it has parts of {} and {more} more files", files.join(", ")),
    }
}
