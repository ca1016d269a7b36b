//! Which pages need a browser: learnt by origin and pattern of URLs.
//!
//! - A page whose pattern is not known is rendered if it looks as if its scripts made it: it has scripts, and hardly
//!   any links or hardly any text. The first pages of an origin are rendered whatever they look like, if they have a
//!   script.
//! - What that showed holds for the pattern: if there were more links or clearly more text, all its pages are rendered;
//!   if not, none is, but one in [`SAMPLE_EVERY`] as a sample, and those that look as if they needed it, until
//!   [`SCRIPTED_IN_VAIN_MAX`] of them did not.
//! - A pattern whose renderings show nothing more [`IN_VAIN_MAX`] times in a row is not rendered any more, but for
//!   samples; one sample that does shows that its pages have changed.
//!
//! A pattern is the path with its varying parts taken out ([`shape`]), so that `/product/17` and `/product/blue-shirt`
//! are one each whatever their number. It is known by a fingerprint of the crawl's own, which nobody can aim at.
//!
//! The table has [`PATTERNS_MAX`] entries; where it is full, the half that was not met for the longest goes: such
//! patterns are judged again. It is in every checkpoint of a crawl that renders.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Time;
use crate::engine::render_plan::{Found, RenderWish};
use crate::fingerprint::Fingerprint;
use crate::web::url::KeyMaker;

/// Entries of the table.
const PATTERNS_MAX: usize = 65_536;
/// Pages of a pattern that needs no rendering from one sample to the next.
const SAMPLE_EVERY: u32 = 50;
/// Renderings in a row that show nothing more, until a pattern is left alone.
const IN_VAIN_MAX: u8 = 5;
/// Pages that look as if they needed it and are rendered in vain, until no page of their pattern is for its looks.
const SCRIPTED_IN_VAIN_MAX: u8 = 2;
/// Pages of an origin that are rendered whatever they look like.
const ORIGIN_TRIES: u32 = 2;
/// A word of a path that is longer, or has as many hyphens, is a title.
const TITLE_BYTES: usize = 24;
const TITLE_HYPHENS: usize = 2;

/// What becomes of a page that asks to be rendered, when it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is rendered.
    Render,
    /// It is stored as it was served.
    AsServed,
    /// It is rendered to see whether its pattern needs that. Others that look as if they needed it wait for what comes
    /// of it, if so it says.
    Try { others_wait: bool },
}

/// What is known of the pattern of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Unknown,
    /// Its pages show more when they are rendered.
    Needed,
    /// They do not.
    NotNeeded,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Whether its pages are rendered.
    needed: bool,
    /// Renderings in a row that showed nothing more, and those of them whose pages looked as if they needed it.
    in_vain: u8,
    scripted_in_vain: u8,
    /// Pages that were not rendered since the last rendering.
    passed: u32,
    /// Renderings.
    renderings: u32,
    /// When it was met last, in renderings of the crawl.
    met: u64,
}

/// What is known of patterns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RenderPatterns {
    /// By fingerprint.
    entries: BTreeMap<u64, Entry>,
    /// Renderings so far, by which entries tell their age.
    clock: u64,
}

impl RenderPatterns {
    /// What is known of the pattern of `url`.
    pub fn verdict(&self, keys: &KeyMaker, origin: Fingerprint, url: &str) -> Verdict {
        match self.entries.get(&key(keys, origin, url)) {
            None => Verdict::Unknown,
            Some(entry) if entry.needed => Verdict::Needed,
            Some(_) => Verdict::NotNeeded,
        }
    }

    /// Whether the page of `url` is rendered.
    pub fn wish(&mut self, keys: &KeyMaker, origin: Fingerprint, url: &str) -> RenderWish {
        let clock = self.clock;
        let Some(entry) = self.entries.get_mut(&key(keys, origin, url)) else {
            let of_origin = self.entries.get(&origin.bits()).copied().unwrap_or_default();
            let is_tried = of_origin.renderings >= ORIGIN_TRIES;
            return if is_tried { RenderWish::IfScripted } else { RenderWish::IfAnyScript };
        };
        entry.met = clock;
        if entry.needed {
            return RenderWish::Yes("pattern");
        }
        entry.passed += 1;
        if entry.passed < SAMPLE_EVERY {
            let is_known = entry.scripted_in_vain >= SCRIPTED_IN_VAIN_MAX;
            return if is_known { RenderWish::No } else { RenderWish::IfScripted };
        }
        entry.passed = 0;
        RenderWish::Yes("sample")
    }

