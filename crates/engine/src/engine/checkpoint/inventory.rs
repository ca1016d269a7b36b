//! The files that a checkpoint names, with the lengths that count: what has to be copied for a crawl to go on from it
//! elsewhere.
//!
//! Left out is what is rebuilt from the rest: the catalog, the address file of the archive
//! ([`crate::container::make_addresses`]), Bloom filters, reports and `status.json`. Behind the noted lengths the files
//! may grow meanwhile; what the checkpoint names stays until it is superseded, and value files and logs may get other
//! names.
//!
//! A compaction changes key records where they lie, so one that goes on beside the crawl is refused; one of a stopped
//! crawl (`crawler forget`) changes the *lineage* of key.dat, which is shipped as a whole then.

use std::path::{Path, PathBuf};

use super::super::exchange::ExchangeState;
use super::super::{hold_log, seeds};
use super::{Checkpoint, Last, checkpoint_path};
use crate::checkpoint::CheckpointFile;
use crate::container::named;
use crate::disk::{Disk, Result};
use crate::exchange::link_path;
use crate::record::layout;
use crate::record::log_files::{self, NamedLog};
use crate::record::{CrawlLog, SkippedLog};
use crate::record::{FileKind, NamedFile};
use crate::{drum, frontier};

/// A checkpoint, and the files that it names.
#[derive(Debug)]
pub struct Named {
    /// The checkpoint.
    pub last: Last,
    /// Files that it names.
    pub files: Vec<NamedFile>,
}

impl Named {
    /// The newest whole checkpoint in `dir`, `None` where there is none. An error that a file is not found may mean
    /// that a later one has come meanwhile.
    pub fn newest(disk: &Disk, dir: &Path) -> Result<Option<Named>> {
        let Some(last) = Last::find(disk, dir)? else { return Ok(None) };
        let files = inventory(disk, dir, last.number, last.checkpoint.as_ref(), &last.sections.exchange)?;
        Ok(Some(Named { last, files }))
    }

    /// Returns whether the archive in `dir` is still the one whose files were named: no compaction has changed it.
    pub fn has_same_archive(&self, disk: &Disk, dir: &Path) -> Result<bool> {
        let Some(record) = &self.last.checkpoint else { return Ok(true) };
        let now = named::named(disk, &dir.join(layout::PAGES), &record.container)?;
        let is_keys = |file: &&NamedFile| now.keys.0.ends_with(&file.path);
        Ok(self.files.iter().find(is_keys).is_none_or(|keys| keys.lineage == now.lineage))
    }
}

/// The files that checkpoint `number` in `dir` names, by its own file.
pub fn of_file(disk: &Disk, dir: &Path, number: u64) -> Result<Vec<NamedFile>> {
    let file = CheckpointFile::read(disk, dir, number)?;
    inventory(disk, dir, number, file.record?.as_ref(), &file.sections.exchange)
}

/// The files that checkpoint `number` names, which has this record and this section about links.
pub fn inventory(
    disk: &Disk,
    dir: &Path,
    number: u64,
    record: Option<&Checkpoint>,
    exchange: &[u8],
) -> Result<Vec<NamedFile>> {
    let mut inventory = Inventory { disk, dir, files: Vec::new() };
    let path = checkpoint_path(dir, number);
    inventory.as_it_is(&path, FileKind::Whole)?;
    if let Some(record) = record {
        inventory.stores(record);
        inventory.archive(record)?;
    }
    for (path, bytes) in seeds::named(disk, dir, record.map(|record| record.number))? {
        inventory.add(&path, bytes, FileKind::Grows);
    }
    for kept in ExchangeState::read(exchange, &path)?.kept {
        inventory.as_it_is(&link_path(dir, kept.number), FileKind::Links)?;
    }
    for name in [layout::IDENTITY, layout::SETTINGS, &hold_log::file_name(number)] {
        inventory.as_it_is(&dir.join(name), FileKind::Replaced)?;
    }
    inventory.logs()?;
    Ok(inventory.files)
}

struct Inventory<'a> {
    disk: &'a Disk,
    dir: &'a Path,
    files: Vec<NamedFile>,
}

impl Inventory<'_> {
    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.dir).expect("it is in the directory").to_owned()
    }

    fn add(&mut self, path: &Path, bytes: u64, kind: FileKind) {
        self.files.push(NamedFile::new(self.relative(path), bytes, kind));
    }

    /// With the length that it has, if it is there.
    fn as_it_is(&mut self, path: &Path, kind: FileKind) -> Result<()> {
        if let Some(file) = self.disk.open_if_there(path)? {
            self.add(path, file.len()?, kind);
        }
        Ok(())
    }

    /// The stores, the queue and the calendar.
    fn stores(&mut self, record: &Checkpoint) {
        let dir = self.dir;
        for (name, state) in &record.stores {
            self.generations(drum::verify::files(state, &name.dir(dir)));
        }
        self.generations(frontier::verify::files(&record.frontier, &dir.join(layout::FRONTIER)));
        if let Some(calendar) = &record.calendar {
            self.generations(calendar.files(&dir.join(layout::CALENDAR)).collect());
        }
    }

    /// Files by generation: sorted ones never change, others are appended to.
    fn generations(&mut self, files: Vec<(PathBuf, u64)>) {
        for (path, bytes) in files {
            let is_sorted = path.extension().is_some_and(|end| end == "repo" || end == "base");
            self.add(&path, bytes, if is_sorted { FileKind::Whole } else { FileKind::Grows });
        }
    }

    fn archive(&mut self, record: &Checkpoint) -> Result<()> {
        let named::Named { keys, lineage, values, lists } =
            named::named(self.disk, &self.dir.join(layout::PAGES), &record.container)?;
        self.add(&keys.0, keys.1, FileKind::Grows);
        self.files.last_mut().expect("it was added just now").lineage = lineage;
        for (path, bytes) in values {
            let open_path = Some(self.relative(&named::open_path(&path)));
            self.add(&path, bytes, FileKind::Archive);
            self.files.last_mut().expect("it was added just now").open_path = open_path;
        }
        for (path, bytes) in lists {
            self.add(&path, bytes, FileKind::Replaced);
        }
        Ok(())
    }

    fn logs(&mut self) -> Result<()> {
        for log in [CrawlLog::path(self.dir), SkippedLog::path(self.dir)] {
            for NamedLog { path, open_path, bytes } in log_files::named(self.disk, &log)? {
                let open_path = open_path.map(|path| self.relative(&path));
                self.add(&path, bytes, FileKind::Grows);
                self.files.last_mut().expect("it was added just now").open_path = open_path;
            }
        }
        let notes = CrawlLog::notes_path(self.dir);
        if let Some(file) = self.disk.open_if_there(&notes)? {
            self.add(&notes, log_files::whole_lines(&file)?, FileKind::Grows);
        }
        Ok(())
    }
}
