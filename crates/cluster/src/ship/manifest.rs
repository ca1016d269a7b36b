//! The manifest of a checkpoint: of which parts of which objects its files consist.
//!
//! ```text
//! n000042.manifest   header 16 | length u32 | crc32 u32 | postcard of the manifest, zstd       length: unpacked
//! ```
//! The checksum is over the length and the packed bytes. A manifest comes from a store that others may write to:
//! whatever is in it, no path leads out of the shard's directory, and no part out of its object ([`Manifest::read`]).

use std::collections::HashSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::Claim;
use super::names::Names;
use crate::disk::{HEADER_BYTES, Header, Kind};
use crate::exchange::{Head, Revision};
use crate::record::FileKind;
use crate::store::{Error, Result};

/// Version of the format.
const VERSION: u16 = 1;
const HEAD_BYTES: usize = 8;
/// No manifest unpacks to more: some million parts.
const UNPACKED_MAX: usize = 256 << 20;
const LEVEL: i32 = 3;

/// A shipped checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The crawl's id.
    pub crawl: u128,
    /// The shard that it is of.
    pub shard: u32,
    /// Shards of the crawl.
    pub shards: u32,
    /// The claim under which it was shipped.
    pub claim: Claim,
    /// The checkpoint's number.
    pub number: u64,
    /// Head of the shard for the other shards.
    pub head: Head,
    /// The objects that its files consist of.
    pub objects: Vec<Object>,
    /// The files, by path.
    pub files: Vec<ShippedFile>,
    /// The link files that others may have to read, the oldest first.
    pub links: Vec<ShippedLinks>,
}

/// An object that a manifest names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// A file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedFile {
    /// Path in the shard's directory, with `/` between the parts.
    pub path: String,
    /// The way in which it changes.
    pub kind: FileKind,
    /// Another one than the file's says that it was changed in place.
    pub lineage: u32,
    /// crc32 of its last bytes, of a file that grows: what is appended has to follow these.
    pub seam: u32,
    /// Parts that it consists of, in this order.
    pub parts: Vec<Part>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The object: its place among the objects of the manifest.
    pub object: u32,
    /// Offset in the object.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
    /// Its crc32.
    pub crc: u32,
}

/// A link file that a manifest names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedLinks {
    /// The checkpoint that it came with.
    pub number: u64,
    /// The claim under which it was shipped: it is part of the object's name.
    pub claim: Claim,
    /// True if it has URLs that join the scope of every shard.
    pub has_notes: bool,
    /// Revision at which it was committed. 0 says that it came with this manifest.
    pub revision: Revision,
}

impl ShippedFile {
    /// The length of the file.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

impl Manifest {
    /// The name of its object.
    pub fn name(&self, names: &Names) -> String {
        names.manifest(self.shard, self.claim, self.number)
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&ShippedFile> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|at| &self.files[at])
    }

    /// The object that contains a part.
    pub(crate) fn object(&self, part: &Part) -> &Object {
        &self.objects[part.object as usize]
    }

    /// The names of all objects that must be there for it, its own included.
    pub(crate) fn named(&self, names: &Names) -> HashSet<String> {
        self.objects.iter().map(|object| object.name.clone()).chain([self.name(names)]).collect()
    }

    /// It became the head at `revision`: so did the link file that it came with.
    pub fn committed_at(&mut self, revision: Revision) {
        self.links.iter_mut().filter(|links| links.revision == 0).for_each(|links| links.revision = revision);
    }

