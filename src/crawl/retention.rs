//! `crawler compact` and `crawler forget` where no crawl runs: what is read, under which locks, and what is refused.

use std::path::{Path, PathBuf};

use super::CrawlError;
use super::{import, options};
use crate::checkpoint;
use crate::clock::{Clock, SystemClock};
use crate::container::retention::list::{self, Act, ForgottenList};
use crate::container::retention::offline::{self, Compacted};
use crate::container::retention::plan::Rule;
use crate::container::{ContainerState, Keep};
use crate::dirs::CrawlDirs;
use crate::disk::{DirectoryLock, Disk, Error};
use crate::record::layout;

/// The reason why nothing of an imported archive is removed.
const STAY: &str = "and stay as they were; import again without those that are to go";

/// Hears of each value file that was rewritten: its name, and what was done so far.
pub(crate) type Tell<'a> = dyn FnMut(&str, &Compacted) + 'a;

/// Compacts the archive of the crawl in `dir`, each shard's by itself. `keep` stands in for what the settings of the
/// last run say.
pub fn compact(dir: &Path, keep: Option<Keep>, tell: &mut Tell<'_>) -> Result<Compacted, CrawlError> {
    let disk = Disk::real();
    import::refuse(&disk, dir, STAY)?;
    let _lock = DirectoryLock::acquire(dir)?;
    let dirs = CrawlDirs::open(&disk, dir)?;
    let mut done = Compacted::default();
    for shard in dirs.shards() {
        let _lock = if dirs.is_sharded() { Some(DirectoryLock::acquire(shard)?) } else { None };
        let Some(noted) = noted(&disk, shard)? else { continue };
        let pages = shard.join(layout::PAGES);
        let rule = rule(&disk, &dirs, &pages, keep)?;
        let before = done;
        let of_shard = offline::compact(&disk, &pages, &noted, &rule, &mut |name, now| tell(name, &sum(&before, now)))?;
        done = sum(&before, &of_shard);
    }
    Ok(done)
}

/// Returns what [`compact`] would do; beside a running crawl, by its last checkpoint.
pub fn estimate(dir: &Path, keep: Option<Keep>) -> Result<Compacted, CrawlError> {
    let disk = Disk::real();
    import::refuse(&disk, dir, STAY)?;
    let dirs = CrawlDirs::open(&disk, dir)?;
    let mut would = Compacted::default();
    for shard in dirs.shards() {
        let Some((checkpoint, _)) = checkpoint::newest(&disk, shard)? else { continue };
        let pages = shard.join(layout::PAGES);
        let rule = rule(&disk, &dirs, &pages, keep)?;
        would = sum(&would, &offline::estimate(&disk, &pages, &checkpoint.container, rule)?);
    }
    Ok(would)
}

/// Takes `acts` down in the lists of the crawl in `dir`, which does not run; says how many are new.
pub fn forget(dir: &Path, acts: &[Act]) -> Result<usize, CrawlError> {
    let disk = Disk::real();
    import::refuse(&disk, dir, STAY)?;
    let _lock = DirectoryLock::acquire(dir)?;
    let (dirs, mut new) = (CrawlDirs::open(&disk, dir)?, 0);
    for pages in archives(&dirs) {
        disk.create_dir_all(&pages)?;
        new = new.max(ForgottenList::read(&disk, &pages)?.add(&disk, &pages, acts)?);
    }
    Ok(new)
}

/// Returns what was ever forgotten in the crawl in `dir`, or taken back.
pub fn forgotten(dir: &Path) -> Result<ForgottenList, CrawlError> {
    let disk = Disk::real();
    Ok(CrawlDirs::open(&disk, dir)?.forgotten(&disk)?)
}

/// Puts the list of another shard in the place of a damaged one: all shards have the same, and the longest has all of
/// it. A damaged one stays where no other has a single act. `notice` hears of each that was replaced.
pub(super) fn restore_lists(disk: &Disk, dirs: &CrawlDirs, notice: &mut dyn FnMut(String)) -> Result<(), Error> {
    let (mut longest, mut damaged) = (ForgottenList::default(), Vec::new());
    for pages in archives(dirs) {
        match ForgottenList::read(disk, &pages) {
            Ok(list) if list.acts().len() > longest.acts().len() => longest = list,
            Ok(_) => {}
            Err(Error::Damaged { .. }) => damaged.push(pages),
            Err(error) => return Err(error),
        }
    }
    if longest.acts().is_empty() {
        return Ok(());
    }
    for pages in damaged {
        longest.write(disk, &pages)?;
        notice(format!("{}: damaged; the list of another shard is in its place now", list::path(&pages).display()));
    }
    Ok(())
}

fn archives(dirs: &CrawlDirs) -> impl Iterator<Item = PathBuf> {
    dirs.shards().iter().map(|dir| dir.join(layout::PAGES))
}

/// Returns the archive's state in the last checkpoint of the shard in `dir`; `None` before the first one. A crawl that
/// was killed has to take in first what was stored after it.
fn noted(disk: &Disk, dir: &Path) -> Result<Option<ContainerState>, CrawlError> {
    let Some(checkpoint) = checkpoint::Last::find(disk, dir)?.and_then(|last| last.checkpoint) else {
        return Ok(None);
    };
    if !checkpoint.clean {
        let what = "its crawl was killed or did not end: run it again, stop it with Ctrl-C, and then compact";
        return Err(CrawlError::Usage(format!("{}: {what}", dir.display())));
    }
    Ok(Some(checkpoint.container))
}

fn rule(disk: &Disk, dirs: &CrawlDirs, pages: &Path, keep: Option<Keep>) -> Result<Rule, CrawlError> {
    let of_settings = || -> Result<Keep, Error> {
        Ok(options::read_copy(disk, dirs.home())?.map_or(Keep::All, |config| config.container.keep))
    };
    let keep = keep.map_or_else(of_settings, Ok)?;
    let list = ForgottenList::read(disk, pages)?.into();
    Ok(Rule { keep, now: SystemClock::new().now(), list, strict: true })
}

fn sum(one: &Compacted, other: &Compacted) -> Compacted {
    Compacted {
        files: one.files + other.files,
        pages: one.pages + other.pages,
        forgotten: one.forgotten + other.forgotten,
        bytes: one.bytes + other.bytes,
        moved: one.moved + other.moved,
    }
}
