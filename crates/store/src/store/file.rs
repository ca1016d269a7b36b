//! A directory as a store: on one machine, or on a file system that machines share.
//!
//! An object is written aside under a random name that no listing has, synced, and renamed to its name without ever
//! replacing what is there; then its directory is synced, and those above it that may be new. So after a power cut at
//! any moment an object is there whole or not at all, and is there for certain if [`ObjectStore::put`] has returned.
//! A deletion is not synced: an object that comes back by a power cut is garbage, which a sweep finds.
//!
//! What a killed process left aside is removed a day later, by a process that lists the directory and then writes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::pace::Pace;
use super::{Body, Error, ObjectStore, Result, name};
use crate::disk::{Disk, DiskFile, Mode, Readers, create_crawl_dir};

/// Bytes that are copied and compared at once.
const COPY_BYTES: usize = 1 << 20;
/// Prefix of the names of files set aside: the time in seconds and 128 random bits in hexadecimal digits follow.
const ASIDE: &str = ".put-";
/// Age from which on nobody writes any more to a file set aside.
const ASIDE_MAX: Duration = Duration::from_hours(24);
/// Names aside that one listing remembers for removal.
const STALE_MAX: usize = 1_000;

/// A directory as a store.
#[derive(Debug)]
pub struct FileStore {
    disk: Disk,
    root: PathBuf,
    /// True if the directory, when it is made, is for its owner alone.
    is_private: bool,
    pace: Pace,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Directories whose names are durable, and their parents' too.
    durable: BTreeSet<PathBuf>,
    /// Directories of which a sync failed, and how. A second one would say that all is well, and lie.
    poisoned: BTreeMap<PathBuf, String>,
    /// Files that have been set aside for too long, as the last listing has seen them.
    stale: Vec<PathBuf>,
}

impl FileStore {
    /// The directory `root` of `disk`.
    pub fn new(disk: Disk, root: impl Into<PathBuf>) -> FileStore {
        let pace = Pace::new(None);
        FileStore { disk, root: root.into(), is_private: false, pace, state: Mutex::default() }
    }

