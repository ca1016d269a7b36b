//! Every kind of file of crawl directories in which everything is switched on, harmed in five ways: what `verify` says
//! is what the next start does, and `--rebuild` leads to a start or says why not.
//!
//! It goes over the list of what a crawl directory consists of: an entry of which there is no file here, and no reason
//! for that, fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crawler::record::layout::{self, ENTRIES, Entry, StoreName};
use crawler::simweb::SimOptions;

use crate::site::{Crawl, Ended, PATIENCE, RUSH, Site, interrupt, ms};

/// Small stores, so that there are files of every kind, and all that has its own files.
const EVERYTHING: &str = "\n[drum]\nbuckets = 2\nram_per_bucket = \"4KiB\"\nmerge_threshold = \"8KiB\"\n\
                          \n[frontier]\nmemory = \"8MiB\"\nactive_hosts = 16\n\
                          \n[budget]\nby_supporters = \"on\"\n\
                          \n[recrawl]\nmode = \"fixed\"\ninterval = \"10d\"\n\
                          \n[container]\ndedup_against = [\"earlier.cdxj\"]\n\
                          \n[report]\nlog_bytes = \"64KiB\"\n";

/// A line of another archive, whose payload no page of the crawl has.
const EARLIER: &str = "example,)/ 20240101000000 {\"url\":\"http://example/\",\"status\":\"200\",\
                       \"mime\":\"text/html\",\
                       \"digest\":\"sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\",\"filename\":\"earlier.warc.gz\",\
                       \"offset\":\"0\",\"length\":\"100\"}\n";

/// Entries of which a crawl that was stopped in good order has no file, and why none is needed here.
const ABSENT: [(&str, &str); 12] = [
    (layout::SOCKET, "a socket; a start replaces it whatever it is"),
    (layout::SOCKET_MADE, "the directory in which the socket is made"),
    (layout::IDENTITY_MADE, "only while shards are made: tests of crawl::directory"),
    (layout::CATALOG_DAMAGED, "nothing reads it"),
    (layout::METRICS_ADDRESS, "only while a crawl runs, which replaces it"),
    (layout::CONSOLE_ADDRESS, "only while a crawl runs, which replaces it"),
    (layout::SERVE, "only of `crawler serve --proxy`, which nothing else reads: tests of crawl::serve::proxy"),
    (layout::SEARCH, "only of `crawler search`, which makes it again: tests of search"),
    (layout::FEED, "only of `crawler follow --documents`, which nothing else reads: tests of crates/feed"),
    (layout::SHIPPED, "only of a crawl in a store, whose shards are restored from there"),
    (layout::REGISTRY, "only of a node of a crawl in a store"),
    (layout::RESTS_PREFIX, "only of holds that began after the last checkpoint: tests of engine::hold_log"),
];

/// Stores that have files in a crawl of this size. The others are in memory: tests of crawl::verify harm their files.
const ON_DISK: [StoreName; 2] = [StoreName::Seen, StoreName::Visits];

/// The codes of a start that refuses the directory.
const REFUSED: [i32; 4] = [1, 2, 3, 4];

/// A way to harm a file.
struct Harm {
    name: &'static str,
    act: fn(&Path),
}

const HARMS: [Harm; 5] = [
    Harm { name: "gone", act: |path| fs::remove_file(path).unwrap() },
    Harm { name: "emptied", act: |path| fs::write(path, b"").unwrap() },
    Harm { name: "cut in the middle", act: |path| change(path, |bytes| bytes.truncate(bytes.len() / 2)) },
    Harm { name: "a bit flipped in the middle", act: |path| change(path, |bytes| flip(bytes)) },
    Harm { name: "its first half zeroed", act: |path| change(path, |bytes| zero(bytes)) },
];

fn change(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    if !bytes.is_empty() {
        change(&mut bytes);
    }
    fs::write(path, bytes).unwrap();
}

fn flip(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
}

fn zero(bytes: &mut [u8]) {
    let half = bytes.len() / 2;
    bytes[..half].fill(0);
}

/// Result of a command: its code, and all that it said.
struct Said {
    code: i32,
    text: String,
}

/// A crawl that was stopped on its way, and of which a page was forgotten; its directory is kept aside.
struct Kept {
    site: Site,
}

