//! `crawler ctl` on crawls of a synthetic web, with the real binary: every command, who may give them, what survives a
//! kill, and what comes over the socket that is no command.

mod forget;
mod looks;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::site::{Crawl, Ended, PATIENCE, RUSH, Site, interrupt, kill, ms, wait};
use crawler::simweb::SimOptions;
use serde_json::Value;

/// Rate of requests so low that no crawl of these tests is done before it has had all its orders.
const SLOWLY: &str = "requests_per_second = 20.0\n";

fn site(sections: &str) -> Site {
    let options = SimOptions { seed: 7, hosts: 20, pages: 400, latency: ms(2), ..SimOptions::default() }.smooth();
    Site::new(options, &format!("{RUSH}{SLOWLY}{sections}"))
}

fn command(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(words).current_dir(dir).stdin(Stdio::null());
    command
}

fn ctl(crawl: &Crawl, words: &[&str]) -> Output {
    command(crawl.dir.path(), &[&["ctl", "--dir", "crawl"], words].concat()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn done(crawl: &Crawl, words: &[&str]) -> String {
    let output = ctl(crawl, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn refused(crawl: &Crawl, words: &[&str], code: i32) -> String {
    let output = ctl(crawl, words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
    text(&output.stderr)
}

#[track_caller]
fn answer(crawl: &Crawl, words: &[&str]) -> Value {
    serde_json::from_str(&done(crawl, &[words, &["--json"]].concat())).unwrap()
}

/// Waits until the crawl answers.
fn listening(crawl: &Crawl, mut child: Child) -> Child {
    until("the crawl does not listen", || {
        assert!(child.try_wait().unwrap().is_none(), "the crawl has ended: {}", wait_output(&mut child));
        ctl(crawl, &["status"]).status.success()
    });
    child
}

fn wait_output(child: &mut Child) -> String {
    let mut said = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut said).unwrap();
    text(&said)
}

fn started(crawl: &Crawl) -> Child {
    listening(crawl, crawl.start(&[]))
}

#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn configure(crawl: &Crawl, from: &str, to: &str) {
    let config = fs::read_to_string(crawl.path("crawler.toml")).unwrap();
    assert!(config.contains(from), "{config}");
    fs::write(crawl.path("crawler.toml"), config.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_paused_crawl_makes_checkpoints_but_no_requests_until_it_goes_on() {
    let site = site("");
    let child = started(&site.crawl);
    site.wait_for_requests(20);
    assert!(done(&site.crawl, &["pause"]).contains("paused"));
    until("requests under way do not end", || {
        answer(&site.crawl, &["status"])["status"]["figures"]["gauges"]["in_flight"].as_u64() == Some(0)
    });
    assert_eq!(answer(&site.crawl, &["status"])["status"]["phase"], "paused");
    assert!(done(&site.crawl, &["status"]).contains("paused: no new requests until crawler ctl resume"));
    let requests = site.log().len();
    let first = answer(&site.crawl, &["checkpoint"])["checkpoint"].as_u64().unwrap();
    let second = answer(&site.crawl, &["checkpoint"])["checkpoint"].as_u64().unwrap();
    assert!(second > first && first > 0, "{first} {second}");
    assert!(site.crawl.path(&format!("crawl/checkpoint.g{second:06}")).exists());
    assert!(done(&site.crawl, &["pause"]).contains("already"));
    assert_eq!(site.log().len(), requests);
    assert!(done(&site.crawl, &["resume"]).contains("resumed"));
    assert!(done(&site.crawl, &["resume"]).contains("was not paused"));
    site.wait_for_requests(requests + 10);
    // a pause ends with the process
    done(&site.crawl, &["pause"]);
    interrupt(child).expect(11, &["ctl pause", "ctl resume", "ctl checkpoint"]);
    let child = started(&site.crawl);
    assert_eq!(answer(&site.crawl, &["status"])["status"]["phase"], "crawling");
    interrupt(child).expect(11, &[]);
}

#[test]
fn a_paused_crawl_can_be_stopped_and_loses_nothing() {
    let site = site("");
    let child = started(&site.crawl);
    site.wait_for_requests(20);
    done(&site.crawl, &["pause"]);
    assert!(done(&site.crawl, &["stop", "--wait"]).contains("ended: stopped by crawler ctl stop"));
    wait(child).expect(11, &["ctl stop", "finish reason            stopped by crawler ctl stop"]);
    configure(&site.crawl, SLOWLY, "");
    site.crawl.run(&[]).expect(0, &["resuming the crawl in crawl (last run: stopped by crawler ctl stop)"]);
    site.assert_whole();
}

#[test]
fn every_command_takes_a_directory_and_answers_in_json() {
    let site = site("[report]\nconsole = \"127.0.0.1:0\"\n");
    let child = started(&site.crawl);
    for line in [
        "ctl status --dir crawl --json",
        "ctl pause --dir crawl --json",
        "ctl resume --dir crawl --json",
        "ctl add-seeds --dir crawl --json http://h1.test/",
        "ctl checkpoint --dir crawl --json",
        "ctl reload --dir crawl --json",
        "ctl console --dir crawl --json",
        "ctl --dir crawl --json status",
        "ctl stop --dir crawl --wait --json",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = command(site.crawl.dir.path(), &words).output().unwrap();
        let out = text(&output.stdout);
        assert!(output.status.success() && out.lines().count() == 1, "{line}: {out}{}", text(&output.stderr));
        let answer: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(answer["ok"], true, "{line}: {answer}");
    }
    wait(child).expect(11, &[]);
}

#[test]
fn commands_reach_every_shard_and_are_answered_once() {
    let site = site("[crawl]\nshards = 4\n");
    let child = started(&site.crawl);
    site.wait_for_requests(20);
    assert!(done(&site.crawl, &["pause"]).contains("paused"));
    until("requests in flight do not end", || {
        answer(&site.crawl, &["status"])["status"]["figures"]["gauges"]["in_flight"].as_u64() == Some(0)
    });
    let status = answer(&site.crawl, &["status"])["status"].take();
    assert_eq!(status["phase"], "paused");
    let shards = status["shards"].as_array().unwrap();
    assert_eq!(shards.len(), 4);
    let sum: u64 = shards.iter().map(|shard| shard["requests"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), status["figures"]["statistics"]["requests"].as_u64());
    let requests = site.log().len();
    let first = answer(&site.crawl, &["checkpoint"]);
    assert_eq!(first["message"], "a checkpoint of each of 4 shards is durable");
    assert!(answer(&site.crawl, &["checkpoint"])["checkpoint"].as_u64() > first["checkpoint"].as_u64());
    assert_eq!(site.log().len(), requests);
    configure(&site.crawl, SLOWLY, "requests_per_second = 15.0\n");
    configure(&site.crawl, "shards = 4", "shards = 2");
    let told = answer(&site.crawl, &["reload"]);
    assert_eq!(told["settings"]["changed"][0]["key"], "politeness.requests_per_second", "{told}");
    assert!(told["settings"]["refused"].to_string().contains("crawl.shards"), "{told}");
    assert!(done(&site.crawl, &["resume"]).contains("resumed"));
    site.wait_for_requests(requests + 10);
    assert!(done(&site.crawl, &["stop", "--wait"]).contains("ended: stopped by crawler ctl stop"));
    wait(child).expect(11, &["finish reason            stopped by crawler ctl stop"]);
}

#[test]
fn seeds_that_were_added_to_shards_are_durable_and_crawled_by_their_owners() {
    let (site, other) = first_host_only();
    configure(&site.crawl, "[network]", "[crawl]\nshards = 4\n[network]");
    let child = started(&site.crawl);
    let seeds = site.web.seeds();
    let added = answer(&site.crawl, &["add-seeds", &other, &seeds[0]]);
    assert_eq!((added["seeds"]["added"].as_u64(), added["seeds"]["known"].as_u64()), (Some(1), Some(1)), "{added}");
    kill(child);
    configure(&site.crawl, "requests_per_second = 0.2\n", SLOWLY);
    let child = started(&site.crawl);
    // to one that runs, and that goes on until it has crawled them
    let hosts: std::collections::BTreeSet<_> = seeds.iter().map(|seed| seed.split('/').nth(2).unwrap()).collect();
    let third = seeds
        .iter()
        .find(|seed| ![&seeds[0], &other].iter().any(|known| known.split('/').nth(2) == seed.split('/').nth(2)));
    let third = third.unwrap_or_else(|| panic!("{hosts:?}"));
    assert_eq!(answer(&site.crawl, &["add-seeds", third])["seeds"]["added"].as_u64(), Some(1));
    configure(&site.crawl, SLOWLY, "");
    done(&site.crawl, &["reload"]);
    wait(child).expect(0, &["after an unclean stop", "ctl add-seeds"]);
    let stored = site.crawl.stored();
    for seed in [&seeds[0], &other, third] {
        let host = seed.split('/').nth(2).unwrap();
        assert!(stored.contains_key(seed), "{seed} is not in {stored:#?}");
        assert!(stored.keys().filter(|url| url.contains(host)).count() > 1, "{host} is in scope");
    }
}

#[test]
fn stop_ends_a_crawl_in_good_order_and_waits_if_asked_to() {
    let site = site("");
    let child = started(&site.crawl);
    site.wait_for_requests(20);
    assert!(done(&site.crawl, &["stop"]).contains("stopping"));
    wait(child).expect(11, &["resume with"]);
    let child = started(&site.crawl);
    done(&site.crawl, &["stop", "--wait", "--json"]);
    // the directory is free now
    let verified = command(site.crawl.dir.path(), &["verify", "--dir", "crawl"]).output().unwrap();
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));
    wait(child).expect(11, &[]);
    assert!(refused(&site.crawl, &["stop"], 1).contains("no crawl is running in crawl"));
}

/// A crawl of the first host of a web, and a URL of another one.
fn first_host_only() -> (Site, String) {
    let site = site("");
    configure(&site.crawl, "mode = \"any\"", "mode = \"host\"");
    // one host alone is soon crawled
    configure(&site.crawl, SLOWLY, "requests_per_second = 0.2\n");
    let seeds = site.web.seeds();
    let host = |url: &str| url.split('/').nth(2).unwrap().to_owned();
    let other = seeds.iter().find(|seed| host(seed) != host(&seeds[0])).unwrap().clone();
    fs::write(site.crawl.path("seeds.txt"), format!("# mine\n{}\n", seeds[0])).unwrap();
    (site, other)
}

#[test]
fn seeds_that_were_added_survive_a_kill_and_the_users_file_stays_as_it_is() {
    let (site, other) = first_host_only();
    let before = fs::read(site.crawl.path("seeds.txt")).unwrap();
    let child = started(&site.crawl);
    let added = answer(&site.crawl, &["add-seeds", &other]);
    assert_eq!((added["seeds"]["added"].as_u64(), added["seeds"]["known"].as_u64()), (Some(1), Some(0)), "{added}");
    assert!(added["checkpoint"].as_u64().unwrap() > 0);
    kill(child);
    configure(&site.crawl, "requests_per_second = 0.2\n", "");
    site.crawl.run(&[]).expect(0, &["after an unclean stop"]);
    let stored = site.crawl.stored();
    assert!(stored.contains_key(&other), "{other} is not in {stored:#?}");
    let host = other.split('/').nth(2).unwrap();
    assert!(stored.keys().filter(|url| url.contains(host)).count() > 1, "its host is in scope");
    assert_eq!(fs::read(site.crawl.path("seeds.txt")).unwrap(), before);
    let verified = command(site.crawl.dir.path(), &["verify", "--dir", "crawl"]).output().unwrap();
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));
}

#[test]
fn seeds_come_from_a_file_too_and_lines_that_are_none_do_not_keep_the_others_out() {
    let (site, other) = first_host_only();
    fs::write(site.crawl.path("more.txt"), format!("\u{feff}# more\n\n{other}\r\nmailto:me@example.com\n")).unwrap();
    let child = started(&site.crawl);
    let output = ctl(&site.crawl, &["add-seeds", "--file", "more.txt"]);
    assert_eq!(output.status.code(), Some(1));
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("1 seed added, 1 line is not a seed, in checkpoint"), "{out}");
    assert!(said.contains("mailto:me@example.com: "), "{said}");
    let mut piped = command(site.crawl.dir.path(), &["ctl", "--dir", "crawl", "add-seeds", "--file", "-"]);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all(other.as_bytes()).unwrap();
    let output = piped.wait_with_output().unwrap();
    assert!(output.status.success() && text(&output.stdout).contains("0 seeds added, 1 known before"));
    let said = refused(&site.crawl, &["add-seeds", "a b", "me\u{1b}[2J@example.com"], 1);
    assert!(said.contains("a b: it contains blanks: write one URL per line") && !said.contains('\u{1b}'), "{said}");
    assert!(refused(&site.crawl, &["add-seeds"], 2).contains("<URL>"));
    assert!(refused(&site.crawl, &["add-seeds", "--file", "none.txt"], 2).contains("none.txt"));
    fs::write(site.crawl.path("empty.txt"), "# nothing\n").unwrap();
    assert!(refused(&site.crawl, &["add-seeds", "--file", "empty.txt"], 2).contains("no URL"));
    interrupt(child).expect(11, &[]);
}

