//! Every file of the stores and the queue that the last checkpoint names, and whether they agree.
//!
//! ```text
//! robots, DNS ─► URLs that wait ─┐                       ┌─► key of every one in URL-seen?
//! partitions  ─► queued URLs ────┼─► sorted by key ──────┤   bucket by bucket, both in order
//! key.dat     ─► archived pages ─┘   sorted by via ──────┴─► a key record at every one?
//! ```
//! Sorting takes a bounded share of memory and one temporary file beside the crawl, so all of them are asked about.
//!
//! Beside a running crawl a newer checkpoint may replace files that are still to be read. Then the newest one is read
//! and the bucket or partition begun again. That is sound, because keys only come to URL-seen and to key.dat: what an
//! older checkpoint has queued or archived, a newer one has seen. So URL-seen is read after what has to be in it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::agreement::{Join, KeyRef};
use super::answers::{self, AnswerVisitor};
use super::faults;
use super::places::Places;
use crate::calendar::Visited;
use crate::checkpoint::{self, Checkpoint, Sections, checkpoint_path};
use crate::container::keys::KeyFile;
use crate::container::{ContainerState, KeyRecord, Report};
use crate::disk::sorter::Sorter;
use crate::disk::{Disk, Error, Result, SavedState};
use crate::drum::verify::{Check, Operation, is_fault};
use crate::engine::StoreValue;
use crate::engine::values::decode_rules;
use crate::frontier::QueuedUrl;
use crate::frontier::verify::Check as FrontierCheck;
use crate::record::layout::{self, StoreName};
use crate::shard::Shard;
use crate::web::url::{CanonicalUrl, KeyMaker};

/// Memory of each of the sorters.
const SORT_MEMORY: usize = 32 << 20;
/// Findings of one kind that are reported one by one.
const TOLD_MAX: u64 = 20;

/// The damage that was found, as far as a rebuild has to know it.
#[derive(Debug, Default)]
pub(super) struct Harm {
    /// Buckets that have to be written again.
    pub stores: BTreeMap<StoreName, BTreeSet<usize>>,
    /// Slots of the calendar whose file is damaged.
    pub slots: BTreeSet<usize>,
    /// Pages that are due some time and are neither in the calendar nor queued.
    pub unplaced: u64,
    /// True if URLs on their way are lost with them.
    pub lost: bool,
    /// True if the queue is damaged.
    pub frontier: bool,
}

impl Harm {
    /// Buckets of a store that have to be written again.
    pub(super) fn of(&self, store: StoreName) -> &BTreeSet<usize> {
        const NONE: &BTreeSet<usize> = &BTreeSet::new();
        self.stores.get(&store).unwrap_or(NONE)
    }

    /// Notes that a bucket of a store has to be written again.
    pub(super) fn add(&mut self, store: StoreName, bucket: usize) {
        self.stores.entry(store).or_default().insert(bucket);
    }

    /// True if pages could be forgotten that are to be fetched again.
    pub(super) fn calendar(&self) -> bool {
        !self.of(StoreName::Visits).is_empty() || !self.slots.is_empty() || self.unplaced > 0
    }
}

/// Notes what a value says of its key.
type Note<S, V> = fn(&mut S, u64, &V) -> Result<()>;

/// A checkpoint with what was in memory.
#[derive(Debug)]
pub(super) struct Cut {
    pub checkpoint: Checkpoint,
    pub sections: Sections,
    pub path: PathBuf,
}

impl Cut {
    pub(super) fn new(dir: &Path, checkpoint: Checkpoint, sections: Sections) -> Self {
        let path = checkpoint_path(dir, checkpoint.number);
        Cut { checkpoint, sections, path }
    }
}

