//! The commits of a crawl on many machines, as its engines know them.
//!
//! What etcd has of a head is short. The rest is in its manifest: how far the links of others are read, and which link
//! files there are, each with the revision of its commit. So a reader that has missed some heads of a sender knows of
//! every file when it became visible, and never claims to have read what it has not.
//!
//! A head counts here once its manifest was read, and the link files that it names can be opened; and the revision up
//! to which everything is known moves on when that holds for all. So no shard hears of a revision before the files.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cluster::{FiguresRecord, HeadAt as Committed, View};
use crate::exchange::{Again, Head, HeadAt, News, OutFile, Registry, Revision, UpTo, Visible, Wake};
use crate::record::Finish;
use crate::shard::Shard;
use crate::ship::{Manifest, Names, StoreView};
use crate::store::{self, ObjectStore};

/// The heads of all shards, from which the engines of a node hear of the others.
pub struct Heads {
    store: Arc<dyn ObjectStore>,
    names: Names,
    era: u32,
    root: PathBuf,
    view: Arc<StoreView>,
    table: Mutex<News>,
    wakes: Mutex<HashMap<u32, Wake>>,
    /// Shards whose directories are ready here, and shown as they are.
    own: Mutex<HashSet<u32>>,
    hungry: Vec<AtomicBool>,
}