#[test]
fn an_exclude_that_is_read_again_empties_the_queue() {
    let site = site("");
    configure(&site.crawl, "mode = \"any\"", "mode = \"any\"\nexclude = [\"/never/\"]");
    let child = started(&site.crawl);
    site.wait_for_requests(60);
    configure(&site.crawl, "[\"/never/\"]", "[\"/never/\", \"^http\"]");
    let told = done(&site.crawl, &["reload"]);
    assert!(told.contains("scope.exclude: [\"/never/\"] -> [\"/never/\", \"^http\"]"), "{told}");
    // at 20 requests a second, 400 pages take longer than the test has patience for a slow machine's sake; none is
    // asked
    let requests = site.log().len();
    wait(child).expect(0, &["reload: scope.exclude", "left out: "]);
    assert!(site.log().len() < requests + 100, "{} requests after {requests}", site.log().len());
    assert!(site.crawl.stored().len() < 300);
    let skipped = fs::read_to_string(site.crawl.path("crawl/logs/skipped.jsonl")).unwrap();
    assert!(skipped.contains("scope.exclude"), "{}", &skipped[..skipped.len().min(2_000)]);
}

#[test]
fn a_limit_that_is_read_again_holds_and_what_cannot_change_is_named() {
    let site = site("[drum]\nbuckets = 16\n[fetch]\nworkers = 8\n");
    let child = listening(&site.crawl, site.crawl.start(&["--max-depth", "40"]));
    site.wait_for_requests(40);
    configure(&site.crawl, "buckets = 16", "buckets = 32");
    configure(&site.crawl, "workers = 8", "workers = 9");
    configure(&site.crawl, SLOWLY, "requests_per_second = 10.0\n");
    let told = answer(&site.crawl, &["reload"]);
    let changed = told["settings"]["changed"].as_array().unwrap();
    assert_eq!(changed.len(), 1, "{told}");
    assert_eq!(
        (&changed[0]["key"], &changed[0]["old"], &changed[0]["new"]),
        (&"politeness.requests_per_second".into(), &"20.0".into(), &"10.0".into())
    );
    let stay = told["settings"]["refused"].to_string();
    assert!(stay.contains("drum.buckets") && stay.contains("was fixed when this crawl was created"), "{stay}");
    assert!(stay.contains("fetch.workers") && stay.contains("started again"), "{stay}");
    configure(&site.crawl, "[network]", "[crawl]\nmax_pages = 5\n[network]");
    let told = done(&site.crawl, &["reload"]);
    assert!(told.contains("crawl.max_pages: \"unlimited\" -> 5"), "{told}");
    wait(child).expect(0, &["reload: crawl.max_pages", "reload: drum.buckets was fixed", "page limit"]);
}

