//! Whole crawls by the real binary of servers that send too much: every answer is cut at a limit, the archive or
//! crawl.log says at which, the crawl ends, and its memory stays below the ceiling that `status` tells.

use std::io::Write;
use std::sync::Arc;

use data_encoding::BASE64;
use flate2::Compression;

use super::crawl::{Crawled, Plan};
use super::http::HttpServer;
use super::nameserver::{NameServer, found};

/// 64 MiB of blanks behind a link, by brotli.
const BROTLI_BOMB: &str = "y///PwAkX3zwepFJhDlMI5NXyiMLs9O+9P4P/v//\
                           ASABEIcFoHv/x///PwAkAOKwAHTv//j//weABEAcFoDu/R////8AkACIwwLQ\
                           vf/j//8fABIAcVgAuvd//P//A0ACIA4LQPf+j///fwBIAMRhAeje/8UEAAAJgBgiAAE=";
const BOMB_BYTES: usize = 64 << 20;

fn bomb() -> Vec<u8> {
    let mut bomb = b"<a href=/first>x</a>".to_vec();
    bomb.resize(BOMB_BYTES, b' ');
    bomb
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn reply(lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{lines}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn html(body: &str) -> Vec<u8> {
    reply("content-type: text/html\r\n", body.as_bytes())
}

fn moved(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into()
}

/// A server that answers each path as `answers` says; its name is `a.test`.
fn web(answers: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> HttpServer {
    HttpServer::start("127.0.0.1", move |connection| {
        while let Some(head) = connection.request() {
            if !connection.send(answers(head.split(' ').nth(1).unwrap())) {
                return;
            }
        }
    })
}

fn crawl(server: &HttpServer, seeds: &[&str], scope: &str, extra: &str) -> Crawled {
    let seeds: Vec<String> = seeds.iter().map(|path| url(server, path)).collect();
    Plan { scope, extra, ..Plan::of(&seeds) }.run()
}

fn url(server: &HttpServer, path: &str) -> String {
    format!("{}{path}", server.url("127.0.0.1"))
}

#[test]
fn s7_a_bomb_in_any_coding_is_cut_and_told_and_what_came_before_is_read() {
    let bodies = [
        ("gzip", gzip(&bomb())),
        ("deflate", zlib(&bomb())),
        ("zstd", zstd::stream::encode_all(&*bomb(), 19).unwrap()),
        ("br", BASE64.decode(BROTLI_BOMB.as_bytes()).unwrap()),
        ("gzip, gzip", gzip(&gzip(&bomb()))),
    ];
    assert!(bodies.iter().all(|(_, body)| body.len() < 100_000));
    let map = gzip(&[&b"<urlset><url><loc>/listed</loc></url>"[..], &bomb()].concat());
    let server = web(move |path| match path.trim_start_matches('/') {
        "robots.txt" => reply("content-type: text/plain\r\n", b"Sitemap: /map.xml.gz\n"),
        "map.xml.gz" => reply("content-type: application/gzip\r\n", &map),
        number => match number.parse::<usize>() {
            Ok(number) => {
                let (coding, body) = &bodies[number];
                reply(&format!("content-type: text/html\r\ncontent-encoding: {coding}\r\n"), body)
            }
            Err(_) => html(""),
        },
    });
    let crawled = crawl(&server, &["0", "1", "2", "3", "4"], "", "");
    for path in ["0", "1", "2", "3", "4", "map.xml.gz"] {
        crawled.expect(&url(&server, path), "decodedTrunc");
    }
    crawled.expect(&url(&server, "first"), " 200 ");
    crawled.expect(&url(&server, "listed"), " 200 ");
}

#[test]
fn s10_redirect_loops_long_chains_and_refreshes_end_and_each_hop_is_a_url_of_its_own() {
    let server = web(|path| match path.trim_start_matches('/') {
        "robots.txt" => reply("", b""),
        "loop" => moved("/loop"),
        "there" => moved("/back"),
        "back" => moved("/there"),
        "refresh" => html("<meta http-equiv=refresh content='0; url=/again'>"),
        "again" => html("<meta http-equiv=refresh content='0; url=/refresh'>"),
        other => match other.split_once('-') {
            Some(("chain", number)) => moved(&format!("/chain-{}", number.parse::<u64>().unwrap() + 1)),
            Some((_, number)) => {
                let next = number.parse::<u64>().unwrap() + 1;
                html(&format!("<meta http-equiv=refresh content='0; url=/endless-{next}'>"))
            }
            None => html(""),
        },
    });
    let seeds = ["loop", "there", "refresh", "chain-0", "endless-0"];
    let crawled = crawl(&server, &seeds, "max_redirects = 3", "max_depth = 4");
    for (path, times) in [("loop", 1), ("there", 1), ("back", 1), ("refresh", 1), ("again", 1)] {
        assert_eq!(crawled.lines(&url(&server, path)).len(), times, "{path}\n{}", crawled.crawl_log);
    }
    // three redirects in a row are followed
    crawled.expect(&url(&server, "chain-3"), " 302 ");
    assert!(crawled.lines(&url(&server, "chain-4")).is_empty(), "{}", crawled.crawl_log);
    crawled.expect_skipped(&url(&server, "chain-4"), "too many redirects");
    // refreshes are links: the depth bounds them
    crawled.expect(&url(&server, "endless-4"), " 200 ");
    assert!(crawled.lines(&url(&server, "endless-5")).is_empty(), "{}", crawled.crawl_log);
}

#[test]
fn n18_what_heads_say_in_other_bytes_and_other_statuses_is_followed() {
    let moved = |to: &[u8]| [b"HTTP/1.1 302 Found\r\nlocation: ", to, b"\r\ncontent-length: 0\r\n\r\n"].concat();
    let server = web(move |path| match path {
        "/robots.txt" => moved(b"/r\xe9gles"),
        "/r%E9gles" => reply("content-type: text/plain\r\n", b"User-agent: *\nDisallow: /no\n"),
        "/moved" => moved(b"/caf\xe9"),
        "/linked" => [
            b"HTTP/1.1 200 OK\r\nlink: </link\xe9>; rel=next\r\n".as_slice(),
            b"refresh: 0;url=/refresh\xe9\r\ncontent-length: 0\r\n\r\n",
        ]
        .concat(),
        "/201" | "/203" => {
            let body = format!("<a href=/from{path}><a href=/no{path}>").replace("m/", "m-");
            let head = format!(
                "HTTP/1.1 {} X\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n",
                &path[1..],
                body.len()
            );
            (head + &body).into_bytes()
        }
        "/types" => reply("content-type: text/plain\r\ncontent-type: text/html\r\n", b"<a href='/typed'>"),
        _ => html(""),
    });
    let seeds = ["moved", "linked", "201", "203", "types"];
    let crawled = crawl(&server, &seeds, "", "");
    for path in ["caf%E9", "link%E9", "refresh%E9", "from-201", "from-203", "typed"] {
        crawled.expect(&url(&server, path), " 200 ");
    }
    for path in ["no/201", "no/203"] {
        crawled.expect_skipped(&url(&server, path), "robots.txt");
    }
}

#[test]
fn n21_explain_knows_nofollow_and_what_let_a_sitemap_in() {
    let server = HttpServer::start("127.0.0.1", |connection| {
        while let Some(head) = connection.request() {
            let port = connection.stream.local_addr().unwrap().port();
            let answer = match head.split(' ').nth(1).unwrap() {
                "/robots.txt" => {
                    let named = format!("Sitemap: http://maps.a.test:{port}/s.xml\n");
                    reply("content-type: text/plain\r\n", named.as_bytes())
                }
                "/s.xml" => {
                    let listed = b"<urlset><url><loc>/listed</loc></url></urlset>";
                    reply("content-type: application/xml\r\n", listed)
                }
                "/header" => reply("content-type: text/html\r\nx-robots-tag: nofollow\r\n", b"<a href=/no>"),
                "/meta" => html("<meta name=robots content=nofollow><a href=/no>"),
                "/" => html("<a href=/header><a href=/meta>"),
                _ => html(""),
            };
            if !connection.send(answer) {
                return;
            }
        }
    });
    let names = NameServer::start(|question| found(question, 300, &["127.0.0.1"]));
    let seeds = [server.url("www.a.test")];
    let crawled = Plan { names: names.address.to_string(), ..Plan::of(&seeds) }.run();
    std::fs::write(crawled.dir.path().join("strict.toml"), "[scope]\nmode = \"host\"\n").unwrap();
    let explain = |url: &str| -> serde_json::Value {
        serde_json::from_str(&crawled.ask(&["explain", url, "--config", "strict.toml", "--json"])).unwrap()
    };
    let said = [("header", "its X-Robots-Tag header says nofollow"), ("meta", "its robots meta element says nofollow")];
    for (path, why) in said {
        let told = explain(&format!("{}{path}", seeds[0]));
        assert_eq!(told["nofollow"], why, "{told:#}");
        assert!(told["verdict"].as_str().unwrap().ends_with(why), "{told:#}");
    }
    assert!(explain(&seeds[0])["nofollow"].is_null());
    let never = explain(&format!("{}no", seeds[0]));
    assert!(never["verdict"].as_str().unwrap().contains("apart from nofollow links and pages"), "{never:#}");
    // by these settings nothing else of that host is in scope
    let map = explain(&format!("{}s.xml", server.url("maps.a.test")));
    assert_eq!(map["scope"]["rule"], "a sitemap of the domain of what names it: a.test", "{map:#}");
    assert!(map["scope"]["refused"].is_null(), "{map:#}");
    let listed = explain(&format!("{}listed", server.url("maps.a.test")));
    assert_eq!(listed["scope"]["refused"], "out of scope", "{listed:#}");
}

#[test]
fn s12_links_beyond_the_limits_of_a_page_are_dropped_and_counted() {
    let server = web(|path| match path.trim_start_matches('/') {
        "robots.txt" => reply("", b""),
        "many" => html(&(0..50_000).map(|number| format!("<a href=/{number}?x>")).collect::<String>()),
        "srcset" => html(&format!("<img srcset='{}'>", "x.png 1x,".repeat(1_000_000))),
        "long" => html(&format!("<a href='/{}'>", "a".repeat(2_000_000))),
        // short links that a long base makes long
        "base" => html(&format!(
            "<base href='/{}/'>{}",
            "a".repeat(1_900),
            (0..100).map(|number| format!("<a href={number}>")).collect::<String>()
        )),
        "headers" => {
            let targets = |line: usize| (0..200).map(move |number| format!("</{line}/{number}?y>; rel=next, "));
            let lines: String =
                (0..20).map(|line| format!("link: {}\r\n", targets(line).collect::<String>())).collect();
            reply(&format!("content-type: text/html\r\n{lines}"), b"")
        }
        _ => reply("content-type: text/plain\r\n", b""),
    });
    let seeds = ["many", "srcset", "long", "base", "headers"];
    let crawled = crawl(&server, &seeds, "max_links_per_page = 100", "max_depth = 1");
    for (path, words) in [
        ("many", "linksDropped:49900"),
        // one URL, again and again: eight for each link are looked at
        ("srcset", "linksDropped:999200"),
        ("long", "linksDropped:1"),
        // 25,600 bytes have room for 13 of them
        ("base", "linksDropped:87"),
        ("headers", "linksDropped:3900"),
    ] {
        crawled.expect(&url(&server, path), words);
    }
    let status: serde_json::Value = serde_json::from_str(&crawled.ask(&["status", "--json"])).unwrap();
    let dropped = status["statistics"]["dropped"]["PageLimit"].as_u64().unwrap();
    assert_eq!(dropped, 49_900 + 999_200 + 1 + 87 + 3_900);
}

#[test]
fn s12_the_memory_of_a_crawl_of_hostile_servers_stays_below_the_ceiling_that_status_tells() {
    const HOSTS: usize = 60;
    let rules: String = (0..28_000).map(|number| format!("Disallow: /p{number:07}\n")).collect();
    let robots = Arc::new(reply("content-type: text/plain\r\n", format!("User-agent: *\n{rules}").as_bytes()));
    let listed = (0..100_000).map(|number| format!("http://h{}.test/{}/{number}\n", number % HOSTS, "s".repeat(900)));
    let map = Arc::new(reply("content-type: text/plain\r\n", &gzip(listed.collect::<String>().as_bytes())));
    let links: String = (0..10_000).map(|number| format!("<a href=l{number}>")).collect();
    let links = Arc::new(html(&format!("<base href='/{}/'>{links}", "a".repeat(1_900))));
    let bomb = Arc::new(reply("content-type: text/html\r\ncontent-encoding: gzip\r\n", &gzip(&bomb())));
    let mut noise = vec![0; 3 << 20];
    fastrand::Rng::with_seed(1).fill(&mut noise);
    let large = Arc::new(reply("content-type: text/html; charset=windows-1252\r\n", &noise));
    let server = HttpServer::start("127.0.0.1", move |connection| {
        while let Some(head) = connection.request() {
            let answer: Arc<Vec<u8>> = match head.split(' ').nth(1).unwrap() {
                "/robots.txt" => robots.clone(),
                path if path.contains("map") => map.clone(),
                path if path.contains("bomb") => bomb.clone(),
                path if path.contains("large") => large.clone(),
                path if path.contains("links") => links.clone(),
                _ => Arc::new(html("")),
            };
            if !connection.send(&*answer) {
                return;
            }
        }
    });
    let names = NameServer::start(|question| found(question, 300, &["127.0.0.1"]));
    let port = server.address.port();
    let seeds: Vec<String> = (0..HOSTS)
        .flat_map(|host| {
            let kinds = ["map", "bomb", "large", "links", "bomb2", "large2"];
            kinds.map(|kind| format!("http://h{host}.test:{port}/{kind}"))
        })
        .collect();
    let extra = "max_depth = 0\n[fetch]\nworkers = 64\nmax_body = \"2MiB\"\n[frontier]\nmemory = \"8MiB\"\n\
                 [seen]\nbloom_memory = \"1MiB\"\nlru_entries = 1024\n[drum]\nmerge_memory = \"2MiB\"\nbuckets = 4\n";
    let crawled = Plan { names: names.address.to_string(), extra, ..Plan::of(&seeds) }.run();
    let told = crawled.ask(&["status"]);
    assert!(told.contains("memory ceiling"), "{told}");
    let status: serde_json::Value = serde_json::from_str(&crawled.ask(&["status", "--json"])).unwrap();
    let ceiling = status["memory_ceiling"]["bytes"].as_u64().unwrap();
    eprintln!("at most {} MiB of {} MiB", crawled.peak_bytes >> 20, ceiling >> 20);
    assert!(crawled.peak_bytes < ceiling, "{} of {ceiling} bytes", crawled.peak_bytes);
    assert!(crawled.ask(&["status", "--memory"]).contains("large bodies"), "the parts are told");
    // every seed has an outcome
    let ended = |seed: &&String| !crawled.lines(seed).is_empty() || crawled.skipped.contains(&format!("\"{seed}\""));
    assert_eq!(seeds.iter().filter(ended).count(), seeds.len());
}

/// The places of the lines for `url` in crawl.log.
fn places(crawled: &Crawled, url: &str) -> Vec<usize> {
    let of_url = |line: &str| line.split_whitespace().nth(3) == Some(url);
    crawled.crawl_log.lines().enumerate().filter(|(_, line)| of_url(line)).map(|(place, _)| place).collect()
}

#[test]
fn n11_a_page_that_always_breaks_off_is_tried_again_later_stored_once_and_holds_up_nobody() {
    const PAGES: usize = 30;
    let server = HttpServer::start("127.0.0.1", move |connection| {
        while let Some(head) = connection.request() {
            let links: String = (0..PAGES).map(|number| format!("<a href=/{number}>x</a>")).collect();
            let answer = match head.split(' ').nth(1).unwrap().trim_start_matches('/') {
                "robots.txt" => reply("", b""),
                "" => html(&format!("<a href=/short>x</a><a href=/twice>x</a><a href=/fails>x</a>{links}")),
                "short" => {
                    connection.send("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nhalf");
                    return;
                }
                "twice" => b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx".to_vec(),
                "fails" => b"HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\noops".to_vec(),
                path => html(path),
            };
            if !connection.send(answer) {
                return;
            }
        }
    });
    let crawled = crawl(&server, &[""], "", "[fetch]\nretries = 2\n");
    assert_eq!(crawled.code, Some(0));
    let good = (0..PAGES).map(|number| places(&crawled, &url(&server, &number.to_string())));
    let last = good.map(|places| places[0]).max().unwrap();
    for path in ["short", "fails"] {
        let attempts = places(&crawled, &url(&server, path));
        assert_eq!(attempts.len(), 3, "{path}\n{}", crawled.crawl_log);
        assert!(attempts[1] > last, "{path} is tried again behind the others\n{}", crawled.crawl_log);
    }
    let lines = crawled.lines(&url(&server, "short"));
    assert!(lines.iter().all(|line| line.contains("disconnectTrunc")), "{lines:?}");
    assert!(!lines[0].contains("notStored") && lines[1..].iter().all(|line| line.contains("notStored")), "{lines:?}");
    // what is not HTTP comes the same way again
    assert_eq!(places(&crawled, &url(&server, "twice")).len(), 1, "{}", crawled.crawl_log);
    crawled.expect(&url(&server, "twice"), "not%20HTTP");
    let list = crawled.ask(&["list", "--all"]);
    let versions = |path: &str| list.lines().filter(|line| line.contains(&url(&server, path))).count();
    assert_eq!(versions("short"), 1, "{list}");
    assert!(crawled.ask(&["get", &url(&server, "short")]).contains("half"));
}
