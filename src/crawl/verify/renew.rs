//! Making again what a crawl directory says twice: the index of the archive, URL-seen, the plain copies; and emptying
//! what is asked for again anyway, robots rules and addresses.
//!
//! The new files of the stores are beside the old ones, under their own generations. When they are durable, a new
//! checkpoint that names them gets its file. That is the moment at which they count. A kill before it leaves the old
//! checkpoint with the old files; the new ones are then unnamed. Only the index is renamed over the old one: from then
//! on until the checkpoint is durable the mark of [`container::rebuild`] keeps every crawl out, and anyone who rebuilds
//! again starts again.
//!
//! It reports what cannot be known again: keys of URLs that were dropped or failed are in URL-seen only, and what was
//! queued in a damaged file is nowhere else.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::across;
use super::agreement::KeyRef;
use super::answers::{self, AnswerVisitor};
use super::known::{self, Known};
use super::places::Places;
use super::replan::{Replanning, keep_waiting};
use super::stores::{Cut, Harm, Stores};
use super::{copies, faults};
use crate::calendar::wheel;
use crate::checkpoint::{self, Checkpoint, Identity, Sections, begin, checkpoint_path};
use crate::container::imported::is_imported;
use crate::container::{self, ContainerState, Finding, Rebuilt, Report, STAGED, dedup};
use crate::crawl::{import, retention};
use crate::dirs::CrawlDirs;
use crate::disk::sorter::{Sorted, Sorter};
use crate::disk::{DirectoryLock, Disk, Error, Result, SavedState};
use crate::drum::verify::{Check, Operation};
use crate::drum::{DrumState, Renewal, Renewed};
use crate::engine::hold_log;
use crate::engine::seeds::{self, Kept};
use crate::engine::{ExchangeState, Pair, StoreValue};
use crate::frontier::QueuedUrl;
use crate::record::layout::{self, StoreName};
use crate::shard::Shard;

/// Memory in which the keys of a bucket are sorted.
const SORT_MEMORY: usize = 32 << 20;

/// Says what `--rebuild` does about `harm`, and what nobody can do.
pub(super) fn cure(harm: &Harm) -> Vec<String> {
    let mut said = Vec::new();
    if harm.frontier {
        said.push(
            "the queue is damaged: it has no second copy, and --rebuild cannot rebuild it; the crawl cannot \
             resume"
                .to_owned(),
        );
    }
    if harm.lost {
        said.push(
            "URLs on their way to the queue are lost with a damaged file; --rebuild rebuilds URL-seen from the archive \
             and the queue, so that they are accepted when a page links to them again; URLs that were dropped or \
             failed before may come up once more"
                .to_owned(),
        );
    } else if !harm.of(StoreName::Seen).is_empty() {
        said.push(
            "--rebuild rebuilds the damaged part of URL-seen from the archive and the queue; keys of URLs that were \
             dropped or failed have no second copy, so these may come up once more"
                .to_owned(),
        );
    }
    if harm.calendar() {
        said.push(
            "--rebuild puts pages without a place into the calendar again, by the store of visits, the records that \
             are whole, and the archive; pages that were given up as gone may not be known as that any more"
                .to_owned(),
        );
    }
    if !harm.of(StoreName::Support).is_empty() {
        said.push(
            "--rebuild empties the damaged part of the pairs of domains: a link that was counted there may be counted \
             once more as a supporter"
                .to_owned(),
        );
    }
    for store in harm.stores.keys().filter(|&&store| answers::has(store)) {
        said.push(format!(
            "--rebuild empties the damaged part of {}/: its answers are asked for again",
            store.dir_name()
        ));
    }
    said
}

