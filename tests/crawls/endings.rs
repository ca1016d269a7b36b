//! Ends of crawls that hardly begin: one page, no page, dead hosts, redirects of seeds. The real binary, and a server
//! of a screenful that sends what a test says.
//!
//! Every test prints how long the crawl took; none asserts it, but the limits of the configurations (`give_up`,
//! time-outs) are seconds, and a crawl that waits for anything else has waited for minutes.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::site::{Crawl, Ended, PATIENCE, RUSH};
use crawler::simweb::{SimOptions, SimWeb};

/// Serves `127.0.0.1` and `127.0.0.2`, which are two domains, on one port. What it sends for `1/path` and `2/path` is a
/// status line, headers and all; what it has no answer for is a 404; `hang` is no answer.
struct Two {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Two {
    fn start(answers: &'static [(&'static str, &'static str)]) -> Two {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let second = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        for (number, listener) in [(1, first), (2, second)] {
            let asked = asked.clone();
            std::thread::spawn(move || {
                let mut held = Vec::new();
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                    let Some(line) = lines.next() else { continue };
                    lines.take_while(|line| !line.is_empty()).for_each(drop);
                    let path = format!("{number}{}", line.split(' ').nth(1).unwrap_or_default());
                    let answers: HashMap<_, _> = answers.iter().copied().collect();
                    asked.lock().unwrap().push(path.clone());
                    match answers.get(path.as_str()) {
                        Some(&"hang") => held.push(stream),
                        answer => {
                            let head = answer.unwrap_or(&"404 Not Found").replace("PORT", &port.to_string());
                            let body = "<html><title>page</title>";
                            let more = format!("content-type: text/html\r\ncontent-length: {}", body.len());
                            // a client that is gone is no fault
                            let _ = write!(stream, "HTTP/1.1 {head}\r\n{more}\r\nconnection: close\r\n\r\n{body}");
                        }
                    }
                }
            });
        }
        Two { port, asked }
    }

    fn seed(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A crawl from the root of the first host, within the domains of the seeds.
    fn crawl(&self) -> Crawl {
        let config =
            "[network]\nallow = [\"127.0.0.0/8\"]\n[fetch]\ntimeout_total = \"1s\"\ntimeout_connect = \"1s\"\n";
        Crawl::new(&self.seed("/"), &format!("{config}[politeness]\n{RUSH}give_up = \"1s\"\n"))
    }
}

fn tell(name: &str, ended: &Ended) {
    println!("{name}: {:?}", ended.took);
}

#[test]
fn a_page_of_one_url_ends_the_crawl_as_soon_as_it_is_stored() {
    let two = Two::start(&[("1/", "200 OK")]);
    let crawl = two.crawl();
    let ended = crawl.run(&[]);
    tell("one page", &ended);
    ended.expect(0, &["complete"]);
    assert_eq!(Vec::from_iter(crawl.stored()), [(two.seed("/"), 200)]);
    assert_eq!(*two.asked.lock().unwrap(), ["1/robots.txt", "1/"]);
}

#[test]
fn a_page_of_one_url_with_the_delays_of_the_default_waits_for_one_of_them() {
    let two = Two::start(&[("1/", "200 OK")]);
    let crawl = Crawl::new(&two.seed("/"), "[network]\nallow = [\"127.0.0.0/8\"]\n");
    let ended = crawl.run(&[]);
    tell("one page with default delays", &ended);
    ended.expect(0, &["complete"]);
}

#[test]
fn a_site_whose_only_page_is_missing_is_a_crawl_of_one_page() {
    let two = Two::start(&[]);
    let crawl = two.crawl();
    let ended = crawl.run(&[]);
    tell("one missing page", &ended);
    ended.expect(0, &["complete", "status 404"]);
    assert_eq!(Vec::from_iter(crawl.stored()), [(two.seed("/"), 404)]);
}

#[test]
fn a_seed_file_without_a_url_is_a_usage_error() {
    for seeds in ["", "\n\n# nothing yet\n"] {
        let ended = Crawl::new(seeds, "").run(&[]);
        tell("no seed", &ended);
        ended.expect(2, &["has no URL"]);
    }
}

