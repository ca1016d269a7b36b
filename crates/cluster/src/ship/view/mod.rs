//! Crawl directories as manifests in the store have them, as a disk that is read by ranges.
//!
//! A view is over a disk, or over nothing. What the disk has comes from there; what it has not, and a mounted manifest
//! has, is read from the store. So everything that reads a crawl through a [`Disk`] reads one in a store: `list`,
//! `get`, `export`, `verify`, an owner that has left the archive in the store, a shard that reads the link files of one
//! on another machine. What is written goes to the disk beneath; files in the store are never changed, and one that is
//! hidden by a file of the disk stays hidden.
//!
//! A value file in the store has its final name there, also while its owner writes it: the one who reads it, or goes on
//! from it, takes it for closed at the length that the checkpoint notes.

mod cache;
mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::dirs;
use super::manifest::Manifest;
use crate::container::address;
use crate::disk::{Backend, Disk, Mode, RawFile};
use crate::record::FileKind;
use crate::store::ObjectStore;
use cache::Cache;
use file::{Placed, RemoteFile};

/// The records of an archive. Their address file is not shipped. Where there is no disk on which it can be built
/// ([`crate::container::make_addresses`]), one that covers nothing replaces it, with which a reader goes through the
/// records when it is opened.
const KEYS: &str = "pages/key.dat";
/// Suffix of the name of a value file that is written.
const OPEN: &str = ".open";

/// Files of manifests, over a disk.
pub struct StoreView {
    store: Arc<dyn ObjectStore>,
    under: Option<Disk>,
    mounts: RwLock<BTreeMap<PathBuf, Mount>>,
    cache: Arc<Cache>,
}

impl std::fmt::Debug for StoreView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreView").field("store", &self.store).field("under", &self.under).finish_non_exhaustive()
    }
}

/// Files below a directory.
#[derive(Default)]
struct Mount {
    /// True if nothing of the disk beneath is shown there.
    hides: bool,
    files: BTreeMap<PathBuf, Arc<Placed>>,
    /// The directory and all below that have something.
    dirs: BTreeSet<PathBuf>,
}

impl StoreView {
    /// A view of `store` over `under`, or over nothing, that keeps this many bytes in memory.
    pub fn new(store: Arc<dyn ObjectStore>, under: Option<Disk>, cache_bytes: usize) -> Arc<StoreView> {
        let (mounts, cache) = (RwLock::default(), Arc::new(Cache::new(cache_bytes)));
        Arc::new(StoreView { store, under, mounts, cache })
    }

    /// The view as a disk.
    pub fn disk(self: &Arc<Self>) -> Disk {
        Disk::new(self.clone())
    }

    /// Shows the files of `manifest` in `dir` that are of `kinds`, in the place of what was mounted there. Files that
    /// are open stay as they are. What the disk beneath has comes first.
    pub fn mount(&self, dir: &Path, manifest: &Manifest, kinds: &dyn Fn(FileKind) -> bool) {
        self.put(dir, manifest, kinds, Mount::default());
    }

    /// Shows the link files of `manifest` in `dir`, and nothing that the disk beneath has there: that of a shard which
    /// another node owns now, and whose directory here may have what was never committed. Of the shards of others a
    /// node reads nothing else, and they have more than a thousand files each.
    pub(crate) fn mount_links_instead(&self, dir: &Path, manifest: &Manifest) {
        self.put(dir, manifest, &|kind| kind == FileKind::Links, Mount { hides: true, ..Mount::default() });
    }

    fn put(&self, dir: &Path, manifest: &Manifest, kinds: &dyn Fn(FileKind) -> bool, mut mount: Mount) {
        mount.dirs.insert(dir.to_owned());
        mount.dirs.extend(dirs().map(|name| dir.join(name)));
        for file in manifest.files.iter().filter(|file| kinds(file.kind)) {
            let path = dir.join(&file.path);
            mount.dirs.extend(path.ancestors().skip(1).take_while(|at| at.starts_with(dir)).map(Path::to_owned));
            if file.path == KEYS && self.under.is_none() {
                mount.files.insert(path.with_file_name("address.idx"), Arc::new(Placed::in_memory(address::empty())));
                mount.files.insert(path.with_file_name("address.ovf"), Arc::new(Placed::in_memory(Vec::new())));
            }
            mount.files.insert(path, Arc::new(Placed::of(manifest, file)));
        }
        self.mounts.write().unwrap_or_else(PoisonError::into_inner).insert(dir.to_owned(), mount);
    }

