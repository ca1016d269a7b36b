//! Value files: `value-00000.warc.gz`, `value-00001.warc.gz`, ...
//!
//! One that a compaction has rewritten is of a later generation, as its name says: `value-00000.g1.warc.gz`. No name is
//! ever used for other content again, so that a place in a file that somebody noted is there or is not.
//!
//! The one that is written has the suffix `.open`. A full one is made durable and loses it before the next one is
//! begun: what survives a power cut is the beginning of all that was stored, so that no page is there without what was
//! stored before it led there (its site's robots.txt, say, and the sitemaps that this names). Anyone who appends waits
//! for that; [`ValueFiles::is_nearly_full`] says when it is time for a cut, whose [`SyncJob`] leaves little to wait
//! for.
//!
//! [`SyncJob`]: super::SyncJob

use std::path::{Path, PathBuf};

use super::{ContainerOptions, ContainerState, boot};
use crate::clock::Time;
use crate::disk::{Disk, DiskFile, Error, Mode, Result};
use crate::warc::{Compression, Encoder};

/// Bytes before its end at which a file is nearly full: a few seconds of a fast crawl.
const NEARLY: u64 = 64 << 20;

/// Suffix of the file that is written.
pub(super) const OPEN: &str = ".open";

/// Content of the first record of every value file.
#[derive(Clone, Debug, Default)]
pub struct WarcInfo {
    /// Name and version of the program.
    pub software: String,
    /// More fields.
    pub fields: Vec<(String, String)>,
    /// The effective configuration.
    pub config: String,
}

/// A value file that was found in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) number: u32,
    pub(super) generation: u32,
    pub(super) path: PathBuf,
    pub(super) open: bool,
}

/// Generations that a key record distinguishes.
const GENERATIONS: u32 = 16;
/// Names that are tried before the directory is listed.
const TRIES: u32 = 2;

/// All value files in `dir`, by number.
pub(super) fn find(disk: &Disk, dir: &Path) -> Result<Vec<Found>> {
    let mut found: Vec<Found> = disk.list(dir)?.iter().filter_map(|name| parse(dir, name)).collect();
    found.sort_by_key(|file| (file.number, file.generation, file.open));
    Ok(found)
}

/// The value file `number` of a `generation` modulo 16, which a crawl may be writing or closing.
pub(super) fn open_for_reading(disk: &Disk, dir: &Path, number: u32, generation: u8) -> Result<Option<DiskFile>> {
    let first = u32::from(generation);
    for generation in (first..).step_by(GENERATIONS as usize).take(TRIES as usize) {
        // what is renamed between two looks has lost its suffix: the name without it comes last
        for open in [OPEN, ""].into_iter().filter(|open| generation == 0 || open.is_empty()) {
            for compression in CODINGS {
                if let Some(file) = disk.open_if_there(dir.join(file_name(number, generation, compression) + open))? {
                    return Ok(Some(file));
                }
            }
        }
    }
    let is_it = |found: &Found| found.number == number && found.generation % GENERATIONS == first;
    match find(disk, dir)?.into_iter().find(is_it) {
        Some(found) => disk.open_if_there(found.path),
        None => Ok(None),
    }
}

/// The value file of this number and generation, which a key record names.
pub(super) fn open_named(disk: &Disk, dir: &Path, number: u32, generation: u8) -> Result<DiskFile> {
    let path = dir.join(format!("value-{number:05}*"));
    open_for_reading(disk, dir, number, generation)?
        .ok_or_else(|| Error::damaged(&path, 0, "a value file", "no such file"))
}

const CODINGS: [Compression; 3] = [Compression::Gzip, Compression::Zstd, Compression::None];

/// The name of a value file of this generation.
pub(super) fn file_name(number: u32, generation: u32, compression: Compression) -> String {
    let generation = if generation == 0 { String::new() } else { format!(".g{generation}") };
    format!("value-{number:05}{generation}.warc{}", compression.suffix())
}

/// Returns the compression of the records of a value file, by its name.
pub(super) fn coding_of(path: &Path) -> Compression {
    let name = path.to_string_lossy();
    let name = name.strip_suffix(OPEN).unwrap_or(&name);
    let packed = [Compression::Gzip, Compression::Zstd];
    packed.into_iter().find(|coding| name.ends_with(coding.suffix())).unwrap_or(Compression::None)
}

/// Makes a full file in `dir` durable and takes its suffix away.
fn seal(disk: &Disk, dir: &Path, file: &DiskFile) -> Result<()> {
    boot::sync_value(disk, dir, file)?;
    let name = file.path().to_string_lossy();
    let sealed = PathBuf::from(name.strip_suffix(OPEN).expect("a file that was written has the suffix"));
    disk.rename(file.path(), &sealed)
}

fn parse(dir: &Path, name: &str) -> Option<Found> {
    let (stem, open) = name.strip_suffix(OPEN).map_or((name, false), |stem| (stem, true));
    let suffix = |c: Compression| format!(".warc{}", c.suffix());
    let named = CODINGS.into_iter().find_map(|c| stem.strip_prefix("value-")?.strip_suffix(&suffix(c)))?;
    let (digits, generation) = match named.split_once(".g") {
        Some((digits, generation)) => (digits, generation.parse().ok().filter(|&generation| generation > 0)?),
        None => (named, 0),
    };
    Some(Found { number: digits.parse().ok()?, generation, path: dir.join(name), open })
}

/// The writing side.
#[derive(Debug)]
pub(super) struct ValueFiles {
    disk: Disk,
    dir: PathBuf,
    options: ContainerOptions,
    info: WarcInfo,
    /// The file in progress; none before the first page and after a close.
    open: Option<Open>,
    /// Number of the file in progress, or of the next one.
    number: u32,
    closed_bytes: u64,
}

