//! One WARC record after the other, checked while it streams by: no block is ever held whole.

use std::io::{self, BufRead, BufReader};

use data_encoding::{BASE32, HEXUPPER};
use flate2::bufread::GzDecoder;
use sha1::{Digest, Sha1};

use crate::container::imported::are_concurrent;
use crate::container::retention::tombstone::TOMBSTONES_TYPE;
use crate::disk::{Error, FileStream, Result, STREAM_BUFFER_BYTES};
use crate::warc::chunks::{self, Chunks};
use crate::warc::{Compression, GZIP_HEAD, Header, body_at, parse_date, parse_http_head, read_head, resource};

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
    pub(in crate::container) payload_sha1: [u8; 20],
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

    /// Returns whether one of the two names the other as of the same exchange.
    pub(in crate::container) fn is_concurrent_to(&self, other: &Checked) -> bool {
        are_concurrent(&self.fields, &other.fields)
    }

    /// True if this record ends an exchange.
    pub(in crate::container) fn is_answer(&self) -> bool {
        matches!(self.kind(), "response" | "revisit") || self.is_page_resource()
    }

    fn is_page_resource(&self) -> bool {
        resource::is_page(self.kind(), self.field("WARC-Target-URI"))
    }

    /// Returns whether it is a revisit that has the head of what it refers to, as other programs write some.
    pub(in crate::container) fn has_no_head(&self) -> bool {
        self.kind() == "revisit" && self.block_bytes == 0
    }

    /// Status and headers of the answer; of a revisit without a head no status is known.
    pub(in crate::container) fn head(&self) -> Option<(u16, Vec<Header>)> {
        if self.is_page_resource() {
            return Some((resource::STATUS, resource::headers(self.field("Content-Type"))));
        }
        if self.has_no_head() {
            return Some((0, Vec::new()));
        }
        parse_http_head(&self.kept).map(|(status, headers, _)| (status, headers))
    }

    /// The digest of the payload that the record states, if it is a SHA-1.
    pub(in crate::container) fn payload_digest(&self) -> Option<[u8; 20]> {
        let stated =
            self.field("WARC-Payload-Digest").or(self.field("WARC-Block-Digest").filter(|_| self.is_page_resource()));
        parse_sha1(stated?)
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

impl FileStream {
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
        while start < self.end() {
            self.seek(start);
            let bytes = self.peek(STREAM_BUFFER_BYTES)?.to_vec();
            for at in memchr::memmem::find_iter(&bytes, magic) {
                self.seek(start + at as u64);
                if self.has_head(coding)? {
                    self.seek(start + at as u64);
                    return Ok(Some(start + at as u64));
                }
            }
            if bytes.len() < STREAM_BUFFER_BYTES {
                break;
            }
            start += (bytes.len() - magic.len() + 1) as u64;
        }
        self.seek(self.end());
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
    let kind = value("WARC-Type").unwrap_or_default();
    let kept = match kind {
        "response" | "revisit" => Kept::Head,
        "resource" if resource::is_page(kind, value("WARC-Target-URI")) => Kept::NothingOfPage,
        // nobody asks what is in them, and they are as large as pages and pictures
        "conversion" | "resource" => Kept::Nothing,
        _ => Kept::All,
    };
    let block = Block::read(source, length, kept)?;
    let mut tail = [0; 4];
    source.read_exact(&mut tail)?;
    if &tail != b"\r\n\r\n" {
        return Err(invalid("a block that does not end where its length says"));
    }
    let block_sha1 = block.whole.finalize().into();
    let payload =
        block.joined.filter(|joined| joined.chunks.has_begun()).map_or(block.payload, |joined| joined.payload);
    Ok(Checked {
        offset: 0,
        length: 0,
        fields,
        kept: block.kept,
        block_bytes: length,
        payload_bytes: payload.bytes,
        payload_sha1: payload.sha1.finalize().into(),
        block_sha1,
    })
}

/// A labelled SHA-1, in Base32 or hexadecimal digits.
fn parse_sha1(stated: &str) -> Option<[u8; 20]> {
    let (label, text) = stated.split_once(':')?;
    if !["sha1", "sha-1"].iter().any(|name| label.eq_ignore_ascii_case(name)) {
        return None;
    }
    let text = text.trim().to_ascii_uppercase();
    let bytes = BASE32.decode(text.as_bytes()).or_else(|_| HEXUPPER.decode(text.as_bytes()));
    bytes.ok()?.try_into().ok()
}

/// The part of a block that is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// The HTTP head.
    Head,
    All,
    Nothing,
    /// Nothing, and all of it is the payload.
    NothingOfPage,
}

/// Length and digest of a payload, made while it streams by.
#[derive(Default)]
struct Payload {
    sha1: Sha1,
    bytes: u64,
}

/// A payload that is in chunks.
#[derive(Default)]
struct Joined {
    chunks: Chunks,
    payload: Payload,
}

/// Parts and digests of a block, made while it streams by.
#[derive(Default)]
struct Block {
    kept: Vec<u8>,
    whole: Sha1,
    payload: Payload,
    /// The payload out of its chunks, where the head says that it is in some.
    joined: Option<Joined>,
}

impl Payload {
    fn push(&mut self, bytes: &[u8]) {
        self.sha1.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl Block {
    fn read(source: &mut dyn BufRead, length: u64, kept: Kept) -> io::Result<Self> {
        let mut block = Block::default();
        let mut in_head = matches!(kept, Kept::Head | Kept::All);
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
                in_head = !block.keep(&step[..got], kept);
            } else if matches!(kept, Kept::Head | Kept::NothingOfPage) {
                block.pay(&step[..got]);
            }
        }
        Ok(block)
    }

    /// Keeps `bytes`, up to the end of the HTTP head where no more is kept; says whether nothing more is to be kept. A
    /// head that is longer than what is kept is none.
    fn keep(&mut self, bytes: &[u8], kept: Kept) -> bool {
        let seen = self.kept.len().saturating_sub(3);
        self.kept.extend_from_slice(bytes);
        if kept == Kept::Head
            && let Some(end) = body_at(&self.kept[seen..])
        {
            let payload = self.kept.split_off(seen + end);
            let head = parse_http_head(&self.kept);
            self.joined = head.filter(|(_, headers, _)| chunks::are_stated(headers)).map(|_| Joined::default());
            self.pay(&payload);
            return true;
        }
        self.kept.len() > KEPT_MAX
    }

    fn pay(&mut self, bytes: &[u8]) {
        self.payload.push(bytes);
        if let Some(Joined { chunks, payload }) = &mut self.joined {
            chunks.push(bytes, &mut |bytes| payload.push(bytes));
        }
    }
}
