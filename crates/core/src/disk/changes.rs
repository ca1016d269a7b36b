//! Files of a store that changed since its last cut: what is to be synced, and what its [`Ledger`](super::Ledger) hears
//! of.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// Changes of a store's files from one cut to the next.
#[derive(Debug, Default)]
pub struct FileChanges {
    /// Files that were written to and are not synced.
    pub dirty: BTreeSet<PathBuf>,
    /// True if names were added to the directory.
    pub names_changed: bool,
    /// Files that the present state names and no cut yet.
    unnamed: BTreeSet<PathBuf>,
    /// Files that a cut names, but not the present state.
    pub superseded: Vec<PathBuf>,
    /// Files that no cut names, and the present state no more.
    pub unneeded: Vec<PathBuf>,
}

impl FileChanges {
    /// Changes of a directory whose own name may not be durable yet.
    pub(crate) fn of_a_new_directory() -> Self {
        FileChanges { names_changed: true, ..FileChanges::default() }
    }

    /// The file was made.
    pub(crate) fn added(&mut self, path: PathBuf) {
        self.names_changed = true;
        self.unnamed.insert(path.clone());
        self.dirty.insert(path);
    }

    /// The file was appended to.
    pub(crate) fn wrote(&mut self, path: PathBuf) {
        self.dirty.insert(path);
    }

    /// The present state does without the file.
    pub(crate) fn supersede(&mut self, path: PathBuf) {
        self.dirty.remove(&path);
        match self.unnamed.remove(&path) {
            true => self.unneeded.push(path),
            false => self.superseded.push(path),
        }
    }

    /// A cut names everything that there is now: what has changed since the last one.
    pub fn cut(&mut self) -> FileChanges {
        let next = FileChanges { unneeded: std::mem::take(&mut self.unneeded), ..FileChanges::default() };
        std::mem::replace(self, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_cut_named_is_unneeded_and_one_that_a_cut_named_is_superseded() {
        let path = |name: &str| PathBuf::from(name);
        let mut changes = FileChanges::of_a_new_directory();
        changes.added(path("a"));
        changes.added(path("b"));
        changes.supersede(path("b"));
        assert_eq!(changes.unneeded, [path("b")]);
        let cut = changes.cut();
        assert_eq!((cut.dirty.into_iter().collect::<Vec<_>>(), cut.superseded), (vec![path("a")], vec![]));
        assert!(cut.names_changed && !changes.names_changed);
        changes.wrote(path("a"));
        changes.supersede(path("a"));
        let cut = changes.cut();
        assert_eq!((cut.dirty.len(), cut.superseded), (0, vec![path("a")]));
        assert_eq!(changes.unneeded, [path("b")]);
    }
}
