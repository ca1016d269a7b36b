//! Sitemaps in the crawl: what robots.txt names is read, what they list is fetched, also over kills; and what is made
//! to look like one does no harm.

use std::io::Write;

use crawler::web::sitemap::URLS_MAX;

use super::crawled::Crawled;
use super::*;

/// A web of pages by their URLs; everything else is not found.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) pages: BTreeMap<String, Reply>,
    pub(super) scope: ScopeOptions,
    retries: u8,
}

impl Listed {
    pub(super) fn new(pages: &[(&str, Reply)]) -> Self {
        let pages = pages.iter().map(|(url, reply)| (format!("http://{url}"), reply.clone())).collect();
        let scope = ScopeOptions { mode: ScopeMode::Any, ..ScopeOptions::default() };
        Listed { pages, scope, retries: 2 }
    }
}

impl Web for Listed {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond says it all")
    }

    fn respond(&self, job: &FetchJob, _: Time) -> Result<Reply, Failure> {
        let mut found = self.pages.get(job.url.as_str()).cloned().unwrap_or_else(|| reply(404, "text/html", ""));
        if found.status == 200 && job.url.path() != "/robots.txt" {
            let etag = format!(
                "\"{:x}\"",
                found.body.iter().fold(7_u64, |sum, &byte| sum * 31 % 0xffff_fffb + u64::from(byte))
            );
            let condition = job.condition.iter().flat_map(|condition| condition.validators.headers());
            if condition.into_iter().any(|(_, value)| value == etag.as_bytes()) {
                found = Reply { status: 304, headers: Vec::new(), body: Vec::new() };
            }
            found.headers.push(("etag", etag));
        }
        Ok(found)
    }

    fn scope(&self) -> ScopeOptions {
        self.scope.clone()
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.retries.usual = self.retries;
    }
}

pub(super) fn reply(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply { status, headers: vec![("content-type", content_type.to_owned())], body: body.into() }
}

fn robots(sitemaps: &[&str]) -> Reply {
    let lines: String = sitemaps.iter().map(|sitemap| format!("Sitemap: {sitemap}\n")).collect();
    reply(200, "text/plain", format!("User-agent: *\nDisallow: /private\n{lines}"))
}

pub(super) fn page(links: &[&str]) -> Reply {
    reply(200, "text/html", body(&links.iter().map(|&link| link.to_owned()).collect::<Vec<_>>()))
}

pub(super) fn set(urls: &[&str]) -> Reply {
    let urls: String = urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect();
    reply(
        200,
        "application/xml",
        format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>"),
    )
}

pub(super) fn index(urls: &[&str]) -> Reply {
    let urls: String = urls.iter().map(|url| format!("<sitemap><loc>{url}</loc></sitemap>")).collect();
    reply(200, "text/xml", format!("<sitemapindex>{urls}</sitemapindex>"))
}

