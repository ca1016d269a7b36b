//! A whole crawl by the real binary, beside name servers and hosts that lie: what is good is fetched, what is not has
//! a line that says why.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::client::PATIENCE;
use super::http::{HttpServer, page};
use super::nameserver::{Message, NXDOMAIN, NameServer, SERVFAIL, alias, found, start_of_authority};

/// Hosts that are given up, and the reason.
const GIVEN_UP: [(&str, &str); 5] = [
    ("loop.test", "host given up"),
    ("nowhere.test", "host given up"),
    ("private.test", "private address"),
    ("dripping.test", "host given up"),
    ("dead.test", "host given up"),
];
/// Hosts whose name servers say nothing: they are asked again, longer than the crawl takes.
const UNANSWERED: [&str; 3] = ["silent.test", "failing.test", "forged.test"];
const GOOD_PAGES: usize = 5;

fn names() -> NameServer {
    NameServer::start(|question| match question.name.as_str() {
        "good.test" | "dripping.test" => found(question, 300, &["127.0.0.1"]),
        // nothing listens at its first address
        "two.test" => found(question, 300, &["127.0.0.99", "127.0.0.1"]),
        "dead.test" => found(question, 300, &["127.0.0.99"]),
        "private.test" => found(question, 300, &["10.0.0.1"]),
        "silent.test" => None,
        "failing.test" => Message::to(question).code(SERVFAIL).reply(),
        "loop.test" => Message::to(question).answer(alias("loop.test", 300, "loop.test")).reply(),
        "forged.test" => {
            let mut message = Message::to(question);
            message.id ^= 1;
            message.reply()
        }
        _ => Message::to(question).code(NXDOMAIN).authority(start_of_authority("test", 60, 60)).reply(),
    })
}

fn web() -> HttpServer {
    HttpServer::start("127.0.0.1", |connection| {
        while let Some(head) = connection.request() {
            let path = head.split(' ').nth(1).unwrap();
            if head.contains("host: dripping.test") {
                connection.send("HTTP/1.1 200 OK\r\n");
                while connection.send("x") {
                    std::thread::sleep(Duration::from_millis(20));
                }
                return;
            }
            let links: String = (1..GOOD_PAGES).map(|number| format!("<a href='/{number}'>{number}</a>")).collect();
            let answer = match path {
                "/robots.txt" => page("content-type: text/plain\r\n", ""),
                "/" => page("content-type: text/html\r\n", &links),
                path => page("content-type: text/html\r\n", path),
            };
            connection.send(answer);
        }
    })
}

#[test]
fn good_hosts_are_fetched_beside_name_servers_and_hosts_that_lie_and_every_url_has_an_outcome() {
    let (names, web) = (names(), web());
    let dir = tempfile::tempdir().unwrap();
    let port = web.address.port();
    let evil = GIVEN_UP.iter().map(|(host, _)| host).chain(&UNANSWERED);
    let seeds: String =
        ["good.test", "two.test"].iter().chain(evil).map(|host| format!("http://{host}:{port}/\n")).collect();
    std::fs::write(dir.path().join("seeds.txt"), seeds).unwrap();
    let config = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[dns]\nnameservers = [\"{}\"]\ntimeout = \"1s\"\n[scope]\nfavicon = false\n\
         [politeness]\ndelay_min = \"0s\"\ndelay_factor = 0.0\ndelay_per_ip = \"0s\"\ngive_up = \"2s\"\n\
         [fetch]\nretries = 1\ntimeout_connect = \"500ms\"\ntimeout_head = \"500ms\"\n[crawl]\ndisk_floor = \
         0\nmax_time = \"15s\"\n",
        names.address
    );
    std::fs::write(dir.path().join("crawler.toml"), config).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["--seeds", "seeds.txt", "--config", "crawler.toml", "--dir", "crawl", "-q"])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            let log = std::fs::read_to_string(dir.path().join("crawl/logs/crawl.log")).unwrap_or_default();
            panic!("the crawl did not end:\n{log}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.wait().unwrap().success());
    let read = |name: &str| std::fs::read_to_string(dir.path().join("crawl/logs").join(name)).unwrap();
    let (crawl_log, skipped) = (read("crawl.log"), read("skipped.jsonl"));
    for host in ["good.test", "two.test"] {
        let url = format!(" http://{host}:{port}/");
        let is_page = |line: &&str| line.contains(" 200 ") && line.contains(&url) && !line.contains("/robots.txt ");
        let stored = crawl_log.lines().filter(is_page).count();
        assert_eq!(stored, GOOD_PAGES, "{host}:\n{crawl_log}");
    }
    for (host, reason) in GIVEN_UP {
        let url = format!("http://{host}:{port}/");
        let told = skipped.lines().any(|line| line.contains(&url) && line.contains(reason));
        assert!(told, "{host}:\n{crawl_log}\n{skipped}");
    }
    for host in UNANSWERED {
        let told = crawl_log.lines().any(|line| line.contains(" -1 ") && line.contains(&format!(" dns:{host} ")));
        assert!(told, "{host}:\n{crawl_log}\n{skipped}");
    }
    assert!(
        !crawl_log
            .lines()
            .any(|line| line.contains(" 200 ") && !line.contains("good.test") && !line.contains("two.test"))
    );
    // the archive names the address that answered, not the first one of the host
    let record = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["get", "--warc", "--dir", "crawl", &format!("http://two.test:{port}/")])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let record = String::from_utf8_lossy(&record.stdout).into_owned();
    assert!(record.contains("WARC-IP-Address: 127.0.0.1\r\n"), "{record}");
}
