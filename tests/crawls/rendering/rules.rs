//! Rules of origins that rendered pages and logins ask for: one request for robots.txt per origin, whoever needs it.

use super::{output, run, versions};
use crate::hosts::{Answer, Hosts};
use crate::site::{Crawl, RUSH};
use crate::tools::{Tool, has};

/// A crawl from `seed` without delays that goes wherever links lead, with `more` in its configuration.
fn anywhere(seed: &str, more: &str) -> Crawl {
    let config = format!(
        "[network]\nallow = [\"127.0.0.0/8\"]\n[scope]\nmode = \"any\"\nfavicon = false\n[politeness]\n{RUSH}{more}"
    );
    Crawl::new(seed, &config)
}

fn robots_of(hosts: &Hosts, host: u8) -> usize {
    hosts.paths_of(host).iter().filter(|path| *path == "/robots.txt").count()
}

/// Answers for `there`, a host of which others need something: its rules, and a page that only its sitemap names.
fn with_map(path: &str, there: &str) -> Option<Answer> {
    match path {
        "/robots.txt" => Some(Answer::text(format!("User-agent: *\nDisallow: /hidden\nSitemap: {there}map.txt\n"))),
        "/map.txt" => Some(Answer::text(format!("{there}mapped\n"))),
        "/mapped" | "/linked" => Some(Answer::page(format!("<title>{path}</title>"))),
        _ => None,
    }
}

#[test]
fn a_rendered_page_asks_for_the_rules_of_each_origin_once_and_the_crawl_does_not_ask_again() {
    if !has(Tool::Chromium) {
        return;
    }
    let hosts = Hosts::start(3, |asked| {
        let at =
            |host: u8| format!("http://127.0.0.{host}:{}/", asked.field("host").unwrap().split_once(':').unwrap().1);
        let images = |host: u8, count: usize| -> String {
            (0..count).map(|image| format!("<img src=\"{}{image}.svg\">", at(host))).collect()
        };
        match (asked.host, asked.path.as_str()) {
            (1, "/") => Answer::page(format!(
                "<script></script>{}{}<img src=\"{}hidden.svg\"><a href=\"{}linked\">on</a>",
                images(2, 20),
                images(3, 5),
                at(2),
                at(2)
            )),
            // the rules of the third are somewhere else
            (3, "/robots.txt") => Answer::redirect("/moved.txt"),
            (3, "/moved.txt") => Answer::text("User-agent: *\nDisallow: /4\n"),
            (2, path) if let Some(answer) = with_map(path, &at(2)) => answer,
            (_, path) if path.ends_with(".svg") => {
                let body = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_owned();
                Answer { body, ..Answer::status(200).with("content-type", "image/svg+xml") }
            }
            _ => Answer::status(404),
        }
    });
    let crawl = anywhere(&hosts.url(1, "/"), "[render]\nmode = \"always\"\ndelay = \"0s\"\n");
    run(&crawl).expect(0, &["finish reason            complete"]);
    let images = |host| hosts.paths_of(host).iter().filter(|path| path.ends_with(".svg")).count();
    assert_eq!((images(2), images(3)), (20, 4), "all that robots.txt permits: {:?}", hosts.paths_of(3));
    let asked: Vec<usize> = (1..=3).map(|host| robots_of(&hosts, host)).collect();
    assert_eq!(asked, [1, 1, 1], "{:?}", hosts.asked().iter().map(|asked| &asked.path).collect::<Vec<_>>());
    let versions = versions(&crawl);
    assert!(versions.contains_key(&hosts.url(2, "/mapped")), "the sitemap of the second: {versions:?}");
    assert_eq!(versions.get(&hosts.url(2, "/linked")), Some(&1));
}

#[test]
fn the_rules_that_a_login_asked_for_are_those_of_the_pages_there() {
    let hosts = Hosts::start(2, |asked| {
        let at =
            |host: u8| format!("http://127.0.0.{host}:{}/", asked.field("host").unwrap().split_once(':').unwrap().1);
        match (asked.host, asked.path.as_str()) {
            (1, "/robots.txt") => Answer::status(404),
            (1, "/") => Answer::page(format!("<a href=\"{}linked\">on</a>", at(2))),
            (2, "/login") => Answer::text("{}").with("set-cookie", "sid=in; Path=/"),
            (2, path) if let Some(answer) = with_map(path, &at(2)) => answer,
            _ => Answer::status(404),
        }
    });
    let (site, login) = (hosts.url(1, "/"), hosts.url(2, "/login"));
    let more = format!(
        "[[site]]\nprefix = \"{site}\"\n[[site.login]]\nurl = \"{login}\"\njson = {{ user = \"me\" }}\n\
         success = {{ cookie = \"sid\", status = 200 }}\n"
    );
    let crawl = anywhere(&site, &more);
    run(&crawl).expect(0, &["finish reason            complete", "logged in at"]);
    assert_eq!(robots_of(&hosts, 2), 1);
    let versions = versions(&crawl);
    assert!(versions.contains_key(&hosts.url(2, "/mapped")), "its sitemap is read: {versions:?}");
    assert!(output(&crawl, &["get", &hosts.url(2, "/robots.txt")]).contains("Disallow: /hidden"), "it is archived");
}
