//! A page is as deep as the shortest way to it, whichever way was found first, also over kills; what is left out as too
//! deep is noted with the page.

use super::crawled::Crawled;
use super::*;
use crawler::checkpoint;

/// The short ways lead over this host, which is overloaded for a while.
const SLOW: &str = "h1.test";
const SLOW_UNTIL: Duration = Duration::from_secs(60);
const START: Time = Time::from_ms(1_000_000_000_000);

/// Two ways to `/x`, of three links and of two; two to `/p`, of two links and of one and a redirect.
#[derive(Clone)]
struct TwoPaths {
    max_depth: Option<u16>,
}

impl Web for TwoPaths {
    fn answer(&self, _: &CanonicalUrl, _: Time) -> (u16, String) {
        unreachable!("respond says it all")
    }

    fn respond(&self, job: &FetchJob, now: Time) -> Result<Reply, Failure> {
        let reply = |status, headers, body: String| Ok(Reply { status, headers, body: body.into_bytes() });
        let links = |links: &[&str]| {
            let links: Vec<String> = links.iter().map(|link| (*link).to_owned()).collect();
            reply(200, vec![("content-type", "text/html".to_owned())], format!("<!DOCTYPE html>{}", body(&links)))
        };
        let is_early = now.since(START) < SLOW_UNTIL;
        match (job.url.host(), job.url.path()) {
            (SLOW, "/b1" | "/r") if is_early => reply(503, vec![("retry-after", "20".to_owned())], String::new()),
            (SLOW, "/b1") => links(&["http://h0.test/x"]),
            (SLOW, "/r") => reply(302, vec![("location", "http://h0.test/p".to_owned())], String::new()),
            ("h0.test", "/") => links(&["/a1", "http://h1.test/b1", "http://h1.test/r", "/q"]),
            ("h0.test", "/a1") => links(&["/a2"]),
            ("h0.test", "/a2") => links(&["/x"]),
            ("h0.test", "/q") => links(&["/p"]),
            ("h0.test", "/x") => links(&["/y", "/"]),
            ("h0.test", "/y") => links(&["/z"]),
            ("h0.test", "/p") => links(&["/c"]),
            ("h0.test", "/c") => links(&["/g"]),
            ("h0.test", "/g") => links(&["/far", "/a2"]),
            ("h0.test", "/z" | "/far") => links(&["/beyond"]),
            _ => reply(404, Vec::new(), String::new()),
        }
    }

    fn scope(&self) -> ScopeOptions {
        ScopeOptions { mode: ScopeMode::Any, max_depth: self.max_depth, ..ScopeOptions::default() }
    }

    fn tune(&self, settings: &mut Settings, _: &mut FrontierOptions) {
        settings.retries.usual = 20;
    }
}

/// `/y` is at depth 3 by the short way and at 4 by the other; `/g` likewise, over two pages that are nearer than they
/// were first. `/z` and `/far` are at 4 by any way.
const WITHIN: [&str; 11] = [
    "h0.test/",
    "h0.test/a1",
    "h0.test/a2",
    "h0.test/c",
    "h0.test/g",
    "h0.test/p",
    "h0.test/q",
    "h0.test/x",
    "h0.test/y",
    "h1.test/b1",
    "h1.test/r",
];

#[test]
fn a_page_is_as_deep_as_its_shortest_way_also_where_that_is_found_later_and_over_kills() {
    let web = TwoPaths { max_depth: Some(3) };
    let whole = Crawled::new(&web, &[]);
    assert_eq!(whole.asked, WITHIN);
    assert_eq!(whole.statistics.depth_max, 3);
    for kill in (1..24).step_by(4) {
        let crawled = Crawled::new(&web, &[kill, kill + 1]);
        assert_eq!(crawled.asked, WITHIN, "killed at request {kill}");
    }
}

#[test]
fn nothing_is_asked_for_twice_because_a_shorter_way_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = open_at(Rc::new(TwoPaths { max_depth: Some(3) }), dir.path(), START);
    assert_eq!(run.go(usize::MAX), Some(Finish::Complete));
    let asked = pages_of(&run.requests());
    for page in WITHIN.into_iter().filter(|page| page.starts_with("h0.test")) {
        assert_eq!(asked.iter().filter(|url| **url == format!("http://{page}")).count(), 1, "{page}");
    }
    let accounts = run.engine.accounts();
    assert!(accounts.are_balanced() && accounts.are_closed(), "{accounts:?}");
    assert_eq!(run.engine.figures().statistics().pages_stored, WITHIN.len() as u64);
}

#[test]
fn what_is_left_out_as_too_deep_is_noted_once_with_the_page_and_what_is_known_is_not() {
    let crawled = Crawled::new(&TwoPaths { max_depth: Some(3) }, &[]);
    let lines: Vec<&str> = crawled.skipped.lines().filter(|line| line.contains("too deep")).collect();
    let of = |url: &str| lines.iter().filter(|line| line.contains(&format!(r#""url":"http://h0.test{url}""#))).count();
    let rule = "depth 4 is more than crawl.max_depth = 3: a link of http://h0.test/y";
    let line = format!(r#"{{"url":"http://h0.test/z","reason":"too deep","rule":"{rule}"}}"#);
    assert!(lines.contains(&&*line), "{lines:?}");
    assert_eq!([of("/z"), of("/far"), of("/"), of("/a2")], [1, 1, 0, 0], "{lines:?}");
}

#[test]
fn without_a_limit_of_depth_checkpoints_have_no_section_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let sections = |max_depth| {
        let mut run = open_at(Rc::new(TwoPaths { max_depth }), dir.path(), START);
        assert_eq!(run.go(8), None);
        run.engine.handle(Event::Checkpoint).unwrap();
        assert_eq!(run.go(9), None);
        checkpoint::newest(&Disk::real(), dir.path()).unwrap().unwrap().1
    };
    assert!(!sections(Some(3)).depths.is_empty());
    assert!(sections(None).depths.is_empty());
}
