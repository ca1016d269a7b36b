//! The records of one source, into the archive.
//!
//! A gzip member that holds one record is copied as it is, but for its header, which says nothing of the content. Every
//! other record is compressed again, into a member of its own: its head and block stay as they are. What has no whole
//! record is left out and told, up to the next place where one begins.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

use super::package::{Opened, Source};
use super::record::{RecordHead, ends_here, pass_line_ends};
use super::repacked::Repacked;
use super::{Damage, Listener};
use crate::clock::Time;
use crate::container::imported::{ImportedFile, Importer};
use crate::disk::{Error, FileStream, Result};
use crate::warc::GZIP_HEAD;

/// Bytes that are decompressed at a time.
const STEP_BYTES: usize = 32 << 10;
/// Bytes in which the next record is looked for at a time.
const SEARCH_BYTES: usize = 64 << 10;
/// Longest dictionary of zstd, decompressed.
const DICTIONARY_MAX: u64 = 64 << 20;
/// Bytes of a skippable zstd frame before its content: magic and length.
const SKIPPABLE_HEAD_BYTES: u64 = 8;
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bytes that a skippable zstd frame begins with, behind the first one, which has 16 values.
const SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];
const RECORD: &[u8] = b"WARC/";
/// Flags of a gzip header: what is between it and the content.
const GZIP_CHECKSUM: u8 = 2;
const GZIP_EXTRA: u8 = 4;
const GZIP_NAME: u8 = 8;
const GZIP_COMMENT: u8 = 16;

/// Coding of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Zstd,
    /// None: the whole source is one stretch of records.
    Plain,
}

/// The way in which a member holds what it holds.
enum Member {
    /// It is one record, of this type, which ends as the standard has it.
    Record(String),
    Other,
}

/// A source that is read.
pub(super) struct Copying<'a> {
    stream: FileStream,
    /// The reason why the stream does not have all of it.
    lost: Option<String>,
    importer: &'a mut Importer,
    now: Time,
    listener: &'a mut dyn Listener,
    /// The offset of its first byte in the stream.
    start: u64,
    coding: Coding,
    /// The dictionary of its frames.
    dictionary: Vec<u8>,
    counts: ImportedFile,
}

impl<'a> Copying<'a> {
    pub(super) fn new(
        opened: Opened,
        source: &Source,
        importer: &'a mut Importer,
        now: Time,
        listener: &'a mut dyn Listener,
    ) -> Self {
        let counts = ImportedFile { file: source.name.clone(), bytes: source.bytes(), ..ImportedFile::default() };
        let start = source.start();
        let Opened { stream, damage } = opened;
        let (coding, dictionary) = (Coding::Plain, Vec::new());
        Copying { stream, lost: damage, importer, now, listener, start, coding, dictionary, counts }
    }

    pub(super) fn run(mut self) -> Result<ImportedFile> {
        let begin = self.stream.peek(4)?;
        self.coding = match begin {
            _ if begin.starts_with(GZIP) => Coding::Gzip,
            _ if begin.starts_with(ZSTD) || begin.ends_with(SKIPPABLE) => Coding::Zstd,
            _ => Coding::Plain,
        };
        while self.goes_on()? {
            let at = self.stream.offset();
            match self.member(at) {
                Err(error) => self.pass_over(at, damage(error)?)?,
                // what a package says is more than its file has
                Ok(()) if self.stream.offset() == at => self.pass_over(at, "end of file".to_owned())?,
                Ok(()) => {}
            }
            self.listener.reached(self.stream.offset() - self.start);
        }
        if let Some(what) = self.lost.take() {
            self.leave_out(self.stream.end(), what);
        }
        Ok(self.counts)
    }

    /// Returns whether there is more; line ends between records that are not compressed belong to neither.
    fn goes_on(&mut self) -> Result<bool> {
        if self.coding == Coding::Plain {
            pass_line_ends(&mut self.stream).or_else(|error| damage(error).map(drop))?;
        }
        Ok(self.stream.offset() < self.stream.end())
    }

