//! Every kind of file of crawl directories in which everything is switched on, harmed in five ways: what `verify` says
//! is what the next start does, and `--rebuild` leads to a start or says why not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crawler::simweb::SimOptions;

use crate::site::{Ended, RUSH, Site, interrupt, ms};

/// Small stores, so that there are files of every kind, and all that has files of its own.
const EVERYTHING: &str = "\n[drum]\nbuckets = 2\nram_per_bucket = \"4KiB\"\nmerge_threshold = \"8KiB\"\n\
                          \n[frontier]\nmemory = \"8MiB\"\nactive_hosts = 16\n\
                          \n[scope]\nmax_pages_per_text = 1000\n\
                          \n[budget]\nby_supporters = \"on\"\n\
                          \n[recrawl]\nmode = \"fixed\"\ninterval = \"10d\"\n\
                          \n[report]\nlog_bytes = \"64KiB\"\n";

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
    Harm { name: "a bit flipped in the middle", act: |path| change(path, flip) },
    Harm { name: "its first half zeroed", act: |path| change(path, zero) },
];

fn change(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    if !bytes.is_empty() {
        change(&mut bytes);
    }
    fs::write(path, bytes).unwrap();
}

fn flip(bytes: &mut Vec<u8>) {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
}

fn zero(bytes: &mut Vec<u8>) {
    let half = bytes.len() / 2;
    bytes[..half].fill(0);
}

/// A crawl that was stopped on its way, and of which a page was forgotten; its directory is kept aside.
struct Kept {
    site: Site,
}

impl Kept {
    fn of(seed: u64, shards: usize) -> Kept {
        let options =
            SimOptions { seed, hosts: 200, pages: 1_500, page_bytes: 500, latency: ms(1), ..SimOptions::default() };
        let crawl = format!("\n[crawl]\ncheckpoint_interval = \"1s\"\nshards = {shards}\n");
        let site = Site::new(options.smooth(), &format!("{RUSH}{EVERYTHING}{crawl}"));
        let child = site.crawl.start(&[]);
        site.wait_for_requests(900);
        interrupt(child).expect(11, &[]);
        let forgotten = site.crawl.stored().into_keys().next().unwrap();
        let kept = Kept { site };
        let (code, said) = kept.command(&["forget", &forgotten]);
        assert_eq!(code, 0, "{said}");
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

    /// Runs a command over the directory: its code, and all that it said.
    fn command(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        let output = command.args(arguments).arg("--dir").arg(self.dir()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
    }

    /// Starts the crawl, which has its pages already.
    fn start(&self) -> Ended {
        self.site.crawl.run(&["--max-pages", "1"])
    }

    /// What is wrong about what is said of `file`, harmed so.
    fn fault(&self, file: &Path, harm: &Harm) -> Option<String> {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        self.restore();
        (harm.act)(&self.dir().join(file));
        let (verdict, verified) = self.command(&["verify"]);
        let started = self.start();
        let refused = REFUSED.contains(&started.code.unwrap_or(1));
        if refused && (verdict != 3 || !verified.contains(&name)) {
            return Some(format!("the start refuses, verify says {verdict}:\n{verified}\n{}", started.said));
        }
        if verdict == 0 {
            return None;
        }
        self.restore();
        (harm.act)(&self.dir().join(file));
        let (rebuilt, told) = self.command(&["verify", "--rebuild"]);
        let started = self.start();
        let refused = REFUSED.contains(&started.code.unwrap_or(1));
        match (rebuilt, refused) {
            (0, false) | (3, _) if rebuilt == 0 || told.contains(&name) => None,
            _ => Some(format!("--rebuild says {rebuilt}, the start {:?}:\n{told}\n{}", started.code, started.said)),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (source, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if source.is_dir() { copy(&source, &target) } else { _ = fs::copy(&source, &target).unwrap() }
    }
}

/// The files below `dir` by their kind: of each kind the largest one.
fn of_every_kind(dir: &Path) -> BTreeMap<String, PathBuf> {
    let mut kinds: BTreeMap<String, (u64, PathBuf)> = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let file = path.strip_prefix(dir).unwrap().to_owned();
            // numbers are no kinds, but for those of versions of one archive
            let kind = file.to_string_lossy().replace(|byte: char| byte.is_ascii_digit(), "");
            let bytes = fs::metadata(&path).unwrap().len();
            let largest = kinds.entry(kind).or_insert_with(|| (bytes, file.clone()));
            if largest.0 < bytes {
                *largest = (bytes, file);
            }
        }
    }
    kinds.into_iter().map(|(kind, (_, file))| (kind, file)).collect()
}

fn judge(kept: &Kept, expected: &[&str]) {
    let files = of_every_kind(&kept.dir());
    let is_there = |part: &&&str| files.keys().any(|kind| kind.contains(**part));
    assert!(expected.iter().all(|part| is_there(&part)), "not all of {expected:?} in {files:?}");
    let mut faults = Vec::new();
    for file in files.values() {
        for harm in &HARMS {
            let fault = kept.fault(file, harm);
            faults.extend(fault.map(|what| format!("## {}: {}\n{what}", file.display(), harm.name)));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn of_every_file_verify_says_what_a_start_does_and_rebuild_leads_to_one_or_says_why_not() {
    let kept = Kept::of(61, 1);
    judge(
        &kept,
        &["url-seen/", "robots/", "dns/", "visits/", "support/", "frontier/", "seeds/list", "fates", "forgotten.jsonl"],
    );
}

#[test]
fn the_same_of_a_crawl_of_several_shards() {
    let kept = Kept::of(62, 2);
    judge(&kept, &["links/", "shard-/seeds/fates", "seeds/list", "identity.json", "shard-/pages/"]);
}