#[test]
fn a_configuration_that_cannot_be_used_changes_nothing() {
    let site = site("");
    let child = started(&site.crawl);
    let config = fs::read_to_string(site.crawl.path("crawler.toml")).unwrap();
    fs::write(site.crawl.path("crawler.toml"), "[crawl]\nmax_page = 1\n").unwrap();
    let said = refused(&site.crawl, &["reload"], 1);
    assert!(said.contains("nothing was changed") && said.contains("did you mean crawl.max_pages"), "{said}");
    fs::write(site.crawl.path("crawler.toml"), config).unwrap();
    assert!(done(&site.crawl, &["reload"]).contains("nothing has changed"));
    interrupt(child).expect(11, &[]);
}

#[test]
fn a_second_process_is_refused_and_the_first_one_still_listens() {
    let site = site("");
    let child = started(&site.crawl);
    site.crawl.run(&[]).expect(6, &[]);
    done(&site.crawl, &["status"]);
    interrupt(child).expect(11, &[]);
}

#[test]
fn the_socket_of_a_killed_crawl_is_no_crawl_and_is_replaced() {
    let site = site("");
    kill(started(&site.crawl));
    let socket = site.crawl.path("crawl/control.sock");
    assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    for words in [&["status"][..], &["pause"], &["stop", "--wait"], &["add-seeds", "a.example"]] {
        assert!(refused(&site.crawl, words, 1).contains("no crawl is running in crawl"));
    }
    let verified = command(site.crawl.dir.path(), &["verify", "--dir", "crawl"]).output().unwrap();
    assert!(verified.status.success(), "{}{}", text(&verified.stdout), text(&verified.stderr));
    let child = started(&site.crawl);
    assert_eq!(fs::symlink_metadata(&socket).unwrap().permissions().mode() & 0o7777, 0o600);
    interrupt(child).expect(11, &[]);
}