impl std::fmt::Debug for Heads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heads").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Heads {
    /// Makes the heads of a crawl of this many shards in this era, of which nothing is known. `view` shows files of
    /// other shards, below `root`.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        names: Names,
        era: u32,
        root: PathBuf,
        view: Arc<StoreView>,
        shards: u32,
    ) -> Heads {
        let table = News { heads: (0..shards).map(|_| None).collect(), ..News::default() };
        let hungry = (0..shards).map(|_| AtomicBool::new(false)).collect();
        Heads {
            store,
            names,
            era,
            root,
            view,
            table: Mutex::new(table),
            wakes: Mutex::default(),
            own: Mutex::default(),
            hungry,
        }
    }

    /// Calls `wake` whenever something has changed for the engine of `shard`, in the place of what was called before.
    pub fn watch(&self, shard: u32, wake: Wake) {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).insert(shard, wake);
    }

    /// The engine of `shard` is gone.
    pub fn unwatch(&self, shard: u32) {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner).remove(&shard);
        self.own().remove(&shard);
    }

    /// The directory of a shard that is claimed here is ready: `show` shows it, in the place of its links as the store
    /// has them. Until then these are shown, for the other shards of this node: to bring a directory takes its time.
    pub(crate) fn show_own(&self, shard: u32, show: impl FnOnce()) {
        let mut own = self.own();
        show();
        own.insert(shard);
    }

    fn own(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in `known`, what the node knows by now. `seeds` is the number of seeds in this node's list, and `again`
    /// has those that are fetched again. What cannot be read from the store is tried again at the next call.
    pub fn refresh(&self, known: &View, seeds: u32, again: Arc<[Again]>) -> store::Result<()> {
        let shards = 0..u32::try_from(known.heads.len()).expect("a crawl has few shards");
        let fresh: Vec<(u32, HeadAt)> = shards
            .filter_map(|shard| Some((shard, known.heads[shard as usize].as_ref()?)))
            .filter(|(shard, head)| self.is_news(*shard, head))
            .map(|(shard, head)| Ok((shard, self.read(shard, head)?)))
            .collect::<store::Result<_>>()?;
        let has_changed = self.put(known, fresh, seeds, again);
        if has_changed {
            let wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
            wakes.values().for_each(|wake| wake());
        }
        Ok(())
    }

    fn is_news(&self, shard: u32, head: &Committed) -> bool {
        self.table().heads[shard as usize].as_ref().is_none_or(|at| at.revision < head.revision)
    }

    fn read(&self, shard: u32, head: &Committed) -> store::Result<HeadAt> {
        let Committed { revision, record } = head;
        if record.number == 0 {
            return Ok(HeadAt { revision: *revision, ..HeadAt::default() });
        }
        let manifest = read_manifest(&*self.store, &self.names, self.era, shard, head)?;
        let dir = self.root.join(Shard::new(shard, manifest.shards).dir_name());
        // the local files of a shard that others own are what this node had of it, and may never have counted
        {
            // held until it is shown, so that an own directory that is ready meanwhile is shown behind it
            let own = self.own();
            if !own.contains(&shard) {
                self.view.mount_links_instead(&dir, &manifest);
            }
        }
        let said = Head { idle: record.idle, read_to: record.read_to, ..manifest.head.clone() };
        Ok(HeadAt { revision: *revision, links_at: head.links_at(), head: said, files: files(&manifest) })
    }

    /// Puts it all in at once; whether anything has changed.
    fn put(&self, known: &View, fresh: Vec<(u32, HeadAt)>, seeds: u32, again: Arc<[Again]>) -> bool {
        let mut table = self.table();
        let before = (table.known, table.seeds, table.end);
        let has_heads = !fresh.is_empty();
        for (shard, at) in fresh {
            let slot = &mut table.heads[shard as usize];
            if slot.as_ref().is_none_or(|before| before.revision < at.revision) {
                *slot = Some(at);
            }
        }
        table.known = table.known.max(known.known);
        let listed = known.seeds.values().map(|list| list.revision).max().unwrap_or(0);
        (table.seeds, table.again) = ((listed, seeds), again);
        table.end = known.end.map(|end| end.finish);
        has_heads || before != (table.known, table.seeds, table.end)
    }

    /// The shard's checkpoint, which has this manifest, became its head at `revision`; its last one with a link file
    /// at `links_at`. By this nothing more is known of others: what they have committed before may not have come yet.
    pub(crate) fn committed(&self, shard: u32, manifest: &Manifest, revision: Revision, links_at: Revision) {
        let mut table = self.table();
        let slot = &mut table.heads[shard as usize];
        if slot.as_ref().is_none_or(|before| before.revision < revision) {
            *slot = Some(HeadAt { revision, links_at, head: manifest.head.clone(), files: files(manifest) });
        }
    }

    /// Returns whether everything is known that was done before the claim of this epoch. Then all is known that earlier
    /// owners of the shard knew when they made what its new owner goes on from.
    pub fn know_all_before(&self, epoch: Revision) -> bool {
        self.table().known.covers(epoch)
    }

    /// The end of the crawl by the manifests of the heads, of which at least `known` is known here. The short heads of
    /// the registry say that everything is read; the manifests have the position in each link file, and the account.
    pub fn end(&self, known: UpTo) -> Option<Finish> {
        let table = self.table();
        table.is_end().filter(|_| table.known >= known)
    }

    /// Returns which of these shards wait for links.
    pub fn hungry(&self, shards: impl Iterator<Item = u32>) -> Vec<u32> {
        shards.filter(|&shard| Registry::is_hungry(self, shard)).collect()
    }

    /// Other nodes have reported which of their shards wait for links; `is_own` knows this one's.
    pub fn hear_hunger(&self, others: &[FiguresRecord], is_own: impl Fn(u32) -> bool) {
        let hungry: Vec<u32> = others.iter().flat_map(|figures| &figures.hungry).copied().collect();
        for (shard, known) in (0..).zip(&self.hungry) {
            if !is_own(shard) {
                known.store(hungry.contains(&shard), Ordering::Relaxed);
            }
        }
    }

    fn head_revision(&self, shard: u32) -> Revision {
        self.table().heads[shard as usize].as_ref().map_or(0, |at| at.revision)
    }

    fn table(&self) -> MutexGuard<'_, News> {
        // a panic elsewhere ends the crawl; the table is whole between two statements
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The manifest of a head in this era. Of one that was shipped in an earlier era all link files count as committed with
/// this head: revisions of another etcd mean nothing here, and would be taken for later ones than they are.
pub(super) fn read_manifest(
    store: &dyn ObjectStore,
    names: &Names,
    era: u32,
    shard: u32,
    head: &Committed,
) -> store::Result<Manifest> {
    let name = &head.record.manifest;
    let length = store.length(name)?.ok_or_else(|| store::Error::NotFound { name: name.clone() })?;
    let mut manifest = Manifest::read(&store.get(name, 0..length)?, names, shard, name)?;
    if manifest.claim.era != era {
        manifest.links.iter_mut().for_each(|links| links.revision = 0);
    }
    manifest.committed_at(head.revision);
    Ok(manifest)
}

fn files(manifest: &Manifest) -> Vec<Visible> {
    let visible = |links: &crate::ship::ShippedLinks| Visible {
        file: OutFile { number: links.number, has_notes: links.has_notes },
        revision: links.revision,
    };
    manifest.links.iter().map(visible).collect()
}

impl Registry for Heads {
    /// Returns the revision of the shard's head, which is what others know of it, and from which its engine goes on.
    fn open(&self, shard: u32, _: Head) -> Revision {
        self.head_revision(shard)
    }

    /// It was committed where it was shipped.
    fn commit(&self, shard: u32, _: Head) -> Revision {
        self.head_revision(shard)
    }

    fn news(&self) -> News {
        self.table().clone()
    }

    fn set_hungry(&self, shard: u32, is_hungry: bool) {
        self.hungry[shard as usize].store(is_hungry, Ordering::Relaxed);
    }

    fn is_hungry(&self, shard: u32) -> bool {
        self.hungry[shard as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::HeadRecord;
    use crate::disk::Disk;
    use crate::record::FileKind;
    use crate::ship::{Claim, ShippedFile, ShippedLinks};
    use crate::store::{Body, FileStore};

    /// A view of two shards of which nothing was committed, with all that was done up to this revision.
    fn view(revision: Revision) -> View {
        let head = Some(Committed { revision: 1, record: HeadRecord::default() });
        View { known: UpTo::all(revision), heads: vec![head; 2], ..View::default() }
    }

    fn manifest(number: u64, links: &[u64]) -> Manifest {
        let claim = Claim { era: 0, epoch: 100 };
        let file = |&number: &u64| ShippedFile {
            path: format!("links/out.g{number:06}"),
            kind: FileKind::Links,
            lineage: 0,
            seam: 0,
            parts: Vec::new(),
        };
        Manifest {
            crawl: 1,
            shard: 1,
            shards: 2,
            claim,
            number,
            head: Head { number, ..Head::default() },
            objects: Vec::new(),
            files: links.iter().map(file).collect(),
            links: links
                .iter()
                .map(|&number| ShippedLinks { number, claim, has_notes: false, revision: 120 })
                .collect(),
        }
    }

    #[test]
    fn links_of_a_shard_that_is_claimed_here_are_shown_as_the_store_has_them_until_it_is_ready() {
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn ObjectStore> = Arc::new(FileStore::new(Disk::real(), dir.path()));
        let names = Names::new("crawl/");
        let shown = StoreView::new(store.clone(), Some(Disk::real()), 1 << 20);
        let heads = Heads::new(store.clone(), names.clone(), 0, dir.path().join("here"), shown.clone(), 2);
        let commit = |revision, manifest: &Manifest| {
            let name = manifest.name(&names);
            store.put(&name, &Body::of(manifest.to_bytes())).unwrap();
            let record = HeadRecord { number: manifest.number, manifest: name, ..HeadRecord::default() };
            let mut known = view(revision);
            known.heads[1] = Some(Committed { revision, record });
            heads.refresh(&known, 0, Arc::from([])).unwrap();
        };
        let own = dir.path().join("here/shard-001");
        let is_shown =
            |number: u64| shown.disk().open_if_there(own.join(format!("links/out.g{number:06}"))).unwrap().is_some();
        commit(121, &manifest(4, &[4]));
        heads.watch(1, Box::new(|| {}));
        commit(122, &manifest(5, &[4, 5]));
        assert!(is_shown(4) && is_shown(5), "its directory is not ready yet");
        heads.show_own(1, || shown.unmount(&own));
        commit(123, &manifest(6, &[6]));
        assert!(!is_shown(5) && !is_shown(6), "its own directory is shown");
        heads.unwatch(1);
        commit(124, &manifest(7, &[7]));
        assert!(is_shown(7));
    }

    #[test]
    fn an_own_commit_is_known_at_once_and_says_nothing_of_what_others_did_before() {
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn ObjectStore> = Arc::new(FileStore::new(Disk::real(), dir.path()));
        let shown = StoreView::new(store.clone(), Some(Disk::real()), 1 << 20);
        let heads = Heads::new(store, Names::new("crawl/"), 0, "/crawl".into(), shown, 2);
        heads.refresh(&view(111), 0, Arc::from([])).unwrap();
        let manifest = manifest(4, &[4]);
        heads.committed(1, &manifest, 120, 120);
        let news = heads.news();
        let own = news.heads[1].as_ref().unwrap();
        assert_eq!((own.revision, own.links_at, own.files.len()), (120, 120, 1));
        assert_eq!(news.known, UpTo::all(111));
        assert!(heads.know_all_before(111) && !heads.know_all_before(115), "what was done at 112 is not known");
        // a checkpoint without links, of a shard whose last links the watch has not brought yet
        heads.committed(0, &Manifest { links: Vec::new(), ..manifest.clone() }, 121, 118);
        assert_eq!(heads.news().heads[0].as_ref().map(|at| at.links_at), Some(118));
        // the watch comes to the revision before the own head: that stays
        heads.refresh(&view(119), 0, Arc::from([])).unwrap();
        assert_eq!(heads.news().heads[1].as_ref().unwrap().revision, 120);
        assert!(heads.know_all_before(115));
    }
}
