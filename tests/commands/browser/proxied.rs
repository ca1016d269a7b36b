//! The archive in the place of the web, in a real browser: pages work unchanged after their servers are gone, and
//! nothing of them leaves.

use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use super::chromium::{self, Browser};
use crate::serve::Served;
use crate::serve::proxy::{Gone, gone};
use crate::serve::site::File;
use crate::site::PATIENCE;
use serde_json::json;

/// Time for which a browser may do what it does by itself before listeners are looked at.
const AFTERWARDS: Duration = Duration::from_secs(5);
/// A picture of one pixel.
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\x00\x00\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,\
    \x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";
const HTML: &str = "Content-Type: text/html\r\n";
const SCRIPT: &str = "Content-Type: text/javascript\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

/// A browser with the options that `crawler serve` prints.
fn browser(served: &Served) -> Option<Browser> {
    chromium::start_with(&[
        &format!("--proxy-server={}", served.proxy),
        "--proxy-bypass-list=<-loopback>",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        &format!("--ignore-certificate-errors-spki-list={}", served.pin),
    ])
}

fn files(port: u16) -> Vec<File> {
    let cdn = format!("https://cdn.example:{port}");
    let page = format!(
        "<!doctype html><title>Shop</title><link rel=stylesheet href={cdn}/s.css><body><img id=pic src=/p.gif>\
         <iframe id=outer src=/outer.html></iframe><script type=module src={cdn}/app.js crossorigin></script>"
    );
    let app = include_str!("proxied.js").replace("@CDN@", &cdn);
    let outer = format!("<p>outer<iframe id=inner src={cdn}/inner.html></iframe>");
    let inner = "<p>inner<script>setInterval(() => top.postMessage('inner', '*'), 100)</script>";
    let style = "Content-Type: text/css\r\n";
    vec![
        File::of("shop.example/", "Content-Type: text/html\r\nContent-Security-Policy: object-src 'none'\r\n", page),
        File::of("shop.example/p.gif", "Content-Type: image/gif\r\n", PIXEL),
        File::of("shop.example/outer.html", HTML, outer),
        File::of("shop.example/data.json", JSON, "{\"name\":\"own\"}"),
        File::of("shop.example/worker.js", SCRIPT, "importScripts('/part.js'); postMessage(part)"),
        File::of("shop.example/part.js", SCRIPT, "self.part = 'worker'"),
        File::of("shop.example/module.js", SCRIPT, "export const name = 'module'"),
        File::of("shop.example/next", HTML, "<p id=next>next"),
        File::of("cdn.example/s.css", style, "body { color: rgb(1, 2, 3) }"),
        File::of("cdn.example/app.js", SCRIPT, app),
        File::of("cdn.example/inner.html", HTML, inner),
        File::of("cdn.example/other.json", JSON, "{\"name\":\"other\"}"),
        File::of("cdn.example/api", JSON, "{\"name\":\"posted\"}"),
    ]
}

#[test]
fn a_page_over_https_works_unchanged_at_its_own_url_after_its_servers_are_gone() {
    let shop = ["/", "/data.json", "/worker.js", "/part.js", "/module.js", "/next"];
    let cdn = ["/other.json", "/inner.html"].map(|path| format!("https://cdn.example:PORT{path}"));
    let mut seeds: Vec<String> = shop.map(|path| format!("https://shop.example:PORT{path}")).into();
    seeds.extend(cdn);
    seeds.push("{\"url\":\"https://cdn.example:PORT/api\",\"method\":\"POST\",\"json\":{\"a\":1}}".to_owned());
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let Gone { crawl, port } = gone(&files, &seeds, "");
    let served = Served::with(&crawl, &["--proxy", "127.0.0.1:0"]);
    let Some(mut browser) = browser(&served) else { return };
    let origin = format!("https://shop.example:{port}");
    browser.open(&format!("{origin}/"));
    for (id, text) in [
        ("own", "own"),
        ("other", "other"),
        ("post", "posted"),
        ("module", "module"),
        ("worker", "worker"),
        ("inner", "inner"),
        ("cookie", "a=b"),
        ("socket", "closed"),
    ] {
        browser.until(&format!("document.getElementById('{id}').textContent === '{text}'"));
    }
    browser.until("document.getElementById('pic').naturalWidth === 1");
    browser.until("getComputedStyle(document.body).color === 'rgb(1, 2, 3)'");
    assert_eq!(browser.text("location.href"), format!("{origin}/"));
    browser.value("location.href = '/next'");
    browser.until("document.getElementById('next')");
    let problems = &browser.messages.problems;
    let is_expected = |problem: &String| problem.contains("WebSocket") || problem.contains("favicon.ico");
    assert!(problems.iter().all(is_expected), "{problems:#?}");
}

#[test]
fn nothing_of_a_page_leaves_by_way_of_the_proxy_or_around_it() {
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let there = tcp.local_addr().unwrap().port().to_string();
    let packets = udp.local_addr().unwrap().port().to_string();
    let page = include_str!("replay.html").replace("@TCP@", &there).replace("@UDP@", &packets);
    // it goes only when everything else was tried
    let at_once = r#"quietly(() => (window["top"].location = `${to}/toplocation`));"#;
    assert!(page.contains(at_once));
    let page = page.replace(at_once, "");
    let files = |_: u16| vec![File::of("shop.example/", HTML, page.clone())];
    let Gone { crawl, port } = gone(&files, &["https://shop.example:PORT/"], "requisites = \"scope\"");
    let served = Served::with(&crawl, &["--proxy", "127.0.0.1:0"]);
    let Some(mut browser) = browser(&served) else { return };
    let is_quiet = |tcp: &TcpListener, udp: &UdpSocket| tcp.accept().is_err() && udp.recv_from(&mut [0; 2048]).is_err();
    assert!(is_quiet(&tcp, &udp), "the crawl has connected");
    browser.open(&format!("https://shop.example:{port}/"));
    // at the end it goes away: the proxy answers for where it goes, too
    let start = Instant::now();
    let is_over = json!({ "expression": "location.protocol === 'http:'" });
    let session = browser.session().to_owned();
    while !browser.try_call("Runtime.evaluate", &is_over, &session).is_ok_and(|got| got["result"]["value"] == true) {
        assert!(start.elapsed() < PATIENCE, "the page is not over");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(AFTERWARDS);
    assert!(is_quiet(&tcp, &udp), "the browser or the proxy has connected");
}
