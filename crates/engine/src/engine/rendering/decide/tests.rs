//! Judgements of patterns, one after the other, without a crawl.

use super::*;
use crate::fingerprint::Fingerprinter;

const FEW: Found = Found { scripts: 2, links: 0, text_bytes: 20 };
const MANY: Found = Found { scripts: 2, links: 30, text_bytes: 4_000 };
const MORE: Found = Found { scripts: 2, links: 40, text_bytes: 4_000 };
const ORIGIN: Fingerprint = Fingerprint::from_bits(7);

fn keys() -> KeyMaker {
    KeyMaker::new(Fingerprinter::random(5), &[])
}

fn learn(patterns: &mut RenderPatterns, url: &str, before: Found, after: Found) {
    patterns.learn(&keys(), ORIGIN, url, before, after, true);
}

fn wish(patterns: &mut RenderPatterns, url: &str) -> RenderWish {
    patterns.wish(&keys(), ORIGIN, url)
}

fn decide(patterns: &mut RenderPatterns, url: &str, found: &Found, of_origin: usize) -> Decision {
    let trials = Trials { of_origin, of_crawl: of_origin };
    patterns.decide(&Patterns::of(&keys(), ORIGIN, url), ORIGIN, found, trials, false)
}

#[test]
fn a_pattern_that_shows_more_is_rendered_from_then_on_and_one_that_does_not_is_sampled() {
    let mut patterns = RenderPatterns::default();
    let first = wish(&mut patterns, "http://a/p/1");
    assert_eq!((first, first.reason(&MANY)), (RenderWish::Try, Some("firstOfPattern")));
    learn(&mut patterns, "http://a/p/1", MANY, MORE);
    assert_eq!(wish(&mut patterns, "http://a/p/2"), RenderWish::Pattern);
    learn(&mut patterns, "http://a/q/1", MANY, MANY);
    let mut sampled = Vec::new();
    for page in 1..3_000 {
        let wish = wish(&mut patterns, "http://a/q/2");
        if wish == RenderWish::Sample {
            sampled.push(page);
            patterns.learn(&keys(), ORIGIN, "http://a/q/2", MANY, MANY, false);
        } else {
            assert_eq!((wish.reason(&MANY), wish.reason(&FEW)), (None, Some("scripts")));
        }
    }
    assert_eq!(sampled, [6, 27, 108, 429, 1_430, 2_431]);
    for _ in 0..SCRIPTED_IN_VAIN_MAX {
        assert_eq!(decide(&mut patterns, "http://a/q/3", &FEW, 0), Decision::Try);
        learn(&mut patterns, "http://a/q/3", FEW, FEW);
    }
    assert_eq!(wish(&mut patterns, "http://a/q/4"), RenderWish::No);
    assert_eq!(decide(&mut patterns, "http://a/q/4", &FEW, 0), Decision::AsServed);
}

#[test]
fn a_page_without_a_script_is_rendered_by_always_alone() {
    let none = Found { scripts: 0, ..FEW };
    for wish in [RenderWish::Try, RenderWish::Pattern, RenderWish::Sample, RenderWish::IfScripted, RenderWish::No] {
        assert_eq!(wish.reason(&none), None);
    }
    assert_eq!(RenderWish::Always.reason(&none), Some("always"));
}

#[test]
fn a_pattern_that_shows_nothing_more_for_long_is_given_up_and_taken_up_again() {
    let mut patterns = RenderPatterns::default();
    let verdict = |patterns: &RenderPatterns| patterns.verdict(&keys(), ORIGIN, "http://a/p/9");
    learn(&mut patterns, "http://a/p/1", FEW, MANY);
    for _ in 0..IN_VAIN_MAX + PATIENCE {
        assert_eq!(verdict(&patterns), Verdict::Needed);
        learn(&mut patterns, "http://a/p/1", MANY, MANY);
    }
    assert_eq!(verdict(&patterns), Verdict::NotNeeded);
    let passed = (0..).take_while(|_| wish(&mut patterns, "http://a/p/1") != RenderWish::Sample).count();
    assert_eq!(passed, SAMPLE_EVERY_MAX_AFTER_MORE as usize, "what has shown more once is sampled more often");
    learn(&mut patterns, "http://a/p/1", FEW, MANY);
    assert_eq!(verdict(&patterns), Verdict::Needed);
}

#[test]
fn a_pattern_in_which_every_second_page_shows_more_stays_one_that_is_rendered() {
    let mut patterns = RenderPatterns::default();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    learn(&mut patterns, "http://a/p/1", FEW, MANY);
    for page in 0..2_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let after = if state.is_multiple_of(2) { MORE } else { MANY };
        learn(&mut patterns, "http://a/p/1", MANY, after);
        assert_eq!(patterns.verdict(&keys(), ORIGIN, "http://a/p/1"), Verdict::Needed, "page {page}");
    }
}

