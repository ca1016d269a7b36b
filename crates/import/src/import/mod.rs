//! The import: which sources a path has, and their records into the archive, one source after the other.
//!
//! A source that is in the archive already is passed over, by its name and length. So an import that was killed is
//! started again with the same files, and goes on with the source that it was at.

mod copying;
mod package;
mod record;
mod repacked;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use copying::Copying;
use package::Source;

use crate::clock::Time;
use crate::container::imported::{ImportedFile, Importer};
use crate::disk::{Disk, Error, Result};

/// A stretch of a source that has no whole record, and is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the source.
    pub offset: u64,
    /// Bytes that are left out.
    pub bytes: u64,
    /// Description of what is wrong there.
    pub what: String,
}

/// Hears of an import.
pub trait Listener {
    /// A source was begun; nothing of it is read where it is in the archive already.
    fn begins(&mut self, file: &str, bytes: u64, is_there: bool);
    /// A stretch of it was left out.
    fn damaged(&mut self, file: &str, damage: &Damage);
    /// So many bytes of it were gone through.
    fn reached(&mut self, offset: u64);
    /// All of it is in the archive.
    fn ends(&mut self, file: &ImportedFile);
}

/// Reason for which a path is not imported.
#[derive(Debug)]
pub enum Refusal {
    /// It is no file of a kind that is known.
    Unknown {
        /// The path.
        path: PathBuf,
        /// Description of what it is instead.
        what: String,
    },
    /// The disk.
    Disk(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Disk(error)
    }
}

/// Takes over the records of the files at `paths`.
pub fn import(
    disk: &Disk,
    importer: &mut Importer,
    paths: &[PathBuf],
    now: Time,
    listener: &mut dyn Listener,
) -> std::result::Result<(), Refusal> {
    // nothing is begun where one of them is none
    let sources = paths.iter().map(|path| package::sources(disk, path)).collect::<std::result::Result<Vec<_>, _>>()?;
    for source in sources.into_iter().flatten() {
        let is_there = importer.files().iter().any(|file| file.file == source.name && file.bytes == source.bytes());
        listener.begins(&source.name, source.bytes(), is_there);
        if !is_there {
            take_over(disk, importer, source, now, listener)?;
        }
    }
    Ok(())
}

fn take_over(
    disk: &Disk,
    importer: &mut Importer,
    source: Source,
    now: Time,
    listener: &mut dyn Listener,
) -> Result<()> {
    let name = source.name.clone();
    let opened = source.open(disk)?;
    let file = Copying::new(opened, &source, importer, now, listener).run()?;
    importer.end_file(file)?;
    let ended = importer.files().last().filter(|file| file.file == name);
    ended.into_iter().for_each(|file| listener.ends(file));
    Ok(())
}

/// The name under which a file is listed.
fn name_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
