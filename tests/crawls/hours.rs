//! Hours in which a host is asked, by the real binary: nothing is asked before them, the crawl waits without an end,
//! and every command says till when.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::hosts::{Answer, Hosts};
use crate::site::{Crawl, RUSH, wait_for};

/// Two hosts with some pages each.
fn two() -> Hosts {
    Hosts::start(2, |asked| match asked.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nAllow: /\n"),
        "/" => Answer::page("<html><title>page</title><a href=/1>1</a><a href=/2>2</a>"),
        _ => Answer::page("<html><title>leaf</title>"),
    })
}

/// A window of six hours by UTC that begins `after` this moment, and the moment.
fn window(after: Duration) -> (String, SystemTime) {
    let opens = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + after.as_secs();
    let time = |second: u64| format!("{:02}:{:02}:{:02}", second / 3_600 % 24, second / 60 % 60, second % 60);
    (format!("{}-{} UTC", time(opens), time(opens + 6 * 3_600)), UNIX_EPOCH + Duration::from_secs(opens))
}

fn config(more: &str) -> String {
    format!("[network]\nallow = [\"127.0.0.0/8\"]\n[scope]\nfavicon = false\n[politeness]\n{RUSH}\n{more}")
}

fn said(crawl: &Crawl, command: &[&str]) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = process.args(command).arg("--dir").arg(crawl.path("crawl")).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_host_is_not_asked_before_its_hours() {
    let two = two();
    let seeds = format!("{}\n{}\n", two.url(1, "/"), two.url(2, "/"));
    let closed = format!("[[site]]\nhost = \"127.0.0.1\"\nhours = \"{}\"\n", window(Duration::from_secs(30_000)).0);
    let crawl = Crawl::new(&seeds, &config(&format!("[crawl]\ncheckpoint_interval = \"1s\"\n{closed}")));
    let running = crawl.start(&[]);
    wait_for("all of the other host", || two.paths_of(2).len() == 4);
    crate::site::interrupt(running).expect(11, &[]);
    assert_eq!((two.paths_of(1).len(), two.paths_of(2).len()), (0, 4), "the other host was crawled meanwhile");
    let told = said(&crawl, &["status"]);
    assert!(told.contains("its hours begin at ") && told.contains(" UTC)"), "{told}");
    let told = said(&crawl, &["explain", &two.url(1, "/")]);
    assert!(told.contains("its host waits until ") && told.contains(" UTC (in 8h "), "{told}");
    let told = said(&crawl, &["report", "seeds"]);
    assert!(told.contains("its host waits until ") && told.contains(" UTC (in 8h "), "{told}");

    // the same crawl with hours that begin in some seconds
    let (soon, opens) = window(Duration::from_secs(15));
    let open = format!("[[site]]\nhost = \"127.0.0.1\"\nhours = \"{soon}\"\n");
    std::fs::write(crawl.path("crawler.toml"), config(&open)).unwrap();
    let running = crawl.start(&[]);
    wait_for("a page of the host", || two.paths_of(1).len() > 1);
    assert!(SystemTime::now() >= opens, "nothing is asked before");
    crate::site::wait(running).expect(0, &["complete"]);
    assert_eq!(two.paths_of(1).len(), 4);
    let report = said(&crawl, &["report", "hosts", "--json"]);
    assert!(!report.contains("\"violations\":1"), "{report}");
}