/// Goes through the stores of a crawl.
pub(super) struct Stores<'a, 'r> {
    pub disk: &'a Disk,
    pub dir: &'a Path,
    /// True if a newer checkpoint may come.
    pub running: bool,
    pub cut: Rc<Cut>,
    /// Makes the fingerprints of the crawl; without it they are not compared.
    pub maker: Option<&'a KeyMaker>,
    /// Number of seeds, where that is known.
    pub seeds: Option<u64>,
    /// The shard that they are of.
    pub shard: Shard,
    /// True if every URL has to be one that the shard owns. By another list of public suffixes that cannot be judged.
    pub checks_owners: bool,
    pub report: &'a mut Report<'r>,
    pub harm: Harm,
    /// Pages that key.dat has, once they were counted.
    pub pages_stored: Option<u64>,
    /// True to ask about URLs, too, that were taken from the queue.
    pub everything: bool,
    /// Places of pages that are fetched again, where any are; until they are judged.
    pub places: Option<Places>,
    pub(super) wanted: Sorter,
    vias: Sorter,
    /// Files that lines refer to.
    sources: Vec<PathBuf>,
    replayed: HashSet<u64>,
    told: BTreeMap<&'static str, (u64, PathBuf)>,
}

impl<'a, 'r> Stores<'a, 'r> {
    pub(super) fn new(disk: &'a Disk, dir: &'a Path, cut: Cut, report: &'a mut Report<'r>) -> Self {
        let replayed = cut.sections.replayed.iter().map(|(key, _)| key.bits()).collect();
        let places = cut.checkpoint.calendar.is_some().then(|| Places::of(cut.checkpoint.number));
        Stores {
            disk,
            dir,
            running: false,
            cut: Rc::new(cut),
            maker: None,
            seeds: None,
            shard: Shard::WHOLE,
            checks_owners: false,
            report,
            harm: Harm::default(),
            pages_stored: None,
            everything: false,
            places,
            wanted: Sorter::new(SORT_MEMORY),
            vias: Sorter::new(SORT_MEMORY),
            sources: Vec::new(),
            replayed,
            told: BTreeMap::new(),
        }
    }

    /// Goes through all of them.
    pub(super) fn run(&mut self) -> Result<()> {
        let keys_are_sound = self.gather()?;
        self.seen()?;
        self.support()?;
        if keys_are_sound {
            self.check_vias()?;
        }
        self.judge_places()?;
        self.tell_rest();
        Ok(())
    }

    /// Goes through all but URL-seen, and notes what has to be in it. Says whether key.dat could be read to its end.
    pub(super) fn gather(&mut self) -> Result<bool> {
        answers::visit(self)?;
        self.store(Self::note_visits)?;
        self.calendar()?;
        self.frontier()?;
        self.pages()
    }

    /// Takes out the keys that have to be in URL-seen, to be sorted.
    pub(super) fn take_wanted(&mut self) -> Sorter {
        std::mem::replace(&mut self.wanted, Sorter::new(0))
    }

    /// Returns whether one of `faults` may be due to a newer checkpoint, which is the one to go on with then.
    pub(super) fn is_superseded(&mut self, faults: &[Error]) -> Result<bool> {
        if !self.running || !faults.iter().any(Error::is_not_found) {
            return Ok(false);
        }
        let Some((checkpoint, sections)) = checkpoint::newest(self.disk, self.dir)? else { return Ok(false) };
        let is_newer = checkpoint.number != self.cut.checkpoint.number;
        if is_newer {
            self.cut = Rc::new(Cut::new(self.dir, checkpoint, sections));
            self.replayed.extend(self.cut.sections.replayed.iter().map(|(key, _)| key.bits()));
        }
        Ok(is_newer)
    }

