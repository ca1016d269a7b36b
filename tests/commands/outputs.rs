//! Files that commands write where the user says: each appears as a whole, and nothing goes through a link that
//! somebody put there before. And files that they read: a pipe in the place of one keeps nobody waiting.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crawler::simweb::SimOptions;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::site::{RUSH, Site, wait};

/// Command lines, and the files that they write.
const OUTPUTS: [(&str, &[&str]); 20] = [
    ("export urls --output s.txt", &["s.txt"]),
    ("export warc --output s.warc.gz", &["s.warc.gz"]),
    ("export wacz --output s.wacz", &["s.wacz"]),
    ("export manifest --output m.jsonl", &["m.jsonl"]),
    ("export cdxj --output i.cdxj", &["i.cdxj"]),
    ("export index --output x.tsv", &["x.tsv"]),
    ("export links --output l.tsv", &["l.tsv"]),
    ("export wet --output t.wet.gz", &["t.wet.gz"]),
    ("export wat --output t.wat.gz", &["t.wat.gz"]),
    ("export graph --output g", &["g/host-edges.txt.gz", "g/host-ranks.txt.gz", "g/host-vertices.txt.gz"]),
    // its directory is new or empty, so nothing is there before
    ("export files f", &[]),
    ("extract --output s.csv", &["s.csv"]),
    ("extract --output s.sqlite", &["s.sqlite"]),
    ("extract --output s.parquet", &["s.parquet"]),
    ("audit --output a", &["a/report.html", "a/findings.csv", "a/audit.json"]),
    ("audit --output e --check-external --config crawler.toml", &["e/external-seeds.txt"]),
    ("follow --once --cursor c.json", &["c.json"]),
    ("identity page --config crawler.toml --output p.html", &["p.html"]),
    ("identity init --dir k", &[]),
    ("simulate --pages 20 --hosts 2 --out w --for 0", &["w/seeds.txt", "w/expected.txt", "w/requests.jsonl"]),
];

/// Puts a link to its own file at `path`.
fn plant(path: &Path) {
    let victim = path.with_added_extension("victim");
    fs::write(&victim, "VICTIM").unwrap();
    symlink(&victim, path).unwrap();
}

fn is_unharmed(path: &Path) -> bool {
    fs::read(path.with_added_extension("victim")).unwrap() == b"VICTIM"
}

fn run(site: &Site, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(line.split(' ')).current_dir(site.crawl.dir.path()).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn no_output_is_written_through_a_link_that_was_planted() {
    let options = SimOptions { seed: 3, hosts: 3, pages: 40, ..SimOptions::default() };
    let site = Site::new(options.smooth(), RUSH);
    let json = site.crawl.path("end.json");
    let asides = |path: &Path| [path.to_owned(), path.with_added_extension("part"), path.with_added_extension("tmp")];
    asides(&json).iter().for_each(|path| plant(path));
    site.crawl.run(&["--json", "end.json"]).expect(0, &[]);
    assert!(asides(&json).iter().all(|path| is_unharmed(path)) && !json.is_symlink());
    ["a", "e", "g", "k", "w"].iter().for_each(|dir| fs::create_dir(site.crawl.path(dir)).unwrap());
    for (line, files) in OUTPUTS {
        let mut planted: Vec<_> = files.iter().flat_map(|file| asides(&site.crawl.path(file))).collect();
        // a cursor that is there is read, and a file of something else refused
        planted.retain(|path| !path.ends_with("c.json"));
        planted.iter().for_each(|path| plant(path));
        let output = run(&site, line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        for path in &planted {
            assert!(is_unharmed(path), "{line} wrote through {}", path.display());
        }
        for file in files.iter().map(|file| site.crawl.path(file)) {
            assert!(!file.is_symlink(), "{line}: {} is still a link", file.display());
        }
    }
}

#[test]
fn every_export_is_among_the_outputs() {
    for name in crate::cli::exports() {
        let start = format!("export {name} ");
        assert!(OUTPUTS.iter().any(|(line, _)| line.starts_with(&start)), "{name}");
    }
}

#[test]
fn an_output_that_is_no_file_keeps_its_name() {
    let site = Site::new(SimOptions { seed: 3, hosts: 1, pages: 3, ..SimOptions::default() }.smooth(), RUSH);
    site.crawl.run(&[]).expect(0, &[]);
    let socket = site.crawl.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let output = run(&site, "export urls --output socket");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a regular file"));
    assert!(std::os::unix::net::UnixStream::connect(&socket).is_ok());
}

/// All regular files below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&entry.path())),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

#[test]
fn a_pipe_in_the_place_of_a_file_of_a_crawl_directory_keeps_no_command_waiting() {
    let site = Site::new(SimOptions { seed: 3, hosts: 1, pages: 3, ..SimOptions::default() }.smooth(), RUSH);
    site.crawl.run(&[]).expect(0, &[]);
    let url = site.web.seeds()[0].clone();
    let get = format!("get {url}");
    let explain = format!("explain {url}");
    let aside = site.crawl.path("aside");
    for path in files(&site.crawl.path("crawl")) {
        fs::rename(&path, &aside).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for line in
            ["status", "list", "report hosts", "export cdxj", "verify", "follow --once", "ctl status", &get, &explain]
        {
            let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
            command.args(line.split(' ')).current_dir(site.crawl.dir.path()).stdin(Stdio::null());
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let ended = wait(child);
            assert!(!ended.said.contains("panicked"), "{line} with a pipe at {}: {}", path.display(), ended.said);
        }
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
}
