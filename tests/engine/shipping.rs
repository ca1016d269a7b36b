//! Checkpoints that go into a store of objects, and crawls that go on from there: in another directory, with the
//! archive or without, or read where they lie.

use super::*;
use crawler::checkpoint::Last;
use crawler::container::{Reader, Report};
use crawler::disk::Mode;
use crawler::engine::checkpoint::inventory;
use crawler::exchange::Head;
use crawler::record::{FileKind, NamedFile};
use crawler::shard::Shard;
use crawler::ship::{self, Archive, Claim, Manifest, Names, ShipOptions, Shipper, StoreView};
use crawler::store::{self, Body, ObjectStore};
use std::ops::Range;
use std::path::PathBuf;

const START: Time = Time::from_ms(1_000_000_000_000);

/// Small sites on whose pages something changes; every second one of a host has the payload of another.
struct Twins;

impl Web for Twins {
    fn answer(&self, url: &CanonicalUrl, now: Time) -> (u16, String) {
        let (status, body) = SmallSites.answer(url, now);
        let page: usize = url.path().trim_start_matches('/').parse().unwrap_or(0);
        match page >= PAGES / 2 && url.path() != "/robots.txt" {
            // leaves of one host are the same but for the page that is forbidden
            true => (status, format!("a leaf {}", "x".repeat(2_000))),
            false => (status, body),
        }
    }

    fn container(&self) -> ContainerOptions {
        ContainerOptions { segment_bytes: 10_000, ..ContainerOptions::default() }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.checkpoint_interval = Duration::from_secs(2);
    }

    /// Memory so small that there are files of all kinds.
    fn drum(&self) -> DrumOptions {
        DrumOptions { buckets: 4, ram_per_bucket: 64, merge_threshold: 1 << 10, ..DrumOptions::default() }
    }
}

/// Pages that a crawl of these has in the end.
fn whole() -> Vec<String> {
    every_page()
}

/// A store in a directory.
#[derive(Debug)]
struct Folder(PathBuf);

impl ObjectStore for Folder {
    fn put(&self, name: &str, body: &Body) -> store::Result<()> {
        let path = self.0.join(name);
        assert!(!path.exists(), "{name} is put twice");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, body.read(0, body.bytes() as usize)?).unwrap();
        Ok(())
    }

    fn get(&self, name: &str, range: Range<u64>) -> store::Result<Vec<u8>> {
        let not_found = |_| store::Error::NotFound { name: name.to_owned() };
        let bytes = std::fs::read(self.0.join(name)).map_err(not_found)?;
        Ok(bytes[range.start as usize..range.end as usize].to_vec())
    }

    fn length(&self, name: &str) -> store::Result<Option<u64>> {
        Ok(std::fs::metadata(self.0.join(name)).ok().map(|found| found.len()))
    }

    fn list(&self, prefix: &str, visit: &mut dyn FnMut(&str, u64)) -> store::Result<()> {
        for claim in std::fs::read_dir(self.0.join(prefix)).into_iter().flatten() {
            let claim = claim.unwrap();
            for object in std::fs::read_dir(claim.path()).unwrap() {
                let (object, claim) = (object.unwrap(), claim.file_name());
                let name = format!("{prefix}{}/{}", claim.to_str().unwrap(), object.file_name().to_str().unwrap());
                visit(&name, object.metadata().unwrap().len());
            }
        }
        Ok(())
    }

    fn delete(&self, name: &str) -> store::Result<()> {
        let _ = std::fs::remove_file(self.0.join(name));
        Ok(())
    }

    fn address(&self) -> String {
        self.0.display().to_string()
    }
}

/// A crawl whose checkpoints are shipped.
struct Shipped {
    run: Run,
    disk: Disk,
    dir: PathBuf,
    shipper: Shipper,
    number: u64,
}

