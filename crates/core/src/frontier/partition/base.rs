//! The base of a partition: an immutable file by generation, sorted by domain, origin, rank and sequence.
//!
//! ```text
//! | header 16 | blocks of URLs, and between them blocks of the directory | index | filter | footer 64 |
//! footer = | index at 8 | filter at 8 | URLs 8 | hosts 8 | zero 28 | crc32 4 |
//! ```
//! The directory has an entry for every domain of which anything is known and for every host: how many URLs, at which
//! block and number in it they start, and the host's record. The index names the first entry of every directory block.
//! Nothing of it stays in memory but the filter: a job opens the file, reads the index, and goes where it has to.

use std::path::Path;

use super::block::{DIRECTORY, FILTER, INDEX, Packer, Stored, URLS, Unpacker, UrlReader, UrlWriter};
use super::filter::{Filter, domain_key};
use super::key::HostKey;
use super::view::UrlView;
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Result, Writer};
use crate::fingerprint::Fingerprint;
use crate::frontier::reputation::DomainTotals;
use crate::frontier::tuning::WRITER_BYTES;
use crate::frontier::wire::{self, Reader};

const VERSION: u16 = 1;
const FOOTER_BYTES: u64 = 64;
const DOMAIN_ENTRY: u8 = 0;
const HOST_ENTRY: u8 = 1;
/// A domain of which more is said than pages; in the order it is a domain.
const TOTALS_ENTRY: u8 = 2;

/// The place of a URL: the offset of its block, and its number in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::frontier) struct Spot {
    pub offset: u64,
    pub index: u32,
}

/// An entry of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectoryEntry<'a> {
    /// A domain with its totals; it comes before its hosts.
    Domain { domain: Fingerprint, totals: DomainTotals },
    Host {
        host: HostKey,
        urls: u64,
        start: Spot,
        /// Empty for none.
        record: &'a [u8],
    },
}

impl<'a> DirectoryEntry<'a> {
    /// Its place in the order.
    pub(super) fn key(&self) -> (Fingerprint, u8, Fingerprint) {
        match self {
            DirectoryEntry::Domain { domain, .. } => (*domain, DOMAIN_ENTRY, Fingerprint::default()),
            DirectoryEntry::Host { host, .. } => (host.domain, HOST_ENTRY, host.origin),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        let (domain, kind, origin) = self.key();
        let is_full = matches!(self, DirectoryEntry::Domain { totals, .. } if !totals.is_plain());
        out.push(if is_full { TOTALS_ENTRY } else { kind });
        wire::put_fingerprint(out, domain);
        match self {
            DirectoryEntry::Domain { totals, .. } if is_full => totals.put(out),
            DirectoryEntry::Domain { totals, .. } => wire::put_varint(out, totals.pages),
            DirectoryEntry::Host { urls, start, record, .. } => {
                wire::put_fingerprint(out, origin);
                wire::put_varint(out, *urls);
                wire::put_varint(out, start.offset);
                wire::put_varint(out, start.index.into());
                wire::put_sized(out, record);
            }
        }
    }

    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let kind = reader.u8()?;
        let domain = reader.fingerprint()?;
        match kind {
            DOMAIN_ENTRY => {
                return Some(DirectoryEntry::Domain { domain, totals: DomainTotals::of_pages(reader.varint()?) });
            }
            TOTALS_ENTRY => {
                return Some(DirectoryEntry::Domain { domain, totals: DomainTotals::read(reader)? });
            }
            _ => {}
        }
        let host = HostKey { domain, origin: reader.fingerprint()? };
        let urls = reader.varint()?;
        let start = Spot { offset: reader.varint()?, index: reader.small()? };
        Some(DirectoryEntry::Host { host, urls, start, record: reader.sized()? })
    }
}

/// The size of a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::frontier) struct Summary {
    pub bytes: u64,
    pub urls: u64,
    pub hosts: u64,
}

/// Writes a base from entries that come in order.
pub(super) struct BaseWriter {
    writer: Writer,
    /// Bytes at which a block is closed.
    block_bytes: usize,
    packer: Packer,
    urls: UrlWriter,
    directory: Vec<u8>,
    directory_first: Option<(Fingerprint, u8, Fingerprint)>,
    index: Vec<u8>,
    keys: Vec<Fingerprint>,
    summary: Summary,
}

