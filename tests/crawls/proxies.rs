//! A crawl of sites with their own proxies, by the logs of the proxies and of the servers.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fetch::http::{HttpServer, page};
use crate::fetch::nameserver::{NameServer, found, nowhere};
use crate::fetch::proxy::Proxy;
use crate::site::{Crawl, RUSH};

const PASSWORD: &str = "hidden-word";

/// A server with a page for every path, but for `/moved`, which leads to `to`.
fn server(to: String) -> HttpServer {
    HttpServer::start("127.0.0.1", move |connection| {
        while let Some(head) = connection.request() {
            let answer = match head.split(' ').nth(1).unwrap() {
                "/moved" => format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"),
                "/robots.txt" => page("content-type: text/plain\r\n", "User-agent: *\nDisallow: /no\n"),
                "/" => page("content-type: text/html\r\n", "<html><a href=/moved>m</a><a href=/no>n</a>"),
                _ => page("content-type: text/html\r\n", "<html><title>leaf</title>"),
            };
            if !connection.send(answer) {
                return;
            }
        }
    })
}

/// The paths that it was asked for, in alphabetical order.
fn paths(server: &HttpServer) -> Vec<String> {
    let heads = server.requests();
    let mut paths: Vec<String> = heads.iter().map(|(_, head)| head.split(' ').nth(1).unwrap().to_owned()).collect();
    paths.sort();
    paths
}

fn said(crawl: &Crawl, command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_crawler")).args(command).current_dir(crawl.dir.path()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fails if a file below `dir` has `word`.
fn expect_nowhere(dir: &Path, word: &str) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            expect_nowhere(&path, word);
        } else if let Ok(bytes) = fs::read(&path) {
            let has = bytes.windows(word.len()).any(|window| window == word.as_bytes());
            assert!(!has, "{} has {word}", path.display());
        }
    }
}

#[test]
fn every_site_is_fetched_by_its_own_proxy_and_a_redirect_takes_none_along() {
    let third = server(String::new());
    let second = server(third.url("c.test"));
    let first = server(format!("{}moved", second.url("b.test")));
    let names = NameServer::start(|question| found(question, 300, &["127.0.0.1"]));
    let one = Proxy::start(Some(("me", PASSWORD)), &[("a.test", "127.0.0.1")]);
    let two = Proxy::start(Some(("you", PASSWORD)), &[("b.test", "127.0.0.1")]);
    let credentials = |user: &str| format!("{user}:{PASSWORD}");
    let config = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[dns]\nnameservers = [\"{}\"]\n[scope]\nmode = \"any\"\n\
         [container]\ncompression = \"none\"\n[politeness]\n{RUSH}give_up = \"1s\"\n\
         [fetch]\nretries = 1\nproxy = \"http://{PASSWORD}:x@{dead}\"\n\
         [[site]]\nhost = \"a.test\"\nproxy = \"{}\"\n[[site]]\nhost = \"b.test\"\nproxy = \"{}\"\n\
         [[site]]\nhost = \"c.test\"\nproxy = \"none\"\n[[site]]\nhost = \"d.test\"\nproxy = \"{}\"\n",
        names.address,
        one.url("socks5h", &credentials("me")),
        two.url("http", &credentials("you")),
        one.url("socks5", &credentials("you")),
        dead = nowhere(),
    );
    let seeds = [first.url("a.test"), third.url("d.test"), third.url("e.test")].join("\n");
    let crawl = Crawl::new(&seeds, &config);
    let ended = crawl.run(&["-vvv"]);
    ended.expect(0, &["proxy failed"]);

    let (one_asked, two_asked) = (one.asked(), two.asked());
    let port = first.address.port();
    assert!(!one_asked.is_empty() && one_asked.iter().all(|asked| *asked == format!("socks5 a.test:{port}")));
    let mut plain = two_asked.clone();
    plain.sort();
    let url = second.url("b.test");
    assert_eq!(plain, [format!("GET {url}moved"), format!("GET {url}robots.txt")]);
    assert_eq!(paths(&first), ["/", "/moved", "/robots.txt"]);
    assert_eq!(paths(&second), ["/moved", "/robots.txt"]);
    assert_eq!(paths(&third), ["/", "/moved", "/robots.txt"], "straight");
    assert!(!third.requests().iter().any(|(_, head)| head.contains("d.test") || head.contains("e.test")));

    let log = fs::read_to_string(crawl.path("crawl/logs/crawl.log")).unwrap();
    let told = |url: String, words: &str| {
        let line = log.lines().find(|line| line.contains(&format!(" {url}robots.txt "))).unwrap();
        assert!(line.contains(" -2 ") && line.contains("proxy%20failed") && line.contains(words), "{line}");
    };
    told(third.url("d.test"), "wants%20another%20user%20or%20password");
    told(third.url("e.test"), "the%20proxy%20does%20not%20answer");

    // no password anywhere
    let shown = said(&crawl, &["explain", &first.url("a.test"), "--dir", "crawl", "--config", "crawler.toml"]);
    assert!(shown.contains(&format!("socks5h://{}", one.address)), "{shown}");
    let d = said(&crawl, &["explain", &third.url("d.test"), "--dir", "crawl"]);
    assert!(d.contains("proxy") && d.contains("wants another user or password"), "{d}");
    let tables = said(&crawl, &["config", "--config", "crawler.toml"]);
    assert!(tables.contains(&format!("proxy = \"socks5h://{}\"", one.address)), "{tables}");
    let there = said(&crawl, &["config", "--config", "crawler.toml", "--for", &second.url("b.test")]);
    assert!(there.contains(&format!("proxy = \"http://{}\"", two.address)), "{there}");
    let json = said(&crawl, &["explain", "--json", &second.url("b.test"), "--dir", "crawl"]);
    let report = said(&crawl, &["report", "--dir", "crawl"]);
    assert!(report.contains("proxy failed"), "{report}");
    for text in [&ended.said, &shown, &d, &tables, &there, &json, &report] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
    expect_nowhere(&crawl.path("crawl"), PASSWORD);
}