    /// Shows the value files of `manifest` in `dir`, where the disk has all the rest.
    pub fn mount_archive(&self, dir: &Path, manifest: &Manifest) {
        self.mount(dir, manifest, &|kind| kind == FileKind::Archive);
    }

    /// Shows the directory of a shard that has no file yet.
    pub fn mount_empty(&self, dir: &Path) {
        let dirs = dirs().map(|name| dir.join(name)).chain([dir.to_owned()]).collect();
        let mount = Mount { dirs, ..Mount::default() };
        self.mounts.write().unwrap_or_else(PoisonError::into_inner).insert(dir.to_owned(), mount);
    }

    /// Shows nothing of the store in `dir` any more.
    pub(crate) fn unmount(&self, dir: &Path) {
        self.mounts.write().unwrap_or_else(PoisonError::into_inner).remove(dir);
    }

    /// Shows a file that is in memory, as one that is of the whole crawl.
    pub fn mount_bytes(&self, path: &Path, bytes: Vec<u8>) {
        let mut mounts = self.mounts.write().unwrap_or_else(PoisonError::into_inner);
        let mount = mounts.entry(path.to_owned()).or_default();
        mount.dirs.extend(path.parent().map(Path::to_owned));
        mount.files.insert(path.to_owned(), Arc::new(Placed::in_memory(bytes)));
    }

    fn find(&self, path: &Path) -> Option<Arc<Placed>> {
        let mounts = self.mounts.read().unwrap_or_else(PoisonError::into_inner);
        mounts.values().find_map(|mount| mount.files.get(path).cloned())
    }

    /// Returns whether nothing of the disk beneath is shown at `path`.
    fn hides(&self, path: &Path) -> bool {
        let mounts = self.mounts.read().unwrap_or_else(PoisonError::into_inner);
        mounts.iter().any(|(dir, mount)| mount.hides && path.starts_with(dir))
    }

    /// The disk beneath, to change `path` there; refused without one, and where it is not shown.
    fn writable(&self, path: &Path) -> io::Result<&dyn Backend> {
        let read_only = || io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "files in the store are only read");
        self.under.as_ref().filter(|_| !self.hides(path)).map(Disk::backend).ok_or_else(read_only)
    }

    /// Looks at `path` on the disk beneath. `None` if it is not there, or not shown.
    fn under<T>(&self, path: &Path, look: impl FnOnce(&dyn Backend) -> io::Result<T>) -> io::Result<Option<T>> {
        match self.under.as_ref().filter(|_| !self.hides(path)).map(|disk| look(disk.backend())) {
            None => Ok(None),
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Some(found) => found.map(Some),
        }
    }
}

