//! Files that origins have at a path of their own, such as robots.txt, in the version that was there at a moment.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::archive::{Archive, Entry};
use crate::clock::Time;
use crate::web::url::CanonicalUrl;

/// Origins whose files are kept in memory.
const ORIGINS_MAX: usize = 4_096;
/// Versions of a file that are looked at.
const VERSIONS_MAX: usize = 4_096;

/// Reads a version of a file.
type Read<T> = fn(&dyn Archive, &CanonicalUrl, Entry) -> anyhow::Result<T>;

/// The times of versions and what was read of each, the newest first.
type Versions<T> = Rc<Vec<(Time, T)>>;

/// The files of origins at one path, each read once.
pub(super) struct OriginFiles<T> {
    path: &'static str,
    read: Read<T>,
    known: RefCell<HashMap<CanonicalUrl, Versions<T>>>,
}

impl<T> OriginFiles<T> {
    /// The files at `path`, each version read by `read`.
    pub(super) fn new(path: &'static str, read: Read<T>) -> Self {
        OriginFiles { path, read, known: RefCell::default() }
    }

    /// Looks at the version that was there when `entry` was fetched; returns nothing if there was none.
    pub(super) fn look<R>(
        &self,
        archive: &dyn Archive,
        entry: &Entry,
        look: impl FnOnce(&T) -> R,
    ) -> anyhow::Result<Option<R>> {
        let Some(file) = CanonicalUrl::parse(&entry.url).ok().and_then(|url| url.join(self.path).ok()) else {
            return Ok(None);
        };
        let known = self.known.borrow().get(&file).cloned();
        let versions = match known {
            Some(versions) => versions,
            None => self.versions(archive, file)?,
        };
        Ok(versions.iter().find(|(time, _)| *time <= entry.time).map(|(_, version)| look(version)))
    }

    fn versions(&self, archive: &dyn Archive, file: CanonicalUrl) -> anyhow::Result<Versions<T>> {
        let mut versions = Vec::new();
        let mut next = archive.newest(file.as_str())?;
        while let Some(entry) = next.filter(|_| versions.len() < VERSIONS_MAX) {
            next = archive.previous(&entry)?;
            versions.push((entry.time, (self.read)(archive, &file, entry)?));
        }
        let versions = Rc::new(versions);
        let mut known = self.known.borrow_mut();
        if known.len() >= ORIGINS_MAX {
            known.clear();
        }
        known.insert(file, versions.clone());
        Ok(versions)
    }
}