impl Shipped {
    /// Opens the crawl in `dir` of `disk`, whose directory is on the machine's disk.
    fn open(disk: Disk, dir: &Path, store: &Arc<Folder>, last: Option<Manifest>, now: Time) -> Shipped {
        let run = try_open(Rc::new(Twins), disk.clone(), dir, now).unwrap();
        begin::look(&Disk::real(), dir).unwrap().unwrap().write_copy(&Disk::real(), dir).unwrap();
        let epoch = ship::greatest_claim(&**store, &Names::default(), 0).unwrap().map_or(1, |claim| claim.epoch + 1);
        let claim = Claim { era: 1, epoch };
        ship::sweep(&**store, &Names::default(), 0, claim, last.as_ref()).unwrap();
        let number = last.as_ref().map_or(0, |last| last.number);
        let shard = Shard::WHOLE;
        let shipper = Shipper::new(store.clone(), Names::default(), 77, shard, claim, last, ShipOptions::default());
        Shipped { run, disk, dir: dir.to_owned(), shipper, number }
    }

    /// Runs until `requests` were made in this run, and ships what checkpoints there are on the way.
    fn go(&mut self, requests: usize) -> Option<Finish> {
        loop {
            let number = self.number;
            let dir = self.dir.clone();
            let newest = || Last::find(&Disk::real(), &dir).unwrap().unwrap().number;
            let finish = self.run.go_until(|run| run.requests().len() >= requests || newest() > number);
            if newest() > number {
                self.ship(newest());
            }
            if finish.is_some() || self.run.requests().len() >= requests {
                return finish;
            }
        }
    }

    fn ship(&mut self, number: u64) {
        let files = inventory::of_file(&self.disk, &self.dir, number).unwrap();
        let head = Head { number, ..Head::default() };
        let manifest = self.shipper.ship(&self.disk, &self.dir, number, &head, &files).unwrap();
        self.shipper.committed(manifest, number).unwrap();
        self.number = number;
    }

    /// It is killed: what it asked for, and what is in the store.
    fn kill(self) -> (Vec<(Time, String)>, Manifest, Time) {
        (self.run.requests(), self.shipper.last().unwrap().clone(), self.run.clock.now())
    }
}

/// Returns what `verify` finds in the directory.
fn findings(dir: &Path) -> Vec<String> {
    found(|report| crawler::crawl::verify::verify(dir, report, &mut |_| {}).unwrap())
}

