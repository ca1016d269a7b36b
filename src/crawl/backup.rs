//! A copy of a crawl, also of one that runs: a directory that can be verified, read, and resumed.
//!
//! It has of each shard what its newest checkpoint names ([`inventory`]), as a start after a power cut at that moment
//! would find it. The crawl is not asked, waits for nothing, and nothing is written to its directory.
//!
//! Shards make checkpoints by themselves. One that knew a later checkpoint of another may have forgotten links which
//! that one still has to read, so a copy is complete only when no shard of it knows of a later checkpoint of another
//! than is in it ([`ExchangeState::heads`]). A shard that is behind is brought to its newest checkpoint.
//!
//! [`inventory`]: crate::engine::checkpoint::inventory

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::{CrawlError, directory, figures, options};
use crate::checkpoint::checkpoint_path;
use crate::dirs::CrawlDirs;
use crate::disk::{self, DirectoryLock, Disk, Error, Mode};
use crate::engine::ExchangeState;
use crate::engine::checkpoint::inventory::Named;
use crate::engine::seeds::list_path;
use crate::node::aside;
use crate::record::layout;
use crate::record::{FileKind, NamedFile};
use crate::ship::Copying;

/// Checkpoints of a shard that are begun with before it is given up.
const ATTEMPTS_MAX: u32 = 50;
/// Faults with one checkpoint that are taken for a file that is gone because a later checkpoint has come.
const FAULTS_MAX: u32 = 3;
/// Time after which a crawl is looked at again in which no checkpoint was found.
const ABSENCE: Duration = Duration::from_millis(100);

/// Numbers of what was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackedUp {
    /// Shards of the crawl.
    pub shards: usize,
    /// The checkpoint of the first of them.
    pub checkpoint: u64,
    /// Pages in the archives.
    pub pages: u64,
    /// The number of files.
    pub files: usize,
    /// The bytes in them.
    pub bytes: u64,
}

/// Copies the crawl in `dir` to `target`, which is not there or empty. Where this fails, or is killed, there is no
/// `target`.
pub fn backup(dir: &Path, target: &Path) -> Result<BackedUp, CrawlError> {
    let disk = Disk::real();
    let dirs = CrawlDirs::open(&disk, dir)?;
    refuse(&disk, &dirs, target)?;
    let readers = options::readers(&options::read_copy(&disk, dirs.root())?.unwrap_or_default());
    let made = aside(target);
    disk.remove_dir_all(&made)?;
    disk::create_crawl_dir(&made, readers)?;
    let mut shards = Vec::new();
    for (place, from) in dirs.shards().iter().enumerate() {
        let to = dirs.name(place).map_or_else(|| made.clone(), |name| made.join(name));
        disk::create_crawl_dir(&to, readers)?;
        shards.push(ShardCopy::begin(&disk, from, &to)?);
    }
    while let Some(behind) = (0..shards.len()).find(|&place| is_behind(&shards, place)) {
        shards[behind].bring_on(&disk)?;
    }
    let rest = copy_rest(&disk, &dirs, &made)?;
    shards.iter().try_for_each(|shard| shard.finish(&disk))?;
    // by which it is known as one of a crawl
    drop(DirectoryLock::acquire(&made)?);
    directory::put_in_place(&disk, &made, target)?;
    let copies = || shards.iter().map(|shard| &shard.copying).chain([&rest]);
    let pages =
        shards.iter().filter_map(|shard| shard.named.last.checkpoint.as_ref()).map(|record| record.container.pages);
    Ok(BackedUp {
        shards: shards.len(),
        checkpoint: shards[0].named.last.number,
        pages: pages.sum(),
        files: copies().map(Copying::files).sum(),
        bytes: copies().map(Copying::bytes).sum(),
    })
}

/// Refuses what would be no backup.
fn refuse(disk: &Disk, dirs: &CrawlDirs, target: &Path) -> Result<(), CrawlError> {
    let refused = |what: String| Err(CrawlError::Usage(what));
    if dirs.home() != dirs.root() {
        return refused(format!("{} is one shard of a crawl: back up the directory above it", dirs.root().display()));
    }
    for shard in dirs.shards() {
        if disk.open_if_there(shard.join(layout::SHIPPED))?.is_some() {
            return refused(format!(
                "{} ships its checkpoints to a store, which is its backup: crawler cluster run goes on from there",
                dirs.root().display()
            ));
        }
    }
    let absolute = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    if let (Ok(target), Ok(root)) = (absolute(target), absolute(dirs.root()))
        && target.starts_with(root)
    {
        return refused(format!("{} is in the crawl itself: name a directory elsewhere", target.display()));
    }
    match fs::read_dir(target).map(|mut entries| entries.next().is_some()) {
        Ok(true) => refused(format!("{} is not empty: name a directory that is not there yet", target.display())),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("list", target, error).into()),
    }
}

