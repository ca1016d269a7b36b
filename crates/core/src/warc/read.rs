//! Records from value files, one at a time.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use sha1::{Digest, Sha1};

use super::Header;
use super::address;
use super::digest::digest;
use crate::disk::{DiskFile, Error, Result, read_buffered};
use crate::web::coding::WholeInflater;

/// Bytes of a record's head.
const HEAD_MAX: usize = 64 << 10;
pub(super) const BUFFER_BYTES: usize = 64 << 10;
/// Bytes that a gzip member begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Heads are decompressed in steps of this size.
const HEAD_STEP_BYTES: usize = 2 << 10;
/// Fields that the heads of most records have no more of.
const FIELDS_USUAL: usize = 16;
/// First lines of the records that are read; the first one is what this program writes.
const VERSIONS: [&str; 4] = ["WARC/1.1", "WARC/1.0", "WARC/0.18", "WARC/0.17"];

/// A record as it is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The offset in the file at which it begins.
    pub offset: u64,
    /// Its length in the file, compressed.
    pub length: u64,
    /// Its named fields, in order.
    pub fields: Vec<(String, String)>,
    /// Its block.
    pub block: Vec<u8>,
}

impl Record {
    /// The first value of the field `name`.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The record as it was before it was compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = b"WARC/1.1\r\n".to_vec();
        for (name, value) in &self.fields {
            let lines = match address::parts(name, value) {
                Some((url, request_name, request)) => format!("{name}: {url}\r\n{request_name}: {request}\r\n"),
                None => format!("{name}: {value}\r\n"),
            };
            bytes.extend_from_slice(lines.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.block);
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes
    }

    /// True if its block has the digest that the record states; one without a digest is not known to be as it was
    /// written. Compression has its own checksum; a record that is not compressed has nothing else.
    pub fn is_intact(&self) -> bool {
        self.field("WARC-Block-Digest").is_some_and(|stated| stated == digest(Sha1::digest(&self.block).into()))
    }

    /// Returns whether it is of a request with more than a URL.
    pub(crate) fn has_request(&self) -> bool {
        self.field("WARC-Target-URI").is_some_and(address::has_request)
    }

    /// `WARC-Type`.
    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }
}

/// The status, the headers and the place of the body in an HTTP response block.
pub fn parse_http_head(block: &[u8]) -> Option<(u16, Vec<Header>, usize)> {
    let body_at = body_at(block)?;
    let mut lines = block[..body_at].trim_ascii_end().split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let (status, _) = parse_status_line(lines.next()?)?;
    let colon = |line| memchr::memchr(b':', line).map(|colon| (line, colon));
    let fields = lines.filter_map(colon).map(|(line, at)| (line[..at].into(), line[at + 1..].trim_ascii().into()));
    Some((status, fields.collect(), body_at))
}

/// Status and reason in the first line of an answer, whose version may be any.
pub(crate) fn parse_status_line(line: &[u8]) -> Option<(u16, &[u8])> {
    let line = line.strip_prefix(b"HTTP/")?;
    let (_, rest) = line.split_at_checked(memchr::memchr(b' ', line)? + 1)?;
    let (status, reason) = rest.split_at_checked(3)?;
    Some((std::str::from_utf8(status).ok()?.parse().ok()?, reason.trim_ascii()))
}

/// The place of the body in an HTTP block: behind the first empty line.
pub(crate) fn body_at(block: &[u8]) -> Option<usize> {
    let end = memchr::memmem::find(block, b"\r\n\r\n");
    // heads of some servers have no carriage returns, and other programs write them down as they came
    let bare = memchr::memmem::find(&block[..end.unwrap_or(block.len())], b"\n\n");
    bare.map(|bare| bare + 2).or(end.map(|end| end + 4))
}

/// Reads records in the order of the file.
///
/// Each record is read whole: its block is held in memory, up to the limit that the reader was made with. A record
/// that is not whole, or not as it was written, is a [`Error::Damaged`] at the offset where it begins.
pub struct RecordReader<'a> {
    cursor: Cursor<'a>,
    block_max: u64,
    inflater: WholeInflater,
}

