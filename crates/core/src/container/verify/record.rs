//! One WARC record after the other, checked while it streams by: no block is ever held whole.

use std::io::{self, BufRead, BufReader, Read};

use data_encoding::BASE32;
use flate2::bufread::GzDecoder;
use sha1::{Digest, Sha1};

use crate::container::retention::tombstone::TOMBSTONES_TYPE;
use crate::disk::{DiskFile, Error, Result};
use crate::warc::{Compression, GZIP_HEAD, parse_date, read_head};

const BUFFER_BYTES: usize = 64 << 10;
const STEP_BYTES: usize = 32 << 10;
/// Bytes of a block that are kept: metadata whole, of a response its HTTP head.
const KEPT_MAX: usize = 1 << 20;
const PLAIN_HEAD: &[u8] = b"WARC/1.1\r\n";
const ZSTD_HEAD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bits of a zstd frame header: its checksum is there; unused and reserved.
const ZSTD_CHECKSUM: u8 = 1 << 2;
const ZSTD_ZERO: u8 = 3 << 3;

/// A record that is whole; its digests may still be wrong.
#[derive(Debug)]
pub(in crate::container) struct Checked {
    /// Offset in the file at which it begins.
    pub(in crate::container) offset: u64,
    /// Its length there, compressed.
    pub(in crate::container) length: u64,
    fields: Vec<(String, String)>,
    /// The block of metadata; the HTTP head of a response, with the empty line.
    pub(in crate::container) kept: Vec<u8>,
    block_bytes: u64,
    /// Bytes of the block behind the HTTP head.
    pub(in crate::container) payload_bytes: u64,
    payload_sha1: [u8; 20],
    block_sha1: [u8; 20],
}

impl Checked {
    /// The first value of the field `name`.
    pub(in crate::container) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// `WARC-Type`.
    pub(in crate::container) fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// True if this record ends an exchange.
    pub(in crate::container) fn is_answer(&self) -> bool {
        matches!(self.kind(), "response" | "revisit")
    }

    /// `WARC-Payload-Digest`.
    pub(in crate::container) fn payload_digest(&self) -> Option<[u8; 20]> {
        let text = self.field("WARC-Payload-Digest")?.strip_prefix("sha1:")?;
        BASE32.decode(text.as_bytes()).ok()?.try_into().ok()
    }

    /// Everything that the record says of itself and that is not so.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let id = self.field("WARC-Record-ID").unwrap_or_default();
        if !id.starts_with("<urn:uuid:") || !id.ends_with('>') || id.len() != 47 {
            faults.push(format!("{id:?} is not a WARC-Record-ID"));
        }
        let date = self.field("WARC-Date").unwrap_or_default();
        if parse_date(date).is_none() {
            faults.push(format!("{date:?} is not a WARC-Date"));
        }
        let length = self.field("Content-Length").unwrap_or_default();
        if length != self.block_bytes.to_string() {
            faults.push(format!("{length:?} is no Content-Length as it is written"));
        }
        let expected = match self.kind() {
            "metadata" if self.field("WARC-Target-URI").is_none() => TOMBSTONES_TYPE,
            "warcinfo" | "metadata" => "application/warc-fields",
            "request" => "application/http;msgtype=request",
            "conversion" => "text/html;charset=utf-8",
            // the type of the picture
            "resource" => self.field("Content-Type").unwrap_or("image/png"),
            _ => "application/http;msgtype=response",
        };
        let found = self.field("Content-Type").unwrap_or_default();
        if found.replace(' ', "") != expected {
            faults.push(format!("Content-Type {found:?} where a {} record has {expected}", self.kind()));
        }
        let digest = |sha1: &[u8]| format!("sha1:{}", BASE32.encode(sha1));
        let mut compare = |name: &str, sha1: [u8; 20]| {
            let (said, is) = (self.field(name).unwrap_or("nothing"), digest(&sha1));
            if said != is {
                faults.push(format!("{name} says {said}, the content has {is}"));
            }
        };
        compare("WARC-Block-Digest", self.block_sha1);
        if self.kind() == "response" {
            compare("WARC-Payload-Digest", self.payload_sha1);
        }
        faults
    }
}

