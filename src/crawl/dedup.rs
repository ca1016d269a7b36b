//! The dedup index of a crawl: made when a run begins, from the earlier archives that the settings name.
//!
//! It is rebuilt where the list of archives is another one, or an archive has grown since; so a run that goes on begins
//! at once. An archive that is gone by now keeps its part of the index as long as the list is the same.
//!
//! Readers find what an external revisit refers to with [`crate::dirs::payload_of`]: the index names the crawl
//! directories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CrawlError;
use crate::checkpoint::Identity;
use crate::config::Config;
use crate::container::dedup::{Builder, DedupIndex, Source};
use crate::dirs::CrawlDirs;
use crate::disk::{self, Disk, Error, Mode};
use crate::record::layout;
use crate::text::figures;

/// Bytes at the end of a CDXJ file that show whether it is still the same.
const END_BYTES: u64 = 4 << 10;

/// The index of the crawl in `dir`, made where it has to be; nothing where no earlier archive is named.
pub(super) fn prepare(config: &Config, disk: &Disk, dir: &Path) -> Result<Option<Arc<DedupIndex>>, CrawlError> {
    let named = &config.container.dedup_against;
    if named.is_empty() {
        return Ok(None);
    }
    let before = match DedupIndex::open(disk, dir) {
        Err(error @ Error::Damaged { .. }) => {
            tracing::warn!("{error}; the dedup index is rebuilt");
            None
        }
        before => before?,
    };
    let known = before.as_ref().map_or(&[][..], |index| index.sources());
    let sources = sources(named, known, disk, dir)?;
    let is_gone = |source: &Source| !source.path.exists();
    if let Some(gone) = sources.iter().find(|source| is_gone(source)) {
        let is_same_list = sources.iter().map(|source| &source.path).eq(known.iter().map(|source| &source.path));
        if !is_same_list {
            return Err(missing(&gone.path));
        }
        tracing::warn!("{}: not there any more; the dedup index of the run before is used", gone.path.display());
    } else if known != sources {
        build(disk, dir, &sources)?;
        return Ok(DedupIndex::open(disk, dir)?.map(Arc::new));
    }
    Ok(before.map(Arc::new))
}

fn missing(path: &Path) -> CrawlError {
    CrawlError::Usage(format!("container.dedup_against: {}: no crawl directory or CDXJ file is there", path.display()))
}

/// Returns the archives that the settings name, as they are now; one that is gone is returned as it was.
fn sources(named: &[String], known: &[Source], disk: &Disk, dir: &Path) -> Result<Vec<Source>, CrawlError> {
    let own = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mut sources: Vec<Source> = Vec::new();
    for name in named {
        let path = match Path::new(name).canonicalize() {
            Ok(path) => path,
            Err(_) => std::path::absolute(name).map_err(|error| disk::Error::io("find", Path::new(name), error))?,
        };
        if path.starts_with(&own) {
            let what = format!("container.dedup_against: {} is of this crawl; name other archives", path.display());
            return Err(CrawlError::Usage(what));
        }
        if sources.iter().any(|source| source.path == path) {
            continue;
        }
        sources.push(match known.iter().find(|source| source.path == path) {
            Some(gone) if !path.exists() => gone.clone(),
            _ if path.is_dir() => of_crawl(disk, path)?,
            _ if path.is_file() => of_file(disk, path)?,
            _ => return Err(missing(&path)),
        });
    }
    Ok(sources)
}

fn is_crawl(disk: &Disk, dir: &Path) -> bool {
    Identity::read_copy(disk, dir).is_ok()
}

fn of_crawl(disk: &Disk, path: PathBuf) -> Result<Source, CrawlError> {
    if !is_crawl(disk, &path) {
        return Err(CrawlError::Usage(format!(
            "container.dedup_against: {} is not a crawl directory; of other archives name a CDXJ file",
            path.display()
        )));
    }
    let mut state = Vec::new();
    for shard in CrawlDirs::open(disk, &path)?.shards() {
        let keys = disk.open_if_there(shard.join(layout::PAGES).join("key.dat"))?;
        let addresses = disk.open_if_there(shard.join(layout::PAGES).join("address.idx"))?;
        for file in [keys, addresses] {
            state.push(file.map_or(Ok(0), |file| file.len())?.to_string());
        }
    }
    Ok(Source { path, is_crawl: true, state: state.join(" ") })
}

fn of_file(disk: &Disk, path: PathBuf) -> Result<Source, CrawlError> {
    let file = disk.open(&path, Mode::Read)?;
    let length = file.len()?;
    let start = length.saturating_sub(END_BYTES);
    let mut end = vec![0; (length - start) as usize];
    file.read_exact_at(&mut end, start)?;
    let state = format!("{length} {:08x}", crc32fast::hash(&end));
    Ok(Source { path, is_crawl: false, state })
}

fn build(disk: &Disk, dir: &Path, sources: &[Source]) -> Result<(), CrawlError> {
    let mut builder = Builder::default();
    for source in sources {
        if source.is_crawl {
            let dirs = CrawlDirs::open(disk, &source.path)?;
            let pages: Vec<PathBuf> = dirs.shards().iter().map(|shard| shard.join(layout::PAGES)).collect();
            let pages: Vec<&Path> = pages.iter().map(PathBuf::as_path).collect();
            let id = Identity::read_copy(disk, &source.path)?.id;
            builder.add_crawl(disk, source.clone(), &pages, id)?;
        } else {
            let broken = builder.add_cdxj(disk, source.clone())?;
            if broken > 0 {
                tracing::warn!("{}: {broken} lines are not CDXJ and are passed over", source.path.display());
            }
        }
    }
    let built = builder.finish(disk, dir)?;
    tracing::info!(
        "dedup index: {} payloads of {} earlier archives, {}",
        built.payloads,
        sources.len(),
        figures::size(built.bytes)
    );
    Ok(())
}
