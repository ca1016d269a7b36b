//! The metrics of a crawl that runs, by the real binary, read by a parser that others wrote; and that documentation and
//! dashboard speak of what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use crate::site::{PATIENCE, Site, interrupt, ms};
use crawler::simweb::SimOptions;
use prometheus_parse::{Scrape, Value};

const CONFIG: &str = "delay_factor = 0.0\ndelay_min = \"100ms\"\ndelay_per_ip = \"0s\"\n\
                      [crawl]\ncheckpoint_interval = \"1s\"\n[report]\nmetrics = \"127.0.0.1:0\"\n";

/// Status and body of a request.
fn ask(address: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Waits until the crawl listens, and returns its address.
fn address(site: &Site) -> String {
    let (start, file) = (Instant::now(), site.crawl.path("crawl/metrics.address"));
    loop {
        if let Ok(text) = fs::read_to_string(&file)
            && let Some(address) = text.strip_suffix('\n')
        {
            return address.to_owned();
        }
        assert!(start.elapsed() < PATIENCE, "it does not listen");
        std::thread::sleep(ms(5));
    }
}

/// The metrics, once `is_there` holds.
fn metrics(address: &str, is_there: impl Fn(&str) -> bool) -> String {
    let start = Instant::now();
    loop {
        let (status, text) = ask(address, "GET /metrics");
        if status == 200 && is_there(&text) {
            return text;
        }
        assert!(start.elapsed() < PATIENCE, "{status}\n{text}");
        std::thread::sleep(ms(20));
    }
}

fn parsed(text: &str) -> Scrape {
    Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).unwrap()
}

/// Families by name, with their types.
fn families(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect()
}