/// A value file up to a length that was noted before: what is appended later is not looked at.
#[derive(Debug)]
pub(super) struct Source {
    file: DiskFile,
    end: u64,
    /// The offset at which the next read of the file begins.
    position: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Source {
    pub(super) fn new(file: DiskFile, end: u64) -> Self {
        Source { file, end, position: 0, buffer: Vec::new(), at: 0 }
    }

    pub(super) fn offset(&self) -> u64 {
        self.position - (self.buffer.len() - self.at) as u64
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn seek(&mut self, offset: u64) {
        self.position = offset;
        self.buffer.clear();
        self.at = 0;
    }

    /// Returns up to `count` bytes from here on, which stay unread; fewer at the end only.
    fn peek(&mut self, count: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.at < count {
            self.seek(self.offset());
            self.fill()?;
        }
        Ok(&self.buffer[self.at..self.buffer.len().min(self.at + count)])
    }

    fn fill(&mut self) -> Result<()> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        self.buffer.resize(BUFFER_BYTES.min(left), 0);
        self.at = 0;
        let got = self.file.read_at(&mut self.buffer, self.position)?;
        self.buffer.truncate(got);
        self.position += got as u64;
        Ok(())
    }

    /// Reads and checks the record that begins here. The inner error says how the record is damaged.
    pub(super) fn record(&mut self, coding: Compression) -> Result<std::result::Result<Checked, String>> {
        let offset = self.offset();
        if let Err(what) = check_magic(self.peek(GZIP_HEAD.len())?, coding) {
            return Ok(Err(what));
        }
        let read = match coding {
            Compression::Gzip => read_record(&mut BufReader::with_capacity(STEP_BYTES, GzDecoder::new(&mut *self))),
            Compression::Zstd => zstd::stream::read::Decoder::with_buffer(&mut *self)
                .and_then(|frame| read_record(&mut BufReader::with_capacity(STEP_BYTES, frame.single_frame()))),
            Compression::None => read_plain(self),
        };
        match read {
            Ok(record) => Ok(Ok(Checked { offset, length: self.offset() - offset, ..record })),
            Err(error) => match error.downcast::<Error>() {
                Ok(fault) => Err(fault),
                Err(error) => Ok(Err(error.to_string())),
            },
        }
    }

    /// Returns the offset of the next record at or behind `offset`, judged by its magic and a whole head.
    pub(super) fn next_head(&mut self, offset: u64, coding: Compression) -> Result<Option<u64>> {
        let magic = match coding {
            Compression::Gzip => &GZIP_HEAD[..3],
            Compression::Zstd => ZSTD_HEAD,
            Compression::None => PLAIN_HEAD,
        };
        let mut start = offset;
        while start < self.end {
            self.seek(start);
            let bytes = self.peek(BUFFER_BYTES)?.to_vec();
            for at in memchr::memmem::find_iter(&bytes, magic) {
                self.seek(start + at as u64);
                if self.has_head(coding)? {
                    self.seek(start + at as u64);
                    return Ok(Some(start + at as u64));
                }
            }
            if bytes.len() < BUFFER_BYTES {
                break;
            }
            start += (bytes.len() - magic.len() + 1) as u64;
        }
        self.seek(self.end);
        Ok(None)
    }

    fn has_head(&mut self, coding: Compression) -> Result<bool> {
        let head = match coding {
            Compression::Gzip => read_head(&mut BufReader::with_capacity(STEP_BYTES, GzDecoder::new(&mut *self))),
            Compression::Zstd => zstd::stream::read::Decoder::with_buffer(&mut *self)
                .and_then(|frame| read_head(&mut BufReader::with_capacity(STEP_BYTES, frame))),
            Compression::None => read_head(self),
        };
        match head {
            Ok(fields) => {
                let has = |name: &str| fields.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
                Ok(has("WARC-Type") && has("Content-Length"))
            }
            Err(error) => error.downcast::<Error>().map_or(Ok(false), Err),
        }
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            self.fill().map_err(io::Error::other)?;
        }
        Ok(&self.buffer[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(out.len());
        out[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Checks that `bytes` begin as a record of `coding` does, those bits included that no checksum covers.
fn check_magic(bytes: &[u8], coding: Compression) -> std::result::Result<(), String> {
    let fits = match coding {
        Compression::Gzip => bytes == GZIP_HEAD,
        Compression::Zstd => {
            let flags = bytes.get(ZSTD_HEAD.len()).copied().unwrap_or(0);
            bytes.starts_with(ZSTD_HEAD) && flags & ZSTD_CHECKSUM != 0 && flags & ZSTD_ZERO == 0
        }
        Compression::None => bytes == PLAIN_HEAD,
    };
    if fits { Ok(()) } else { Err(format!("bytes {bytes:02x?} begin no record")) }
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Reads the record in a member or frame, and its checksum.
fn read_record(member: &mut dyn BufRead) -> io::Result<Checked> {
    let record = read_plain(member)?;
    if member.read(&mut [0])? != 0 {
        return Err(invalid("more than one record in a member"));
    }
    Ok(record)
}

fn read_plain(source: &mut dyn BufRead) -> io::Result<Checked> {
    let fields = read_head(source)?;
    let value = |name: &str| fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str());
    let length: u64 = value("Content-Length")
        .and_then(|length| length.parse().ok())
        .ok_or_else(|| invalid("a record without a Content-Length"))?;
    let kept = match value("WARC-Type") {
        Some("response" | "revisit") => Kept::Head,
        // nobody asks what is in them, and they are as large as pages and pictures
        Some("conversion" | "resource") => Kept::Nothing,
        _ => Kept::All,
    };
    let block = Block::read(source, length, kept)?;
    let mut tail = [0; 4];
    source.read_exact(&mut tail)?;
    if &tail != b"\r\n\r\n" {
        return Err(invalid("a block that does not end where its length says"));
    }
    Ok(Checked {
        offset: 0,
        length: 0,
        fields,
        kept: block.kept,
        block_bytes: length,
        payload_bytes: block.payload_bytes,
        payload_sha1: block.payload.finalize().into(),
        block_sha1: block.whole.finalize().into(),
    })
}

/// The part of a block that is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// The HTTP head.
    Head,
    All,
    Nothing,
}

/// Parts and digests of a block, made while it streams by.
#[derive(Default)]
struct Block {
    kept: Vec<u8>,
    whole: Sha1,
    payload: Sha1,
    payload_bytes: u64,
}

impl Block {
    fn read(source: &mut dyn BufRead, length: u64, kept: Kept) -> io::Result<Self> {
        let mut block = Block::default();
        let mut in_head = kept != Kept::Nothing;
        let mut step = [0; STEP_BYTES];
        let mut left = length;
        while left > 0 {
            let wanted = step.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let got = source.read(&mut step[..wanted])?;
            if got == 0 {
                return Err(invalid(format!("a block that ends {left} bytes too early")));
            }
            left -= got as u64;
            block.whole.update(&step[..got]);
            if in_head {
                in_head = !block.keep(&step[..got], kept)?;
            } else if kept == Kept::Head {
                block.pay(&step[..got]);
            }
        }
        Ok(block)
    }

    /// Keeps `bytes`, up to the end of the HTTP head where no more is kept, and says whether it was there.
    fn keep(&mut self, bytes: &[u8], kept: Kept) -> io::Result<bool> {
        let seen = self.kept.len().saturating_sub(3);
        self.kept.extend_from_slice(bytes);
        if kept == Kept::Head
            && let Some(end) = memchr::memmem::find(&self.kept[seen..], b"\r\n\r\n")
        {
            let payload = self.kept.split_off(seen + end + 4);
            self.pay(&payload);
            return Ok(true);
        }
        if self.kept.len() > KEPT_MAX {
            let what = if kept == Kept::Head { "an HTTP head" } else { "a block without a payload" };
            return Err(invalid(format!("{what} of more than {KEPT_MAX} bytes")));
        }
        Ok(false)
    }

    fn pay(&mut self, bytes: &[u8]) {
        self.payload.update(bytes);
        self.payload_bytes += bytes.len() as u64;
    }
}
