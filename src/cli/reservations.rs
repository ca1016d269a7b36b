//! Reservations of text and data mining that origins state in `/.well-known/tdmrep.json`, as the archive has the file.
//!
//! A crawl with `scope.licenses` fetches it once for each origin. Its rules count for pages that were fetched after it,
//! each version of it until the next one.

use super::archive::{Archive, Entry};
use super::origin_files::OriginFiles;
use crate::web::robots::{TDMREP_PATH, TdmRep};
use crate::web::statements::Statements;

/// The files of origins.
pub(super) struct Reservations(OriginFiles<TdmRep>);

impl Reservations {
    /// Nothing read yet.
    pub(super) fn new() -> Self {
        Reservations(OriginFiles::new(TDMREP_PATH, |archive, file, entry| {
            let is_there = entry.status == 200 || entry.is_confirmed();
            let body = if is_there { archive.response(&entry)?.decoded } else { Vec::new() };
            Ok(TdmRep::parse(file, &body))
        }))
    }

    /// Adds what the file that was there when `entry` was fetched says of it.
    pub(super) fn add_to(&self, archive: &dyn Archive, entry: &Entry, stated: &mut Statements) -> anyhow::Result<()> {
        self.0.look(archive, entry, |rules| rules.add_to(&entry.url, stated))?;
        Ok(())
    }
}
