//! One process a directory: an operating system lock on the file `LOCK`, gone with the process that held it.
//!
//! Anyone who can open a file can lock it, and so keep every crawl out. So the file is its owner's alone, also one that
//! an earlier version has made. Others who may read the directory learn from the system's list of locks whether it is
//! held.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::real::{NOFOLLOW, NONBLOCK, open_file};
use super::{Error, Result};

/// The file whose lock is the lock of the directory.
pub const LOCK_FILE: &str = "LOCK";
const MODE: u32 = 0o600;

/// The lock of a crawl directory, held until it is dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock of `dir`, or says who has it.
    pub fn acquire(dir: &Path) -> Result<Self> {
        let path = dir.join(LOCK_FILE);
        let io = |action| move |e| Error::io(action, &dir.join(LOCK_FILE), e);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(MODE).custom_flags(NOFOLLOW | NONBLOCK);
        let mut file = options.open(&path).map_err(|e| Error::opening("open", &path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                return Err(Error::InUse { path: dir.to_owned(), holder: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path, e)),
        }
        if file.metadata().map_err(io("ask the permissions of"))?.mode() & 0o777 & !MODE != 0 {
            // where it is another user's, that one has to
            let _ = file.set_permissions(Permissions::from_mode(MODE));
        }
        file.set_len(0).map_err(io("write"))?;
        file.rewind().map_err(io("write"))?;
        writeln!(file, "{}", std::process::id()).map_err(io("write"))?;
        Ok(DirectoryLock { _file: file })
    }

    /// Returns whether a process holds the lock of `dir`. It is asked for shared and given back at once; nothing is
    /// written.
    pub fn is_held(dir: &Path) -> bool {
        match open_file(&dir.join(LOCK_FILE)) {
            Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => is_listed(&dir.join(LOCK_FILE)),
            Err(_) => false,
        }
    }

    /// The same, as often as one likes: the lock itself is asked for only where the system's list does not have it. A
    /// process that takes the lock at the moment when it is asked for would be refused.
    pub fn is_held_or_listed(dir: &Path) -> bool {
        is_listed(&dir.join(LOCK_FILE)) || DirectoryLock::is_held(dir)
    }
}

/// Returns whether the system lists an exclusive lock on the file at `path`, which need not be readable.
fn is_listed(path: &Path) -> bool {
    let (Ok(file), Ok(locks)) = (fs::metadata(path), fs::read_to_string("/proc/locks")) else { return false };
    locks.lines().any(|line| is_lock_on(line, file.dev(), file.ino()))
}

/// Returns whether `line` is about an exclusive lock on this file: `1: FLOCK  ADVISORY  WRITE 4711 fe:01:262401 0 EOF`.
fn is_lock_on(line: &str, device: u64, inode: u64) -> bool {
    let mut words = line.split_whitespace().skip(1);
    if (words.next(), words.nth(1)) != (Some("FLOCK"), Some("WRITE")) {
        return false;
    }
    let place = words.nth(1).map(|place| place.split(':').collect::<Vec<_>>());
    let Some([major, minor, found]) = place.as_deref() else { return false };
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let wanted = (Some(rustix::fs::major(device)), Some(rustix::fs::minor(device)));
    (number(major), number(minor)) == wanted && found.parse() == Ok(inode)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn n23_a_lock_is_its_owners_alone_and_takes_no_other_file_for_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK_FILE);
        let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
        drop(DirectoryLock::acquire(dir.path()).unwrap());
        assert_eq!(mode(), 0o600);
        // as earlier versions made it
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        drop(DirectoryLock::acquire(dir.path()).unwrap());
        assert_eq!(mode(), 0o600);
        let target = dir.path().join("mine");
        fs::write(&target, "mine\n").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&target, &path).unwrap();
        let refusal = DirectoryLock::acquire(dir.path()).unwrap_err();
        assert!(matches!(refusal, Error::Link { .. }), "{refusal}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
    }

    #[test]
    fn n23_who_may_not_open_a_lock_learns_from_the_system_whether_it_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK_FILE);
        assert!(!is_listed(&path));
        let lock = DirectoryLock::acquire(dir.path()).unwrap();
        if fs::metadata("/proc/locks").is_ok() {
            assert!(is_listed(&path));
        }
        drop(lock);
        assert!(!is_listed(&path));
        let line = "1: FLOCK  ADVISORY  WRITE 4711 fe:01:262401 0 EOF";
        let device = rustix::fs::makedev(0xfe, 1);
        assert!(is_lock_on(line, device, 262_401));
        assert!(!is_lock_on(line, device, 262_402) && !is_lock_on(line, rustix::fs::makedev(0xfe, 2), 262_401));
        for other in
            ["", "1: POSIX  ADVISORY  WRITE 4711 fe:01:262401 0 EOF", "1: FLOCK  ADVISORY  READ 1 fe:01:262401 0 EOF"]
        {
            assert!(!is_lock_on(other, device, 262_401), "{other}");
        }
    }

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