    /// The directory `root` of this machine, with a bound of the bytes a second. Where it is not there, the first
    /// object makes it, for its owner alone.
    pub(super) fn real(root: PathBuf, bytes_per_second: Option<u64>) -> FileStore {
        FileStore { is_private: true, pace: Pace::new(bytes_per_second), ..FileStore::new(Disk::real(), root) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes `dir` with its parents, durably. Others may have made them and not come to their sync, so that all are
    /// synced once.
    fn make_dir(&self, name: &str, dir: &Path) -> Result<()> {
        if self.state().durable.contains(dir) {
            return Ok(());
        }
        let fault = |e| fault(name, e);
        if self.is_private {
            create_crawl_dir(&self.root, Readers::Owner).map_err(fault)?;
        }
        self.disk.create_dir_all(dir).map_err(fault)?;
        for parent in dir.ancestors().skip(1) {
            match self.disk.sync_dir(parent) {
                // what the process may not even open it has not made
                Err(e) if !parent.starts_with(&self.root) && is_forbidden(&e) => break,
                synced => synced.map_err(|e| self.poison(name, parent, e))?,
            }
            // its own name is durable: above it nothing is new
            if self.state().durable.contains(parent) {
                break;
            }
        }
        self.state().durable.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn sync_dir(&self, name: &str, dir: &Path) -> Result<()> {
        self.disk.sync_dir(dir).map_err(|e| self.poison(name, dir, e))
    }

    fn poison(&self, name: &str, dir: &Path, error: crate::disk::Error) -> Error {
        self.state().poisoned.insert(dir.to_owned(), error.to_string());
        fault(name, error)
    }

    fn refuse_poisoned(&self, name: &str, dir: &Path) -> Result<()> {
        let state = self.state();
        match dir.ancestors().find_map(|dir| state.poisoned.get(dir)) {
            Some(cause) => Err(Error::refused(name, format!("an earlier call failed: {cause}; start again"))),
            None => Ok(()),
        }
    }

    fn write_aside(&self, name: &str, aside: &Path, body: &Body) -> Result<()> {
        let file = self.disk.open(aside, Mode::CreateNew).map_err(|e| fault(name, e))?;
        let mut offset = 0;
        while offset < body.bytes() {
            let piece = body.read(offset, COPY_BYTES)?;
            self.pace.wait(piece.len());
            file.write_all_at(&piece, offset).map_err(|e| fault(name, e))?;
            offset += piece.len() as u64;
        }
        file.sync().map_err(|e| fault(name, e))
    }

    /// Gives what was written aside its name; one that is there already must be the same object.
    fn publish(&self, name: &str, aside: &Path, path: &Path, body: &Body) -> Result<()> {
        match self.disk.rename_new(aside, path) {
            Err(e) if e.is_there_already() => match self.is_there(name, path, body)? {
                true => Ok(self.disk.remove(aside).map_err(|e| fault(name, e))?),
                false => Err(Error::unavailable(name, "an object of this name has come and gone")),
            },
            done => done.map_err(|e| fault(name, e)),
        }
    }

    /// Returns whether the object is there, or an error if another has its name.
    fn is_there(&self, name: &str, path: &Path, body: &Body) -> Result<bool> {
        let Some(file) = self.open(name, path)? else { return Ok(false) };
        let found = file.len().map_err(|e| fault(name, e))?;
        if found != body.bytes() {
            return Err(Error::other_length(name, body.bytes(), found));
        }
        let mut there = vec![0; COPY_BYTES];
        let mut offset = 0;
        while offset < found {
            let piece = body.read(offset, COPY_BYTES)?;
            let got = file.read_at(&mut there[..piece.len()], offset).map_err(|e| fault(name, e))?;
            if there[..got] != piece {
                let detail = format!("of the same length, but it differs behind byte {offset}");
                return Err(Error::Taken { name: name.to_owned(), detail });
            }
            offset += piece.len() as u64;
        }
        Ok(true)
    }

    fn open(&self, name: &str, path: &Path) -> Result<Option<DiskFile>> {
        self.disk.open_if_there(path).map_err(|e| fault(name, e))
    }

    /// Removes what the last listing has seen aside for too long.
    fn clear_stale(&self) {
        for path in std::mem::take(&mut self.state().stale) {
            if let Err(error) = self.disk.remove(&path) {
                tracing::warn!("{}", error);
            }
        }
    }

    fn walk(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()> {
        let dir = self.root.join(prefix);
        let absent = |e: &crate::disk::Error| e.is_not_found();
        let dirs = match self.disk.list_dirs(&dir) {
            Err(e) if absent(&e) => return Ok(()),
            dirs => dirs.map_err(|e| fault(prefix, e))?,
        };
        let names = self.disk.list(&dir).map_err(|e| fault(prefix, e))?;
        for part in names.iter().filter(|part| dirs.binary_search(part).is_err()) {
            let (name, path) = (format!("{prefix}{part}"), dir.join(part));
            if is_stale(part, SystemTime::now()) {
                let stale = &mut self.state().stale;
                if stale.len() < STALE_MAX {
                    stale.push(path);
                }
            } else if name::is_name(&name)
                && let Some(file) = self.open(&name, &path)?
            {
                visit(&name, file.len().map_err(|e| fault(&name, e))?);
            }
        }
        for part in dirs.iter().filter(|part| name::is_name(part)) {
            self.walk(&format!("{prefix}{part}/"), visit)?;
        }
        Ok(())
    }
}

impl ObjectStore for FileStore {
    fn put(&self, name: &str, body: &Body) -> Result<()> {
        name::check(name)?;
        self.clear_stale();
        let path = self.root.join(name);
        let dir = path.parent().unwrap_or(&self.root);
        self.refuse_poisoned(name, dir)?;
        self.make_dir(name, dir)?;
        if !self.is_there(name, &path, body)? {
            let aside = dir.join(aside_name()?);
            let written = self.write_aside(name, &aside, body);
            if let Err(error) = written.and_then(|()| self.publish(name, &aside, &path, body)) {
                // what is left is removed later
                let _ = self.disk.remove(&aside);
                return Err(error);
            }
        }
        // also behind an earlier sending, which may not have come to it
        self.sync_dir(name, dir)
    }

    fn get(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>> {
        name::check(name)?;
        let Some(file) = self.open(name, &self.root.join(name))? else { return Err(Error::not_found(name)) };
        // a damaged length must not take all memory
        let end = range.end.min(file.len().map_err(|e| fault(name, e))?);
        if end < range.end {
            return Err(Error::shorter(name, end, range.end));
        }
        let mut content = vec![0; usize::try_from(end.saturating_sub(range.start)).unwrap_or(usize::MAX)];
        for (at, chunk) in (range.start..).step_by(COPY_BYTES).zip(content.chunks_mut(COPY_BYTES)) {
            self.pace.wait(chunk.len());
            let got = file.read_at(chunk, at).map_err(|e| fault(name, e))?;
            if got < chunk.len() {
                return Err(Error::shorter(name, at + got as u64, range.end));
            }
        }
        Ok(content)
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        name::check(name)?;
        let file = self.open(name, &self.root.join(name))?;
        file.map(|file| file.len()).transpose().map_err(|e| fault(name, e))
    }

    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> Result<()> {
        name::check_prefix(prefix)?;
        self.walk(prefix, visit)
    }

    fn delete(&self, name: &str) -> Result<()> {
        name::check(name)?;
        self.clear_stale();
        self.disk.remove(&self.root.join(name)).map_err(|e| fault(name, e))
    }

    fn address(&self) -> String {
        format!("file://{}", self.root.display())
    }
}

fn aside_name() -> Result<String> {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let random = getrandom::u64().and_then(|high| Ok((u128::from(high) << 64) | u128::from(getrandom::u64()?)));
    let random = random.map_err(|e| Error::unavailable("", format!("the system has no random bits: {e}")))?;
    Ok(format!("{ASIDE}{seconds:x}-{random:032x}"))
}

fn is_stale(part: &str, now: SystemTime) -> bool {
    let digits = part.strip_prefix(ASIDE).and_then(|rest| Some(rest.split_once('-')?.0));
    let seconds = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let made = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    made.is_some_and(|made| now.duration_since(made).is_ok_and(|age| age > ASIDE_MAX))
}

fn is_forbidden(error: &crate::disk::Error) -> bool {
    matches!(error, crate::disk::Error::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

/// An error of the directory, as one of a store.
fn fault(name: &str, error: crate::disk::Error) -> Error {
    use io::ErrorKind::{NotADirectory, PermissionDenied, Unsupported};
    let detail = error.to_string();
    match error {
        crate::disk::Error::Io { source, .. }
            if [PermissionDenied, NotADirectory, Unsupported].contains(&source.kind()) =>
        {
            Error::refused(name, detail)
        }
        crate::disk::Error::Link { .. } => Error::refused(name, detail),
        _ => Error::unavailable(name, detail),
    }
}

#[cfg(test)]
mod tests;
