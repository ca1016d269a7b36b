//! Seeds that are sitemaps or feeds: what they list is crawled, and a forced round reads them again.

use super::crawled::Crawled;
use super::sitemaps::{Listed, gzipped, index, page, redirect, reply, set};
use super::*;

const START: Time = Time::from_ms(1_000_000_000_000);

/// Returns the requests of a crawl, where the one seed, `http://h0.test/`, is `seed`.
fn asked_of(seed: Reply, others: &[(&str, Reply)]) -> Crawled {
    let mut web = Listed::new(&[others, &[("h0.test/", seed)]].concat());
    web.scope.mode = ScopeMode::Host;
    Crawled::new(&web, &[])
}

#[test]
fn a_seed_that_is_a_sitemap_or_a_feed_of_any_kind_is_read() {
    let rss = "<rss version='2.0'><channel><link>http://h0.test/</link><item><link>/a</link></item></channel></rss>";
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/a'/></entry></feed>";
    let json = r#"{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","url":"http://h0.test/a"}]}"#;
    for seed in [
        set(&["http://h0.test/a"]),
        gzipped(set(&["http://h0.test/a"])),
        reply(200, "text/html", set(&["http://h0.test/a"]).body),
        reply(200, "text/plain", "# all\nhttp://h0.test/a\n"),
        reply(200, "application/rss+xml", rss),
        reply(200, "application/atom+xml", atom),
        reply(200, "application/json", json),
    ] {
        let crawled = asked_of(seed.clone(), &[("h0.test/a", page(&["/b"])), ("h0.test/b", page(&[]))]);
        assert_eq!(crawled.asked, ["h0.test/", "h0.test/a", "h0.test/b"], "{seed:?}");
        assert_eq!((&*crawled.hops["h0.test/a"], &*crawled.hops["h0.test/b"]), ("M", "ML"));
        assert_eq!((crawled.statistics.sitemaps, crawled.statistics.depth_max), (1, 2));
    }
}

#[test]
fn an_index_as_a_seed_leads_to_sitemaps_within_it_also_where_it_has_moved() {
    let others = [
        ("h0.test/all", index(&["http://h0.test/1.xml", "http://h1.test/2.xml"])),
        ("h0.test/1.xml", index(&["http://h0.test/3.xml.gz"])),
        ("h0.test/3.xml.gz", gzipped(set(&["http://h0.test/a", "http://h1.test/out"]))),
        ("h0.test/a", page(&[])),
    ];
    let crawled = asked_of(redirect("/all"), &others);
    assert_eq!(crawled.asked, ["h0.test/", "h0.test/1.xml", "h0.test/3.xml.gz", "h0.test/a", "h0.test/all"]);
    assert_eq!(crawled.hops["h0.test/a"], "RMMM");
    assert_eq!(crawled.statistics.depth_max, 1);
}

#[test]
fn a_seed_that_only_looks_a_little_like_a_sitemap_is_a_page() {
    let xhtml = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body><urlset><url><loc>/no</loc>\
                 </url></urlset><a href='/a'>a</a></body></html>";
    for seed in [
        reply(200, "application/xhtml+xml", xhtml),
        reply(200, "text/html", "<a href=/a>http://h0.test/no"),
        reply(200, "text/html", "http://h0.test/no <a href=/a>"),
    ] {
        let crawled = asked_of(seed, &[("h0.test/a", page(&[]))]);
        assert_eq!((crawled.asked, crawled.statistics.sitemaps), (vec!["h0.test/".into(), "h0.test/a".into()], 0));
    }
    let crawled = asked_of(reply(200, "text/plain", "http://h0.test/no\nis where it was"), &[]);
    assert_eq!(crawled.asked, ["h0.test/"]);
}

#[test]
fn a_feed_that_a_page_links_to_has_links_like_any_document_and_is_known_as_one() {
    let rss = "<rss version='2.0'><channel><item><link>/a</link><enclosure url='/a.ogg'/></item></channel></rss>";
    let json = r#"{"version":"https://jsonfeed.org/version/1","items":[{"url":"/b"}]}"#;
    let crawled = asked_of(
        page(&["/feed.xml", "/feed.json", "/other.json"]),
        &[
            ("h0.test/feed.xml", reply(200, "application/rss+xml", rss)),
            ("h0.test/feed.json", reply(200, "application/feed+json", json)),
            ("h0.test/other.json", reply(200, "application/json", r#"{"items":[{"url":"/no"}]}"#)),
        ],
    );
    let expected = ["", "a", "a.ogg", "b", "feed.json", "feed.xml", "other.json"].map(|path| format!("h0.test/{path}"));
    assert_eq!(crawled.asked, expected);
    assert_eq!((&*crawled.hops["h0.test/a"], &*crawled.hops["h0.test/b"]), ("LL", "LL"));
    assert_eq!(crawled.statistics.sitemaps, 2);
}

/// A crawl directory over several runs.
struct Runs {
    dir: tempfile::TempDir,
    now: Time,
}

impl Runs {
    /// Runs to the end, with a forced round where there was a run before; the pages that were asked for.
    fn run(&mut self, web: &Listed, is_forced: bool) -> Vec<String> {
        let web = Rc::new(web.clone());
        let mut run = match is_forced {
            false => open_at(web, self.dir.path(), self.now),
            true => {
                let mut run = open_without_seeds(web, self.dir.path(), self.now);
                run.engine.seeder().refetch(&parse_seeds(SEED.as_bytes()).0).unwrap();
                run
            }
        };
        assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
        self.now = run.clock.now();
        pages_of(&run.requests())
    }
}

#[test]
fn a_forced_round_reads_an_index_with_all_that_it_names_and_fetches_what_is_new() {
    let mut runs = Runs { dir: tempfile::tempdir().unwrap(), now: START };
    let mut web = Listed::new(&[
        // one that names itself is read once in a round
        ("h0.test/", index(&["http://h0.test/1.xml", "http://h0.test/2.xml", "http://h0.test/"])),
        ("h0.test/1.xml", set(&["http://h0.test/a"])),
        ("h0.test/2.xml", set(&["http://h0.test/b"])),
        ("h0.test/a", page(&[])),
        ("h0.test/b", page(&[])),
        ("h0.test/c", page(&[])),
    ]);
    assert_eq!(runs.run(&web, false).len(), 5);
    let maps = ["http://h0.test/", "http://h0.test/1.xml", "http://h0.test/2.xml"];
    // the index is as it was, and is read for what it names; the others answer 304
    assert_eq!(runs.run(&web, true), maps);
    web.pages.insert("http://h0.test/2.xml".to_owned(), set(&["http://h0.test/b", "http://h0.test/c"]));
    let expected = [&maps[..], &["http://h0.test/c"]].concat();
    assert_eq!(runs.run(&web, true), expected);
    let log = std::fs::read_to_string(runs.dir.path().join("logs/crawl.log")).unwrap();
    assert_eq!(log.matches("forced,sitemapIndex:3").count(), 2, "{log}");
    assert_eq!(log.matches("forced,sitemap:2").count(), 1);
    assert_eq!(log.matches("notModified").count(), 3, "the first sitemap twice, the second once");
}
