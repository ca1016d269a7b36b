//! Tests of the way from the command line to the crawl.

use crate::crawl::CrawlError;
use std::ffi::OsString;
use std::sync::Mutex;

use super::*;
use crate::cli::archive::Archive;
use crate::cli::run_args;
use crate::record::Finish;

fn no_archive(_: &Disk, _: &Path) -> anyhow::Result<Box<dyn Archive>> {
    anyhow::bail!("no archive here")
}

/// Runs a command line whose crawl ends with `crawl`.
fn exit(args: &[&str], crawl: CrawlFn) -> Exit {
    run_args([&["crawler"], args].concat().into_iter().map(OsString::from), crawl, no_archive)
}

struct TestDir {
    _dir: tempfile::TempDir,
    seeds: String,
    crawl: String,
}

fn place() -> TestDir {
    let dir = tempfile::tempdir().unwrap();
    let seeds = dir.path().join("seeds.txt");
    fs::write(&seeds, "# two\r\nhttps://example.com/\r\n").unwrap();
    let crawl = dir.path().join("crawl").display().to_string();
    TestDir { seeds: seeds.display().to_string(), crawl, _dir: dir }
}

#[test]
fn the_crawl_is_called_with_all_that_was_typed() {
    static SEEN: Mutex<Option<CrawlRequest>> = Mutex::new(None);
    fn crawl(request: CrawlRequest) -> Result<Finish, CrawlError> {
        *SEEN.lock().unwrap() = Some(request);
        Ok(Finish::PageLimit)
    }
    let place = place();
    let limits =
        ["--max-pages", "7", "--max-time", "1h30m", "--max-depth", "0", "--force", "-q", "--log-format", "json"];
    let args = [&["--seeds", &place.seeds, "--dir", &place.crawl], &limits[..]].concat();
    assert_eq!(exit(&args, crawl), Exit::Done);
    let request = SEEN.lock().unwrap().take().unwrap();
    assert_eq!(request.config.crawl.max_pages, Some(7));
    assert_eq!(request.config.crawl.max_time, Some(Duration::from_secs(5_400)));
    assert_eq!(request.config.crawl.max_depth, Some(0));
    assert_eq!(request.seeds, b"# two\r\nhttps://example.com/\r\n");
    assert_eq!((request.verbosity, request.force, request.logs_json()), (Verbosity::Quiet, true, true));
    assert_eq!(request.closing().dir, Path::new(&place.crawl));
    assert!(!Path::new(&place.crawl).exists(), "nothing is written before the crawl");
}

#[test]
fn the_exit_code_tells_how_the_crawl_ended() {
    let place = place();
    let args = ["--seeds", &place.seeds, "--dir", &place.crawl, "-q"];
    assert_eq!(exit(&args, |_| Ok(Finish::Complete)), Exit::Done);
    assert_eq!(exit(&args, |_| Ok(Finish::StoppedBySignal)), Exit::Stopped);
    assert_eq!(exit(&args, |_| Ok(Finish::ForcedBySignal)), Exit::Forced);
    assert_eq!(exit(&args, |_| Ok(Finish::DiskLow)), Exit::Disk);
    assert_eq!(exit(&args, |_| Err(CrawlError::NothingFetched("no seed answered".to_owned()))), Exit::NothingFetched);
    assert_eq!(exit(&args, |_| Err(disk::Error::damaged(Path::new("x"), 1, "a", "b").into())), Exit::Damaged);
}

#[test]
fn fresh_moves_the_old_crawl_aside_and_deletes_nothing() {
    let place = place();
    fs::create_dir(&place.crawl).unwrap();
    fs::write(format!("{}/LOCK", place.crawl), "1\n").unwrap();
    fs::write(format!("{}/page", place.crawl), "precious").unwrap();
    let now = Time::from_ms(1_114_650_975_990);
    let aside = move_aside(&Path::new(&place.crawl).join(""), now).unwrap();
    assert!(aside.ends_with("crawl.old-20050428-011615"), "{aside:?}");
    assert_eq!(fs::read_to_string(aside.join("page")).unwrap(), "precious");
    assert!(!Path::new(&place.crawl).exists());
    fs::create_dir(&place.crawl).unwrap();
    let second = move_aside(Path::new(&place.crawl), now).unwrap();
    assert!(second.ends_with("crawl.old-20050428-011615-2"), "{second:?}");
    assert_eq!(fs::read_to_string(aside.join("page")).unwrap(), "precious");
}

#[test]
fn fresh_leaves_a_directory_in_use_alone() {
    let place = place();
    fs::create_dir(&place.crawl).unwrap();
    let _held = DirectoryLock::acquire(Path::new(&place.crawl)).unwrap();
    let args = ["--seeds", &place.seeds, "--dir", &place.crawl, "--fresh", "-q"];
    assert_eq!(exit(&args, |_| panic!("must not be called")), Exit::InUse);
    assert!(Path::new(&place.crawl).join("LOCK").exists());
}

#[test]
fn a_resumed_crawl_needs_no_new_seed_and_a_new_one_does() {
    let place = place();
    fs::write(&place.seeds, "\u{feff}\n  # none\r\n\n").unwrap();
    let args = ["--seeds", &place.seeds, "--dir", &place.crawl, "-q"];
    assert_eq!(exit(&args, |_| Ok(Finish::Complete)), Exit::Usage);
    fs::create_dir(&place.crawl).unwrap();
    fs::write(format!("{}/LOCK", place.crawl), "1\n").unwrap();
    assert_eq!(exit(&args, |_| Ok(Finish::Complete)), Exit::Done);
}
