//! The link file of a shard while it is written.
//!
//! Links gather by receiver in memory, and go to the file a frame at a time. The file is made when the first frame or
//! note comes, so that a shard that finds no link to others writes none.

use std::path::PathBuf;

use super::format::{self, FRAME_BYTES, FRAME_HEAD_BYTES, FRAME_RECORDS, link_path};
use super::link::{Encoder, Link, Support, put_sized};
use crate::disk::{Disk, HEADER_BYTES, Header, Kind, Mode, Result, Writer};
use crate::shard::Shard;
use crate::varint;

/// Bytes that wait in memory for a frame to be full, over all receivers.
const OPEN_BYTES_MAX: usize = 2 << 20;
/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;
/// zstd's fastest ordinary level: names of hosts and paths repeat, and a higher one finds little more.
const LEVEL: i32 = 1;

/// The file, and what is not in it yet.
pub struct LinkWriter {
    disk: Disk,
    dir: PathBuf,
    shard: Shard,
    number: u64,
    receivers: Vec<Receiver>,
    open_bytes: usize,
    notes: Vec<String>,
    file: Option<Writer>,
    compressor: zstd::bulk::Compressor<'static>,
}

/// Links on their way to one shard.
#[derive(Debug, Default)]
struct Receiver {
    open: Encoder,
    frames: Vec<(u64, u64)>,
    links: u64,
}

/// A link file that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Path of the file.
    pub path: PathBuf,
    /// The shards that have frames in it.
    pub receivers: Vec<u32>,
    /// True if it has notes, which are for all shards.
    pub has_notes: bool,
    /// Links and pairs of domains in it.
    pub links: u64,
    /// Links, pairs and notes for each shard, as both sides [count](super::Account) them.
    pub records: Vec<u64>,
    /// Its length.
    pub bytes: u64,
}

impl std::fmt::Debug for LinkWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkWriter").field("shard", &self.shard).field("number", &self.number).finish_non_exhaustive()
    }
}

impl LinkWriter {
    /// The file of the next checkpoint, `number`, of the shard in `dir`; nothing is made yet.
    pub fn new(disk: Disk, dir: PathBuf, shard: Shard, number: u64) -> LinkWriter {
        LinkWriter {
            disk,
            dir,
            shard,
            number,
            receivers: Shard::all(shard.count()).map(|_| Receiver::default()).collect(),
            open_bytes: 0,
            notes: Vec::new(),
            file: None,
            compressor: zstd::bulk::Compressor::new(LEVEL).expect("the level is one that zstd has"),
        }
    }

    /// Adds a link for the shard `receiver`.
    pub fn push(&mut self, receiver: u32, link: Link) -> Result<()> {
        self.put(receiver, |open| open.push(link))
    }

    /// Adds a pair of domains for the shard `receiver`.
    pub fn push_support(&mut self, receiver: u32, support: Support) -> Result<()> {
        self.put(receiver, |open| open.push_support(support))
    }

    fn put(&mut self, receiver: u32, put: impl FnOnce(&mut Encoder)) -> Result<()> {
        let Receiver { open, links, .. } = &mut self.receivers[receiver as usize];
        let before = open.bytes().len();
        put(open);
        *links += 1;
        let is_full =
            open.bytes().len() >= FRAME_BYTES - format::RECORD_BYTES_MAX / 8 || open.records() == FRAME_RECORDS;
        self.open_bytes += open.bytes().len() - before;
        if is_full {
            self.flush(receiver)?;
        } else if self.open_bytes > OPEN_BYTES_MAX {
            let fullest = (0..self.shard.count()).max_by_key(|&at| self.receivers[at as usize].open.bytes().len());
            fullest.into_iter().try_for_each(|at| self.flush(at))?;
        }
        Ok(())
    }

    /// Adds a URL that joins the scope of every shard.
    pub fn note(&mut self, url: String) {
        self.notes.push(url);
    }

