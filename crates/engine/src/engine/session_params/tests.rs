//! Tests of what is learnt of which pages.

use super::*;
use crate::contract::{ContentDigests, PageLink};
use crate::fingerprint::Fingerprinter;
use crate::frontier::Hops;
use crate::web::url::CanonicalUrl;

fn keys() -> KeyMaker {
    KeyMaker::new(Fingerprinter::random(5), &[])
}

/// The crawl's knowledge, and how its pages are met.
struct Crawl {
    keys: Arc<KeyMaker>,
    learnt: SessionParams,
}

impl Crawl {
    fn new() -> Self {
        let keys = Arc::new(keys());
        Crawl { keys: keys.clone(), learnt: SessionParams::open(keys, true, &[]).unwrap() }
    }

    fn link(&self, url: &str) -> QueuedUrl {
        let url = CanonicalUrl::parse(url).unwrap();
        QueuedUrl { hops: Hops::default().then('L'), ..QueuedUrl::of(url.as_str(), self.keys.keys(&url)) }
    }

    /// A page at `url` that says `text` and links to `links`, or embeds them where they end in `.png`; says whether it
    /// is a copy.
    fn observe(&mut self, url: &str, text: &str, links: &[String]) -> bool {
        let words: String = text.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let said =
            ContentDigests { text: self.keys.digest(text.as_bytes()), words: self.keys.digest(words.as_bytes()) };
        let origin = |link: &str| self.keys.keys(&CanonicalUrl::parse(link).unwrap()).origin;
        let named = |link| PageLink { url: link, origin: origin(link), is_embed: link.ends_with(".png") };
        let links: Vec<PageLink<'_>> = links.iter().map(|link| named(link.as_str())).collect();
        let evidence = Evidence::of(&CanonicalUrl::parse(url).unwrap(), said, &links, &self.keys);
        evidence.is_some_and(|evidence| self.learnt.learn(&evidence))
    }

    fn copies(&self, url: &str) -> Option<String> {
        self.learnt.copies(&self.link(url)).map(str::to_owned)
    }

    /// Pages of one text and ever new sessions.
    fn sessions(&mut self, from: u32, number: u32) -> u32 {
        let page = |n: u32| format!("http://h/index?sid=x{n}");
        (from..from + number).map(|n| u32::from(self.observe(&page(n), "the index", &[page(n + 100_000)]))).sum()
    }
}

#[test]
fn a_session_id_is_learnt_from_its_pages_and_a_page_that_was_never_fetched_is_no_copy() {
    let mut crawl = Crawl::new();
    assert_eq!(crawl.sessions(0, VALUES_MIN + EVIDENCE_MIN - 1), 0);
    assert_eq!(crawl.copies("http://h/index?sid=new"), None);
    assert_eq!(crawl.sessions(1_000, 1), 1);
    assert_eq!(crawl.copies("http://h/index?sid=new").as_deref(), Some("sid"));
    assert_eq!(crawl.copies("http://h/topic?t=1&sid=new"), None, "never fetched");
    assert_eq!(crawl.copies("http://other/index?sid=new"), None, "another origin");
    let of = |hops| QueuedUrl { hops, ..crawl.link("http://h/index?sid=new") };
    for exempt in [Hops::default(), Hops::parse("R"), Hops::parse("LE"), Hops::parse("PM")] {
        assert_eq!(crawl.learnt.copies(&of(exempt)), None);
    }
    let forced = QueuedUrl { forced: true, ..crawl.link("http://h/index?sid=new") };
    assert_eq!(crawl.learnt.copies(&forced), None);
}

#[test]
fn another_text_ends_a_rule_which_then_needs_twice_the_evidence() {
    let mut crawl = Crawl::new();
    crawl.sessions(0, 500);
    assert!(crawl.copies("http://h/index?sid=new").is_some());
    assert!(!crawl.observe("http://h/index?sid=other", "news today", &[]));
    assert_eq!(crawl.copies("http://h/index?sid=new"), None);
    let mut page = |n: u32| {
        crawl.observe(&format!("http://h/b?sid={n}"), "another page", &[format!("http://h/b?sid={}", n + 10_000)]);
        crawl.copies("http://h/b?sid=new").is_some()
    };
    let needed = (0..100).take_while(|&n| !page(n)).count();
    assert_eq!(needed, (VALUES_MIN + 2 * EVIDENCE_MIN - 1) as usize);
}