#[test]
fn a_seed_that_redirects_to_another_domain_takes_it_into_scope() {
    let two = Two::start(&[("1/", "301 Moved\r\nlocation: http://127.0.0.2:PORT/home"), ("2/home", "200 OK")]);
    let crawl = two.crawl();
    let ended = crawl.run(&[]);
    tell("redirect out", &ended);
    ended.expect(0, &["complete"]);
    let home = format!("http://127.0.0.2:{}/home", two.port);
    assert_eq!(Vec::from_iter(crawl.stored()), [(two.seed("/"), 301), (home, 200)]);
}

#[test]
fn a_seed_that_redirects_out_and_back_ends_at_home() {
    let two = Two::start(&[
        ("1/", "302 Found\r\nlocation: http://127.0.0.2:PORT/login"),
        ("2/login", "302 Found\r\nlocation: http://127.0.0.1:PORT/in"),
        ("1/in", "302 Found\r\nlocation: /"),
    ]);
    let crawl = two.crawl();
    let ended = crawl.run(&[]);
    tell("redirect out and back", &ended);
    ended.expect(0, &["complete"]);
    let statuses: Vec<u16> = crawl.stored().into_values().collect();
    assert_eq!(statuses, [302, 302, 302], "{:?}", crawl.stored());
}

#[test]
fn a_host_whose_robots_txt_never_answers_is_given_up_and_the_crawl_ends() {
    let two = Two::start(&[("1/robots.txt", "hang"), ("1/", "200 OK")]);
    let crawl = two.crawl();
    let ended = crawl.run(&[]);
    tell("silent robots.txt", &ended);
    assert_skipped(&crawl, "host given up", "politeness.give_up: timed out");
    ended.expect(5, &["host given up", "timed out", "servers do not answer"]);
    assert!(two.asked.lock().unwrap().iter().all(|path| path == "1/robots.txt"));
}

#[test]
fn a_robots_txt_that_redirects_in_circles_ends_and_allows() {
    let two = Two::start(&[
        ("1/robots.txt", "302 Found\r\nlocation: http://127.0.0.2:PORT/robots.txt"),
        ("2/robots.txt", "302 Found\r\nlocation: http://127.0.0.1:PORT/robots.txt"),
        ("1/", "200 OK"),
    ]);
    let ended = two.crawl().run(&[]);
    tell("robots.txt in circles", &ended);
    ended.expect(0, &["complete"]);
    assert_eq!(two.asked.lock().unwrap().len(), 7, "six requests for robots.txt and one for the page");
}

#[test]
fn a_robots_txt_that_redirects_to_a_host_that_is_not_there_is_one_that_cannot_be_had() {
    let two =
        Two::start(&[("1/robots.txt", "302 Found\r\nlocation: http://127.0.0.3:PORT/robots.txt"), ("1/", "200 OK")]);
    let ended = two.crawl().run(&[]);
    tell("robots.txt at a dead host", &ended);
    ended.expect(5, &["host given up"]);
}

#[test]
fn hosts_that_are_all_dead_end_the_crawl_with_nothing_fetched() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let seeds: Vec<String> = (1..=20).map(|host| format!("http://127.0.1.{host}:{port}/")).collect();
    let config = format!("[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}give_up = \"1s\"\n");
    let ended = Crawl::new(&seeds.join("\n"), &config).run(&[]);
    tell("20 dead hosts", &ended);
    ended.expect(5, &["no connection", "is a proxy needed (fetch.proxy)?", "host given up (20)"]);
}

#[test]
fn names_that_nobody_knows_end_the_crawl_at_once() {
    let web = SimWeb::start(SimOptions { hosts: 1, pages: 1, ..SimOptions::default() }).unwrap();
    let crawl = Crawl::new("http://a.invalid/\nhttp://b.invalid/\n", &web.config_with(RUSH));
    let ended = crawl.run(&[]);
    tell("unknown names", &ended);
    ended.expect(
        5,
        &[
            "no such host",
            "are the seeds spelt right?",
            "crawler report seeds --dir crawl shows the reason for each seed",
        ],
    );
    assert_skipped(&crawl, "host given up", "no such host");
}

#[test]
fn a_private_address_is_skipped_with_the_setting_that_would_let_it_in() {
    let crawl = Crawl::new("http://127.0.0.1:9/\n", "");
    let ended = crawl.run(&[]);
    tell("private address", &ended);
    ended.expect(5, &["refused unless network.allow names them"]);
    assert_skipped(&crawl, "private address", "network.allow has none of its addresses");
}

