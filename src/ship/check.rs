//! The newest checkpoint of a shard in a store, held to its manifest: whether every object is there, with its length
//! and, but for value files, with its bytes.
//!
//! An owner that goes on deletes what its next checkpoints need no more. So what is missing counts as damage only when
//! the checkpoint is still the newest one; otherwise all is looked at again by the newer manifest. Value files have
//! checksums of their own, and who verifies the archive reads them anyway.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::manifest::Manifest;
use super::parts::{self, Read};
use super::{Claim, FileKind, Names};
use crate::disk;
use crate::store::{Error, ObjectStore, Result};

/// So often a checkpoint is looked at that was superseded meanwhile.
const TRIES: usize = 5;

/// An object that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub name: String,
    /// Where in it.
    pub offset: u64,
    /// What is wrong.
    pub what: String,
    /// Whether none of it can be used: it is not there, or has another length.
    pub is_lost: bool,
}

/// What a shard has in the store.
#[derive(Debug, Default)]
pub struct Checked {
    /// The newest manifest that can be read.
    pub manifest: Option<Manifest>,
    /// What is wrong.
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

/// What is listed of a shard.
#[derive(Default)]
struct Listed {
    objects: HashMap<String, u64>,
    manifests: BTreeSet<(Claim, u64)>,
}

impl Listed {
    fn of(store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<Listed> {
        let mut listed = Listed::default();
        store.list(&names.shard(shard), &mut |name, bytes| {
            listed.manifests.extend(names.parse_manifest(shard, name));
            listed.objects.insert(name.to_owned(), bytes);
        })?;
        Ok(listed)
    }
}

/// Whether a manifest of the shard is listed, whole or not.
pub fn has_manifest(store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<bool> {
    Ok(!Listed::of(store, names, shard)?.manifests.is_empty())
}

/// Checks the newest checkpoint of the shard.
pub fn check(store: &dyn ObjectStore, names: &Names, shard: u32) -> Result<Checked> {
    let mut tries = 0;
    loop {
        let listed = Listed::of(store, names, shard)?;
        let newest = listed.manifests.last().copied();
        let checked = check_listed(store, names, shard, &listed)?;
        tries += 1;
        if checked.faults.is_empty() || tries == TRIES {
            return Ok(checked);
        }
        if Listed::of(store, names, shard)?.manifests.last().copied() == newest {
            return Ok(checked);
        }
    }
}

fn check_listed(store: &dyn ObjectStore, names: &Names, shard: u32, listed: &Listed) -> Result<Checked> {
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
        let found = match listed.objects.get(&object.name) {
            Some(&bytes) if bytes == object.bytes => continue,
            // a listing may lag
            _ => store.length(&object.name)?,
        };
        let what = match found {
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

/// Compares the parts of all files but value files with their checksums, where their objects are there.
fn check_parts(store: &dyn ObjectStore, manifest: &Manifest, checked: &mut Checked) -> Result<()> {
    let lost: HashSet<String> = checked.faults.iter().map(|fault| fault.name.clone()).collect();
    let files = manifest.files.iter().filter(|file| file.kind != FileKind::Archive);
    for (name, mut wanted) in parts::by_object(manifest, files).filter(|(name, _)| !lost.contains(*name)) {
        let (mut bytes, mut faults) = (0, Vec::new());
        let read = parts::read(store, name, &mut wanted, &mut |_, read| {
            match read {
                Read::Piece(piece, _) => bytes += piece.len() as u64,
                Read::Damaged(error) => faults.push(fault(error, name)?),
            }
            Ok(())
        });
        checked.bytes += bytes;
        checked.faults.append(&mut faults);
        if let Err(error) = read {
            checked.faults.push(fault(error, name)?);
        }
    }
    Ok(())
}

/// What is wrong with an object, by what was met when it was read; other errors come back.
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

/// Which files have a part in the object, as words.
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
