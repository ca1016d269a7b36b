//! The owner of a crawl directory and its readers, and links in it that somebody else may have put there.
//!
//! A new directory is its owner's alone, unless he has said otherwise; the process's umask takes away more, as
//! everywhere. One that is there already is used as it is. Files in it are made with the usual permissions, because
//! nobody gets at them but through the directory.
//!
//! Parts of a crawl directory may be on other disks: their owner, or root, may put symbolic links to directories
//! there.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use super::{Error, Result};

/// The readers of a crawl directory that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone.
    Owner,
    /// The owner's group too.
    Group,
    /// Everybody.
    All,
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Readers::Owner => 0o700,
            Readers::Group => 0o750,
            Readers::All => 0o755,
        }
    }
}

/// Makes the crawl directory `dir`, where it is not there, and its parents.
pub fn create_crawl_dir(dir: &Path, readers: Readers) -> Result<()> {
    let fault = |e| Error::io("create directory", dir, e);
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(fault)?;
    }
    match DirBuilder::new().mode(readers.mode()).create(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        made => made.map_err(fault),
    }
}

/// Refuses symbolic links of other users where `parts` of `dir` should be directories.
pub fn refuse_links(dir: &Path, parts: &[&str]) -> Result<()> {
    for part in parts {
        let path = dir.join(part);
        let link = fs::symlink_metadata(&path).ok().filter(|found| found.is_symlink());
        if link.is_some_and(|link| link.uid() != 0 && link.uid() != rustix::process::geteuid().as_raw()) {
            return Err(Error::Link { path });
        }
    }
    Ok(())
}

/// Refuses all symbolic links and special files in `dir`, whose files are not opened by [`super::Disk`].
pub fn only_regular_files(dir: &Path) -> Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io("list", dir, e)),
    };
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("list", dir, e))?;
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            return Err(Error::Link { path: entry.path() });
        }
        if !kind.is_file() && !kind.is_dir() {
            // who opens a pipe waits for its other end
            let problem = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
            return Err(Error::io("open", &entry.path(), problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::{Disk, Mode};
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn n23_a_new_crawl_directory_is_its_owners_alone_unless_told_and_an_old_one_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for (readers, expected) in [(Readers::Owner, 0o700), (Readers::Group, 0o750), (Readers::All, 0o755)] {
            let path = dir.path().join(format!("a/b/{expected:o}"));
            create_crawl_dir(&path, readers).unwrap();
            // a umask of the test's environment may take away more
            assert_eq!(mode(&path) & !expected, 0, "{readers:?}: {:o}", mode(&path));
            assert_eq!(mode(&path) & 0o700, 0o700);
            create_crawl_dir(&path, Readers::All).unwrap();
            assert_eq!(mode(&path) & !expected, 0, "it was there already");
        }
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(create_crawl_dir(&file, Readers::Owner).unwrap_err().to_string().contains("file"));
        let link = dir.path().join("link");
        symlink(dir.path().join("a"), &link).unwrap();
        create_crawl_dir(&link, Readers::Owner).unwrap();
    }

    #[test]
    fn n23_nothing_is_written_through_a_symbolic_link() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("mine"), dir.path().join("crawl.log"));
        fs::write(&target, "mine\n").unwrap();
        symlink(&target, &link).unwrap();
        let disk = Disk::real();
        for mode in [Mode::Write, Mode::Create] {
            let error = disk.open(&link, mode).unwrap_err();
            assert!(matches!(&error, Error::Link { path } if *path == link), "{mode:?}: {error}");
        }
        // a name that leads to nothing is not made there either
        fs::remove_file(&target).unwrap();
        assert!(matches!(disk.open(&link, Mode::Create), Err(Error::Link { .. })));
        assert!(disk.open(&link, Mode::CreateNew).is_err() && !target.exists());
        // what is replaced is the link, not what it leads to; the file aside must not be one
        fs::write(&target, "mine\n").unwrap();
        disk.replace(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
        symlink(&target, dir.path().join("status.json.tmp")).unwrap();
        assert!(matches!(disk.replace(&dir.path().join("status.json"), b"{}"), Err(Error::Link { .. })));
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine\n");
    }

    #[test]
    fn n23_links_among_the_files_of_the_catalog_are_refused_and_parts_may_lie_elsewhere() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let parts = ["catalog", "pages"];
        let refuse = || refuse_links(dir.path(), &parts).and_then(|()| only_regular_files(&dir.path().join("catalog")));
        refuse().unwrap();
        symlink(elsewhere.path(), dir.path().join("pages")).unwrap();
        fs::create_dir(dir.path().join("catalog")).unwrap();
        refuse().unwrap();
        symlink(elsewhere.path().join("db"), dir.path().join("catalog/db")).unwrap();
        assert!(matches!(refuse(), Err(Error::Link { .. })));
    }
}
