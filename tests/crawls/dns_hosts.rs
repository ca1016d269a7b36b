//! Addresses that the settings say: nobody is asked for them, the guard holds, and a reload moves a site.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::site::{Crawl, PATIENCE, RUSH, interrupt};

/// Serves two addresses on one port: pages without end, and what each address was asked for.
struct Two {
    port: u16,
    asked: [Arc<Mutex<Vec<String>>>; 2],
}

impl Two {
    fn start() -> Two {
        let first = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let second = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 3), port)).unwrap();
        let pages = Arc::new(AtomicU32::new(0));
        let serve = |listener: TcpListener| {
            let (asked, pages) = (Arc::<Mutex<Vec<String>>>::default(), pages.clone());
            let log = asked.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                    let Some(line) = lines.next() else { continue };
                    lines.take_while(|line| !line.is_empty()).for_each(drop);
                    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                    let (status, body) = match path.as_str() {
                        "/robots.txt" => ("404 Not Found", String::new()),
                        _ => ("200 OK", format!("<a href=/{}>n</a>", pages.fetch_add(1, Ordering::SeqCst))),
                    };
                    log.lock().unwrap().push(path);
                    let head =
                        format!("content-type: text/html\r\nconnection: close\r\ncontent-length: {}", body.len());
                    // a client that is gone is no fault
                    let _ = write!(stream, "HTTP/1.1 {status}\r\n{head}\r\n\r\n{body}");
                }
            });
            asked
        };
        Two { port, asked: [serve(first), serve(second)] }
    }

    fn count(&self, of: usize) -> usize {
        self.asked[of].lock().unwrap().len()
    }

    /// Waits until the one with this number has been asked `count` times.
    fn wait_for(&self, of: usize, count: usize) {
        let start = Instant::now();
        while self.count(of) < count {
            assert!(start.elapsed() < PATIENCE, "{} of {count}", self.count(of));
            std::thread::yield_now();
        }
    }
}

/// Nobody answers questions for names here.
fn config(hosts: &str, more: &str) -> String {
    format!(
        "[network]\nallow = [\"127.0.0.2\", \"127.0.0.3\"]\n[dns]\nnameservers = [\"127.0.0.1:9\"]\nhosts = {hosts}\n\
         [scope]\nfavicon = false\nmode = \"any\"\n[politeness]\n{RUSH}{more}"
    )
}

fn said(crawl: &Crawl, command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_crawler")).args(command).current_dir(crawl.dir.path()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_name_is_where_the_settings_say_and_a_reload_moves_it() {
    let two = Two::start();
    let seed = format!("http://a.test:{}/", two.port);
    let crawl = Crawl::new(&seed, &config("{ \"a.test\" = \"127.0.0.2\" }", "[crawl]\nmax_pages = 1000000\n"));
    let running = crawl.start(&[]);
    two.wait_for(0, 5);
    assert_eq!(two.count(1), 0);
    let moved = config("{ \"a.test\" = [\"127.0.0.3\"] }", "[crawl]\nmax_pages = 1000000\n");
    fs::write(crawl.path("crawler.toml"), moved).unwrap();
    let changed = said(&crawl, &["ctl", "reload", "--dir", "crawl"]);
    assert!(changed.contains("dns.hosts"), "{changed}");
    let before = two.count(0);
    two.wait_for(1, 5);
    assert!(two.count(0) <= before + 2, "a request or two was in flight");
    let shown = said(&crawl, &["explain", &seed, "--dir", "crawl"]);
    assert!(shown.contains("127.0.0.3 (by dns.hosts)"), "{shown}");
    let json = said(&crawl, &["explain", "--json", &seed, "--dir", "crawl"]);
    assert!(json.contains("\"by_settings\":true") || json.contains("\"by_settings\": true"), "{json}");
    interrupt(running).expect(11, &[]);
}

#[test]
fn a_name_that_was_not_found_is_fetched_once_the_settings_say_where_it_is() {
    let two = Two::start();
    let seed = format!("http://a.test:{}/", two.port);
    let limit = "linger = \"1s\"\ngive_up = \"1s\"\n[crawl]\nmax_pages = 1\n";
    let crawl = Crawl::new(&seed, &config("{}", &format!("{limit}[fetch]\nretries = 0\n")));
    crawl.run(&[]).expect(5, &["DNS failed"]);
    fs::write(crawl.path("crawler.toml"), config("{ \"a.test\" = \"127.0.0.2\" }", limit)).unwrap();
    crawl.run(&[]).expect(0, &[]);
    assert_eq!(crawl.stored().get(&seed), Some(&200), "{:?}", crawl.stored());
}

#[test]
fn s1_an_address_in_the_settings_passes_the_guard_as_any_other() {
    let two = Two::start();
    let seed = format!("http://a.test:{}/", two.port);
    let crawl = Crawl::new(&seed, &config("{ \"a.test\" = \"127.0.0.4\" }", ""));
    let ended = crawl.run(&[]);
    ended.expect(2, &["dns.hosts: 127.0.0.4 of \"a.test\" is outside of the public internet", "network.allow"]);
    assert_eq!(two.count(0) + two.count(1), 0);
}
