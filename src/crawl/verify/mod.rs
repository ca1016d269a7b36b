//! Verifying a crawl directory, and rebuilding what can be rebuilt: what is read, from where, under which lock.
//!
//! A verification writes nothing to the directory. A rebuild holds the directory's lock. The catalog is not looked at:
//! nothing depends on it.
//!
//! | part | read by |
//! |---|---|
//! | the archive and its index | [`container::verify`] |
//! | plain copies, seeds, logs, rests, the checkpoint's file | `copies` |
//! | stores, queue, and what they say of each other and of the archive | `stores` |
//! | the calendar, and whether each of its pages has one place | `calendar`, `places` |
//! | of a crawl of several shards: what they say of one another | `across` |
//! | of a crawl in a store: its objects, and then the same | `shipped` |

mod across;
mod agreement;
mod answers;
mod calendar;
mod copies;
mod faults;
mod known;
mod places;
mod renew;
mod replan;
mod shipped;
mod stores;
mod support;

use std::path::{Path, PathBuf};

use crate::calendar::wheel;
use crate::checkpoint::{self, checkpoint_path};
use crate::checkpoint::{Identity, begin};
use crate::container::imported::is_imported;
use crate::container::{self, Report, Standing, dedup};
use crate::dirs::CrawlDirs;
use crate::disk::{DirectoryLock, Disk, Error, Result};
use crate::drum;
use crate::engine::ExchangeState;
use crate::engine::seeds::reader;
use crate::record::layout::{self, StoreName};
use crate::shard::Shard;
use across::ShardNoted;
use known::Known;
pub use renew::rebuild;
pub(crate) use shipped::verify_stored;
use stores::{Cut, Harm, Stores};

/// A directory that is verified: that of a crawl of one shard, or of a shard.
#[derive(Clone, Copy)]
struct Place<'a> {
    dir: &'a Path,
    shard: Shard,
    /// True if a process works on it.
    running: bool,
}

/// Verifies the crawl in `dir`, shard by shard, and then what its shards say of one another. `notice` hears what cannot
/// be checked, and why.
pub fn verify(dir: &Path, report: &mut Report<'_>, notice: &mut dyn FnMut(String)) -> Result<()> {
    let disk = Disk::real();
    let dirs = CrawlDirs::find(&disk, dir)?;
    let running = DirectoryLock::is_held(dir);
    if running {
        notice(
            "a crawl is running: lengths and counts of its last checkpoint are not compared with the archive, and what \
             it writes after that checkpoint is not checked"
                .to_owned(),
        );
    }
    dedup::check(&disk, dir, report)?;
    verify_all(&disk, &dirs, running, report, notice)?;
    if !running && DirectoryLock::is_held(dir) {
        notice("a crawl was started meanwhile: what it writes may be among the findings; run verify again".to_owned());
    }
    Ok(())
}

/// The same for a crawl whose checkpoints are in a store, which `disk` shows in `dir`. Its owners may go on meanwhile.
pub fn verify_shipped(disk: &Disk, dir: &Path, report: &mut Report<'_>, notice: &mut dyn FnMut(String)) -> Result<()> {
    notice(shipped::ONLY_NEWEST.to_owned());
    verify_all(disk, &CrawlDirs::find(disk, dir)?, true, report, notice)
}

