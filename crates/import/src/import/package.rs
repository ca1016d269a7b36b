//! The sources in a file: itself, or the WARC files in a WACZ.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive};

use super::{Refusal, name_of};
use crate::disk::{Disk, Error, FileStream, Mode, Result};

/// Bytes that a ZIP file begins with.
const ZIP: &[u8] = b"PK\x03\x04";
/// Bytes that files begin with which have records: gzip, zstd, zstd behind a dictionary, plain.
const STARTS: [&[u8]; 4] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd], &[0x5d, 0x2a, 0x4d, 0x18], b"WARC/"];

/// A stretch of a file that has records.
#[derive(Debug)]
pub(super) struct Source {
    /// The name under which it is listed.
    pub(super) name: String,
    path: PathBuf,
    /// Its beginning in the file.
    start: u64,
    end: u64,
    /// True if it is compressed in its package, as it should not be.
    is_deflated: bool,
}

/// A source that is read.
pub(super) struct Opened {
    pub(super) stream: FileStream,
    /// The reason why more of it is not there.
    pub(super) damage: Option<String>,
}

impl Source {
    /// Its length.
    pub(super) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// The offset in the file at which a stream of it begins.
    pub(super) fn start(&self) -> u64 {
        if self.is_deflated { 0 } else { self.start }
    }

    /// Opens it, at its beginning.
    pub(super) fn open(&self, disk: &Disk) -> Result<Opened> {
        if self.is_deflated {
            return self.inflated(disk);
        }
        let mut stream = FileStream::new(disk.open(&self.path, Mode::Read)?, self.end);
        stream.seek(self.start);
        Ok(Opened { stream, damage: None })
    }

    /// Its content in a temporary file, which is gone when it is closed.
    fn inflated(&self, disk: &Disk) -> Result<Opened> {
        let failed = |e| Error::io("decompress", &self.path, e);
        let mut aside = tempfile::NamedTempFile::new().map_err(failed)?;
        let mut file = File::open(&self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.start)).map_err(failed)?;
        let packed = file.take(self.bytes());
        let damage = match std::io::copy(&mut DeflateDecoder::new(packed), &mut aside) {
            Ok(_) => None,
            // a fault of the disk has a number
            Err(error) if error.raw_os_error().is_none() => Some(error.to_string()),
            Err(error) => return Err(failed(error)),
        };
        let file = disk.open(aside.path(), Mode::Read)?;
        let bytes = file.len()?;
        Ok(Opened { stream: FileStream::new(file, bytes), damage })
    }
}

/// The sources in the file at `path`.
pub(super) fn sources(disk: &Disk, path: &Path) -> std::result::Result<Vec<Source>, Refusal> {
    let file = disk.open(path, Mode::Read)?;
    let mut start = [0; 5];
    let got = file.read_at(&mut start, 0)?;
    let (start, end) = (&start[..got], file.len()?);
    if start.starts_with(ZIP) {
        return packed_sources(path).map_err(|what| Refusal::Unknown { path: path.to_owned(), what });
    }
    if !STARTS.iter().any(|known| start.starts_with(known)) {
        let what = format!("neither WARC nor WACZ: it begins with {start:02x?}");
        return Err(Refusal::Unknown { path: path.to_owned(), what });
    }
    Ok(vec![Source { name: name_of(path), path: path.to_owned(), start: 0, end, is_deflated: false }])
}

/// The WARC files in a WACZ, which are below `archive/`.
fn packed_sources(path: &Path) -> std::result::Result<Vec<Source>, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let bytes = file.metadata().map_err(|e| e.to_string())?.len();
    let damaged = |e: rawzip::Error| format!("a damaged ZIP file: {e}");
    let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
    let zip = ZipArchive::from_file(file, &mut buffer).map_err(damaged)?;
    let mut places = Vec::new();
    let mut entries = zip.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        let is_warc = [".warc.gz", ".warc", ".warc.zst"].iter().any(|end| name.ends_with(end));
        if name.starts_with("archive/") && is_warc {
            places.push((name, entry.wayfinder(), entry.compression_method()));
        }
    }
    let mut sources = Vec::new();
    for (name, place, method) in places {
        let is_deflated = match method {
            CompressionMethod::STORE => false,
            CompressionMethod::DEFLATE => true,
            other => return Err(format!("{name} is compressed by method {other:?}")),
        };
        let (start, end) = zip.get_entry(place).map_err(damaged)?.compressed_data_range();
        // an entry may say more than there is
        let (start, end) = (start.min(bytes), end.min(bytes));
        sources.push(Source {
            name: format!("{}!{name}", name_of(path)),
            path: path.to_owned(),
            start,
            end,
            is_deflated,
        });
    }
    match sources.is_empty() {
        true => Err("a ZIP file without WARC files in archive/".to_owned()),
        false => Ok(sources),
    }
}