    /// The bytes of its object.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let plain = postcard::to_stdvec(self).expect("a manifest consists of plain data");
        let packed = zstd::bulk::compress(&plain, LEVEL).expect("memory is packed into memory");
        seal(&u32::try_from(plain.len()).expect("a manifest is below 4 GiB").to_le_bytes(), &packed)
    }

    /// Reads the object `name`, a manifest of `shard`.
    pub fn read(bytes: &[u8], names: &Names, shard: u32, name: &str) -> Result<Manifest> {
        let damaged = |offset: usize, expected: &str, found: String| Error::Damaged {
            name: name.to_owned(),
            offset: offset as u64,
            expected: expected.to_owned(),
            found,
        };
        let (header, rest) = bytes
            .split_first_chunk::<{ HEADER_BYTES as usize }>()
            .ok_or_else(|| damaged(0, "a header", "the end of the object".to_owned()))?;
        let version = Header::parse(header, Path::new(name), Kind::Manifest, VERSION)?.version;
        if version < VERSION {
            return Err(damaged(0, &format!("a manifest of version {VERSION}"), format!("version {version}")));
        }
        let at = HEADER_BYTES as usize;
        let (head, packed) = rest
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or_else(|| damaged(at, "length and checksum", "the end of the object".to_owned()))?;
        let [a, b, c, d, sum @ ..] = *head;
        let (length, sum, found) = ([a, b, c, d], u32::from_le_bytes(sum), checksum(&[a, b, c, d], packed));
        if sum != found {
            return Err(damaged(at, &format!("checksum {sum:08x}"), format!("{found:08x}")));
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > UNPACKED_MAX {
            return Err(damaged(at, "a manifest", format!("one of {length} bytes")));
        }
        let at = at + HEAD_BYTES;
        let plain = zstd::bulk::decompress(packed, length).map_err(|e| damaged(at, "zstd", e.to_string()))?;
        let manifest: Manifest =
            postcard::from_bytes(&plain).map_err(|e| damaged(at, "a readable manifest", e.to_string()))?;
        match manifest.fault(names, shard, name) {
            None => Ok(manifest),
            Some(fault) => Err(damaged(at, "a sound manifest", fault)),
        }
    }

    /// Returns what is wrong with it as the manifest of `shard` under `name`.
    fn fault(&self, names: &Names, shard: u32, name: &str) -> Option<String> {
        if self.shard != shard || self.shard >= self.shards || self.name(names) != name {
            return Some(format!("that of checkpoint {} of shard {} of {}", self.number, self.shard, self.shards));
        }
        if let Some(object) = self.objects.iter().find(|object| names.parse(shard, &object.name).is_none()) {
            return Some(format!("an object with the name {:?}", object.name));
        }
        if !self.files.is_sorted_by(|one, next| one.path < next.path) {
            return Some("files that are not ordered by their paths".to_owned());
        }
        self.files.iter().find_map(|file| {
            let is_sound = |part: &Part| {
                let object = self.objects.get(part.object as usize);
                object.is_some_and(|object| part.offset.checked_add(part.bytes).is_some_and(|end| end <= object.bytes))
            };
            let bytes = file.parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.bytes));
            if !is_inside(&file.path) {
                Some(format!("the path {:?}", file.path))
            } else if bytes.is_none() || !file.parts.iter().all(is_sound) {
                Some(format!("parts of {} outside of their objects", file.path))
            } else {
                None
            }
        })
    }
}

/// Returns whether the path leads to a file below the directory that it is relative to.
fn is_inside(path: &str) -> bool {
    let parts = Path::new(path).components();
    !path.is_empty()
        && !path.contains(['\0', '\\'])
        && path.split('/').all(|part| !part.is_empty())
        && parts.into_iter().all(|part| matches!(part, Component::Normal(_)))
}

fn checksum(length: &[u8; 4], packed: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(length);
    sum.update(packed);
    sum.finalize()
}

/// The bytes of an object with this length and this packed content.
pub(super) fn seal(length: &[u8; 4], packed: &[u8]) -> Vec<u8> {
    let mut bytes = Header { kind: Kind::Manifest, version: VERSION }.to_bytes().to_vec();
    bytes.extend_from_slice(length);
    bytes.extend_from_slice(&checksum(length, packed).to_le_bytes());
    bytes.extend_from_slice(packed);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::fuzzing::sample;
    use super::*;

    #[test]
    fn a_manifest_is_read_back_and_every_changed_byte_is_noticed() {
        let (manifest, names) = (sample(), Names::default());
        let (bytes, name) = (manifest.to_bytes(), manifest.name(&names));
        assert_eq!(Manifest::read(&bytes, &names, 3, &name).unwrap(), manifest);
        assert_eq!(manifest.file("pages/key.dat").unwrap().bytes(), 40);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Manifest::read(&changed, &names, 3, &name).is_err(), "byte {at}");
            assert!(Manifest::read(&bytes[..at], &names, 3, &name).is_err(), "{at} bytes");
        }
        assert!(Manifest::read(&bytes, &names, 2, &name).is_err());
        assert!(Manifest::read(&bytes, &names, 3, "003/e1-7/n000043.manifest").is_err());
    }

    #[test]
    fn no_path_leads_out_of_the_directory_and_no_part_out_of_its_object() {
        let names = Names::default();
        let is_refused = |change: &dyn Fn(&mut Manifest)| {
            let mut manifest = sample();
            change(&mut manifest);
            Manifest::read(&manifest.to_bytes(), &names, 3, &sample().name(&names)).is_err()
        };
        assert!(!is_refused(&|_| {}));
        for path in ["../x", "/etc/x", "a/../../x", "", "a//b", "./a", "a/", "a\0b"] {
            assert!(is_refused(&|manifest| manifest.files[0].path = path.to_owned()), "{path:?}");
        }
        assert!(is_refused(&|manifest| manifest.files[0].parts[0].bytes = 101));
        assert!(is_refused(&|manifest| manifest.files[0].parts[0].offset = u64::MAX));
        assert!(is_refused(&|manifest| manifest.files[0].parts[0].object = 2));
        assert!(is_refused(&|manifest| manifest.files.swap(0, 1)));
        assert!(is_refused(&|manifest| manifest.objects[0].name = "004/e1-7/n000042.pack".to_owned()));
        assert!(is_refused(&|manifest| manifest.shard = 4));
    }
}
