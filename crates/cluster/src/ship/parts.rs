//! Parts of files at their places in objects: each object is read from its beginning to its end, in few large requests,
//! and every part is compared with its checksum.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::manifest::{Manifest, Part, ShippedFile};
use crate::store::{Error, ObjectStore, Result};

/// The number of bytes that are asked for at a time.
const READ_BYTES: u64 = 8 << 20;
/// The number of unwanted bytes up to which they are read along rather than left out.
const GAP_BYTES: u64 = 64 << 10;

/// A part of a file that is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub file: &'a ShippedFile,
    /// Offset in the file.
    pub at: u64,
    pub part: Part,
}

/// Pieces and outcome of reading a part.
pub(super) enum Read<'b> {
    /// Bytes of it, and where they begin in it.
    Piece(&'b [u8], u64),
    /// All of it was read, and it is not what was put there.
    Damaged(Error),
}

/// The parts of these files of `manifest`, with the names of the objects that contain them.
pub(super) fn by_object<'a>(
    manifest: &'a Manifest,
    files: impl Iterator<Item = &'a ShippedFile>,
) -> impl Iterator<Item = (&'a str, Vec<Wanted<'a>>)> {
    let mut wanted: BTreeMap<u32, Vec<Wanted<'a>>> = BTreeMap::new();
    for file in files {
        let mut at = 0;
        for part in &file.parts {
            wanted.entry(part.object).or_default().push(Wanted { file, at, part: *part });
            at += part.bytes;
        }
    }
    wanted.into_iter().map(|(object, wanted)| (manifest.objects[object as usize].name.as_str(), wanted))
}

/// Objects, each with the parts that are wanted of it.
pub(super) type Objects<'a> = VecDeque<(&'a str, Vec<Wanted<'a>>)>;

/// Calls `read` for each of these objects, several at a time. After an error no other one is begun.
pub(super) fn side_by_side<'a>(
    store: &dyn ObjectStore,
    mut work: Objects<'a>,
    read: &(dyn Fn(&'a str, Vec<Wanted<'a>>) -> Result<()> + Sync),
) -> Result<()> {
    let threads = store.at_once().min(work.len());
    if threads <= 1 {
        return work.drain(..).try_for_each(|(name, wanted)| read(name, wanted));
    }
    let (work, failed) = (Mutex::new(work), Mutex::new(None));
    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((name, wanted)) = next() {
                    if let Err(error) = read(name, wanted) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        work.lock().unwrap_or_else(PoisonError::into_inner).clear();
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Reads what is wanted of the object `name`, in its order; `take` hears of each.
pub(super) fn read<'a>(
    store: &dyn ObjectStore,
    name: &str,
    wanted: &mut [Wanted<'a>],
    take: &mut dyn FnMut(&Wanted<'a>, Read<'_>) -> Result<()>,
) -> Result<()> {
    wanted.sort_by_key(|wanted| wanted.part.offset);
    let mut block = Block::default();
    for of @ Wanted { file, part, .. } in &*wanted {
        let (mut sum, mut done) = (crc32fast::Hasher::new(), 0);
        while done < part.bytes {
            let from = part.offset + done;
            if !block.range().contains(&from) {
                let end = stretch(wanted, from).min(from + READ_BYTES);
                block = Block { begin: from, bytes: store.get(name, from..end)? };
                whole(&block, from..end, name)?;
            }
            let begin = (from - block.begin) as usize;
            let piece = &block.bytes[begin..block.bytes.len().min(begin + (part.bytes - done) as usize)];
            sum.update(piece);
            take(of, Read::Piece(piece, done))?;
            done += piece.len() as u64;
        }
        let found = sum.finalize();
        if found != part.crc {
            let expected = format!("{} bytes of {} with checksum {:08x}", part.bytes, file.path, part.crc);
            let (name, found) = (name.to_owned(), format!("{found:08x}"));
            take(of, Read::Damaged(Error::Damaged { name, offset: part.offset, expected, found }))?;
        }
    }
    Ok(())
}

/// Bytes of an object that are in memory.
#[derive(Default)]
struct Block {
    begin: u64,
    bytes: Vec<u8>,
}

impl Block {
    fn range(&self) -> Range<u64> {
        self.begin..self.begin + self.bytes.len() as u64
    }
}

/// Returns the end of the wanted bytes that begin at `from` and go on without a long gap.
fn stretch(wanted: &[Wanted<'_>], from: u64) -> u64 {
    let mut end = from;
    let first = wanted.partition_point(|wanted| wanted.part.offset + wanted.part.bytes <= from);
    for Wanted { part, .. } in &wanted[first..] {
        if part.offset > end + GAP_BYTES {
            break;
        }
        end = end.max(part.offset + part.bytes);
    }
    end
}

fn whole(block: &Block, range: Range<u64>, name: &str) -> Result<()> {
    match block.range() == range {
        true => Ok(()),
        false => Err(Error::Damaged {
            name: name.to_owned(),
            offset: range.start,
            expected: format!("{} bytes", range.end - range.start),
            found: block.bytes.len().to_string(),
        }),
    }
}
