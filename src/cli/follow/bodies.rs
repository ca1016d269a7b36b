//! Bodies as files: one for each content, named by its digest, whole or not there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::disk::{self, Aside, Disk};

/// A directory of bodies: `DIR/ab/abcdef…`, by SHA-256 of the content.
#[derive(Debug)]
pub(super) struct Bodies {
    dir: PathBuf,
    /// Directories with names that are not durable yet.
    unsynced: Vec<PathBuf>,
}

impl Bodies {
    /// Opens the bodies in `dir`, which is made if need be.
    pub(crate) fn new(dir: &Path) -> anyhow::Result<Bodies> {
        Disk::real().create_dir_all(dir)?;
        let dir = fs::canonicalize(dir).map_err(|e| disk::Error::io("find", dir, e))?;
        Ok(Bodies { dir, unsynced: Vec::new() })
    }

    /// Stores `body`, unless it is there already, and returns its path.
    pub(crate) fn put(&mut self, body: &[u8]) -> disk::Result<PathBuf> {
        let disk = Disk::real();
        let name = HEXLOWER.encode(&Sha256::digest(body));
        let dir = self.dir.join(&name[..2]);
        let path = dir.join(&name);
        if disk.open_if_there(&path)?.is_some() {
            return Ok(path);
        }
        if !dir.is_dir() {
            disk.create_dir_all(&dir)?;
            self.unsynced.push(self.dir.clone());
        }
        let mut aside = Aside::create(&path)?;
        aside.write_all(body).and_then(|()| aside.sync()).map_err(|e| disk::Error::io("write", &path, e))?;
        aside.into_place()?;
        self.unsynced.push(dir);
        Ok(path)
    }

    /// Makes the names of all that was put durable.
    pub(crate) fn make_durable(&mut self) -> disk::Result<()> {
        self.unsynced.sort_unstable();
        self.unsynced.dedup();
        self.unsynced.drain(..).try_for_each(|dir| Disk::real().sync_dir(&dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_is_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut bodies = Bodies::new(&dir.path().join("bodies")).unwrap();
        let (one, two) = (bodies.put(b"one").unwrap(), bodies.put(b"").unwrap());
        assert_eq!((bodies.put(b"one").unwrap(), fs::read(&one).unwrap()), (one.clone(), b"one".to_vec()));
        assert_eq!(fs::read(two).unwrap(), b"");
        bodies.make_durable().unwrap();
        assert_eq!(fs::read_dir(one.parent().unwrap()).unwrap().count(), 1);
        assert!(bodies.unsynced.is_empty());
    }
}
