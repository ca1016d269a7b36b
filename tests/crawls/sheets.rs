//! Whole crawls of pages that need more than their own files: sheets behind sheets, fonts, icons, modules, pictures in
//! pictures.

use std::collections::BTreeMap;

use super::fetch::crawl::{Crawled, Plan};
use super::fetch::http::{HttpServer, page};

/// Answers of a site by path: type, further lines of the head, and body.
type Site = &'static [(&'static str, &'static str, &'static str)];

/// Serves a site; what it does not have is a 404.
fn serve(site: Site) -> HttpServer {
    HttpServer::start("127.0.0.1", move |connection| {
        while let Some(head) = connection.request() {
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let answer = match site.iter().find(|(known, _, _)| *known == path) {
                Some((_, lines, body)) => page(&format!("content-type: {lines}\r\n"), body),
                None => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
            };
            if !connection.send(answer) {
                return;
            }
        }
    })
}

/// The paths that were asked for, with how each was found.
fn asked(crawled: &Crawled, server: &HttpServer) -> BTreeMap<String, String> {
    let root = server.url("127.0.0.1");
    let columns = crawled.crawl_log.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    columns
        .filter_map(|columns| Some((columns[3].strip_prefix(&*root)?.to_owned(), columns[4].to_owned())))
        .filter(|(path, _)| path != "robots.txt")
        .collect()
}

fn crawl(server: &HttpServer, scope: &str) -> BTreeMap<String, String> {
    let crawled = Plan { scope, ..Plan::of(&[server.url("127.0.0.1")]) }.run();
    assert_eq!(crawled.code, Some(0), "{}", crawled.crawl_log);
    asked(&crawled, server)
}

fn expected(paths: &[(&str, &str)]) -> BTreeMap<String, String> {
    paths.iter().map(|(path, hops)| ((*path).to_owned(), (*hops).to_owned())).collect()
}

#[test]
fn a_font_behind_two_imports_arrives() {
    let server = serve(&[
        ("/", "text/html", "<style>@import 'css/one.css';</style><p style=\"background:url('i/p.png')\">"),
        ("/css/one.css", "text/css", "/* @import 'no.css' */ @import url(sub/two.css) screen;"),
        ("/css/sub/two.css", "text/css", "@font-face{font-family:x;src:url('../f.woff2')format('woff2')}"),
        ("/css/f.woff2", "font/woff2", "a font"),
        ("/i/p.png", "image/png", "a picture"),
    ]);
    let paths = [("", "-"), ("css/one.css", "E"), ("css/sub/two.css", "EE"), ("css/f.woff2", "EEE"), ("i/p.png", "E")];
    assert_eq!(crawl(&server, ""), expected(&paths));
}

#[test]
fn what_pages_need_is_found_in_documents_of_every_kind() {
    let server = serve(&[
        (
            "/",
            "text/html",
            "<link rel=manifest href=m.json><img data-src=lazy.png><img src=a.svg><link rel=stylesheet href=plain.css>\
             <link rel=stylesheet href=strict.css><script type=module src=m.js></script>\
             <iframe srcdoc='<img src=inner.png>'></iframe><a href=feed.rss></a>",
        ),
        ("/m.json", "application/manifest+json", "{\"icons\":[{\"src\":\"icon.png\"}]}"),
        ("/a.svg", "image/svg+xml", "<svg><image href='b.png'/><style>a{fill:url(c.svg#x)}</style></svg>"),
        ("/plain.css", "text/plain", "a{b:url(quirk.png)}"),
        ("/strict.css", "text/plain\r\nx-content-type-options: nosniff", "a{b:url(no.png)}"),
        ("/m.js", "text/javascript", "import a from './n.js'; import(b);"),
        ("/feed.rss", "application/rss+xml", "<rss><channel><item><link>/item</link></item></channel></rss>"),
    ]);
    let paths = [
        ("", "-"),
        ("m.json", "E"),
        ("icon.png", "EE"),
        ("lazy.png", "E"),
        ("a.svg", "E"),
        ("b.png", "EE"),
        ("c.svg", "EE"),
        ("plain.css", "E"),
        ("quirk.png", "EE"),
        ("strict.css", "E"),
        ("m.js", "E"),
        ("n.js", "EE"),
        ("inner.png", "E"),
        ("feed.rss", "L"),
        ("item", "LL"),
    ];
    assert_eq!(crawl(&server, "favicon = false"), expected(&paths));
}

#[test]
fn a_page_without_an_icon_has_that_of_its_origin_once() {
    let server = serve(&[
        ("/", "text/html", "<a href=two></a>"),
        ("/two", "text/html", "<a href=three></a>"),
        ("/three", "text/html", "<link rel=icon href=own.ico>"),
    ]);
    let paths = [("", "-"), ("two", "L"), ("three", "LL"), ("own.ico", "LLE"), ("favicon.ico", "E")];
    assert_eq!(crawl(&server, "favicon = true"), expected(&paths));
}
