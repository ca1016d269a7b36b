//! Sites with their own tables: delays, names, fields, robots.txt, limits, by the log of a server.

use std::process::Command;
use std::time::Duration;

use crate::hosts::{Answer, Asked, Hosts};
use crate::site::{Crawl, RUSH};

const ROBOTS: [&str; 3] = [
    "User-agent: crawler\nDisallow: /secret\n\nUser-agent: other\nDisallow: /\n",
    "User-agent: other\nDisallow: /secret\n\nUser-agent: crawler\nDisallow: /\n",
    "User-agent: *\nDisallow: /\n",
];

const PAGE: &str = "<html><title>page</title><a href=/low/1>1</a><a href=/low/2>2</a><a href=/no/3>3</a>\
                    <a href=/secret>s</a><a href=/high/4>4</a>";
const DEEP: &str = "<html><title>page</title><a href=/deep/1>1</a>";

/// `127.0.0.1` to `127.0.0.3`: pages that link to one another, and a robots.txt for each host.
fn three() -> Hosts {
    Hosts::start(3, |asked| match asked.path.as_str() {
        "/robots.txt" => Answer::text(ROBOTS[usize::from(asked.host) - 1]),
        "/" => Answer::page(PAGE),
        "/low/1" => Answer::page(DEEP),
        _ => Answer::page("<html><title>leaf</title>"),
    })
}

fn seeds(three: &Hosts) -> String {
    [1, 2, 3].map(|host| format!("{}\n", three.url(host, "/"))).concat()
}

/// Settings for all, and tables: for the second host its own name and fields, for the third no robots.txt.
fn config(more: &str) -> String {
    format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[scope]\nfavicon = false\n[fetch]\nheaders = {{ X-All = \"1\" }}\n\
         [politeness]\n{RUSH}\n{more}"
    )
}

const TABLES: &str = "[[site]]\nhost = \"127.0.0.2\"\nuser_agent = \"other/2\"\naccept_language = \"de\"\n\
                      headers = { X-Site = \"two\" }\nexclude = [\"/no/\"]\ndelay_min = \"300ms\"\n\
                      [[site]]\nhost = \"127.0.0.3\"\nobey = false\nmax_depth = 1\npages_per_host = 4\n\
                      [[site]]\npattern = \"/high/\"\npriority = \"high\"\n";

/// Returns what a command about the crawl prints.
fn said(crawl: &Crawl, command: &[&str]) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = process.args(command).arg("--dir").arg(crawl.path("crawl")).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_host_is_asked_by_its_own_table() {
    let three = three();
    let crawl = Crawl::new(&seeds(&three), &config(TABLES));
    crawl.run(&[]).expect(0, &["complete"]);
    let (first, second, third) = (three.asked_of(1), three.asked_of(2), three.asked_of(3));
    let sorted = |host| {
        let mut paths = three.paths_of(host);
        paths.sort();
        paths
    };
    // each by the group that names it
    assert_eq!(sorted(1), ["/", "/deep/1", "/high/4", "/low/1", "/low/2", "/no/3", "/robots.txt"]);
    assert_eq!(sorted(2), ["/", "/deep/1", "/high/4", "/low/1", "/low/2", "/robots.txt"]);
    // nobody asks for a robots.txt that is not obeyed; four pages are all, and one link is as far as it goes
    let third_paths = sorted(3);
    assert_eq!(third_paths.len(), 4, "{third_paths:?}");
    assert!(!third_paths.iter().any(|path| path == "/robots.txt" || path == "/deep/1"), "{third_paths:?}");
    // fields
    assert!(
        first.iter().chain(&third).all(|asked| asked.field("x-all") == Some("1") && asked.field("x-site").is_none())
    );
    assert!(first.iter().all(|asked| asked.field("user-agent").unwrap().starts_with("crawler/")));
    for asked in &second {
        assert!(asked.field("user-agent").unwrap().starts_with("other/2"), "{asked:?}");
        assert_eq!((asked.field("x-site"), asked.field("x-all")), (Some("two"), None), "{asked:?}");
        assert_eq!(asked.field("accept-language"), Some("de"), "{asked:?}");
    }
    // delays: never less than its own, which the others do not have
    let gaps = |asked: &[Asked]| asked.windows(2).map(|two| two[1].at - two[0].at).collect::<Vec<_>>();
    assert!(gaps(&second).iter().all(|gap| *gap >= Duration::from_millis(299)), "{:?}", gaps(&second));
    // priority: before all others that were found with it
    assert_eq!(three.paths_of(1)[2], "/high/4", "{:?}", three.paths_of(1));
}

#[test]
fn the_archive_has_the_fields_that_were_sent_and_explain_names_the_tables() {
    let three = three();
    let crawl = Crawl::new(&seeds(&three), &config(TABLES));
    crawl.run(&[]).expect(0, &["complete"]);
    let at = format!("http://127.0.0.2:{}/low/1", three.port);
    let request = said(&crawl, &["get", "--warc", &at]);
    for line in ["user-agent: other/2", "accept-language: de", "x-site: two"] {
        assert!(request.contains(line), "{line}: {request}");
    }
    let told = said(&crawl, &["explain", &at]);
    assert!(told.contains("settings for it") && told.contains("[[site]] 1: host = \"127.0.0.2\""), "{told}");
    let left_out = said(&crawl, &["explain", &format!("http://127.0.0.2:{}/no/3", three.port)]);
    assert!(left_out.contains("exclude of a [[site]]: /no/"), "{left_out}");
}

#[test]
fn the_report_judges_each_host_by_its_own_table() {
    let three = three();
    let slow = "delay_factor = 0.0\ndelay_min = \"1s\"\ndelay_per_ip = \"0s\"\n";
    let quick = "[[site]]\nhost = \"127.0.0.1\"\ndelay_min = \"0s\"\n";
    let crawl = Crawl::new(&format!("{}\n", three.url(1, "/")), &config(quick).replace(RUSH, slow));
    crawl.run(&[]).expect(0, &["complete"]);
    let report = said(&crawl, &["report", "hosts", "--json"]);
    let rows = report.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let row = rows.into_iter().find(|row| row["host"] == "127.0.0.1").unwrap();
    assert_eq!((row["requests"].as_u64(), row["violations"].as_u64()), (Some(7), Some(0)), "{report}");
    assert!(row["gap_min_ms"].as_u64().unwrap() < 1_000, "{report}");
}
