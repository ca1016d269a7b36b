//! The directory of an export: written aside, and in its place when it is whole.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::name::{Name, START};
use crate::cli::exit::UsageError;
use crate::disk::Error;
use crate::text::escape::Escaped;

/// A directory that is being written beside its place. Without [`Tree::into_place`] it is removed.
pub(super) struct Tree {
    aside: TempDir,
    place: PathBuf,
    /// The directory that was made last.
    last: PathBuf,
}

/// The outcome of writing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    File,
    /// There is a file of this name already.
    Nothing,
}

impl Tree {
    /// Begins a tree for `place`, which must be new or empty, and not in the directory `crawl`.
    pub(super) fn create(place: &Path, crawl: &Path) -> anyhow::Result<Tree> {
        let shown = Escaped(&place.to_string_lossy()).to_string();
        let refuse = |problem: &str| Err(UsageError::because(format!("{shown} {problem}")));
        let (Some(name), Some(parent)) = (place.file_name(), place.parent()) else {
            return refuse("does not name a directory");
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if let (Ok(parent), Ok(crawl)) = (parent.canonicalize(), crawl.canonicalize())
            && parent.starts_with(crawl)
        {
            return refuse("is in the crawl directory; exports do not write there");
        }
        match fs::symlink_metadata(place) {
            Ok(there) if !there.is_dir() => return refuse("is not a directory; name one that is new or empty"),
            Ok(_) if fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none()) => {}
            Ok(_) => return refuse("is not empty; name a directory that is new or empty"),
            Err(_) => {}
        }
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let made = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".part")
            // the umask takes from it
            .permissions(Permissions::from_mode(0o777))
            .tempdir_in(parent);
        let aside = made.map_err(|e| UsageError::because(format!("cannot write {shown}: {e}")))?;
        Ok(Tree { aside, place: place.to_owned(), last: PathBuf::new() })
    }

    /// Writes a file.
    pub(super) fn put(&mut self, name: &Name, bytes: &[u8]) -> anyhow::Result<Made> {
        let path = self.aside.path().join(name.as_str());
        if let Some(directory) = path.parent()
            && self.last != directory
        {
            fs::create_dir_all(directory).map_err(|e| Error::io("make directory", directory, e))?;
            directory.clone_into(&mut self.last);
        }
        let mut file = match File::create_new(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Made::Nothing),
            Err(e) => return Err(Error::io("create", &path, e).into()),
        };
        file.write_all(bytes).map_err(|e| Error::io("write", &path, e))?;
        Ok(Made::File)
    }

    /// Creates the start page.
    pub(super) fn start(&self) -> anyhow::Result<File> {
        let path = self.aside.path().join(START);
        Ok(File::create_new(&path).map_err(|e| Error::io("create", &path, e))?)
    }

    /// Puts the directory in its place.
    pub(super) fn into_place(self) -> anyhow::Result<()> {
        // this takes the place of an empty directory, and fails where something is in it by now
        fs::rename(self.aside.path(), &self.place).map_err(|e| Error::io("write", &self.place, e))?;
        let _ = self.aside.keep();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::url::CanonicalUrl;

    #[test]
    fn a_directory_appears_when_it_is_whole_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let (place, crawl) = (dir.path().join("site"), dir.path().join("crawl"));
        fs::create_dir(&crawl).unwrap();
        let url = CanonicalUrl::parse("https://a.example/b/c").unwrap();
        let name = Name::of(&url, &super::super::ending::Ending::of("text/html"), false);
        let mut tree = Tree::create(&place, &crawl).unwrap();
        assert_eq!(tree.put(&name, b"x").unwrap(), Made::File);
        assert!(!place.exists());
        drop(tree);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "a part is left behind");
        for _ in 0..2 {
            // new, and empty
            let mut tree = Tree::create(&place, &crawl).unwrap();
            assert_eq!(tree.put(&name, b"x").unwrap(), Made::File);
            assert_eq!(tree.put(&name, b"y").unwrap(), Made::Nothing);
            tree.into_place().unwrap();
            assert_eq!(fs::read(place.join("a.example/b/c.html")).unwrap(), b"x");
            fs::remove_dir_all(&place).unwrap();
            fs::create_dir(&place).unwrap();
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_place_that_has_something_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("crawl/pages")).unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for (place, words) in [
            ("crawl", "is not empty"),
            ("crawl/site", "is in the crawl directory"),
            ("file", "is not a directory"),
            ("nowhere/site", "No such file"),
            ("..", "does not name a directory"),
        ] {
            let made = Tree::create(&dir.path().join(place), &dir.path().join("crawl"));
            let error = made.err().unwrap_or_else(|| panic!("{place} was taken"));
            assert!(error.is::<UsageError>() && error.to_string().contains(words), "{place}: {error}");
        }
    }
}
