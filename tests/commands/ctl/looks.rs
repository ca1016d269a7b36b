//! A crawl that runs, looked at from all sides: `crawler ctl status`, `crawler status`, metrics, lines of progress.

use std::net::TcpStream;

use super::*;

#[test]
fn a_running_crawl_tells_how_it_stands_and_only_to_its_user() {
    let site = site("");
    let child = started(&site.crawl);
    site.wait_for_requests(30);
    let told = done(&site.crawl, &["status"]);
    for row in ["state", "crawling", "process", "last checkpoint", "pages stored", "in flight", "time left"] {
        assert!(told.contains(row), "{row} is missing in\n{told}");
    }
    assert!(told.contains("last checkpoint          none yet\n"), "{told}");
    assert!(told.contains("time left                known with the first checkpoint\n"), "{told}");
    assert!(status(&site.crawl, &[]).contains("last checkpoint          none yet\n"));
    // reports have what the crawl tells, and the seeds with what was written of them so far
    for (name, row) in [("crawl", "\npages stored "), ("status-codes", " 200 OK\n"), ("seeds", "\nseeds 7: ")] {
        let report = command(site.crawl.dir.path(), &["report", name, "--dir", "crawl"]).output().unwrap();
        let report = text(&report.stdout);
        assert!(report.contains(row), "{name}: {report}");
    }
    let live = answer(&site.crawl, &["status"]);
    assert_eq!((live["ok"].as_bool(), live["status"]["phase"].as_str()), (Some(true), Some("crawling")));
    assert_eq!(live["status"]["pid"].as_u64(), Some(child.id().into()));
    // these are not the figures of a checkpoint: there has been none
    assert_eq!(live["status"]["checkpoint"].as_u64(), Some(0));
    // the web has answered so many; the crawl counts them when it takes the answers in
    until("requests are not counted", || {
        answer(&site.crawl, &["status"])["status"]["figures"]["statistics"]["requests"].as_u64() >= Some(20)
    });
    let socket = fs::symlink_metadata(site.crawl.path("crawl/control.sock")).unwrap();
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o7777, 0o600);
    interrupt(child).expect(11, &[]);
    assert!(!site.crawl.path("crawl/control.sock").exists());
}

/// Returns what `crawler status` prints.
fn status(crawl: &Crawl, words: &[&str]) -> String {
    let output = command(crawl.dir.path(), &[&["status", "--dir", "crawl"], words].concat()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The lines of a status that say the same a moment later while nothing happens.
fn lasting(status: &str) -> Vec<String> {
    let passing = ["elapsed ", "as of ", "last checkpoint ", "now ", "pages stored ", "disk free ", "inspect "];
    status.lines().filter(|line| !passing.iter().any(|name| line.starts_with(name))).map(str::to_owned).collect()
}

#[test]
fn a_pause_shows_wherever_a_crawl_is_looked_at() {
    let site = site("[report]\ninterval = \"100ms\"\nmetrics = \"127.0.0.1:0\"\n");
    let child = started(&site.crawl);
    site.wait_for_requests(20);
    let phase = |wanted: &str| {
        let address = fs::read_to_string(site.crawl.path("crawl/metrics.address")).unwrap();
        let wanted = format!("crawler_phase{{phase=\"{wanted}\"}} 1\n");
        until(&wanted, || metrics(address.trim()).contains(&wanted));
    };
    phase("crawling");
    done(&site.crawl, &["pause"]);
    until("requests under way do not end", || {
        answer(&site.crawl, &["status"])["status"]["figures"]["gauges"]["in_flight"].as_u64() == Some(0)
    });
    let told = status(&site.crawl, &[]);
    assert!(told.starts_with("state                    paused: no new requests until crawler ctl resume\n"), "{told}");
    let json: Value = serde_json::from_str(&status(&site.crawl, &["--json"])).unwrap();
    assert_eq!((&json["phase"], &json["is_live"]), (&"paused".into(), &true.into()), "{json}");
    phase("paused");
    let waiting: &Value = &json["gauges"]["queued"];
    assert!(waiting.as_u64() > Some(0), "{json}");
    done(&site.crawl, &["checkpoint"]);
    let seed = &site.web.seeds()[0];
    let explained = command(site.crawl.dir.path(), &["explain", seed, "--dir", "crawl"]).output().unwrap();
    let explained = text(&explained.stdout);
    assert!(explained.contains("crawl                    paused: no new requests until"), "{explained}");
    // both commands tell the same
    until("merges and checkpoints do not end", || {
        lasting(&status(&site.crawl, &[])) == lasting(&done(&site.crawl, &["status"]))
    });
    let (one, other): (Value, Value) = (
        serde_json::from_str(&status(&site.crawl, &["--json"])).unwrap(),
        answer(&site.crawl, &["status"])["status"].clone(),
    );
    for figure in ["pages_stored", "requests", "statuses", "links_found", "dropped"] {
        let figures = (&one["statistics"][figure], &other["figures"]["statistics"][figure]);
        assert!(!figures.0.is_null() && figures.0 == figures.1, "{figure}: {figures:?}");
    }
    for store in ["catalog", "frontier", "pages"] {
        assert_eq!(one["stores"][store], other["figures"]["stores"][store], "{store}");
    }
    let elapsed = |figures: &Value| figures["statistics"]["elapsed_s"].as_f64().unwrap();
    assert!(elapsed(&other["figures"]) >= elapsed(&one), "{one} {other}");
    done(&site.crawl, &["resume"]);
    phase("crawling");
    assert!(status(&site.crawl, &[]).starts_with("state                    crawling\n"));
    interrupt(child).expect(11, &[" state=crawling pages=", " state=paused pages="]);
    let told = status(&site.crawl, &[]);
    assert!(told.contains("state                    stopped; ") && !told.contains("paused"), "{told}");
}

/// The metrics of a crawl at `address`.
fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_crawl_that_cannot_be_asked_is_told_by_its_last_checkpoint_and_why() {
    let site = site("[crawl]\ncheckpoint_interval = \"1s\"\n");
    fs::create_dir(site.crawl.path("crawl")).unwrap();
    let socket = site.crawl.path("crawl/control.sock");
    interrupt(started(&site.crawl)).expect(11, &[]);
    fs::write(&socket, "mine").unwrap();
    let child = site.crawl.start(&[]);
    until("no checkpoint came", || {
        let json: Value = serde_json::from_str(&status(&site.crawl, &["--json"])).unwrap();
        json["running"] == true && json["state"] == "running"
    });
    let told = status(&site.crawl, &[]);
    assert!(told.contains("state                    running\n"), "{told}");
    assert!(told.contains("figures of the last checkpoint: it gave no answer"), "{told}");
    interrupt(child).expect(11, &[]);
}