#[test]
fn what_only_looks_like_sessions_is_never_learnt() {
    type Page = fn(u32) -> (String, String, Vec<String>);
    let cases: [(&str, Page); 7] = [
        ("a gallery whose pages differ in their picture alone", |n| {
            let links = [format!("http://h/t?id={}", n + 1), format!("http://h/{n}.png")];
            (format!("http://h/t?id={n}"), "Back to the gallery".to_owned(), links.to_vec())
        }),
        ("pages that differ by a number", |n| {
            (format!("http://h/t?id={n}"), format!("Number {n}."), vec![format!("http://h/t?id={}", n + 1)])
        }),
        ("other pages", |n| {
            let word = "x".repeat(n as usize);
            (format!("http://h/t?id={n}"), format!("page {word}"), vec![format!("http://h/t?id={}", n + 1)])
        }),
        ("a shell of a script, or a challenge", |n| (format!("http://h/t?id={n}"), "Loading".to_owned(), Vec::new())),
        ("not found, with the same links always", |n| {
            let links = [3, 9, 12].map(|n| format!("http://h/t?id={n}"));
            (format!("http://h/t?id={n}"), "Nothing is here".to_owned(), links.to_vec())
        }),
        ("a choice of three values on many pages", |n| {
            let views = ["grid", "list", "table"].map(|view| format!("http://h/{}?view={view}", n / 3));
            let (own, other) = (views[(n % 3) as usize].clone(), views[((n + 1) % 3) as usize].clone());
            (own, format!("page {}", n / 3), vec![other])
        }),
        ("lists with an end that has no end", |n| {
            let text = if n % 40 < 20 { "x".repeat((n % 40) as usize) } else { "No more entries".to_owned() };
            let list = n / 40;
            (format!("http://h/{list}?page={n}"), text, vec![format!("http://h/{list}?page={}", n + 1)])
        }),
    ];
    for (case, page) in cases {
        let mut crawl = Crawl::new();
        for n in 0..400 {
            let (url, text, links) = page(n);
            assert!(!crawl.observe(&url, &text, &links), "{case}: {url}");
            assert_eq!(crawl.copies(&url), None, "{case}: {url}");
        }
    }
}

#[test]
fn a_rule_outlasts_many_pages_of_others_and_nothing_is_noted_beside_it() {
    let mut crawl = Crawl::new();
    crawl.sessions(0, 100);
    crawl.observe("http://h/topic?f=1&t=2&u=3&sid=5", "a topic", &[]);
    assert_eq!(crawl.learnt.bases.used().len(), 2);
    for n in 0..20_000 {
        let host = format!("http://h{n}/a?q={n}");
        crawl.observe(&host, &"y".repeat(n % 7), &[]);
    }
    assert!(crawl.copies("http://h/index?sid=new").is_some());
}

#[test]
fn what_was_learnt_comes_back_and_nothing_is_written_where_nothing_was_or_is_to_be() {
    let (mut crawl, mut bytes) = (Crawl::new(), Vec::new());
    crawl.observe("http://h/page", "a page", &[]);
    crawl.learnt.encode(&mut bytes);
    assert!(bytes.is_empty());
    crawl.sessions(0, 100);
    crawl.learnt.encode(&mut bytes);
    let again = Crawl { keys: Arc::new(keys()), learnt: SessionParams::open(Arc::new(keys()), true, &bytes).unwrap() };
    assert!(again.copies("http://h/index?sid=new").is_some());
    let mut same = Vec::new();
    again.learnt.encode(&mut same);
    assert_eq!(same, bytes);
    assert!(SessionParams::open(crawl.keys.clone(), true, &bytes[..bytes.len() - 1]).is_none());
    let (off, mut nothing) = (SessionParams::open(crawl.keys.clone(), false, &bytes).unwrap(), Vec::new());
    off.encode(&mut nothing);
    assert!(nothing.is_empty());
}
