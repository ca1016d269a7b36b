//! Making the dedup index from earlier archives.
//!
//! Entries are sorted outside of memory, written to a file aside, made durable, and renamed into place: a kill leaves
//! the old index, or none.

use std::path::Path;

use super::cdxj::{self, Line};
use super::{
    BLOCK_BYTES, BLOCK_HEAD, FILE, HEAD_FIXED, Original, SHA1_BYTES, Source, VERSION, decode, encode, head_bytes,
};
use crate::container::address::AddressFile;
use crate::container::digests::Digests;
use crate::container::keys::KeyFile;
use crate::container::retention::list::ForgottenList;
use crate::disk::sorter::{Sorted, Sorter};
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Result, Writer};
use crate::warc::{has_request, id_seed};

/// Memory for sorting.
const SORT_MEMORY: usize = 64 << 20;
/// Sources that an entry can name.
const SOURCES_MAX: usize = 1 << 16;
/// The longest entry.
const ENTRY_MAX: usize = BLOCK_BYTES - BLOCK_HEAD;
/// Bytes of source and time in a line that is sorted: behind the digest, highest byte first.
const ORDER_BYTES: usize = 2 + 6;

/// Gathers what earlier archives have.
pub struct Builder {
    sorter: Sorter,
    sources: Vec<Source>,
}

/// Size of an index that was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Payloads in it.
    pub payloads: u64,
    /// Its length.
    pub bytes: u64,
}

impl Default for Builder {
    fn default() -> Self {
        Builder { sorter: Sorter::new(SORT_MEMORY), sources: Vec::new() }
    }
}

impl Builder {
    /// Takes the payloads of a crawl, whose archives are in `pages` and whose record ids follow from `crawl_id`: what
    /// its last checkpoint covers. What a running crawl has stored since may be gone after a kill.
    pub fn add_crawl(&mut self, disk: &Disk, source: Source, pages: &[&Path], crawl_id: u128) -> Result<()> {
        let number = self.number(source)?;
        for dir in pages {
            let opened = AddressFile::open_for_reading(disk, dir).and_then(|addresses| {
                let keys = KeyFile::open_for_reading(disk, dir)?;
                Ok((addresses.covered(), keys))
            });
            let (covered, keys) = match opened {
                Ok(opened) => opened,
                // nothing was stored there
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error),
            };
            let forgotten = ForgottenList::read(disk, dir)?;
            for record in keys.scan_to(0, covered) {
                let record = record?;
                // readers find originals by URL alone
                if !Digests::takes(&record) || forgotten.covers(&record.url) || has_request(&record.url) {
                    continue;
                }
                // the ids of robots.txt records follow from nothing
                let id_seed = (!record.robots).then(|| id_seed(crawl_id, &record.url, record.time));
                let (url, time, to_second) = (record.url, record.time, false);
                self.push(&record.payload_sha1, &Original { url, time, to_second, id_seed, source: number })?;
            }
        }
        Ok(())
    }

    /// Takes the payloads that the CDXJ file of `source` names. Lines that are none are passed over; says how many.
    pub fn add_cdxj(&mut self, disk: &Disk, source: Source) -> Result<u64> {
        let file = disk.open(&source.path, Mode::Read)?;
        let number = self.number(source)?;
        let mut broken = 0;
        cdxj::lines(&file, &mut |line| match cdxj::parse(line) {
            Line::Response(sha1, original) => self.push(&sha1, &Original { source: number, ..original }),
            Line::Other => Ok(()),
            Line::Broken => {
                broken += 1;
                Ok(())
            }
        })?;
        Ok(broken)
    }

    fn number(&mut self, source: Source) -> Result<u16> {
        let path = source.path.clone();
        let number = u16::try_from(self.sources.len());
        self.sources.push(source);
        number.map_err(|_| Error::limit("index", &path, format!("more than {SOURCES_MAX} archives")))
    }

    /// One that is too long for a block is left out: its payload is stored again.
    fn push(&mut self, sha1: &[u8; SHA1_BYTES], original: &Original) -> Result<()> {
        let mut line = sha1.to_vec();
        line.extend_from_slice(&original.source.to_be_bytes());
        line.extend_from_slice(&original.time.ms().to_be_bytes()[2..]);
        let entry = line.len();
        encode(sha1, original, &mut line);
        if line.len() - entry <= ENTRY_MAX {
            self.sorter.push(&line)?;
        }
        Ok(())
    }

    /// Writes the index of the crawl in `dir`, and puts it in place.
    pub fn finish(self, disk: &Disk, dir: &Path) -> Result<Built> {
        let Builder { sorter, sources } = self;
        let aside = dir.join(format!("{FILE}.new"));
        let json = serde_json::to_vec(&sources).expect("sources are plain data");
        let start = head_bytes(json.len() as u64);
        disk.remove(&aside)?;
        let file = disk.open(&aside, Mode::CreateNew)?;
        let mut blocks = Blocks::new(Writer::new(file, start, 1 << 20));
        let mut lines = sorter.finish()?;
        let entries = blocks.fill(&mut lines)?;
        let (file, blocks) = blocks.finish()?;
        Header { kind: Kind::Dedup, version: VERSION }.write(&file)?;
        file.write_all_at(&head(entries, blocks, &json, start), HEADER_BYTES)?;
        file.sync()?;
        disk.rename(&aside, &dir.join(FILE))?;
        disk.sync_dir(dir)?;
        Ok(Built { payloads: entries, bytes: start + blocks * BLOCK_BYTES as u64 })
    }
}

