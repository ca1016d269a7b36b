//! etcd that is lost, or put back from a backup: the crawl goes on from the store, in a new era.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

const RECOVER: &str = "cluster recover --config crawler.toml --store STORE --registry ETCD";

impl Cluster {
    /// Runs a command line that is refused with code 2; what it says.
    #[track_caller]
    fn is_refused(&self, line: &str) -> String {
        let said = self.command(line);
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(!said.status.success(), "{line}: {text}");
        text
    }

    /// Returns the path of `name` below `<crawl id>/` in the store.
    fn object(&self, id: &str, name: &str) -> PathBuf {
        self.site.crawl.path("store").join(id).join(name)
    }

    fn id(&self) -> String {
        self.status().unwrap()["crawl"].as_str().unwrap().to_owned()
    }

    /// Pages whose checkpoints are in the store.
    fn shipped(&self) -> HashSet<String> {
        let listed = self.crawler().args(["list", "--json"]).args(&self.place()[..2]).output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let entries = String::from_utf8(listed.stdout).unwrap();
        let entries = entries.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let pages = entries.filter(|entry| entry["status"].as_u64() == Some(200));
        pages.map(|entry| entry["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Pages that were asked for behind the first `count` requests.
    fn requested_since(&self, count: usize) -> HashMap<String, u32> {
        let (log, port) = (self.site.log(), self.site.web.http_port());
        let mut requested = HashMap::new();
        log[count..].iter().for_each(|request| *requested.entry(request.url(port)).or_default() += 1);
        requested
    }

    /// The crawl goes on on these nodes to its right end; what was `shipped` by the first `count` requests is not asked
    /// for again.
    #[track_caller]
    fn ends_behind(mut self, nodes: [&str; 2], shipped: &HashSet<String>, count: usize) {
        nodes.into_iter().for_each(|name| self.start(name));
        self.wait_until("the end of the crawl", Cluster::has_ended);
        let again: Vec<String> = self.requested_since(count).into_keys().filter(|url| shipped.contains(url)).collect();
        assert_eq!(again, Vec::<String>::new(), "committed, and fetched again\n{}", self.logs());
        self.assert_ends();
    }

    /// A node that ends by itself; what it says.
    fn run_to_its_end(&mut self, name: &str) -> String {
        self.start(name);
        let status = self.nodes.remove(name).unwrap().wait().unwrap();
        assert!(!status.success());
        fs::read_to_string(self.site.crawl.path(&format!("{name}.log"))).unwrap()
    }
}

fn wait_for_file(path: &Path, mut is_over: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !path.exists() && !is_over() {
        assert!(Instant::now() < until, "{} does not come", path.display());
        thread::sleep(Duration::from_millis(1));
    }
}

/// All nodes are killed, etcd is destroyed, the recovery is killed at two of its steps. Then one node goes on with its
/// directory and one without.
#[test]
fn a_crawl_whose_etcd_is_destroyed_is_recovered_from_the_store() {
    // so slow that it is not over when the first checkpoints are in the store
    let delays = "delay_factor = 0.0\ndelay_min = \"200ms\"\ndelay_per_ip = \"0s\"\n";
    let Some(mut cluster) = Cluster::with(1, web(111), delays, "") else { return };
    let id = cluster.id();
    ["one", "two"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(150);
    let said = cluster.is_refused(RECOVER);
    assert!(said.contains("one, two") && said.contains("--anyway"), "{said}");
    cluster.wait_until("pages in the store", |cluster| cluster.shipped().len() > 50);
    ["one", "two"].into_iter().for_each(|name| cluster.kill(name));
    cluster.members.replace("second");
    let (shipped, requests) = (cluster.shipped(), cluster.site.log().len());
    let said = cluster.run_to_its_end("one");
    assert!(said.contains("crawler cluster recover"), "{said}");
    for step in ["era/0001", "era/0002.heads"] {
        let mut command = cluster.crawler();
        command.args(["cluster", "recover"]).args(cluster.place()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_for_file(&cluster.object(&id, step), || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // what was killed may have come to its end
    let line = "cluster recover --config crawler.toml --store STORE --registry ETCD --crawl ID --anyway";
    let said = cluster.does(&line.replace("ID", &id[..5]));
    assert!(said.contains(&format!("crawl {id}: era ")) && said.contains("of 6 shards"), "{said}");
    assert!(cluster.status().unwrap()["era"].as_u64() >= Some(2));
    let said = cluster.is_refused(&format!("{RECOVER} --crawl {}", &id[..5]));
    assert!(said.contains("there is nothing to recover"), "{said}");
    cluster.ends_behind(["one", "three"], &shipped, requests);
}

/// The data of etcd is put back to what it was earlier, under the same cluster id: the node knows, also after a
/// restart, because it has noted what it has seen.
#[test]
fn an_etcd_that_was_put_back_is_refused_until_the_crawl_is_recovered() {
    let Some(mut cluster) = Cluster::new(1, web(112)) else { return };
    cluster.start("one");
    cluster.wait_for_requests(120);
    cluster.members.back_up(0);
    cluster.wait_for_requests(350);
    cluster.signal("one", Signal::INT);
    cluster.nodes.remove("one").unwrap().wait().unwrap();
    if cluster.has_ended() {
        return;
    }
    cluster.members.put_back(0);
    let (shipped, requests) = (cluster.shipped(), cluster.site.log().len());
    let said = cluster.run_to_its_end("one");
    assert!(said.contains("its data was put back; crawler cluster recover"), "{said}");
    // its registration was in the backup
    let is_alone = |cluster: &Cluster| cluster.status().is_some_and(|status| status["nodes"] == serde_json::json!([]));
    cluster.wait_until("the end of its old lease", is_alone);
    // the names of what the store has say that etcd was further
    let said = cluster.does(RECOVER);
    assert!(said.contains("era 1; "), "{said}");
    cluster.ends_behind(["one", "two"], &shipped, requests);
}

/// Rounds over nodes: every listed seed is fetched again in each, while the crawl runs and after its end.
#[test]
fn seeds_are_fetched_again_by_whoever_owns_them_while_the_crawl_runs_and_after_its_end() {
    let Some(mut cluster) = Cluster::new(1, web(113)) else { return };
    let seeds = fs::read_to_string(cluster.site.crawl.path("seeds.txt")).unwrap();
    let listed: Vec<&str> = seeds.lines().filter(|line| line.starts_with("http")).take(12).collect();
    assert!(listed.len() > 3, "{seeds}");
    fs::write(cluster.site.crawl.path("again.txt"), listed.join("\n")).unwrap();
    let force = "cluster add-seeds again.txt --force --config crawler.toml --store STORE --registry ETCD";
    ["one", "two"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_for_requests(200);
    let requests = cluster.site.log().len();
    let said = cluster.does(force);
    assert!(said.contains("to be fetched again in round 1"), "{said}");
    cluster.wait_for_requests(300);
    cluster.kill("one");
    cluster.start("one");
    cluster.wait_until("the end of the crawl", Cluster::has_ended);
    let logs = cluster.logs();
    let times = |cluster: &Cluster, since| {
        let requested = cluster.requested_since(since);
        listed.iter().map(|url| requested.get(*url).copied().unwrap_or(0)).collect::<Vec<u32>>()
    };
    let first = times(&cluster, requests);
    assert!(first.iter().all(|&times| (1..=2).contains(&times)), "a kill came between: {first:?}\n{logs}");
    for (name, mut child) in std::mem::take(&mut cluster.nodes) {
        assert!(child.wait().unwrap().success(), "{name}: {logs}");
    }
    let requests = cluster.site.log().len();
    let said = cluster.does(force);
    assert!(said.contains("round 2") && said.contains("the crawl had ended, and goes on"), "{said}");
    assert_eq!(cluster.status().unwrap()["state"], "running");
    ["one", "two"].into_iter().for_each(|name| cluster.start(name));
    cluster.wait_until("the second end", Cluster::has_ended);
    let second = times(&cluster, requests);
    assert!(second.iter().all(|&times| times == 1), "{second:?}\n{}", cluster.logs());
    let others: Vec<String> = cluster
        .requested_since(requests)
        .into_keys()
        .filter(|url| !listed.contains(&url.as_str()) && !url.ends_with("/robots.txt"))
        .collect();
    assert_eq!(others, Vec::<String>::new(), "nobody asked for them\n{}", cluster.logs());
}