/// Every URL that was not asked for has this reason and rule in the log.
#[track_caller]
fn assert_skipped(crawl: &Crawl, reason: &str, rule: &str) {
    let log = std::fs::read_to_string(crawl.path("crawl/logs/skipped.jsonl")).unwrap();
    assert!(!log.is_empty());
    for line in log.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((line["reason"].as_str(), line["rule"].as_str()), (Some(reason), Some(rule)), "{log}");
    }
}

#[test]
fn name_servers_that_are_not_there_end_the_crawl_when_the_host_is_given_up() {
    let config = format!(
        "[dns]\nnameservers = [\"127.0.0.1:9\"]\ntimeout = \"1s\"\n\
         [network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}give_up = \"1s\"\n"
    );
    let ended = Crawl::new("http://a.sim.test/\n", &config).run(&[]);
    tell("no name server", &ended);
    ended.expect(5, &["DNS failed", "is dns.nameservers right?"]);
}

/// A server at all addresses of the loopback, which says when the first connection comes.
fn anywhere() -> (u16, std::sync::mpsc::Receiver<Instant>) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (first, came) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let _ = first.send(Instant::now());
            let mut connection = connection;
            let _ = connection.read(&mut [0; 1_024]);
            let _ = connection.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    (port, came)
}

/// Most memory that the process `pid` has had, in MB.
fn peak_mb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1_000
}

