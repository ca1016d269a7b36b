//! An archive that no crawl wrote: its records were taken over from archives of others.
//!
//! Value files have the records in the order and with the bytes of their source, each in a gzip member of its own,
//! behind a warcinfo record of this program. What a crawl promises of its records does not hold of them: a response may
//! have no metadata and no request, and any record may be between two responses. So an exchange is its answer here.
//!
//! key.dat is in the order of time, not of the value files: sources overlap, and a revisit may be in an earlier one
//! than what it refers to. It is made of the value files when all of them are there (`verify::order`).
//!
//! `imported.jsonl` lists the sources whose records are all there, one a line. It is made first, so it is also how such
//! an archive is known: no crawl goes on in one, and no compaction changes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::values::{self, ValueFiles};
use super::{ContainerOptions, ContainerState, WarcInfo};
use crate::clock::Time;
use crate::disk::{Disk, DiskFile, Error, Mode, Result};

/// The list of sources.
const LIST: &str = "imported.jsonl";

/// A source whose records are all in the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Its path as it was given; of a file in a package the path of that, `!` and its name there.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// The first value file with its records.
    pub first_value: u32,
    /// The number behind the last one.
    pub end_value: u32,
    /// Records by `WARC-Type`.
    pub records: BTreeMap<String, u64>,
    /// Stretches without a whole record.
    pub damaged: u64,
    /// Bytes of them.
    pub damaged_bytes: u64,
}

/// The path of the list in `dir`.
pub(super) fn list_path(dir: &Path) -> PathBuf {
    dir.join(LIST)
}

/// Returns whether the archive in `dir` was imported.
pub fn is_imported(disk: &Disk, dir: &Path) -> Result<bool> {
    Ok(disk.open_if_there(list_path(dir))?.is_some())
}

/// Refuses to `action` an archive that was imported.
pub(super) fn refuse(disk: &Disk, dir: &Path, action: &'static str) -> Result<()> {
    match is_imported(disk, dir)? {
        true => {
            Err(Error::Limit { action, path: dir.to_owned(), what: "it was imported from other archives".to_owned() })
        }
        false => Ok(()),
    }
}

/// The sources of the archive in `dir`; nothing where it was not imported.
pub fn imported_files(disk: &Disk, dir: &Path) -> Result<Vec<ImportedFile>> {
    match disk.read(list_path(dir)) {
        Ok(lines) => Ok(whole_lines(&lines).0),
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The sources in `lines`, and the length of what could be read of it: a kill may leave a part of the last line.
fn whole_lines(lines: &[u8]) -> (Vec<ImportedFile>, usize) {
    let (mut files, mut whole) = (Vec::new(), 0);
    for line in lines.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        let Ok(file) = serde_json::from_slice(line) else { break };
        files.push(file);
        whole += line.len();
    }
    (files, whole)
}

/// Writes an archive of records that come from elsewhere.
#[derive(Debug)]
pub struct Importer {
    list: DiskFile,
    files: Vec<ImportedFile>,
    values: ValueFiles,
    /// Beginning of the record in progress, if there is one.
    record_at: Option<u64>,
}

impl Importer {
    /// Opens the archive in `dir`, or begins one. What is there of a source that is not in the list is removed: an
    /// import was killed when it was at that.
    pub fn open(disk: &Disk, dir: &Path, options: ContainerOptions, info: WarcInfo) -> Result<Importer> {
        disk.create_dir_all(dir)?;
        if !is_imported(disk, dir)? {
            if let Some(first) = disk.list(dir)?.first() {
                let what = format!("it has {first}, which no import made");
                return Err(Error::Limit { action: "import into", path: dir.to_owned(), what });
            }
            disk.replace(&list_path(dir), b"")?;
        }
        let list = disk.open(list_path(dir), Mode::Write)?;
        let (files, whole) = whole_lines(&disk.read(list.path())?);
        list.set_len(whole as u64)?;
        let next = files.last().map_or(0, |file| file.end_value);
        for found in values::find(disk, dir)?.into_iter().filter(|found| found.open || found.number >= next) {
            disk.remove(&found.path)?;
        }
        disk.sync_dir(dir)?;
        let values = ValueFiles::begin_at(disk.clone(), dir, options, info, next);
        Ok(Importer { list, files, values, record_at: None })
    }

    /// The sources whose records are all there.
    pub fn files(&self) -> &[ImportedFile] {
        &self.files
    }

    /// Begins a record.
    pub fn begin_record(&mut self, now: Time) -> Result<()> {
        self.record_at = Some(self.values.reserve(0, now)?);
        Ok(())
    }

    /// The record that was begun is whole.
    pub fn end_record(&mut self) {
        self.record_at = None;
    }

    /// Appends to the record that was begun.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.values.extend(bytes)
    }

    /// Takes back what was written of a record that was begun and not ended.
    pub fn take_back(&mut self) {
        if let Some(offset) = self.record_at.take() {
            self.values.take_back_to(offset);
        }
    }

    /// Ends a source: its records are durable, and then it is in the list. Numbers of value files are filled in.
    pub fn end_file(&mut self, file: ImportedFile) -> Result<()> {
        self.values.close()?;
        let first_value = self.files.last().map_or(0, |file| file.end_value);
        let file = ImportedFile { first_value, end_value: self.values.number(), ..file };
        let mut line = serde_json::to_vec(&file).expect("it consists of plain data");
        line.push(b'\n');
        self.list.write_all_at(&line, self.list.len()?)?;
        self.list.sync()?;
        self.files.push(file);
        Ok(())
    }
}

/// Returns whether one of two records, by their fields, names the other as of the same exchange.
pub(super) fn are_concurrent(one: &[(String, String)], other: &[(String, String)]) -> bool {
    let named = |fields: &[(String, String)], name: &str, value: &str| {
        fields.iter().any(|(n, v)| n.eq_ignore_ascii_case(name) && v == value)
    };
    let names = |one: &[(String, String)], other: &[(String, String)]| {
        let mut ids = other.iter().filter(|(name, _)| name.eq_ignore_ascii_case("WARC-Record-ID"));
        ids.any(|(_, id)| named(one, "WARC-Concurrent-To", id))
    };
    names(one, other) || names(other, one)
}

/// State of the archive in `dir` with an index of `key_bytes` and `pages`, for a checkpoint.
pub(super) fn state(disk: &Disk, dir: &Path, key_bytes: u64, pages: u64, moved_bytes: u64) -> Result<ContainerState> {
    let mut state = ContainerState { value_number: 0, value_bytes: 0, key_bytes, pages, total_bytes: 0, moved_bytes };
    for found in values::find(disk, dir)? {
        state.value_number = found.number;
        state.value_bytes = disk.open(&found.path, Mode::Read)?.len()?;
        state.total_bytes += state.value_bytes;
    }
    Ok(state)
}
