//! The files of a checkpoint in another directory, copied beside the crawl that goes on in theirs.
//!
//! A file that no later checkpoint names may be gone before it is copied. Then the copy is brought to the newest
//! checkpoint of then: what was copied stays, and of a file that has grown only the rest is read. So each attempt reads
//! what came since the one before, and the copy comes to an end.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::restore;
use super::source::{Source, seam};
use crate::disk::{Disk, DiskFile, Mode, Result};
use crate::record::{FileKind, NamedFile};

/// Bytes that are read at a time.
const BUFFER_BYTES: u64 = 1 << 20;

/// A copy that is being made of the directory of a shard.
#[derive(Debug)]
pub struct Copying {
    disk: Disk,
    from: PathBuf,
    to: PathBuf,
    copied: HashMap<PathBuf, NamedFile>,
}

impl Copying {
    /// Nothing yet of `from` in `to`, which is empty.
    pub fn new(disk: &Disk, from: &Path, to: &Path) -> Copying {
        Copying { disk: disk.clone(), from: from.to_owned(), to: to.to_owned(), copied: HashMap::new() }
    }

    /// Returns the directory of the copy.
    pub fn to(&self) -> &Path {
        &self.to
    }

    /// The number of files.
    pub fn files(&self) -> usize {
        self.copied.len()
    }

    /// The bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.copied.values().map(|file| file.bytes).sum()
    }

    /// Brings the copy to a checkpoint that names `files`, and to nothing else. Where one of them is gone meanwhile,
    /// what was copied until then stays for the next call.
    pub fn bring(&mut self, files: &[NamedFile]) -> Result<()> {
        files.iter().try_for_each(|file| self.bring_file(file))?;
        let named: BTreeSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let left: Vec<PathBuf> = self.copied.keys().filter(|path| !named.contains(path.as_path())).cloned().collect();
        for path in left {
            self.disk.remove(&self.to.join(&path))?;
            self.copied.remove(&path);
        }
        Ok(())
    }

    fn bring_file(&mut self, file: &NamedFile) -> Result<()> {
        let found = Source { disk: &self.disk, dir: &self.from }.open(file)?;
        let path = self.to.join(&file.path);
        self.disk.create_dir_all(path.parent().unwrap_or(&self.to))?;
        let made = self.disk.open(path, Mode::Create)?;
        let mut at = self.kept(file, &found, &made)?;
        self.copied.remove(&file.path);
        let mut buffer = vec![0; BUFFER_BYTES.min(file.bytes - at) as usize];
        while at < file.bytes {
            let piece = &mut buffer[..BUFFER_BYTES.min(file.bytes - at) as usize];
            found.read_exact_at(piece, at)?;
            made.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
        made.set_len(file.bytes)?;
        self.copied.insert(file.path.clone(), file.clone());
        Ok(())
    }

    /// The number of bytes at the beginning of `file` that were copied before and are as they were.
    fn kept(&self, file: &NamedFile, found: &DiskFile, made: &DiskFile) -> Result<u64> {
        let Some(before) = self.copied.get(&file.path) else { return Ok(0) };
        let only_grows = file.kind != FileKind::Replaced && before.lineage == file.lineage;
        if !only_grows || before.bytes > file.bytes || found.len()? < before.bytes {
            return Ok(0);
        }
        let end = |file: &DiskFile| seam(file, FileKind::Grows, before.bytes);
        Ok(if end(found)? == end(made)? { before.bytes } else { 0 })
    }

    /// Makes the copy durable, with the files that a checkpoint does not name because they are made of the others.
    pub fn finish(&self, has_archive: bool) -> Result<()> {
        let mut dirs: BTreeSet<&Path> = BTreeSet::from([Path::new("")]);
        for path in self.copied.keys() {
            self.disk.open(self.to.join(path), Mode::Read)?.sync()?;
            dirs.extend(path.ancestors().skip(1));
        }
        if has_archive {
            let keys = self.copied.get(&restore::keys_path()).map(|keys| keys.bytes);
            restore::make_derived(&self.disk, &self.to, keys)?;
        }
        dirs.iter().rev().try_for_each(|dir| self.disk.sync_dir(&self.to.join(dir)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str, bytes: u64, kind: FileKind) -> NamedFile {
        NamedFile::new(PathBuf::from(path), bytes, kind)
    }

    #[test]
    fn a_copy_goes_on_with_the_next_checkpoint_from_what_it_has() {
        let (from, to, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), Disk::real());
        let write = |name: &str, content: &str| std::fs::write(from.path().join(name), content).unwrap();
        let read = |name: &str| std::fs::read_to_string(to.path().join(name)).unwrap();
        write("grows", "one, two");
        write("whole.g1", "first");
        write("small", "a");
        let mut copying = Copying::new(&disk, from.path(), to.path());
        let gone = [
            named("grows", 3, FileKind::Grows),
            named("whole.g1", 5, FileKind::Whole),
            named("gone", 1, FileKind::Whole),
        ];
        assert!(copying.bring(&gone).unwrap_err().is_not_found());
        assert_eq!((read("grows").as_str(), copying.files()), ("one", 2));
        // what was copied is not read again: that it differs is not seen
        write("grows", "one, two, three");
        write("whole.g2", "second");
        write("small", "b");
        let files = [
            named("grows", 8, FileKind::Grows),
            named("whole.g2", 6, FileKind::Whole),
            named("small", 1, FileKind::Replaced),
        ];
        copying.bring(&files).unwrap();
        assert_eq!((read("grows"), read("whole.g2"), read("small")), ("one, two".into(), "second".into(), "b".into()));
        assert!(!to.path().join("whole.g1").exists());
        write("small", "c");
        write("grows", "another");
        copying.bring(&[named("grows", 7, FileKind::Grows), named("small", 1, FileKind::Replaced)]).unwrap();
        assert_eq!((read("grows"), read("small"), copying.files()), ("another".into(), "c".into(), 2));
        copying.finish(false).unwrap();
        assert_eq!(copying.bytes(), 8);
        // a file that is shorter than the checkpoint says is an error, as one that is gone
        assert!(copying.bring(&[named("small", 2, FileKind::Replaced)]).is_err());
    }
}
