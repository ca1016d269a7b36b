//! Deaths in the middle of a checkpoint: at each of its steps the process is killed, or the sync fails. The checkpoint
//! before stays whole, the directory is sound, and the crawl goes on to the right end.
//!
//! `strace` knows the steps by their files: they are the order in which docs/architecture/checkpoints.md makes a
//! checkpoint durable.

use std::fs;
use std::process::Command;

use crawler::checkpoint::Last;
use crawler::disk::Disk;
use crawler::simweb::SimOptions;

use super::{assert_goes_on, copy, small, stopped, wrapped};
use crate::follow::{Followers, assert_same, by_place, listed, versions};
use crate::site::{Ended, Site, wait};
use crate::tools::{Tool, has};

/// A step of a checkpoint: a call on a file below the crawl directory. `{next}` stands for the number of the checkpoint
/// that is made, `{last}` for that of the one before.
struct Step {
    call: &'static str,
    file: &'static str,
    /// True if the checkpoint that is made exists at this step. `None` where it may.
    committed: Option<bool>,
}

const fn step(call: &'static str, file: &'static str) -> Step {
    Step { call, file, committed: Some(false) }
}

impl Step {
    /// True if the checkpoint that was `found` is the one that has to be the last after this step.
    fn may_leave(&self, found: u64, last: u64) -> bool {
        let made = found == last + 1;
        let before = found == last;
        self.committed.map_or(before || made, |committed| if committed { made } else { before })
    }
}

/// A crawl that was stopped, and its directory kept aside.
fn kept(seed: u64) -> (Site, u64) {
    let site = stopped(SimOptions { hosts: 12, pages: 120, ..small(seed) }, 40);
    let (dir, last) = (site.crawl.path("crawl"), last_checkpoint(&site));
    fs::rename(dir, site.crawl.path("sound")).unwrap();
    (site, last)
}

fn restore(site: &Site) {
    let _ = fs::remove_dir_all(site.crawl.path("crawl"));
    copy(&site.crawl.path("sound"), &site.crawl.path("crawl"));
}

fn last_checkpoint(site: &Site) -> u64 {
    Last::find(&Disk::real(), &site.crawl.path("crawl")).unwrap().unwrap().number
}

/// Runs the crawler with `fault` injected at `step`; how it ended, and what was called on that file from then on.
fn run_with(site: &Site, last: u64, step: &Step, fault: &str) -> (Ended, Vec<String>) {
    let file = step.file.replace("{next}", &format!("{:06}", last + 1)).replace("{last}", &format!("{last:06}"));
    let path = site.crawl.path("crawl").canonicalize().unwrap().join(&file);
    // a name that is relative to where the crawler runs is matched as it is written
    let relative = format!("crawl/{file}");
    let trace = site.crawl.path("trace");
    let inject = format!("inject={}:{fault}:when=1", step.call);
    let (path, relative) = (path.to_str().unwrap(), relative.as_str());
    let calls = format!("trace={}", if step.call.contains("sync") { "fsync,fdatasync" } else { step.call });
    let wrapper =
        ["strace", "-f", "-qq", "-o", trace.to_str().unwrap(), "-P", path, "-P", relative, "-e", &calls, "-e", &inject];
    let ended = wait(wrapped(site, &wrapper));
    let trace = fs::read_to_string(trace).unwrap();
    let calls = trace.lines().filter(|line| line.contains('(')).map(str::to_owned).collect();
    (ended, calls)
}

/// Runs the crawler on the directory that was kept, with `fault` at `step` of the next checkpoint. The directory is
/// sound, and its last checkpoint is the right one.
///
/// On a busy machine the next checkpoint may come before the next page, and the step belongs to one behind it: then it
/// is tried again.
#[track_caller]
fn run_at(site: &Site, last: u64, step: &Step, fault: &str) -> (Ended, Vec<String>) {
    let what = format!("{} of {}", step.call, step.file);
    let mut found = Vec::new();
    for _ in 0..10 {
        restore(site);
        let run = run_with(site, last, step, fault);
        assert_sound(site, &what);
        let now = last_checkpoint(site);
        if step.may_leave(now, last) {
            return run;
        }
        found.push(now);
    }
    panic!("{what}: the last checkpoint was {last} and is {found:?}");
}