impl Kept {
    fn of(seed: u64, shards: usize) -> Kept {
        let options =
            SimOptions { seed, hosts: 150, pages: 3_000, page_bytes: 500, latency: ms(1), ..SimOptions::default() };
        let crawl = format!("\n[crawl]\ncheckpoint_interval = \"1s\"\nshards = {shards}\n");
        let site = Site::new(options.smooth(), &format!("{RUSH}{EVERYTHING}{crawl}"));
        give_texts_a_budget(&site.crawl);
        fs::write(site.crawl.path("earlier.cdxj"), EARLIER).unwrap();
        let mut child = site.crawl.start(&[]);
        site.wait_for_requests_or_end(300, &mut child);
        // how soon stores have files depends on the machine
        let start = Instant::now();
        while !has_files(&site.crawl.path("crawl")) && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "not every store has files");
            std::thread::sleep(ms(20));
        }
        interrupt(child).expect(11, &[]);
        let forgotten = site.crawl.stored().into_keys().next().unwrap();
        let kept = Kept { site };
        let Said { code, text } = kept.command(&["forget", &forgotten]);
        assert_eq!(code, 0, "{text}");
        fs::rename(kept.dir(), kept.site.crawl.path("sound")).unwrap();
        kept.restore();
        kept
    }

    fn dir(&self) -> PathBuf {
        self.site.crawl.path("crawl")
    }

    fn restore(&self) {
        let _ = fs::remove_dir_all(self.dir());
        copy(&self.site.crawl.path("sound"), &self.dir());
    }

    /// Runs a command over the directory.
    fn command(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(arguments).arg("--dir").arg(self.dir()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        Said { code: output.status.code().unwrap_or(-1), text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// Starts the crawl, which has its pages already; returns what it said where it refused the directory.
    fn start(&self) -> Option<Ended> {
        let ended = self.site.crawl.run(&["--max-pages", "1"]);
        REFUSED.contains(&ended.code.unwrap_or(1)).then_some(ended)
    }

    /// Harms `file`, and returns what is wrong about what the program then says of it.
    fn fault(&self, file: &Path, harm: &Harm) -> Option<String> {
        let mut name = file.file_name().unwrap().to_string_lossy().into_owned();
        if harm.name == "gone" && name.starts_with(layout::CHECKPOINT_PREFIX) {
            // nobody knows its number
            name = format!("{}*", layout::CHECKPOINT_PREFIX);
        }
        self.restore();
        (harm.act)(&self.dir().join(file));
        let verified = self.command(&["verify"]);
        let refused = self.start();
        if let Some(started) = refused.filter(|_| verified.code != 3 || !verified.text.contains(&name)) {
            return Some(format!("the start refuses:\n{}\n{}", verified.text, started.said));
        }
        if verified.code == 0 {
            return None;
        }
        self.restore();
        (harm.act)(&self.dir().join(file));
        let rebuilt = self.command(&["verify", "--rebuild"]);
        let again = self.command(&["verify"]);
        let refused = self.start();
        match (rebuilt.code, refused) {
            (0, None) if again.code == 0 => None,
            (0, None) => Some(format!("rebuilt, and still damaged:\n{}\n{}", rebuilt.text, again.text)),
            // what is lost is reported, and the crawl goes on without it
            (3, None) => None,
            (3, _) if rebuilt.text.contains(&name) => None,
            (code, started) => {
                let started = started.map(|started| started.said);
                Some(format!("--rebuild says {code}:\n{}\nthe start {started:?}", rebuilt.text))
            }
        }
    }
}

/// Returns whether the stores that are on disk, and the calendar, have files.
fn has_files(dir: &Path) -> bool {
    let kinds = of_every_kind(dir);
    let is_there = |name: &str| kinds.values().any(|file| entry_of(file).is_some_and(|entry| entry.name == name));
    ON_DISK.iter().all(|store| is_there(store.dir_name())) && is_there(layout::CALENDAR)
}

/// The section is there already.
fn give_texts_a_budget(crawl: &Crawl) {
    let path = crawl.path("crawler.toml");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(path, config.replacen("[scope]\n", "[scope]\nmax_pages_per_text = 1000\n", 1)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The files below `dir` by their kind: of each kind the largest one.
fn of_every_kind(dir: &Path) -> BTreeMap<String, PathBuf> {
    let mut kinds: BTreeMap<String, (u64, PathBuf)> = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        // a crawl that goes on removes some meanwhile
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let file = path.strip_prefix(dir).unwrap().to_owned();
            // numbers make no kinds, and neither do the names of tables that nothing reads
            let kind = match file.parent().filter(|parent| parent.ends_with(layout::REPORTS)) {
                Some(parent) => parent.to_string_lossy().into_owned(),
                None => file.to_string_lossy().replace(|byte: char| byte.is_ascii_digit(), ""),
            };
            let Ok(bytes) = fs::metadata(&path).map(|file| file.len()) else { continue };
            let largest = kinds.entry(kind).or_insert_with(|| (bytes, file.clone()));
            if largest.0 < bytes {
                *largest = (bytes, file);
            }
        }
    }
    kinds.into_iter().map(|(kind, (_, file))| (kind, file)).collect()
}

/// The entry of the list that `file`, below a crawl directory, is of.
fn entry_of(file: &Path) -> Option<Entry> {
    let mut names = file.iter().map(|name| name.to_string_lossy());
    let first = names.next()?;
    let name = if first.starts_with("shard-") { names.next()? } else { first };
    ENTRIES.into_iter().find(|entry| entry.has(&name))
}

/// The two crawls, with files that each of them has.
fn crawls() -> [(Kept, [&'static str; 5]); 2] {
    let one = ["seeds/list", "seeds/fates", "pages/key.dat", "pages/address.idx", "forgotten.jsonl"];
    let shards = ["seeds/list", "shard-/seeds/fates", "shard-/pages/value", "shard-/links/", "forgotten.jsonl"];
    [(Kept::of(61, 1), one), (Kept::of(62, 2), shards)]
}

/// Harms every kind of file of both crawls so.
fn harm_every_file(harm: &Harm) {
    let mut faults = Vec::new();
    for (kept, expected) in crawls() {
        let files = of_every_kind(&kept.dir());
        let is_missing = |part: &&&str| !files.keys().any(|kind| kind.contains(**part));
        let missing: Vec<_> = expected.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "{missing:?} are not in {files:?}");
        for file in files.values() {
            let fault = kept.fault(file, harm);
            faults.extend(fault.map(|what| format!("## {}: {}\n{what}", file.display(), harm.name)));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn verify_judges_every_file_that_is_gone_as_a_start_does_and_rebuild_leads_to_one_or_says_why_not() {
    harm_every_file(&HARMS[0]);
}

#[test]
fn verify_judges_every_file_that_is_empty_as_a_start_does() {
    harm_every_file(&HARMS[1]);
}

#[test]
fn verify_judges_every_file_that_is_cut_as_a_start_does() {
    harm_every_file(&HARMS[2]);
}

#[test]
fn verify_judges_every_file_with_a_wrong_bit_as_a_start_does() {
    harm_every_file(&HARMS[3]);
}

#[test]
fn verify_judges_every_file_that_begins_with_zeros_as_a_start_does() {
    harm_every_file(&HARMS[4]);
}

#[test]
fn every_entry_of_the_list_has_a_file_that_is_harmed() {
    let files: Vec<PathBuf> = crawls().iter().flat_map(|(kept, _)| of_every_kind(&kept.dir()).into_values()).collect();
    let entry = |file: &PathBuf| entry_of(file).unwrap_or_else(|| panic!("{} is of no entry", file.display())).name;
    let harmed: BTreeSet<&str> = files.iter().map(entry).collect();
    let is_in_memory = |store: &StoreName| !ON_DISK.contains(store);
    let in_memory = StoreName::ALL.iter().filter(|store| is_in_memory(store)).map(|store| store.dir_name());
    let excused: BTreeSet<&str> = ABSENT.iter().map(|(absent, _)| *absent).chain(in_memory).collect();
    // how far the crawls came says whether what is excused was written
    let names = ENTRIES.iter().map(|entry| entry.name);
    let unharmed: Vec<&str> = names.filter(|name| !harmed.contains(name) && !excused.contains(name)).collect();
    assert!(unharmed.is_empty(), "harmed by nothing: {unharmed:?}");
}