    /// Takes over what begins at `at`.
    fn member(&mut self, at: u64) -> io::Result<()> {
        match self.coding {
            Coding::Gzip => self.gzip_member(at),
            Coding::Zstd => self.zstd_frame(),
            Coding::Plain => self.plain(),
        }
    }

    fn gzip_member(&mut self, at: u64) -> io::Result<()> {
        let mut member = BufReader::with_capacity(STEP_BYTES, GzDecoder::new(&mut self.stream));
        if let Member::Record(kind) = look(&mut member)? {
            let end = self.stream.offset();
            self.copy_member(at, end)?;
            self.count(kind);
            return Ok(());
        }
        self.stream.seek(at);
        let Copying { stream, importer, now, counts, .. } = self;
        repack(&mut BufReader::with_capacity(STEP_BYTES, GzDecoder::new(stream)), importer, *now, counts)
    }

    /// Copies the member from `at` to `end`, whose record is whole.
    fn copy_member(&mut self, at: u64, end: u64) -> io::Result<()> {
        self.stream.seek(at);
        pass_gzip_head(&mut self.stream)?;
        self.importer.begin_record(self.now).map_err(io::Error::other)?;
        self.importer.write(&GZIP_HEAD).map_err(io::Error::other)?;
        let mut left = end - self.stream.offset();
        while left > 0 {
            let bytes = self.stream.fill_buf()?;
            let count = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.importer.write(&bytes[..count]).map_err(io::Error::other)?;
            self.stream.consume(count);
            left -= count as u64;
        }
        self.importer.end_record();
        Ok(())
    }

    fn zstd_frame(&mut self) -> io::Result<()> {
        if self.stream.peek(4).map_err(io::Error::other)?.ends_with(SKIPPABLE) {
            return self.skippable_frame();
        }
        let Copying { stream, importer, now, counts, dictionary, .. } = self;
        let frame = match dictionary.is_empty() {
            true => zstd::stream::read::Decoder::with_buffer(stream)?.single_frame(),
            false => zstd::stream::read::Decoder::with_dictionary(stream, dictionary)?.single_frame(),
        };
        repack(&mut BufReader::with_capacity(STEP_BYTES, frame), importer, *now, counts)
    }

    /// A frame whose content is no record: at the beginning of a source the dictionary of the others, which may be
    /// compressed.
    fn skippable_frame(&mut self) -> io::Result<()> {
        let at = self.stream.offset();
        let mut head = [0; SKIPPABLE_HEAD_BYTES as usize];
        self.stream.read_exact(&mut head)?;
        let length = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        if at == self.start && length <= DICTIONARY_MAX {
            let mut content = Vec::new();
            (&mut self.stream).take(length).read_to_end(&mut content)?;
            self.dictionary = match content.starts_with(ZSTD) {
                true => {
                    let mut plain = Vec::new();
                    let frame = zstd::stream::read::Decoder::new(content.as_slice())?;
                    frame.take(DICTIONARY_MAX).read_to_end(&mut plain)?;
                    plain
                }
                false => content,
            };
        }
        self.stream.seek((at + SKIPPABLE_HEAD_BYTES + length).min(self.stream.end()));
        Ok(())
    }

    fn plain(&mut self) -> io::Result<()> {
        let Copying { stream, importer, now, counts, .. } = self;
        repack_one(stream, importer, *now, counts).map(drop)
    }

    fn count(&mut self, kind: String) {
        *self.counts.records.entry(kind).or_default() += 1;
    }

    /// Leaves out what is from `at` on, up to the next record.
    fn pass_over(&mut self, at: u64, what: String) -> Result<()> {
        self.importer.take_back();
        let next = self.next_begin(at + 1)?;
        self.stream.seek(next);
        self.leave_out(at, what);
        Ok(())
    }

    /// Notes that nothing is taken over from `at` to where the stream is.
    fn leave_out(&mut self, at: u64, what: String) {
        let damage = Damage { offset: at - self.start, bytes: self.stream.offset() - at, what };
        self.counts.damaged += 1;
        self.counts.damaged_bytes += damage.bytes;
        self.listener.damaged(&self.counts.file, &damage);
    }

