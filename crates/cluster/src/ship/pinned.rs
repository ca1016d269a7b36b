//! A store of which a reader has copied what its owner may delete.
//!
//! Names of objects are used once, so a copied part is right for as long as it is wanted: checkpoints that name it
//! later find it here too, and who begins again with a newer one reads only what that one has in place of the old.
//! Value files are not copied: their pieces stay as long as the crawl.
//!
//! Copies are in memory, and beyond a bound in a temporary file without a name.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::manifest::{Manifest, Part, ShippedFile};
use super::parts::{self, Objects, Read, Wanted};
use crate::disk;
use crate::record::FileKind;
use crate::store::{Body, Error, ObjectStore, Result};

/// A part of an object that could not be copied: it is gone, or not what was put there.
#[derive(Debug)]
pub(super) struct Lost {
    pub object: String,
    pub error: Error,
}

/// A store, and the copies of parts of its objects.
pub struct Pinned {
    store: Arc<dyn ObjectStore>,
    memory_max: usize,
    copies: RwLock<HashMap<String, BTreeMap<u64, Copied>>>,
    space: Mutex<CopySpace>,
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinned").field("store", &self.store).finish_non_exhaustive()
    }
}

/// A part that was copied.
enum Copied {
    InMemory(Vec<u8>),
    InFile { file: Arc<File>, at: u64, bytes: u64 },
}

/// Space that copies take in memory and in the file.
#[derive(Default)]
struct CopySpace {
    in_memory: usize,
    file: Option<Arc<File>>,
    file_end: u64,
}

impl Copied {
    fn bytes(&self) -> u64 {
        match self {
            Copied::InMemory(content) => content.len() as u64,
            Copied::InFile { bytes, .. } => *bytes,
        }
    }

    fn write(&mut self, piece: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Copied::InMemory(content) => {
                content[offset as usize..][..piece.len()].copy_from_slice(piece);
                Ok(())
            }
            Copied::InFile { file, at, .. } => file.write_all_at(piece, *at + offset),
        }
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        match self {
            Copied::InMemory(content) => Ok(content[range.start as usize..range.end as usize].to_vec()),
            Copied::InFile { file, at, .. } => {
                let mut content = vec![0; (range.end - range.start) as usize];
                file.read_exact_at(&mut content, *at + range.start)?;
                Ok(content)
            }
        }
    }
}

impl Pinned {
    /// No copies yet of `store`; this many bytes of them are in memory.
    pub fn new(store: Arc<dyn ObjectStore>, memory_max: usize) -> Pinned {
        Pinned { store, memory_max, copies: RwLock::default(), space: Mutex::default() }
    }

    /// Copies all parts of the files of `manifest` that are `wanted`, value files excepted; returns those that cannot
    /// be had. Other errors end it, and the next call goes on from what was copied.
    pub(super) fn keep(&self, manifest: &Manifest, wanted: &dyn Fn(&ShippedFile) -> bool) -> Result<Vec<Lost>> {
        let files = manifest.files.iter().filter(|file| file.kind != FileKind::Archive && wanted(file));
        let mut objects: Objects<'_> = parts::by_object(manifest, files).collect();
        objects.iter_mut().for_each(|(name, parts)| parts.retain(|of| !self.has(name, &of.part)));
        objects.retain(|(_, parts)| !parts.is_empty());
        let lost = Mutex::new(Vec::new());
        parts::side_by_side(&*self.store, objects, &|name, parts| {
            let mut of_object = self.copy(name, parts)?;
            lost.lock().unwrap_or_else(PoisonError::into_inner).append(&mut of_object);
            Ok(())
        })?;
        Ok(lost.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn has(&self, name: &str, part: &Part) -> bool {
        let copies = self.copies.read().unwrap_or_else(PoisonError::into_inner);
        copies.get(name).and_then(|parts| parts.get(&part.offset)).is_some_and(|copied| copied.bytes() == part.bytes)
    }

    /// Copies these parts of the object `name`; returns those that cannot be had.
    fn copy(&self, name: &str, mut parts: Vec<Wanted<'_>>) -> Result<Vec<Lost>> {
        let (mut lost, mut open) = (Vec::new(), None::<Copied>);
        let read = parts::read(&*self.store, name, &mut parts, &mut |of, read| {
            match read {
                Read::Piece(piece, offset) => {
                    if offset == 0 {
                        open = Some(self.reserve(of.part.bytes)?);
                    }
                    let copied = open.as_mut().expect("the first piece of a part begins it");
                    copied.write(piece, offset).map_err(|error| fault("write a temporary file in", error))?;
                    if offset + piece.len() as u64 == of.part.bytes {
                        self.put(name, of.part.offset, open.take());
                    }
                }
                Read::Damaged(error) => {
                    // its reader is to meet it in the store, and to get the error again
                    self.put(name, of.part.offset, None);
                    lost.push(Lost { object: name.to_owned(), error });
                }
            }
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(error @ (Error::NotFound { .. } | Error::Damaged { .. })) => {
                lost.push(Lost { object: name.to_owned(), error });
            }
            Err(error) => return Err(error),
        }
        Ok(lost)
    }

    fn put(&self, name: &str, offset: u64, copied: Option<Copied>) {
        let mut copies = self.copies.write().unwrap_or_else(PoisonError::into_inner);
        let parts = copies.entry(name.to_owned()).or_default();
        match copied {
            Some(copied) => parts.insert(offset, copied),
            None => parts.remove(&offset),
        };
    }

    /// Space for a part of this many bytes.
    fn reserve(&self, bytes: u64) -> Result<Copied> {
        let mut space = self.space();
        if space.in_memory as u64 + bytes <= self.memory_max as u64 {
            space.in_memory += bytes as usize;
            return Ok(Copied::InMemory(vec![0; bytes as usize]));
        }
        let file = match &space.file {
            Some(file) => file.clone(),
            None => Arc::new(tempfile::tempfile().map_err(|error| fault("create a temporary file in", error))?),
        };
        space.file = Some(file.clone());
        let at = space.file_end;
        space.file_end += bytes;
        Ok(Copied::InFile { file, at, bytes })
    }

    fn space(&self) -> MutexGuard<'_, CopySpace> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The range, if a part was copied that contains it.
    fn copied(&self, name: &str, range: &Range<u64>) -> Result<Option<Vec<u8>>> {
        let copies = self.copies.read().unwrap_or_else(PoisonError::into_inner);
        let Some((offset, copied)) = copies.get(name).and_then(|parts| parts.range(..=range.start).next_back()) else {
            return Ok(None);
        };
        match range.end <= offset + copied.bytes() {
            true => {
                let content = copied.read(range.start - offset..range.end - offset);
                content.map(Some).map_err(|error| fault("read a temporary file in", error))
            }
            false => Ok(None),
        }
    }
}

fn fault(action: &'static str, error: io::Error) -> Error {
    Error::Disk(disk::Error::io(action, &env::temp_dir(), error))
}

impl ObjectStore for Pinned {
    fn put(&self, name: &str, body: &Body) -> Result<()> {
        self.store.put(name, body)
    }

    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        match self.copied(name, &range)? {
            Some(content) => Ok(content),
            None => self.store.get(name, range),
        }
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        self.store.length(name)
    }

    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()> {
        self.store.list(prefix, visit)
    }

    fn delete(&self, name: &str) -> Result<()> {
        self.store.delete(name)
    }

    fn at_once(&self) -> usize {
        self.store.at_once()
    }

    fn address(&self) -> String {
        self.store.address()
    }
}