fn verify_all(
    disk: &Disk,
    dirs: &CrawlDirs,
    running: bool,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<()> {
    if dirs.is_sharded() {
        return verify_shards(disk, dirs, running, report, notice);
    }
    verify_one(disk, Place { dir: dirs.root(), shard: dirs.shard(0), running }, report, notice).map(drop)
}

/// Verifies all shards of a crawl.
fn verify_shards(
    disk: &Disk,
    dirs: &CrawlDirs,
    running: bool,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<()> {
    let (mut identities, mut noted) = (Vec::new(), Vec::new());
    for (place, dir) in dirs.shards().iter().enumerate() {
        let shard = dirs.shard(place);
        let mut notice = |what: String| notice(format!("{}: {what}", shard.dir_name()));
        if !is_missing(disk, dir) {
            let (identity, of_shard) = verify_one(disk, Place { dir, shard, running }, report, &mut notice)?;
            identities.push(identity);
            noted.push(of_shard);
        } else {
            report.damage(dir, 0, "missing: a shard of this crawl; it cannot be rebuilt, and the crawl cannot resume");
            identities.push(None);
            noted.push(ShardNoted::default());
        }
    }
    across::check_identities(disk, dirs, &identities, report, notice)?;
    let last = across::last(disk, dirs, running, &noted)?;
    across::check(disk, dirs, &across::Shards { noted: &noted, last: &last, running }, report, notice)?;
    let root = copies::CrawlDir { disk, dir: dirs.root(), shard: Shard::WHOLE };
    copies::check_config(&root, report)?;
    if !running {
        copies::check_root_names(&root, dirs, report)?;
    }
    Ok(())
}

fn is_missing(disk: &Disk, dir: &Path) -> bool {
    disk.list(dir).is_err_and(|error| error.is_not_found())
}

/// Returns true where the directory has nothing yet by which a crawl goes on, nor a page.
fn is_unmade(disk: &Disk, dir: &Path) -> Result<bool> {
    let is_there = |path: PathBuf| Ok::<_, Error>(disk.open_if_there(path)?.is_some());
    Ok(!begin::is_begun(disk, dir)
        && !is_there(Identity::copy_path(dir))?
        && !is_there(dir.join(layout::PAGES).join("key.dat"))?)
}

/// Verifies one directory; returns its identity, and what it notes of other shards.
fn verify_one(
    disk: &Disk,
    place: Place<'_>,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<(Option<Identity>, ShardNoted)> {
    let Place { dir, shard, running } = place;
    if !running && is_unmade(disk, dir)? {
        notice("the start that was to make this crawl was cut off: the next one makes it".to_owned());
        return Ok((None, ShardNoted { number: Some(0), exchange: Some(ExchangeState::default()) }));
    }
    let (standing, identity, mut known) = if running {
        (Standing::Running, known::read_copy(disk, dir, false, report)?, None)
    } else {
        let mut known = Known::find(disk, dir, report, notice)?;
        let copy = known::read_copy(disk, dir, known.is_new(), report)?;
        let identity = known::same_identity(dir, known.identity.take(), copy, report);
        (known.standing(), identity, Some(known))
    };
    let maker = identity.as_ref().map(Identity::key_maker);
    if maker.is_none() {
        notice("without the identity of the crawl, fingerprints are not compared".to_owned());
    }
    let pages = dir.join(layout::PAGES);
    container::verify(disk, &pages, &standing, maker.as_ref(), report)?;
    if is_imported(disk, &pages)? {
        // there is nothing else
        return Ok((identity, ShardNoted::default()));
    }
    let cut = match &mut known {
        Some(known) => {
            copies::check(&copies::CrawlDir { disk, dir, shard }, known, report, notice)?;
            cut_of(dir, known, report)
        }
        None => newest(disk, dir, report)?,
    };
    let noted = ShardNoted::of(dir, cut.as_ref(), known.as_ref(), report);
    let knows_its_domains = identity.as_ref().is_none_or(Identity::knows_its_domains);
    if let Some(cut) = cut {
        let mut stores = Stores::new(disk, dir, cut, report);
        stores.running = running;
        stores.maker = maker.as_ref();
        stores.seeds = seeds_of(disk, dir)?;
        stores.shard = shard;
        stores.checks_owners = knows_its_domains;
        stores.run()?;
        let harm = stores.harm;
        tell_cure(&harm, notice);
    } else if known.as_ref().is_some_and(Known::is_new) {
        nothing_named(disk, dir, report)?;
    }
    Ok((identity, noted))
}

/// The last checkpoint of a crawl that has stopped, as it is verified.
fn cut_of(dir: &Path, known: &mut Known, report: &mut Report<'_>) -> Option<Cut> {
    report.summary.files += u64::from(known.number.is_some());
    let checkpoint = known.checkpoint.clone()?;
    let path = checkpoint_path(dir, checkpoint.number);
    Some(Cut { checkpoint, sections: std::mem::take(&mut known.sections), path })
}

/// The last checkpoint by the files.
fn newest(disk: &Disk, dir: &Path, report: &mut Report<'_>) -> Result<Option<Cut>> {
    match checkpoint::newest(disk, dir) {
        Ok(found) => Ok(found.map(|(checkpoint, sections)| Cut::new(dir, checkpoint, sections))),
        Err(error) if drum::verify::is_fault(&error) => {
            faults::tell(report, error);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the number of seeds of the crawl; `None` where that cannot be known.
fn seeds_of(disk: &Disk, dir: &Path) -> Result<Option<u64>> {
    match reader::count(disk, dir) {
        Ok(count) => Ok(count),
        // the check of the list itself reports it
        Err(error) if drum::verify::is_fault(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Before the first checkpoint every file of the stores will be removed.
fn nothing_named(disk: &Disk, dir: &Path, report: &mut Report<'_>) -> Result<()> {
    for store in StoreName::ALL {
        let dir = store.dir(dir);
        if store.is_always_there() || dir.exists() {
            stores::left_over(report, &dir, drum::verify::unknown(disk, &dir, |_| false)?);
        }
    }
    let calendar = dir.join(layout::CALENDAR);
    if calendar.exists() {
        stores::left_over(report, &calendar, wheel::verify::unknown(disk, &calendar, |_| false)?);
    }
    let dir = dir.join(layout::FRONTIER);
    stores::left_over(report, &dir, crate::frontier::verify::unknown(disk, &dir, |_| false)?);
    Ok(())
}

/// Says what can be done about the stores, and what cannot be known again.
fn tell_cure(harm: &Harm, notice: &mut dyn FnMut(String)) {
    for what in renew::cure(harm) {
        notice(what);
    }
}