impl BaseWriter {
    /// Begins one.
    pub(super) fn create(disk: &Disk, path: &Path, block_bytes: usize) -> Result<Self> {
        let file = disk.open(path, Mode::Create)?;
        file.set_len(0)?;
        Header { kind: Kind::Base, version: VERSION }.write(&file)?;
        Ok(BaseWriter {
            writer: Writer::new(file, HEADER_BYTES, WRITER_BYTES),
            block_bytes,
            packer: Packer::new(),
            urls: UrlWriter::default(),
            directory: Vec::new(),
            directory_first: None,
            index: Vec::new(),
            keys: Vec::new(),
            summary: Summary { bytes: 0, urls: 0, hosts: 0 },
        })
    }

    /// Returns the place that the next URL will have.
    pub(super) fn spot(&self) -> Spot {
        Spot { offset: self.writer.position(), index: self.urls.count }
    }

    /// The next URL of the host that is in progress.
    pub(super) fn url(&mut self, url: &UrlView<'_>) -> Result<()> {
        self.urls.push(url);
        self.summary.urls += 1;
        if self.urls.raw.len() >= self.block_bytes { self.flush_urls() } else { Ok(()) }
    }

    /// A block of URLs as it was in another base; says where it is now. Its URLs have to be counted besides.
    pub(super) fn block(&mut self, stored: &[u8]) -> Result<u64> {
        self.flush_urls()?;
        let offset = self.writer.position();
        self.writer.push(stored)?;
        Ok(offset)
    }

    /// Counts URLs of such blocks.
    pub(super) fn count(&mut self, urls: u64) {
        self.summary.urls += urls;
    }

    /// A domain before its hosts, or a host after its URLs.
    pub(super) fn entry(&mut self, entry: &DirectoryEntry<'_>) {
        match entry {
            DirectoryEntry::Domain { domain, .. } => self.keys.push(domain_key(*domain)),
            DirectoryEntry::Host { host, .. } => {
                self.keys.push(host.origin);
                self.summary.hosts += 1;
            }
        }
        self.directory_first.get_or_insert(entry.key());
        entry.put(&mut self.directory);
    }

    /// Says that all URLs that were pushed are those of hosts that were entered: a full block of the directory is
    /// closed.
    pub(super) fn end_entries(&mut self) -> Result<()> {
        if self.directory.len() >= self.block_bytes {
            // URLs that wait in memory are to be where their host's entry says: before the directory block.
            self.flush_urls()?;
            self.flush_directory()?;
        }
        Ok(())
    }

    fn flush_urls(&mut self) -> Result<()> {
        if self.urls.count > 0 {
            self.writer.push(self.packer.pack(URLS, &self.urls.raw))?;
            self.urls.clear();
        }
        Ok(())
    }

    fn flush_directory(&mut self) -> Result<()> {
        if let Some((domain, kind, origin)) = self.directory_first.take() {
            wire::put_fingerprint(&mut self.index, domain);
            self.index.push(kind);
            wire::put_fingerprint(&mut self.index, origin);
            wire::put_varint(&mut self.index, self.writer.position());
            self.writer.push(self.packer.pack(DIRECTORY, &self.directory))?;
            self.directory.clear();
        }
        Ok(())
    }

