//! The search for the next exchange of this crawl behind damage in a value file.
//!
//! Whatever is in a damaged record may be found when it is looked into, and a body may have whole records in it that
//! its server has made up. So a place counts where a whole metadata record begins whose id only this crawl could have
//! made (it follows from the crawl's id, the URL and the time), and a whole exchange with it. The ids of robots.txt
//! records follow from nothing: one that comes right behind the damage is passed over too, and fetched again when its
//! host is asked for.

use crate::disk::{Disk, DiskFile, Error, Mode, Result};
use crate::warc::{Compression, GZIP_HEAD, RecordReader, metadata_id, parse_date};

use super::replayed::read_exchange;
use super::values::coding_of;

const STEP_BYTES: usize = 1 << 20;
/// Places that look like the beginning of a record and are tried. Only a body that was made for that has this many.
const TRIES_MAX: usize = 20_000;
/// No metadata block is longer.
const METADATA_MAX: u64 = 256 << 10;

/// Returns the offset of the next exchange in `file`, whose number is `number`, at `from` or behind it.
pub(super) fn next_exchange(
    disk: &Disk,
    file: &DiskFile,
    number: u32,
    from: u64,
    crawl_id: u128,
) -> Result<Option<u64>> {
    let magic: &[u8] = match coding_of(file.path()) {
        Compression::Gzip => &GZIP_HEAD,
        Compression::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        Compression::None => b"WARC/1.1\r\n",
    };
    let file = disk.open(file.path(), Mode::Read)?;
    let (mut bytes, mut start, mut tries) = (vec![0; STEP_BYTES], from, 0);
    loop {
        let got = file.read_at(&mut bytes, start)?;
        for at in memchr::memmem::find_iter(&bytes[..got], magic).map(|at| start + at as u64) {
            tries += 1;
            if tries > TRIES_MAX {
                return Ok(None);
            }
            if is_of_crawl(&file, at, crawl_id)? && is_whole(&file, number, at)? {
                return Ok(Some(at));
            }
        }
        if got < bytes.len() {
            return Ok(None);
        }
        start += (got - magic.len() + 1) as u64;
    }
}

/// Returns whether a metadata record of this crawl begins at `at`.
fn is_of_crawl(file: &DiskFile, at: u64, crawl_id: u128) -> Result<bool> {
    let record = match RecordReader::new(file, at, METADATA_MAX).next() {
        Ok(Some(record)) => record,
        Ok(None) | Err(Error::Damaged { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    let time = record.field("WARC-Date").and_then(parse_date);
    let (Some(url), Some(time)) = (record.field("WARC-Target-URI"), time) else { return Ok(false) };
    let id = metadata_id(crawl_id, url, time);
    Ok(record.kind() == "metadata" && record.is_intact() && record.field("WARC-Record-ID") == Some(&id))
}

fn is_whole(file: &DiskFile, number: u32, at: u64) -> Result<bool> {
    match read_exchange(file, number, at) {
        Ok(Some((page, _))) => Ok(page.is_some()),
        Ok(None) | Err(Error::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
