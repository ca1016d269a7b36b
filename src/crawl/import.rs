//! `crawler import`: a crawl directory of archives that others have written. It has an identity, an archive and one
//! checkpoint; there is no queue, and no crawl goes on in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{CrawlError, options};
use crate::checkpoint::{self, Checkpoint, Identity, Last, Rechecked, Round, Sections, begin};
use crate::clock::{Clock, SystemClock, Time};
use crate::config::Config;
use crate::container::imported::{ImportedFile, Importer, is_imported};
use crate::container::{self, ContainerOptions, ContainerState, Report, WarcInfo};
use crate::disk::{self, DirectoryLock, Disk, Error};
use crate::engine::values::decode_rules;
use crate::frontier::{Frontier, FrontierOptions, FrontierState};
use crate::import::{self, Listener, Refusal};
use crate::record::layout;
use crate::record::{Finish, Gauges, Snapshot, State, Statistics, StoreBytes, StoreLayers};

/// Result of an import.
#[derive(Debug)]
pub struct Imported {
    /// Pages in the directory: answers that can be shown.
    pub pages: u64,
    /// Records among those of the types of answers that are no page: DNS answers, say, or answers without an HTTP head.
    pub not_pages: u64,
    /// Revisits that refer to what is in none of the sources.
    pub unresolved: u64,
}

/// Takes over the records of the files at `paths` into the directory `dir`, which is made where it is not there, and
/// makes the index of all that is in it then. `report` hears how far the index is.
pub fn import(
    dir: &Path,
    paths: &[PathBuf],
    listener: &mut dyn Listener,
    report: &mut Report<'_>,
) -> Result<Imported, Refusal> {
    let (disk, now) = (Disk::real(), SystemClock::new().now());
    let mut config = Config::default();
    // archives have URLs as they were asked for
    config.scope.strip_query_params.clear();
    let pages = dir.join(layout::PAGES);
    if begin::is_begun(&disk, dir) && !is_imported(&disk, &pages)? {
        let what = "it has a crawl; import into a directory of its own".to_owned();
        return Err(Refusal::Unknown { path: dir.to_owned(), what });
    }
    disk::create_crawl_dir(dir, options::readers(&config))?;
    let _lock = DirectoryLock::acquire(dir)?;
    let (identity, _) = begin::begin(&disk, dir, now, options::random(), options::shape(&config))?;
    identity.write_copy(&disk, dir)?;
    let info = WarcInfo {
        software: concat!("crawler/", env!("CARGO_PKG_VERSION")).to_owned(),
        fields: vec![("description".to_owned(), "records of other archives, taken over as they were".to_owned())],
        config: String::new(),
    };
    let mut importer = Importer::open(&disk, &pages, ContainerOptions::default(), info)?;
    import::import(&disk, &mut importer, paths, now, listener)?;
    let answers: u64 = importer.files().iter().map(answers).sum();
    drop(importer);
    let Indexed { pages, unresolved } = index(&disk, dir, &identity, report)?;
    Ok(Imported { pages, not_pages: answers.saturating_sub(pages + unresolved), unresolved })
}

/// Counts of an index.
#[derive(Debug)]
pub(super) struct Indexed {
    /// Pages in it.
    pub(super) pages: u64,
    /// Revisits that refer to what is not there.
    pub(super) unresolved: u64,
}

/// Makes the index of the archive in `dir` again, and the checkpoint that notes it. The caller has the lock.
pub(super) fn index(disk: &Disk, dir: &Path, identity: &Identity, report: &mut Report<'_>) -> Result<Indexed, Error> {
    let noted = match Last::find(disk, dir) {
        Ok(last) => last.and_then(|last| last.checkpoint).map(|checkpoint| checkpoint.container),
        // it says nothing that is not in the archive
        Err(Error::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    let rebuilt = container::rebuild(disk, &dir.join(layout::PAGES), noted.as_ref(), &identity.key_maker(), report)?;
    let (pages, unresolved) = (rebuilt.records, rebuilt.unresolved);
    if let Some(state) = rebuilt.noted.clone() {
        note(disk, dir, identity, state)?;
    }
    rebuilt.finish()?;
    Ok(Indexed { pages, unresolved })
}

/// Records of the types of answers in a source.
fn answers(file: &ImportedFile) -> u64 {
    ["response", "revisit", "resource"].iter().filter_map(|kind| file.records.get(*kind)).sum()
}

/// Makes a checkpoint with this archive the only one, and notes its figures.
fn note(disk: &Disk, dir: &Path, identity: &Identity, container: ContainerState) -> Result<(), Error> {
    let now = SystemClock::new().now();
    let number = disk.list(dir)?.iter().filter_map(|name| checkpoint::number_of(name)).max().map_or(1, |last| last + 1);
    let (frontier, section) = empty_queue(disk, dir, identity, now)?;
    let statistics = Statistics { pages_stored: container.pages, ..Statistics::default() };
    let stores = StoreBytes { pages: container.total_bytes, index: container.key_bytes, ..StoreBytes::default() };
    let checkpoint = Checkpoint {
        number,
        time: now,
        clean: true,
        finish: Some(Finish::Complete),
        stores: BTreeMap::new(),
        frontier,
        container,
        statistics: statistics.clone(),
        round: Round::default(),
        calendar: None,
        rechecked: Rechecked::default(),
    };
    checkpoint::renew(disk, dir, identity, &checkpoint, &Sections { frontier: section, ..Sections::default() })?;
    checkpoint::remove_others(disk, dir, number)?;
    let snapshot = Snapshot {
        version: Snapshot::VERSION,
        state: State::Finished,
        finish: checkpoint.finish,
        started: identity.created,
        updated: now,
        statistics,
        gauges: Gauges::default(),
        stores,
        layers: StoreLayers::default(),
    };
    snapshot.write(disk, dir)
}

/// A queue without a URL, for readers that look into it: its state, and its section of a checkpoint.
fn empty_queue(disk: &Disk, dir: &Path, identity: &Identity, now: Time) -> Result<(FrontierState, Vec<u8>), Error> {
    let options = FrontierOptions { partitions: identity.partitions, ..FrontierOptions::default() };
    let dir = dir.join(layout::FRONTIER);
    let mut queue = Frontier::open(disk.clone(), &dir, options, decode_rules, 0, None, now, true)?;
    let mut section = Vec::new();
    let cut = queue.cut(&mut section)?;
    Ok((cut.state, section))
}

/// Refuses what only a crawl can do where the pages in `dir` were imported.
pub(super) fn refuse(disk: &Disk, dir: &Path, what: &str) -> Result<(), CrawlError> {
    match is_imported(disk, &dir.join(layout::PAGES))? {
        true => Err(CrawlError::Usage(format!("{}: its pages were imported, {what}", dir.display()))),
        false => Ok(()),
    }
}
