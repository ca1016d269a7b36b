//! Things that pages embed from elsewhere are fetched, as far from the page as the settings say, counted apart from
//! pages and charged to the site that names them, also over kills.

use crawler::outcome::Reason;
use crawler::web::scope::Requisites;

use super::crawled::Crawled;
use super::*;

const START: Time = Time::from_ms(1_000_000_000_000);

/// A web of pages by their URLs; everything else is not found.
#[derive(Clone)]
struct Embedding {
    pages: BTreeMap<String, Reply>,
    scope: ScopeOptions,
    pages_max: Option<u64>,
    pages_per_domain: Option<u64>,
}

impl Web for Embedding {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond says it all")
    }

    fn respond(&self, job: &FetchJob, _: Time) -> Result<Reply, Failure> {
        Ok(self.pages.get(job.url.as_str()).cloned().unwrap_or(Reply { status: 404, ..Reply::default() }))
    }

    fn scope(&self) -> ScopeOptions {
        self.scope.clone()
    }

    fn tune(&self, settings: &mut Settings, frontier: &mut FrontierOptions) {
        settings.pages_max = self.pages_max;
        frontier.budget.pages_per_domain = self.pages_per_domain;
    }
}

fn html(body: &str) -> Reply {
    let headers = vec![("content-type", "text/html".to_owned())];
    Reply { status: 200, headers, body: format!("<!DOCTYPE html>{body}").into_bytes() }
}

fn web(pages: &[(&str, Reply)]) -> Embedding {
    Embedding {
        pages: pages.iter().map(|(url, reply)| (format!("http://{url}"), reply.clone())).collect(),
        scope: ScopeOptions { mode: ScopeMode::Domain, requisite_hops: 3, ..ScopeOptions::default() },
        pages_max: None,
        pages_per_domain: None,
    }
}

/// A page with a picture, one that has moved to another domain, and a frame in which there is another one, and so on;
/// the frames link to pages here and elsewhere, and the robots.txt of their host names a sitemap.
fn framed() -> Embedding {
    let moved = Reply { status: 302, headers: vec![("location", "http://p5.test/there".to_owned())], body: Vec::new() };
    let frame =
        |next: &str| html(&format!("<iframe src=\"{next}\"></iframe><a href=\"/page\"><a href=\"http://h0.test/b\">"));
    let robots = "User-agent: *\nDisallow: /private\nSitemap: http://p2.test/map.xml\n";
    let robots = Reply { status: 200, headers: vec![("content-type", "text/plain".to_owned())], body: robots.into() };
    let page = "<a href=\"/a\"><a href=\"http://p1.test/linked\"><img src=\"http://p1.test/picture\">\
                <img src=\"http://p1.test/moved\"><iframe src=\"http://p2.test/1\"></iframe>\
                <img src=\"http://p2.test/private\">";
    web(&[
        ("h0.test/", html(page)),
        ("h0.test/a", html("<img src=\"http://p1.test/linked\">")),
        ("h0.test/b", html("<img src=\"/own\">")),
        ("h0.test/own", html("")),
        ("p1.test/picture", html("")),
        ("p1.test/moved", moved),
        ("p1.test/linked", html("")),
        ("p5.test/there", html("<a href=\"http://p5.test/page\">")),
        ("p2.test/robots.txt", robots),
        ("p2.test/1", frame("http://p3.test/2")),
        ("p3.test/2", frame("http://p4.test/3")),
        ("p4.test/3", frame("http://p6.test/4")),
        ("p6.test/4", html("")),
    ])
}

const FRAMED: [&str; 10] = [
    "h0.test/",
    "h0.test/a",
    "h0.test/b",
    "h0.test/own",
    "p1.test/linked",
    "p1.test/moved",
    "p1.test/picture",
    "p2.test/1",
    "p3.test/2",
    "p4.test/3",
];

