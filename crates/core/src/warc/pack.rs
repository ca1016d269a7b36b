//! Compression of single records, with the compressor's state reused.

use flate2::{Compress, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};
use serde::{Deserialize, Serialize};

use super::short;

/// Compressions of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// A gzip member a record (RFC 1952), as every WARC tool reads it.
    Gzip,
    /// A zstd frame a record, with content size and checksum (the experimental WARC/zstd draft).
    Zstd,
    /// Records as they are.
    None,
}

impl Compression {
    /// The text behind `.warc` in the names of files.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
            Compression::None => "",
        }
    }
}

/// Fast levels: the archive is written at the speed of the crawl.
const GZIP_LEVEL: i32 = 1;
const ZSTD_LEVEL: i32 = 3;
/// Magic, deflate, no flags, no time, fastest algorithm, unknown system.
pub const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];
/// Bytes that end a record.
const RECORD_END: &[u8] = b"\r\n\r\n";
/// Longest record that is compressed in one call, from a copy of it. Larger ones are rare, and their copies would take
/// too much memory: they go through a compressor of streams.
const WHOLE_MAX: usize = 1 << 20;
/// Room for output that there is at least before the compressor of streams is called.
const OUTPUT_STEP_BYTES: usize = 1 << 10;

/// A compressor for one record after the other.
pub(super) enum Packer {
    Gzip(Box<GzipPacker>),
    Zstd(Box<zstd::bulk::Compressor<'static>>),
    None,
}

impl Packer {
    pub(super) fn new(compression: Compression) -> Self {
        match compression {
            Compression::Gzip => Packer::Gzip(Box::new(GzipPacker::new(GZIP_LEVEL))),
            Compression::Zstd => {
                let mut compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("the level is one that zstd has");
                compressor.include_checksum(true).expect("zstd can add checksums");
                Packer::Zstd(Box::new(compressor))
            }
            Compression::None => Packer::None,
        }
    }

    /// Appends a record, compressed alone, to `out`: its head and what of its block comes before the payload, the
    /// payload, and the end. A payload that is compressed already (`is_packed`) is not compressed again, where that is
    /// possible.
    pub(super) fn pack(&mut self, head: &[&[u8]], payload: &[u8], is_packed: bool, out: &mut Vec<u8>) {
        let head_bytes = head.iter().map(|part| part.len()).sum::<usize>();
        match self {
            Packer::Gzip(_) if head_bytes + payload.len() + RECORD_END.len() <= short::INPUT_MAX => {
                let record = [&head.concat()[..], payload, RECORD_END].concat();
                gzip_by(&[&record], out, |out| short::deflate(&record, out));
            }
            Packer::Gzip(_) if is_packed && head_bytes <= short::INPUT_MAX => {
                let head = head.concat();
                gzip_by(&[&head, payload, RECORD_END], out, |out| {
                    short::deflate_before(&head, payload, RECORD_END, out);
                });
            }
            Packer::Gzip(packer) if head_bytes + payload.len() <= WHOLE_MAX => packer.pack_whole(head, payload, out),
            Packer::Gzip(packer) => packer.pack_large(&[head, &[payload, RECORD_END]].concat(), out),
            Packer::Zstd(compressor) => {
                let record = [&head.concat()[..], payload, RECORD_END].concat();
                let packed = compressor.compress(&record).expect("zstd compresses any bytes");
                out.extend_from_slice(&packed);
            }
            Packer::None => {
                head.iter().for_each(|part| out.extend_from_slice(part));
                out.extend_from_slice(payload);
                out.extend_from_slice(RECORD_END);
            }
        }
    }
}

/// Compressors of records in gzip, and the memory that they reuse.
pub(super) struct GzipPacker {
    compressor: Compressor,
    /// The record that is compressed.
    record: Vec<u8>,
    /// The compressed record, and behind it what is left of earlier ones: bytes already there need not be cleared.
    deflated: Vec<u8>,
    /// The compressor of large records; made for the first of them.
    streaming: Option<Compress>,
}

impl GzipPacker {
    fn new(level: i32) -> Self {
        let level = CompressionLvl::new(level).expect("the level is one that libdeflate has");
        let compressor = Compressor::new(level);
        GzipPacker { compressor, record: Vec::new(), deflated: Vec::new(), streaming: None }
    }

    /// Appends a record as a gzip member; two copies of it are in memory for that.
    fn pack_whole(&mut self, head: &[&[u8]], payload: &[u8], out: &mut Vec<u8>) {
        let GzipPacker { compressor, record, deflated, .. } = self;
        record.clear();
        head.iter().for_each(|part| record.extend_from_slice(part));
        record.extend_from_slice(payload);
        record.extend_from_slice(RECORD_END);
        let bound = compressor.deflate_compress_bound(record.len());
        if deflated.len() < bound {
            deflated.resize(bound, 0);
        }
        gzip_by(&[record], out, |out| {
            let length = compressor.deflate_compress(record, deflated).expect("there is room for the longest result");
            out.extend_from_slice(&deflated[..length]);
        });
    }

    /// Appends a record of `parts` as a gzip member, compressed piece by piece.
    fn pack_large(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) {
        let level = flate2::Compression::new(GZIP_LEVEL.unsigned_abs());
        let compress = self.streaming.get_or_insert_with(|| Compress::new(level, false));
        gzip_by(parts, out, |out| {
            compress.reset();
            for part in parts.iter().filter(|part| !part.is_empty()) {
                deflate(compress, part, FlushCompress::None, out);
            }
            deflate(compress, &[], FlushCompress::Finish, out);
        });
    }
}

/// Appends a gzip member of `parts`, which `deflate` compresses.
fn gzip_by(parts: &[&[u8]], out: &mut Vec<u8>, deflate: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&GZIP_HEAD);
    deflate(out);
    let mut sum = crc32fast::Hasher::new();
    parts.iter().for_each(|part| sum.update(part));
    out.extend_from_slice(&sum.finalize().to_le_bytes());
    // ISIZE is the length modulo 2^32
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Compresses all of `part`, or to the end of the member.
fn deflate(compress: &mut Compress, part: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
    let begun = compress.total_in();
    loop {
        let done = usize::try_from(compress.total_in() - begun).expect("a record is in memory");
        if matches!(flush, FlushCompress::None) && done == part.len() {
            return;
        }
        out.reserve(OUTPUT_STEP_BYTES);
        let status = compress
            .compress_vec(&part[done..], out, flush)
            .expect("a compressor that is not finished takes input and has room for output");
        if status == Status::StreamEnd {
            return;
        }
    }
}