#[derive(Debug)]
struct Open {
    file: DiskFile,
    position: u64,
    /// Length of the warcinfo record: a file is not closed before it has more.
    info_bytes: u64,
}

impl ValueFiles {
    pub(super) fn open(
        disk: Disk,
        dir: &Path,
        options: ContainerOptions,
        info: WarcInfo,
        saved: Option<&ContainerState>,
    ) -> Result<Self> {
        let number = saved.map_or(0, |state| state.value_number);
        let closed_bytes = saved.map_or(0, |state| state.total_bytes - state.value_bytes);
        Ok(ValueFiles { disk, dir: dir.to_owned(), options, info, open: None, number, closed_bytes })
    }

    /// Begins with the file `number`; those before it count for nothing.
    pub(super) fn begin_at(disk: Disk, dir: &Path, options: ContainerOptions, info: WarcInfo, number: u32) -> Self {
        ValueFiles { disk, dir: dir.to_owned(), options, info, open: None, number, closed_bytes: 0 }
    }

    pub(super) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Number of the file in progress.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// The offset of the next record in it.
    pub(super) fn position(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.position)
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.closed_bytes + self.position()
    }

    pub(super) fn open_path(&self) -> Option<PathBuf> {
        self.open.as_ref().map(|open| open.file.path().to_owned())
    }

    /// True if the file in progress will be full soon.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.position() + NEARLY >= self.options.segment_bytes.max(4 * NEARLY)
    }

    /// Goes on with the file `found`, whose whole records end at `end`; `total` bytes are in the files before it.
    pub(super) fn resume(&mut self, found: Option<Found>, end: u64, before: u64) -> Result<()> {
        self.closed_bytes = before;
        if let Some(found) = found {
            self.go_on_with(found, end)?;
        }
        boot::note(&self.disk, &self.dir)
    }

    fn go_on_with(&mut self, found: Found, end: u64) -> Result<()> {
        let suffix = format!(".warc{}{OPEN}", self.options.compression.suffix());
        let same_coding = found.path.to_string_lossy().ends_with(&suffix);
        // one that is closed and whole may be where nothing can be written
        let is_whole = !found.open && self.disk.open(&found.path, Mode::Read)?.len()? == end;
        if is_whole {
            self.closed_bytes += end;
            self.number = found.number + 1;
            return Ok(());
        }
        let file = self.disk.open(&found.path, Mode::Write)?;
        if file.len()? > end {
            // durable before anything is written there: after a power cut, sectors of what was there must not be among
            // those of new records, whose heads have no checksum where they are not compressed
            file.set_len(end)?;
            boot::sync_value(&self.disk, &self.dir, &file)?;
        }
        self.number = found.number;
        if found.open && same_coding && end > 0 {
            self.open = Some(Open { file, position: end, info_bytes: 0 });
            return Ok(());
        }
        if found.open && end == 0 {
            // nothing whole is in it, not even its warcinfo: it is begun again
            return self.disk.remove(&found.path);
        }
        if found.open {
            self.open = Some(Open { file, position: end, info_bytes: 0 });
            return self.close();
        }
        self.closed_bytes += end;
        self.number += 1;
        Ok(())
    }

    /// Appends `records`; returns the file and the offset at which they are.
    pub(super) fn append(&mut self, records: &[u8], now: Time) -> Result<(u32, u64)> {
        let offset = self.reserve(records.len() as u64, now)?;
        self.extend(records)?;
        Ok((self.number, offset))
    }

    /// Makes sure that there is a file with room for `bytes`; returns the offset at which they will be.
    pub(super) fn reserve(&mut self, bytes: u64, now: Time) -> Result<u64> {
        let full = self
            .open
            .as_ref()
            .is_some_and(|open| open.position > open.info_bytes && open.position + bytes > self.options.segment_bytes);
        if full {
            self.close()?;
        }
        if self.open.is_none() {
            self.begin(now)?;
        }
        Ok(self.position())
    }

    /// Appends `bytes`, for which a file was begun.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        let open = self.open.as_mut().expect("a file was begun");
        open.file.write_all_at(bytes, open.position)?;
        open.position += bytes.len() as u64;
        Ok(())
    }

    /// Takes back what was appended behind `offset` of the file in progress.
    pub(super) fn take_back_to(&mut self, offset: u64) {
        if let Some(open) = &mut self.open {
            open.position = open.position.min(offset);
        }
    }

    fn begin(&mut self, now: Time) -> Result<()> {
        let compression = self.options.compression;
        let name = file_name(self.number, 0, compression);
        let file = self.disk.open(self.dir.join(format!("{name}{OPEN}")), Mode::CreateNew)?;
        let id_seed = u128::from(now.ms()) << 64 | u128::from(self.number);
        let info = Encoder::new(compression).warcinfo(
            &name,
            &self.info.software,
            &self.info.fields,
            &self.info.config,
            now,
            id_seed ^ u128::from(crc32fast::hash(self.info.config.as_bytes())) << 32,
        );
        file.write_all_at(&info, 0)?;
        // the cut that names the file first syncs its directory
        self.open = Some(Open { file, position: info.len() as u64, info_bytes: info.len() as u64 });
        Ok(())
    }

    /// Ends the file in progress, and makes it durable.
    pub(super) fn close(&mut self) -> Result<()> {
        if let Some(open) = self.open.take() {
            if open.file.len()? > open.position {
                open.file.set_len(open.position)?;
            }
            seal(&self.disk, &self.dir, &open.file)?;
            self.closed_bytes += open.position;
            self.number += 1;
        }
        self.disk.sync_dir(&self.dir)
    }
}