#[test]
fn what_a_page_embeds_is_fetched_wherever_it_lies_and_what_that_links_to_is_not() {
    let web = framed();
    let crawled = Crawled::new(&web, &[]);
    let mut expected = FRAMED.to_vec();
    expected.push("p5.test/there");
    assert_eq!(crawled.asked, expected);
    let path = |url: &str| crawled.hops[url].as_str();
    assert_eq!((path("p2.test/1"), path("p4.test/3"), path("p5.test/there")), ("E", "EEE", "ER"));
    assert_eq!(path("p1.test/linked"), "LE", "the link to it was dropped, and did not keep it out");
    let statistics = &crawled.statistics;
    assert_eq!((statistics.pages(), statistics.requisites_stored), (3, 8));
    assert_eq!(statistics.depth_max, 1);
    // to /page, of three frames, to p5.test/page, to p1.test/linked; and the frame that is a hop too far
    assert_eq!(statistics.dropped[&Reason::Scope], 6, "{:?}", statistics.dropped);
    assert_eq!(statistics.robots_denied, 1);
}

#[test]
fn kills_change_nothing_of_it() {
    let web = framed();
    let whole = Crawled::new(&web, &[]).asked;
    for kill in 1..20 {
        let crawled = Crawled::new(&web, &[kill]);
        assert_eq!(crawled.asked, whole, "killed at request {kill}");
        let statistics = crawled.statistics;
        assert_eq!((statistics.pages(), statistics.requisites_stored), (3, 8), "killed at request {kill}");
    }
}

#[test]
fn the_bound_is_counted_in_embeds_and_the_scope_alone_decides_where_it_is_wanted() {
    let mut web = framed();
    web.scope.requisite_hops = 1;
    let near = Crawled::new(&web, &[]).asked;
    assert!(near.contains(&"p2.test/1".to_owned()) && !near.contains(&"p3.test/2".to_owned()), "{near:?}");
    web.scope.requisite_hops = 4;
    assert!(Crawled::new(&web, &[]).asked.contains(&"p6.test/4".to_owned()));
    web.scope.requisites = Requisites::Scope;
    let crawled = Crawled::new(&web, &[]);
    assert_eq!(crawled.asked, ["h0.test/", "h0.test/a"], "nothing links to the page of the frames");
    assert_eq!(crawled.statistics.requisites_stored, 0);
}

#[test]
fn a_page_at_the_greatest_depth_has_its_requisites_and_an_exclusion_holds_for_them() {
    let mut web = framed();
    web.scope.max_depth = Some(0);
    web.scope.exclude = vec!["picture".to_owned()];
    let crawled = Crawled::new(&web, &[]);
    assert_eq!(crawled.asked, ["h0.test/", "p1.test/moved", "p2.test/1", "p3.test/2", "p4.test/3", "p5.test/there"]);
    assert_eq!(crawled.statistics.depth_max, 0);
}

/// A sitemap that a robots.txt names may be elsewhere on its domain, and may be a page.
#[test]
fn a_page_that_is_out_of_scope_has_no_requisites() {
    let robots = "User-agent: *\nSitemap: http://maps.h0.test/map\n";
    let robots = Reply { status: 200, headers: vec![("content-type", "text/plain".to_owned())], body: robots.into() };
    let mut web = web(&[
        ("h0.test/", html("")),
        ("h0.test/robots.txt", robots),
        ("maps.h0.test/map", html("<img src=\"http://p1.test/x\"><img src=\"http://h0.test/y\">")),
    ]);
    web.scope.mode = ScopeMode::Host;
    let crawled = Crawled::new(&web, &[]);
    assert_eq!(crawled.asked, ["h0.test/", "h0.test/y", "maps.h0.test/map"]);
    assert_eq!(crawled.statistics.dropped[&Reason::Scope], 1);
}

