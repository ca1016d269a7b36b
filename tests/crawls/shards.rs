//! Crawls of several shards by the real binary: they are the crawl that one shard makes, on however many engines, and
//! survive what a crawl of one shard survives.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::site::{RUSH, Site, interrupt, kill, wait};
use crawler::simweb::{Limits, SimOptions, judge};

/// A site whose crawls have this many shards.
fn sharded(options: SimOptions, shards: usize, politeness: &str) -> Site {
    Site::new(options, &format!("{politeness}[crawl]\nshards = {shards}\ncheckpoint_interval = \"1s\"\n"))
}

fn rushed(options: SimOptions, shards: usize) -> Site {
    sharded(options, shards, &format!("{RUSH}give_up = \"1s\"\n"))
}

fn small() -> SimOptions {
    let shares = SimOptions { server_error_share: 0.0, flaky_share: 0.0, ..SimOptions::default() };
    SimOptions { seed: 11, hosts: 60, pages: 900, latency: Duration::from_millis(2), ..shares }
}

/// Fails unless `crawler verify` finds no damage.
#[track_caller]
fn assert_sound(site: &Site) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(["verify", "--dir"]).arg(site.crawl.path("crawl")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The directories of the shards.
fn dirs(site: &Site) -> BTreeSet<String> {
    let names = fs::read_dir(site.crawl.path("crawl")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("shard-")).collect()
}

/// Fails where the requests to an address took less time than they have to with so much between any two. A single gap
/// says nothing: a busy machine shortens it by as much as the request before is seen late.
#[track_caller]
fn assert_spread(site: &Site, per_ip: Duration) {
    const SEEN_LATE: Duration = Duration::from_secs(1);
    let mut times: HashMap<_, Vec<u64>> = HashMap::new();
    for request in site.web.log() {
        times.entry(request.address).or_default().push(request.started_us);
    }
    for (address, times) in times {
        let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        let (took, gaps) = (Duration::from_micros(last - first), times.len() as u32 - 1);
        assert!(took + SEEN_LATE >= per_ip * gaps, "{gaps} gaps between requests to {address} took {took:?}");
    }
}

#[test]
fn a_web_has_the_same_pages_in_however_many_shards_and_is_asked_as_politely() {
    let options = SimOptions { hosts: 12, pages: 80, addresses: 3, ..small().smooth() };
    let politeness = "delay_min = \"150ms\"\ndelay_factor = 0.0\ndelay_per_ip = \"150ms\"\ngive_up = \"2s\"\n";
    let check = |shards| {
        let site = sharded(options.clone(), shards, politeness);
        site.crawl.run(&[]).expect(0, &["finish reason            complete"]);
        site.assert_whole();
        site.assert_obedient();
        assert_eq!(site.fetched_twice(), Vec::<String>::new(), "{shards} shards");
        assert_eq!(dirs(&site).len(), if shards == 1 { 0 } else { shards });
        let delay_min = Duration::from_millis(140);
        let violations = judge(&site.web.log(), &Limits { delay_min, ..Limits::default() });
        assert!(violations.is_empty(), "{shards} shards: {violations:#?}");
        assert_spread(&site, Duration::from_millis(150));
        assert_sound(&site);
    };
    // at the same time, each of a web of its own: all that they do is wait for their delays
    std::thread::scope(|threads| [1, 2, 4, 8].map(|shards| threads.spawn(move || check(shards))).map(drop));
}

#[test]
fn a_crawl_of_four_shards_that_is_killed_again_and_again_ends_with_exactly_the_expected_pages() {
    let site = rushed(SimOptions { pages: 2_400, ..small() }, 4);
    let mut rng = fastrand::Rng::with_seed(4);
    for round in 1..=8 {
        let mut child = site.crawl.start(&[]);
        if round % 4 == 0 {
            // while it opens
            std::thread::sleep(Duration::from_millis(rng.u64(0..150)));
        } else {
            let wanted = site.web.log().len() + 40 + rng.usize(0..80);
            // on a fast machine there may be nothing left by now
            site.wait_for_requests_or_end(wanted, &mut child);
        }
        kill(child);
    }
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
    site.assert_obedient();
    // what was in flight at a kill has no record and is asked for again, and nothing else
    let twice = site.fetched_twice().len();
    assert!(twice <= 8 * 64, "{twice} pages were fetched twice in 8 kills of at most 64 requests in flight");
    assert_sound(&site);
}

#[test]
fn a_stopped_crawl_of_four_shards_goes_on_whatever_the_configuration_says_by_then() {
    let site = rushed(small(), 4);
    let child = site.crawl.start(&[]);
    site.wait_for_requests(200);
    interrupt(child).expect(11, &["finish reason            stopped by a signal"]);
    let config = fs::read_to_string(site.crawl.path("crawler.toml")).unwrap();
    fs::write(site.crawl.path("crawler.toml"), config.replace("shards = 4", "shards = 9")).unwrap();
    let resumed = site.crawl.run(&[]);
    resumed.expect(
        0,
        &[
            "crawl.shards was fixed when this crawl was created, and stays 4",
            "resuming the crawl in crawl (last run: stopped by a signal)",
        ],
    );
    assert_eq!(dirs(&site).len(), 4);
    site.assert_whole();
    site.assert_obedient();
    assert_eq!(site.fetched_twice(), Vec::<String>::new());
    // pictures and frames of its pages are counted apart
    let rows = resumed.said.lines().filter_map(|line| {
        let figure = line.strip_prefix("pages stored").or_else(|| line.strip_prefix("requisites"))?;
        figure.split_ascii_whitespace().next()?.replace(',', "").parse::<usize>().ok()
    });
    assert_eq!(rows.sum::<usize>(), site.web.expected().pages.len(), "{}", resumed.said);
    // it is over, and stays so
    site.crawl.run(&[]).expect(0, &["is complete; only new seeds will be crawled"]);
    assert_eq!(site.fetched_twice(), Vec::<String>::new());
}

/// The last checkpoint of each shard, by the file that it names.
fn checkpoints(site: &Site) -> Vec<u64> {
    let last = |dir: &String| {
        let names = fs::read_dir(site.crawl.path("crawl").join(dir)).unwrap().map(|entry| entry.unwrap().file_name());
        let number = |name: &str| name.strip_prefix("checkpoint.g")?.parse().ok();
        names.filter_map(|name| number(name.to_str()?)).max().unwrap_or(0)
    };
    dirs(site).iter().map(last).collect()
}

#[test]
fn shards_in_which_nothing_changes_make_no_checkpoints() {
    // one domain: one shard has all the work, and takes its time for it
    let options = SimOptions { hosts: 1, pages: 400, ..small().smooth() };
    let site = sharded(options, 4, "delay_min = \"100ms\"\ndelay_factor = 0.0\n");
    let child = site.crawl.start(&[]);
    site.wait_for_requests(3);
    let begun = checkpoints(&site);
    let mut requests = 3;
    while checkpoints(&site).iter().max() < begun.iter().max().map(|most| most + 6).as_ref() {
        requests += 1;
        site.wait_for_requests(requests);
    }
    let (ended, mut made) = (interrupt(child), checkpoints(&site));
    ended.expect(11, &[]);
    made.sort_unstable();
    // those of the start, and the last one
    assert!(made[2] < made[3] - 2 && made[2] <= begun.iter().max().unwrap() + 2, "{begun:?}, then {made:?}");
    assert_sound(&site);
    site.assert_obedient();
}

#[test]
fn a_page_limit_counts_over_all_shards() {
    // what pages embed would not count
    let site = rushed(SimOptions { varied_markup: false, ..small().smooth() }, 4);
    for limit in [40, 40, 70] {
        site.crawl.run(&["--max-pages", &limit.to_string()]).expect(0, &["page limit reached"]);
        // redirects do not count either
        let pages = site.crawl.stored().into_values().filter(|status| !(300..400).contains(status)).count();
        assert_eq!(pages, limit);
    }
}

#[test]
fn seeds_are_fetched_again_in_one_round_of_all_shards() {
    let site = rushed(SimOptions { hosts: 20, pages: 100, ..small().smooth() }, 4);
    site.crawl.run(&[]).expect(0, &[]);
    let (seeds, before) = (site.web.seeds(), site.web.log().len());
    let lines = format!("fetching {} seed URLs", seeds.len());
    site.crawl.run(&["--force"]).expect(0, &[&lines]);
    let again: BTreeSet<String> =
        site.web.log_after(before).iter().map(|request| request.url(site.web.http_port())).collect();
    assert!(seeds.iter().all(|seed| again.contains(seed)), "{again:#?}");
    // the newest word of a seed is that nothing has changed
    let stored = site.crawl.stored();
    assert!(site.web.expected().pages.keys().all(|url| stored.contains_key(url)), "{stored:#?}");
    assert_sound(&site);
}

#[test]
fn a_fault_of_one_shard_ends_the_crawl_and_the_same_line_goes_on() {
    let options = SimOptions { pages: 120, page_bytes: 96 << 10, gzip_share: 0.0, ..small().smooth() };
    let site = rushed(options, 3);
    // in blocks of 512 bytes: enough for what a start writes, too little for the archive of a shard
    let line = format!(
        "ulimit -f 1200; exec '{}' --seeds seeds.txt --config crawler.toml --dir crawl",
        env!("CARGO_BIN_EXE_crawler")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(site.crawl.dir.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = wait(command.spawn().unwrap());
    ended.expect(4, &["File too large", "ulimit -f", "it resumes from the last checkpoint"]);
    site.crawl.run(&[]).expect(0, &["resuming the crawl in crawl"]);
    site.assert_whole();
    assert_sound(&site);
}

#[test]
fn a_shard_that_cannot_be_opened_keeps_the_others_from_crawling() {
    let site = rushed(small().smooth(), 3);
    let child = site.crawl.start(&[]);
    site.wait_for_requests(100);
    interrupt(child).expect(11, &[]);
    let path = site.crawl.path("crawl/shard-001/pages");
    let aside = site.crawl.path("aside");
    fs::rename(&path, &aside).unwrap();
    let before = site.web.log().len();
    let refused = site.crawl.run(&[]);
    assert!(refused.code != Some(0) && refused.said.contains("shard-001"), "{refused:?}");
    assert_eq!(site.web.log().len(), before, "nothing was requested");
    let _ = fs::remove_dir_all(&path);
    fs::rename(&aside, &path).unwrap();
    site.crawl.run(&[]).expect(0, &[]);
    site.assert_whole();
}

#[test]
fn a_crawl_of_shards_that_fetches_nothing_says_why() {
    let site = rushed(small().smooth(), 4);
    fs::write(site.crawl.path("seeds.txt"), "http://nowhere.invalid/\n").unwrap();
    site.crawl.run(&[]).expect(5, &["no such host (1)"]);
}