/// The head up to `start`, behind the header.
fn head(entries: u64, blocks: u64, sources: &[u8], start: u64) -> Vec<u8> {
    let mut head = vec![0; 4];
    head.extend_from_slice(&entries.to_le_bytes());
    head.extend_from_slice(&blocks.to_le_bytes());
    head.extend_from_slice(&(sources.len() as u32).to_le_bytes());
    debug_assert_eq!(head.len(), HEAD_FIXED);
    head.extend_from_slice(sources);
    head.resize((start - HEADER_BYTES) as usize, 0);
    let sum = crc32fast::hash(&head[4..]);
    head[..4].copy_from_slice(&sum.to_le_bytes());
    head
}

/// Blocks that are written one after the other.
struct Blocks {
    writer: Writer,
    block: Vec<u8>,
    count: u16,
    blocks: u64,
}

impl Blocks {
    fn new(writer: Writer) -> Self {
        Blocks { writer, block: vec![0; BLOCK_HEAD], count: 0, blocks: 0 }
    }

    /// Writes the entries of sorted lines, each digest once; says how many.
    fn fill(&mut self, lines: &mut Sorted) -> Result<u64> {
        let (mut entries, mut last) = (0, None);
        while let Some(line) = lines.next()? {
            let (order, entry) = line.split_at(SHA1_BYTES + ORDER_BYTES);
            if last.as_deref() == Some(&order[..SHA1_BYTES]) {
                continue;
            }
            last = Some(order[..SHA1_BYTES].to_vec());
            debug_assert!(decode(&mut &*entry).is_some());
            if self.block.len() + entry.len() > BLOCK_BYTES {
                self.end_block()?;
            }
            self.block.extend_from_slice(entry);
            self.count += 1;
            entries += 1;
        }
        Ok(entries)
    }

    fn end_block(&mut self) -> Result<()> {
        let used = (self.block.len() - BLOCK_HEAD) as u16;
        self.block[4..6].copy_from_slice(&self.count.to_le_bytes());
        self.block[6..8].copy_from_slice(&used.to_le_bytes());
        self.block.resize(BLOCK_BYTES, 0);
        let sum = crc32fast::hash(&self.block[4..]);
        self.block[..4].copy_from_slice(&sum.to_le_bytes());
        self.writer.push(&self.block)?;
        self.block.clear();
        self.block.resize(BLOCK_HEAD, 0);
        (self.count, self.blocks) = (0, self.blocks + 1);
        Ok(())
    }

    fn finish(mut self) -> Result<(DiskFile, u64)> {
        if self.count > 0 {
            self.end_block()?;
        }
        Ok((self.writer.finish()?, self.blocks))
    }
}
