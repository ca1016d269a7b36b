//! Compression of single records, with the compressor's state reused.

use flate2::{Compress, FlushCompress, Status};

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
const OUTPUT_STEP_BYTES: usize = 32 << 10;

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

    /// Appends `record`, compressed alone, to `out`.
    pub(super) fn pack(&mut self, record: &[u8], out: &mut Vec<u8>) {
        match self {
            Packer::Gzip(compress) => {
                out.extend_from_slice(&GZIP_HEAD);
                compress.reset();
                deflate(compress, record, out);
                out.extend_from_slice(&crc32fast::hash(record).to_le_bytes());
                // ISIZE is the length modulo 2^32
                out.extend_from_slice(&(record.len() as u32).to_le_bytes());
            }
            Packer::Zstd(compressor) => {
                let packed = compressor.compress(record).expect("zstd compresses any bytes");
                out.extend_from_slice(&packed);
            }
            Packer::None => out.extend_from_slice(record),
        }
    }
}

fn deflate(compress: &mut Compress, record: &[u8], out: &mut Vec<u8>) {
    loop {
        let done = usize::try_from(compress.total_in()).expect("a record is in memory");
        out.reserve(OUTPUT_STEP_BYTES);
        let status = compress
            .compress_vec(&record[done..], out, FlushCompress::Finish)
            .expect("a compressor that is not finished takes input");
        if status == Status::StreamEnd {
            return;
        }
    }
}