impl<'a> RecordReader<'a> {
    /// Reads from `offset` of `file` on, blocks of at most `block_max` bytes.
    pub fn new(file: &'a DiskFile, offset: u64, block_max: u64) -> Self {
        RecordReader::within(file, offset, u64::MAX, block_max)
    }

    /// Reads from `offset` of `file` on, and no byte behind the `length` that follow: who knows how long a record is
    /// gets it with one read of that size.
    pub(crate) fn within(file: &'a DiskFile, offset: u64, length: u64, block_max: u64) -> Self {
        let end = offset.saturating_add(length);
        let cursor = Cursor { file, position: offset, end, buffer: Vec::new(), at: 0 };
        RecordReader { cursor, block_max, inflater: WholeInflater::default() }
    }

    /// The offset at which the next record begins.
    pub(crate) fn position(&self) -> u64 {
        self.cursor.offset()
    }

    /// The next record; `None` at the end of the file.
    #[expect(clippy::should_implement_trait, reason = "it fails, and after a failure there is nothing more")]
    pub fn next(&mut self) -> Result<Option<Record>> {
        let offset = self.cursor.offset();
        let path = self.cursor.file.path();
        let start = match self.cursor.peek_two() {
            Ok([]) => return Ok(None),
            Ok(bytes) => [bytes[0], bytes.get(1).copied().unwrap_or(0)],
            Err(e) => return Err(fault(e, path, offset)),
        };
        let cursor = &mut self.cursor;
        let content = if start == GZIP { cursor.inflate_rest(&mut self.inflater, self.block_max) } else { None };
        let read = match (start, content) {
            (_, Some(mut content)) => read_record(&mut content, self.block_max, true),
            (GZIP, None) => {
                let mut member = BufReader::with_capacity(HEAD_STEP_BYTES, GzDecoder::new(cursor));
                read_record(&mut member, self.block_max, true)
            }
            ([0x28, 0xb5], None) => zstd::stream::read::Decoder::with_buffer(cursor).and_then(|frame| {
                let mut frame = BufReader::with_capacity(HEAD_STEP_BYTES, frame.single_frame());
                read_record(&mut frame, self.block_max, true)
            }),
            ([b'W', b'A'], None) => read_record(cursor, self.block_max, false),
            (other, None) => Err(invalid(format!("bytes {other:02x?} begin no record"))),
        };
        let (fields, block) = read.map_err(|e| fault(e, path, offset))?;
        Ok(Some(Record { offset, length: self.cursor.offset() - offset, fields, block }))
    }
}

type Parts = (Vec<(String, String)>, Vec<u8>);

/// Reads one record from `source`, which ends with it where `alone`.
fn read_record(source: &mut dyn BufRead, block_max: u64, alone: bool) -> io::Result<Parts> {
    let fields = read_head(source)?;
    let length = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
    let length: u64 =
        length.and_then(|(_, value)| value.parse().ok()).ok_or_else(|| invalid("a record without a Content-Length"))?;
    if length > block_max {
        return Err(invalid(format!("a block of {length} bytes, longer than {block_max}")));
    }
    // a stated length takes no memory before there are bytes for it
    let buffered = source.fill_buf()?.len();
    let mut block = Vec::with_capacity(usize::try_from(length).map_or(buffered, |length| length.min(buffered)));
    source.take(length).read_to_end(&mut block)?;
    let mut tail = [0; 4];
    source.read_exact(&mut tail)?;
    if block.len() as u64 != length || &tail != b"\r\n\r\n" {
        return Err(invalid("a block that does not end where its length says"));
    }
    // reading to the end has the checksum of the member verified
    if alone && source.read(&mut [0])? != 0 {
        return Err(invalid("more than one record in a member"));
    }
    Ok((fields, block))
}

