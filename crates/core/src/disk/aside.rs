//! Files outside of crawl directories, in places that the user names: each appears when it is whole.
//!
//! Such a place may be open to others, like `/tmp`. The file is therefore written under a name that nobody can foresee,
//! must be new (`O_EXCL`) and is no link (`O_NOFOLLOW`); only then it takes its place. A link in that place is
//! replaced, and not followed.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::real::{NOFOLLOW, RealDisk};
use super::{Backend, Error, Result};

/// A file that is being written beside its place. Without [`Aside::into_place`] it is removed.
#[derive(Debug)]
pub struct Aside {
    file: NamedTempFile<File>,
    place: PathBuf,
}

impl Aside {
    /// Creates the file for `place`, with the permissions that the umask leaves. Refuses a place that has a device, a
    /// pipe or a socket: a file would take the name from it.
    pub fn create(place: &Path) -> Result<Aside> {
        let fault = |e| Error::io("create", place, e);
        let name = place.file_name().ok_or_else(|| fault(io::ErrorKind::InvalidFilename.into()))?;
        if place.metadata().is_ok_and(|there| !there.is_file()) {
            let problem = if place.is_dir() { "it is a directory" } else { "it is not a regular file" };
            return Err(fault(io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        let prefix = OsString::from_iter([name, ".".as_ref()]);
        let new = |path: &Path| OpenOptions::new().write(true).create_new(true).custom_flags(NOFOLLOW).open(path);
        let file = Builder::new().prefix(&prefix).suffix(".part").make_in(directory(place), new).map_err(fault)?;
        Ok(Aside { file, place: place.to_owned() })
    }

    /// The place that it takes.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Path of the file until then.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Makes the content durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.as_file().sync_data()
    }

    /// Puts the file in its place.
    pub fn into_place(self) -> Result<()> {
        self.file.persist(&self.place).map_err(|e| Error::io("write", &self.place, e.error))?;
        Ok(())
    }

    /// Puts `content` in the place of the file at `place`: after a crash at any moment the old content or the new one
    /// is there, and the new one once this has returned.
    pub fn put(place: &Path, content: &[u8]) -> Result<()> {
        let mut aside = Aside::create(place)?;
        let written = aside.write_all(content).and_then(|()| aside.sync());
        written.map_err(|e| Error::io("write", place, e))?;
        aside.into_place()?;
        let dir = directory(place);
        RealDisk.sync_dir(dir).map_err(|e| Error::io("sync directory", dir, e))
    }
}

/// The directory of `place`; a bare name is in the working directory.
fn directory(place: &Path) -> &Path {
    place.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_in_its_place_when_it_is_whole_and_nothing_is_left_aside() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("out.txt");
        let mut aside = Aside::create(&place).unwrap();
        aside.write_all(b"half").unwrap();
        assert!(!place.exists() && aside.path().exists());
        drop(aside);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a part is left behind");
        Aside::put(&place, b"one, which is longer").unwrap();
        Aside::put(&place, b"two").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_at_once_have_two_files_and_a_link_in_the_place_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (place, victim) = (dir.path().join("out"), dir.path().join("victim"));
        fs::write(&victim, "mine").unwrap();
        symlink(&victim, &place).unwrap();
        let (one, two) = (Aside::create(&place).unwrap(), Aside::create(&place).unwrap());
        assert_ne!(one.path(), two.path());
        one.into_place().unwrap();
        assert!(!place.is_symlink() && fs::read(&victim).unwrap() == b"mine");
    }

    #[test]
    fn what_is_no_file_keeps_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (place, words) in [(socket.as_path(), "not a regular file"), (dir.path(), "is a directory")] {
            let error = Aside::create(place).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(Aside::create(Path::new("/dev/null")).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
