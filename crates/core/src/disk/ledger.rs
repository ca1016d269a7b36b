//! Files that a durable checkpoint makes superfluous: the one rule by which files of older generations go, and the one
//! place that deletes them.
//!
//! # The rule
//!
//! A file that a checkpoint names stays there, whole, until a later checkpoint that does not name it is durable and its
//! owner has heard so. Up to that moment a crash may lead back to the one that names it. So whatever is superseded is
//! put down here with the number of the first checkpoint without it ([`Ledger::supersede`]), and comes out
//! ([`Ledger::take`]) only when that one is durable ([`Ledger::durable`]). What no checkpoint has ever named has the
//! number 0 and may go at any time.
//!
//! The deletions themselves may be lost with the power, or come late: a start removes what its checkpoint does not
//! name. They take time, hundreds of large files even seconds. That is why they come out as a [`Removal`], which can be
//! carried to another thread, and no more of them at a time than its carrier has time for.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::{Disk, Result};

/// Files that are superseded, and the ones among them that may go.
#[derive(Debug)]
pub struct Ledger {
    /// The newest durable checkpoint.
    durable: u64,
    /// Files that wait, each with the number of the checkpoint that frees it.
    waiting: Vec<(u64, PathBuf)>,
    /// Files that nothing names any more, in the order in which they became free.
    free: VecDeque<PathBuf>,
}

impl Ledger {
    /// A ledger in which nothing is superseded, and checkpoint `durable` is the last one.
    pub fn new(durable: u64) -> Self {
        Ledger { durable, waiting: Vec::new(), free: VecDeque::new() }
    }

    /// Files that the present state needs no more, and that no checkpoint from number `first` on names.
    pub fn supersede(&mut self, first: u64, paths: impl IntoIterator<Item = PathBuf>) {
        if first <= self.durable {
            self.free.extend(paths);
        } else {
            self.waiting.extend(paths.into_iter().map(|path| (first, path)));
        }
    }

    /// Checkpoint `number` is durable.
    pub fn durable(&mut self, number: u64) {
        self.durable = self.durable.max(number);
        let freed = self.waiting.extract_if(.., |(first, _)| *first <= number);
        self.free.extend(freed.map(|(_, path)| path));
    }

    /// Returns true where nothing may go.
    pub fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    /// Takes out what may go, `most` files of it.
    pub fn take(&mut self, disk: &Disk, most: usize) -> Removal {
        let taken = self.free.drain(..most.min(self.free.len()));
        Removal::new(disk, taken.collect())
    }
}

/// Files that are to be deleted.
#[derive(Debug)]
#[must_use = "the files stay until it is run"]
pub struct Removal {
    disk: Disk,
    paths: Vec<PathBuf>,
}

impl Removal {
    /// Makes the removal of `paths`, which are named by nothing that a crash could lead back to.
    pub fn new(disk: &Disk, paths: Vec<PathBuf>) -> Self {
        Removal { disk: disk.clone(), paths }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Deletes them; one that is gone is deleted already.
    pub fn run(self) -> Result<()> {
        self.paths.iter().try_for_each(|path| self.disk.remove(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Mode;
    use crate::disk::simulated::SimulatedDisk;
    use std::path::Path;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(|name| Path::new("/crawl").join(name)).collect()
    }

    #[test]
    fn what_a_checkpoint_names_stays_until_a_later_one_without_it_is_durable() {
        let disk = SimulatedDisk::new(1).disk();
        disk.create_dir_all(Path::new("/crawl")).unwrap();
        let make = |name: &PathBuf| drop(disk.open(name, Mode::CreateNew).unwrap());
        paths(&["a", "b", "c", "d"]).iter().for_each(make);
        let left = || disk.list(Path::new("/crawl")).unwrap();
        let mut ledger = Ledger::new(4);
        // 5 is the first cut without the one, 6 the first without the other; the third was never named
        ledger.supersede(5, paths(&["a"]));
        ledger.supersede(6, paths(&["b"]));
        ledger.supersede(0, paths(&["c"]));
        ledger.supersede(5, paths(&["d"]));
        ledger.take(&disk, usize::MAX).run().unwrap();
        assert_eq!(left(), ["a", "b", "d"]);
        // a cut alone frees nothing
        assert!(ledger.is_empty() && ledger.take(&disk, usize::MAX).is_empty());
        ledger.durable(5);
        ledger.take(&disk, 1).run().unwrap();
        assert_eq!(left(), ["b", "d"]);
        ledger.take(&disk, 1).run().unwrap();
        assert_eq!(left(), ["b"]);
        ledger.durable(6);
        ledger.take(&disk, 1).run().unwrap();
        assert!(left().is_empty() && ledger.take(&disk, 1).is_empty());
    }
}
