//! Reports of logs that were written for it.

use std::time::Duration;

use super::*;
use crate::clock::Time;
use crate::frontier::Politeness;
use crate::record::{CrawlLog, LogLine, log_files};

const START: u64 = 1_700_000_000_000;

fn table(name: Name, dir: &Path) -> String {
    let mut text = Vec::new();
    write(name, dir, &mut text, Form::Text).unwrap();
    String::from_utf8(text).unwrap()
}

fn rows(name: Name, dir: &Path) -> Vec<serde_json::Value> {
    let mut text = Vec::new();
    write(name, dir, &mut text, Form::Json).unwrap();
    String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A log over several files, of this many hosts with three requests each, a second apart.
fn logged(dir: &Path, hosts: u64, notes: &[&str]) {
    let mut log = CrawlLog::open(&Disk::real(), dir).unwrap().rolled_at(Some(64 << 10));
    log.note(&Politeness::default(), "", Time::from_ms(START)).unwrap();
    for round in 0..3 {
        for host in 0..hosts {
            let started = Time::from_ms(START + round * 1_010 + host % 7);
            let path = if round == 0 { "robots.txt" } else { "page" };
            log.push(&LogLine {
                time: started,
                status: if round == 2 && host == 3 { 503 } else { 200 },
                bytes: Some(100),
                url: &format!("http://h{host}.example/{path}"),
                hops: if round == 0 { "P" } else { "L" },
                mime: if round == 0 { "text/plain" } else { "text/html" },
                fetched: Some((started, Duration::from_millis(10))),
                sha1: Some([0; 20]),
                annotations: if round == 0 && host == 5 { notes } else { &[] },
                ..LogLine::default()
            })
            .unwrap();
        }
    }
    log.flush().unwrap();
}

#[test]
fn every_host_has_its_row_over_all_files_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    logged(dir.path(), 1_000, &[]);
    assert!(log_files::files(&Disk::real(), &CrawlLog::path(dir.path())).unwrap().len() > 3);
    let hosts = rows(Name::Hosts, dir.path());
    assert_eq!(hosts.len(), 1_000);
    for host in &hosts {
        let figures =
            ["requests", "pages", "bytes", "gap_min_ms", "gap_median_ms", "owed_min_ms", "peak", "violations"];
        assert_eq!(figures.map(|name| host[name].as_u64().unwrap()), [3, 2, 300, 1_000, 1_000, 1_000, 1, 0], "{host}");
        assert_eq!(host["robots"], "200:AAAAAAAA");
        assert_eq!(host["answers_503"], u64::from(host["host"] == "h3.example"));
    }
    let text = table(Name::Hosts, dir.path());
    assert!(text.contains("1000 hosts, 3000 requests"), "{text}");
    let header = text.lines().find(|line| line.contains("violations host")).unwrap();
    let row = text.lines().find(|line| line.contains(" h999.example ")).unwrap();
    // the host is visible in 80 columns, and figures are below their names
    assert!(row.find("h999.example").unwrap() == header.find("host").unwrap());
    assert_eq!(row.chars().count(), header.chars().count(), "{header}\n{row}");
    assert!(text.contains("violations: 0\n"), "{text}");
    let mimes = rows(Name::MimeTypes, dir.path());
    assert_eq!(mimes.len(), 1);
    assert_eq!((mimes[0]["mime"].as_str(), mimes[0]["answers"].as_u64()), (Some("text/html"), Some(2_000)));
}

#[test]
fn the_file_of_the_hosts_has_the_first_ten_thousand_and_says_how_many_more_there_are() {
    let dir = tempfile::tempdir().unwrap();
    logged(dir.path(), 10_020, &["crawlDelay:2"]);
    put(Name::Hosts, dir.path()).unwrap();
    let text = std::fs::read_to_string(path(dir.path(), Name::Hosts)).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(".example ")).collect();
    assert_eq!(rows.len(), 10_000);
    assert!(rows[0].contains(" h5.example "), "the one that was asked too early: {}", rows[0]);
    assert!(
        text.contains("20 hosts with fewer requests: crawler report hosts --dir "),
        "{}",
        &text[text.len() - 900..]
    );
    assert!(text.contains("10020 hosts, 30060 requests"), "the totals are those of all");
    assert_eq!(self::rows(Name::Hosts, dir.path()).len(), 10_020);
}

#[test]
fn who_was_asked_too_early_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    logged(dir.path(), 10, &["crawlDelay:2"]);
    let hosts = rows(Name::Hosts, dir.path());
    assert_eq!(hosts[0]["host"], "h5.example");
    assert_eq!((hosts[0]["violations"].as_u64(), hosts[0]["crawl_delay"].as_f64()), (Some(2), Some(2.0)));
    assert!(hosts[1..].iter().all(|host| host["violations"] == 0));
    assert!(table(Name::Hosts, dir.path()).contains("violations: 2\n"));
}

#[test]
fn rules_that_came_over_a_redirect_are_those_of_the_first_host() {
    let dir = tempfile::tempdir().unwrap();
    logged(dir.path(), 10, &["robotsOf:http://h6.example", "crawlDelay:2"]);
    let hosts = rows(Name::Hosts, dir.path());
    assert_eq!(hosts[0]["host"], "h6.example");
    let guest = hosts.iter().find(|host| host["host"] == "h5.example").unwrap();
    assert_eq!((guest["violations"].as_u64(), guest["robots"].as_str()), (Some(0), None));
}

#[test]
fn what_a_server_sent_does_not_reach_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("logs")).unwrap();
    let line = "2005-04-28T01:16:16.100Z 200 1 http://a\x1b[2J/ L - text/\x1b[2Jx #001 20050428011615990+104 - - -\n";
    std::fs::write(CrawlLog::path(dir.path()), line).unwrap();
    for name in [Name::Hosts, Name::MimeTypes] {
        let text = table(name, dir.path());
        assert!(text.contains("\\x1b[2J"), "{text}");
        assert!(!text.contains('\x1b'));
    }
}

#[test]
fn an_empty_directory_has_reports_too_and_a_report_is_replaced_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    for name in Name::ALL {
        put(name, dir.path()).unwrap();
        put(name, dir.path()).unwrap();
        let text = std::fs::read_to_string(path(dir.path(), name)).unwrap();
        assert!(text.starts_with(&format!("{name} report of ")), "{text}");
    }
    assert_eq!(Disk::real().list(&dir.path().join("reports")).unwrap().len(), Name::ALL.len());
    assert_eq!(put_at_the_end(dir.path()).unwrap(), []);
}
