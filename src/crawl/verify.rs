//! Verifying the archive of a crawl directory, and making its index again: what is read, from where, under which lock.
//!
//! A verification writes nothing to the directory, not even through the catalog's own recovery: a copy of the catalog
//! is opened, in the system's directory for temporary files. Beside a running crawl the catalog is not read at all; the
//! plain copy of the identity has the polynomial. A rebuild holds the directory's lock and renews the catalog in place.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::catalog::SledCatalog;
use crate::clock::{Clock, SystemClock};
use crate::container::{self, ContainerState, Rebuilt, Report, STAGED, Standing};
use crate::disk::{DirectoryLock, Disk, Error, Result};
use crate::engine::Identity;
use crate::engine::checkpoint::{self, Checkpoint};

/// What the catalog says.
struct Known {
    identity: Option<Identity>,
    checkpoint: Option<Checkpoint>,
}

/// Verifies the archive in `dir`. `notice` hears what cannot be checked, and why.
pub fn verify(dir: &Path, report: &mut Report<'_>, notice: &mut dyn FnMut(String)) -> Result<()> {
    let disk = Disk::real();
    let running = DirectoryLock::is_held(dir);
    let copy = read_copy(&disk, dir, report)?;
    let (standing, identity) = if running {
        notice(
            "a crawl runs: its catalog is locked, so lengths and counts of its last checkpoint are not compared, and \
             the ends of the files that it writes are not judged"
                .to_owned(),
        );
        (Standing::Running, copy)
    } else {
        match open_copy_of_catalog(dir).and_then(|(_guard, catalog)| known(&catalog, dir)) {
            Ok(known) => (known.standing(), same_identity(dir, known.identity, copy, report)),
            Err(error) => {
                report.damage(&dir.join("catalog"), 0, error.to_string());
                notice("without the catalog, lengths and counts of the last checkpoint are not compared".to_owned());
                (Standing::Unknown, copy)
            }
        }
    };
    let maker = identity.map(|identity| identity.key_maker());
    if maker.is_none() {
        notice("without the identity of the crawl, fingerprints are not compared".to_owned());
    }
    container::verify(&disk, &dir.join("pages"), &standing, maker.as_ref(), report)?;
    if !running && DirectoryLock::is_held(dir) {
        notice("a crawl was started meanwhile: what it writes may be among the findings; verify again".to_owned());
    }
    Ok(())
}

/// Makes the index of the archive in `dir` again; returns the number of key records. Damage of value files goes to
/// `report`, what it means to `notice`.
pub fn rebuild(dir: &Path, report: &mut Report<'_>, notice: &mut dyn FnMut(String)) -> Result<u64> {
    let disk = Disk::real();
    let _lock = DirectoryLock::acquire(dir)?;
    let copy = read_copy(&disk, dir, report)?;
    let opened =
        open_catalog(&dir.join("catalog")).and_then(|catalog| known(&catalog, dir).map(|known| (catalog, known)));
    let (catalog, known) = match opened {
        Ok((catalog, known)) => (Some(catalog), known),
        Err(error) => {
            report.damage(&dir.join("catalog"), 0, error.to_string());
            notice("without the catalog the index is made again for reading; the crawl cannot go on".to_owned());
            (None, Known { identity: None, checkpoint: None })
        }
    };
    let Some(identity) = known.identity.or(copy) else {
        let path = dir.join("identity.json");
        return Err(Error::damaged(&path, 0, "the identity of the crawl, here or in the catalog", "none"));
    };
    let noted = known.checkpoint.as_ref().map(|checkpoint| checkpoint.container.clone());
    let pages = dir.join("pages");
    disk.create_dir_all(&pages)?;
    let rebuilt = container::rebuild(&disk, &pages, noted.as_ref(), &identity.key_maker(), report)?;
    if noted.as_ref().map(|noted| noted.key_bytes) != rebuilt.noted.as_ref().map(|noted| noted.key_bytes) {
        notice(
            "key.dat has another length now than the last checkpoint noted: for URLs that are queued, the page that \
             named them (via) may be wrong"
                .to_owned(),
        );
    }
    let records = rebuilt.records;
    commit(catalog, known.checkpoint, &rebuilt)?;
    rebuilt.finish()?;
    identity.write_copy(&disk, dir)?;
    // it is empty; where it is not, the next rebuild empties it
    let _ = fs::remove_dir(pages.join(STAGED));
    Ok(records)
}