    /// Completes the file; its filter takes at most `filter_bytes_max`.
    pub(super) fn finish(mut self, filter_bytes_max: usize) -> Result<(Summary, Filter)> {
        self.flush_urls()?;
        self.flush_directory()?;
        let mut filter = Filter::for_keys(self.keys.len(), filter_bytes_max);
        self.keys.iter().for_each(|&key| filter.insert(key));
        let index_at = self.writer.position();
        self.writer.push(self.packer.pack(INDEX, &self.index))?;
        let filter_at = self.writer.position();
        self.writer.push(self.packer.pack(FILTER, &filter.to_bytes()))?;
        let mut footer = [0; FOOTER_BYTES as usize];
        for (n, number) in [index_at, filter_at, self.summary.urls, self.summary.hosts].into_iter().enumerate() {
            footer[n * 8..n * 8 + 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(&footer[..60]);
        footer[60..].copy_from_slice(&sum.to_le_bytes());
        self.writer.push(&footer)?;
        self.summary.bytes = self.writer.position();
        self.writer.finish()?;
        Ok((self.summary, filter))
    }
}

/// A block of the directory, read entry by entry.
#[derive(Debug, Default)]
pub(super) struct Directory {
    raw: Vec<u8>,
    at: usize,
    offset: u64,
}

impl Directory {
    /// Returns the position in the block at which the entry that was read last ends.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back, or on, to where an entry ends.
    pub(super) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// The place of the block in the base: behind the URLs of its hosts.
    pub(super) fn spot(&self) -> Spot {
        Spot { offset: self.offset, index: 0 }
    }

    /// Bytes of it, as an entry had them.
    pub(super) fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.raw[range]
    }
}

/// A base that is open for reading.
#[derive(Debug)]
pub(super) struct Base {
    file: DiskFile,
    unpacker: Unpacker,
    index: Vec<((Fingerprint, u8, Fingerprint), u64)>,
    index_at: u64,
    filter_at: u64,
    pub summary: Summary,
    /// The block of URLs that was read last, and its offset and end.
    open: Option<(u64, u64, UrlReader)>,
}

impl Base {
    /// Opens the base at `path`, which has to be `bytes` long.
    pub(super) fn open(disk: &Disk, path: &Path, bytes: u64) -> Result<Self> {
        let file = disk.open(path, Mode::Read)?;
        Header::check(&file, Kind::Base, VERSION)?;
        let found = file.len()?;
        if found != bytes || bytes < HEADER_BYTES + FOOTER_BYTES {
            return Err(Error::damaged(path, found.min(bytes), format!("a file of {bytes} bytes"), format!("{found}")));
        }
        let mut footer = [0; FOOTER_BYTES as usize];
        let footer_at = bytes - FOOTER_BYTES;
        file.read_exact_at(&mut footer, footer_at)?;
        let mut reader = Reader::new(&footer);
        let [index_at, filter_at, urls, hosts] = [(); 4].map(|()| reader.u64().expect("the footer has 64 bytes"));
        let (found, expected) = (crc32fast::hash(&footer[..60]), &footer[60..]);
        if found.to_le_bytes() != expected || index_at > filter_at || filter_at > footer_at {
            let expected = format!("footer checksum {expected:02x?}");
            return Err(Error::damaged(path, footer_at, expected, format!("{:02x?}", found.to_le_bytes())));
        }
        let summary = Summary { bytes, urls, hosts };
        let unpacker = Unpacker::new();
        let mut base = Base { file, unpacker, index: Vec::new(), index_at, filter_at, summary, open: None };
        base.read_index()?;
        Ok(base)
    }

    fn read_index(&mut self) -> Result<()> {
        let block = self.block(self.index_at, self.filter_at, INDEX)?;
        let mut reader = Reader::new(&block);
        while !reader.is_at_end() {
            let entry = (|| {
                let key = (reader.fingerprint()?, reader.u8()?, reader.fingerprint()?);
                Some((key, reader.varint()?))
            })();
            self.index.push(entry.ok_or_else(|| self.malformed(self.index_at, "an index of the directory"))?);
        }
        Ok(())
    }

    /// The filter of the origins and domains in the file.
    pub(super) fn filter(&mut self) -> Result<Filter> {
        let block = self.block(self.filter_at, self.summary.bytes - FOOTER_BYTES, FILTER)?;
        Ok(Filter::from_bytes(&block))
    }

    fn block(&mut self, offset: u64, limit: u64, kind: u8) -> Result<Vec<u8>> {
        let block = self.unpacker.read(&self.file, offset, limit)?;
        if block.kind != kind {
            return Err(self.malformed(offset, "another kind of block"));
        }
        Ok(block.raw)
    }

    fn malformed(&self, offset: u64, expected: &str) -> Error {
        Error::damaged(self.file.path(), offset, expected, "other bytes")
    }

    /// Blocks of the directory.
    pub(super) fn directory_blocks(&self) -> usize {
        self.index.len()
    }

