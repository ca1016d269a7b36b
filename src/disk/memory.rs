//! A disk in memory: the files that it was given, and those that a store makes of them.
//!
//! It never fails and never forgets. A file that a damaged length would blow up is refused, as a full disk would.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Backend, Disk, Mode, RawFile};

/// No file is larger.
const FILE_BYTES_MAX: u64 = 64 << 20;

type Content = Arc<Mutex<Vec<u8>>>;

/// The disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryDisk(Arc<Mutex<BTreeMap<PathBuf, Content>>>);

#[derive(Debug)]
struct File(Content);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with the lock")
}

impl MemoryDisk {
    /// A handle on it for a store.
    pub(crate) fn disk(&self) -> Disk {
        Disk::new(Arc::new(self.clone()))
    }

    /// Puts a file there.
    pub(crate) fn put(&self, path: impl Into<PathBuf>, content: Vec<u8>) {
        lock(&self.0).insert(path.into(), Arc::new(Mutex::new(content)));
    }

    /// The content of a file.
    pub(crate) fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let content = lock(&self.0).get(path.as_ref()).cloned();
        content.map(|content| lock(&content).clone())
    }

    /// The names of all files.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        lock(&self.0).keys().cloned().collect()
    }
}

impl Backend for MemoryDisk {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>> {
        let mut files = lock(&self.0);
        let found = files.get(path).cloned();
        let content = match (mode, found) {
            (Mode::CreateNew, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (_, Some(content)) => content,
            (Mode::Read | Mode::Write, None) => return Err(io::ErrorKind::NotFound.into()),
            (Mode::Create | Mode::CreateNew, None) => files.entry(path.to_owned()).or_default().clone(),
        };
        Ok(Box::new(File(content)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = lock(&self.0);
        let content = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        lock(&self.0).remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let files = lock(&self.0);
        let here = files.keys().filter(|path| path.parent() == Some(dir)).filter_map(|path| path.file_name());
        Ok(here.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self, _: &Path) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}

impl RawFile for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = lock(&self.0);
        let rest = usize::try_from(offset).ok().and_then(|offset| content.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64).ok_or(io::ErrorKind::StorageFull)?;
        if end > self.len()? {
            self.set_len(end)?;
        }
        lock(&self.0)[offset as usize..end as usize].copy_from_slice(buf);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0).len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len > FILE_BYTES_MAX {
            return Err(io::ErrorKind::StorageFull.into());
        }
        lock(&self.0).resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
