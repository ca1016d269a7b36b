//! A crawl on three nodes by the real binary, with a real etcd and a store in a directory: nodes that are killed, that
//! are lost with their disks, that stand still for longer than their lease, that are drained; etcd that is away.
//!
//! The judge is the synthetic web: every page is in the archive of the store once, the set is the expected one, and no
//! host is asked by two nodes at once or before its delay.

mod limits;
mod operators;
mod recover;
mod store_away;

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crawler::simweb::{Limits, SimOptions};
use rustix::process::{Pid, Signal, kill_process};

use crate::etcd::server::Members;
use crate::site::{RUSH, Site};

/// Nothing takes longer on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(240);

/// A crawl on many machines, and those that take part in it.
struct Cluster {
    site: Site,
    members: Members,
    nodes: HashMap<String, Child>,
}

impl Cluster {
    /// A crawl with an etcd of this many members; nothing where there is no etcd.
    fn new(members: usize, options: SimOptions) -> Option<Cluster> {
        Cluster::with(members, options, RUSH, "")
    }

    /// The same with these delays, and these lines of the section `[cluster]`.
    fn with(members: usize, options: SimOptions, politeness: &str, lines: &str) -> Option<Cluster> {
        let members = Members::start(members)?;
        let sections = format!("{politeness}\n[cluster]\ncommit_interval = \"1s\"\nlease = \"6s\"\n{lines}");
        let site = Site::new(SimOptions { latency: Duration::from_millis(5), ..options }, &sections);
        Some(Cluster::begin(site, members))
    }

    fn begin(site: Site, members: Members) -> Cluster {
        let cluster = Cluster { site, members, nodes: HashMap::new() };
        cluster.does("cluster init --seeds seeds.txt --shards 6 --config crawler.toml --store STORE --registry ETCD");
        cluster
    }

    fn place(&self) -> Vec<String> {
        let store = fs::canonicalize(self.site.crawl.dir.path()).unwrap().join("store");
        let mut place = vec!["--store".to_owned(), format!("file://{}", store.display())];
        for endpoint in self.members.endpoints() {
            place.extend(["--registry".to_owned(), endpoint]);
        }
        place
    }

