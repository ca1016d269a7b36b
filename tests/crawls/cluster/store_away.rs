//! A store that takes nothing for a while: nodes crawl on, then make no more requests, and go on when it is back.

use std::cell::Cell;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crawler::simweb::SimOptions;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{Cluster, web};
use crate::site::Site;
use crate::tools::{Tool, has};

/// Two nodes in a mount name space of their own, in which the store is read-only from when there is a file `away` until
/// there is one `back`.
const SCRIPT: &str = r#"
mount --bind store store || exit 99
"$0" cluster run --dir one --name one "$@" & one=$!
"$0" cluster run --dir two --name two "$@" & two=$!
until [ -e away ]; do sleep 0.05; done
until mount -o remount,bind,ro store 2>/dev/null; do sleep 0.01; done
touch is-away
until [ -e back ]; do sleep 0.05; done
mount -o remount,bind,rw store && wait $one && wait $two
"#;

/// Ends the nodes too, whatever becomes of the test.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

fn start_both(cluster: &mut Cluster) -> Group {
    let log = fs::File::create(cluster.site.crawl.path("both.log")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", SCRIPT, env!("CARGO_BIN_EXE_crawler")]).args(cluster.place());
    command.current_dir(cluster.site.crawl.dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let child = command.process_group(0).spawn().unwrap();
    let group = Group(Pid::from_child(&child));
    cluster.nodes.insert("both".to_owned(), child);
    group
}

fn say(site: &Site, word: &str) {
    fs::write(site.crawl.path(word), "").unwrap();
}

#[test]
fn nodes_wait_for_a_store_that_is_away_and_nothing_is_lost() {
    if !has(Tool::NameSpaces) {
        return;
    }
    let delays = "delay_factor = 0.0\ndelay_min = \"150ms\"\ndelay_per_ip = \"0s\"\n";
    let options = SimOptions { pages: 400, hosts: 20, ..web(107) };
    let Some(mut cluster) = Cluster::with(1, options, delays, "behind_max = \"2s\"\n") else { return };
    let _group = start_both(&mut cluster);
    cluster.wait_for_requests(60);
    say(&cluster.site, "away");
    cluster.wait_until("a store that is read-only", |cluster| cluster.site.crawl.path("is-away").exists());
    cluster
        .wait_until("a checkpoint that waits", |cluster| cluster.logs().contains("a checkpoint waits for the store"));
    // the longest time between two requests of a node that may make them is far shorter
    let (count, since) = (Cell::new(0), Cell::new(Instant::now()));
    cluster.wait_until("a time without requests", |cluster| {
        let now = cluster.site.log().len();
        if now != count.replace(now) {
            since.set(Instant::now());
        }
        since.get().elapsed() > Duration::from_secs(2)
    });
    assert!(count.get() < cluster.site.web.expected().pages.len(), "it has fetched everything");
    let status = cluster.status().unwrap();
    let owned = status["shards"].as_array().unwrap().iter().all(|shard| shard["owner"].is_string());
    assert!(owned, "nodes keep their shards: {status}");
    say(&cluster.site, "back");
    cluster.wait_until("the store's return", |cluster| cluster.logs().contains("takes checkpoints again"));
    cluster.assert_ends();
}
