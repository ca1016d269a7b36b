//! The crash contract on the real file system with the real binary: kills, failing syncs, full disks, damaged files.
//!
//! The synthetic web knows the right result; after whatever was done to the crawler and its directory, the crawl has to
//! end with it, or to say which file is damaged and where. Some of it needs `strace` or its own name space.

mod again;
mod checkpoint;
mod damage;
mod disk;
mod machines;
mod moments;
mod rebuilt;
mod recovery;
mod shards;
mod supporters;

use std::collections::HashMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::site::{Ended, RUSH, Site, wait};
use crawler::simweb::SimOptions;

/// A web that is crawled within a second or two.
fn small(seed: u64) -> SimOptions {
    SimOptions { seed, hosts: 20, pages: 240, ..SimOptions::default() }.smooth()
}

/// A crawl of that web with a checkpoint every second.
fn site(options: SimOptions) -> Site {
    Site::new(options, &format!("{RUSH}\n[crawl]\ncheckpoint_interval = \"1s\"\n"))
}

/// The crawler with `wrapper` before its command line.
fn wrapped(site: &Site, wrapper: &[&str]) -> Child {
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(env!("CARGO_BIN_EXE_crawler"));
    command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl"]);
    command.current_dir(site.crawl.dir.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let sent = rustix::process::kill_process(rustix::process::Pid::from_child(child), signal);
    // on a fast machine it may have ended by itself
    assert!(matches!(sent, Ok(()) | Err(rustix::io::Errno::SRCH)), "{sent:?}");
}

/// Runs the crawler under `strace` with what `inject` says.
fn traced(site: &Site, inject: &str) -> Ended {
    let calls = format!("trace={}", inject.split(':').next().unwrap());
    let inject = format!("inject={inject}");
    wait(wrapped(site, &["strace", "-f", "-qq", "-o", "/dev/null", "-e", &calls, "-e", &inject]))
}

/// The same, at calls on the file `below` the crawl directory alone.
fn traced_at(site: &Site, below: &str, inject: &str) -> Ended {
    let calls = format!("trace={}", inject.split(':').next().unwrap());
    let inject = format!("inject={inject}");
    let path = site.crawl.path("crawl").canonicalize().unwrap().join(below);
    // a name that is relative to where the crawler runs is matched as it is written
    let (path, relative) = (path.to_str().unwrap(), format!("crawl/{below}"));
    let wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path, "-P", &relative, "-e", &calls, "-e", &inject];
    wait(wrapped(site, &wrapper))
}

/// The run goes on to the end, and the archive is the expected one, each page once.
#[track_caller]
fn assert_goes_on(site: &Site) {
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    assert_eq!(stored_twice(site), Vec::<String>::new());
}

/// Pages that are in the archive more than once: their record was whole, and they were asked for again.
fn stored_twice(site: &Site) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let listing = command.args(["list", "--all", "--json", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
    let mut times: HashMap<String, u32> = HashMap::new();
    for line in String::from_utf8(listing.stdout).unwrap().lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        *times.entry(entry["url"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    times.into_iter().filter(|(_, times)| *times > 1).map(|(url, _)| url).collect()
}

/// Pages that the web was asked for more than once.
fn fetched_twice(site: &Site) -> usize {
    let mut times: HashMap<String, u32> = HashMap::new();
    for request in site.log().iter().filter(|request| !request.path.starts_with("/robots.txt")) {
        *times.entry(request.url(site.web.http_port())).or_default() += 1;
    }
    times.values().filter(|times| **times > 1).count()
}

/// Takes a copy of a crawl directory.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// A crawl that was stopped in good order with much left to do.
fn stopped(options: SimOptions, requests: usize) -> Site {
    stopped_with(options, requests, "")
}

/// The same with more sections in the configuration.
fn stopped_with(options: SimOptions, requests: usize, sections: &str) -> Site {
    let politeness = format!("{RUSH}\n[crawl]\ncheckpoint_interval = \"1s\"\n{sections}");
    let site = Site::new(SimOptions { latency: Duration::from_millis(3), ..options }, &politeness);
    let child = site.crawl.start(&[]);
    site.wait_for_requests(requests);
    crate::site::interrupt(child).expect(11, &[]);
    site
}
