//! The servers are asked by real clients: reqwest, hickory-resolver, and a breadth-first crawler of a screenful.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};

use hickory_resolver::Resolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use reqwest::header;
use scraper::{Html, Selector};
use sha1::{Digest, Sha1};
use url::Url;

use super::*;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A client that knows the addresses of all hosts and follows nothing by itself.
fn client(web: &SimWeb) -> reqwest::Client {
    let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    for (name, address) in web.hosts() {
        builder = builder.resolve(name, SocketAddr::new(IpAddr::V4(address), 0));
    }
    builder.user_agent("tester/1.0").build().unwrap()
}

fn resolver(web: &SimWeb) -> Resolver<TokioRuntimeProvider> {
    let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
    for connection in &mut connections {
        connection.port = web.dns_address().port();
    }
    let server = NameServerConfig::new(web.dns_address().ip(), true, connections);
    let config = ResolverConfig::from_parts(None, vec![], vec![server]);
    Resolver::builder_with_config(config, TokioRuntimeProvider::default()).build().unwrap()
}

fn install_crypto() {
    // Fails when another test was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn sha1(body: &[u8]) -> [u8; 20] {
    Sha1::digest(body).into()
}

#[test]
fn the_name_server_knows_hosts_and_denies_others() {
    let web = SimWeb::start(SimOptions { hosts: 20, pages: 40, addresses: 3, ..Default::default() }).unwrap();
    block_on(async {
        let resolver = resolver(&web);
        for (name, address) in web.hosts() {
            let answer = resolver.lookup_ip(format!("{}.", name.to_uppercase())).await.unwrap();
            assert_eq!(answer.iter().collect::<Vec<_>>(), [IpAddr::V4(address)], "{name}");
        }
        for gone in &web.expected().unresolvable {
            let error = resolver.lookup_ip(format!("{gone}.")).await.unwrap_err();
            assert!(error.is_nx_domain(), "{gone}: {error:?}");
        }
        let error = resolver.ipv6_lookup("h0000.sim0.test.").await.unwrap_err();
        assert!(error.is_no_records_found() && !error.is_nx_domain(), "{error:?}");
    });
    assert!(web.dns_queries() >= 21);
    assert!(!web.expected().unresolvable.is_empty());
}

#[test]
fn every_answer_has_the_status_and_digest_that_are_expected() {
    install_crypto();
    let web = SimWeb::start(SimOptions { gzip_share: 0.5, chunked_share: 0.5, ..Default::default() }).unwrap();
    let mut seen = BTreeSet::new();
    block_on(async {
        let client = client(&web);
        for (url, expected) in &web.expected().pages {
            let mut answer = client.get(url).header(header::ACCEPT_ENCODING, "gzip").send().await.unwrap();
            while answer.status() == 503 {
                assert_eq!(answer.headers()[header::RETRY_AFTER], "1");
                answer = client.get(url).header(header::ACCEPT_ENCODING, "gzip").send().await.unwrap();
                seen.insert("flaky");
            }
            assert_eq!(answer.status(), expected.status, "{url}");
            assert_eq!(answer.headers().contains_key(header::LOCATION), answer.status().is_redirection());
            seen.insert(if answer.content_length().is_none() { "chunked" } else { "with length" });
            let body = identity(answer, &mut seen).await;
            assert_eq!(sha1(&body), expected.body_sha1, "{url}");
        }
    });
    let statuses: BTreeSet<u16> = web.expected().pages.values().map(|page| page.status).collect();
    assert_eq!(Vec::from_iter(statuses), [200, 301, 302, 307, 308, 404, 500]);
    assert_eq!(Vec::from_iter(seen), ["chunked", "flaky", "gzip", "with length"]);
}

#[test]
fn a_client_that_does_not_take_gzip_gets_none() {
    install_crypto();
    let web = SimWeb::start(SimOptions { gzip_share: 1.0, ..Default::default() }).unwrap();
    let url = &web.seeds()[0];
    block_on(async {
        let answer = client(&web).get(url).send().await.unwrap();
        assert!(!answer.headers().contains_key(header::CONTENT_ENCODING));
        let body = answer.bytes().await.unwrap();
        assert_eq!(sha1(&body), web.expected().pages[url].body_sha1);
    });
}