/// The last checkpoint notes the new key.dat.
fn commit(catalog: Option<SledCatalog>, checkpoint: Option<Checkpoint>, rebuilt: &Rebuilt) -> Result<()> {
    match (catalog, checkpoint, &rebuilt.noted) {
        (Some(catalog), Some(checkpoint), Some(noted)) => {
            checkpoint::renew_container(&catalog, checkpoint, noted.clone())
        }
        _ => Ok(()),
    }
}

impl Known {
    fn standing(&self) -> Standing {
        let noted: Option<ContainerState> = self.checkpoint.as_ref().map(|checkpoint| checkpoint.container.clone());
        Standing::Stopped { noted, clean: self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.clean) }
    }
}

fn known(catalog: &SledCatalog, dir: &Path) -> Result<Known> {
    let read = || Ok(Known { identity: Identity::load(catalog, dir)?, checkpoint: checkpoint::load(catalog, dir)? });
    guarded(&dir.join("catalog"), read)
}

/// sled panics on some kinds of damage.
fn guarded<T>(path: &Path, act: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|_| Err(Error::damaged(path, 0, "a readable catalog", "what sled panics on")))
}

/// The identity by its plain copy. That it is not there or damaged is told.
fn read_copy(disk: &Disk, dir: &Path, report: &mut Report<'_>) -> Result<Option<Identity>> {
    match Identity::read_copy(disk, dir) {
        Ok(identity) => Ok(Some(identity)),
        Err(error) if error.is_not_found() || matches!(error, Error::Damaged { .. }) => {
            report.damage(&dir.join("identity.json"), 0, format!("{error}; the next start writes it again"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The catalog's word counts; a copy that says otherwise misleads readers.
fn same_identity(
    dir: &Path,
    of_catalog: Option<Identity>,
    copy: Option<Identity>,
    report: &mut Report<'_>,
) -> Option<Identity> {
    match (&of_catalog, &copy) {
        (None, Some(_)) => report.damage(&dir.join("catalog"), 0, "no identity is in it"),
        (Some(identity), Some(copy)) if identity != copy => {
            report.damage(
                &dir.join("identity.json"),
                0,
                "not the identity in the catalog; the next start writes it again",
            );
        }
        _ => {}
    }
    of_catalog.or(copy)
}

fn open_catalog(path: &Path) -> Result<SledCatalog> {
    if let Err(error) = fs::metadata(path) {
        return Err(Error::io("open", path, error));
    }
    guarded(path, || SledCatalog::open(path))
}

/// A directory that is removed with what it holds.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens a copy of the catalog in `dir`, which lasts as long as the guard.
fn open_copy_of_catalog(dir: &Path) -> Result<(Temporary, SledCatalog)> {
    let name = format!("crawler-verify-{}-{}", std::process::id(), SystemClock::new().now().ms());
    let temporary = Temporary(std::env::temp_dir().join(name));
    let create = |e| Error::io("create directory", &temporary.0, e);
    fs::DirBuilder::new().mode(0o700).create(&temporary.0).map_err(create)?;
    copy_directory(&dir.join("catalog"), &temporary.0.join("catalog"))?;
    let catalog = open_catalog(&temporary.0.join("catalog"))?;
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
            fs::copy(&source, &target).map_err(fault("copy", &source))?;
        }
    }
    Ok(())
}
