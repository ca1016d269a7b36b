//! Names of the files of a DRUM, and the label behind the header that says which file it is.
//!
//! The label keeps a file from being taken for another: one that was copied back under a wrong name is refused.

use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, Error, HEADER_BYTES, Header, Kind, Mode, Removal, Result};

/// Version of all three formats.
const VERSION: u16 = 1;
/// Offset at which the content of every file begins: behind header and label.
pub(super) const CONTENT_AT: u64 = HEADER_BYTES + LABEL_BYTES as u64;
const LABEL_BYTES: usize = 20;

/// The three files of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Operations with keys and values.
    Operations,
    /// Auxiliaries.
    Auxiliaries,
    /// A bucket of the repository.
    Repository,
}

impl Part {
    fn extension(self) -> &'static str {
        match self {
            Part::Operations => "kv",
            Part::Auxiliaries => "aux",
            Part::Repository => "repo",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Part::Operations => Kind::DrumPending,
            Part::Auxiliaries => Kind::DrumAux,
            Part::Repository => Kind::DrumRepository,
        }
    }
}

/// One bucket of one DRUM: where its files are.
#[derive(Clone, Debug)]
pub(super) struct BucketFiles {
    pub disk: Disk,
    pub dir: PathBuf,
    pub bucket: u32,
    pub buckets: u32,
}

impl BucketFiles {
    pub(crate) fn path(&self, generation: u64, part: Part) -> PathBuf {
        self.dir.join(name(self.bucket, generation, part))
    }

    /// Makes the file, with header and label, and nothing else.
    pub(crate) fn create(&self, generation: u64, part: Part) -> Result<DiskFile> {
        let file = self.disk.open(self.path(generation, part), Mode::CreateNew)?;
        let mut start = Header { kind: part.kind(), version: VERSION }.to_bytes().to_vec();
        start.extend_from_slice(&self.label(generation));
        file.write_all_at(&start, 0)?;
        Ok(file)
    }

    /// Opens the file for reading; it must be the one that its name says.
    pub(crate) fn open(&self, generation: u64, part: Part) -> Result<DiskFile> {
        let file = self.disk.open(self.path(generation, part), Mode::Read)?;
        Header::check(&file, part.kind(), VERSION)?;
        let mut label = [0; LABEL_BYTES];
        file.read_exact_at(&mut label, HEADER_BYTES)?;
        let expected = self.label(generation);
        if label != expected {
            let expected = format!("the label of bucket {} of {}, {expected:02x?}", self.bucket, self.buckets);
            return Err(Error::damaged(file.path(), HEADER_BYTES, expected, format!("{label:02x?}")));
        }
        Ok(file)
    }

    /// Returns whether `key` belongs into this bucket.
    pub(crate) fn holds(&self, key: u64) -> bool {
        bucket_of(key, self.buckets) == self.bucket as usize
    }

    fn label(&self, generation: u64) -> [u8; LABEL_BYTES] {
        let mut label = [0; LABEL_BYTES];
        label[..4].copy_from_slice(&self.bucket.to_le_bytes());
        label[4..8].copy_from_slice(&self.buckets.to_le_bytes());
        label[8..16].copy_from_slice(&generation.to_le_bytes());
        let sum = crc32fast::hash(&label[..16]);
        label[16..].copy_from_slice(&sum.to_le_bytes());
        label
    }
}

/// The bucket of `key`: its top bits.
#[inline]
pub(super) fn bucket_of(key: u64, buckets: u32) -> usize {
    ((u128::from(key) * u128::from(buckets)) >> 64) as usize
}

/// `bucket-017.g000042.repo`
pub(super) fn name(bucket: u32, generation: u64, part: Part) -> String {
    format!("bucket-{bucket:03}.g{generation:06}.{}", part.extension())
}

/// Returns whether `file_name` is one that [`BucketFiles::path`] gives; others in the directory are left alone.
pub(super) fn is_ours(file_name: &str) -> bool {
    let parse = || {
        let (bucket, rest) = file_name.strip_prefix("bucket-")?.split_once(".g")?;
        let (generation, extension) = rest.split_once('.')?;
        let part = [Part::Operations, Part::Auxiliaries, Part::Repository]
            .into_iter()
            .find(|part| part.extension() == extension)?;
        Some(name(bucket.parse().ok()?, generation.parse().ok()?, part))
    };
    parse().is_some_and(|name| name == file_name)
}

/// Removes the files of a DRUM in `dir` that `keep` does not name.
pub(super) fn remove_unknown(disk: &Disk, dir: &Path, keep: impl Fn(&Path) -> bool) -> Result<()> {
    let ours = disk.list(dir)?.into_iter().filter(|file_name| is_ours(file_name));
    let unknown = ours.map(|file_name| dir.join(file_name)).filter(|path| !keep(path)).collect();
    Removal::new(disk, unknown).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_given_are_taken_for_ours() {
        assert_eq!(name(17, 42, Part::Repository), "bucket-017.g000042.repo");
        assert!(is_ours(&name(1_000, 12_345_678, Part::Operations)));
        for other in
            ["bucket-17.g000042.repo", "bucket-017.g42.repo", "bucket-017.g000042.repo.bak", "notes", "bucket-"]
        {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn buckets_follow_the_order_of_keys() {
        for buckets in [1, 2, 64, 4096] {
            assert_eq!(bucket_of(0, buckets), 0);
            assert_eq!(bucket_of(u64::MAX, buckets), buckets as usize - 1);
            assert_eq!(bucket_of(1 << 63, buckets), buckets as usize / 2);
        }
    }

    #[test]
    fn a_file_under_another_name_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let place = BucketFiles { disk: Disk::real(), dir: dir.path().to_owned(), bucket: 3, buckets: 8 };
        place.create(5, Part::Operations).unwrap();
        place.open(5, Part::Operations).unwrap();
        place.disk.rename(&place.path(5, Part::Operations), &place.path(6, Part::Operations)).unwrap();
        assert!(matches!(place.open(6, Part::Operations), Err(Error::Damaged { .. })));
        place.disk.rename(&place.path(6, Part::Operations), &place.path(5, Part::Repository)).unwrap();
        assert!(matches!(place.open(5, Part::Repository), Err(Error::Damaged { .. })));
    }

    #[test]
    fn the_label_of_a_file_has_its_checksum() {
        let dir = tempfile::tempdir().unwrap();
        let place = BucketFiles { disk: Disk::real(), dir: dir.path().to_owned(), bucket: 3, buckets: 8 };
        place.create(5, Part::Operations).unwrap();
        let bytes = std::fs::read(place.path(5, Part::Operations)).unwrap();
        let label = &bytes[HEADER_BYTES as usize..][..LABEL_BYTES];
        assert_eq!(
            (&label[..4], &label[4..8], &label[8..16]),
            (&[3, 0, 0, 0][..], &[8, 0, 0, 0][..], &5u64.to_le_bytes()[..])
        );
        assert_eq!(label[16..], crc32fast::hash(&label[..16]).to_le_bytes());
    }
}