/// Copies what is of the crawl and of no shard.
fn copy_rest(disk: &Disk, dirs: &CrawlDirs, made: &Path) -> Result<Copying, CrawlError> {
    let mut files = Vec::new();
    for name in layout::BESIDE_CHECKPOINTS.map(Path::new) {
        let is_copied = disk.open_if_there(made.join(name))?.is_some();
        if let Some(file) = disk.open_if_there(dirs.root().join(name))?.filter(|_| !is_copied) {
            files.push(NamedFile::new(name.to_owned(), file.len()?, FileKind::Replaced));
        }
    }
    if dirs.is_sharded() {
        // every checkpoint that was copied knows a part of it, since it only grows
        let list = list_path(dirs.root());
        let path = list.strip_prefix(dirs.root()).expect("it is in the directory").to_owned();
        files.push(NamedFile::new(path, disk.open(list, Mode::Read)?.len()?, FileKind::Grows));
    }
    let mut copying = Copying::new(disk, dirs.root(), made);
    copying.bring(&files)?;
    copying.finish(false)?;
    Ok(copying)
}

/// True if another shard knew of a later checkpoint of the shard at `place` than was copied.
fn is_behind(shards: &[ShardCopy], place: usize) -> bool {
    let mut others = shards.iter().enumerate().filter(|(other, _)| *other != place);
    others.any(|(_, other)| other.heads.get(place).is_some_and(|&known| known > shards[place].named.last.number))
}

/// The copy of a shard.
struct ShardCopy {
    from: PathBuf,
    copying: Copying,
    named: Named,
    /// The checkpoints of the others that it knew of.
    heads: Vec<u64>,
    attempts: u32,
}

impl ShardCopy {
    fn begin(disk: &Disk, from: &Path, to: &Path) -> Result<ShardCopy, CrawlError> {
        let mut copying = Copying::new(disk, from, to);
        let mut attempts = 0;
        let named = bring(disk, from, &mut copying, &mut attempts)?;
        let heads = heads(from, &named)?;
        Ok(ShardCopy { from: from.to_owned(), copying, named, heads, attempts })
    }

    /// Brings it to the newest checkpoint.
    fn bring_on(&mut self, disk: &Disk) -> Result<(), CrawlError> {
        self.named = bring(disk, &self.from, &mut self.copying, &mut self.attempts)?;
        self.heads = heads(&self.from, &self.named)?;
        Ok(())
    }

    /// Makes it durable, with all that is made of it.
    fn finish(&self, disk: &Disk) -> Result<(), CrawlError> {
        let to = self.copying.to();
        self.copying.finish(true)?;
        let identity = &self.named.last.identity;
        if let Some(record) = &self.named.last.checkpoint {
            figures::of_checkpoint(record, identity.created).write(disk, to)?;
        }
        Ok(identity.write_copy(disk, to)?)
    }
}

fn heads(dir: &Path, named: &Named) -> Result<Vec<u64>, CrawlError> {
    let path = checkpoint_path(dir, named.last.number);
    Ok(ExchangeState::read(&named.last.sections.exchange, &path)?.heads)
}

/// Brings a copy to the newest checkpoint in `from`, and begins again where a later one has come meanwhile.
fn bring(disk: &Disk, from: &Path, copying: &mut Copying, attempts: &mut u32) -> Result<Named, CrawlError> {
    let (mut failed, mut faults, mut absences) = (None, 0, 0);
    while *attempts < ATTEMPTS_MAX {
        *attempts += 1;
        let named = Named::newest(disk, from);
        let number = named.as_ref().ok().and_then(Option::as_ref).map(|named| named.last.number);
        match named.and_then(|named| bring_to(disk, from, copying, named)) {
            Ok(Brought::To(named)) => return Ok(*named),
            Ok(Brought::Changed) => {}
            // a busy machine may hold a reader up between the list of the files and each of them
            Ok(Brought::None) if absences < FAULTS_MAX => {
                absences += 1;
                thread::sleep(ABSENCE);
            }
            Ok(Brought::None) => {
                return Err(CrawlError::Usage(format!("{}: no checkpoint is there yet", from.display())));
            }
            Err(fault) => {
                // one that comes again with the same checkpoint has another reason than a later one
                faults = if failed == number { faults + 1 } else { 1 };
                failed = number;
                if faults == FAULTS_MAX {
                    return Err(fault.into());
                }
            }
        }
    }
    Err(CrawlError::Usage(format!(
        "{}: checkpoints come faster than they can be copied: crawl.checkpoint_interval says how often",
        from.display()
    )))
}

/// The result of an attempt.
enum Brought {
    To(Box<Named>),
    /// A compaction changed the archive meanwhile.
    Changed,
    /// There is no checkpoint.
    None,
}

fn bring_to(disk: &Disk, from: &Path, copying: &mut Copying, named: Option<Named>) -> disk::Result<Brought> {
    let Some(named) = named else { return Ok(Brought::None) };
    copying.bring(&named.files)?;
    Ok(match named.has_same_archive(disk, from)? {
        true => Brought::To(Box::new(named)),
        false => Brought::Changed,
    })
}
