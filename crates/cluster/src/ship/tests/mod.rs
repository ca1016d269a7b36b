//! Shipping as a whole: random checkpoints, failures between all steps, owners that are deposed.
//!
//! The model is a directory whose files change as in a crawl, a head that moves by a commit, and what each checkpoint
//! had. The store refuses an object that is put with other bytes than before, or after it was deleted, and the deletion
//! of one that the head names.

pub(super) mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::disk::simulated::SimulatedDisk;
use crate::disk::{Disk, Mode};
use crate::exchange::{Head, OutFile};
use crate::record::{FileKind, NamedFile};
use crate::shard::Shard;
use crate::store::ObjectStore;
use memory::MemoryStore;

const SHARD: u32 = 3;

/// The files of a checkpoint.
type Content = BTreeMap<PathBuf, (FileKind, u32, Vec<u8>)>;

/// An owner of the shard, with its directory.
struct Owner {
    shipper: Shipper,
    disk: SimulatedDisk,
    /// Content that its next checkpoint has.
    content: Content,
    number: u64,
    kept: Vec<OutFile>,
}

struct Model {
    rng: fastrand::Rng,
    store: Arc<MemoryStore>,
    names: Names,
    epoch: u64,
    /// The committed manifest, and what it has.
    head: Option<(Manifest, Content)>,
    revision: u64,
    owner: Owner,
    /// All claims, with the heads that they have read.
    claims: Vec<(Claim, Option<Manifest>)>,
    /// Owners that do not know that they are deposed.
    deposed: Vec<Owner>,
}

fn dir() -> &'static Path {
    Path::new("/shard")
}

