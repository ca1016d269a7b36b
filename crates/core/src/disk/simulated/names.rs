//! Names of files: those that are there, those that a power cut leaves for certain, and what has changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::content::{Content, Mood};

type File = Arc<Mutex<Content>>;

#[derive(Debug, Default)]
pub(super) struct Names {
    now: BTreeMap<PathBuf, File>,
    durable: BTreeMap<PathBuf, File>,
    /// Changes since the last sync of their directories, in order.
    changes: Vec<Change>,
    dirs: BTreeSet<PathBuf>,
    /// Directories whose parents were not synced since they were made; `None` where directories are durable at once.
    unsynced_dirs: Option<BTreeSet<PathBuf>>,
}

#[derive(Debug)]
enum Change {
    Create(PathBuf, File),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf, File),
    /// A directory with all that is in it, to a place where there is none.
    RenameDir(PathBuf, PathBuf),
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<File> {
        self.now.get(path).cloned()
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.now.keys().cloned().collect()
    }

    /// A durable name, with its directories.
    pub(super) fn put(&mut self, path: &Path, file: File) {
        self.create_dir(parent(path));
        self.now.insert(path.to_owned(), file.clone());
        self.durable.insert(path.to_owned(), file);
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<File> {
        if !self.dirs.contains(parent(path)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::default();
        self.change(Change::Create(path.to_owned(), file.clone()));
        Ok(file)
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Option<()> {
        let file = self.get(from)?;
        self.change(Change::Rename(from.to_owned(), to.to_owned(), file));
        Some(())
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        self.dirs.contains(path)
    }

    /// Renames a directory. What happened at its new place before is of the past: it is done by then, or undone with
    /// the renaming.
    pub(super) fn rename_dir(&mut self, from: &Path, to: &Path) {
        self.changes.retain(|change| !change.dir().starts_with(to));
        let inside: Vec<PathBuf> = self.dirs.iter().filter(|dir| dir.starts_with(from)).cloned().collect();
        for dir in inside {
            self.dirs.remove(&dir);
            self.dirs.insert(moved(&dir, from, to));
        }
        self.change(Change::RenameDir(from.to_owned(), to.to_owned()));
    }

    /// The files below a directory, and those below its directories.
    pub(super) fn below(&self, dir: &Path) -> Vec<PathBuf> {
        self.now.keys().filter(|path| path.starts_with(dir)).cloned().collect()
    }

    /// Removes the directory, and those in it.
    pub(super) fn remove_dirs(&mut self, dir: &Path) {
        self.dirs.retain(|path| !path.starts_with(dir));
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.change(Change::Remove(path.to_owned()));
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.changes.push(change);
    }

    pub(super) fn create_dir(&mut self, dir: &Path) {
        for dir in dir.ancestors() {
            let is_root = parent(dir).as_os_str().is_empty();
            if self.dirs.insert(dir.to_owned())
                && let Some(unsynced) = &mut self.unsynced_dirs
                && !is_root
            {
                unsynced.insert(dir.to_owned());
            }
        }
    }

    pub(super) fn lose_directories(&mut self) {
        self.unsynced_dirs.get_or_insert_default();
    }

    /// The directories in `dir`, if there is such a directory.
    pub(super) fn list_dirs(&self, dir: &Path) -> Option<Vec<String>> {
        self.dirs.contains(dir).then(|| {
            let inside = self.dirs.iter().filter(|path| parent(path) == dir && path.as_path() != dir);
            inside.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
        })
    }

    /// The names in `dir`, if there is such a directory.
    pub(super) fn list(&self, dir: &Path) -> Option<Vec<String>> {
        self.dirs.contains(dir).then(|| {
            let inside = self.now.keys().filter(|path| parent(path) == dir);
            inside.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
        })
    }

    pub(super) fn sync(&mut self, dir: &Path) {
        let (synced, rest) = std::mem::take(&mut self.changes).into_iter().partition(|change| change.dir() == dir);
        self.changes = rest;
        let synced: Vec<Change> = synced;
        synced.iter().for_each(|change| change.apply(&mut self.durable));
        self.unsynced_dirs.iter_mut().for_each(|unsynced| unsynced.retain(|path| parent(path) != dir));
    }

    /// Reduces the files to what a death of the process leaves.
    pub(super) fn settle(&mut self, rng: &mut fastrand::Rng) {
        for file in self.now.values() {
            file.lock().unwrap_or_else(PoisonError::into_inner).settle(rng);
        }
    }

    /// Reduces names and contents to what a power cut leaves.
    pub(super) fn cut(&mut self, rng: &mut fastrand::Rng) {
        let mood = Mood::draw(rng);
        for change in std::mem::take(&mut self.changes) {
            if mood == Mood::Keep || (mood == Mood::Mix && rng.bool()) {
                change.apply(&mut self.durable);
            }
        }
        for lost in self.unsynced_dirs.iter_mut().flat_map(std::mem::take) {
            if mood == Mood::Keep || (mood == Mood::Mix && rng.bool()) {
                continue;
            }
            self.durable.retain(|path, _| !path.starts_with(&lost));
            self.dirs.retain(|path| !path.starts_with(&lost));
        }
        // a directory whose removal is undone is there again
        let dirs: BTreeSet<PathBuf> = self.durable.keys().map(|path| parent(path).to_owned()).collect();
        dirs.iter().flat_map(|dir| dir.ancestors()).for_each(|dir| _ = self.dirs.insert(dir.to_owned()));
        self.now.clone_from(&self.durable);
        let mood = Mood::draw(rng);
        for file in self.now.values() {
            file.lock().unwrap_or_else(PoisonError::into_inner).cut(mood, rng);
        }
    }
}

impl Change {
    fn dir(&self) -> &Path {
        match self {
            Change::Create(path, _)
            | Change::Remove(path)
            | Change::Rename(_, path, _)
            | Change::RenameDir(_, path) => parent(path),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, File>) {
        match self {
            Change::Create(path, file) => drop(names.insert(path.clone(), file.clone())),
            Change::Remove(path) => drop(names.remove(path)),
            Change::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), file.clone());
            }
            Change::RenameDir(from, to) => {
                names.retain(|path, _| !path.starts_with(to));
                let inside: Vec<PathBuf> = names.keys().filter(|path| path.starts_with(from)).cloned().collect();
                for path in inside {
                    if let Some(file) = names.remove(&path) {
                        names.insert(moved(&path, from, to), file);
                    }
                }
            }
        }
    }
}

/// Returns the path that `path` has when the directory `from`, in which it is, has moved to `to`.
fn moved(path: &Path, from: &Path, to: &Path) -> PathBuf {
    path.strip_prefix(from).map_or_else(|_| path.to_owned(), |inside| to.join(inside))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