/// Rebuilds what can be rebuilt of the crawl in `dir`, shard by shard; returns the number of key records. Damage that
/// stays goes to `report`, what it means to `notice`.
pub fn rebuild(dir: &Path, report: &mut Report<'_>, notice: &mut dyn FnMut(String)) -> Result<u64> {
    let disk = Disk::real();
    let _lock = DirectoryLock::acquire(dir)?;
    let dirs = CrawlDirs::find(&disk, dir)?;
    if is_imported(&disk, &dir.join(layout::PAGES))? {
        let identity = begin::look(&disk, dir).or_else(|_| Identity::read_copy(&disk, dir).map(Some))?;
        let identity = identity.map_or_else(|| Identity::read_copy(&disk, dir), Ok)?;
        identity.write_copy(&disk, dir)?;
        return Ok(import::index(&disk, dir, &identity, report)?.pages);
    }
    dedup::remove_damaged(&disk, dir)?;
    if !dirs.is_sharded() {
        return Ok(rebuild_one(&disk, dir, dirs.shard(0), report, notice)?.0);
    }
    let (mut records, mut of_crawl) = (0, None);
    retention::restore_lists(&disk, &dirs, notice)?;
    for (place, dir) in dirs.shards().iter().enumerate() {
        if !dir.is_dir() {
            report.damage(dir, 0, "missing: a shard of this crawl; it cannot be rebuilt, and the crawl cannot resume");
            continue;
        }
        let shard = dirs.shard(place);
        let mut notice = |what: String| notice(format!("{}: {what}", shard.dir_name()));
        let _lock = DirectoryLock::acquire(dir)?;
        let (rebuilt, identity) = rebuild_one(&disk, dir, shard, report, &mut notice)?;
        records += rebuilt;
        of_crawl.get_or_insert(across::whole_of(&identity));
    }
    if let Some(identity) = of_crawl {
        identity.write_copy(&disk, dirs.root())?;
    }
    copies::renew_config(&disk, dirs.root())?;
    Ok(records)
}