fn put(disk: &SimulatedDisk, path: &Path, bytes: &[u8]) {
    let (disk, path) = (disk.disk(), dir().join(path));
    disk.create_dir_all(path.parent().unwrap()).unwrap();
    let file = disk.open(path, Mode::Create).unwrap();
    file.set_len(0).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

impl Owner {
    fn new(store: &Arc<MemoryStore>, names: &Names, epoch: u64, last: Option<Manifest>) -> Owner {
        let claim = Claim { era: 1, epoch };
        let shard = Shard::new(SHARD, 4);
        let shipper = Shipper::new(store.clone(), names.clone(), 77, shard, claim, last, ShipOptions::default());
        let disk = SimulatedDisk::default();
        Owner { shipper, disk, content: Content::new(), number: 1, kept: Vec::new() }
    }

    /// Goes on with the crawl to the next checkpoint.
    fn crawl(&mut self, rng: &mut fastrand::Rng) {
        let bytes = |rng: &mut fastrand::Rng, most: usize| -> Vec<u8> {
            let count = rng.usize(..most);
            (0..count).map(|_| rng.u8(..)).collect()
        };
        let number = self.number;
        self.content.retain(|path, (kind, ..)| match kind {
            FileKind::Whole => !path.to_str().unwrap().starts_with("checkpoint") && rng.u32(..4) > 0,
            FileKind::Grows => rng.u32(..30) > 0,
            FileKind::Archive | FileKind::Replaced | FileKind::Links => true,
        });
        let grown: Vec<String> = (0..rng.usize(..4)).map(|number| self.tail(number)).collect();
        let mut file = |path: String, kind, bytes: Vec<u8>| {
            let content = self.content.entry(PathBuf::from(path)).or_insert_with(|| (kind, 0, Vec::new()));
            match kind {
                FileKind::Grows | FileKind::Archive => content.2.extend(bytes),
                FileKind::Whole | FileKind::Replaced | FileKind::Links => content.2 = bytes,
            }
        };
        file(format!("checkpoint.g{number:06}"), FileKind::Whole, bytes(rng, 300));
        for bucket in 0..rng.usize(..4) {
            file(format!("url-seen/bucket-{bucket:03}.g{number:06}.repo"), FileKind::Whole, bytes(rng, 2_000));
        }
        for grown in grown {
            file(grown, FileKind::Grows, bytes(rng, 400));
        }
        if rng.bool() {
            file(format!("pages/value-{:05}.warc.gz", number / 5), FileKind::Archive, bytes(rng, 3_000));
        }
        if rng.u32(..3) == 0 {
            file("config.json".to_owned(), FileKind::Replaced, bytes(rng, 20));
        }
        if rng.u32(..3) == 0 {
            file(format!("links/out.g{number:06}"), FileKind::Links, bytes(rng, 500));
            self.kept.push(OutFile { number, has_notes: rng.bool() });
        }
        if rng.u32(..3) == 0 && !self.kept.is_empty() {
            let gone = self.kept.remove(0);
            self.content.remove(Path::new(&format!("links/out.g{:06}", gone.number)));
        }
        let tail = self.tail(0);
        if rng.u32(..12) == 0
            && let Some((_, lineage, bytes)) = self.content.get_mut(Path::new(&tail))
        {
            // as key records that a compaction has changed in place
            *lineage += 1;
            bytes.first_mut().into_iter().for_each(|byte| *byte ^= 1);
        }
        for (path, (kind, _, bytes)) in &self.content {
            // behind what counts, files go on growing
            let grows = matches!(kind, FileKind::Grows | FileKind::Archive);
            let more = if grows { &b"unfinished"[..] } else { &b""[..] };
            put(&self.disk, path, &[bytes.as_slice(), more].concat());
        }
    }

    /// A file that grows: the one that there is, or a new one.
    fn tail(&self, number: usize) -> String {
        let prefix = format!("frontier/partition-{number:03}.g");
        let found = self.content.keys().filter_map(|path| path.to_str()).find(|path| path.starts_with(&prefix));
        found.map_or_else(|| format!("{prefix}{:06}.tail", self.number), str::to_owned)
    }

    fn files(&self) -> Vec<NamedFile> {
        let named = |(path, (kind, lineage, bytes)): (&PathBuf, &(FileKind, u32, Vec<u8>))| NamedFile {
            lineage: *lineage,
            ..NamedFile::new(path.clone(), bytes.len() as u64, *kind)
        };
        self.content.iter().map(named).collect()
    }

    fn ship(&mut self) -> crate::store::Result<Manifest> {
        let head = Head { number: self.number, outgoing: self.kept.clone(), ..Head::default() };
        let files = self.files();
        self.shipper.ship(&self.disk.disk(), dir(), self.number, &head, &files)
    }
}

/// Returns the content of a restored directory.
fn content_of(manifest: &Manifest, disk: &SimulatedDisk) -> Content {
    let read = |file: &manifest::ShippedFile| {
        let bytes = disk.disk().read(dir().join(&file.path)).unwrap();
        (PathBuf::from(&file.path), (file.kind, file.lineage, bytes))
    };
    manifest.files.iter().map(read).collect()
}

impl Model {
    fn new(seed: u64) -> Model {
        let (store, names) = (Arc::new(MemoryStore::default()), Names::new("crawl/"));
        let owner = Owner::new(&store, &names, 5, None);
        let rng = fastrand::Rng::with_seed(seed);
        Model { rng, store, names, epoch: 5, head: None, revision: 10, owner, claims: Vec::new(), deposed: Vec::new() }
    }

    /// The owner makes a checkpoint, ships it in as many attempts as it takes, and commits it, unless it dies before.
    fn checkpoint(&mut self) {
        self.owner.crawl(&mut self.rng);
        loop {
            self.trouble();
            match self.owner.ship() {
                Ok(manifest) => break self.commit(manifest),
                Err(_) if self.rng.u32(..8) == 0 => return self.take_over(),
                Err(_) => {}
            }
            self.check();
        }
        self.store.fail_after(None);
    }

    /// Sooner or later a change of the store has no answer, whether it takes place or not.
    fn trouble(&mut self) {
        let trouble = (self.rng.u32(..3) > 0).then(|| (self.rng.u32(..6), self.rng.bool()));
        self.store.fail_after(trouble);
    }

    fn commit(&mut self, manifest: Manifest) {
        if self.rng.u32(..10) == 0 {
            // it was shipped and never committed
            return self.take_over();
        }
        self.revision += 1;
        let mut head = manifest.clone();
        head.committed_at(self.revision);
        self.store.protect(head.named(&self.names));
        self.head = Some((head, self.owner.content.clone()));
        self.check();
        // what could not be deleted is tried again at the next one
        let _ = self.owner.shipper.committed(manifest, self.revision);
        assert_eq!(self.owner.shipper.last(), self.head.as_ref().map(|(head, _)| head));
        self.owner.number += 1;
    }

    /// Another owner claims the shard, from the head, or with the directory of the one before.
    fn take_over(&mut self) {
        self.store.fail_after(None);
        self.epoch += 1 + self.rng.u64(..3);
        let last = self.head.as_ref().map(|(head, _)| head.clone());
        let mut owner = Owner::new(&self.store, &self.names, self.epoch, last.clone());
        owner.number = last.as_ref().map_or(1, |last| last.number + 1);
        owner.kept = last.as_ref().map(|last| last.head.outgoing.clone()).unwrap_or_default();
        if let Some((head, content)) = &self.head {
            restore(&*self.store, head, &owner.disk.disk(), dir(), Archive::Too).unwrap();
            owner.content = content_of(head, &owner.disk);
            assert_eq!(owner.content, *content);
        }
        let deposed = std::mem::replace(&mut self.owner, owner);
        if self.rng.bool() {
            self.deposed.push(deposed);
        }
        self.claims.push((Claim { era: 1, epoch: self.epoch }, last));
        self.sweep(self.claims.len() - 1);
    }

    /// The sweep of a claim, with the head as it was read then.
    fn sweep(&self, claim: usize) {
        let (claim, head) = &self.claims[claim];
        sweep(&*self.store, &self.names, SHARD, *claim, head.as_ref()).unwrap();
    }

    /// Everything that the head names can be read.
    fn check(&self) {
        let Some((head, content)) = &self.head else { return };
        let bytes = self.store.objects()[&head.name(&self.names)].clone();
        let mut read = Manifest::read(&bytes, &self.names, SHARD, &head.name(&self.names)).unwrap();
        read.committed_at(head.links.iter().map(|links| links.revision).max().unwrap_or(0));
        assert_eq!(read, *head);
        for file in &head.files {
            let mut bytes = Vec::new();
            for part in &file.parts {
                let object = head.object(part);
                assert_eq!(self.store.length(&object.name).unwrap(), Some(object.bytes));
                bytes.extend(self.store.get(&object.name, part.offset..part.offset + part.bytes).unwrap());
            }
            assert!(content[Path::new(&file.path)].2 == bytes, "{}", file.path);
        }
        assert_eq!(head.files.len(), content.len());
        let links: Vec<u64> = head.links.iter().map(|links| links.number).collect();
        assert_eq!(links, head.head.outgoing.iter().map(|file| file.number).collect::<Vec<_>>());
        for links in &head.links {
            let name = self.names.links(SHARD, links.claim, links.number);
            assert!(self.store.length(&name).unwrap().is_some(), "{name}");
        }
    }

    fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            match self.rng.u32(..10) {
                0 => self.take_over(),
                1 => {
                    // a deposed owner goes on: its commit is refused, and it deletes nothing
                    if let Some(mut deposed) = self.deposed.pop() {
                        self.trouble();
                        let _ = deposed.ship();
                        self.store.fail_after(None);
                    }
                }
                // the sweep of an earlier owner comes late
                2 if !self.claims.is_empty() => {
                    let claim = self.rng.usize(..self.claims.len());
                    self.sweep(claim);
                }
                _ => self.checkpoint(),
            }
            self.check();
        }
        // in the end nothing is left but what the head names
        self.deposed.clear();
        self.take_over();
        self.checkpoint_without_trouble();
        self.take_over();
        let (head, _) = self.head.as_ref().unwrap();
        let there: BTreeSet<String> = self.store.objects().into_keys().collect();
        let named: BTreeSet<String> = head.named(&self.names).into_iter().collect();
        assert_eq!(there, named);
        let newest = newest(&*self.store, &self.names, SHARD).unwrap().unwrap();
        assert_eq!((newest.claim, newest.number), (head.claim, head.number));
        assert_eq!(greatest_claim(&*self.store, &self.names, SHARD).unwrap(), Some(head.claim));
    }

    fn checkpoint_without_trouble(&mut self) {
        self.owner.crawl(&mut self.rng);
        let manifest = self.owner.ship().unwrap();
        self.revision += 1;
        let mut head = manifest.clone();
        head.committed_at(self.revision);
        self.store.protect(head.named(&self.names));
        self.head = Some((head, self.owner.content.clone()));
        self.owner.shipper.committed(manifest, self.revision).unwrap();
        self.owner.number += 1;
    }
}

