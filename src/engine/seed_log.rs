//! `logs/seeds.jsonl`: what became of the seeds, for readers beside a crawl that has the catalog locked.
//!
//! A line whenever something becomes of a seed, written at checkpoints; of several about one seed the last one counts. It
//! is derived from the catalog: nothing is recovered from it. A kill may leave it behind the catalog or before it, so
//! a session that follows one begins with a new file of all seeds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::seeds::{SeedRecord, SeedStatus, SeedTable};
use crate::disk::{Disk, Mode, Result, Writer};
use crate::report::log_files::{LogFile, for_each_line};

const BUFFER_BYTES: usize = 256 << 10;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedLine {
    /// Number of the seed.
    pub number: u32,
    /// In the fetch form.
    pub url: String,
    /// What is tried when the seed itself cannot be fetched.
    pub fallback: Option<String>,
    /// What became of it.
    pub status: SeedStatus,
    /// Where it redirects.
    pub redirected_to: Option<String>,
}

/// The open file.
#[derive(Debug)]
pub(super) struct SeedLog(LogFile);

impl SeedLog {
    /// Opens the file of the crawl in `dir` at its end; with `anew`, or where there is none, with all of `seeds` in it.
    pub fn open(disk: &Disk, dir: &Path, seeds: &SeedTable, anew: bool) -> Result<Self> {
        let path = path(dir);
        if anew || disk.open_if_there(&path)?.is_none() {
            disk.create_dir_all(&dir.join("logs"))?;
            let aside = path.with_extension("tmp");
            let file = disk.open(&aside, Mode::Create)?;
            file.set_len(0)?;
            let mut writer = Writer::new(file, 0, BUFFER_BYTES);
            for (number, seed) in (0..).zip(seeds.all()) {
                writer.push(&line(number, seed))?;
            }
            writer.flush()?;
            disk.rename(&aside, &path)?;
        }
        Ok(SeedLog(LogFile::open(disk, path)?))
    }

    /// Writes what has changed since the batch of `seeds` was taken last.
    pub fn push_changes(&mut self, seeds: &SeedTable) -> Result<()> {
        seeds.changes().try_for_each(|(number, seed)| self.0.push(&line(number, seed)))?;
        self.0.flush()
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join("logs").join("seeds.jsonl")
}

fn line(number: u32, seed: &SeedRecord) -> Vec<u8> {
    let SeedRecord { url, fallback, status, redirected_to, .. } = seed.clone();
    let line = SeedLine { number, url, fallback, status, redirected_to };
    let mut line = serde_json::to_vec(&line).expect("a seed consists of plain data");
    line.push(b'\n');
    line
}

impl SeedLine {
    /// The seeds of the crawl in `dir` by number, as they stood at the last checkpoint; lines that are damaged are passed
    /// over.
    pub fn read(disk: &Disk, dir: &Path) -> Result<BTreeMap<u32, SeedLine>> {
        let mut seeds = BTreeMap::new();
        for_each_line(disk, &path(dir), &mut |line| {
            if let Ok(seed) = serde_json::from_slice::<SeedLine>(line) {
                seeds.insert(seed.number, seed);
            }
            Ok(())
        })?;
        Ok(seeds)
    }

    /// Bytes of the file.
    pub fn bytes(disk: &Disk, dir: &Path) -> Result<u64> {
        crate::report::log_files::bytes(disk, &path(dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Batch;

    #[test]
    fn the_last_line_about_a_seed_counts_and_a_file_made_anew_has_all_of_them() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        let mut table = SeedTable::default();
        let mut log = SeedLog::open(&disk, dir.path(), &table, true).unwrap();
        table.number("http://a.example/", None);
        table.number("https://b.example/", Some("http://b.example/"));
        log.push_changes(&table).unwrap();
        table.drain_changes(&mut Batch::new());
        table.set_status(1, SeedStatus::Answered(301));
        table.set_redirect(1, "https://c.example/");
        log.push_changes(&table).unwrap();
        let read = SeedLine::read(&disk, dir.path()).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[&0].status, SeedStatus::Waiting);
        assert_eq!(read[&1].status, SeedStatus::Answered(301));
        assert_eq!(read[&1].redirected_to.as_deref(), Some("https://c.example/"));
        std::fs::write(path(dir.path()), "{\"number\":9,\n").unwrap();
        drop(SeedLog::open(&disk, dir.path(), &table, false).unwrap());
        assert!(SeedLine::read(&disk, dir.path()).unwrap().is_empty());
        drop(SeedLog::open(&disk, dir.path(), &table, true).unwrap());
        assert_eq!(SeedLine::read(&disk, dir.path()).unwrap(), read);
    }
}