/// The named fields of the record that `source` begins with, up to the block.
pub fn read_head(source: &mut dyn BufRead) -> io::Result<Vec<(String, String)>> {
    let mut head = Vec::with_capacity(512);
    while !head.ends_with(b"\r\n\r\n") {
        let room = HEAD_MAX - head.len();
        if room == 0 {
            return Err(invalid(format!("a head of more than {HEAD_MAX} bytes")));
        }
        let line = (&mut *source).take(room as u64).read_until(b'\n', &mut head)?;
        if line == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let head = String::from_utf8(head).map_err(|_| invalid("a head that is not UTF-8"))?;
    let mut lines = head.split_inclusive('\n');
    let version = lines.next().and_then(|line| line.strip_suffix("\r\n"));
    if !version.is_some_and(|version| VERSIONS.contains(&version)) {
        return Err(invalid("a head that does not begin with WARC/1.1"));
    }
    let mut fields = Vec::with_capacity(FIELDS_USUAL);
    for line in lines {
        let line = line.strip_suffix("\r\n").ok_or_else(|| invalid("a head line that ends with a line feed alone"))?;
        // the last one
        if !line.is_empty() {
            fields.push(field(line)?);
        }
    }
    address::join(&mut fields);
    Ok(fields)
}

/// Name and value in a line of a head.
fn field(line: &str) -> io::Result<(String, String)> {
    // no field has any: bytes of a sector that was never written would join the heads of two records otherwise
    if line.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(invalid("a head line with a control character"));
    }
    let (name, value) = line.split_once(':').ok_or_else(|| invalid("a head line without a colon"))?;
    let value = value.trim();
    // as WARC 1.0 was understood by some
    let url = value.strip_prefix('<').and_then(|value| value.strip_suffix('>'));
    let value = url.filter(|_| name.ends_with("Target-URI")).unwrap_or(value);
    Ok((name.to_owned(), value.to_owned()))
}

fn invalid(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// An error of the disk is passed on; everything else means that the record is damaged.
fn fault(error: io::Error, path: &Path, offset: u64) -> Error {
    match error.downcast::<Error>() {
        Ok(fault) => fault,
        Err(error) => Error::damaged(path, offset, "a whole WARC record", error.to_string()),
    }
}

/// A file as a buffered stream that knows its offset.
struct Cursor<'a> {
    file: &'a DiskFile,
    /// The offset at which the next read of the file begins.
    position: u64,
    /// Nothing is read from there on.
    end: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Cursor<'_> {
    fn offset(&self) -> u64 {
        self.position - (self.buffer.len() - self.at) as u64
    }

    /// The content of what is left up to the end, if that is in the buffer and one whole gzip member. It is consumed
    /// then; where not, the decoder of streams has the say.
    fn inflate_rest<'i>(&mut self, inflater: &'i mut WholeInflater, block_max: u64) -> Option<&'i [u8]> {
        if self.position < self.end {
            return None;
        }
        let content_max = usize::try_from(block_max).ok()?.saturating_add(HEAD_MAX);
        let length = inflater.gzip(&self.buffer[self.at..], content_max)?;
        self.at = self.buffer.len();
        Some(&inflater.buffer()[..length])
    }

    /// Returns what is in the buffer: two bytes at least, unless the end is nearer. A record may begin with the last
    /// byte of a buffer.
    fn peek_two(&mut self) -> io::Result<&[u8]> {
        if self.buffer.len() - self.at < 2 {
            self.position = self.offset();
            self.buffer.clear();
            self.at = 0;
        }
        self.fill_buf()
    }
}

impl BufRead for Cursor<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            let room = self.end.saturating_sub(self.position);
            self.buffer.resize(usize::try_from(room).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES), 0);
            let got = self.file.read_at(&mut self.buffer, self.position).map_err(io::Error::other)?;
            self.buffer.truncate(got);
            self.position += got as u64;
            self.at = 0;
        }
        Ok(&self.buffer[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for Cursor<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        read_buffered(self, out)
    }
}