    /// What becomes of the page of `url`, which shows `found`, by what is known now. `trials` of the same origin are in
    /// progress.
    pub(super) fn decide(&self, pattern: u64, origin: Fingerprint, found: &Found, trials: usize) -> Decision {
        let is_scripted = found.looks_scripted();
        let of_origin = self.entries.get(&origin.bits()).map_or(0, |entry| entry.renderings);
        match self.entries.get(&pattern) {
            Some(entry) if entry.needed => Decision::Render,
            Some(entry) if is_scripted && entry.scripted_in_vain < SCRIPTED_IN_VAIN_MAX => {
                Decision::Try { others_wait: true }
            }
            None if is_scripted => Decision::Try { others_wait: true },
            None if (of_origin as usize) + trials < ORIGIN_TRIES as usize => Decision::Try { others_wait: false },
            _ => Decision::AsServed,
        }
    }

    /// By what the pattern of `url` is known.
    pub(super) fn key(keys: &KeyMaker, origin: Fingerprint, url: &str) -> u64 {
        key(keys, origin, url)
    }

    /// A page of `url` was rendered, and showed the second of `shown` where it had shown the first.
    pub fn learn(
        &mut self,
        keys: &KeyMaker,
        (origin, url): (Fingerprint, &str),
        (before, after): (Found, Found),
        _now: Time,
    ) {
        self.clock += 1;
        let is_more = after.is_more_than(&before);
        for key in [key(keys, origin, url), origin.bits()] {
            let entry = self.entries.entry(key).or_default();
            entry.renderings = entry.renderings.saturating_add(1);
            (entry.passed, entry.met) = (0, self.clock);
            entry.in_vain = if is_more { 0 } else { entry.in_vain.saturating_add(1) };
            let is_scripted = before.looks_scripted();
            entry.scripted_in_vain =
                if is_more { 0 } else { entry.scripted_in_vain.saturating_add(u8::from(is_scripted)) };
            entry.needed = is_more || entry.needed && entry.in_vain < IN_VAIN_MAX;
        }
        if self.entries.len() > PATTERNS_MAX {
            let mut ages: Vec<u64> = self.entries.values().map(|entry| entry.met).collect();
            let middle = ages.len() / 2;
            let (_, &mut median, _) = ages.select_nth_unstable(middle);
            self.entries.retain(|_, entry| entry.met > median);
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn key(keys: &KeyMaker, origin: Fingerprint, url: &str) -> u64 {
    keys.of(&shape(url)).bits().rotate_left(32) ^ origin.bits()
}

/// The path of `url` with what varies taken out, and the names of its parameters: words with a digit are `#`, words
/// that look like titles `*`.
fn shape(url: &str) -> String {
    let start = url.find("://").map_or(0, |scheme| scheme + 3);
    let path = url[start..].find(['/', '?']).map_or("", |at| &url[start + at..]);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut shape = String::with_capacity(path.len());
    for word in path.split('/').skip(1) {
        shape.push('/');
        let is_title = word.len() > TITLE_BYTES || word.bytes().filter(|&byte| byte == b'-').count() >= TITLE_HYPHENS;
        shape.push_str(match word {
            _ if word.bytes().any(|byte| byte.is_ascii_digit()) => "#",
            _ if is_title => "*",
            word => word,
        });
    }
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        shape.push('&');
        shape.push_str(parameter.split('=').next().unwrap_or_default());
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprinter;

    const FEW: Found = Found { scripts: 2, links: 0, text_bytes: 20 };
    const MANY: Found = Found { scripts: 2, links: 30, text_bytes: 4_000 };
    const ORIGIN: Fingerprint = Fingerprint::from_bits(7);

    fn keys() -> KeyMaker {
        KeyMaker::new(Fingerprinter::random(5), &[])
    }

    fn learn(patterns: &mut RenderPatterns, url: &str, shown: (Found, Found)) {
        patterns.learn(&keys(), (ORIGIN, url), shown, Time::ZERO);
    }

    #[test]
    fn urls_that_differ_in_what_varies_have_one_shape() {
        for (one, other) in [
            ("http://a/product/17", "http://a/product/4711"),
            ("http://a/post/why-we-wrote-this", "http://a/post/how-to-use-it-well"),
            ("http://a/search?q=a&page=2", "http://a/search?q=b&page=17"),
        ] {
            assert_eq!(shape(one), shape(other));
        }
        assert_ne!(shape("http://a/about"), shape("http://a/contact"));
        assert_eq!((shape("http://a"), shape("http://a/")), (String::new(), "/".to_owned()));
    }

    #[test]
    fn a_pattern_that_shows_more_is_rendered_from_then_on_and_one_that_does_not_is_sampled() {
        let (keys, mut patterns) = (keys(), RenderPatterns::default());
        let wish = |patterns: &mut RenderPatterns, url: &str| patterns.wish(&keys, ORIGIN, url);
        let first = wish(&mut patterns, "http://a/p/1");
        assert_eq!((first, first.reason(&MANY)), (RenderWish::IfAnyScript, Some("firstOfSite")));
        assert_eq!(first.reason(&Found { scripts: 0, ..MANY }), None);
        learn(&mut patterns, "http://a/p/1", (FEW, MANY));
        assert_eq!(wish(&mut patterns, "http://a/p/2"), RenderWish::Yes("pattern"));
        learn(&mut patterns, "http://a/about", (MANY, MANY));
        let next = wish(&mut patterns, "http://a/contact");
        assert_eq!((next.reason(&MANY), next.reason(&FEW)), (None, Some("scripts")));
        let wishes: Vec<_> = (0..SAMPLE_EVERY * 2).map(|_| wish(&mut patterns, "http://a/about")).collect();
        assert_eq!(wishes.iter().filter(|wish| **wish == RenderWish::Yes("sample")).count(), 2);
        assert!(wishes.iter().all(|wish| *wish == RenderWish::Yes("sample") || wish.reason(&MANY).is_none()));
        assert_eq!(wish(&mut patterns, "http://a/about").reason(&FEW), Some("scripts"));
        for _ in 0..SCRIPTED_IN_VAIN_MAX {
            learn(&mut patterns, "http://a/about", (FEW, FEW));
        }
        assert_eq!(wish(&mut patterns, "http://a/about"), RenderWish::No);
    }

    #[test]
    fn a_pattern_that_shows_nothing_more_for_long_is_given_up_and_taken_up_again() {
        let (keys, mut patterns) = (keys(), RenderPatterns::default());
        learn(&mut patterns, "http://a/p/1", (FEW, MANY));
        for _ in 0..IN_VAIN_MAX {
            assert_eq!(patterns.verdict(&keys, ORIGIN, "http://a/p/9"), Verdict::Needed);
            learn(&mut patterns, "http://a/p/1", (MANY, MANY));
        }
        assert_eq!(patterns.verdict(&keys, ORIGIN, "http://a/p/9"), Verdict::NotNeeded);
        learn(&mut patterns, "http://a/p/1", (FEW, MANY));
        assert_eq!(patterns.verdict(&keys, ORIGIN, "http://a/p/9"), Verdict::Needed);
    }

    #[test]
    fn the_table_is_bounded_and_keeps_what_was_met_last() {
        let (keys, mut patterns) = (keys(), RenderPatterns::default());
        for n in 0..PATTERNS_MAX as u64 + 100 {
            patterns.learn(&keys, (Fingerprint::from_bits(n << 8), "http://a/"), (FEW, MANY), Time::ZERO);
        }
        assert!(patterns.entries.len() <= PATTERNS_MAX);
        let last = Fingerprint::from_bits((PATTERNS_MAX as u64 + 99) << 8);
        assert_eq!(patterns.verdict(&keys, last, "http://a/"), Verdict::Needed);
        let bytes = postcard::to_stdvec(&patterns).unwrap();
        assert_eq!(postcard::from_bytes::<RenderPatterns>(&bytes).unwrap(), patterns);
    }
}
