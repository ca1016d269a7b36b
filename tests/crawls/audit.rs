//! `crawler audit` on a site made for it, with thirty faults of each kind: all are found, and none is invented.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use crawler::simweb::{SimOptions, SimWeb};
use serde_json::Value;

use crate::hosts::{Answer, Asked, Hosts};
use crate::site::{Crawl, PATIENCE, RUSH, interrupt, kill};

/// Faults of each kind.
const FAULTS: usize = 30;

/// A page that has what it should have, and more in its head and body.
fn page(name: &str, head: &str, body: &str) -> Answer {
    Answer::page(format!(
        "<!doctype html><html lang=en><head><title>Title of {name}</title><meta name=description content='About \
         {name}'>{head}</head><body><h1>Heading of {name}</h1><p>Text of {name}</p>{body}</body></html>"
    ))
}

/// The kinds of pages that are planted, by the first part of their path; each has `FAULTS` of them, by number.
const PLANTED: [&str; 27] = [
    "broken",
    "chain",
    "loop",
    "notitle",
    "sametitle",
    "nodesc",
    "samedesc",
    "noh1",
    "sameh1",
    "canbroken",
    "canredirect",
    "cannoindex",
    "canchain",
    "canseveral",
    "body",
    "noindex",
    "nofollowpage",
    "nofollow",
    "robots",
    "hrefreturn",
    "hrefcode",
    "alt",
    "fine",
    "mapbroken",
    "hreffine",
    "canbody",
    "hrefdefault",
];

fn answer(asked: &Asked) -> Answer {
    let path = asked.path.as_str();
    let own =
        |path: &str| format!("http://127.0.0.1:{}{path}", asked.field("host").unwrap().split_once(':').unwrap().1);
    match path {
        "/robots.txt" => {
            let map = own("/sitemap.xml");
            return Answer::text(format!("User-agent: *\nDisallow: /forbidden/\nSitemap: {map}\n"));
        }
        "/sitemap.xml" => {
            let mut urls = String::new();
            for n in 0..FAULTS {
                for kind in ["orphan", "mapgone", "fine"] {
                    let _ = write!(urls, "<url><loc>{}</loc></url>", own(&format!("/{kind}/{n}")));
                }
            }
            let urlset = format!("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>");
            return Answer::text(urlset).with("x-y", "z");
        }
        "/" => {
            let mut links = String::new();
            for n in 0..FAULTS {
                for kind in PLANTED {
                    let _ = write!(links, "<a href='/{kind}/{n}'>{kind} {n}</a> ");
                }
            }
            return page("home", "<link rel=alternate type=application/rss+xml href=/feed.xml>", &links);
        }
        "/feed.xml" => {
            let items: String = (0..FAULTS)
                .map(|n| format!("<item><title>{n}</title><guid>{}</guid></item>", own(&format!("/feedgone/{n}"))))
                .collect();
            let body = format!("<rss version='2.0'><channel><title>f</title>{items}</channel></rss>");
            let fields = vec![("content-type".into(), "application/rss+xml".into())];
            return Answer { status: 200, fields, body };
        }
        _ => {}
    }
    let mut parts = path.trim_start_matches('/').split('/');
    let (kind, n) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let name = format!("{kind} {n}");
    let plain = |head: &str, body: &str| page(&name, head, body);
    match kind {
        "broken" => plain("", &format!("<a href='/gone/{n}'>gone {n}</a>")),
        "gone" | "mapgone" | "cangone" | "feedgone" => Answer::status(404),
        "chain" => Answer::redirect(format!("/chain2/{n}")),
        "chain2" => Answer::redirect(format!("/chain3/{n}")),
        "loop" => Answer::redirect(format!("/loop2/{n}")),
        "loop2" => Answer::redirect(format!("/loop/{n}")),
        "notitle" => Answer::page(format!("<meta name=description content='d {n}'><h1>{name}</h1>")),
        "sametitle" => Answer::page(format!(
            "<title>Same {}</title><meta name=description content='{name}'><h1>{name}</h1>",
            n.parse::<usize>().unwrap() / 2
        )),
        "nodesc" => Answer::page(format!("<title>{name}</title><h1>{name}</h1>")),
        "samedesc" => Answer::page(format!(
            "<title>{name}</title><meta name=description content='Same {}'><h1>{name}</h1>",
            n.parse::<usize>().unwrap() / 2
        )),
        "noh1" => Answer::page(format!("<title>{name}</title><meta name=description content='{name}'>")),
        "sameh1" => Answer::page(format!(
            "<title>{name}</title><meta name=description content='{name}'><h1>Same {}</h1>",
            n.parse::<usize>().unwrap() / 2
        )),
        "canbroken" => plain(&format!("<link rel=canonical href='/cangone/{n}'>"), ""),
        "canredirect" => plain(&format!("<link rel=canonical href='/moved/{n}'>"), ""),
        "moved" => Answer::redirect(format!("/fine/{n}")),
        "cannoindex" => plain(&format!("<link rel=canonical href='/hidden/{n}'>"), ""),
        "canchain" => plain(&format!("<link rel=canonical href='/canother/{n}'>"), ""),
        "canother" => plain(&format!("<link rel=canonical href='/fine/{n}'>"), ""),
        "canseveral" => {
            plain(&format!("<link rel=canonical href='/fine/{n}'><link rel=canonical href='/canseveral/{n}'>"), "")
        }
        "canbody" => plain("", &format!("<link rel=canonical href='/cangone/{n}'>")),
        "hrefdefault" => plain(&format!("<link rel=alternate hreflang=x-default href='/fine/{n}'>"), ""),
        "body" => page(&format!("twin {}", n.parse::<usize>().unwrap() / 2), "", ""),
        "noindex" | "hidden" => plain("<meta name=robots content=noindex>", ""),
        "nofollowpage" => plain("<meta name=robots content=nofollow>", "<a href='/unseen'>unseen</a>"),
        "nofollow" => plain("", &format!("<a rel=nofollow href='/fine/{n}?unfollowed'>not to be followed</a>")),
        "robots" => plain("", &format!("<a href='/forbidden/{n}'>forbidden</a>")),
        "hrefreturn" => plain(&format!("<link rel=alternate hreflang=de href='/fine/{n}'>"), ""),
        "hrefcode" => plain(&format!("<link rel=alternate hreflang=en-UK href='/hrefcode/{n}'>"), ""),
        "hreffine" => {
            let both = format!(
                "<link rel=alternate hreflang=en href='/hreffine/{n}'>\
                 <link rel=alternate hreflang=de href='/hrefother/{n}'>"
            );
            plain(&both, &format!("<a href='/hrefother/{n}'>de</a>"))
        }
        "hrefother" => plain(&format!("<link rel=alternate hreflang=en href='/hreffine/{n}'>"), ""),
        "alt" => {
            let button = format!("<form><input type=image src='/i/{n}-button.png'></form>");
            let map = format!("<map name=m><area href='/fine/{n}'></map><template><img src='/i/t.png'></template>");
            plain("", &format!("<img src='/i/{n}.png'><img src='/i/d.png' alt=''>{button}{map}"))
        }
        "i" => Answer { status: 200, fields: vec![("content-type".into(), "image/png".into())], body: "x".into() },
        _ => plain("", ""),
    }
}

