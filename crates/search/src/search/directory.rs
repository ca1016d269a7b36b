//! The files of an index as readers see them: nothing is written, and no lock is taken.
//!
//! tantivy's own readers take a lock while they open segments, so that the writer deletes no file of them meanwhile. In
//! a directory that cannot be written there is no such lock. Here a file that has gone is an error, and the reader
//! looks again at what the index has now.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr};
use tantivy_common::file_slice::WrapFile;

/// The files with texts as they are shown, by the end of their names.
const TEXTS: &str = "store";

/// A directory for readers. Its files are mapped, but for the texts: of these a block is read at a time, and a mapping
/// brings what is around each block into the memory of the process.
#[derive(Clone, Debug)]
pub(super) struct ReadOnly {
    dir: PathBuf,
    mapped: MmapDirectory,
}

impl ReadOnly {
    /// The directory `dir`.
    pub(super) fn open(dir: &Path) -> Result<ReadOnly, OpenDirectoryError> {
        Ok(ReadOnly { dir: dir.to_owned(), mapped: MmapDirectory::open(dir)? })
    }
}

fn refusal() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "a reader of an index writes nothing")
}

impl Directory for ReadOnly {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if path.extension().is_none_or(|extension| extension != TEXTS) {
            return self.mapped.get_file_handle(path);
        }
        let opened = File::open(self.dir.join(path)).and_then(WrapFile::new);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
            _ => OpenReadError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(Arc::new(file))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn acquire_lock(&self, _: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(refusal()), filepath: path.to_owned() })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(refusal(), path.to_owned()))
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(refusal())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
