//! The disk as every store sees it: files, directories, and what makes them durable.
//!
//! All state of a crawl goes through [`Disk`], a handle on a [`Backend`]. [`Disk::real`] is the machine's file
//! system; a simulator puts a backend there that forgets unsynced writes, tears them, and fails on demand. Paths and
//! offsets are in every error, because the people who read them have to find the place.
//!
//! Rules that hold everywhere (the crash contract rests on them):
//! - a file is durable after [`DiskFile::sync`], its name after [`Disk::sync_dir`] of its directory;
//! - a file that replaces another is written aside, synced, renamed, and the directory synced
//!   ([`Disk::replace`]); nothing is deleted first;
//! - a failed sync is never tried again: the kernel clears the error and the second call would lie;
//! - nothing is written through a symbolic link: anyone who may write to the directory could lead it anywhere.

mod aside;
mod changes;
mod error;
mod header;
mod ledger;
mod lock;
mod private;
mod real;
mod saved;
pub mod scratch;
pub mod simulated;
pub mod sorter;
mod stream;
mod writer;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use aside::Aside;
pub use changes::FileChanges;
pub use error::{Error, Result};
pub use header::{HEADER_BYTES, Header, Kind};
pub use ledger::{Ledger, Removal};
pub use lock::{DirectoryLock, LOCK_FILE};
pub use private::{Readers, create_crawl_dir, only_regular_files, refuse_links};
pub use real::open_file;
pub use saved::SavedState;
pub use stream::{FileStream, STREAM_BUFFER_BYTES, read_buffered};
pub use writer::Writer;

/// The way in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A file for reading and writing; made when it is not there.
    Create,
    /// A file for reading and writing; an error when it is there.
    CreateNew,
}

/// An open file of a [`Backend`]. All access is by position, so that one handle serves many threads.
#[expect(clippy::len_without_is_empty, reason = "a length on disk has to be asked for, and can fail")]
pub trait RawFile: Send + Sync + fmt::Debug {
    /// Reads up to `buf.len()` bytes at `offset`; fewer at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `buf` at `offset`, growing the file.
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Cuts or grows the file to `len` bytes.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes the content durable.
    fn sync(&self) -> io::Result<()>;
}

/// A file system: the machine's, or a simulated one.
pub trait Backend: Send + Sync + fmt::Debug {
    /// Opens the file at `path`.
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>>;
    /// Renames a file, replacing the one at `to`; or a directory, where `to` is not there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file; an error, and nothing done, where `to` is there.
    fn rename_new(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory and its parents.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a directory, in any order.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Names of the directories in a directory, in any order.
    fn list_dirs(&self, _dir: &Path) -> io::Result<Vec<String>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Removes a directory with all that is in it; one that is not there is removed already.
    fn remove_dir_all(&self, _dir: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Bytes that can still be written.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
    /// An id of this run of the machine, which no other run has; `None` where it is not known.
    fn boot_id(&self) -> Option<String> {
        None
    }
}

/// A shared handle on a file system.
#[derive(Clone, Debug)]
pub struct Disk(Arc<dyn Backend>);

impl Disk {
    /// The machine's file system.
    pub fn real() -> Self {
        Disk(Arc::new(real::RealDisk))
    }

    /// Any other file system.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Disk(backend)
    }

    /// The backend that it is a handle on, for a backend on top of it.
    pub fn backend(&self) -> &dyn Backend {
        &*self.0
    }

    /// Opens the file at `path`.
    pub fn open(&self, path: impl Into<PathBuf>, mode: Mode) -> Result<DiskFile> {
        let path = path.into();
        let action = if mode == Mode::CreateNew { "create" } else { "open" };
        let raw = self.0.open(&path, mode).map_err(|e| Error::opening(action, &path, e))?;
        Ok(DiskFile { raw, path: path.into() })
    }

    /// Opens the file at `path` for reading, or says `None` when there is none.
    pub fn open_if_there(&self, path: impl Into<PathBuf>) -> Result<Option<DiskFile>> {
        match self.open(path, Mode::Read) {
            Ok(file) => Ok(Some(file)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The whole content of a file.
    pub fn read(&self, path: impl Into<PathBuf>) -> Result<Vec<u8>> {
        let file = self.open(path, Mode::Read)?;
        let mut content = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut content, 0)?;
        Ok(content)
    }

    /// Puts `content` in the place of the file at `path`: either the old content or the new one is there after a
    /// crash at any moment, and the new one for certain once this has returned.
    pub fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".tmp");
        let aside = PathBuf::from(aside);
        let file = self.open(&aside, Mode::Create)?;
        file.set_len(0)?;
        file.write_all_at(content, 0)?;
        file.sync()?;
        self.rename(&aside, path)?;
        self.sync_dir(path.parent().unwrap_or(Path::new(".")))
    }

    /// Renames a file, replacing the one at `to`.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.0.rename(from, to).map_err(|e| Error::io("rename", from, e))
    }