#[test]
fn what_the_head_names_can_be_read_whatever_fails_and_however_often_the_owner_changes() {
    for seed in 0..12 {
        let run = std::panic::catch_unwind(|| Model::new(seed).run(40));
        assert!(run.is_ok(), "seed {seed}");
    }
}

#[test]
fn what_is_there_already_is_not_sent_again_and_a_dying_pack_is_left() {
    let (store, names) = (Arc::new(MemoryStore::default()), Names::default());
    let mut owner = Owner::new(&store, &names, 5, None);
    let big = vec![7; 100_000];
    owner.content.insert("seen.repo".into(), (FileKind::Whole, 0, big.clone()));
    owner.content.insert("tail".into(), (FileKind::Grows, 0, vec![1; 100]));
    let mut sent = Vec::new();
    for number in 1..=200 {
        owner.number = number;
        owner.content.get_mut(Path::new("tail")).unwrap().2.extend([number as u8; 10]);
        if number == 100 {
            owner.content.insert("seen.repo".into(), (FileKind::Whole, 0, vec![8; 50_000]));
        }
        owner.content.iter().for_each(|(path, (_, _, bytes))| put(&owner.disk, path, bytes));
        let before = owner.shipper.shipped().bytes;
        let manifest = owner.ship().unwrap();
        assert_eq!(owner.ship().unwrap(), manifest, "a repeat");
        owner.shipper.committed(manifest.clone(), number).unwrap();
        assert_eq!(owner.ship().unwrap().number, number, "a repeat behind the commit");
        sent.push(owner.shipper.shipped().bytes - before);
        assert!(manifest.files.iter().all(|file| file.parts.len() <= 64), "{number}");
    }
    assert!(sent[0] > 100_000 && sent[99] > 50_000, "{sent:?}");
    let is_small = |(at, &bytes): (usize, &u64)| [0, 99].contains(&at) || bytes < 8_000;
    assert!(sent.iter().enumerate().all(is_small), "{sent:?}");
    // the first pack had the file that was replaced; what else was in it was packed again
    assert!(!store.objects().contains_key(&names.pack(SHARD, Claim { era: 1, epoch: 5 }, 1)));
}

