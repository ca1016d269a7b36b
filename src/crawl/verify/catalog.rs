//! The catalog of a crawl directory for anyone who verifies: a copy of it, for opening sled writes.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::catalog::SledCatalog;
use crate::container::{Report, Standing};
use crate::disk::{Disk, Error, Result, open_file, scratch};
use crate::drum::verify::is_fault;
use crate::engine::checkpoint::{Checkpoint, Commit, Last, Sections};
use crate::engine::{Identity, mend};
use crate::record::layout;

/// The content of the catalog, and of the checkpoint file that it names.
#[derive(Default)]
pub(super) struct Known {
    pub identity: Option<Identity>,
    /// The last checkpoint, as the catalog notes it.
    pub commit: Option<Commit>,
    /// That checkpoint; `None` before the first one, and where its file cannot be read.
    pub checkpoint: Option<Checkpoint>,
    /// Sections of it: what was in memory then.
    pub sections: Sections,
    /// Error by which its file cannot be read.
    pub fault: Option<Error>,
}

impl Known {
    pub(super) fn standing(&self) -> Standing {
        if self.fault.is_some() {
            return Standing::Unknown;
        }
        let noted = self.checkpoint.as_ref().map(|checkpoint| checkpoint.container.clone());
        Standing::Stopped { noted, clean: self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.clean) }
    }
}

/// Reads all of it. The catalog is that of the crawl in `dir`, or a copy; where it does not belong to the files there,
/// that is an error.
pub(super) fn known(disk: &Disk, catalog: &SledCatalog, dir: &Path) -> Result<Known> {
    let (identity, commit) = (mend::look(disk, catalog, dir)?, Commit::load(catalog, dir)?);
    let mut known = Known { identity, commit, ..Known::default() };
    let Some(commit) = commit else { return Ok(known) };
    match Last::of(commit, disk, dir) {
        Ok(last) => (known.checkpoint, known.sections) = (last.checkpoint, last.sections),
        Err(error) if is_fault(&error) => known.fault = Some(error),
        Err(error) => return Err(error),
    }
    Ok(known)
}

/// The identity by its plain copy. That it is not there or damaged is told; of a crawl that `is_new`, before its first
/// checkpoint, it need not be there yet.
pub(super) fn read_copy(disk: &Disk, dir: &Path, is_new: bool, report: &mut Report<'_>) -> Result<Option<Identity>> {
    match Identity::read_copy(disk, dir) {
        Ok(identity) => Ok(Some(identity)),
        Err(error) if is_new && error.is_not_found() => {
            report.unfinished(&dir.join(layout::IDENTITY), 0, "missing; the next start writes it");
            Ok(None)
        }
        Err(error) if error.is_not_found() || matches!(error, Error::Damaged { .. }) => {
            report.damage(&dir.join(layout::IDENTITY), 0, format!("{error}; the next start rewrites it"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The catalog's word counts; a copy that says otherwise misleads readers.
pub(super) fn same_identity(
    dir: &Path,
    of_catalog: Option<Identity>,
    copy: Option<Identity>,
    report: &mut Report<'_>,
) -> Option<Identity> {
    match (&of_catalog, &copy) {
        (Some(identity), Some(copy)) if identity != copy => {
            report.damage(
                &dir.join(layout::IDENTITY),
                0,
                "not the identity in the catalog; the next start rewrites it",
            );
        }
        _ => {}
    }
    of_catalog.or(copy)
}

/// Opens a copy of the catalog in `dir`, which lasts as long as the guard.
pub(super) fn open_copy(dir: &Path) -> Result<(TempDir, SledCatalog)> {
    let temporary = scratch::directory()?;
    let copy = temporary.path().join(layout::CATALOG);
    copy_directory(&dir.join(layout::CATALOG), &copy)?;
    let catalog = SledCatalog::open(&copy)?;
    Ok((temporary, catalog))
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    let fault = |action, path: &Path| {
        let path = path.to_owned();
        move |e| Error::io(action, &path, e)
    };
    fs::create_dir(to).map_err(fault("create directory", to))?;
    for entry in fs::read_dir(from).map_err(fault("list", from))? {
        let entry = entry.map_err(fault("list", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(fault("read", &source))?.is_dir() {
            copy_directory(&source, &target)?;
        } else {
            let copy = || io::copy(&mut open_file(&source)?, &mut fs::File::create_new(&target)?);
            copy().map_err(fault("copy", &source))?;
        }
    }
    Ok(())
}
