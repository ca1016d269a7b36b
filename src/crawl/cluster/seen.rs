//! The state of the registry as the directory of a node knows it: kept from one process to the next.
//!
//! etcd never goes back. Where it is at an earlier revision than one that this node has seen, its data was put back
//! from a backup, and it may give epochs away a second time; so a node refuses it, also after a restart.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Error, Result};
use crate::record::layout;

/// The state that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// The era in which the rest was seen: another one has another etcd.
    pub era: u32,
    /// The greatest revision.
    pub revision: u64,
    /// The lease of the last session, unless it was given up.
    pub lease: Option<u64>,
}

impl Seen {
    /// Reads what was seen in this era from the file in `dir`.
    pub(crate) fn read(disk: &Disk, dir: &Path, era: u32) -> Result<Seen> {
        let (path, none) = (path(dir), Seen { era, ..Seen::default() });
        match disk.read(&path) {
            Err(error) if error.is_not_found() => Ok(none),
            json => {
                let read: Seen = serde_json::from_slice(&json?)
                    .map_err(|error| Error::damaged(&path, 0, "what was seen of the registry", error.to_string()))?;
                Ok(if read.era == era { read } else { none })
            }
        }
    }

    /// Puts it down, durably.
    pub(crate) fn write(&self, disk: &Disk, dir: &Path) -> Result<()> {
        disk.replace(&path(dir), &serde_json::to_vec(self).expect("it is plain data"))
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(layout::REGISTRY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_in_an_era_counts_in_that_era() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::real());
        assert_eq!(Seen::read(&disk, dir.path(), 3).unwrap(), Seen { era: 3, revision: 0, lease: None });
        let seen = Seen { era: 3, revision: 70, lease: Some(9) };
        seen.write(&disk, dir.path()).unwrap();
        assert_eq!(Seen::read(&disk, dir.path(), 3).unwrap(), seen);
        assert_eq!(Seen::read(&disk, dir.path(), 4).unwrap().revision, 0);
        std::fs::write(dir.path().join(layout::REGISTRY), "{").unwrap();
        assert!(Seen::read(&disk, dir.path(), 3).is_err());
    }
}