    /// Renames a file; an error ([`Error::is_there_already`]), and nothing done, where `to` is there.
    pub fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.0.rename_new(from, to).map_err(|e| Error::io("rename to a new name", from, e))
    }

    /// Removes a file; one that is not there is removed already.
    pub fn remove(&self, path: &Path) -> Result<()> {
        match self.0.remove(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, e)),
            _ => Ok(()),
        }
    }

    /// Makes a directory and its parents.
    pub fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.0.create_dir_all(path).map_err(|e| Error::io("create directory", path, e))
    }

    /// Names of the files in a directory, sorted.
    pub fn list(&self, dir: &Path) -> Result<Vec<String>> {
        let mut names = self.0.list(dir).map_err(|e| Error::io("list", dir, e))?;
        names.sort_unstable();
        Ok(names)
    }

    /// Names of the directories in a directory, sorted.
    pub fn list_dirs(&self, dir: &Path) -> Result<Vec<String>> {
        let mut names = self.0.list_dirs(dir).map_err(|e| Error::io("list", dir, e))?;
        names.sort_unstable();
        Ok(names)
    }

    /// Removes a directory with all that is in it; one that is not there is removed already.
    pub fn remove_dir_all(&self, dir: &Path) -> Result<()> {
        self.0.remove_dir_all(dir).map_err(|e| Error::io("remove", dir, e))
    }

    /// Makes the names in a directory durable.
    pub fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.0.sync_dir(dir).map_err(|e| Error::io("sync directory", dir, e))
    }

    /// Bytes that can still be written below `dir`.
    pub fn free_bytes(&self, dir: &Path) -> Result<u64> {
        self.0.free_bytes(dir).map_err(|e| Error::io("ask the free space of", dir, e))
    }

    /// An id of this run of the machine, which no other run has: between two equal ones the power was not cut, and all
    /// that was written can be read. `None` where it is not known.
    pub fn boot_id(&self) -> Option<String> {
        self.0.boot_id()
    }
}

/// An open file that knows its path.
#[derive(Debug)]
pub struct DiskFile {
    raw: Box<dyn RawFile>,
    path: Arc<Path>,
}

impl DiskFile {
    /// The path at which the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads up to `buf.len()` bytes at `offset`; fewer at the end of the file only.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.raw.read_at(&mut buf[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io("read", &self.path, e)),
            }
        }
        Ok(filled)
    }

    /// Fills `buf` from `offset`; a file that ends before is damaged.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let got = self.read_at(buf, offset)?;
        if got < buf.len() {
            let end = offset + got as u64;
            return Err(Error::damaged(&self.path, end, format!("{} more bytes", buf.len() - got), "end of file"));
        }
        Ok(())
    }

    /// Writes all of `buf` at `offset`.
    pub fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.raw.write_all_at(buf, offset).map_err(|e| Error::io("write", &self.path, e))
    }

    /// The length in bytes.
    pub fn len(&self) -> Result<u64> {
        self.raw.len().map_err(|e| Error::io("ask the length of", &self.path, e))
    }

    /// Returns whether the file has no content.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts or grows the file to `len` bytes.
    pub fn set_len(&self, len: u64) -> Result<()> {
        self.raw.set_len(len).map_err(|e| Error::io("cut", &self.path, e))
    }

    /// Makes the content durable. After an error the file must not be trusted, nor synced again.
    pub fn sync(&self) -> Result<()> {
        self.raw.sync().map_err(|e| Error::io("sync", &self.path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_has_the_new_content_and_nothing_is_left_aside() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::real();
        let path = dir.path().join("state");
        disk.replace(&path, b"one, which is longer").unwrap();
        disk.replace(&path, b"two").unwrap();
        assert_eq!(disk.read(&path).unwrap(), b"two");
        assert_eq!(disk.list(dir.path()).unwrap(), ["state"]);
    }

    #[test]
    fn reading_past_the_end_is_damage_with_path_and_offset() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::real();
        let path = dir.path().join("short");
        disk.replace(&path, b"12345").unwrap();
        let file = disk.open(&path, Mode::Read).unwrap();
        let error = file.read_exact_at(&mut [0; 8], 2).unwrap_err();
        assert!(error.to_string().contains("short"), "{error}");
        assert!(error.to_string().contains("byte 5"), "{error}");
        assert!(matches!(error, Error::Damaged { .. }));
    }

    #[test]
    fn a_file_is_renamed_to_a_new_name_only_where_the_name_is_free() {
        let dir = tempfile::tempdir().unwrap();
        for (disk, dir) in [(Disk::real(), dir.path()), (simulated::SimulatedDisk::new(1).disk(), Path::new("/d"))] {
            disk.create_dir_all(&dir.join("inner/most")).unwrap();
            for (name, content) in [("a", b"one"), ("b", b"two")] {
                disk.replace(&dir.join(name), content).unwrap();
            }
            let error = disk.rename_new(&dir.join("a"), &dir.join("b")).unwrap_err();
            assert!(error.is_there_already(), "{error}");
            assert_eq!(disk.read(dir.join("b")).unwrap(), b"two");
            disk.rename_new(&dir.join("a"), &dir.join("inner/c")).unwrap();
            assert_eq!(disk.read(dir.join("inner/c")).unwrap(), b"one");
            assert!(disk.open_if_there(dir.join("a")).unwrap().is_none());
            assert_eq!(disk.list_dirs(dir).unwrap(), ["inner"]);
            assert_eq!(disk.list_dirs(&dir.join("inner")).unwrap(), ["most"]);
            assert!(disk.list_dirs(&dir.join("nothing")).unwrap_err().is_not_found());
        }
    }

    #[test]
    fn removing_what_is_not_there_is_fine() {
        let dir = tempfile::tempdir().unwrap();
        Disk::real().remove(&dir.path().join("nothing")).unwrap();
        assert!(Disk::real().open_if_there(dir.path().join("nothing")).unwrap().is_none());
    }
}
