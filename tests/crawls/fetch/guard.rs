//! Servers, name servers and redirects that point into the crawler's own network: nothing is ever connected to there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crawler::fetch::FetchOptions;
use crawler::outcome::Failure;
use crawler::web::proxy::ProxyUrl;

use super::client::{Client, options, options_with, usual};
use super::crawl::Plan;
use super::http::{HttpServer, page};
use super::nameserver::{Message, NXDOMAIN, NameServer, found, start_of_authority};

/// A server that nobody may connect to, and how many did.
fn forbidden(at: &str) -> (HttpServer, Arc<AtomicUsize>) {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let server = HttpServer::start(at, move |connection| {
        counted.fetch_add(1, Ordering::SeqCst);
        while connection.request().is_some() && connection.send(page("content-type: text/html\r\n", "secret")) {}
    });
    (server, connections)
}

/// A server that answers each path as `answers` says.
fn web(answers: impl Fn(&str) -> String + Send + Sync + 'static) -> HttpServer {
    HttpServer::start("127.0.0.1", move |connection| {
        while let Some(head) = connection.request() {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            if !connection.send(answers(&path)) {
                return;
            }
        }
    })
}

fn html(body: &str) -> String {
    page("content-type: text/html\r\n", body)
}

fn moved(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

/// 127.0.1.1 as it may be written in a URL.
const NOTATIONS: [&str; 9] = [
    "127.0.1.1",
    "2130706689",
    "0x7f.0.1.1",
    "0177.0.1.1",
    "127.257",
    "127.0.1.1.",
    "[::ffff:127.0.1.1]",
    "[64:ff9b::7f00:101]",
    "[2002:7f00:101::]",
];

#[test]
fn s2_a_forbidden_address_is_refused_in_every_notation_of_a_url() {
    let (server, connections) = forbidden("127.0.1.1");
    let client = Client::start_allowing(options(), &["127.0.0.1"]);
    let others = ["0", "0.0.0.0", "[::]", "[::1]", "169.254.169.254", "[::ffff:169.254.169.254]", "[fe80::1]"];
    for host in NOTATIONS.iter().chain(&others) {
        let failed = client.get(&server.url(host), &[]).unwrap_err();
        assert_eq!(failed.failure, Failure::PrivateAddress, "{host}: {}", failed.detail);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
    // it is there for whom it is allowed to
    let client = Client::start_allowing(options(), &["127.0.1.1"]);
    assert_eq!(client.get(&server.url("127.257"), &[]).unwrap().body, b"secret");
}

#[test]
fn s4_a_redirect_of_a_page_to_a_forbidden_address_is_not_followed_and_told() {
    let (secret, connections) = forbidden("127.0.1.1");
    let port = secret.address.port();
    let targets: Vec<String> = NOTATIONS
        .iter()
        .chain(&["169.254.169.254", "inside.test", "metadata.test"])
        .map(|host| format!("http://{host}:{port}/x"))
        .collect();
    let listed = targets.clone();
    let server = web(move |path| match path.strip_prefix("/to/").map(|number| number.parse::<usize>().unwrap()) {
        // the last ones by way of another page
        Some(number) if number >= listed.len() => moved(&format!("/to/{}", number - listed.len())),
        Some(number) => moved(&listed[number]),
        None if path == "/" => {
            html(&(0..2 * listed.len()).map(|number| format!("<a href=/to/{number}>x</a>")).collect::<String>())
        }
        None => page("", ""),
    });
    let names = NameServer::start(|question| match question.name.as_str() {
        "inside.test" => found(question, 300, &["127.0.1.1"]),
        _ => found(question, 300, &["169.254.169.254"]),
    });
    let crawled = Plan { names: names.address.to_string(), ..Plan::of(&[server.url("127.0.0.1")]) }.run();
    assert_eq!(crawled.code, Some(0), "{}", crawled.crawl_log);
    for number in 0..NOTATIONS.len() + 1 {
        crawled.expect(&format!("{}to/{number}", server.url("127.0.0.1")), "redirectRefused");
    }
    for name in ["inside.test", "metadata.test"] {
        crawled.expect_skipped(&format!("http://{name}:{port}/x"), "private address");
    }
    assert!(!crawled.crawl_log.contains("/x ") && connections.load(Ordering::SeqCst) == 0, "{}", crawled.crawl_log);
}

#[test]
fn s5_links_frames_robots_sitemaps_and_their_hops_lead_to_no_forbidden_address() {
    let (secret, connections) = forbidden("127.0.1.1");
    let inside = |host: &str| format!("http://{host}:{}/x", secret.address.port());
    let (literal, named) = (inside("2130706689"), inside("inside.test"));
    let server = web(move |path| match path {
        "/robots.txt" => moved("/rules"),
        "/rules" => page(
            "content-type: text/plain\r\n",
            &format!("Sitemap: {literal}\nSitemap: {named}\nSitemap: /map.xml\nSitemap: /moved.xml\n"),
        ),
        "/map.xml" => page(
            "content-type: text/xml\r\n",
            &format!("<urlset><url><loc>{literal}</loc></url><url><loc>{named}</loc></url></urlset>"),
        ),
        "/moved.xml" => moved("/hop.xml"),
        "/hop.xml" => moved(&literal),
        "/" => html(&format!(
            "<a href='{literal}'></a><a href='{named}'></a><img src='{literal}'><iframe src='{named}'></iframe>\
             <meta http-equiv=refresh content='0; url={literal}'><link rel=canonical href='{literal}'>"
        )),
        _ => page("", ""),
    });
    let names = NameServer::start(|question| match question.name.as_str() {
        "inside.test" => found(question, 300, &["127.0.1.1"]),
        "h.test" => found(question, 300, &["127.0.0.1"]),
        _ => Message::to(question).code(NXDOMAIN).authority(start_of_authority("test", 60, 60)).reply(),
    });
    let crawled = Plan { names: names.address.to_string(), ..Plan::of(&[server.url("h.test")]) }.run();
    assert_eq!(crawled.code, Some(0), "{}", crawled.crawl_log);
    crawled.expect(&server.url("h.test"), " 200 ");
    crawled.expect_skipped(&inside("inside.test"), "private address");
    assert_eq!(connections.load(Ordering::SeqCst), 0, "{}", crawled.crawl_log);
    let status: serde_json::Value = serde_json::from_str(&crawled.ask(&["status", "--json"])).unwrap();
    assert!(status["statistics"]["dropped"]["PrivateAddress"].as_u64().unwrap() >= 2, "{status}");
}

#[test]
fn s6_a_redirect_to_another_scheme_is_refused_and_told() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    let targets = [
        format!("file://{}", secret.path().display()),
        "ftp://127.0.0.1/x".to_owned(),
        "data:text/html,x".to_owned(),
        "javascript:alert(1)".to_owned(),
        "gopher://127.0.0.1:70/x".to_owned(),
    ];
    let listed = targets.clone();
    let server = web(move |path| match path.strip_prefix("/to/") {
        Some(number) => moved(&listed[number.parse::<usize>().unwrap()]),
        None => page("", ""),
    });
    let seeds: Vec<String> =
        (0..targets.len()).map(|number| format!("{}to/{number}", server.url("127.0.0.1"))).collect();
    let crawled = Plan::of(&seeds).run();
    for seed in &seeds {
        crawled.expect(seed, "redirectRefused");
    }
    assert_eq!(crawled.crawl_log.lines().filter(|line| !line.contains("/robots.txt ")).count(), targets.len());
}

#[test]
fn s1_behind_a_proxy_every_name_and_literal_is_checked_before_the_proxy_hears_of_it() {
    let proxy = HttpServer::answering(page("", "by proxy"));
    let names = NameServer::start(|question| {
        found(question, 300, &[if question.name == "inside.test" { "10.0.0.1" } else { "127.0.0.5" }])
    });
    let usual = usual(|settings| settings.proxy = ProxyUrl::parse(&proxy.url("127.0.0.1")).unwrap());
    let proxied = FetchOptions { usual, ..options_with([names.address]) };
    let client = Client::start_allowing(proxied, &["127.0.0.5"]);
    let refused: [(&str, &[&str]); 6] = [
        ("http://inside.test/", &[]),
        ("http://known.test/", &["10.0.0.1", "192.168.0.1"]),
        ("http://10.0.0.1/", &[]),
        ("http://169.254.169.254/", &[]),
        ("http://2130706433/", &[]),
        ("http://[::ffff:10.0.0.1]/", &[]),
    ];
    for (url, addresses) in refused {
        let failed = client.get(url, addresses).unwrap_err();
        assert_eq!(failed.failure, Failure::PrivateAddress, "{url}: {}", failed.detail);
    }
    assert_eq!(proxy.requests(), []);
    for addresses in [&[][..], &["127.0.0.5"]] {
        let response = client.get("http://outside.test/", addresses).unwrap();
        assert_eq!((&*response.body, response.address), (&b"by proxy"[..], None), "an address of nobody is told");
    }
    let heads = proxy.requests();
    assert_eq!(heads.len(), 2);
    assert!(heads.iter().all(|(_, head)| head.starts_with("GET http://outside.test/ ")), "{heads:?}");
}

#[test]
fn s1_the_environment_names_no_proxy() {
    let (proxy, connections) = forbidden("127.0.0.1");
    let server = web(|_| html("direct"));
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let environment: Vec<(&str, String)> = names.iter().map(|&name| (name, proxy.url("127.0.0.1"))).collect();
    let seed = server.url("127.0.0.1");
    let crawled = Plan { environment: &environment, ..Plan::of(std::slice::from_ref(&seed)) }.run();
    crawled.expect(&seed, " 200 ");
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[test]
fn s21_no_cookie_password_or_referrer_goes_with_a_redirect_to_another_origin() {
    let setting = "set-cookie: id=1\r\nset-cookie: wide=2; domain=test; path=/\r\nset-cookie: all=3; domain=com\r\n";
    let second = HttpServer::answering(page(setting, "there"));
    let to = second.url("b.test");
    let first = HttpServer::answering(format!(
        "HTTP/1.1 302 Found\r\n{setting}www-authenticate: Basic realm=\"x\"\r\n\
         location: {to}\r\ncontent-length: 0\r\n\r\n"
    ));
    let names = NameServer::start(|question| found(question, 300, &["127.0.0.1"]));
    let seed = first.url("a.test");
    let crawled =
        Plan { names: names.address.to_string(), ..Plan::of(&[seed.replace("http://", "http://user:word@")]) }.run();
    crawled.expect(&to, " 200 ");
    for (_, head) in first.requests().iter().chain(&second.requests()) {
        let mut names: Vec<&str> = head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"], "{head}");
    }
    assert!(!crawled.crawl_log.contains("word"), "{}", crawled.crawl_log);
}