#[test]
fn a_listing_that_misses_the_only_manifest_does_not_say_that_there_is_none() {
    let (store, names) = (Arc::new(MemoryStore::default()), Names::default());
    let mut owner = Owner::new(&store, &names, 5, None);
    owner.number = 1;
    owner.content = Content::from([("checkpoint.g000001".into(), (FileKind::Whole, 0, vec![1; 5_000]))]);
    owner.content.iter().for_each(|(path, (_, _, bytes))| put(&owner.disk, path, bytes));
    let manifest = owner.ship().unwrap();
    store.miss(manifest.name(&names));
    assert_eq!(newest(&*store, &names, SHARD).unwrap().map(|newest| newest.number), Some(1));
}

#[test]
fn a_newer_manifest_whose_objects_are_not_all_there_does_not_count_and_damage_is_told() {
    let (store, names) = (Arc::new(MemoryStore::default()), Names::default());
    let mut owner = Owner::new(&store, &names, 5, None);
    let mut manifests = Vec::new();
    for number in 1..=3 {
        owner.number = number;
        let file = (FileKind::Whole, 0, vec![number as u8; 5_000]);
        owner.content = Content::from([(format!("checkpoint.g{number:06}").into(), file)]);
        owner.content.iter().for_each(|(path, (_, _, bytes))| put(&owner.disk, path, bytes));
        let manifest = owner.ship().unwrap();
        // as if nobody had deleted anything
        owner.shipper = Owner::new(&store, &names, 5, Some(manifest.clone())).shipper;
        manifests.push(manifest);
    }
    let number = || newest(&*store, &names, SHARD).unwrap().map(|newest| newest.number);
    assert_eq!(number(), Some(3));
    store.change_object(&manifests[2].objects[0].name, |object| object.truncate(4_999));
    assert_eq!(number(), Some(2));
    store.change_object(&manifests[1].name(&names), |object| object[40] ^= 1);
    assert_eq!(number(), Some(1));
    store.change_object(&manifests[0].objects[0].name, |object| object[4_000] ^= 1);
    let disk = SimulatedDisk::default();
    let error = restore(&*store, &manifests[0], &disk.disk(), dir(), Archive::Too).unwrap_err();
    assert!(matches!(&error, crate::store::Error::Damaged { .. }), "{error}");
    let full = restore(&*store, &manifests[0], &disk.disk(), dir(), Archive::Too).unwrap_err();
    assert!(full.to_string().contains("empty directory"), "{full}");
}