#[test]
fn a_site_without_end_made_of_frames_ends_with_its_depth() {
    struct Nested;
    impl Web for Nested {
        fn answer(&self, url: &CanonicalUrl, _: Time) -> (u16, String) {
            let number: usize = url.path().trim_start_matches('/').parse().unwrap_or(0);
            (200, format!("<iframe src=\"/{}\"></iframe>", number + 1))
        }

        fn scope(&self) -> ScopeOptions {
            ScopeOptions { max_depth: Some(2), requisite_hops: 3, ..ScopeOptions::default() }
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(Nested), dir.path(), START);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    // three are as deep as the page, and each further one is a link deeper
    assert_eq!(pages_of(&run.requests()).len(), 1 + 3 + 2);
    let statistics = run.engine.figures().statistics();
    assert_eq!((statistics.pages(), statistics.requisites_stored), (3, 3));
}

#[test]
fn a_page_limit_counts_pages_and_their_requisites_come_first() {
    let mut web = web(&[
        ("h0.test/", html("<a href=\"/a\"><img src=\"/1\"><img src=\"/2\">")),
        ("h0.test/a", html("<a href=\"/b\"><img src=\"/3\">")),
        ("h0.test/b", html("")),
    ]);
    for number in 1..=3 {
        web.pages.insert(format!("http://h0.test/{number}"), html(""));
    }
    web.pages_max = Some(2);
    let crawled = Crawled::new(&web, &[]);
    assert_eq!(crawled.asked, ["h0.test/", "h0.test/1", "h0.test/2", "h0.test/a"]);
    assert_eq!((crawled.statistics.pages(), crawled.statistics.requisites_stored), (2, 2));
}

#[test]
fn a_page_limit_counts_neither_redirects_nor_those_of_requisites() {
    let moved = |to: &str| Reply { status: 301, headers: vec![("location", to.to_owned())], body: Vec::new() };
    let mut web = web(&[
        ("h0.test/", moved("/start")),
        ("h0.test/start", html("<a href=\"/1\"><a href=\"/2\"><a href=\"/3\"><a href=\"/4\"><img src=\"/old\">")),
        ("h0.test/old", moved("/new")),
        ("h0.test/new", html("")),
        ("h0.test/1", moved("/5")),
    ]);
    for number in 2..=5 {
        web.pages.insert(format!("http://h0.test/{number}"), html(""));
    }
    web.pages_max = Some(3);
    for kills in [&[][..], &[2], &[3, 5]] {
        let crawled = Crawled::new(&web, kills);
        let figures = crawled.statistics;
        assert_eq!((figures.counted_pages(), figures.requisites_stored), (3, 2), "{kills:?}: {:?}", crawled.asked);
        assert_eq!(figures.pages(), 3 + figures.redirects_stored, "{kills:?}");
        assert!(figures.redirects_stored >= 1 && crawled.asked.contains(&"h0.test/start".to_owned()), "{kills:?}");
    }
}

#[test]
fn a_site_pays_for_what_it_embeds_from_other_domains_out_of_its_own_budget() {
    let pictures: String = (0..40).map(|number| format!("<img src=\"http://p1.test/{number}\">")).collect();
    let own: String = (0..5).map(|number| format!("<a href=\"/{number}\"><img src=\"/own{number}\">")).collect();
    let mut web = web(&[("h0.test/", html(&(pictures + &own)))]);
    web.pages_per_domain = Some(10);
    for kills in [&[][..], &[3], &[6, 9]] {
        let crawled = Crawled::new(&web, kills);
        let elsewhere = crawled.asked.iter().filter(|url| url.starts_with("p1.")).count();
        let here = crawled.asked.len() - elsewhere;
        // the page itself is one of the ten
        assert_eq!((here, elsewhere), (1, 9), "{kills:?}");
        assert!(crawled.statistics.dropped[&Reason::EmbeddedPages] >= 31);
        assert!(crawled.skipped.contains("budget.pages_per_domain = 10: the domain of what embeds it"));
    }
    // what is on the same domain counts when it is fetched, and nothing is charged for it
    web.pages.insert(SEED.to_owned(), html("<img src=\"http://www.h0.test/x\"><img src=\"http://p1.test/x\">"));
    assert_eq!(Crawled::new(&web, &[]).asked, ["h0.test/", "p1.test/x", "www.h0.test/x"]);
}