    /// A block of the directory.
    pub(super) fn directory(&mut self, number: usize) -> Result<Directory> {
        let offset = self.index[number].1;
        let raw = self.block(offset, self.index_at, DIRECTORY)?;
        Ok(Directory { raw, at: 0, offset })
    }

    /// Takes back the room of a block of the directory.
    pub(super) fn recycle(&mut self, block: Directory) {
        self.unpacker.recycle(block.raw);
    }

    /// The next entry of a block of the directory.
    pub(super) fn next_entry<'a>(&self, block: &'a mut Directory) -> Result<Option<DirectoryEntry<'a>>> {
        if block.at == block.raw.len() {
            return Ok(None);
        }
        let mut reader = Reader::new(&block.raw[block.at..]);
        let entry = DirectoryEntry::read(&mut reader);
        block.at += reader.position();
        entry.map(Some).ok_or_else(|| self.malformed(block.offset, "entries of the directory"))
    }

    /// The number of the block of the directory in which an entry of `host`, or of its domain, would be.
    pub(super) fn block_of(&self, host: HostKey) -> usize {
        let key = (host.domain, HOST_ENTRY, host.origin);
        self.index.partition_point(|(first, _)| *first <= key).saturating_sub(1)
    }

    /// The directory's block in which the entry of `domain` itself would be.
    pub(super) fn block_of_domain(&self, domain: Fingerprint) -> usize {
        let key = (domain, DOMAIN_ENTRY, Fingerprint::default());
        self.index.partition_point(|(first, _)| *first <= key).saturating_sub(1)
    }

    /// Goes to the URL at `spot`, and says where the next one is. Reading in order decodes every block once.
    pub(super) fn read_url(&mut self, spot: Spot) -> Result<Spot> {
        let mut spot = spot;
        loop {
            self.go_to(spot)?;
            let (offset, end, reader) = self.open.as_mut().expect("go_to opened a block");
            let offset = *offset;
            while reader.index <= spot.index && !reader.is_at_end() {
                if reader.advance().is_none() {
                    return Err(self.malformed(offset, "a URL"));
                }
            }
            if reader.index == spot.index + 1 {
                return Ok(Spot { offset, index: spot.index + 1 });
            }
            spot = Spot { offset: *end, index: 0 };
        }
    }

    /// Returns whether the URL that was gone to last is the last one of its block.
    pub(super) fn is_at_end_of_block(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, _, reader)| reader.is_at_end())
    }

    /// Reads the block of URLs at `offset` as it is in the file.
    pub(super) fn stored(&mut self, offset: u64) -> Result<Stored> {
        let stored = self.unpacker.read_stored(&self.file, offset, self.index_at)?;
        if stored.kind != URLS {
            return Err(self.malformed(offset, "a block of URLs"));
        }
        Ok(stored)
    }

    /// Its bytes.
    pub(super) fn stored_bytes(&self) -> &[u8] {
        self.unpacker.stored()
    }

    /// The URL that was gone to last.
    pub(super) fn url(&self) -> UrlView<'_> {
        self.open.as_ref().map(|(_, _, reader)| reader.url()).expect("asked after a URL was gone to")
    }

    /// Makes the error for a URL at `spot` that is none.
    pub(super) fn malformed_url(&self, spot: Spot) -> Error {
        self.malformed(spot.offset, "a URL")
    }

    /// Opens the block of `spot`, or the next one of URLs behind it.
    fn go_to(&mut self, spot: Spot) -> Result<()> {
        if let Some((offset, _, reader)) = &self.open
            && *offset == spot.offset
            && reader.index <= spot.index
        {
            return Ok(());
        }
        let mut at = spot.offset;
        if let Some((.., reader)) = self.open.take() {
            self.unpacker.recycle(reader.into_raw());
        }
        loop {
            if at >= self.index_at {
                return Err(self.malformed(at, "more URLs"));
            }
            let block = self.unpacker.read(&self.file, at, self.index_at)?;
            if block.kind == URLS {
                // A block of the directory may have come between: the spot then is the start of this one.
                self.open = Some((spot.offset, block.end, UrlReader::new(block.raw)));
                return Ok(());
            }
            at = block.end;
            self.unpacker.recycle(block.raw);
        }
    }
}