impl Backend for StoreView {
    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn RawFile>> {
        if mode == Mode::Read {
            if let Some(file) = self.under(path, |disk| disk.open(path, mode))? {
                return Ok(file);
            }
            let placed = self.find(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            return Ok(Box::new(RemoteFile::new(self.store.clone(), self.cache.clone(), placed)));
        }
        let disk = self.writable(path)?;
        if mode == Mode::Write || self.find(path).is_none() {
            return disk.open(path, mode);
        }
        // one that is made would hide the one of the store
        match (mode, self.under(path, |disk| disk.open(path, Mode::Write))?) {
            (Mode::Create, Some(file)) => Ok(file),
            (Mode::Create, None) => Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "it is in the store")),
            _ => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.writable(to)?.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.writable(path)?.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.writable(path)?.create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let found = self.under(dir, |disk| disk.list(dir))?;
        let is_there = found.is_some();
        let mut names: BTreeSet<String> = found.into_iter().flatten().collect();
        let mounts = self.mounts.read().unwrap_or_else(PoisonError::into_inner);
        let mut is_mounted = false;
        for mount in mounts.values() {
            is_mounted |= mount.dirs.contains(dir);
            let children = mount.files.keys().chain(&mount.dirs).filter(|path| path.parent() == Some(dir));
            for name in children.filter_map(|path| path.file_name()?.to_str()) {
                // the same file, which its owner writes here
                if !names.contains(&format!("{name}{OPEN}")) {
                    names.insert(name.to_owned());
                }
            }
        }
        match is_there || is_mounted {
            true => Ok(names.into_iter().collect()),
            false => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.writable(dir)?.sync_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.writable(dir)?.free_bytes(dir)
    }

    fn boot_id(&self) -> Option<String> {
        self.under.as_ref().and_then(Disk::boot_id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::memory::MemoryStore;
    use super::super::{Claim, Names, ShipOptions, Shipper};
    use super::*;
    use crate::disk::Error;
    use crate::exchange::Head;
    use crate::record::NamedFile;
    use crate::shard::Shard;

    /// A shipped directory with a file in many parts and a value file, seen over `under`.
    fn shipped(under: Option<Disk>) -> (Arc<StoreView>, Vec<u8>) {
        let (dir, disk, store) = (tempfile::tempdir().unwrap(), Disk::real(), Arc::new(MemoryStore::default()));
        disk.create_dir_all(&dir.path().join("pages")).unwrap();
        let claim = Claim { era: 1, epoch: 4 };
        let mut shipper =
            Shipper::new(store.clone(), Names::default(), 7, Shard::WHOLE, claim, None, ShipOptions::default());
        let mut content = Vec::new();
        let (key, value) = ("pages/key.dat", "pages/value-00000.warc.gz");
        let mut rng = fastrand::Rng::with_seed(5);
        for number in 1..40 {
            content.extend((0..rng.usize(..30_000)).map(|_| rng.u8(..)));
            for path in [key, value] {
                std::fs::write(dir.path().join(path), &content).unwrap();
            }
            let named = |path: &str, kind| NamedFile::new(path.into(), content.len() as u64, kind);
            let files = [named(key, FileKind::Grows), named(value, FileKind::Archive)];
            let head = Head { number, ..Head::default() };
            let manifest = shipper.ship(&disk, dir.path(), number, &head, &files).unwrap();
            shipper.committed(manifest, number).unwrap();
        }
        let view = StoreView::new(store, under, 256 << 10);
        view.mount(Path::new("/crawl"), shipper.last().unwrap(), &|_| true);
        (view, content)
    }

    #[test]
    fn files_of_a_manifest_are_read_anywhere_and_listed() {
        let (view, content) = shipped(None);
        let disk = view.disk();
        let dirs = dirs().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(disk.list(Path::new("/crawl")).unwrap(), dirs.into_iter().collect::<Vec<_>>());
        assert_eq!(
            disk.list(Path::new("/crawl/pages")).unwrap(),
            ["address.idx", "address.ovf", "key.dat", "value-00000.warc.gz"]
        );
        assert_eq!(disk.list(Path::new("/crawl/logs")).unwrap(), [""; 0]);
        assert!(disk.list(Path::new("/crawl/other")).unwrap_err().is_not_found());
        let mut rng = fastrand::Rng::with_seed(6);
        for path in ["/crawl/pages/key.dat", "/crawl/pages/value-00000.warc.gz"] {
            assert_eq!(disk.read(path).unwrap(), content);
            let file = disk.open(path, Mode::Read).unwrap();
            for _ in 0..2_000 {
                let (at, length) = (rng.usize(..content.len() + 10), rng.usize(..200_000));
                let mut bytes = vec![0; length];
                let got = file.read_at(&mut bytes, at as u64).unwrap();
                assert_eq!(bytes[..got], content[at.min(content.len())..content.len().min(at + length)]);
            }
            assert!(matches!(disk.open(path, Mode::Write), Err(Error::Io { .. })));
        }
        assert!(disk.open("/crawl/none", Mode::Read).unwrap_err().is_not_found());
        view.mount_bytes(Path::new("/crawl/identity.json"), b"{}".to_vec());
        assert_eq!(disk.read("/crawl/identity.json").unwrap(), b"{}");
        assert!(disk.list(Path::new("/crawl")).unwrap().contains(&"identity.json".to_owned()));
    }

    #[test]
    fn what_the_disk_beneath_has_comes_first_and_new_files_go_there() {
        let (view, content) = shipped(Some(Disk::real()));
        let (dir, disk) = (tempfile::tempdir().unwrap(), view.disk());
        let pages = dir.path().join("pages");
        let manifest_of = || {
            let mounts = view.mounts.read().unwrap();
            let files = &mounts[Path::new("/crawl")].files;
            files
                .iter()
                .map(|(path, placed)| (path.strip_prefix("/crawl").unwrap().to_owned(), placed.clone()))
                .collect()
        };
        let files: Vec<(PathBuf, Arc<Placed>)> = manifest_of();
        let mount = Mount {
            files: files.into_iter().map(|(path, placed)| (dir.path().join(path), placed)).collect(),
            dirs: BTreeSet::from([dir.path().to_owned(), pages.clone()]),
            hides: false,
        };
        view.mounts.write().unwrap().insert(dir.path().to_owned(), mount);
        disk.create_dir_all(&pages).unwrap();
        let (key, value) = (pages.join("key.dat"), pages.join("value-00000.warc.gz"));
        assert_eq!(disk.read(&key).unwrap(), content);
        std::fs::write(&key, b"newer").unwrap();
        assert_eq!(disk.read(&key).unwrap(), b"newer");
        for mode in [Mode::Write, Mode::Create, Mode::CreateNew] {
            assert!(disk.open(&value, mode).is_err(), "{mode:?}");
        }
        disk.replace(&pages.join("value-00001.warc.gz.open"), b"x").unwrap();
        assert_eq!(disk.list(&pages).unwrap(), ["key.dat", "value-00000.warc.gz", "value-00001.warc.gz.open"]);
        // its owner writes it here
        std::fs::write(pages.join("value-00000.warc.gz.open"), b"more").unwrap();
        assert!(!disk.list(&pages).unwrap().contains(&"value-00000.warc.gz".to_owned()));
        // nothing that is here counts
        view.mounts.write().unwrap().get_mut(dir.path()).unwrap().hides = true;
        assert_eq!(disk.read(&key).unwrap(), content);
        assert_eq!(disk.list(&pages).unwrap(), ["key.dat", "value-00000.warc.gz"]);
        assert!(disk.open(pages.join("value-00001.warc.gz.open"), Mode::Read).unwrap_err().is_not_found());
        assert!(disk.open(&key, Mode::Write).is_err() && disk.remove(&key).is_err());
        view.unmount(dir.path());
        assert_eq!(disk.read(&key).unwrap(), b"newer");
    }

    #[test]
    fn of_a_shard_of_others_its_link_files_are_shown_and_nothing_that_lies_here() {
        let (source, here, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), Disk::real());
        let store = Arc::new(MemoryStore::default());
        let claim = Claim { era: 1, epoch: 4 };
        let mut shipper =
            Shipper::new(store.clone(), Names::default(), 7, Shard::WHOLE, claim, None, ShipOptions::default());
        let files =
            [("pages/key.dat", FileKind::Grows), ("dns/a.repo", FileKind::Whole), ("links/out.g1", FileKind::Links)];
        for (path, _) in files {
            for dir in [source.path(), here.path()] {
                disk.create_dir_all(dir.join(path).parent().unwrap()).unwrap();
                std::fs::write(dir.join(path), path).unwrap();
            }
        }
        let named = files.map(|(path, kind)| NamedFile::new(path.into(), path.len() as u64, kind));
        let manifest = shipper.ship(&disk, source.path(), 1, &Head { number: 1, ..Head::default() }, &named).unwrap();
        let view = StoreView::new(store, Some(disk), 256 << 10);
        view.mount_links_instead(here.path(), &manifest);
        assert_eq!(view.mounts.read().unwrap()[here.path()].files.len(), 1);
        let disk = view.disk();
        assert_eq!(disk.read(here.path().join("links/out.g1")).unwrap(), b"links/out.g1");
        assert!(disk.read(here.path().join("pages/key.dat")).unwrap_err().is_not_found());
        assert!(disk.list(&here.path().join("dns")).unwrap_or_default().is_empty());
    }
}
