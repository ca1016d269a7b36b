//! A link file as others read it: its index, then frames one by one.
//!
//! Everything that is read has a checksum, and what it says is held against the file's length before anything is
//! allocated by it. A file that says something else than its name is damage, with the place.

use std::path::{Path, PathBuf};

use super::format::{self, FOOTER_BYTES, FRAME_BYTES, FRAME_HEAD_BYTES, NAME_BYTES, RECORD_BYTES_MAX, u32_at, u64_at};
use super::link::{Frame, decode};
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Result};
use crate::shard::Shard;
use crate::varint;

/// The frames of one receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The shard that they are for.
    pub receiver: u32,
    /// Offset and bytes of each.
    pub frames: Vec<(u64, u64)>,
    /// Links in them, and pairs of domains.
    pub links: u64,
}

/// An opened link file.
#[derive(Debug)]
pub struct LinkFile {
    file: DiskFile,
    path: PathBuf,
    notes: Vec<String>,
    sections: Vec<Section>,
}

impl LinkFile {
    /// Opens the file of checkpoint `number` of the shard `sender` in `dir`.
    pub fn open(disk: &Disk, dir: &Path, sender: Shard, number: u64) -> Result<LinkFile> {
        let path = format::link_path(dir, number);
        let file = disk.open(&path, Mode::Read).map_err(|error| match error.is_not_found() {
            true => Error::damaged(&path, 0, "the links that a checkpoint names", "no such file"),
            false => error,
        })?;
        Header::check(&file, Kind::Links, format::VERSION)?;
        let mut name = [0; NAME_BYTES];
        file.read_exact_at(&mut name, HEADER_BYTES)?;
        if name != format::name(sender.index(), sender.count(), number) {
            let expected = format!("links of shard {} of {}, checkpoint {number}", sender.index(), sender.count());
            return Err(Error::damaged(&path, HEADER_BYTES, expected, "another name"));
        }
        let (notes, sections) = read_index(&file, &path)?;
        Ok(LinkFile { file, path, notes, sections })
    }

    /// URLs that join the scope of every shard.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The parts of the file, one for each shard that has something in it.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The part for the shard `receiver`; `None` where it has nothing in the file.
    pub fn section(&self, receiver: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.receiver == receiver)
    }

    /// Frame `number` of `section`.
    pub fn frame(&self, section: &Section, number: usize) -> Result<Frame> {
        let (offset, bytes) = section.frames[number];
        let damaged = |expected: &str, found: &str| Error::damaged(&self.path, offset, expected.to_owned(), found);
        let length = usize::try_from(bytes).ok().filter(|&length| length >= FRAME_HEAD_BYTES);
        let length = length.ok_or_else(|| damaged("a frame of links", "a length that none has"))?;
        let mut frame = vec![0; length];
        self.file.read_exact_at(&mut frame, offset)?;
        let (head, packed) = frame.split_at(FRAME_HEAD_BYTES);
        if u32_at(head, 12) != format::frame_sum(head, packed) {
            return Err(damaged("the checksum of a frame of links", "another one"));
        }
        let unpacked_bytes = u32_at(head, 8) as usize;
        let is_right = u32_at(head, 0) == section.receiver && u32_at(head, 4) as usize == packed.len();
        if !is_right || unpacked_bytes > FRAME_BYTES + RECORD_BYTES_MAX {
            return Err(damaged("a frame of links", "another frame under a right checksum"));
        }
        let unpacked = zstd::bulk::decompress(packed, unpacked_bytes);
        let unpacked = unpacked.map_err(|error| damaged("a frame that unpacks", &error.to_string()))?;
        match decode(&unpacked) {
            Some(frame) if unpacked.len() == unpacked_bytes => Ok(frame),
            _ => Err(damaged("links", "other bytes under a right checksum")),
        }
    }

    /// Damage at a link of frame `number` of `section`.
    pub(crate) fn damage(&self, section: &Section, number: usize, expected: &str, found: String) -> Error {
        Error::damaged(&self.path, section.frames[number].0, expected.to_owned(), found)
    }

    /// Reads everything, and says where it is damaged.
    pub fn check(&self) -> Result<()> {
        for section in &self.sections {
            let mut links = 0;
            for number in 0..section.frames.len() {
                let frame = self.frame(section, number)?;
                links += (frame.links.len() + frame.supports.len()) as u64;
            }
            if links != section.links {
                let expected = format!("{} links for shard {}", section.links, section.receiver);
                return Err(Error::damaged(&self.path, 0, expected, format!("{links}")));
            }
        }
        Ok(())
    }
}

fn read_index(file: &DiskFile, path: &Path) -> Result<(Vec<String>, Vec<Section>)> {
    let end = file.len()?;
    let damaged = |at: u64, found: &str| Error::damaged(path, at, "the index of a link file", found.to_owned());
    let first = HEADER_BYTES + NAME_BYTES as u64;
    let footer_at = end.checked_sub(FOOTER_BYTES as u64).filter(|&at| at >= first);
    let footer_at = footer_at.ok_or_else(|| damaged(end, "the end of the file"))?;
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact_at(&mut footer, footer_at)?;
    let (index_at, index_bytes, frames) = (u64_at(&footer, 0), u64_at(&footer, 8), u64_at(&footer, 16));
    if index_at < first || index_at.checked_add(index_bytes) != Some(footer_at) {
        return Err(damaged(footer_at, "a place outside of the file"));
    }
    let mut index = vec![0; usize::try_from(index_bytes).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut index, index_at)?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(&index);
    sum.update(&footer[..28]);
    if sum.finalize() != u32_at(&footer, 28) {
        return Err(damaged(index_at, "another checksum"));
    }
    let parsed = parse_index(&index).filter(|(_, sections)| {
        let within =
            |&(at, bytes): &(u64, u64)| at >= first && at.checked_add(bytes).is_some_and(|end| end <= index_at);
        sections.iter().map(|section| section.frames.len() as u64).sum::<u64>() == frames
            && sections.iter().all(|section| section.frames.iter().all(within))
    });
    parsed.ok_or_else(|| damaged(index_at, "other bytes under a right checksum"))
}

fn parse_index(index: &[u8]) -> Option<(Vec<String>, Vec<Section>)> {
    let at = &mut 0;
    let mut notes = Vec::new();
    for _ in 0..varint::read(index, at)? {
        notes.push(String::from_utf8(varint::read_slice(index, at)?.to_vec()).ok()?);
    }
    let mut sections = Vec::new();
    while *at < index.len() {
        let receiver = u32::try_from(varint::read(index, at)?).ok()?;
        let mut frames = Vec::new();
        for _ in 0..varint::read(index, at)? {
            frames.push((varint::read(index, at)?, varint::read(index, at)?));
        }
        sections.push(Section { receiver, frames, links: varint::read(index, at)? });
    }
    Some((notes, sections))
}