    /// True if the file has nothing that others would have to read.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.receivers.iter().all(|receiver| receiver.links == 0)
    }

    /// True if there is a link for the shard `receiver`, or a note.
    pub fn has_for(&self, receiver: u32) -> bool {
        !self.notes.is_empty() || self.receivers[receiver as usize].links > 0
    }

    /// Makes the file whole, but not durable, and begins the one of the checkpoint behind it; `None` where there is
    /// nothing for others.
    pub fn cut(&mut self) -> Result<Option<Written>> {
        let written = if self.is_empty() { None } else { Some(self.finish()?) };
        self.number += 1;
        self.receivers.iter_mut().for_each(|receiver| *receiver = Receiver::default());
        self.notes.clear();
        (self.open_bytes, self.file) = (0, None);
        Ok(written)
    }

    fn finish(&mut self) -> Result<Written> {
        (0..self.shard.count()).try_for_each(|receiver| self.flush(receiver))?;
        let (index, frames) = self.index();
        let mut footer = [0; format::FOOTER_BYTES];
        let writer = self.writer()?;
        let at = writer.position();
        footer[..8].copy_from_slice(&at.to_le_bytes());
        footer[8..16].copy_from_slice(&(index.len() as u64).to_le_bytes());
        footer[16..24].copy_from_slice(&frames.to_le_bytes());
        let mut sum = crc32fast::Hasher::new();
        sum.update(&index);
        sum.update(&footer[..28]);
        footer[28..].copy_from_slice(&sum.finalize().to_le_bytes());
        writer.push(&index)?;
        writer.push(&footer)?;
        writer.flush()?;
        let bytes = writer.position();
        let with_frames = self.receivers.iter().enumerate().filter(|(_, receiver)| !receiver.frames.is_empty());
        Ok(Written {
            path: link_path(&self.dir, self.number),
            receivers: with_frames.map(|(at, _)| at as u32).collect(),
            has_notes: !self.notes.is_empty(),
            links: self.receivers.iter().map(|receiver| receiver.links).sum(),
            records: self.receivers.iter().map(|receiver| receiver.links + self.notes.len() as u64).collect(),
            bytes,
        })
    }

    /// The index, and how many frames it has.
    fn index(&self) -> (Vec<u8>, u64) {
        let (mut index, mut frames) = (Vec::new(), 0);
        varint::push(self.notes.len() as u64, &mut index);
        self.notes.iter().for_each(|note| put_sized(note.as_bytes(), &mut index));
        for (at, receiver) in self.receivers.iter().enumerate().filter(|(_, receiver)| !receiver.frames.is_empty()) {
            varint::push(at as u64, &mut index);
            varint::push(receiver.frames.len() as u64, &mut index);
            for &(offset, bytes) in &receiver.frames {
                varint::push(offset, &mut index);
                varint::push(bytes, &mut index);
            }
            varint::push(receiver.links, &mut index);
            frames += receiver.frames.len() as u64;
        }
        (index, frames)
    }

    /// Writes what is open for `receiver`.
    fn flush(&mut self, receiver: u32) -> Result<()> {
        let open = std::mem::take(&mut self.receivers[receiver as usize].open);
        if open.records() == 0 {
            return Ok(());
        }
        let packed = self.compressor.compress(open.bytes()).expect("zstd compresses any bytes");
        let head = format::frame_head(receiver, &packed, open.bytes().len());
        let writer = self.writer()?;
        let at = writer.position();
        writer.push(&head)?;
        writer.push(&packed)?;
        self.open_bytes -= open.bytes().len();
        let Receiver { open: emptied, frames, .. } = &mut self.receivers[receiver as usize];
        frames.push((at, (FRAME_HEAD_BYTES + packed.len()) as u64));
        *emptied = open;
        emptied.clear();
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut Writer> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = self.disk.open(link_path(&self.dir, self.number), Mode::Create)?;
                file.set_len(0)?;
                let mut writer = Writer::new(file, 0, BUFFER_BYTES);
                writer.push(&Header { kind: Kind::Links, version: format::VERSION }.to_bytes())?;
                writer.push(&format::name(self.shard.index(), self.shard.count(), self.number))?;
                debug_assert_eq!(writer.position(), HEADER_BYTES + format::NAME_BYTES as u64);
                writer
            }
        };
        Ok(self.file.insert(file))
    }
}