    /// The next place at or behind `from` where a record begins, or else the end.
    fn next_begin(&mut self, from: u64) -> Result<u64> {
        let magic = match self.coding {
            Coding::Gzip => GZIP,
            Coding::Zstd => ZSTD,
            Coding::Plain => RECORD,
        };
        let end = self.stream.end();
        let mut at = from;
        while at < end {
            self.stream.seek(at);
            let bytes = self.stream.peek(SEARCH_BYTES)?;
            let looked_at = bytes.len();
            let places: Vec<usize> =
                bytes.windows(magic.len()).enumerate().filter(|(_, window)| *window == magic).map(|(n, _)| n).collect();
            for place in places {
                if self.begins_record(at + place as u64)? {
                    return Ok(at + place as u64);
                }
            }
            at += looked_at.saturating_sub(magic.len() - 1).max(1) as u64;
        }
        Ok(end)
    }

    fn begins_record(&mut self, at: u64) -> Result<bool> {
        self.stream.seek(at);
        let mut start = [0; RECORD.len()];
        let read = match self.coding {
            Coding::Gzip => GzDecoder::new(&mut self.stream).read_exact(&mut start),
            Coding::Zstd => zstd::stream::read::Decoder::with_dictionary(&mut self.stream, &self.dictionary)
                .and_then(|mut frame| frame.read_exact(&mut start)),
            // a line begins with it
            Coding::Plain => {
                self.stream.seek(at.saturating_sub(1));
                return Ok(self.stream.peek(1)? == b"\n");
            }
        };
        match read {
            Ok(()) => Ok(start == RECORD),
            Err(error) => damage(error).map(|_| false),
        }
    }
}

/// Description of a fault of a source; a fault of the disk is passed on.
fn damage(error: io::Error) -> Result<String> {
    error.downcast::<Error>().map_or_else(|error| Ok(error.to_string()), Err)
}

/// Reads the first record of a member without keeping it.
fn look(member: &mut dyn BufRead) -> io::Result<Member> {
    let Some(head) = RecordHead::read(member)? else { return Ok(Member::Other) };
    head.copy_block(member, &mut |_| Ok(()))?;
    Ok(if ends_here(member)? { Member::Record(head.kind) } else { Member::Other })
}

/// Takes over all records of `source`, each compressed again.
fn repack(source: &mut dyn BufRead, importer: &mut Importer, now: Time, counts: &mut ImportedFile) -> io::Result<()> {
    while repack_one(source, importer, now, counts)? {}
    Ok(())
}

/// Takes over the next record of `source`; returns whether there was one.
fn repack_one(
    source: &mut dyn BufRead,
    importer: &mut Importer,
    now: Time,
    counts: &mut ImportedFile,
) -> io::Result<bool> {
    let Some(head) = RecordHead::read(source)? else { return Ok(false) };
    let mut packed = Repacked::begin(importer, now)?;
    packed.write(&head.bytes)?;
    head.copy_block(source, &mut |bytes| packed.write(bytes))?;
    packed.finish()?;
    *counts.records.entry(head.kind).or_default() += 1;
    Ok(true)
}

/// Reads over the header of a gzip member.
fn pass_gzip_head(source: &mut dyn BufRead) -> io::Result<()> {
    let mut head = [0; GZIP_HEAD.len()];
    source.read_exact(&mut head)?;
    let flags = head[3];
    if flags & GZIP_EXTRA != 0 {
        let mut length = [0; 2];
        source.read_exact(&mut length)?;
        io::copy(&mut source.take(u64::from(u16::from_le_bytes(length))), &mut io::sink())?;
    }
    for _ in [GZIP_NAME, GZIP_COMMENT].iter().filter(|&&flag| flags & flag != 0) {
        source.skip_until(0)?;
    }
    if flags & GZIP_CHECKSUM != 0 {
        source.read_exact(&mut [0; 2])?;
    }
    Ok(())
}