/// The directory is sound as it is.
#[track_caller]
fn assert_sound(site: &Site, what: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{what}: {told}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn c7_a_kill_at_any_step_of_a_checkpoint_leaves_the_one_before_fully_usable() {
    if !has(Tool::Strace) {
        return;
    }
    let (site, last) = kept(51);
    let steps = [
        // a start writes the one that it goes on from again
        step("pwrite64", "checkpoint.g{last}.tmp"),
        step("rename", "checkpoint.g{last}.tmp"),
        step("pwrite64", "checkpoint.g{next}.tmp"),
        step("fdatasync", "checkpoint.g{next}.tmp"),
        Step { committed: None, ..step("rename", "checkpoint.g{next}.tmp") },
        step("fdatasync", "pages/value-00001.warc.gz.open"),
        step("fdatasync", "pages/key.dat"),
        step("fsync", "pages"),
        step("pwrite64", "pages/address.dw"),
        step("fdatasync", "pages/address.dw"),
        step("pwrite64", "pages/address.idx"),
        step("fdatasync", "pages/address.idx"),
        Step { committed: Some(true), ..step("pwrite64", "status.json.tmp") },
        Step { committed: Some(true), ..step("unlink", "checkpoint.g{last}") },
    ];
    for step in &steps {
        let what = format!("{} of {}", step.call, step.file);
        let (ended, _) = run_at(&site, last, step, "signal=SIGKILL");
        assert!(ended.code.is_none_or(|code| code == 137), "{what}: it was not killed: {ended:?}");
        assert_goes_on(&site);
    }
}

#[test]
fn c7_what_was_told_of_a_checkpoint_stays_when_the_crawl_goes_back_behind_it() {
    if !has(Tool::Strace) {
        return;
    }
    let (site, last) = kept(53);
    // on a busy machine the next checkpoint may come before the next page: then it is tried again
    let (mut followers, told) = std::iter::repeat_with(|| {
        restore(&site);
        let mut followers = Followers::of(&site);
        assert!(!followers.once().is_empty());
        // the next checkpoint has its name, and the one before is still there
        run_with(&site, last, &step("unlink", "checkpoint.g{last}"), "signal=SIGKILL");
        let next = site.crawl.path(&format!("crawl/checkpoint.g{:06}", last + 1));
        assert!(next.exists());
        let told = followers.once();
        // as a power cut may do that comes before the name is durable
        fs::remove_file(next).unwrap();
        (followers, told)
    })
    .take(10)
    .find(|(_, told)| !told.is_empty())
    .unwrap();
    assert_eq!(last_checkpoint(&site), last);
    // the crawl has gone back, and replays: nothing is new, and nothing is wrong
    run_with(&site, last, &step("pwrite64", "pages/key.dat"), "signal=SIGKILL");
    let keys = fs::metadata(site.crawl.path("crawl/pages/key.dat")).unwrap().len();
    let (_, record) = told.last().unwrap()["place"].as_str().unwrap().split_once('-').unwrap();
    assert!(keys <= record.parse().unwrap(), "key.dat has {keys} bytes: it was not cut");
    assert_eq!(followers.once(), [""; 0]);
    assert_goes_on(&site);
    followers.once();
    assert_same(&versions(&by_place(&followers)), &listed(&site));
}

#[test]
fn c4_a_failed_sync_of_any_file_is_not_tried_again_and_the_checkpoint_before_is_intact() {
    if !has(Tool::Strace) {
        return;
    }
    let (site, last) = kept(52);
    let steps = [
        step("fdatasync", "checkpoint.g{last}.tmp"),
        step("fdatasync", "checkpoint.g{next}.tmp"),
        step("fdatasync", "pages/value-00001.warc.gz.open"),
        step("fdatasync", "pages/key.dat"),
        step("fsync", "pages"),
        step("fdatasync", "pages/address.dw"),
        step("fdatasync", "pages/address.ovf"),
        step("fdatasync", "pages/address.idx"),
        Step { committed: Some(true), ..step("fdatasync", "status.json.tmp") },
    ];
    for step in &steps {
        let what = format!("{} of {}", step.call, step.file);
        // the next one would succeed: that is what Linux does after it has told of a failure once
        let (ended, calls) = run_at(&site, last, step, "error=EIO");
        ended.expect(4, &["Input/output error"]);
        assert!(!ended.said.contains("panicked"), "{what}: {}", ended.said);
        let failed = calls.iter().position(|call| call.contains("INJECTED"));
        let failed = failed.unwrap_or_else(|| panic!("{what}: it did not come to that: {calls:?}"));
        assert_eq!(calls[failed + 1..], [""; 0], "{what}: synced again after {}", calls[failed]);
        assert_goes_on(&site);
    }
}