/// The damage that a verification finds.
fn found(verify: impl FnOnce(&mut Report<'_>)) -> Vec<String> {
    let mut found = Vec::new();
    let mut tell = |finding: &crawler::container::Finding| {
        if finding.damage {
            found.push(format!("{}: {}", finding.file.display(), finding.what));
        }
    };
    let mut progress = |_, _| {};
    verify(&mut Report::new(&mut tell, &mut progress));
    found
}

fn stored(disk: Disk, dir: &Path) -> Vec<String> {
    let reader = Reader::open(disk, &dir.join("pages")).unwrap();
    let pages = reader.records().map(|record| record.unwrap()).filter(|record| !record.robots);
    let mut urls: Vec<String> = pages
        .map(|record| {
            reader.response(&record).unwrap();
            let newest = reader.newest(record.key, &record.url).unwrap().unwrap();
            assert_eq!(newest.offset, record.offset);
            record.url
        })
        .collect();
    urls.sort();
    urls
}

/// Copies exactly what the inventory says.
fn copy(from: &Path, files: &[NamedFile], to: &Path) {
    for NamedFile { path, open_path, bytes, .. } in files {
        let found = [Some(path), open_path.as_ref()].into_iter().flatten().find(|path| from.join(path).exists());
        let mut content = std::fs::read(from.join(found.unwrap())).unwrap();
        content.truncate(usize::try_from(*bytes).unwrap());
        assert_eq!(content.len() as u64, *bytes, "{}", path.display());
        let path = to.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

#[test]
fn a_crawl_goes_on_from_what_the_inventory_of_its_checkpoint_names_and_from_nothing_else() {
    let mut kinds: Vec<FileKind> = Vec::new();
    for stop in (5..65).step_by(12) {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to, disk) = (from.path().join("a"), to.path().join("b"), Disk::real());
        std::fs::create_dir_all(&from).unwrap();
        let mut first = try_open(Rc::new(Twins), disk.clone(), &from, START).unwrap();
        first.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
        begin::look(&disk, &from).unwrap().unwrap().write_copy(&disk, &from).unwrap();
        assert_eq!(first.go(stop), None);
        let (now, asked) = (first.clock.now(), first.requests());
        let number = Last::find(&disk, &from).unwrap().unwrap().number;
        drop(first);
        let files = inventory::of_file(&disk, &from, number).unwrap();
        kinds.extend(files.iter().map(|file| file.kind));
        copy(&from, &files, &to);
        if number > 0 {
            let keys = files.iter().find(|file| file.path.ends_with("key.dat")).unwrap();
            crawler::container::make_addresses(&disk, &to.join("pages"), keys.bytes).unwrap();
        }
        let mut second = try_open(Rc::new(Twins), disk.clone(), &to, now).unwrap();
        assert_eq!(second.go(usize::MAX), Some(Finish::Complete), "stopped at request {stop}");
        let mut pages = pages_of(&[asked, second.requests()].concat());
        pages.dedup();
        drop(second);
        assert_eq!(pages, whole(), "stopped at request {stop}");
        assert_eq!(stored(disk, &to), whole(), "stopped at request {stop}");
        assert_eq!(findings(&to), [""; 0], "stopped at request {stop}");
    }
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, [FileKind::Whole, FileKind::Grows, FileKind::Archive, FileKind::Replaced]);
}

#[test]
fn a_crawl_moves_from_machine_to_machine_with_and_without_its_archive() {
    let machines: Vec<tempfile::TempDir> = (0..5).map(|_| tempfile::tempdir().unwrap()).collect();
    let dir = |machine: usize| machines[machine].path().join("crawl");
    let store = Arc::new(Folder(machines[4].path().join("store")));
    std::fs::create_dir_all(dir(0)).unwrap();
    let mut first = Shipped::open(Disk::real(), &dir(0), &store, None, START);
    first.run.engine.seeder().admit_seed(&CanonicalUrl::parse(SEED).unwrap(), None).unwrap();
    assert_eq!(first.go(20), None);
    let (mut asked, last, now) = first.kill();
    // the archive stays where it is: value files are read there
    ship::restore(&*store, &last, &Disk::real(), &dir(1), Archive::Left).unwrap();
    let view = StoreView::new(store.clone(), Some(Disk::real()), 1 << 20);
    view.mount_archive(&dir(1), &last);
    let mut second = Shipped::open(view.disk(), &dir(1), &store, Some(last), now);
    assert_eq!(second.go(25), None);
    let (more, last, now) = second.kill();
    asked.extend(more);
    // and again, with what the second one has stored
    ship::restore(&*store, &last, &Disk::real(), &dir(2), Archive::Left).unwrap();
    let view = StoreView::new(store.clone(), Some(Disk::real()), 1 << 20);
    view.mount_archive(&dir(2), &last);
    let mut third = Shipped::open(view.disk(), &dir(2), &store, Some(last), now);
    assert_eq!(third.go(usize::MAX), Some(Finish::Complete));
    let (more, last, _) = third.kill();
    asked.extend(more);
    let mut pages = pages_of(&asked);
    pages.dedup();
    assert_eq!(pages, whole());
    let newest = ship::newest(&*store, &Names::default(), 0).unwrap().unwrap();
    assert_eq!((newest.claim, newest.number), (last.claim, last.number));
    // all of it on a fourth machine
    ship::restore(&*store, &newest, &Disk::real(), &dir(3), Archive::Too).unwrap();
    assert_eq!(stored(Disk::real(), &dir(3)), whole());
    assert_eq!(findings(&dir(3)), [""; 0]);
    // and read where it is, without any directory
    let view = StoreView::new(store, None, 1 << 20);
    view.mount(Path::new("/in/the/store"), &newest, &|_| true);
    assert_eq!(stored(view.disk(), Path::new("/in/the/store")), whole());
    let verify = |report: &mut Report<'_>| {
        let dir = Path::new("/in/the/store");
        crawler::crawl::verify::verify_shipped(&view.disk(), dir, report, &mut |_| {}).unwrap();
    };
    assert_eq!(found(verify), [""; 0]);
    assert!(view.disk().open("/in/the/store/x", Mode::Create).is_err());
}