    /// Goes through a store that URLs wait in, and has each of its values noted.
    fn store<V: StoreValue<Asks = QueuedUrl>>(&mut self, note: Note<Self, V>) -> Result<()> {
        let store = V::STORE;
        let (disk, dir) = (self.disk, store.dir(self.dir));
        let mut bucket = 0;
        'cuts: loop {
            let cut = self.cut.clone();
            let Some(check) = self.open(disk, &dir, store, &cut, bucket == 0)? else { return Ok(()) };
            while bucket < check.buckets() {
                let (mut faults, mut of_repository) = (Vec::new(), Vec::new());
                check.repository::<V>(bucket, &mut |key, value| note(self, key, &value), &mut of_repository)?;
                let mut each = |operation: Operation<V, QueuedUrl>| {
                    operation.value.map_or(Ok(()), |value| note(self, operation.key, &value))?;
                    match operation.waiting {
                        Some(url) if store == StoreName::Visits => self.waits_for_visits(&url, &dir),
                        Some(url) => self.queued(&url, false, &dir, 0),
                        None => Ok(()),
                    }
                };
                check.operations::<V, QueuedUrl>(bucket, &mut each, &mut faults)?;
                let lost = !faults.is_empty();
                faults.append(&mut of_repository);
                if self.is_superseded(&faults)? {
                    continue 'cuts;
                }
                // what waits there is due, and is put into the calendar again
                self.harm.lost |= lost && store != StoreName::Visits;
                if !faults.is_empty() {
                    self.harm.add(store, bucket);
                }
                faults.into_iter().for_each(|fault| self.tell(fault));
                self.report.advance(check.bytes(bucket));
                bucket += 1;
            }
            return self.tidy_drum(&check);
        }
    }

    /// The store as `cut` knows it; `None` where that is no store. `first` says that it is counted.
    pub(super) fn open<'c>(
        &mut self,
        disk: &Disk,
        dir: &'c Path,
        store: StoreName,
        cut: &'c Cut,
        first: bool,
    ) -> Result<Option<Check<'c>>> {
        let Some(state) = cut.checkpoint.store(store, &cut.sections) else { return Ok(None) };
        let mut check = match Check::new(disk, dir, state, &cut.path) {
            Ok(check) => check,
            Err(error) if is_fault(&error) => {
                self.tell(error);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if first {
            let bytes = (0..check.buckets()).map(|bucket| check.bytes(bucket)).sum();
            self.report.expect(bytes);
            self.report.summary.bytes += bytes;
            self.report.summary.files += check.files();
            if let Some(fault) = check.unreadable() {
                self.harm.lost = true;
                self.tell(fault);
            }
        }
        Ok(Some(check))
    }

    /// Goes through the queue.
    fn frontier(&mut self) -> Result<()> {
        let (disk, dir) = (self.disk, self.dir.join(layout::FRONTIER));
        let mut partition = 0;
        'cuts: loop {
            let cut = self.cut.clone();
            let queue = SavedState::new(&cut.checkpoint.frontier, &cut.sections.frontier);
            let opened = FrontierCheck::new(disk, &dir, queue, &cut.path, decode_rules, cut.checkpoint.time);
            let check = match opened {
                Ok(check) => check,
                Err(error) if is_fault(&error) => {
                    self.harm.frontier = true;
                    self.tell(error);
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            if partition == 0 {
                let bytes = (0..check.partitions()).map(|partition| check.bytes(partition)).sum();
                self.report.expect(bytes);
                self.report.summary.bytes += bytes;
                self.report.summary.files += check.named().len() as u64;
                check.memory(&mut |url, taken, path, at| self.queued(url, taken, path, at))?;
            }
            while partition < check.partitions() {
                let mut faults = Vec::new();
                let mut each = |url: &QueuedUrl, taken, path: &Path, at| self.queued(url, taken, path, at);
                check.partition(partition, &mut each, &mut faults)?;
                if self.is_superseded(&faults)? {
                    continue 'cuts;
                }
                self.harm.frontier |= !faults.is_empty();
                faults.into_iter().for_each(|fault| self.tell(fault));
                self.report.advance(check.bytes(partition));
                partition += 1;
            }
            if !self.running {
                self.grown(check.grown()?);
                self.unknown(&dir, check.unknown()?);
            }
            return Ok(());
        }
    }

    /// Notes the visits of the page with `key`.
    fn note_visits(&mut self, key: u64, visited: &Visited) -> Result<()> {
        self.want(key, &StoreName::Visits.dir(self.dir))?;
        self.places.as_mut().map_or(Ok(()), |places| places.visited(key, visited))
    }

    /// Notes that URL-seen has to have a key that is in the file or the directory `path`.
    pub(super) fn want(&mut self, key: u64, path: &Path) -> Result<()> {
        let source = self.source(path);
        self.wanted.push(&KeyRef::queued(key, source, 0).to_bytes())
    }

    /// Returns the kind of what has to be known by a file that lines refer to, in words.
    fn kind_of(&self, source: u32) -> &'static str {
        let part = self.sources.get(source as usize).and_then(|path| path.strip_prefix(self.dir).ok());
        match part.and_then(|part| part.iter().next()).and_then(|part| part.to_str()) {
            Some(part) if part == StoreName::Visits.dir_name() => "a page with visits",
            Some(layout::CALENDAR) => "a page of the calendar",
            _ => "a queued URL",
        }
    }

    /// Notes a queued URL that is at `at` of `path`.
    fn queued(&mut self, url: &QueuedUrl, taken: bool, path: &Path, at: u64) -> Result<()> {
        if taken && !self.everything {
            return Ok(());
        }
        let source = self.source(path);
        self.wanted.push(&KeyRef::queued(url.key.bits(), source, at).to_bytes())?;
        if taken {
            return Ok(());
        }
        if let Some(places) = self.places.as_mut().filter(|_| url.forced) {
            places.queued(url.key.bits())?;
        }
        self.waits(url, source, at)
    }

    /// Compares what a queued URL says of itself, and notes the page that named it.
    pub(super) fn waits(&mut self, url: &QueuedUrl, source: u32, at: u64) -> Result<()> {
        if let Some(maker) = self.maker {
            let keys = CanonicalUrl::parse(&url.url).ok().map(|canonical| maker.keys(&canonical));
            let fits = keys.is_some_and(|keys| {
                (keys.key, keys.origin, keys.host, keys.domain) == (url.key, url.origin, url.host, url.domain)
            });
            if !fits {
                let what = format!("a queued URL with fingerprints of another: {}", url.url);
                self.some("URLs with fingerprints of others", source, at, what);
            }
        }
        if self.checks_owners && !self.shard.owns(url.domain) {
            let what = format!("a queued URL that another shard owns: {}", url.url);
            self.some("URLs that other shards own", source, at, what);
        }
        if self.seeds.is_some_and(|seeds| u64::from(url.seed) >= seeds) {
            let what = format!("a queued URL of seed {}, which does not exist: {}", url.seed, url.url);
            self.some("URLs of seeds that do not exist", source, at, what);
        }
        match self.shard.named_by(url.via) {
            // what another shard's archive has there is no fault of this one
            Some((shard, via)) if shard == self.shard.index() => {
                self.vias.push(&KeyRef::queued(via, source, at).to_bytes())
            }
            _ => Ok(()),
        }
    }

    /// The number of a file in lines.
    pub(super) fn source(&mut self, path: &Path) -> u32 {
        let same = |known: &PathBuf| known.as_os_str() == path.as_os_str();
        if !self.sources.last().is_some_and(same) {
            self.sources.push(path.to_owned());
        }
        (self.sources.len() - 1) as u32
    }

    /// Notes the pages that the checkpoint knows, and counts them. Says whether key.dat could be read.
    fn pages(&mut self) -> Result<bool> {
        let Some(keys) = self.keys()? else { return Ok(false) };
        let cut = self.cut.clone();
        let mut pages = 0_u64;
        for record in keys.scan_to(0, cut.checkpoint.container.key_bytes) {
            let record = match record {
                Ok(record) => record,
                // the verification of the archive reports it
                Err(error) if is_fault(&error) => return Ok(false),
                Err(error) => return Err(error),
            };
            // answers to requests for robots.txt are of the shard that asked, wherever they come from
            // and so is what pages asked for that were rendered, which are no URLs of the crawl by that
            pages += u64::from(!record.robots);
            if !record.robots && !record.of_rendering {
                self.wanted.push(&KeyRef::page(record.key.bits(), record.offset).to_bytes())?;
                if let Some(places) = self.places.as_mut().filter(|_| self.everything) {
                    places.page(record.key.bits(), record.offset)?;
                }
                self.check_owner(&record);
            }
        }
        self.pages_stored = Some(pages);
        let stored = cut.checkpoint.statistics.pages_stored;
        if pages < stored {
            let what = format!("{pages} pages; the statistics of the last checkpoint count {stored}");
            self.report.damage(&self.key_path(), 0, what);
        }
        Ok(true)
    }

    /// Checks that a page belongs to this shard.
    fn check_owner(&mut self, record: &KeyRecord) {
        let Some(maker) = self.maker.filter(|_| self.checks_owners && !self.shard.is_whole()) else { return };
        let domain = CanonicalUrl::parse(&record.url).map(|url| maker.keys(&url).domain);
        if domain.is_ok_and(|domain| !self.shard.owns(domain)) {
            let source = self.source(&self.key_path());
            let what = format!("a page that another shard owns: {}", record.url);
            self.some("pages that other shards own", source, record.offset, what);
        }
    }

    fn key_path(&self) -> PathBuf {
        self.dir.join(layout::PAGES).join("key.dat")
    }

    fn keys(&self) -> Result<Option<KeyFile>> {
        match KeyFile::open_for_reading(self.disk, &self.dir.join(layout::PAGES)) {
            Ok(keys) => Ok(Some(keys)),
            Err(error) if is_fault(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Goes through URL-seen, and asks it about everything that was noted.
    fn seen(&mut self) -> Result<()> {
        let (disk, dir) = (self.disk, StoreName::Seen.dir(self.dir));
        let mut join = Join::new(self.take_wanted().finish()?)?;
        let mut bucket = 0;
        'cuts: loop {
            let cut = self.cut.clone();
            let Some(check) = self.open(disk, &dir, StoreName::Seen, &cut, bucket == 0)? else { return Ok(()) };
            while bucket < check.buckets() {
                let mut faults = Vec::new();
                let mut pending = Sorter::new(SORT_MEMORY);
                let source = self.source(&dir);
                let mut each = |operation: Operation<(), QueuedUrl>| {
                    if operation.value.is_some() {
                        pending.push(&operation.key.to_be_bytes())?;
                    }
                    operation.waiting.map_or(Ok(()), |url| self.waits(&url, source, 0))
                };
                check.operations::<(), QueuedUrl>(bucket, &mut each, &mut faults)?;
                if self.is_superseded(&faults)? {
                    continue 'cuts;
                }
                let lost = !faults.is_empty();
                let mut missing = Vec::new();
                join.begin(pending.finish()?)?;
                let replayed = &self.replayed;
                let mut absent = |line: KeyRef| {
                    if !lost && !replayed.contains(&line.key) {
                        missing.push(line);
                    }
                };
                check.repository::<()>(bucket, &mut |key, ()| join.advance_to(key, &mut absent), &mut faults)?;
                if self.is_superseded(&faults)? {
                    continue 'cuts;
                }
                let sound = faults.is_empty();
                join.end(&mut |line| {
                    let ours = check.bucket_of(line.key) == bucket;
                    if ours && sound && !self.replayed.contains(&line.key) {
                        missing.push(line);
                    }
                    ours
                })?;
                self.harm.lost |= lost;
                if !sound || !missing.is_empty() {
                    self.harm.add(StoreName::Seen, bucket);
                }
                faults.into_iter().for_each(|fault| self.tell(fault));
                missing.into_iter().try_for_each(|line| self.missing(line))?;
                self.report.advance(check.bytes(bucket));
                bucket += 1;
            }
            return self.tidy_drum(&check);
        }
    }

    /// Tells of something that URL-seen does not know.
    fn missing(&mut self, line: KeyRef) -> Result<()> {
        let KeyRef { source, at, .. } = line;
        let kind = "keys that URL-seen does not have";
        match source {
            Some(source) => {
                let what = format!("{} that URL-seen does not know, key {:016x}", self.kind_of(source), line.key);
                self.some(kind, source, at, what);
            }
            None => {
                let url = match self.keys()? {
                    Some(keys) => keys.read_if_whole(at)?.map(|record| record.url).unwrap_or_default(),
                    None => String::new(),
                };
                let source = self.source(&self.key_path());
                self.some(kind, source, at, format!("a page whose URL URL-seen does not know: {url}"));
            }
        }
        Ok(())
    }

    /// Checks that there is a key record wherever a queued URL says that its page has one.
    fn check_vias(&mut self) -> Result<()> {
        let mut vias = Join::new(std::mem::replace(&mut self.vias, Sorter::new(0)).finish()?)?;
        let Some(keys) = self.keys()? else { return Ok(()) };
        vias.begin(Sorter::new(0).finish()?)?;
        let mut wrong = Vec::new();
        let ContainerState { key_bytes, moved_bytes, .. } = self.cut.checkpoint.container;
        let mut note = |line: KeyRef| {
            // of what is kept from before a rebuild nobody knows the page
            if line.key >= moved_bytes && (wrong.len() as u64) <= TOLD_MAX {
                wrong.push(line);
            }
        };
        for record in keys.scan_to(0, key_bytes) {
            match record {
                Ok(record) => vias.advance_to(record.offset, &mut note)?,
                Err(error) if is_fault(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        vias.end(&mut |line| {
            note(line);
            true
        })?;
        for line in wrong {
            let what =
                format!("a queued URL says that its page has a key record at byte {}, where none begins", line.key);
            self.some("URLs whose page has no key record", line.source.unwrap_or_default(), line.at, what);
        }
        Ok(())
    }

    /// Tells of a fault of a file.
    pub(super) fn tell(&mut self, fault: Error) {
        faults::tell(self.report, fault);
    }

    /// Tells of something of which there may be many.
    pub(super) fn some(&mut self, kind: &'static str, source: u32, at: u64, what: String) {
        let path = self.sources.get(source as usize).cloned().unwrap_or_default();
        let (count, _) = self.told.entry(kind).or_insert_with(|| (0, path.clone()));
        *count += 1;
        if *count <= TOLD_MAX {
            self.report.damage(&path, at, what);
        }
    }

    fn tell_rest(&mut self) {
        for (kind, (count, path)) in std::mem::take(&mut self.told) {
            if let Some(more) = count.checked_sub(TOLD_MAX).filter(|&more| more > 0) {
                self.report.damage(&path, 0, format!("{more} more {kind}"));
            }
        }
    }

    pub(super) fn tidy_drum(&mut self, check: &Check<'_>) -> Result<()> {
        if self.running {
            return Ok(());
        }
        self.grown(check.grown()?);
        let unknown = check.unknown()?;
        if let Some(dir) = unknown.first().and_then(|(path, _)| path.parent()).map(Path::to_owned) {
            self.unknown(&dir, unknown);
        }
        Ok(())
    }

    pub(super) fn grown(&mut self, files: Vec<(PathBuf, u64)>) {
        for (path, bytes) in files {
            let what = format!("unfinished: data after the last checkpoint ({bytes} bytes) will be truncated");
            self.report.unfinished(&path, bytes, what);
        }
    }

    pub(super) fn unknown(&mut self, dir: &Path, files: Vec<(PathBuf, bool)>) {
        left_over(self.report, dir, files);
    }
}

impl AnswerVisitor for Stores<'_, '_> {
    fn visit<V: StoreValue<Asks = QueuedUrl>>(&mut self) -> Result<()> {
        self.store::<V>(|_, _, _| Ok(()))
    }
}

/// Tells of files in `dir` that no checkpoint names, those of the crawl's own names together.
pub(super) fn left_over(report: &mut Report<'_>, dir: &Path, files: Vec<(PathBuf, bool)>) {
    let (ours, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, ours)| *ours);
    if let Some((first, _)) = ours.first() {
        let name = first.file_name().unwrap_or_default().to_string_lossy();
        let what = match ours.len() {
            1 => format!("leftover: no checkpoint lists {name}; the next start removes it"),
            count => {
                format!("leftover: no checkpoint lists {name} and {} more; the next start removes them", count - 1)
            }
        };
        report.unfinished(dir, 0, what);
    }
    for (path, _) in others {
        report.unfinished(&path, 0, "leftover: not a file of a crawl; it is not touched");
    }
}