#[test]
fn a_link_in_the_place_of_the_socket_is_not_followed_and_does_not_stop_the_crawl() {
    let site = site("");
    let socket = site.crawl.path("crawl/control.sock");
    interrupt(started(&site.crawl)).expect(11, &[]);
    let precious = site.crawl.path("precious");
    fs::write(&precious, "mine").unwrap();
    symlink(&precious, &socket).unwrap();
    let before = site.log().len();
    let child = site.crawl.start(&[]);
    site.wait_for_requests(before + 5);
    assert!(refused(&site.crawl, &["status"], 4).contains("it is no socket"));
    interrupt(child).expect(11, &["cannot be controlled by crawler ctl"]);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    assert!(fs::symlink_metadata(&socket).unwrap().is_symlink());
}

#[test]
fn where_no_crawl_is_ctl_says_so() {
    let crawl = Crawl::new("", "");
    let said = refused(&crawl, &["status"], 2);
    assert!(said.contains("no crawl in crawl"), "{said}");
    assert!(refused(&crawl, &["format"], 2).contains("format"));
}

#[test]
fn a_directory_with_a_path_longer_than_a_sockets_address_can_be_controlled() {
    let site = site("");
    let long: PathBuf = ["d".repeat(90), "e".repeat(90)].iter().collect();
    fs::create_dir(site.crawl.path(&"d".repeat(90))).unwrap();
    let dir = long.to_str().unwrap();
    let crawl = ["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", dir];
    let mut crawl = command(site.crawl.dir.path(), &crawl);
    let child = crawl.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ask = |word: &str| command(site.crawl.dir.path(), &["ctl", word, "--dir", dir]).output().unwrap();
    until("the crawl does not listen", || ask("status").status.success());
    assert!(ask("stop").status.success());
    wait(child).expect(11, &[]);
    assert!(text(&ask("status").stderr).contains("no crawl is running"));
}

