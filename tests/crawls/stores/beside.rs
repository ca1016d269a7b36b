//! Readers of a store beside a crawl that makes a checkpoint each second: what they print is whole, and they find no
//! damage, though the crawl deletes what they read.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crawler::simweb::SimOptions;
use serde_json::Value;

use super::makes::MOTO;
use super::server::Server;
use crate::site::{PATIENCE, Site, interrupt};

/// Times that each reader reads, at most.
const ROUNDS: usize = 60;
/// Times that each reads on a machine that is slow, and checkpoints that the crawl makes meanwhile.
const ROUNDS_LEAST: usize = 8;
const CHECKPOINTS: u64 = 40;

/// A crawl that takes minutes, and where it ships its checkpoints.
struct Crawl {
    site: Site,
    store: String,
    environment: Vec<(String, String)>,
    child: Option<Child>,
}

impl Crawl {
    fn start(shards: usize, seed: u64, server: Option<&Server>) -> Crawl {
        let sections = format!(
            "delay_factor = 0.0\ndelay_min = \"400ms\"\ndelay_per_ip = \"0s\"\n[crawl]\nshards = {shards}\n[cluster]\n\
             commit_interval = \"1s\"\n"
        );
        let site =
            Site::new(SimOptions { seed, hosts: 60, pages: 30_000, ..SimOptions::default() }.smooth(), &sections);
        let here = fs::canonicalize(site.crawl.dir.path()).unwrap().join("store");
        let store = server.map_or_else(|| format!("file://{}", here.display()), |server| server.address("crawls"));
        let environment = server.map(|server| server.options(server.port).environment).unwrap_or_default();
        let mut crawl = Crawl { site, store, environment, child: None };
        let words = ["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "--store", &crawl.store];
        crawl.child = Some(crawl.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        let (start, seed) = (Instant::now(), crawl.site.web.seeds()[0].clone());
        while !crawl.command(&["get", &seed, "--store", &crawl.store]).output().unwrap().status.success() {
            assert!(start.elapsed() < PATIENCE, "nothing reaches the store");
            thread::sleep(Duration::from_millis(50));
        }
        crawl
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(words).current_dir(self.site.crawl.dir.path()).stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns what a command line on the store prints. It has to succeed.
    #[track_caller]
    fn reads(&self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').chain(["--store", &self.store]).collect();
        let Output { status, stdout, stderr } = self.command(&words).output().unwrap();
        let (said, told) = (String::from_utf8(stdout).unwrap(), String::from_utf8_lossy(&stderr).into_owned());
        assert_eq!(status.code(), Some(0), "{line}\n{said}\n{told}");
        assert!(said.ends_with('\n'), "{line} is cut: {said}\n{told}");
        said
    }

    #[track_caller]
    fn verifies(&self) {
        let said = self.reads("verify --quiet");
        assert!(said.contains(": no damage") && !said.contains("unfinished"), "{said}");
    }

    /// Every page that was there the last time, and each line whole.
    #[track_caller]
    fn lists(&self, before: &mut HashSet<String>) {
        let said = self.reads("list --all --json");
        let url = |line: &str| serde_json::from_str::<Value>(line).unwrap()["url"].as_str().unwrap().to_owned();
        let listed: HashSet<String> = said.lines().map(url).collect();
        assert!(before.is_subset(&listed), "{:?}", before.difference(&listed).next());
        *before = listed;
    }

    #[track_caller]
    fn gets(&self, url: &str, before: &mut Option<String>) {
        let said = self.reads(&format!("get {url} --headers"));
        assert_eq!(*before.get_or_insert_with(|| said.clone()), said);
    }

    #[track_caller]
    fn reports(&self) {
        let rows = self.reads("report seeds --json").lines().count();
        assert_eq!(rows, self.site.web.seeds().len());
    }

    /// The number of the last checkpoint, of all shards.
    fn checkpoint(&self) -> u64 {
        let entries = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
        let number = |name: OsString| name.to_str()?.strip_prefix("checkpoint.g")?.parse().ok();
        let dir = self.site.crawl.path("crawl");
        let in_shards = entries(dir.clone()).flat_map(|entry| entries(entry.path()));
        entries(dir).chain(in_shards).filter_map(|entry| number(entry.file_name())).max().unwrap_or(0)
    }

    /// All read side by side, again and again, and the crawl goes on meanwhile.
    #[track_caller]
    fn assert_read_whole(mut self) {
        let seed = self.site.web.seeds()[0].clone();
        let crawl = &self;
        let (done, begun) = (AtomicUsize::new(0), self.checkpoint());
        let finish = |read: &mut dyn FnMut()| {
            for round in 0..ROUNDS {
                if round >= ROUNDS_LEAST && crawl.checkpoint() >= begun + CHECKPOINTS {
                    break;
                }
                read();
            }
            done.fetch_add(1, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            scope.spawn(|| finish(&mut || crawl.verifies()));
            scope.spawn(|| {
                let mut before = HashSet::new();
                finish(&mut || crawl.lists(&mut before));
            });
            scope.spawn(|| {
                let mut before = None;
                finish(&mut || crawl.gets(&seed, &mut before));
            });
            scope.spawn(|| finish(&mut || crawl.reports()));
        });
        assert_eq!(done.into_inner(), 4);
        let ended = interrupt(self.child.take().unwrap());
        // on a slow machine it may have come to its end
        assert!(matches!(ended.code, Some(0 | 11)), "{}", ended.said);
        self.verifies();
    }
}

impl Drop for Crawl {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn readers_of_a_directory_beside_a_crawl_find_it_whole() {
    Crawl::start(1, 431, None).assert_read_whole();
}

#[test]
fn readers_of_several_shards_beside_a_crawl_find_them_whole() {
    Crawl::start(3, 432, None).assert_read_whole();
}

#[test]
fn readers_of_a_server_of_objects_beside_a_crawl_find_it_whole() {
    let Some(server) = Server::start(&MOTO) else { return };
    Crawl::start(1, 433, Some(&server)).assert_read_whole();
}
