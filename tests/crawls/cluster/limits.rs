//! Limits of the whole crawl over nodes: pages are counted exactly whatever dies, requests a second are divided. And a
//! node that is to stop while etcd is away.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use crawler::simweb::SimOptions;
use rustix::process::Signal;

use super::{Cluster, Members, PATIENCE, web};
use crate::site::{Crawl, RUSH, Site};

/// Waits for the end of the node, which comes by itself, and returns its code.
#[track_caller]
fn code(cluster: &mut Cluster, name: &str) -> Option<i32> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = cluster.nodes.get_mut(name).unwrap().try_wait().unwrap() {
            cluster.nodes.remove(name);
            return status.code();
        }
        assert!(Instant::now() < until, "{name} goes on\n{}", cluster.logs());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_limit_of_pages_holds_exactly_over_three_nodes_of_which_one_is_killed_and_one_is_lost() {
    const PAGES: u64 = 400;
    let limits = format!("{RUSH}\n[crawl]\nmax_pages = {PAGES}\n[cluster]\ncommit_interval = \"1s\"\nlease = \"6s\"\n");
    let Some(members) = Members::start(1) else { return };
    let mut site = Site::new(SimOptions { latency: Duration::from_millis(5), ..web(107) }, &limits);
    // what pages embed counts for no limit
    let config = site.web.config_with(&limits).replace("[scope]\n", "[scope]\nrequisites = \"scope\"\n");
    site.crawl = Crawl::new(&site.web.seeds().join("\n"), &config);
    let mut cluster = Cluster::begin(site, members);
    ["one", "two", "three"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(120);
    cluster.kill("one");
    cluster.start("one");
    cluster.wait_for_requests(240);
    cluster.lose("two");
    cluster.wait_until("the limit", Cluster::has_ended);
    for name in ["one", "three"] {
        assert_eq!(code(&mut cluster, name), Some(0), "{}", cluster.logs());
    }
    let status = cluster.status().unwrap();
    assert!(status["end"].as_str().unwrap().contains("page limit"), "{status}");
    let committed: u64 =
        status["shards"].as_array().unwrap().iter().map(|shard| shard["pages"].as_u64().unwrap()).sum();
    assert_eq!(committed, PAGES, "{status}");
    let place = cluster.place();
    let listed = cluster.crawler().args(["list", "--all", "--json"]).args(&place[..2]).output().unwrap();
    let mut stored: HashMap<String, u32> = HashMap::new();
    let mut pages = 0;
    for line in String::from_utf8(listed.stdout).unwrap().lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        *stored.entry(entry["url"].as_str().unwrap().to_owned()).or_default() += 1;
        // redirects do not count
        pages += u64::from(!(300..400).contains(&entry["status"].as_u64().unwrap()));
    }
    assert!(stored.values().all(|&times| times == 1), "a page is stored twice: {stored:?}");
    assert_eq!(pages, PAGES);
}

#[test]
fn requests_a_second_are_divided_by_the_nodes_that_are_alive() {
    const PER_SECOND: usize = 40;
    let limit = format!("{RUSH}requests_per_second = {PER_SECOND}.0\n");
    let Some(mut cluster) = Cluster::with(1, web(108), &limit, "") else { return };
    cluster.start("one");
    cluster.wait_for_requests(20);
    cluster.start("two");
    let owners = |cluster: &Cluster| -> HashSet<String> {
        let status = cluster.status().unwrap_or_default();
        let shards = status["shards"].as_array().cloned().unwrap_or_default();
        shards.iter().filter_map(|shard| Some(shard["owner"].as_str()?.to_owned())).collect()
    };
    // both know of each other by then, and so did they when the second one made its first request
    cluster.wait_until("the hand-over of a shard", |cluster| owners(cluster).len() == 2 || cluster.has_ended());
    let before = cluster.site.log().iter().map(|request| request.started_us).max().unwrap();
    cluster.wait_until("the end of the crawl", Cluster::has_ended);
    let mut starts: Vec<u64> = cluster.site.log().iter().map(|request| request.started_us).collect();
    starts.sort_unstable();
    let begun = starts.partition_point(|&start| start <= before);
    assert!(starts.len() - begun > PER_SECOND, "the crawl was over before there were two nodes");
    // in each second, with what a busy machine may delay; each alone would make as many as both may
    for (at, start) in starts.iter().enumerate().skip(begun) {
        let in_2_s = starts[at..].partition_point(|&other| other < start + 2_000_000);
        assert!(in_2_s <= 2 * PER_SECOND + PER_SECOND / 2, "{in_2_s} requests in two seconds");
    }
    cluster.assert_ends();
}

#[test]
fn a_node_that_is_to_stop_while_etcd_is_away_ends_and_goes_on_later() {
    let Some(mut cluster) = Cluster::with(1, web(109), RUSH, "") else { return };
    cluster.start("one");
    cluster.wait_for_requests(100);
    cluster.members.kill(0);
    cluster.signal("one", Signal::INT);
    // etcd is not back before
    assert_eq!(code(&mut cluster, "one"), Some(11), "{}", cluster.logs());
    cluster.members.run(0);
    cluster.start("one");
    cluster.assert_ends();
}