fn value(scrape: &Scrape, name: &str) -> f64 {
    let sample = scrape.samples.iter().find(|sample| sample.metric == name).unwrap_or_else(|| panic!("{name}"));
    match sample.value {
        Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => value,
        ref other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_crawl_that_runs_exports_what_documentation_dashboard_and_alerts_speak_of() {
    let config = format!("{CONFIG}[sink.table]\nkind = \"sqlite\"\npath = \"documents.db\"\n");
    let site = Site::new(SimOptions { hosts: 10, pages: 400, ..SimOptions::default() }, &config);
    let child = site.crawl.start(&[]);
    let address = address(&site);
    let sample = |text: &str| text.lines().any(|line| line.starts_with("crawler_last_checkpoint_timestamp_seconds "));
    let text = metrics(&address, |text| sample(text) && text.contains("crawler_responses_total{"));
    let scrape = parsed(&text);
    let families = families(&text);
    for (name, kind) in &families {
        assert_eq!(*kind == "counter", name.ends_with("_total"), "{name} {kind}");
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        let is_there = |sample: &prometheus_parse::Sample| sample.metric == *name;
        let may_be_empty = ["crawler_failures_total", "crawler_dropped_urls_total"].contains(name);
        assert!(may_be_empty || scrape.samples.iter().any(is_there), "{name} has no sample in\n{text}");
    }
    for sample in &scrape.samples {
        let of_histogram = ["_sum", "_count"].iter().find_map(|end| sample.metric.strip_suffix(end));
        let kind = families.get(sample.metric.as_str()).or(of_histogram.and_then(|name| families.get(name)));
        assert!(kind.is_some(), "{} has no family", sample.metric);
    }
    let served = site.log().len() as f64;
    let requests = value(&scrape, "crawler_requests_total");
    assert!(requests > 0.0 && requests <= served + 200.0, "{requests} of {served}");
    let durations = scrape.samples.iter().find_map(|sample| match &sample.value {
        Value::Histogram(counts) if sample.metric == "crawler_request_duration_seconds" => Some(counts),
        _ => None,
    });
    assert_eq!(durations.unwrap().last().unwrap().count, requests);
    assert!(value(&scrape, "process_resident_memory_bytes") < value(&scrape, "crawler_memory_ceiling_bytes"));
    let documentation = fs::read_to_string("docs/OPERATING.md").unwrap();
    for (name, kind) in &families {
        let row = format!("| `{name}` | {kind} |");
        assert!(documentation.contains(&row), "{row} is not in docs/OPERATING.md");
    }
    let of_ours = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let ours = words.filter(|word| word.starts_with("crawler_") || word.starts_with("process_"));
        ours.map(|word| word.strip_suffix("_bucket").unwrap_or(word).to_owned()).collect()
    };
    let dashboard: serde_json::Value =
        serde_json::from_str(&fs::read_to_string("docs/grafana-dashboard.json").unwrap()).unwrap();
    let used = of_ours(&dashboard.to_string());
    assert!(used.len() > 20);
    let watched = of_ours(&fs::read_to_string("docs/prometheus-alerts.yaml").unwrap());
    assert!(watched.len() > 10);
    for name in used.iter().chain(&watched).chain(&of_ours(&documentation)) {
        let is_there = families.contains_key(name.as_str());
        // those of shards and of the calendar have their own tests, and no host waits on disk here
        let of_others =
            ["crawler_shard_", "crawler_recrawl_", "crawler_disk_wait_"].iter().any(|start| name.starts_with(start));
        assert!(is_there || of_others, "{name} is spoken of and not there");
    }
    interrupt(child).expect(11, &["metrics at http://127.0.0.1:"]);
    assert!(!site.crawl.path("crawl/metrics.address").exists());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn the_metrics_of_a_crawl_of_shards_are_sums_and_tell_each_shard() {
    let config = CONFIG.replace("[crawl]\n", "[crawl]\nshards = 3\n");
    let site = Site::new(SimOptions { hosts: 10, pages: 400, ..SimOptions::default() }, &config);
    let child = site.crawl.start(&[]);
    let address = address(&site);
    let last = "crawler_shard_last_checkpoint_timestamp_seconds{shard=\"2\"} ";
    let text = metrics(&address, |text| text.lines().any(|line| line.starts_with(last)));
    let scrape = parsed(&text);
    let of_shards: Vec<f64> = scrape
        .samples
        .iter()
        .filter(|sample| sample.metric == "crawler_shard_requests_total")
        .map(|sample| match sample.value {
            Value::Counter(value) => value,
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(of_shards.len(), 3, "{text}");
    assert_eq!(of_shards.iter().sum::<f64>(), value(&scrape, "crawler_requests_total"));
    let (families, documentation) = (families(&text), fs::read_to_string("docs/OPERATING.md").unwrap());
    let of_shard = |name: &&str| name.starts_with("crawler_shard_");
    for name in families.keys().filter(|name| of_shard(name)) {
        assert!(documentation.contains(&format!("| `{name}` | {} | `shard` |", families[name])), "{name}");
    }
    assert_eq!(
        families.keys().filter(|name| of_shard(name)).count(),
        documentation.matches("| `crawler_shard_").count()
    );
    interrupt(child).expect(11, &[]);
}

#[test]
fn the_server_of_the_metrics_answers_nothing_else_and_survives_nonsense() {
    let site = Site::new(SimOptions { hosts: 4, pages: 400, ..SimOptions::default() }, CONFIG);
    let child = site.crawl.start(&[]);
    let address = address(&site);
    metrics(&address, |_| true);
    assert_eq!(ask(&address, "GET /").0, 200);
    assert_eq!(ask(&address, "GET /../etc/passwd").0, 404);
    assert_eq!(ask(&address, "GET /status.json").0, 404);
    assert_eq!(ask(&address, "POST /metrics").0, 405);
    let mut nonsense = TcpStream::connect(&address).unwrap();
    nonsense.write_all(&[0xff; 4_096]).unwrap();
    let _ = nonsense.read_to_end(&mut Vec::new());
    // more connections than it has places for; those that say nothing do not keep the crawl from ending
    let _silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(&address).unwrap()).collect();
    interrupt(child).expect(11, &[]);
}

#[test]
fn n24_connections_that_say_nothing_do_not_keep_the_metrics_from_others() {
    let site = Site::new(SimOptions { hosts: 4, pages: 400, ..SimOptions::default() }, CONFIG);
    let child = site.crawl.start(&[]);
    let address = address(&site);
    // once there are figures, the crawl is open and hears signals
    metrics(&address, |_| true);
    // the server closes idle ones in time: a test that was held up meanwhile has seen nothing, and looks again
    let start = Instant::now();
    loop {
        let idle: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&address).unwrap()).collect();
        for mut stream in &idle {
            stream.write_all(b"GET /met").unwrap();
        }
        assert_eq!(ask(&address, "GET /").0, 200);
        let mut newest = idle.last().unwrap();
        newest.set_nonblocking(true).unwrap();
        if newest.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock) {
            // it was answered while others still said nothing, and the first of them gave way
            idle[0].set_read_timeout(Some(PATIENCE)).unwrap();
            let mut first = &idle[0];
            assert!(matches!(first.read(&mut [0]), Ok(0) | Err(_)));
            break;
        }
        assert!(start.elapsed() < PATIENCE, "it is answered only when all the others are gone");
    }
    interrupt(child).expect(11, &[]);
}

#[test]
fn an_address_that_is_taken_is_a_mistake_of_the_operator() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = CONFIG.replace("127.0.0.1:0", &taken.local_addr().unwrap().to_string());
    let site = Site::new(SimOptions { hosts: 2, pages: 2, ..SimOptions::default() }, &config);
    site.crawl.run(&[]).expect(2, &["report.metrics: cannot listen at"]);
}