/// Rebuilds what can be rebuilt of one directory, whose lock the caller holds; returns the number of key records, and
/// its identity.
fn rebuild_one(
    disk: &Disk,
    dir: &Path,
    shard: Shard,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<(u64, Identity)> {
    let copy = known::read_copy(disk, dir, false, &mut Report::new(&mut |_| {}, &mut |_, _| {}))?;
    let mut known = Known::find(disk, dir, report, notice)?;
    let Some(identity) = known.identity.take().or(copy) else {
        let path = dir.join(layout::IDENTITY);
        return Err(Error::damaged(&path, 0, "the identity of the crawl, here or in a checkpoint file", "none"));
    };
    let maker = identity.key_maker();
    let noted = known.checkpoint.as_ref().map(|checkpoint| checkpoint.container.clone());
    let pages = dir.join(layout::PAGES);
    disk.create_dir_all(&pages)?;
    let rebuilt = container::rebuild(disk, &pages, noted.as_ref(), &maker, report)?;
    tell_moved(noted.as_ref(), &rebuilt, notice);
    let records = rebuilt.records;
    let place = copies::CrawlDir { disk, dir, shard: identity.shard() };
    renew_checkpoint(&place, &identity, &mut known, &rebuilt, report, notice)?;
    rebuilt.finish()?;
    identity.write_copy(disk, dir)?;
    copies::renew(disk, dir, shard, &known, identity.created)?;
    // it is empty; where it is not, the next rebuild empties it
    let _ = fs::remove_dir(pages.join(STAGED));
    Ok((records, identity))
}

fn tell_moved(noted: Option<&ContainerState>, rebuilt: &Rebuilt, notice: &mut dyn FnMut(String)) {
    if noted.map(|noted| noted.key_bytes) != rebuilt.noted.as_ref().map(|noted| noted.key_bytes) {
        notice(
            "records of key.dat have moved: the pages on which queued URLs were found are not known any more"
                .to_owned(),
        );
    }
}

/// Writes the checkpoint that names the index and the stores as they are now.
fn renew_checkpoint(
    place: &copies::CrawlDir<'_>,
    identity: &Identity,
    known: &mut Known,
    rebuilt: &Rebuilt,
    report: &mut Report<'_>,
    notice: &mut dyn FnMut(String),
) -> Result<()> {
    let (Some(checkpoint), Some(noted)) = (&known.checkpoint, &rebuilt.noted) else {
        return copies::check_seeds(place, known, report);
    };
    let copies::CrawlDir { disk, dir, shard } = *place;
    let maker = &identity.key_maker();
    let (number, sections) = (checkpoint.number, std::mem::take(&mut known.sections));
    let mut next = Checkpoint { container: noted.clone(), ..checkpoint.clone() };
    // what is stored from now on is behind the beginning of the round
    next.round.from = next.round.from.min(noted.key_bytes);
    let cut = Cut { checkpoint: next.clone(), sections, path: checkpoint_path(dir, number) };
    let (frontier, mut of_queue) = (dir.join(layout::FRONTIER), Vec::<Finding>::new());
    let mut tell = |finding: &Finding| {
        // the queue may be read once more
        if finding.damage && finding.file.starts_with(&frontier) && !of_queue.contains(finding) {
            of_queue.push(finding.clone());
        }
    };
    let mut still = |_, _| {};
    let mut of_stores = Report::new(&mut tell, &mut still);
    let mut stores = Stores::new(disk, dir, cut, &mut of_stores);
    stores.maker = Some(maker);
    stores.seeds = super::seeds_of(disk, dir)?;
    stores.shard = shard;
    stores.run()?;
    // pages whose records are lost do not count
    let pages_stored = stores.pages_stored.unwrap_or(noted.pages);
    let mut harm = std::mem::take(&mut stores.harm);
    let is_queue_harmed = harm.frontier;
    cure(&harm).into_iter().for_each(&mut *notice);
    if harm.lost {
        let buckets = next.stores.get(&StoreName::Seen).map_or(0, DrumState::buckets);
        (0..buckets).for_each(|bucket| harm.add(StoreName::Seen, bucket));
    }
    if !harm.of(StoreName::Seen).is_empty() || harm.calendar() {
        stores.everything = true;
        stores.places = Some(Places::of(stores.cut.checkpoint.number));
        stores.gather()?;
    }
    let (wanted, places) = (stores.take_wanted(), stores.places.take().filter(|_| harm.calendar()));
    let cut = stores.cut.clone();
    drop(stores);
    if is_queue_harmed {
        of_queue.iter().for_each(|Finding { file, offset, what, .. }| report.damage(file, *offset, what.clone()));
    }
    // all that is not rebuilt here is carried over
    let mut sections = cut.sections.clone();
    if !shard.is_whole() {
        let mut exchange = ExchangeState::read(&cut.sections.exchange, &checkpoint_path(dir, number))?;
        across::drop_damaged(disk, dir, shard, &mut exchange, maker, notice)?;
        sections.exchange = exchange.to_section();
    }
    let replanning = Replanning { disk, dir, cut: &cut, harm: &harm, maker };
    let replanned = places.map(|places| replanning.run(places)).transpose()?.flatten();
    replanned.and_then(|replanned| replanned.note(&mut next, &mut sections)).into_iter().for_each(&mut *notice);
    let mut renewing = Renewing { disk, dir, cut: &cut, harm: &harm, next: &mut next, sections: &mut sections };
    renewing.seen(wanted.finish()?)?;
    renewing.empty::<Pair>(|_, _, _| Ok(()))?;
    answers::visit(&mut renewing)?;
    next.statistics.pages_stored = next.statistics.pages_stored.min(pages_stored);
    next.number = number + 1;
    hold_log::carry_over(disk, dir, number, next.number)?;
    match seeds::renew(disk, dir, number, next.number) {
        Ok(Kept::All) => {}
        Ok(Kept::Readable) => notice(
            "outcomes of seeds are lost with a damaged file: such seeds are shown as waiting, and sites that joined \
             the scope because a seed redirects there may have left it; give their URLs as seeds"
                .to_owned(),
        ),
        Err(error) => {
            faults::tell(report, error);
            notice("the seeds are damaged, and cannot be rebuilt; the crawl cannot resume".to_owned());
            return Ok(());
        }
    }
    checkpoint::renew(disk, dir, identity, &next, &sections)?;
    tidy(disk, dir, &next, &sections)?;
    known.checkpoint = Some(next);
    Ok(())
}

/// Removes what only the checkpoint before named. Anyone who opens the crawl would do it as well.
fn tidy(disk: &Disk, dir: &Path, next: &Checkpoint, sections: &Sections) -> Result<()> {
    checkpoint::remove_others(disk, dir, next.number)?;
    for (of, path) in hold_log::files(disk, dir)? {
        if of != next.number {
            disk.remove(&path)?;
        }
    }
    let path = checkpoint_path(dir, next.number);
    for (store, state) in &next.stores {
        let dir = store.dir(dir);
        let saved = SavedState::new(state, sections.store(*store));
        for (path, ours) in Check::new(disk, &dir, saved, &path)?.unknown()? {
            if ours {
                disk.remove(&path)?;
            }
        }
    }
    let Some(calendar) = &next.calendar else { return Ok(()) };
    let dir = dir.join(layout::CALENDAR);
    let named: HashSet<PathBuf> = calendar.files(&dir).map(|(path, _)| path).collect();
    let unknown = wheel::verify::unknown(disk, &dir, |path| named.contains(path))?;
    unknown.into_iter().filter(|(_, ours)| *ours).try_for_each(|(path, _)| disk.remove(&path))
}

/// Puts what stays of a bucket into the renewed one.
type Keep<V> = fn(&Check<'_>, usize, &mut dyn Renewed<V, <V as StoreValue>::Asks>) -> Result<()>;

/// Stores that are rewritten, as far as they are harmed.
struct Renewing<'a> {
    disk: &'a Disk,
    dir: &'a Path,
    cut: &'a Cut,
    harm: &'a Harm,
    /// The checkpoint that names them, and what was in memory.
    next: &'a mut Checkpoint,
    sections: &'a mut Sections,
}

impl Renewing<'_> {
    /// URL-seen, from what is `wanted` in it, from what waits, and from what can be read of the old files, unless URLs
    /// are lost that it would keep away.
    fn seen(&mut self, mut wanted: Sorted) -> Result<()> {
        let dir = StoreName::Seen.dir(self.dir);
        let Some(stored) = self.cut.checkpoint.store(StoreName::Seen, &self.cut.sections) else { return Ok(()) };
        let check = Check::new(self.disk, &dir, stored, &self.cut.path)?;
        let mut renewal = Renewal::<(), QueuedUrl>::begin(&check)?;
        let mut head = wanted.next()?.map(KeyRef::from_bytes);
        for bucket in 0..check.buckets() {
            let harmed = self.harm.of(StoreName::Seen).contains(&bucket);
            let mut keys = Sorter::new(SORT_MEMORY);
            while let Some(line) = head.filter(|line| check.bucket_of(line.key) == bucket) {
                if harmed {
                    keys.push(&line.key.to_be_bytes())?;
                }
                head = wanted.next()?.map(KeyRef::from_bytes);
            }
            if !harmed {
                continue;
            }
            if !self.harm.lost {
                let mut unheard = Vec::new();
                check.repository::<()>(bucket, &mut |key, ()| keys.push(&key.to_be_bytes()), &mut unheard)?;
                let mut each = |operation: Operation<(), QueuedUrl>| match operation.waiting {
                    None if operation.value.is_some() => keys.push(&operation.key.to_be_bytes()),
                    _ => Ok(()),
                };
                check.operations::<(), QueuedUrl>(bucket, &mut each, &mut unheard)?;
            }
            let mut keys = keys.finish()?;
            renewal.bucket(bucket, &mut |renewed| {
                while let Some(key) = keys.next()? {
                    renewed.store(u64::from_be_bytes(std::array::from_fn(|n| key[n])), &())?;
                }
                keep_waiting::<()>(&check, bucket, renewed)
            })?;
        }
        let (state, arrays) = renewal.finish()?;
        self.note(StoreName::Seen, state, arrays);
        Ok(())
    }

    /// Empties the harmed buckets of a store, but for what `keep` puts into them.
    fn empty<V: StoreValue>(&mut self, keep: Keep<V>) -> Result<()> {
        let dir = V::STORE.dir(self.dir);
        let Some(stored) = self.cut.checkpoint.store(V::STORE, &self.cut.sections) else { return Ok(()) };
        let check = Check::new(self.disk, &dir, stored, &self.cut.path)?;
        let mut renewal = Renewal::<V, V::Asks>::begin(&check)?;
        for &bucket in self.harm.of(V::STORE) {
            renewal.bucket(bucket, &mut |renewed| keep(&check, bucket, renewed))?;
        }
        let (state, arrays) = renewal.finish()?;
        self.note(V::STORE, state, arrays);
        Ok(())
    }

    /// Makes the next checkpoint name a store as it is now, with its arrays.
    fn note(&mut self, store: StoreName, state: DrumState, arrays: Vec<u8>) {
        self.next.stores.insert(store, state);
        self.sections.stores.insert(store, arrays);
    }
}

impl AnswerVisitor for Renewing<'_> {
    fn visit<V: StoreValue<Asks = QueuedUrl>>(&mut self) -> Result<()> {
        self.empty::<V>(keep_waiting)
    }
}