#[test]
fn a_file_that_is_renamed_while_it_is_shipped_is_shipped_as_it_was() {
    let (dir, disk, store) = (tempfile::tempdir().unwrap(), Disk::real(), Arc::new(MemoryStore::default()));
    let file = NamedFile {
        open_path: Some("crawl.log".into()),
        ..NamedFile::new("crawl.log.00001".into(), 9, FileKind::Grows)
    };
    std::fs::write(dir.path().join("crawl.log"), b"one\ntwo\nthr").unwrap();
    let claim = Claim { era: 1, epoch: 1 };
    let shard = Shard::WHOLE;
    let mut shipper = Shipper::new(store.clone(), Names::default(), 7, shard, claim, None, ShipOptions::default());
    let head = Head { number: 1, ..Head::default() };
    store.fail_after(Some((0, false)));
    shipper.ship(&disk, dir.path(), 1, &head, std::slice::from_ref(&file)).unwrap_err();
    std::fs::rename(dir.path().join("crawl.log"), dir.path().join("crawl.log.00001")).unwrap();
    std::fs::write(dir.path().join("crawl.log"), b"another file").unwrap();
    let manifest = shipper.ship(&disk, dir.path(), 1, &head, std::slice::from_ref(&file)).unwrap();
    let to = tempfile::tempdir().unwrap();
    restore(&*store, &manifest, &disk, &to.path().join("d"), Archive::Too).unwrap();
    assert_eq!(std::fs::read(to.path().join("d/crawl.log.00001")).unwrap(), b"one\ntwo\nt");
    shipper.committed(manifest, 1).unwrap();
    // the power took its end, and other lines came
    std::fs::write(dir.path().join("crawl.log.00001"), b"one\nTWO\nthree\n").unwrap();
    let file = NamedFile { bytes: 14, ..file };
    let manifest = shipper.ship(&disk, dir.path(), 2, &Head { number: 2, ..head }, &[file]).unwrap();
    restore(&*store, &manifest, &disk, &to.path().join("e"), Archive::Too).unwrap();
    assert_eq!(std::fs::read(to.path().join("e/crawl.log.00001")).unwrap(), b"one\nTWO\nthree\n");
}

#[test]
fn sending_takes_the_time_that_it_may() {
    let (dir, disk, store) = (tempfile::tempdir().unwrap(), Disk::real(), Arc::new(MemoryStore::default()));
    std::fs::write(dir.path().join("f"), vec![1; 20_000]).unwrap();
    let (claim, options) = (Claim::default(), ShipOptions { bytes_per_second: Some(100_000) });
    let mut shipper = Shipper::new(store, Names::default(), 7, Shard::WHOLE, claim, None, options);
    let began = std::time::Instant::now();
    for number in 1..=3 {
        std::fs::write(dir.path().join(format!("f{number}")), vec![number; 20_000]).unwrap();
        let file = NamedFile::new(format!("f{number}").into(), 20_000, FileKind::Whole);
        let head = Head { number: number.into(), ..Head::default() };
        let manifest = shipper.ship(&disk, dir.path(), number.into(), &head, &[file]).unwrap();
        shipper.committed(manifest, number.into()).unwrap();
    }
    // the last one is paid for by the next
    assert!(began.elapsed() >= std::time::Duration::from_millis(400));
}
