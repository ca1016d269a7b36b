//! Names of the wheel's files, and the label behind the header that says which slot a file is of.
//!
//! The label keeps a file from being taken for another: one that was copied back under a wrong name is refused.

use std::path::{Path, PathBuf};

use super::place::{Level, Place};
use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Removal, Result};

/// Version of the format.
const VERSION: u16 = 1;
const LABEL_BYTES: usize = 24;
/// Offset at which the first frame begins: behind header and label.
pub(super) const CONTENT_AT: u64 = HEADER_BYTES + LABEL_BYTES as u64;

/// One file of one slot; a slot that gets records after all its records were read gets another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotFile {
    pub place: Place,
    pub generation: u64,
}

impl SlotFile {
    /// `hours-0000473000.g000042`
    fn name(self) -> String {
        format!("{}-{:010}.g{:06}", self.place.level.name(), self.place.number, self.generation)
    }

    /// Returns its path in the wheel's directory `dir`.
    pub(crate) fn path(self, dir: &Path) -> PathBuf {
        dir.join(self.name())
    }

    /// The file of this name; names that the wheel does not give are nobody's.
    fn named(name: &str) -> Option<SlotFile> {
        let (slot, generation) = name.split_once(".g")?;
        let (level, number) = slot.split_once('-')?;
        let level = Level::ALL.into_iter().find(|known| known.name() == level)?;
        let place = Place { level, number: number.parse().ok()? };
        let file = SlotFile { place, generation: generation.parse().ok()? };
        (file.name() == name).then_some(file)
    }

    /// Makes the file, with header and label, and nothing else.
    pub(crate) fn create(self, disk: &Disk, dir: &Path) -> Result<DiskFile> {
        let file = disk.open(self.path(dir), Mode::CreateNew)?;
        file.write_all_at(&self.beginning(), 0)?;
        Ok(file)
    }

    /// Opens the file for reading; it must be the one that its name says, and have `bytes` at least. A file that the
    /// checkpoint names and that is not there is damage.
    pub(crate) fn open(self, disk: &Disk, dir: &Path, bytes: u64) -> Result<DiskFile> {
        let file = disk.open(self.path(dir), Mode::Read).map_err(Error::of_named_file)?;
        Header::check(&file, Kind::Calendar, VERSION)?;
        let mut label = [0; LABEL_BYTES];
        file.read_exact_at(&mut label, HEADER_BYTES)?;
        if label != self.label() {
            let expected = format!("the label of {}", self.name());
            return Err(Error::damaged(file.path(), HEADER_BYTES, expected, format!("{label:02x?}")));
        }
        let found = file.len()?;
        if found < bytes {
            return Err(Error::damaged(file.path(), found, format!("{bytes} bytes"), format!("{found}")));
        }
        Ok(file)
    }

    /// Header and label.
    pub(super) fn beginning(self) -> [u8; CONTENT_AT as usize] {
        let mut bytes = [0; CONTENT_AT as usize];
        let (header, label) = bytes.split_at_mut(HEADER_BYTES as usize);
        header.copy_from_slice(&Header { kind: Kind::Calendar, version: VERSION }.to_bytes());
        label.copy_from_slice(&self.label());
        bytes
    }

    fn label(self) -> [u8; LABEL_BYTES] {
        let mut label = [0; LABEL_BYTES];
        label[..4].copy_from_slice(&(self.place.level as u32).to_le_bytes());
        label[4..12].copy_from_slice(&self.place.number.to_le_bytes());
        label[12..20].copy_from_slice(&self.generation.to_le_bytes());
        let sum = crc32fast::hash(&label[..20]);
        label[20..].copy_from_slice(&sum.to_le_bytes());
        label
    }
}

/// Files in `dir` that `named` does not name, and whether each is one that a wheel gives names like its own.
pub fn unknown(disk: &Disk, dir: &Path, named: impl Fn(&Path) -> bool) -> Result<Vec<(PathBuf, bool)>> {
    let names = disk.list(dir)?.into_iter();
    let files = names.map(|name| (dir.join(&name), SlotFile::named(&name).is_some()));
    Ok(files.filter(|(path, _)| !named(path)).collect())
}

/// Removes the files of a wheel in `dir` that `named` does not name; others are left alone.
pub(super) fn remove_unknown(disk: &Disk, dir: &Path, named: impl Fn(&Path) -> bool) -> Result<()> {
    let unknown = unknown(disk, dir, named)?.into_iter();
    Removal::new(disk, unknown.filter(|(_, is_ours)| *is_ours).map(|(path, _)| path).collect()).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> SlotFile {
        SlotFile { place: Place { level: Level::Hours, number: 473_000 }, generation: 42 }
    }

    #[test]
    fn only_names_that_are_given_are_taken_for_ours() {
        assert_eq!(file().name(), "hours-0000473000.g000042");
        assert_eq!(SlotFile::named("hours-0000473000.g000042"), Some(file()));
        for other in ["hours-473000.g000042", "hours-0000473000.g42", "years-0000473000.g000042", "hours-", "notes"] {
            assert_eq!(SlotFile::named(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_under_another_name_or_shorter_than_noted_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (disk, dir) = (Disk::real(), dir.path());
        file().create(&disk, dir).unwrap();
        file().open(&disk, dir, CONTENT_AT).unwrap();
        assert!(matches!(file().open(&disk, dir, CONTENT_AT + 1), Err(Error::Damaged { .. })));
        let other = SlotFile { generation: 43, ..file() };
        disk.rename(&file().path(dir), &other.path(dir)).unwrap();
        assert!(matches!(other.open(&disk, dir, CONTENT_AT), Err(Error::Damaged { .. })));
        assert!(matches!(file().open(&disk, dir, CONTENT_AT), Err(Error::Damaged { .. })));
    }

    #[test]
    fn a_file_begins_as_drawn() {
        let bytes = file().beginning();
        assert_eq!((&bytes[..6], &bytes[6..12]), (&b"CRAWL\n"[..], &[15, 0, 1, 0, 0, 0][..]));
        assert_eq!((&bytes[16..20], &bytes[20..28]), (&[1, 0, 0, 0][..], &473_000_u64.to_le_bytes()[..]));
        assert_eq!(bytes[28..36], 42_u64.to_le_bytes());
        assert_eq!(bytes[36..], crc32fast::hash(&bytes[16..36]).to_le_bytes());
    }
}
