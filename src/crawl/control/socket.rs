//! The socket of a crawl directory: who may use it, and how its path may be long.
//!
//! It is made in a new directory that only the user can enter, gets its permissions (0600) there, and is then moved to
//! its place: at no moment could anybody else have connected. Only a socket is ever replaced there, one that a dead
//! process has left, since the living one holds the directory's lock. A symbolic link or a file under its name is left
//! alone, and an error.
//!
//! The address of a socket has room for some hundred bytes. Longer paths go by `/proc/self/fd`, where the system has
//! it.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::record::layout;

/// A path of this many bytes fits into an address of every system.
const ADDRESS_BYTES_MAX: usize = 100;

/// Makes the socket of `dir`, whose lock the caller holds.
pub(super) fn bind(dir: &Path) -> io::Result<UnixListener> {
    let path = dir.join(layout::SOCKET);
    if let Some(false) = is_socket(&path)? {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "something else has that name; move it away"));
    }
    let making = dir.join(layout::SOCKET_MADE);
    clear(&making)?;
    DirBuilder::new().mode(0o700).create(&making)?;
    let listener = by_short_path(&making, UnixListener::bind).and_then(|listener| {
        fs::set_permissions(making.join(layout::SOCKET), Permissions::from_mode(0o600))?;
        fs::rename(making.join(layout::SOCKET), &path)?;
        Ok(listener)
    });
    clear(&making)?;
    listener
}

/// Removes what an attempt to make the socket has left.
fn clear(making: &Path) -> io::Result<()> {
    match fs::symlink_metadata(making) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => {
            if !found?.is_dir() {
                let problem = format!("{} is in the way; move it away", making.display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, problem));
            }
        }
    }
    if is_socket(&making.join(layout::SOCKET))? == Some(true) {
        fs::remove_file(making.join(layout::SOCKET))?;
    }
    fs::remove_dir(making)
}

/// Removes the socket of `dir`. If that fails, it stays as one of a dead process.
pub(super) fn remove(dir: &Path) {
    let path = dir.join(layout::SOCKET);
    if matches!(is_socket(&path), Ok(Some(true))) {
        let _ = fs::remove_file(path);
    }
}

/// Connects to the socket of `dir`; `NotFound` and `ConnectionRefused` mean that nobody listens.
pub(super) fn connect(dir: &Path) -> io::Result<UnixStream> {
    match is_socket(&dir.join(layout::SOCKET))? {
        None => Err(ErrorKind::NotFound.into()),
        Some(true) => by_short_path(dir, connect_at_once),
        Some(false) => Err(io::Error::new(ErrorKind::InvalidInput, "it is no socket")),
    }
}

/// Connects, or fails with `WouldBlock` where the listener takes no more connections: a call that waits for it may wait
/// for ever.
fn connect_at_once(path: PathBuf) -> io::Result<UnixStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let stream = runtime.block_on(tokio::net::UnixStream::connect(path))?.into_std()?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Returns whether `path` itself is a socket; `None` where there is nothing.
fn is_socket(path: &Path) -> io::Result<Option<bool>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found.file_type().is_socket())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Calls `act` with a path of the socket in `dir` that fits into an address.
fn by_short_path<T>(dir: &Path, act: impl FnOnce(PathBuf) -> io::Result<T>) -> io::Result<T> {
    let path = dir.join(layout::SOCKET);
    let bytes = path.as_os_str().as_bytes().len();
    if bytes <= ADDRESS_BYTES_MAX {
        return act(path);
    }
    let handle = File::open(dir)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    if !short.is_dir() {
        let problem = format!(
            "a path of {bytes} bytes is too long for a socket (at most {ADDRESS_BYTES_MAX} without /proc); name the \
             crawl directory by a shorter path"
        );
        return Err(io::Error::new(ErrorKind::InvalidInput, problem));
    }
    act(short.join(layout::SOCKET))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_socket_is_the_users_alone_and_that_of_a_dead_process_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            // dropping a listener leaves its socket, as a kill does
            drop(bind(dir.path()).unwrap());
            assert_eq!(mode(&dir.path().join(layout::SOCKET)), 0o600);
            assert_eq!(connect(dir.path()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        }
        let _listener = bind(dir.path()).unwrap();
        connect(dir.path()).unwrap();
        remove(dir.path());
        assert_eq!(connect(dir.path()).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_kill_left_of_making_a_socket_is_cleared_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let making = dir.path().join(layout::SOCKET_MADE);
        fs::create_dir(&making).unwrap();
        drop(UnixListener::bind(making.join(layout::SOCKET)).unwrap());
        bind(dir.path()).unwrap();
        assert!(!making.exists());
        fs::create_dir(&making).unwrap();
        fs::write(making.join("mine"), "x").unwrap();
        bind(dir.path()).unwrap_err();
        assert!(making.join("mine").exists());
    }

    #[test]
    fn a_link_or_a_file_under_its_name_is_neither_followed_nor_replaced() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let _listener = bind(other.path()).unwrap();
        let path = dir.path().join(layout::SOCKET);
        symlink(other.path().join(layout::SOCKET), &path).unwrap();
        assert_eq!(bind(dir.path()).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(connect(dir.path()).unwrap_err().kind(), ErrorKind::InvalidInput);
        remove(dir.path());
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        assert_eq!(bind(dir.path()).unwrap_err().kind(), ErrorKind::AlreadyExists);
        remove(dir.path());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(mode(&other.path().join(layout::SOCKET)), 0o600);
    }

    #[test]
    fn a_path_that_is_longer_than_an_address_works() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(120)).join("e".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        match bind(&deep) {
            Ok(_listener) => {
                assert_eq!(mode(&deep.join(layout::SOCKET)), 0o600);
                connect(&deep).unwrap();
            }
            // without /proc
            Err(error) => assert!(error.to_string().contains("too long for a socket"), "{error}"),
        }
    }
}
