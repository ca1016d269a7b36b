//! One process a directory: an operating system lock on the file `LOCK`, gone with the process that held it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::{Error, Result};

/// The lock of a crawl directory, held until it is dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock of `dir`, or says who has it.
    pub fn acquire(dir: &Path) -> Result<Self> {
        let path = dir.join("LOCK");
        let io = |action| move |e| Error::io(action, &dir.join("LOCK"), e);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                return Err(Error::InUse { path: dir.to_owned(), holder: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path, e)),
        }
        file.set_len(0).map_err(io("write"))?;
        file.rewind().map_err(io("write"))?;
        writeln!(file, "{}", std::process::id()).map_err(io("write"))?;
        Ok(DirectoryLock { _file: file })
    }

    /// Whether a process holds the lock of `dir`. It is asked for shared and given back at once; nothing is written.
    pub fn is_held(dir: &Path) -> bool {
        let Ok(file) = File::open(dir.join("LOCK")) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_whatever_a_lock_file_holds_it_is_taken_and_says_who_has_it() {
        let dir = tempfile::tempdir().unwrap();
        for content in [&b""[..], b"12", b"12345\n12345\n", &[0xff, 0x1b, 0], &[b'9'; 5_000]] {
            std::fs::write(dir.path().join("LOCK"), content).unwrap();
            let lock = DirectoryLock::acquire(dir.path()).unwrap();
            let written = std::fs::read_to_string(dir.path().join("LOCK")).unwrap();
            assert_eq!(written, format!("{}\n", std::process::id()));
            drop(lock);
        }
    }

    #[test]
    fn a_second_lock_on_a_directory_is_refused_until_the_first_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let first = DirectoryLock::acquire(dir.path()).unwrap();
        let refusal = DirectoryLock::acquire(dir.path()).unwrap_err();
        assert!(refusal.to_string().contains(&std::process::id().to_string()), "{refusal}");
        drop(first);
        DirectoryLock::acquire(dir.path()).unwrap();
    }
}