/// Subjects of findings, and places where that has to be, by kind.
fn found(json: &Value) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let mut found: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for finding in json["findings"].as_array().unwrap() {
        let word = |value: &Value| {
            let text = value.as_str().unwrap();
            text.split_once("//").and_then(|(_, rest)| rest.split_once('/')).map_or(text, |(_, path)| path).to_owned()
        };
        for place in finding["places"].as_array().unwrap() {
            let of_kind = found.entry(word(&finding["kind"])).or_default();
            of_kind.insert((word(&finding["subject"]), word(&place["url"])));
        }
    }
    found
}

fn audit(crawl: &Crawl, options: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    let output = command.arg("audit").args(options).current_dir(crawl.dir.path()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn all_planted_faults_are_found_and_none_is_invented() {
    let host = Hosts::start(1, answer);
    let config = format!("[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{RUSH}");
    let crawl = Crawl::new(&format!("{}\n", host.url(1, "/")), &config);
    crawl.run(&[]).expect(0, &["complete"]);
    let (code, said) = audit(&crawl, &["crawl", "--fail-on", "mixed-content"]);
    assert_eq!(code, Some(0), "{said}");
    let read = |name: &str| fs::read_to_string(crawl.path("audit").join(name)).unwrap();
    let found = found(&serde_json::from_str(&read("audit.json")).unwrap());

    let mut expected: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    let mut plant = |kind: &str, subject: String, url: String| {
        expected.entry(kind.to_owned()).or_default().insert((subject, url));
    };
    let twin = |n: usize| n / 2;
    for n in 0..FAULTS {
        let none = String::new;
        plant("broken", format!("gone/{n}"), format!("broken/{n}"));
        plant("redirect-chain", format!("chain/{n}"), none());
        plant("redirect-loop", format!("loop/{n}"), none());
        plant("title-missing", format!("notitle/{n}"), none());
        plant("title-duplicate", format!("Same {}", twin(n)), format!("sametitle/{n}"));
        plant("description-missing", format!("nodesc/{n}"), none());
        plant("description-duplicate", format!("Same {}", twin(n)), format!("samedesc/{n}"));
        plant("h1-missing", format!("noh1/{n}"), none());
        plant("h1-duplicate", format!("Same {}", twin(n)), format!("sameh1/{n}"));
        plant("canonical-broken", format!("canbroken/{n}"), format!("cangone/{n}"));
        plant("canonical-redirect", format!("canredirect/{n}"), format!("moved/{n}"));
        plant("canonical-noindex", format!("cannoindex/{n}"), format!("hidden/{n}"));
        plant("canonical-chain", format!("canchain/{n}"), format!("canother/{n}"));
        plant("canonical-several", format!("canseveral/{n}"), format!("fine/{n}"));
        plant("canonical-several", format!("canseveral/{n}"), format!("canseveral/{n}"));
        plant("noindex", format!("noindex/{n}"), none());
        plant("nofollow-page", format!("nofollowpage/{n}"), none());
        plant("nofollow", format!("fine/{n}?unfollowed"), format!("nofollow/{n}"));
        plant("robots", format!("forbidden/{n}"), format!("robots/{n}"));
        plant("orphan", format!("orphan/{n}"), "sitemap.xml".to_owned());
        plant("sitemap", format!("mapgone/{n}"), "sitemap.xml".to_owned());
        plant("hreflang-return", format!("hrefreturn/{n}"), format!("fine/{n}"));
        plant("hreflang-code", format!("hrefcode/{n}"), format!("hrefcode/{n}"));
        plant("image-alt", format!("alt/{n}"), format!("i/{n}.png"));
        plant("image-alt", format!("alt/{n}"), format!("i/{n}-button.png"));
        plant("image-alt", format!("alt/{n}"), format!("fine/{n}"));
        plant("broken", format!("feedgone/{n}"), "feed.xml".to_owned());
        // pages with the same content have the same title, description and heading as well
        plant("title-duplicate", format!("Title of twin {}", twin(n)), format!("body/{n}"));
        plant("description-duplicate", format!("About twin {}", twin(n)), format!("body/{n}"));
        plant("h1-duplicate", format!("Heading of twin {}", twin(n)), format!("body/{n}"));
    }
    let bodies: BTreeSet<String> = found["duplicate-content"].iter().map(|(_, url)| url.clone()).collect();
    assert_eq!(bodies, (0..FAULTS).map(|n| format!("body/{n}")).collect());
    for (kind, planted) in &expected {
        let missing: Vec<_> = planted.difference(&found[kind]).take(3).collect();
        let invented: Vec<_> = found[kind].difference(planted).take(3).collect();
        assert!(missing.is_empty() && invented.is_empty(), "{kind}: missing {missing:?}, invented {invented:?}");
    }
    let other: Vec<_> =
        found.keys().filter(|kind| !expected.contains_key(*kind) && *kind != "duplicate-content").collect();
    assert!(other.is_empty(), "invented {other:?}");

    let html = read("report.html");
    assert!(html.contains("<svg class='graph'") && html.contains("Site tree") && !html.contains("<script"));
    let csv = read("findings.csv");
    assert!(csv.starts_with("kind,subject,url,how,text,detail,state\r\nbroken,http://127.0.0.1:"), "{}", &csv[..200]);
    assert!(csv.contains(",anchor,gone 7,404 Not Found,\r\n"));

    let (code, said) = audit(
        &crawl,
        &["--compare", "audit/audit.json", "--fail-on", "new", "--output", "second", "--memory", "64MiB"],
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("0 new, 0 fixed") && !said.contains("1 new"), "{said}");
    assert!(said.contains("has fetched nothing since"), "{said}");
    crawl.run(&["--force"]).expect(0, &["complete"]);
    let (_, said) = audit(&crawl, &["--compare", "audit/audit.json", "--output", "third"]);
    assert!(said.contains("0 new, 0 fixed") && !said.contains("has fetched nothing"), "{said}");
    let (code, said) =
        audit(&crawl, &["--fail-on", "broken,orphan,robots", "--dir", "crawl", "--title", "Ours & theirs"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&format!("--fail-on orphan: {FAULTS} found")), "{said}");
    let html = read("report.html");
    assert!(html.contains("<h1>Audit of Ours &amp; theirs</h1>"), "{}", &html[..3_000]);
    let none = "Nothing found of: Mixed content, Linked URLs that were not shown to the crawler.";
    assert!(html.contains(none) && html.contains("Not checked: Broken external links"));
}

/// Links of each kind that the site makes to other hosts.
const EXTERNAL: usize = 30;
/// The first of as many hosts that answer with errors: one alone would be left in peace for ever longer.
const OVERLOADED: u8 = 100;

/// The home page links to one page for each number, and that page to other hosts.
fn linking(asked: &Asked, names: &str, dead: u16) -> Answer {
    let port = asked.field("host").unwrap().split_once(':').unwrap().1;
    let at = |host: u8, path: &str| format!("http://127.0.0.{host}:{port}{path}");
    let mut parts = asked.path.trim_start_matches('/').split('/');
    let (kind, n) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match (asked.host, kind) {
        (1, "") => {
            let links = (0..EXTERNAL).map(|n| format!("<a href='/page/{n}'>{n}</a> ")).collect::<String>();
            page("home", "", &links)
        }
        (1, "page") => {
            let mut links = format!("<a href='http://gone{n}.{names}/'>no name {n}</a>");
            let failing = at(OVERLOADED + n.parse::<u8>().unwrap(), "/");
            let _ = write!(links, "<a href='{failing}'>failing {n}</a>");
            for kind in ["missing", "gone", "sound", "secret", "login", "moved", "lost"] {
                let _ = write!(links, "<a rel=nofollow href='{}'>{kind} {n}</a>", at(2, &format!("/{kind}/{n}")));
            }
            let _ = write!(links, "<a href='http://127.0.0.3:{dead}/{n}'>refused {n}</a>");
            let _ = write!(links, "<img src='{}'>", at(2, &format!("/picture/{n}")));
            let _ = write!(links, "<a href='{}'>sound again</a>", at(2, "/sound/0?utm_source=site"));
            page(&format!("page {n}"), "", &links)
        }
        (_, "robots.txt") => {
            // what counts stands beyond the few bytes that are read of a page
            Answer::text(format!("User-agent: *\n{}Disallow: /secret/\n", "# nothing\n".repeat(2_000)))
        }
        (2, "missing") => Answer::status(404),
        (2, "gone") => Answer::status(410),
        (OVERLOADED.., _) => Answer::status(500),
        (2, "login") => Answer::status(403),
        (2, "moved") => Answer::redirect(at(2, &format!("/arrived/{n}"))),
        (2, "lost") => Answer::redirect(at(2, &format!("/missing/{n}"))),
        (2, "picture") => {
            Answer { status: 200, fields: vec![("content-type".into(), "image/png".into())], body: "x".repeat(100_000) }
        }
        (2, _) => page("another site", "", "<a href='/followed'>followed</a><img src='/embedded.png'>"),
        _ => Answer::status(404),
    }
}

#[test]
fn broken_external_links_are_found_and_nothing_is_asked_twice_or_followed() {
    // no server is there
    let dead = std::net::TcpListener::bind("127.0.0.3:0").unwrap().local_addr().unwrap().port();
    let names = SimWeb::start(SimOptions { hosts: 1, pages: 1, ..SimOptions::default() }).unwrap();
    let host = Hosts::start(OVERLOADED + EXTERNAL as u8, move |asked| linking(asked, "nowhere.test", dead));
    let config = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[dns]\nnameservers = [\"{}\"]\n[fetch]\nretries = 0\n[scope]\n\
         requisites = \"scope\"\n[politeness]\n{RUSH}give_up = \"1s\"\n[[site]]\nhost = \"127.0.0.2\"\n\
         headers = {{ X-Own = \"told\" }}\n",
        names.dns_address()
    );
    let crawl = Crawl::new(&format!("{}\n", host.url(1, "/")), &config);
    crawl.run(&[]).expect(0, &["complete"]);
    assert_eq!(host.asked_of(2).len(), 0, "they are out of scope");
    let (code, said) = audit(&crawl, &["--check-external", "--fail-on", "external-broken"]);
    assert_eq!(code, Some(1), "{said}");
    let json: Value = serde_json::from_str(&fs::read_to_string(crawl.path("audit/audit.json")).unwrap()).unwrap();
    let mut broken: BTreeMap<String, String> = BTreeMap::new();
    for finding in json["findings"].as_array().unwrap() {
        if finding["kind"] != "external-broken" {
            continue;
        }
        let [subject, detail] = ["subject", "detail"].map(|name| finding[name].as_str().unwrap());
        let places = finding["places"].as_array().unwrap();
        assert_eq!(places.len(), 1, "{finding}");
        let number: String = places[0]["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let text = places[0]["text"].as_str().unwrap();
        assert!(text.ends_with(&format!(" {number}")), "{finding}");
        broken.insert(format!("{text}: {subject}"), detail.to_owned());
    }
    let mut planted = BTreeMap::new();
    for n in 0..EXTERNAL {
        let mut plant = |text: &str, url: String, why: String| planted.insert(format!("{text} {n}: {url}"), why);
        let at = |path: &str| host.url(2, &format!("/{path}/{n}"));
        plant("missing", at("missing"), "404 Not Found".to_owned());
        plant("gone", at("gone"), "410 Gone".to_owned());
        plant("failing", host.url(OVERLOADED + n as u8, "/"), "500 Internal Server Error".to_owned());
        plant("lost", at("lost"), format!("redirects to {}: 404 Not Found", at("missing")));
        plant("refused", format!("http://127.0.0.3:{dead}/{n}"), "connection refused".to_owned());
        plant("no name", format!("http://gone{n}.nowhere.test/"), "no such host".to_owned());
    }
    assert_eq!(broken, planted, "{said}");
    let counts = &json["external"];
    let of = |name: &str| counts[name].as_u64().unwrap() as usize;
    let found = ["urls", "sound", "broken", "refused", "forbidden", "timed_out", "unchecked"].map(of);
    assert_eq!(found, [11 * EXTERNAL, 3 * EXTERNAL, 6 * EXTERNAL, EXTERNAL, EXTERNAL, 0, 0]);
    assert!(said.contains("external links: 300 of 330 URLs checked (90 sound, 180 broken, 30 refused"), "{said}");
    assert!(fs::read_to_string(crawl.path("audit/report.html")).unwrap().contains("30 excluded by robots.txt"));

    for failing in 0..EXTERNAL {
        assert_eq!(host.paths_of(OVERLOADED + failing as u8), ["/robots.txt", "/"]);
    }
    let asked = host.paths_of(2);
    let once: BTreeSet<&String> = asked.iter().collect();
    assert_eq!(asked.len(), once.len(), "nothing is asked for twice");
    assert!(
        !asked.iter().any(|path| path.contains("secret") || path.contains("followed") || path.contains("embedded"))
    );
    assert_eq!(asked.len(), 1 + 8 * EXTERNAL, "robots.txt, and each link that it does not forbid, and where they lead");
    assert!(host.asked_of(2).iter().all(|asked| asked.field("x-own").is_none()), "what is said of a site of one's own");

    // it is checked again, from the start
    let (code, said) = audit(&crawl, &["--check-external", "--config", "crawler.toml"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("300 of 330"), "{said}");
    assert_eq!(host.paths_of(2).len(), 2 * asked.len());
    assert!(!crawl.path("audit/external-seeds.txt").exists());
}

#[test]
fn a_check_that_is_stopped_or_killed_goes_on_and_the_report_says_what_was_not_checked() {
    let host = Hosts::start(2, |asked| match (asked.host, asked.path.as_str()) {
        (1, "/") => {
            let port = asked.field("host").unwrap().split_once(':').unwrap().1;
            let link = |n: usize| format!("<a href='http://127.0.0.2:{port}/{n}'>{n}</a>");
            page("home", "", &(0..EXTERNAL).map(link).collect::<String>())
        }
        (2, "/29") | (_, "/robots.txt") => Answer::status(404),
        _ => page("another site", "", ""),
    });
    let politeness = "delay_factor = 0.0\ndelay_min = \"100ms\"\ndelay_per_ip = \"0s\"\n";
    let config = format!("[network]\nallow = [\"127.0.0.0/8\"]\n[politeness]\n{politeness}");
    let crawl = Crawl::new(&format!("{}\n", host.url(1, "/")), &config);
    crawl.run(&[]).expect(0, &["complete"]);
    let start_until = |asked: usize| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(["audit", "--check-external"]).current_dir(crawl.dir.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        while host.asked_of(2).len() < asked && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "{:?}", host.paths_of(2));
            std::thread::yield_now();
        }
        child
    };
    let external = || {
        let json: Value = serde_json::from_str(&fs::read_to_string(crawl.path("audit/audit.json")).unwrap()).unwrap();
        json["external"].clone()
    };
    interrupt(start_until(5)).expect(11, &["resume with", "--config ./audit/external.toml"]);
    let counts = external();
    let [urls, sound, unchecked] = ["urls", "sound", "unchecked"].map(|name| counts[name].as_u64().unwrap());
    assert_eq!((urls, sound + unchecked), (EXTERNAL as u64, EXTERNAL as u64));
    assert!(sound >= 3 && unchecked > 0 && counts["stopped"] == "stopped by a signal", "{counts}");

    let stopped_at = host.asked_of(2).len();
    kill(start_until(stopped_at + 5));
    let (code, said) = audit(&crawl, &["--check-external"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the check that was stopped goes on"), "{said}");
    assert!(said.contains("30 of 30 URLs checked (29 sound, 1 broken)"), "{said}");
    assert_eq!((external()["unchecked"].as_u64(), external().get("stopped")), (Some(0), None));
    let paths = host.paths_of(2);
    let once: BTreeSet<&String> = paths.iter().filter(|path| *path != "/robots.txt").collect();
    // what was on its way when it was killed is not known
    assert!(once.len() == EXTERNAL && paths.len() <= EXTERNAL + 4, "{paths:?}");
}

/// Ways to embed something, each with the URL in the place of `URL`.
const EMBEDS: [&str; 6] = [
    "<img src='URL' alt=''>",
    "<script src='URL'></script>",
    "<link rel=stylesheet href='URL'>",
    "<iframe src='URL'></iframe>",
    "<img srcset='URL 2x' alt=''>",
    "<style>p{background:url(URL)}</style>",
];

#[test]
fn what_a_secure_page_embeds_by_http_is_found_and_nothing_else() {
    let plain = Hosts::start(1, |_| Answer::text("x"));
    let insecure = plain.url(1, "");
    let (host, certificate) = Hosts::start_secure(move |asked| {
        let mut parts = asked.path.trim_start_matches('/').split('/');
        let (kind, n) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let embed = |start: &str| {
            let element = EMBEDS[n.parse::<usize>().unwrap() % EMBEDS.len()];
            element.replace("URL", &format!("{start}/{kind}-file/{n}"))
        };
        match kind {
            "" => {
                let kinds = ["mixed", "safe", "link", "header", "meta", "sheet"];
                let links = (0..FAULTS).flat_map(|n| kinds.map(|kind| format!("<a href='/{kind}/{n}'>{n}</a>")));
                page("home", "", &links.collect::<String>())
            }
            "mixed" => page(&format!("mixed {n}"), "", &embed(&insecure)),
            "sheet" => page(&format!("sheet {n}"), &format!("<link rel=stylesheet href='/css/{n}'>"), ""),
            "css" => {
                let fields = vec![("content-type".into(), "text/css".into())];
                let body = format!("p{{background:url({insecure}/css-file/{n})}}");
                Answer { status: 200, fields, body }
            }
            "safe" => page(&format!("safe {n}"), "", &embed("")),
            "link" => page(&format!("link {n}"), "", &format!("<a href='{insecure}/link/{n}'>by http</a>")),
            "header" => page(&format!("header {n}"), "", &embed(&insecure))
                .with("content-security-policy", "default-src *; upgrade-insecure-requests"),
            "meta" => {
                let policy = "<meta http-equiv=content-security-policy content='upgrade-insecure-requests'>";
                page(&format!("meta {n}"), policy, &embed(&insecure))
            }
            _ => Answer::text("x"),
        }
    });
    let config = format!("[network]\nallow = [\"127.0.0.0/8\"]\n[fetch]\nca_file = \"ca.pem\"\n[politeness]\n{RUSH}");
    let crawl = Crawl::new(&format!("{}\n", host.url(1, "/")), &config);
    fs::write(crawl.path("ca.pem"), certificate).unwrap();
    crawl.run(&[]).expect(0, &["complete"]);
    let (code, said) = audit(&crawl, &["--fail-on", "mixed-content"]);
    assert_eq!(code, Some(1), "{said}");
    let found = found(&serde_json::from_str(&fs::read_to_string(crawl.path("audit/audit.json")).unwrap()).unwrap());
    let of_number = |n: usize| ["mixed", "css"].map(|kind| (format!("{kind}/{n}"), format!("{kind}-file/{n}")));
    let planted = (0..FAULTS).flat_map(of_number).collect();
    assert_eq!(found["mixed-content"], planted);
}