/// `SEEDS` seeds at as many addresses, by the binary at `CRAWLER` or the one that was built with this test.
#[test]
#[ignore = "a measurement of a minute or two: --ignored --exact endings::measures_a_million_seeds --nocapture"]
fn measures_a_million_seeds() {
    let count: u32 = std::env::var("SEEDS").map_or(1_000_000, |count| count.parse().unwrap());
    let (port, came) = anywhere();
    let address = |n: u32| Ipv4Addr::from((127 << 24 | 1 << 8) + n);
    let seeds: String = (0..count).map(|n| format!("http://{}:{port}/\n", address(n))).collect();
    let crawl = Crawl::new(&seeds, "[crawl]\ncheckpoint_interval = \"10s\"\n[network]\nallow = [\"127.0.0.0/8\"]\n");
    let binary = std::env::var("CRAWLER").unwrap_or_else(|_| env!("CARGO_BIN_EXE_crawler").to_owned());
    let begun = Instant::now();
    let mut command = std::process::Command::new(binary);
    command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "-q"]);
    let mut child = command.current_dir(crawl.dir.path()).spawn().unwrap();
    let first = came.recv_timeout(PATIENCE).unwrap();
    println!("{count} seeds: first request after {:?}, peak {} MB", first - begun, peak_mb(child.id()));
    while !crawl.path("crawl/status.json").exists() {
        assert!(begun.elapsed() < PATIENCE && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("first checkpoint after {:?}, peak {} MB", begun.elapsed(), peak_mb(child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A port of 127.0.1.1 at which nobody listens, and the port.
fn dead() -> (String, u16) {
    let port = TcpListener::bind((Ipv4Addr::new(127, 0, 1, 1), 0)).unwrap().local_addr().unwrap().port();
    (format!("http://127.0.1.1:{port}/"), port)
}

/// Returns what a command of the crawler prints about the crawl.
fn printed(crawl: &Crawl, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.args(arguments).args(["--dir", "crawl"]).current_dir(crawl.dir.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn n12_a_crawl_of_which_only_a_dead_host_is_left_ends_names_it_and_goes_on_when_it_is_back() {
    let two = Two::start(&[("1/", "200 OK")]);
    let (url, port) = dead();
    let config = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n\
         [dns]\nnameservers = [\"127.0.0.1:9\"]\n[politeness]\n{RUSH}linger = \"2s\"\n"
    );
    let crawl = Crawl::new(&format!("{}\n{url}\n", two.seed("/")), &config);
    let ended = crawl.run(&[]);
    tell("one dead host", &ended);
    ended.expect(0, &["only hosts are left that never answered (politeness.linger)", "resume with"]);
    let named = format!("http://127.0.1.1:{port}: connection refused");
    let lines: Vec<&str> = ended.said.lines().filter(|line| line.starts_with("never answered")).collect();
    assert!(lines.len() == 1 && lines[0].ends_with(&named), "{}", ended.said);
    let warned = |line: &&str| line.contains(" WARN ") && line.contains("1 host left, all waiting");
    let warned: Vec<&str> = ended.said.lines().filter(warned).collect();
    assert!(warned.len() == 1 && warned[0].contains("connection refused"), "{}", ended.said);
    let seeds = printed(&crawl, &["report", "seeds"]);
    let seed = seeds.lines().find(|line| line.contains("127.0.1.1")).unwrap();
    assert!(seed.contains("waiting") && seed.contains("connection refused"), "{seeds}");
    let explained = printed(&crawl, &["explain", &url]);
    assert!(explained.contains("its robots.txt is unreachable: connection refused"), "{explained}");
    // the same command asks it again at once, and it is there now
    let server = TcpListener::bind((Ipv4Addr::new(127, 0, 1, 1), port)).unwrap();
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let ended = crawl.run(&[]);
    ended.expect(0, &["complete: no URL is left", "last run: only hosts are left that never answered"]);
    assert_eq!(crawl.stored().get(&url), Some(&200));
}

#[test]
fn n12_the_cause_of_a_host_that_is_given_up_stands_in_every_report() {
    let two = Two::start(&[("1/robots.txt", "302 Found\r\nlocation: http://10.0.0.1/robots.txt"), ("1/", "200 OK")]);
    let crawl = two.crawl();
    let ended = crawl.run(&[]);
    tell("robots.txt at a private address", &ended);
    ended.expect(5, &["host given up"]);
    assert_skipped(&crawl, "host given up", "politeness.give_up: robots.txt redirects to a private address");
    let seeds = printed(&crawl, &["report", "seeds"]);
    assert!(seeds.contains("host given up: politeness.give_up: robots.txt redirects to a private address"), "{seeds}");
    let explained = printed(&crawl, &["explain", &two.seed("/")]);
    assert!(explained.contains("robots.txt redirects to a private address"), "{explained}");
    let (url, _) = dead();
    let config = format!("[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}give_up = \"1s\"\n");
    let crawl = Crawl::new(&url, &config);
    crawl.run(&[]).expect(5, &["no connection"]);
    assert_skipped(&crawl, "host given up", "politeness.give_up: connection refused");
}

#[test]
fn n12_a_request_that_was_never_made_is_none_in_the_report_of_hosts() {
    let crawl = Crawl::new("http://127.0.0.1:9/\n", "");
    crawl.run(&[]).expect(5, &["refused unless network.allow names them"]);
    let hosts = printed(&crawl, &["report", "hosts"]);
    assert!(hosts.contains("0 hosts, 0 requests"), "{hosts}");
    let report = printed(&crawl, &["report", "crawl"]);
    assert!(report.lines().any(|line| line.starts_with("requests") && line.contains(" 0, ")), "{report}");
}

#[test]
fn n16_names_that_could_not_be_resolved_are_asked_again_with_force_or_by_other_name_servers() {
    let web =
        SimWeb::start(SimOptions { hosts: 2, pages: 2, robots_share: 0.0, ..SimOptions::default() }.smooth()).unwrap();
    // this one knows none of the names
    let other = SimWeb::start(SimOptions { hosts: 1, pages: 1, seed: 2, ..SimOptions::default() }).unwrap();
    let nameserver = |config: &str| {
        let at = config.find("nameservers").unwrap();
        config[at..].lines().next().unwrap().to_owned()
    };
    let right = web.config_with(RUSH);
    let wrong = right.replace(&nameserver(&right), &nameserver(&other.config_with(RUSH)));
    let seed = format!("http://h0001.sim0.test:{}/", web.http_port());
    let crawl = Crawl::new(&seed, &wrong);
    let config = |text: &str| std::fs::write(crawl.path("crawler.toml"), text).unwrap();
    crawl.run(&[]).expect(5, &["no such host", "--force", "dns.nameservers"]);
    // nothing has changed
    crawl.run(&[]).expect(5, &["is complete; only new seeds will be crawled"]);
    config(&right);
    crawl.run(&[]).expect(0, &["the names of 1 seeds are resolved again", "complete"]);
    assert!(!crawl.stored().is_empty());

    let crawl = Crawl::new(&seed, &wrong);
    crawl.run(&[]).expect(5, &["no such host"]);
    let asked = other.dns_queries();
    crawl.run(&["--force"]).expect(5, &["no such host"]);
    assert!(other.dns_queries() > asked, "the name servers are asked again, though their answer holds");
}
