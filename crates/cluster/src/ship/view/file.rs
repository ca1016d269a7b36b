//! A file in the store: read by ranges of the objects that it consists of.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::manifest::{Manifest, ShippedFile};
use super::cache::{BLOCK_BYTES, Cache};
use crate::disk::RawFile;
use crate::store::{Error, ObjectStore};

/// Blocks that are asked for at a time, where a file is read on and on.
const AHEAD: u64 = 16;

static FILES: AtomicU64 = AtomicU64::new(0);

/// The places of the bytes of a file.
#[derive(Debug)]
pub(super) struct Placed {
    /// Distinguishes its blocks in the cache from blocks of others.
    number: u64,
    bytes: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    InMemory(Vec<u8>),
    InStore(Vec<Stretch>),
}

/// A stretch of the file: where it begins there, and in its object.
#[derive(Debug)]
struct Stretch {
    at: u64,
    object: Arc<str>,
    offset: u64,
    bytes: u64,
}

impl Placed {
    /// A file of a manifest.
    pub(crate) fn of(manifest: &Manifest, file: &ShippedFile) -> Placed {
        let (mut at, mut stretches) = (0, Vec::with_capacity(file.parts.len()));
        for part in &file.parts {
            let object = manifest.object(part).name.as_str().into();
            stretches.push(Stretch { at, object, offset: part.offset, bytes: part.bytes });
            at += part.bytes;
        }
        Placed { number: FILES.fetch_add(1, Ordering::Relaxed), bytes: at, content: Content::InStore(stretches) }
    }

    /// A file that is in memory.
    pub(crate) fn in_memory(bytes: Vec<u8>) -> Placed {
        Placed { number: 0, bytes: bytes.len() as u64, content: Content::InMemory(bytes) }
    }
}

/// One that is open.
#[derive(Debug)]
pub(super) struct RemoteFile {
    store: Arc<dyn ObjectStore>,
    cache: Arc<Cache>,
    placed: Arc<Placed>,
    /// The block behind the one that was read last.
    expected: AtomicU64,
}

impl RemoteFile {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, cache: Arc<Cache>, placed: Arc<Placed>) -> RemoteFile {
        RemoteFile { store, cache, placed, expected: AtomicU64::new(u64::MAX) }
    }

    /// The block `number`, from the cache or the store.
    fn block(&self, stretches: &[Stretch], number: u64) -> io::Result<Arc<[u8]>> {
        let key = (self.placed.number, number);
        let goes_on = self.expected.swap(number + 1, Ordering::Relaxed) == number;
        if let Some(block) = self.cache.get(key) {
            return Ok(block);
        }
        let blocks = if goes_on { AHEAD } else { 1 };
        let begin = number * BLOCK_BYTES;
        let bytes = self.fetch(stretches, begin, self.placed.bytes.min(begin + blocks * BLOCK_BYTES))?;
        let mut pieces = bytes.chunks(BLOCK_BYTES as usize).map(Arc::<[u8]>::from);
        let first = pieces.next().ok_or(io::ErrorKind::UnexpectedEof)?;
        self.cache.put(key, first.clone());
        pieces.zip(number + 1..).for_each(|(piece, number)| self.cache.put((self.placed.number, number), piece));
        Ok(first)
    }

    /// The bytes of the file from `begin` to `end`, by one request for each stretch.
    fn fetch(&self, stretches: &[Stretch], begin: u64, end: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity((end - begin) as usize);
        let first = stretches.partition_point(|stretch| stretch.at + stretch.bytes <= begin);
        for stretch in stretches[first..].iter().take_while(|stretch| stretch.at < end) {
            let (from, to) = (begin.max(stretch.at), end.min(stretch.at + stretch.bytes));
            let range = stretch.offset + (from - stretch.at)..stretch.offset + (to - stretch.at);
            let wanted = range.end - range.start;
            let bytes = self.store.get(&stretch.object, range).map_err(refused)?;
            if bytes.len() as u64 != wanted {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{} is too short", stretch.object)));
            }
            out.extend_from_slice(&bytes);
        }
        Ok(out)
    }
}

/// Turns the error of a store into one of a disk.
fn refused(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::Refused { .. } => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "files in the store are only read")
}

impl RawFile for RemoteFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.placed.bytes || buf.is_empty() {
            return Ok(0);
        }
        let copy = |from: &[u8], buf: &mut [u8]| {
            let count = from.len().min(buf.len());
            buf[..count].copy_from_slice(&from[..count]);
            count
        };
        match &self.placed.content {
            Content::InMemory(bytes) => Ok(copy(&bytes[offset as usize..], buf)),
            Content::InStore(stretches) => {
                let block = self.block(stretches, offset / BLOCK_BYTES)?;
                Ok(copy(&block[(offset % BLOCK_BYTES) as usize..], buf))
            }
        }
    }

    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(read_only())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.placed.bytes)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(read_only())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
