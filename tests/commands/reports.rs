//! Reports of a crawl for people, by the real binary: reports, logs, status, plan, metrics. The synthetic web's own log
//! is held against what is reported.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use crate::site::{Site, kill, ms};
use crawler::simweb::{Plea, Request, SimOptions};
use serde_json::Value;

const POLITE: &str = "delay_factor = 2.0\ndelay_min = \"30ms\"\ndelay_per_ip = \"1ms\"\ngive_up = \"2s\"\n";

/// Runs a subcommand in the directory of the crawl.
fn crawler(site: &Site, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crawler")).args(args).current_dir(site.crawl.dir.path()).output().unwrap()
}

/// Returns what a subcommand prints. It must end well.
fn printed(site: &Site, args: &[&str]) -> String {
    let output = crawler(site, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn rows(site: &Site, name: &str) -> Vec<Value> {
    let text = printed(site, &["report", name, "--json", "--dir", "crawl"]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn web() -> SimOptions {
    SimOptions {
        hosts: 24,
        pages: 250,
        seed: 5,
        robots_crawl_delay_share: 0.3,
        robots_crawl_delay: ms(120),
        robots_moved_share: 0.2,
        overload_share: 0.2,
        overload_answers: 1,
        pleas: vec![Plea::Seconds],
        overload_s: 1,
        ..SimOptions::default()
    }
    .calm()
}

trait Calm {
    fn calm(self) -> Self;
}

impl Calm for SimOptions {
    /// Leaves out what would hold a crawl up for long.
    fn calm(self) -> Self {
        SimOptions { flaky_share: 0.0, robots_5xx_share: 0.0, server_error_share: 0.0, ..self }
    }
}

#[test]
fn the_hosts_report_agrees_with_the_servers_log_and_finds_no_violation() {
    let site = Site::new(web(), POLITE);
    site.crawl.run(&["-q"]).expect(0, &[]);
    let log = site.log();
    let mut served: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for request in &log {
        let (requests, asked) = served.entry(request.host.clone()).or_default();
        *requests += 1;
        *asked += u64::from(request.rest_until_us.is_some());
    }
    let hosts = rows(&site, "hosts");
    let told: BTreeMap<String, (u64, u64)> = hosts
        .iter()
        .filter(|host| host["requests"].as_u64() > host["errors"].as_u64())
        .map(|host| (host["host"].as_str().unwrap().to_owned(), host))
        .map(|(name, host)| (name, (host["requests"].as_u64().unwrap(), host["retry_after"].as_u64().unwrap())))
        .collect();
    assert_eq!(told, served);
    for host in &hosts {
        assert_eq!((host["violations"].as_u64(), host["retry_after_broken"].as_u64()), (Some(0), Some(0)), "{host}");
        assert!(host["peak"].as_u64() <= Some(1), "{host}");
        assert!(host["gap_min_ms"].as_u64().is_none_or(|gap| gap >= 30), "{host}");
        assert!(host["gap_median_ms"].as_u64() >= host["gap_min_ms"].as_u64(), "{host}");
    }
    let delayed: Vec<&Value> = hosts.iter().filter(|host| host["crawl_delay"].as_f64() == Some(0.12)).collect();
    assert!(!delayed.is_empty());
    assert!(delayed.iter().any(|host| host["requests"].as_u64() > Some(3)));
    for host in delayed {
        // what is owed before robots.txt is known is less, and that of another host may lead here by a redirect
        let is_rules = |request: &Request| request.path == "/robots.txt" || request.path.contains("/rules/");
        let mut requests: Vec<_> = log.iter().filter(|request| host["host"].as_str() == Some(&request.host)).collect();
        requests.sort_by_key(|request| request.started_us);
        for pair in requests.windows(2).filter(|pair| !is_rules(pair[1])) {
            // the server notes the end of an answer a moment after the crawl has it
            assert!(pair[1].started_us >= pair[0].finished_us + 110_000, "{pair:?}");
        }
        let knows_before = requests.iter().filter(|request| is_rules(request)).count() <= 1;
        assert!(!knows_before || host["gap_min_ms"].as_u64().is_none_or(|gap| gap >= 120), "{host}");
    }
    assert!(hosts.iter().any(|host| host["retry_after"].as_u64() > Some(0)));
    let pages: u64 = hosts.iter().map(|host| host["pages"].as_u64().unwrap()).sum();
    let status: Value = serde_json::from_str(&printed(&site, &["status", "--json", "--dir", "crawl"])).unwrap();
    assert!(pages >= status["statistics"]["pages_stored"].as_u64().unwrap());
    assert!(fs::read_to_string(site.crawl.path("crawl/reports/hosts.txt")).unwrap().contains("violations: 0\n"));
}

#[test]
fn requests_that_came_too_early_are_found() {
    let site = Site::new(SimOptions { hosts: 2, pages: 12, ..web() }, POLITE);
    site.crawl.run(&["-q"]).expect(0, &[]);
    assert_eq!(rows(&site, "hosts").iter().map(|host| host["violations"].as_u64().unwrap()).sum::<u64>(), 0);
    // as if more had been asked for than was
    let notes = site.crawl.path("crawl/logs/politeness.jsonl");
    let noted = fs::read_to_string(&notes).unwrap();
    let stricter = noted.replace("\"delay_min\":{\"secs\":0,", "\"delay_min\":{\"secs\":5,");
    assert_ne!(noted, stricter);
    fs::write(&notes, stricter).unwrap();
    let hosts = rows(&site, "hosts");
    assert!(hosts[0]["violations"].as_u64() > Some(0), "{hosts:?}");
}

#[test]
fn every_report_is_there_at_the_end_and_tells_what_the_crawl_tells() {
    let site = Site::new(SimOptions { redirect_share: 0.3, unresolvable_share: 0.2, ..web() }, POLITE);
    fs::write(
        site.crawl.path("seeds.txt"),
        format!("{}\nhttp://nowhere.invalid/\nhttp://127.0.0.1:1/\n", site.web.seeds().join("\n")),
    )
    .unwrap();
    site.crawl.run(&["-q"]).expect(0, &[]);
    for name in ["crawl", "hosts", "seeds", "status-codes", "mime-types"] {
        let written = fs::read_to_string(site.crawl.path(&format!("crawl/reports/{name}.txt"))).unwrap();
        let now = printed(&site, &["report", name, "--dir", "crawl"]);
        assert_eq!(written.lines().skip(1).collect::<Vec<_>>(), now.lines().skip(1).collect::<Vec<_>>());
    }
    let status: Value = serde_json::from_str(&printed(&site, &["status", "--json", "--dir", "crawl"])).unwrap();
    let statistics = &status["statistics"];
    let codes: BTreeMap<i64, u64> = rows(&site, "status-codes")
        .iter()
        .filter(|row| row["code"].as_i64() > Some(0))
        .map(|row| (row["code"].as_i64().unwrap(), row["urls"].as_u64().unwrap()))
        .collect();
    for (code, urls) in statistics["statuses"].as_object().unwrap() {
        assert_eq!(codes.get(&code.parse().unwrap()), urls.as_u64().as_ref(), "{code}");
    }
    let seeds = rows(&site, "seeds");
    assert_eq!(seeds.len(), site.web.seeds().len() + 2);
    let of = |url: &str| seeds.iter().find(|seed| seed["url"] == url).unwrap();
    assert_eq!(of("http://nowhere.invalid/")["status"], "left-out", "{seeds:?}");
    assert!(["failed", "left-out"].contains(&of("http://127.0.0.1:1/")["status"].as_str().unwrap()), "{seeds:?}");
    assert!(seeds.iter().all(|seed| seed["status"] != "waiting"));
    let all = printed(&site, &["report", "--dir", "crawl"]);
    for name in ["crawl", "hosts", "seeds", "status-codes", "mime-types"] {
        assert!(all.contains(&format!("{name} report of ")), "{all}");
    }
    assert!(all.contains("complete: no URL is left"), "{all}");
    // nothing is written without --write, and with it only there
    fs::remove_dir_all(site.crawl.path("crawl/reports")).unwrap();
    printed(&site, &["report", "--dir", "crawl"]);
    assert!(!site.crawl.path("crawl/reports").exists());
    printed(&site, &["report", "seeds", "--write", "--dir", "crawl"]);
    let names: Vec<_> =
        fs::read_dir(site.crawl.path("crawl/reports")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["seeds.txt"]);
}

#[test]
fn reports_can_be_had_of_a_crawl_that_runs_and_no_kill_makes_them_lie() {
    let config = format!("{POLITE}\n[report]\nlog_bytes = \"64KiB\"\n[crawl]\ncheckpoint_interval = \"1s\"\n");
    let site = Site::new(SimOptions { hosts: 60, pages: 600, ..web() }, &config);
    let child = site.crawl.start(&["-q"]);
    site.wait_for_requests(300);
    let start = std::time::Instant::now();
    // the first checkpoint
    while !site.crawl.path("crawl/status.json").exists() {
        assert!(start.elapsed() < crate::site::PATIENCE);
        std::thread::sleep(ms(5));
    }
    let waiting: u64 = rows(&site, "hosts").iter().map(|host| host["remaining"].as_u64().unwrap()).sum();
    assert!(waiting > 0, "URLs wait at a checkpoint");
    assert!(printed(&site, &["report", "crawl", "--dir", "crawl"]).contains("running; "));
    kill(child);
    site.crawl.run(&["-q"]).expect(0, &[]);
    let numbered = site.crawl.path("crawl/logs/crawl.log.00001");
    assert!(fs::metadata(&numbered).unwrap().len() <= 64 << 10);
    let hosts = rows(&site, "hosts");
    for host in &hosts {
        assert_eq!((host["violations"].as_u64(), host["remaining"].as_u64()), (Some(0), Some(0)), "{host}");
    }
    // a line that is in the oldest file is found
    let log = fs::read_to_string(&numbered).unwrap();
    let url = log.lines().map(|line| line.split_whitespace().nth(3).unwrap()).find(|url| url.ends_with("/robots.txt"));
    let told = printed(&site, &["explain", url.unwrap(), "--json", "--dir", "crawl"]);
    assert!(told.contains("\"crawl_log\":\"2"), "{told}");
    // requests at once have numbers, the lowest that are free
    let workers: std::collections::BTreeSet<u32> = log
        .lines()
        .map(|line| line.split_whitespace().nth(7).unwrap().trim_start_matches('#').parse().unwrap())
        .collect();
    assert!(workers.len() > 1 && *workers.first().unwrap() == 1, "{workers:?}");
    assert!(*workers.last().unwrap() as usize <= 64 + 1024);
    let verified = crawler(&site, &["verify", "--dir", "crawl"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// Standard error of a crawl with these options and environment, and its exit code.
fn logged(site: &Site, options: &[&str], rust_log: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "--fresh"]).args(options);
    command.env("RUST_LOG", rust_log).current_dir(site.crawl.dir.path());
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_log_in_json_has_an_object_on_every_line_from_the_first_to_the_last() {
    let config = format!("{POLITE}\n[report]\ninterval = \"100ms\"\n");
    let site = Site::new(SimOptions { hosts: 4, pages: 40, ..web() }, &config);
    let (code, log) = logged(&site, &["--log-format", "json"], "");
    assert_eq!(code, Some(0), "{log}");
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |message: &'static str| events.iter().filter(move |event| event["message"] == message);
    assert!(of("progress").count() >= 2, "{log}");
    let progress = of("progress").next_back().unwrap();
    assert!(progress["pages"].as_u64().is_some() && progress["queued"].as_u64().is_some(), "{progress}");
    let finished = of("finished").next().unwrap();
    assert_eq!(finished["finish"], "complete: no URL is left");
    assert_eq!((finished["level"].as_str(), finished["queued"].as_u64()), (Some("INFO"), Some(0)));
    assert!(finished["timestamp"].as_str().unwrap().ends_with('Z'));
    // a fault is an event too
    fs::write(site.crawl.path("seeds.txt"), "http://nowhere.invalid/\n").unwrap();
    let config = fs::read_to_string(site.crawl.path("crawler.toml")).unwrap();
    fs::write(site.crawl.path("crawler.toml"), format!("{config}log_format = \"json\"\n")).unwrap();
    let (code, log) = logged(&site, &[], "");
    assert_eq!(code, Some(5), "{log}");
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = events.last().unwrap();
    assert_eq!(last["level"], "ERROR");
    assert!(last["message"].as_str().unwrap().contains("nothing could be fetched"), "{last}");
}

#[test]
fn flags_and_environment_decide_how_much_is_said() {
    let site = Site::new(SimOptions { hosts: 2, pages: 4, unresolvable_share: 1.0, ..web() }, POLITE);
    let said = |options: &[&str], rust_log: &str| logged(&site, options, rust_log).1;
    let (quiet, normal, verbose, loud) = (said(&["-q"], ""), said(&[], ""), said(&["-v"], ""), said(&["-vv"], ""));
    assert_eq!(quiet, "");
    assert!(normal.contains(" INFO ") && !normal.contains("DEBUG"), "{normal}");
    assert!(verbose.contains("DEBUG crawler_engine::") && !verbose.contains(" hyper_util::"), "{verbose}");
    assert!(loud.contains("DEBUG crawler_engine::") && loud.contains("hyper_util::"), "{loud}");
    assert!(said(&[], "crawler=debug").contains("DEBUG"));
    assert!(!said(&["-v"], "crawler=warn").contains("DEBUG"));
    assert_eq!(said(&["-q"], "trace"), "");
    let (code, log) = logged(&site, &[], "crawler=much");
    assert_eq!(code, Some(2), "{log}");
    assert!(log.contains("RUST_LOG=crawler=much"), "{log}");
}

#[test]
fn status_tells_the_figures_of_this_moment_of_a_crawl_that_runs_and_the_time_left() {
    let config = "delay_factor = 0.0\ndelay_min = \"2s\"\ndelay_per_ip = \"0s\"\n\
                  [crawl]\ncheckpoint_interval = \"1s\"\n";
    let site = Site::new(SimOptions { hosts: 3, pages: 300, ..web().smooth() }, config);
    let child = site.crawl.start(&["-q"]);
    let start = std::time::Instant::now();
    let status = loop {
        let output = crawler(&site, &["status", "--json", "--dir", "crawl"]);
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if status["is_live"] == true && status["left"]["urls"].as_u64() > Some(5) {
            break status;
        }
        assert!(start.elapsed() < crate::site::PATIENCE, "{status}");
        std::thread::sleep(ms(20));
    };
    assert_eq!(status["running"], true);
    assert!(
        status["rates"]["pages_per_second"].as_f64().is_some() && status["checkpointed_ms"].as_u64().is_some(),
        "{status}"
    );
    assert!(status["updated_ms"].as_u64() >= status["checkpointed_ms"].as_u64(), "{status}");
    // every URL but the first waits for two seconds
    let (urls, left) = (&status["left"]["urls"], &status["left"]["at_least_s"]);
    assert_eq!(left.as_f64().unwrap() as u64, 2 * (urls.as_u64().unwrap() - 1), "{status}");
    let text = printed(&site, &["status", "--dir", "crawl"]);
    for row in [
        "state                    crawling\n",
        "\nnow ",
        " requests/s, ",
        "\nlast checkpoint",
        "\ntime left",
        " at least: ",
    ] {
        assert!(text.contains(row), "{row:?} in\n{text}");
    }
    crate::site::interrupt(child).expect(11, &[]);
    let text = printed(&site, &["status", "--estimate", "--memory", "--dir", "crawl"]);
    for row in
        ["stopped; run the same command again to resume", "stopped by a signal", " at least: ", "memory at most:"]
    {
        assert!(text.contains(row), "{row:?} in\n{text}");
    }
    assert!(!text.contains("\nnow "), "{text}");
    for row in ["archive ", "catalog"] {
        let line = text.lines().find(|line| line.starts_with(row)).unwrap();
        assert!(!line.ends_with(" 0 B"), "{line}");
    }
}

#[test]
fn a_plan_says_what_seeds_and_settings_imply_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_crawler")).args(args).current_dir(dir.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    fs::write(dir.path().join("seeds.txt"), "https://a.example/\nhttps://a.example/b\nhttps://b.example/\nno url\n")
        .unwrap();
    fs::write(dir.path().join("my.toml"), "[politeness]\nrequests_per_second = 1\n[robots]\nobey = false\n").unwrap();
    let (code, text, _) = run(&["plan", "seeds.txt"]);
    assert_eq!(code, Some(0));
    for words in [
        "3 URLs of 2 hosts, 2 domains",
        "1.8/s in total",
        "memory ceiling",
        "archive index",
        "warning: line 4: ",
        "crawl.contact",
    ] {
        assert!(text.contains(words), "{words:?} in\n{text}");
    }
    let (_, text, _) = run(&["plan", "seeds.txt", "--config", "my.toml", "--memory", "--page-bytes", "1MiB"]);
    for words in ["by politeness.requests_per_second", "robots.obey = false", "memory at most:", "pages of 1.0 MiB"] {
        assert!(text.contains(words), "{words:?} in\n{text}");
    }
    let (code, json, _) = run(&["plan", "seeds.txt", "--json", "--dir", "elsewhere/crawl"]);
    let plan: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, plan["hosts"].as_u64()), (Some(0), Some(2)));
    assert!(plan["disk_free"].as_u64().is_some() && plan["memory"]["bytes"].as_u64() > Some(1 << 20), "{plan}");
    for (args, words) in [
        (&["plan", "none.txt"][..], "none.txt"),
        (&["plan", "seeds.txt", "--page-bytes", "many"], "30KiB"),
        (&["plan"], "<SEEDS>"),
    ] {
        let (code, _, said) = run(args);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
    let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["my.toml", "seeds.txt"]);
}