pub(super) fn redirect(to: &str) -> Reply {
    let mut moved = reply(301, "text/html", "");
    moved.headers.push(("location", to.to_owned()));
    moved
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn gzipped(mut file: Reply) -> Reply {
    file.body = gzip(&file.body);
    file.headers = vec![("content-type", "application/x-gzip".to_owned())];
    file
}

fn crawl(web: &Listed) -> Crawled {
    Crawled::new(web, &[])
}

/// A site with everything: a plain sitemap that was moved, an index with a gzipped one and a text, a relative name.
fn site() -> Listed {
    Listed::new(&[
        ("h0.test/robots.txt", robots(&["http://h0.test/moved.xml", "/index.xml", "http://h0.test/private/map.xml"])),
        ("h0.test/", page(&["/linked"])),
        ("h0.test/linked", page(&[])),
        ("h0.test/moved.xml", redirect("/plain.xml")),
        ("h0.test/plain.xml", set(&["http://h0.test/set"])),
        ("h0.test/set", page(&[])),
        ("h0.test/index.xml", index(&["http://h0.test/1.xml.gz", "http://h0.test/2.txt"])),
        ("h0.test/1.xml.gz", gzipped(set(&["http://h0.test/a?b=1&amp;c=2", "http://h0.test/linked"]))),
        ("h0.test/2.txt", reply(200, "text/plain", "http://h0.test/text\nhttp://h1.test/\n")),
        ("h0.test/a?b=1&c=2", page(&["/below"])),
        ("h0.test/below", page(&[])),
        ("h0.test/text", page(&[])),
        ("h1.test/robots.txt", robots(&["http://h1.test/map.xml"])),
        ("h1.test/", page(&[])),
        ("h1.test/map.xml", set(&["http://h1.test/private/x", "http://h1.test/only", "nonsense://"])),
        ("h1.test/only", page(&[])),
    ])
}

const OF_SITE: [&str; 14] = [
    "h0.test/",
    "h0.test/1.xml.gz",
    "h0.test/2.txt",
    "h0.test/a?b=1&c=2",
    "h0.test/below",
    "h0.test/index.xml",
    "h0.test/linked",
    "h0.test/moved.xml",
    "h0.test/plain.xml",
    "h0.test/set",
    "h0.test/text",
    "h1.test/",
    "h1.test/map.xml",
    "h1.test/only",
];

#[test]
fn what_robots_txt_names_and_sitemaps_list_is_crawled() {
    let crawled = crawl(&site());
    assert_eq!(crawled.asked, OF_SITE);
    for (url, hops) in [
        ("h0.test/", "-"),
        ("h0.test/moved.xml", "PM"),
        ("h0.test/plain.xml", "PMR"),
        ("h0.test/set", "PMRM"),
        ("h0.test/1.xml.gz", "PMM"),
        ("h0.test/a?b=1&c=2", "PMMM"),
        ("h0.test/below", "PMMML"),
        ("h1.test/", "PMMM"),
        ("h1.test/map.xml", "PMMMPM"),
        ("h1.test/only", "PMMMPMM"),
    ] {
        assert_eq!(crawled.hops[url], hops, "{url}");
    }
    let statistics = crawled.statistics;
    assert_eq!((statistics.sitemaps, statistics.sitemap_urls, statistics.sitemap_urls_dropped), (5, 10, 0));
    assert_eq!(statistics.robots_denied, 2, "a sitemap is asked for only where robots.txt permits it");
    // an index is no step: its pages are as near as those of a plain sitemap
    assert_eq!(statistics.depth_max, 2);
}

#[test]
fn a_kill_at_any_request_loses_no_sitemap_and_no_page_of_one() {
    for first in 1..OF_SITE.len() + 2 {
        let crawled = Crawled::new(&site(), &[first]);
        assert_eq!(crawled.asked, OF_SITE, "killed at request {first}");
        let crawled = Crawled::new(&site(), &[first, first + 3, first + 4]);
        assert_eq!(crawled.asked, OF_SITE, "killed at requests {first}, {}, {}", first + 3, first + 4);
    }
}

#[test]
fn a_robots_txt_that_moved_names_sitemaps_for_its_first_origin_also_after_a_kill() {
    let mut web = Listed::new(&[
        ("h0.test/robots.txt", redirect("http://cdn.test/rules")),
        ("cdn.test/rules", robots(&["http://maps.h0.test/map.xml", "http://cdn.test/no.xml"])),
        ("h0.test/", page(&["/private/no"])),
        ("maps.h0.test/map.xml", set(&["http://h0.test/only"])),
        ("h0.test/only", page(&[])),
    ]);
    web.scope.mode = ScopeMode::Prefix;
    for kills in [&[][..], &[2], &[3], &[4], &[2, 4]] {
        let crawled = Crawled::new(&web, kills);
        let expected = ["cdn.test/rules", "h0.test/", "h0.test/only", "maps.h0.test/map.xml"];
        assert_eq!(crawled.asked, expected, "{kills:?}");
    }
    assert_eq!(crawl(&web).hops["maps.h0.test/map.xml"], "PRM");
}

#[test]
fn a_sitemap_need_not_be_in_scope_but_what_it_lists_must_be() {
    let mut web = Listed::new(&[
        (
            "h0.test/robots.txt",
            robots(&["/docs.xml", "http://h1.test/other.xml", "http://10.0.0.1/s.xml", "/secret.xml"]),
        ),
        ("h0.test/", page(&[])),
        ("h0.test/docs.xml", redirect("/maps/docs.xml")),
        ("h0.test/maps/docs.xml", index(&["http://maps.h0.test/1.xml", "http://h1.test/2.xml"])),
        ("maps.h0.test/1.xml", set(&["http://h0.test/in", "http://maps.h0.test/out", "http://h1.test/out"])),
        ("h0.test/in", redirect("http://maps.h0.test/out")),
    ]);
    web.scope = ScopeOptions { mode: ScopeMode::Host, exclude: vec!["secret".into()], ..web.scope };
    let crawled = crawl(&web);
    assert_eq!(
        crawled.asked,
        ["h0.test/", "h0.test/docs.xml", "h0.test/in", "h0.test/maps/docs.xml", "maps.h0.test/1.xml"]
    );
    assert!(crawled.skipped.contains("http://maps.h0.test/out"), "a page that moves out of scope: {}", crawled.skipped);
    use crawler::outcome::Reason;
    let dropped = &crawled.statistics.dropped;
    // the other domain's sitemap twice, the excluded one, two pages, the redirect
    assert_eq!((dropped[&Reason::Scope], dropped[&Reason::PrivateAddress]), (6, 1), "{dropped:?}");
}

#[test]
fn entries_are_one_deeper_than_what_asked_for_robots_txt_and_no_sitemap_is_fetched_for_nothing() {
    let mut web = site();
    for (max_depth, expected) in [(0, 1), (1, 11), (2, 14)] {
        web.scope.max_depth = Some(max_depth);
        let crawled = crawl(&web);
        assert_eq!(crawled.asked.len(), expected, "{max_depth}: {:?}", crawled.asked);
        assert_eq!(crawled.statistics.sitemaps > 0, max_depth > 0);
    }
}

#[test]
fn an_index_that_names_a_new_index_for_ever_is_left_after_three_steps() {
    // each names itself with a letter more, twice
    let index_of = |path: &str| {
        index(&["a", "b"].map(|letter| format!("http://h0.test/{path}{letter}.xml")).each_ref().map(String::as_str))
    };
    let mut web = Listed::new(&[("h0.test/robots.txt", robots(&["/0.xml"])), ("h0.test/", page(&[]))]);
    let mut paths = vec!["0".to_owned()];
    while let Some(path) = paths.pop() {
        web.pages.insert(format!("http://h0.test/{path}.xml"), index_of(&path));
        if path.len() < 6 {
            paths.extend(["a", "b"].map(|letter| format!("{path}{letter}")));
        }
    }
    let crawled = crawl(&web);
    assert_eq!(crawled.asked.len(), 1 + 1 + 2 + 4 + 8);
    assert_eq!((crawled.statistics.sitemaps, crawled.statistics.sitemap_urls_dropped), (15, 16));
}

#[test]
fn sitemaps_in_nested_indexes_are_read_with_what_stands_beside_their_pages() {
    let beside = "<urlset><url><loc>http://h0.test/en</loc><image:image><image:loc>http://h0.test/i.png</image:loc>\
                  </image:image><xhtml:link rel='alternate' href='http://h0.test/de'/></url><url>\
                  <loc>http://h0.test/de</loc><xhtml:link rel='alternate' href='http://h0.test/en'/></url></urlset>";
    let crawled = crawl(&Listed::new(&[
        ("h0.test/robots.txt", robots(&["/1.xml"])),
        ("h0.test/", page(&[])),
        ("h0.test/1.xml", index(&["http://h0.test/2.xml"])),
        ("h0.test/2.xml", index(&["http://h0.test/3.xml"])),
        ("h0.test/3.xml", reply(200, "text/xml", beside)),
    ]));
    let expected = ["", "1.xml", "2.xml", "3.xml", "de", "en", "i.png"].map(|path| format!("h0.test/{path}"));
    assert_eq!(crawled.asked, expected);
    assert_eq!(crawled.hops["h0.test/en"], "PMMMM");
}

#[test]
fn what_is_no_sitemap_at_the_place_of_one_is_a_page_like_others() {
    let crawled = crawl(&Listed::new(&[
        ("h0.test/robots.txt", robots(&["/page", "/missing.xml", "/text"])),
        ("h0.test/", page(&[])),
        ("h0.test/page", page(&["/linked"])),
        ("h0.test/text", reply(200, "text/plain", "see http://h0.test/no")),
        ("h0.test/linked", page(&[])),
    ]));
    assert_eq!(crawled.asked, ["h0.test/", "h0.test/linked", "h0.test/missing.xml", "h0.test/page", "h0.test/text"]);
    assert_eq!(crawled.statistics.sitemaps, 0);
    assert_eq!(crawled.hops["h0.test/linked"], "PML");
}

#[test]
fn a_sitemap_that_forbids_to_follow_it_is_not_followed_and_one_that_is_linked_is_a_page_with_links() {
    let mut sealed = set(&["http://h0.test/no"]);
    sealed.headers.push(("x-robots-tag", "noindex, nofollow".to_owned()));
    let mut unindexed = set(&["http://h0.test/yes"]);
    unindexed.headers.push(("x-robots-tag", "noindex".to_owned()));
    let crawled = crawl(&Listed::new(&[
        ("h0.test/robots.txt", robots(&["/sealed.xml", "/unindexed.xml"])),
        ("h0.test/", page(&["/linked.xml"])),
        ("h0.test/sealed.xml", sealed),
        ("h0.test/unindexed.xml", unindexed),
        ("h0.test/linked.xml", set(&["http://h0.test/as-link"])),
    ]));
    assert_eq!(
        crawled.asked,
        [
            "h0.test/",
            "h0.test/as-link",
            "h0.test/linked.xml",
            "h0.test/sealed.xml",
            "h0.test/unindexed.xml",
            "h0.test/yes"
        ]
    );
    assert_eq!(crawled.hops["h0.test/as-link"], "LL");
}

#[test]
fn s7_s13_bombs_and_garbage_end_as_stored_pages_and_give_nothing() {
    let mut laughs = "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY l 'http://h0.test/l'>".to_owned();
    for level in 0..9 {
        let before = if level == 0 { "l".to_owned() } else { format!("l{}", level - 1) };
        laughs.push_str(&format!("<!ENTITY l{level} '{}'>", format!("&{before};").repeat(10)));
    }
    laughs.push_str(
        "<!ENTITY f SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>&l8;</loc></url><url><loc>&f;</loc></url></urlset>",
    );
    let mut bomb = b"<urlset>".to_vec();
    bomb.resize(200 << 20, b' ');
    let mut random = fastrand::Rng::with_seed(7);
    let noise: Vec<u8> = (0..100_000).map(|_| random.u8(..)).collect();
    let mut twice = gzipped(reply(200, "", gzip(&bomb)));
    twice.headers.push(("content-encoding", "gzip".to_owned()));
    twice.body = gzip(&twice.body);
    let crawled = crawl(&Listed::new(&[
        ("h0.test/robots.txt", robots(&["/laughs.xml", "/bomb.xml.gz", "/twice", "/noise", "/noise.gz"])),
        ("h0.test/", page(&[])),
        ("h0.test/laughs.xml", reply(200, "text/xml", laughs)),
        ("h0.test/bomb.xml.gz", gzipped(reply(200, "", bomb))),
        ("h0.test/twice", twice),
        ("h0.test/noise", reply(200, "application/xml", noise.clone())),
        ("h0.test/noise.gz", reply(200, "application/gzip", [b"\x1f\x8b\x08\x00", noise.as_slice()].concat())),
    ]));
    let statistics = crawled.statistics;
    assert_eq!((crawled.asked.len(), statistics.pages_stored), (6, 6));
    assert_eq!((statistics.sitemap_urls, statistics.sitemap_urls_dropped), (0, 2));
}

#[test]
fn of_a_million_urls_the_protocols_number_is_taken_and_the_rest_is_counted() {
    let many: String = (0..1_000_000).map(|number| format!("http://h0.test/private/{number}\n")).collect();
    let crawled = crawl(&Listed::new(&[
        ("h0.test/robots.txt", robots(&["/many.txt"])),
        ("h0.test/", page(&[])),
        ("h0.test/many.txt", reply(200, "text/plain", many)),
    ]));
    let statistics = crawled.statistics;
    assert_eq!((statistics.sitemap_urls, statistics.sitemap_urls_dropped), (URLS_MAX, 1_000_000 - URLS_MAX));
    assert_eq!(statistics.robots_denied, URLS_MAX);
}