/// Sends `bytes` as they are, and reads the answer if there is one.
fn raw(crawl: &Crawl, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(crawl.path("crawl/control.sock")).unwrap();
    // who is refused early does not read the rest
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    text(&answer)
}

#[test]
fn garbage_on_the_socket_is_refused_and_harms_nothing() {
    let site = site("");
    let child = started(&site.crawl);
    let silent: Vec<UnixStream> =
        (0..4).map(|_| UnixStream::connect(site.crawl.path("crawl/control.sock")).unwrap()).collect();
    assert_eq!(raw(&site.crawl, b""), "");
    for (bytes, said) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "no command"),
        (b"\n", "no command"),
        (b"\xff\xfe\x00\x1b[2J\n", "no command"),
        (b"{\"command\":\"status\"", "half a line"),
        (b"{\"command\":\"\\u001b[2Jformat\"}\n", "no command"),
        (b"{\"command\":\"add-seeds\",\"seeds\":7}\n", "no command"),
        (b"{\"command\":\"add-seeds\",\"seeds\":[]}\n", "it has no seed"),
        (b"{\"command\":\"add-seeds\",\"seeds\":[\"http://a.example/\\nhttp://b.example/\"]}\n", "more than one line"),
        (b"{\"command\":\"pause\",\"for\":\"ever\"}\n", "no command"),
    ] {
        let answer = raw(&site.crawl, bytes);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {answer:?} to {bytes:?}"));
        assert_eq!(answer["ok"], false);
        assert!(answer.to_string().contains(said), "{answer} to {bytes:?}");
        assert!(!answer.to_string().contains('\u{1b}'));
    }
    // its end may be cut off by the refusal: what counts is that it is one
    let long = raw(&site.crawl, &vec![b'x'; 3 << 20]);
    assert!(long.is_empty() || long.contains("a line of more than"), "{long}");
    let deep = [vec![b'['; 500_000], b"\n".to_vec()].concat();
    assert!(raw(&site.crawl, &deep).contains("no command"));
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..50 {
        let bytes: Vec<u8> = (0..rng.usize(1..2_000)).map(|_| rng.u8(..)).collect();
        let answer = raw(&site.crawl, &bytes);
        assert!(answer.contains("\"ok\":false"), "{answer} to {bytes:?}");
    }
    assert_eq!(answer(&site.crawl, &["status"])["status"]["phase"], "crawling");
    drop(silent);
    let ended: Ended = interrupt(child);
    ended.expect(11, &["ctl: refused"]);
    assert!(!ended.said.contains("[2J") || !ended.said.contains('\u{1b}'), "{}", ended.said);
}

#[test]
fn n24_connections_that_say_nothing_do_not_keep_the_operator_from_the_crawl() {
    let site = site("");
    let child = started(&site.crawl);
    let connect = || UnixStream::connect(site.crawl.path("crawl/control.sock")).unwrap();
    // the crawl closes silent ones in time: a test that was held up meanwhile has seen nothing, and looks again
    let start = Instant::now();
    loop {
        let silent: Vec<UnixStream> = (0..40).map(|_| connect()).collect();
        done(&site.crawl, &["status"]);
        let mut newest = silent.last().unwrap();
        newest.set_nonblocking(true).unwrap();
        if newest.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock) {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "it is answered only when all the others are gone");
    }
    interrupt(child).expect(11, &[]);
}
