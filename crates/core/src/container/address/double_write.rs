//! address.dw: page images that are durable before any page is overwritten in its place.
//!
//! ```text
//! header (16), crc32 of the rest (4), pages (4), then for each: id (8), image (4096)
//! ```
//! The head page has the id [`HEAD_ID`]. A file that is not whole was not finished, so no page had been overwritten
//! yet: it is ignored. A whole one is written to its places again, which is harmless when that was done before.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::VERSION;
use super::page::{Head, PAGE_BYTES, Page, PageId};
use crate::disk::{Disk, DiskFile, HEADER_BYTES, Header, Kind, Mode, Result};

const HEAD_ID: u64 = u64::MAX;
const ENTRY_BYTES: usize = 8 + PAGE_BYTES;
const PAGES_AT: usize = HEADER_BYTES as usize + 8;

fn path(dir: &Path) -> PathBuf {
    dir.join("address.dw")
}

/// Writes `head` and `pages` so that a crash at any moment leaves all of them old or all of them new.
pub(super) fn write(
    disk: &Disk,
    dir: &Path,
    buckets: &DiskFile,
    overflow: &DiskFile,
    head: &Head,
    pages: &mut [Page],
) -> Result<()> {
    let mut images = Vec::with_capacity(PAGES_AT + (pages.len() + 1) * ENTRY_BYTES);
    images.extend_from_slice(&Header { kind: Kind::DoubleWrite, version: 1 }.to_bytes());
    images.extend_from_slice(&[0; 4]);
    images.extend_from_slice(&(pages.len() as u32 + 1).to_le_bytes());
    images.extend_from_slice(&HEAD_ID.to_le_bytes());
    images.extend_from_slice(&head.encode(Header { kind: Kind::Addresses, version: VERSION })[..]);
    for page in pages {
        images.extend_from_slice(&page.id().bits().to_le_bytes());
        images.extend_from_slice(page.encode());
    }
    let sum_at = HEADER_BYTES as usize;
    let sum = crc32fast::hash(&images[sum_at + 4..]);
    images[sum_at..sum_at + 4].copy_from_slice(&sum.to_le_bytes());
    let file = disk.open(path(dir), Mode::Create)?;
    file.write_all_at(&images, 0)?;
    file.set_len(images.len() as u64)?;
    file.sync()?;
    disk.sync_dir(dir)?;
    place(&images, buckets, overflow)
}

/// Writes the images of a whole double-write file to their places.
fn place(images: &[u8], buckets: &DiskFile, overflow: &DiskFile) -> Result<()> {
    let entries = images[PAGES_AT..].chunks_exact(ENTRY_BYTES);
    // buckets first: a reader that sees the new head finds the new buckets
    for entry in entries.rev() {
        let (id, image) = entry.split_at(8);
        let id = u64::from_le_bytes(id.try_into().expect("eight bytes"));
        if id == HEAD_ID {
            buckets.write_all_at(image, 0)?;
        } else {
            let id = PageId::from_bits(id);
            let file = if id.is_overflow() { overflow } else { buckets };
            file.write_all_at(image, id.position())?;
        }
    }
    overflow.sync()?;
    buckets.sync()
}

/// The images of the last write, if they are whole. Those of a later version of this program are refused.
fn read(disk: &Disk, dir: &Path) -> Result<Option<Vec<u8>>> {
    let path = path(dir);
    let Some(file) = disk.open_if_there(&path)? else { return Ok(None) };
    Header::refuse_newer(&file, Kind::DoubleWrite, 1)?;
    let images = disk.read(&path)?;
    let sum_at = HEADER_BYTES as usize;
    let whole = images.len() >= PAGES_AT
        && images[..sum_at] == Header { kind: Kind::DoubleWrite, version: 1 }.to_bytes()
        && images[sum_at..sum_at + 4] == crc32fast::hash(&images[sum_at + 4..]).to_le_bytes()
        && (images.len() - PAGES_AT).is_multiple_of(ENTRY_BYTES);
    Ok(whole.then_some(images))
}

/// The pages of the last write by their places, if they are whole: what a repair would put there. The head's is `None`.
pub(super) fn images(disk: &Disk, dir: &Path) -> Result<HashMap<Option<PageId>, Vec<u8>>> {
    let Some(images) = read(disk, dir)? else { return Ok(HashMap::new()) };
    let entries = images[PAGES_AT..].chunks_exact(ENTRY_BYTES).map(|entry| {
        let (id, image) = entry.split_at(8);
        let id = u64::from_le_bytes(id.try_into().expect("eight bytes"));
        ((id != HEAD_ID).then(|| PageId::from_bits(id)), image.to_vec())
    });
    Ok(entries.collect())
}

/// Repeats the last write, if its images are whole.
pub(super) fn repair(disk: &Disk, dir: &Path) -> Result<()> {
    if let Some(images) = read(disk, dir)? {
        // who wrote them may have died before the sync: if they were lost after their pages have been overwritten, the
        // next repair would put the images before them over those. Where that sync failed, they may be in the system's
        // memory only, which no later sync writes out: they are written again
        let file = disk.open(path(dir), Mode::Write)?;
        file.write_all_at(&images, 0)?;
        file.sync()?;
        disk.sync_dir(dir)?;
        let buckets = disk.open(dir.join("address.idx"), Mode::Write)?;
        let overflow = disk.open(dir.join("address.ovf"), Mode::Write)?;
        place(&images, &buckets, &overflow)?;
    }
    Ok(())
}