#[test]
fn patterns_of_one_page_each_are_judged_by_their_neighbours() {
    let mut patterns = RenderPatterns::default();
    for (number, word) in ["ant", "bee", "cow"].iter().enumerate() {
        assert_eq!(decide(&mut patterns, &format!("http://a/wiki/{word}"), &MANY, 0), Decision::Try, "{number}");
        learn(&mut patterns, &format!("http://a/wiki/{word}"), MANY, MANY);
        learn(&mut patterns, &format!("http://a/tag/{word}"), MANY, MORE);
    }
    assert_eq!(decide(&mut patterns, "http://a/wiki/dog", &MANY, 0), Decision::AsServed);
    // the neighbours need it, so it is tried whatever tries there are, and others of its pattern wait
    assert_eq!(wish(&mut patterns, "http://a/tag/dog"), RenderWish::Try);
    assert_eq!(decide(&mut patterns, "http://a/tag/dog", &MANY, 100), Decision::Try);
    // what is above both says nothing
    assert_eq!(patterns.verdict(&keys(), ORIGIN, "http://a/about/dog"), Verdict::Unknown);
    // of pages that look as if they needed it, each is one of an unknown pattern, and they have an end all the same
    for word in ["elk", "fox"] {
        assert_eq!(decide(&mut patterns, &format!("http://a/wiki/{word}"), &FEW, 0), Decision::Try);
        learn(&mut patterns, &format!("http://a/wiki/{word}"), FEW, FEW);
    }
    assert_eq!(decide(&mut patterns, "http://a/wiki/gnu", &FEW, 0), Decision::AsServed);
}

#[test]
fn a_close_pattern_of_many_pages_has_one_voice_among_its_neighbours() {
    let mut patterns = RenderPatterns::default();
    for _ in 0..100 {
        learn(&mut patterns, "http://a/product/1", MANY, MORE);
    }
    assert_eq!(patterns.verdict(&keys(), ORIGIN, "http://a/product/1"), Verdict::Needed);
    assert_eq!(patterns.verdict(&keys(), ORIGIN, "http://a/product/all"), Verdict::Unknown);
}

#[test]
fn tries_in_vain_are_few_whatever_the_patterns_of_a_site() {
    let mut patterns = RenderPatterns::default();
    // shows more now and then, so that no wide pattern says anything
    let rendered = |patterns: &mut RenderPatterns, number: u32| {
        let url = format!("http://a/{}/x", "abcdefghijklmnopqrst".get(..number as usize % 20 + 1).unwrap_or("z"));
        let url = format!("{url}/{}", char::from(b'a' + (number / 20 % 26) as u8));
        let wish = wish(patterns, &url);
        let is_tried =
            wish == RenderWish::Sample || wish == RenderWish::Try && decide(patterns, &url, &MANY, 0) == Decision::Try;
        if is_tried {
            patterns.learn(&keys(), ORIGIN, &url, MANY, MANY, wish == RenderWish::Try);
        }
        u32::from(is_tried)
    };
    let all: u32 = (0..520).map(|number| rendered(&mut patterns, number)).sum();
    assert!(all <= OF_ORIGIN.first + 520 / OF_ORIGIN.pages_for_one + 10, "{all}");
}

#[test]
fn pages_wait_where_the_last_tries_are_in_progress_and_a_failure_is_a_try_in_vain() {
    let mut patterns = RenderPatterns::default();
    let first = OF_ORIGIN.first as usize;
    assert_eq!(decide(&mut patterns, "http://a/x", &MANY, first - 1), Decision::Try);
    assert_eq!(decide(&mut patterns, "http://a/x", &MANY, first), Decision::Wait);
    for _ in 0..first {
        patterns.failed(ORIGIN, true);
    }
    assert_eq!(decide(&mut patterns, "http://a/x", &MANY, 0), Decision::AsServed);
    // what looks as if it needed it is tried all the same
    assert_eq!(decide(&mut patterns, "http://a/x", &FEW, first), Decision::Try);
}

#[test]
fn the_table_is_bounded_and_keeps_what_was_met_last() {
    let (keys, mut patterns) = (keys(), RenderPatterns::default());
    for n in 0..PATTERNS_MAX as u64 + 100 {
        patterns.learn(&keys, Fingerprint::from_bits(n << 8), "http://a/", FEW, MANY, true);
    }
    assert!(patterns.entries.len() <= PATTERNS_MAX);
    let last = Fingerprint::from_bits((PATTERNS_MAX as u64 + 99) << 8);
    assert_eq!(patterns.verdict(&keys, last, "http://a/"), Verdict::Needed);
    let bytes = postcard::to_stdvec(&patterns).unwrap();
    assert_eq!(postcard::from_bytes::<RenderPatterns>(&bytes).unwrap(), patterns);
}
