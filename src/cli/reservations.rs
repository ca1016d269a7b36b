//! Reservations of text and data mining that origins state in `/.well-known/tdmrep.json`, as the archive has the file.
//!
//! A crawl with `scope.licenses` fetches it once for each origin. Its rules count for pages that were fetched after it,
//! each version of it until the next one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::archive::{Archive, Entry};
use crate::clock::Time;
use crate::web::robots::{TDMREP_PATH, TdmRep};
use crate::web::statements::Statements;
use crate::web::url::CanonicalUrl;

/// Origins whose files are kept in memory.
const ORIGINS_MAX: usize = 4_096;
/// Versions of a file that are read.
const VERSIONS_MAX: usize = 64;

/// A version of a file.
struct Version {
    time: Time,
    rules: TdmRep,
}

/// The files of origins, each read once.
#[derive(Default)]
pub(super) struct Reservations {
    /// By URL of the file; the newest version is first.
    files: RefCell<HashMap<CanonicalUrl, Rc<Vec<Version>>>>,
}

impl Reservations {
    /// Adds what the file that was there when `entry` was fetched says of it.
    pub(super) fn add_to(&self, archive: &dyn Archive, entry: &Entry, stated: &mut Statements) -> anyhow::Result<()> {
        let Some(file) = CanonicalUrl::parse(&entry.url).ok().and_then(|url| url.join(TDMREP_PATH).ok()) else {
            return Ok(());
        };
        let known = self.files.borrow().get(&file).cloned();
        let versions = match known {
            Some(versions) => versions,
            None => self.read(archive, file)?,
        };
        if let Some(version) = versions.iter().find(|version| version.time <= entry.time) {
            version.rules.add_to(&entry.url, stated);
        }
        Ok(())
    }

    fn read(&self, archive: &dyn Archive, file: CanonicalUrl) -> anyhow::Result<Rc<Vec<Version>>> {
        let mut versions = Vec::new();
        let mut next = archive.newest(file.as_str())?;
        while let Some(entry) = next.filter(|_| versions.len() < VERSIONS_MAX) {
            let is_there = entry.status == 200 || entry.is_confirmed();
            let body = if is_there { archive.response(&entry)?.decoded } else { Vec::new() };
            versions.push(Version { time: entry.time, rules: TdmRep::parse(&file, &body) });
            next = archive.previous(&entry)?;
        }
        let versions = Rc::new(versions);
        let mut files = self.files.borrow_mut();
        if files.len() >= ORIGINS_MAX {
            files.clear();
        }
        files.insert(file, versions.clone());
        Ok(versions)
    }
}