#[test]
fn unknown_paths_hosts_and_addresses_are_told_apart() {
    install_crypto();
    let web = SimWeb::start(SimOptions { hosts: 4, pages: 4, addresses: 2, ..Default::default() }).unwrap();
    let (name, _) = web.hosts().next().unwrap();
    let (port, name) = (web.http_port(), name.to_owned());
    block_on(async {
        let client = client(&web);
        let status = async |url: String, host: &str| {
            client.get(url).header(header::HOST, host).send().await.unwrap().status().as_u16()
        };
        assert_eq!(status(format!("http://127.0.0.1:{port}/"), &name).await, 200);
        assert_eq!(status(format!("http://127.0.0.1:{port}/nothing/7"), &name).await, 404);
        assert_eq!(status(format!("http://127.0.0.2:{port}/"), &name).await, 421);
        assert_eq!(status(format!("http://127.0.0.1:{port}/"), "elsewhere.test").await, 421);
        assert_eq!(client.post(format!("http://127.0.0.1:{port}/")).send().await.unwrap().status(), 405);
    });
    assert_eq!(web.log().len(), 5);
    web.clear_log();
    assert_eq!(web.log(), []);
}

#[test]
fn the_log_knows_connections_addresses_and_times() {
    install_crypto();
    let latency = std::time::Duration::from_millis(4);
    let web = SimWeb::start(SimOptions { hosts: 2, addresses: 2, pages: 2, latency, ..Default::default() }).unwrap();
    block_on(async {
        let client = client(&web);
        let names: Vec<String> = web.hosts().map(|(name, _)| name.to_owned()).collect();
        for name in [&names[0], &names[1], &names[0]] {
            let url = format!("http://{name}:{}/robots.txt", web.http_port());
            client.get(url).send().await.unwrap().bytes().await.unwrap();
        }
    });
    let log = web.log();
    assert_eq!(log.iter().map(|request| request.connection).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(log.iter().map(|request| request.address.octets()[3]).collect::<Vec<_>>(), [1, 2, 1]);
    for request in &log {
        assert_eq!((request.path.as_str(), request.method.as_str()), ("/robots.txt", "GET"));
        assert_eq!(request.user_agent, "tester/1.0");
        assert!(request.finished_us - request.started_us >= 2_000, "{request:?}");
    }
    assert_eq!(judge(&log, &Limits::default()), []);
}

#[test]
fn equal_seeds_give_equal_webs_and_others_do_not() {
    let paths = |seed| {
        let web = SimWeb::start(SimOptions { seed, hosts: 12, pages: 200, ..Default::default() }).unwrap();
        let port = format!(":{}", web.http_port());
        let without_port = |urls: BTreeSet<String>| urls.iter().map(|url| url.replace(&port, "")).collect::<Vec<_>>();
        let expected = web.expected().clone();
        let statuses: Vec<u16> = expected.pages.values().map(|page| page.status).collect();
        let urls = expected.pages.into_keys().collect();
        (without_port(urls), statuses, without_port(expected.disallowed), without_port(expected.never))
    };
    assert_eq!(paths(5), paths(5));
    assert_ne!(paths(5), paths(6));
}

#[test]
fn nearly_everything_is_reached() {
    let web = SimWeb::start(SimOptions { hosts: 1_000, pages: 20_000, ..Default::default() }).unwrap();
    let expected = web.expected();
    let ends = expected.pages.len() + expected.disallowed.len() + expected.never.len();
    assert!(expected.pages.len() > 17_000, "{}", expected.pages.len());
    assert!(ends > 18_500, "{ends}");
    assert!(!expected.robots_unreachable.is_empty() && expected.unresolvable.len() == 40);
    let known = |url: &&String| !expected.pages.contains_key(*url) && !expected.disallowed.contains(*url);
    assert!(expected.never.iter().all(|url| known(&url)));
}

#[test]
fn a_crawl_by_the_rules_ends_with_what_is_expected() {
    install_crypto();
    for seed in 1..5 {
        let options = SimOptions { seed, pages: 1_500, retry_after_s: 0, robots_share: 0.4, ..Default::default() };
        let web = SimWeb::start(options).unwrap();
        let expected = web.expected();
        let (stored, unresolved) = block_on(crawl(&web, expected));
        assert_eq!(stored, expected.pages, "seed {seed}");
        assert_eq!(unresolved, expected.unresolvable, "seed {seed}");
        let requested: BTreeSet<String> = web.log().iter().map(|request| request.url(web.http_port())).collect();
        assert!(requested.iter().all(|url| expected.may_request(url)), "seed {seed}");
        assert!(!expected.never.is_empty() && !expected.disallowed.is_empty(), "seed {seed}");
        assert!(expected.pages.len() > 1_000, "seed {seed}: {}", expected.pages.len());
    }
}

#[test]
fn a_crawl_of_a_web_with_walls_ends_with_what_is_expected_before_and_after_they_end() {
    install_crypto();
    // by the walk every moment is before the end, and by the clock of the servers none is
    for walls_end in [None, Some(Time::from_ms(1))] {
        let options = SimOptions { pages: 2_000, retry_after_s: 0, walls: 0.2, walls_end, ..Default::default() };
        let web = SimWeb::start(options).unwrap();
        let (before, after) = (web.expected(), web.expected_after_walls());
        let expected = if walls_end.is_some() { &after } else { before };
        let (stored, _) = block_on(crawl(&web, expected));
        assert_eq!(stored, expected.pages);
        let requested: BTreeSet<String> = web.log().iter().map(|request| request.url(web.http_port())).collect();
        assert!(requested.iter().all(|url| expected.may_request(url)));
        assert!(expected.never.iter().any(|url| url.contains("/sponsored/")));
        let refused = |expected: &Expected| expected.pages.values().filter(|page| page.is_refused()).count();
        assert!(refused(before) > 20);
        assert_eq!(refused(&after), if walls_end.is_some() { 0 } else { refused(before) });
        assert_eq!(after.pages.len() > before.pages.len(), walls_end.is_some());
        assert!(before.pages.keys().all(|url| after.pages.contains_key(url)));
        assert!(web.seeds().iter().all(|seed| before.pages[seed].kind.is_none()));
    }
}

/// Fetches breadth first and one by one what the seeds lead to, and leaves out what robots.txt excludes. It follows no
/// link of a parked page, and believes `expected` as to which those are.
async fn crawl(web: &SimWeb, expected: &Expected) -> (BTreeMap<String, ExpectedPage>, BTreeSet<String>) {
    let client = client(web);
    let known: HashSet<&str> = web.hosts().map(|(name, _)| name).collect();
    let mut queue: VecDeque<Url> = web.seeds().iter().map(|seed| Url::parse(seed).unwrap()).collect();
    let mut seen: HashSet<Url> = queue.iter().cloned().collect();
    let (mut stored, mut unresolved) = (BTreeMap::new(), BTreeSet::new());
    while let Some(url) = queue.pop_front() {
        let host = url.host_str().unwrap();
        if !known.contains(host) {
            unresolved.insert(host.to_owned());
            continue;
        }
        if expected.robots_unreachable.contains(host) || expected.disallowed.contains(url.as_str()) {
            continue;
        }
        let (status, links, body) = fetch(&client, &url).await;
        let kind = expected.pages.get(url.as_str()).and_then(|page| page.kind);
        stored.insert(url.to_string(), ExpectedPage { status, body_sha1: sha1(&body), kind });
        let links = links.into_iter().filter(|_| kind != Some("parked"));
        queue.extend(links.filter(|link| seen.insert(link.clone())));
    }
    (stored, unresolved)
}

async fn fetch(client: &reqwest::Client, url: &Url) -> (u16, Vec<Url>, Vec<u8>) {
    let mut answer = client.get(url.clone()).send().await.unwrap();
    while answer.status() == 503 {
        answer = client.get(url.clone()).send().await.unwrap();
    }
    let status = answer.status().as_u16();
    let location = answer.headers().get(header::LOCATION).map(|value| value.to_str().unwrap().to_owned());
    let nofollow = answer.headers().get("x-robots-tag").is_some_and(|value| value == "nofollow");
    let body = answer.bytes().await.unwrap().to_vec();
    let mut links = links_of(std::str::from_utf8(&body).unwrap(), url);
    if nofollow || location.is_some() {
        links.clear();
    }
    links.extend(location.map(|location| without_fragment(url.join(&location).unwrap())));
    (status, links, body)
}

/// The links of a page that may be followed, found in its tree.
fn links_of(html: &str, url: &Url) -> Vec<Url> {
    let document = Html::parse_document(html);
    let select = |css: &str, attribute: &str| -> Vec<String> {
        let elements = Selector::parse(css).unwrap();
        document.select(&elements).filter_map(|element| element.attr(attribute).map(str::to_owned)).collect()
    };
    if select("meta[name=robots]", "content").iter().any(|content| content == "nofollow") {
        return Vec::new();
    }
    let base = select("base", "href").first().map_or(url.clone(), |base| url.join(base).unwrap());
    let mut found = select("a:not([rel~=nofollow]), area", "href");
    found.extend(select("iframe, img", "src"));
    found.extend(select("img", "srcset").iter().map(|set| set.split(' ').next().unwrap().to_owned()));
    found.extend(select("meta[http-equiv=refresh]", "content").iter().map(|text| text.replace("900; url=", "")));
    found.iter().map(|link| without_fragment(base.join(link).unwrap())).collect()
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

async fn identity(answer: reqwest::Response, seen: &mut BTreeSet<&'static str>) -> Vec<u8> {
    let zipped = answer.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding == "gzip");
    let body = answer.bytes().await.unwrap();
    if !zipped {
        return body.to_vec();
    }
    seen.insert("gzip");
    let mut identity = Vec::new();
    flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut identity).unwrap();
    identity
}
