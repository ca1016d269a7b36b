//! Compression of single records, with the compressor's state reused.

use flate2::{Compress, FlushCompress, Status};

use super::short;

/// How records are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// A gzip member a record (RFC 1952), as every WARC tool reads it.
    Gzip,
    /// A zstd frame a record, with content size and checksum (the experimental WARC/zstd draft).
    Zstd,
    /// As they are.
    None,
}

impl Compression {
    /// What follows `.warc` in the names of files.
    pub fn suffix(self) -> &'static str {
        match self {
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
            Compression::None => "",
        }
    }
}

/// Fast levels: the archive is written at the speed of the crawl.
const GZIP_LEVEL: u32 = 1;
const ZSTD_LEVEL: i32 = 3;
/// Magic, deflate, no flags, no time, fastest algorithm, unknown system.
pub(crate) const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];
/// What ends a record.
const RECORD_END: &[u8] = b"\r\n\r\n";
/// Room for output that there is at least before the compressor is called.
const OUTPUT_STEP_BYTES: usize = 1 << 10;

/// A compressor for one record after the other.
pub(super) enum Packer {
    Gzip(Box<Compress>),
    Zstd(Box<zstd::bulk::Compressor<'static>>),
    None,
}

impl Packer {
    pub(super) fn new(compression: Compression) -> Self {
        match compression {
            Compression::Gzip => Packer::Gzip(Box::new(Compress::new(flate2::Compression::new(GZIP_LEVEL), false))),
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
            Packer::Gzip(compress) => {
                let parts = [head, &[payload, RECORD_END]].concat();
                gzip_by(&parts, out, |out| {
                    compress.reset();
                    for part in parts.iter().filter(|part| !part.is_empty()) {
                        deflate(compress, part, FlushCompress::None, out);
                    }
                    deflate(compress, &[], FlushCompress::Finish, out);
                });
            }
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
