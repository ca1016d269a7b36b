//! Whole files of the simulated disk, for those who set a disk up or look at what is left of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::SimulatedDisk;
use super::content::Content;
#[cfg(test)]
use crate::disk::{Disk, Result};

impl SimulatedDisk {
    /// A disk with an empty directory.
    pub fn with_dir(dir: impl AsRef<Path>) -> Self {
        let simulated = SimulatedDisk::default();
        simulated.state().names.create_dir(dir.as_ref());
        simulated
    }

    /// A disk with these files, all of them durable.
    pub fn holding<'a>(files: impl IntoIterator<Item = (&'a PathBuf, &'a Vec<u8>)>) -> Self {
        let simulated = SimulatedDisk::default();
        files.into_iter().for_each(|(path, content)| simulated.put(path, content.clone()));
        simulated
    }

    /// A disk with a copy of the files that are in `dir` of another one.
    #[cfg(test)]
    pub(crate) fn copy_of(disk: &Disk, dir: &Path) -> Result<Self> {
        let simulated = SimulatedDisk::default();
        for name in disk.list(dir)? {
            let path = dir.join(name);
            simulated.put(&path, disk.read(&path)?);
        }
        Ok(simulated)
    }

    /// Puts a durable file there, in the place of one that may be there.
    pub fn put(&self, path: impl AsRef<Path>, content: Vec<u8>) {
        let file = Arc::new(Mutex::new(Content::durable(content)));
        self.state().names.put(path.as_ref(), file);
    }

    /// The content of a file, if it is there.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let file = self.state().names.get(path.as_ref())?;
        let content = file.lock().unwrap_or_else(PoisonError::into_inner);
        Some(content.bytes().to_vec())
    }

    /// The names of all files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state().names.paths()
    }

    /// All files with what is in them now.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.paths().into_iter().filter_map(|path| self.get(&path).map(|content| (path, content))).collect()
    }

    /// Calls `observe` at every read from now on, with the file, the offset, the bytes that were asked for and the
    /// bytes that were there.
    pub fn observe_reads(&self, observe: impl Fn(&Path, u64, usize, usize) + Send + Sync + 'static) {
        self.state().reads = Some(Arc::new(observe));
    }
}