    fn crawler(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.current_dir(self.site.crawl.dir.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command line, in which store and registry have their places.
    fn command(&self, line: &str) -> Output {
        let mut command = self.crawler();
        for word in line.split(' ') {
            match word {
                "STORE" => command.arg(&self.place()[1]),
                "ETCD" => command.arg(&self.place()[3]),
                word => command.arg(word),
            };
        }
        command.output().unwrap()
    }

    /// The same, and it succeeds; what it prints.
    #[track_caller]
    fn does(&self, line: &str) -> String {
        let said = self.command(line);
        assert!(said.status.success(), "{line}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }

    /// The same, and it is refused with these words.
    #[track_caller]
    fn refuses(&self, line: &str, words: &str) {
        let said = self.command(line);
        let told = String::from_utf8(said.stderr).unwrap();
        assert!(said.status.code() == Some(2) && told.contains(words), "{line}: {told}");
    }

    fn status(&self) -> Option<serde_json::Value> {
        let mut command = self.crawler();
        let said = command.args(["cluster", "status", "--json"]).args(self.place()).output().unwrap();
        said.status.success().then(|| serde_json::from_slice(&said.stdout).unwrap())
    }

    /// A machine takes part.
    fn start(&mut self, name: &str) {
        let log = fs::File::options().create(true).append(true).open(self.site.crawl.path(&format!("{name}.log")));
        let mut command = self.crawler();
        command.args(["cluster", "run", "--dir", name, "--name", name]).args(self.place());
        let child = command.stdout(Stdio::null()).stderr(log.unwrap()).spawn().unwrap();
        self.nodes.insert(name.to_owned(), child);
    }

    fn signal(&self, name: &str, signal: Signal) {
        let sent = kill_process(Pid::from_child(&self.nodes[name]), signal);
        // it may have ended by itself
        assert!(matches!(sent, Ok(()) | Err(rustix::io::Errno::SRCH)), "{sent:?}");
    }

    fn kill(&mut self, name: &str) {
        self.signal(name, Signal::KILL);
        self.nodes.remove(name).unwrap().wait().unwrap();
    }

    /// The machine is gone with its disk.
    fn lose(&mut self, name: &str) {
        self.kill(name);
        fs::remove_dir_all(self.site.crawl.path(name)).unwrap();
    }

    fn wait_for_requests(&self, count: usize) {
        self.wait_until("requests", |cluster| cluster.site.log().len() >= count || cluster.has_ended());
    }

    fn has_ended(&self) -> bool {
        self.status().is_some_and(|status| status["state"] == "ended")
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_so: impl Fn(&Cluster) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < until, "{what} does not come\n{}", self.logs());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn logs(&self) -> String {
        let logs = self.nodes.keys().map(|name| self.site.crawl.path(&format!("{name}.log")));
        let status = self.status().map_or_else(String::new, |status| status.to_string());
        logs.map(|log| fs::read_to_string(log).unwrap_or_default()).collect::<String>() + &status
    }

    /// All nodes end by themselves, and the archive in the store is the expected one, each page once.
    #[track_caller]
    fn assert_ends(mut self) {
        self.wait_until("the end of the crawl", Cluster::has_ended);
        let logs = self.logs();
        for (name, mut child) in self.nodes.drain() {
            let until = Instant::now() + PATIENCE;
            let code = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status.code();
                }
                assert!(Instant::now() < until, "{name} goes on\n{logs}");
                thread::sleep(Duration::from_millis(20));
            };
            assert_eq!(code, Some(0), "{name}: {logs}");
        }
        let place = self.place();
        let listed = self.crawler().args(["list", "--all", "--json"]).args(&place[..2]).output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let mut stored: HashMap<String, u32> = HashMap::new();
        for line in String::from_utf8(listed.stdout).unwrap().lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            *stored.entry(entry["url"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let twice: Vec<&String> = stored.iter().filter(|(_, times)| **times > 1).map(|(url, _)| url).collect();
        assert_eq!(twice, Vec::<&String>::new(), "stored twice\n{logs}");
        let expected = self.site.web.expected();
        let missing: Vec<_> = expected.pages.keys().filter(|url| !stored.contains_key(*url)).collect();
        assert!(missing.is_empty(), "{} are missing, such as {:?}\n{logs}", missing.len(), missing.first());
        let surplus: Vec<_> = stored.keys().filter(|url| !expected.may_store(url)).collect();
        assert!(surplus.is_empty(), "{surplus:?}\n{logs}");
        self.site.assert_obedient();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.nodes.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn web(seed: u64) -> SimOptions {
    SimOptions { seed, hosts: 40, pages: 900, ..SimOptions::default() }.smooth()
}

#[test]
fn three_nodes_crawl_what_one_does_and_the_killed_and_the_lost_are_taken_over() {
    let Some(mut cluster) = Cluster::new(1, web(101)) else { return };
    ["one", "two", "three"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(150);
    // it comes back at once, with its directory
    cluster.kill("one");
    cluster.start("one");
    cluster.wait_for_requests(300);
    cluster.lose("two");
    cluster.wait_for_requests(450);
    cluster.start("two");
    cluster.assert_ends();
}

#[test]
fn a_node_that_stood_still_for_longer_than_its_lease_sends_nothing_and_begins_again() {
    let Some(mut cluster) = Cluster::new(1, web(102)) else { return };
    ["one", "two"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(200);
    cluster.signal("one", Signal::STOP);
    let owns = |cluster: &Cluster| {
        let status = cluster.status();
        status.is_some_and(|status| status["shards"].as_array().unwrap().iter().any(|shard| shard["owner"] == "one"))
    };
    cluster.wait_until("the end of its lease", |cluster| !owns(cluster) || cluster.has_ended());
    cluster.signal("one", Signal::CONT);
    cluster.assert_ends();
}

#[test]
fn etcd_whose_leader_is_killed_and_that_is_away_loses_nothing() {
    let Some(mut cluster) = Cluster::new(3, web(103)) else { return };
    ["one", "two"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(150);
    let leader = cluster.members.leader();
    cluster.members.kill(leader);
    cluster.wait_for_requests(300);
    // a majority is away for longer than the lease
    let other = cluster.members.leader();
    cluster.members.kill(other);
    thread::sleep(Duration::from_secs(8));
    cluster.members.run(other);
    cluster.members.run(leader);
    cluster.assert_ends();
}

#[test]
fn a_node_that_is_drained_gives_its_shards_away_and_a_pause_is_for_all() {
    let Some(mut cluster) = Cluster::new(1, web(104)) else { return };
    ["one", "two"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(100);
    cluster.does("cluster pause --config crawler.toml --store STORE --registry ETCD");
    cluster.does("cluster drain one --config crawler.toml --store STORE --registry ETCD");
    cluster.wait_until("the hand-over", |cluster| {
        let status = cluster.status();
        status.is_some_and(|status| status["shards"].as_array().unwrap().iter().all(|shard| shard["owner"] != "one"))
    });
    cluster.does("cluster resume --config crawler.toml --store STORE --registry ETCD");
    cluster.assert_ends();
}

/// No host is asked by two nodes at once, nor before its delay, whoever owns it.
#[test]
fn a_host_is_asked_by_one_node_at_a_time_and_waits_after_a_take_over() {
    let delays = "delay_factor = 0.0\ndelay_min = \"100ms\"\ndelay_per_ip = \"0s\"\n";
    let Some(mut cluster) = Cluster::with(1, SimOptions { pages: 300, hosts: 20, ..web(105) }, delays, "") else {
        return;
    };
    ["one", "two"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(80);
    cluster.lose("one");
    cluster.wait_until("the end of the crawl", Cluster::has_ended);
    let (delay_min, slack) = (Duration::from_millis(100), Duration::from_millis(30));
    cluster.site.assert_polite(&Limits { delay_min, slack, ..Limits::default() });
    cluster.assert_ends();
}

#[test]
fn operators_say_what_all_nodes_do_and_find_the_crawl_by_its_id() {
    let Some(mut cluster) = Cluster::new(1, web(106)) else { return };
    let id = cluster.status().unwrap()["crawl"].as_str().unwrap().to_owned();
    let of = |line: &str| line.replace("ID", &id[..6]);
    let line =
        "cluster run --config crawler.toml --store STORE --registry ETCD --crawl ID --dir one --name one --quiet";
    let mut command = cluster.crawler();
    let place = cluster.place();
    for word in of(line).split(' ') {
        command.arg(match word {
            "STORE" => &place[1],
            "ETCD" => &place[3],
            word => word,
        });
    }
    let log = fs::File::create(cluster.site.crawl.path("one.log")).unwrap();
    let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
    cluster.nodes.insert("one".to_owned(), child);
    cluster.wait_for_requests(30);
    cluster.does(&of("cluster pause --store STORE --registry ETCD --crawl ID"));
    fs::write(cluster.site.crawl.path("more.txt"), "https://added.example/\n").unwrap();
    let said =
        cluster.does(&of("cluster add-seeds more.txt --config crawler.toml --store STORE --registry ETCD --crawl ID"));
    assert!(said.starts_with("1 seeds added"), "{said}");
    for line in ["cluster drain nobody", "cluster drain nobody --undo"] {
        cluster.refuses(&of(&format!("{line} --store STORE --registry ETCD --crawl ID")), "those that do: one");
    }
    cluster.does(&of("cluster drain one --store STORE --registry ETCD --crawl ID"));
    cluster.does(&of("cluster drain one --undo --store STORE --registry ETCD --crawl ID"));
    let said =
        cluster.does(&of("cluster status --config crawler.toml --store STORE --registry ETCD --crawl ID --json"));
    let status: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status["state"].as_str(), status["seed_lists"].as_u64()), (Some("paused"), Some(2)));
    let said = cluster.does(&of("cluster status --store STORE --registry ETCD"));
    assert!(said.contains("node one: 6 shards"), "{said}");
    cluster.does(&of("cluster stop --config crawler.toml --store STORE --registry ETCD --crawl ID"));
    let until = Instant::now() + PATIENCE;
    while cluster.nodes.get_mut("one").unwrap().try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it does not stop\n{}", cluster.logs());
        thread::sleep(Duration::from_millis(20));
    }
    cluster.nodes.remove("one");
    cluster.does(&of("cluster resume --store STORE --registry ETCD --crawl ID"));
    cluster.start("two");
    cluster.wait_until("the end of the crawl", Cluster::has_ended);
    // readers of the store know the lists in their order
    let said = cluster.does("report seeds --store STORE");
    assert!(said.contains("https://added.example/"), "{said}");
    cluster.assert_ends();
}

#[test]
fn a_node_takes_commands_of_its_own_and_points_to_those_that_are_for_all() {
    // so slow that there is something left when all are paused
    let delays = "delay_factor = 0.0\ndelay_min = \"100ms\"\ndelay_per_ip = \"0s\"\n";
    let metrics = format!("{delays}\n[report]\nmetrics = \"127.0.0.1:0\"\n");
    let Some(mut cluster) = Cluster::with(1, SimOptions { pages: 300, ..web(107) }, &metrics, "") else { return };
    cluster.start("one");
    cluster.wait_for_requests(30);
    cluster.does("cluster pause --store STORE --registry ETCD");
    cluster.wait_until("the node's figures", |cluster| {
        let said = cluster.command("ctl status --dir one --json");
        String::from_utf8(said.stdout).unwrap().contains("\"phase\":\"paused\"")
    });
    for (command, instead) in [
        ("pause", "crawler cluster pause"),
        ("resume", "crawler cluster pause and resume"),
        ("add-seeds a.example", "crawler cluster add-seeds"),
    ] {
        let said = cluster.command(&format!("ctl {command} --dir one"));
        let told = String::from_utf8(said.stderr).unwrap();
        assert!(said.status.code() == Some(1) && told.contains(instead), "{command}: {told}");
    }
    let said = cluster.does("ctl checkpoint --dir one");
    assert!(said.contains("is durable"), "{said}");
    let said = cluster.does("status --dir one");
    assert!(said.contains("paused"), "{said}");
    let address = fs::read_to_string(cluster.site.crawl.path("one/metrics.address")).unwrap();
    let mut connection = std::net::TcpStream::connect(address.trim()).unwrap();
    write!(connection, "GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", address.trim()).unwrap();
    let mut told = String::new();
    connection.read_to_string(&mut told).unwrap();
    assert!(told.contains("node=\"one\"") && told.contains("crawler_pages_stored_total"), "{told}");
    cluster.does("ctl stop --wait --dir one");
    let code = cluster.nodes.remove("one").unwrap().wait().unwrap().code();
    assert_eq!(code, Some(11));
    let said = cluster.command("ctl status --dir one");
    assert!(String::from_utf8(said.stderr).unwrap().contains("no crawl is running"));
    cluster.does("cluster resume --store STORE --registry ETCD");
    cluster.start("one");
    cluster.wait_until("the end of the crawl", Cluster::has_ended);
    let said = cluster.does("verify --store STORE");
    assert!(said.contains("no damage"), "{said}");
    cluster.assert_ends();
}
