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

    /// Appends the record that consists of `parts`, compressed alone, to `out`.
    pub(super) fn pack(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) {
        match self {
            Packer::Gzip(compress) if parts.iter().map(|part| part.len()).sum::<usize>() > short::INPUT_MAX => {
                gzip(compress, parts, out);
            }
            Packer::Gzip(_) => gzip_short(&parts.concat(), out),
            Packer::Zstd(compressor) => {
                let packed = compressor.compress(&parts.concat()).expect("zstd compresses any bytes");
                out.extend_from_slice(&packed);
            }
            Packer::None => parts.iter().for_each(|part| out.extend_from_slice(part)),
        }
    }
}

fn gzip_short(record: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&GZIP_HEAD);
    short::deflate(record, out);
    out.extend_from_slice(&crc32fast::hash(record).to_le_bytes());
    out.extend_from_slice(&(record.len() as u32).to_le_bytes());
}

fn gzip(compress: &mut Compress, parts: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(&GZIP_HEAD);
    compress.reset();
    let mut sum = crc32fast::Hasher::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        sum.update(part);
        deflate(compress, part, FlushCompress::None, out);
    }
    deflate(compress, &[], FlushCompress::Finish, out);
    out.extend_from_slice(&sum.finalize().to_le_bytes());
    // ISIZE is the length modulo 2^32
    out.extend_from_slice(&(compress.total_in() as u32).to_le_bytes());
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
