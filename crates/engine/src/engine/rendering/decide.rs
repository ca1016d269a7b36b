//! The pages that need a browser, learnt by origin and pattern of URLs ([`Patterns`]).
//!
//! A page without a script is never rendered. Of the others:
//!
//! - *Needed.* A pattern of which a rendering showed more links or clearly more text has all its pages rendered, until
//!   [`IN_VAIN_MAX`] of them in a row show nothing more; patterns that often did show more get more patience.
//! - *Not needed.* A pattern of which no rendering did is sampled: 5 pages later, 20 pages after that, then 80, 320,
//!   and each [`SAMPLE_EVERY_MAX`] pages. Its pages that look as if their scripts made them (hardly any links, or
//!   hardly any text) are rendered, until [`SCRIPTED_IN_VAIN_MAX`] of them showed nothing more.
//! - *Unknown.* A page that looks as if its scripts made it is tried. Any other one is, as far as tries go: each origin
//!   and the whole crawl have a number that may be in vain ([`Tries`]), and more with their pages. Pages that come
//!   while one is being tried wait for what comes of it.
//!
//! Where the closest pattern of a URL is unknown, a wider one is taken for it: where that one needs rendering, the
//! first page of the close one is tried whatever tries there are. Each close pattern has one voice in those that are
//! wider, so that `/wiki/~` is known after [`VOICES_MIN`] pages below `/wiki/`, and one close pattern of thousands of
//! pages says nothing of its neighbours.
//!
//! So what is rendered in vain is bounded by a share of the pages: tries by [`Tries`], samples by the logarithm of a
//! pattern's pages, and by [`SAMPLE_EVERY_MAX`].
//!
//! The table has [`PATTERNS_MAX`] entries; where it is full, the half that was not met for the longest goes: such
//! patterns are judged again. It is in every checkpoint of a crawl that renders.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::shape::Patterns;
use crate::contract::{Found, RenderWish};
use crate::fingerprint::Fingerprint;
use crate::web::url::KeyMaker;

/// Entries of the table.
const PATTERNS_MAX: usize = 65_536;
/// Pages of a pattern that needs no rendering until its first sample, how much rarer each sample is than the one
/// before, and how rare they get: the first where its renderings never showed more.
const SAMPLE_EVERY: u32 = 5;
const SAMPLE_RARER: u32 = 4;
const SAMPLE_EVERY_MAX: u32 = 1_000;
const SAMPLE_EVERY_MAX_AFTER_MORE: u32 = 50;
/// Renderings in a row that show nothing more, until a pattern is left alone; and as many more for each that did.
const IN_VAIN_MAX: u8 = 5;
const PATIENCE: u8 = 3;
const IN_VAIN_MAX_OF_ANY: u8 = 20;
/// Pages that look as if they needed it and are rendered in vain, until no page of their pattern is for its looks.
const SCRIPTED_IN_VAIN_MAX: u8 = 2;
/// Close patterns that a wider one is judged by.
const VOICES_MIN: u32 = 3;
/// Number of patterns of ten that have to show more to make a wider one that needs rendering.
const NEEDED_OF_TEN: u32 = 9;

/// Tries that may be in vain: so many, and one for as many pages.
struct Tries {
    first: u32,
    pages_for_one: u32,
}

const OF_ORIGIN: Tries = Tries { first: 5, pages_for_one: 50 };
const OF_CRAWL: Tries = Tries { first: 50, pages_for_one: 33 };

impl Tries {
    fn has(&self, pages: u32, in_vain: u32, in_progress: usize) -> bool {
        in_vain as usize + in_progress < (self.first + pages / self.pages_for_one) as usize
    }
}

/// Decision about a page that asks to be rendered, when it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is rendered.
    Render,
    /// It is stored as it was served.
    AsServed,
    /// It is rendered to see whether its pattern needs that. Others of the pattern wait for what comes of it.
    Try,
    /// There is no other try before one of this origin has ended: it waits for that.
    Wait,
}

/// Knowledge about the pattern of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Unknown,
    /// Its pages show more when they are rendered.
    Needed,
    /// They do not.
    NotNeeded,
}

/// Trials in progress beside a page that is judged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trials {
    pub of_origin: usize,
    pub of_crawl: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// True if its pages are rendered; of close patterns.
    needed: bool,
    /// Renderings in a row that showed nothing more, and those of them whose pages looked as if they needed it.
    in_vain: u8,
    scripted_in_vain: u8,
    /// Pages that were not rendered since the last rendering.
    passed: u32,
    /// Number of renderings that showed more, and of those that did not, in a close pattern or an origin. In a wide
    /// pattern: close ones that showed more, and that did not at first.
    more: u32,
    no_more: u32,
    /// Pages of an origin since the first that was rendered.
    pages: u32,
    /// Number of the rendering of the crawl at which it was met last.
    met: u64,
}

impl Entry {
    /// Returns what a wide pattern says, and whether the verdict of a wider one counts where it says nothing.
    fn says(&self) -> (Verdict, bool) {
        match (self.more, self.no_more) {
            (0, no_more) if no_more >= VOICES_MIN => (Verdict::NotNeeded, false),
            (0, _) => (Verdict::Unknown, true),
            (more, no_more) if more >= VOICES_MIN && more * 10 >= (more + no_more) * NEEDED_OF_TEN => {
                (Verdict::Needed, false)
            }
            _ => (Verdict::Unknown, false),
        }
    }

    /// Returns whether this page, which is not rendered for any other reason, is a sample; `of_wide`, of a wide
    /// pattern.
    fn is_sample(&mut self, of_wide: bool) -> bool {
        self.passed += 1;
        let max = if self.more > 0 { SAMPLE_EVERY_MAX_AFTER_MORE } else { SAMPLE_EVERY_MAX };
        let judged_by = if of_wide { VOICES_MIN } else { 1 };
        let rarer = SAMPLE_RARER.saturating_pow(u32::from(self.in_vain).saturating_sub(judged_by));
        let is_sample = self.passed > SAMPLE_EVERY.saturating_mul(rarer).min(max);
        if is_sample {
            self.passed = 0;
        }
        is_sample
    }

    /// A rendering of a page that shows `before` has ended.
    fn count(&mut self, is_more: bool, before: &Found) {
        self.passed = 0;
        (self.in_vain, self.scripted_in_vain) = match is_more {
            true => (0, 0),
            false => {
                let scripted = u8::from(before.looks_scripted());
                (self.in_vain.saturating_add(1), self.scripted_in_vain.saturating_add(scripted))
            }
        };
    }

    fn vote(&mut self, is_more: bool) {
        let votes = if is_more { &mut self.more } else { &mut self.no_more };
        *votes = votes.saturating_add(1);
    }

    fn in_vain_max(&self) -> u8 {
        let more = u8::try_from(self.more).unwrap_or(u8::MAX);
        IN_VAIN_MAX.saturating_add(more.saturating_mul(PATIENCE)).min(IN_VAIN_MAX_OF_ANY)
    }
}

/// Knowledge about patterns, learnt from renderings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RenderPatterns {
    /// Entries of patterns and of origins, by fingerprint.
    entries: BTreeMap<u64, Entry>,
    /// Renderings so far, by which entries tell their age.
    clock: u64,
    /// Pages so far, and tries that were in vain.
    pages: u64,
    tries_in_vain: u64,
}

impl RenderPatterns {
    /// Returns what is known of the pattern of `url`.
    pub fn verdict(&self, keys: &KeyMaker, origin: Fingerprint, url: &str) -> Verdict {
        self.known(&Patterns::of(keys, origin, url)).0
    }

    /// Returns what is known of them, and by which entry.
    fn known(&self, patterns: &Patterns) -> (Verdict, Option<(u64, &Entry)>) {
        if let Some(entry) = self.entries.get(&patterns.closest) {
            let verdict = if entry.needed { Verdict::Needed } else { Verdict::NotNeeded };
            return (verdict, Some((patterns.closest, entry)));
        }
        for key in &patterns.wider {
            let Some(entry) = self.entries.get(key) else { continue };
            match entry.says() {
                (Verdict::Unknown, true) => {}
                (Verdict::Unknown, false) => break,
                (verdict, _) => return (verdict, Some((*key, entry))),
            }
        }
        (Verdict::Unknown, None)
    }

    /// Returns whether the page of `url` is to be rendered.
    pub(crate) fn wish(&mut self, keys: &KeyMaker, origin: Fingerprint, url: &str) -> RenderWish {
        let patterns = Patterns::of(keys, origin, url);
        self.pages += 1;
        let clock = self.clock;
        if let Some(of_origin) = self.entries.get_mut(&origin.bits()) {
            (of_origin.pages, of_origin.met) = (of_origin.pages.saturating_add(1), clock);
        }
        let (verdict, by) = self.known(&patterns);
        let by = by.map(|(key, _)| key);
        let Some(entry) = by.and_then(|key| self.entries.get_mut(&key)) else {
            return if self.has_tries(origin, Trials::default()) { RenderWish::Try } else { RenderWish::IfScripted };
        };
        entry.met = clock;
        let of_wide = by != Some(patterns.closest);
        match verdict {
            Verdict::Needed if of_wide => RenderWish::Try,
            Verdict::Needed => RenderWish::Pattern,
            _ if entry.is_sample(of_wide) => RenderWish::Sample,
            _ if entry.scripted_in_vain >= SCRIPTED_IN_VAIN_MAX => RenderWish::No,
            _ => RenderWish::IfScripted,
        }
    }

    /// Decides about a page with `patterns` that shows `found`, by what is known now. `has_waited`: for what came of a
    /// try.
    pub(super) fn decide(
        &mut self,
        patterns: &Patterns,
        origin: Fingerprint,
        found: &Found,
        trials: Trials,
        has_waited: bool,
    ) -> Decision {
        let is_scripted = found.looks_scripted();
        let (verdict, by) = self.known(patterns);
        let by = by.map(|(key, _)| key);
        let of_wide = by != Some(patterns.closest);
        if verdict == Verdict::Needed {
            return if of_wide { Decision::Try } else { Decision::Render };
        }
        if let Some(entry) = by.and_then(|key| self.entries.get_mut(&key)) {
            let is_for_its_looks = is_scripted && entry.scripted_in_vain < SCRIPTED_IN_VAIN_MAX;
            // nobody knew when the page was asked for that it might be a sample
            let mut is_sample = || has_waited && entry.is_sample(of_wide);
            return if is_for_its_looks || is_sample() { Decision::Try } else { Decision::AsServed };
        }
        if is_scripted || self.has_tries(origin, trials) {
            return Decision::Try;
        }
        let may_have_tries = trials.of_origin > 0 && self.has_tries(origin, Trials::default());
        if may_have_tries { Decision::Wait } else { Decision::AsServed }
    }

    /// Returns whether a page of `origin` that does not look as if it needed it may be tried.
    fn has_tries(&self, origin: Fingerprint, trials: Trials) -> bool {
        let of_origin = self.entries.get(&origin.bits()).copied().unwrap_or_default();
        let [pages, in_vain] = [self.pages, self.tries_in_vain].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        OF_ORIGIN.has(of_origin.pages, of_origin.no_more, trials.of_origin)
            && OF_CRAWL.has(pages, in_vain, trials.of_crawl)
    }

    /// A page of `url` was rendered, and showed `after` where it had shown `before`. `is_try`: to see whether its
    /// pattern needs it.
    pub(crate) fn learn(
        &mut self,
        keys: &KeyMaker,
        origin: Fingerprint,
        url: &str,
        before: Found,
        after: Found,
        is_try: bool,
    ) {
        self.clock += 1;
        let patterns = Patterns::of(keys, origin, url);
        let is_more = after.is_more_than(&before);
        self.end_try(origin, is_try, is_more);
        let is_first = !self.entries.contains_key(&patterns.closest);
        let entry = self.entries.entry(patterns.closest).or_default();
        let has_changed = is_first || is_more && entry.more == 0;
        entry.count(is_more, &before);
        entry.vote(is_more);
        (entry.needed, entry.met) = (is_more || entry.needed && entry.in_vain < entry.in_vain_max(), self.clock);
        for key in patterns.wider {
            let entry = self.entries.entry(key).or_default();
            entry.met = self.clock;
            if has_changed {
                entry.count(is_more, &before);
                entry.vote(is_more);
            }
        }
        self.forget();
    }

    /// A page was tried and could not be rendered: that is a try in vain.
    pub(crate) fn failed(&mut self, origin: Fingerprint, is_try: bool) {
        self.end_try(origin, is_try, false);
        self.forget();
    }

    fn end_try(&mut self, origin: Fingerprint, is_try: bool, is_more: bool) {
        if is_try {
            let of_origin = self.entries.entry(origin.bits()).or_default();
            of_origin.met = self.clock;
            of_origin.vote(is_more);
            self.tries_in_vain += u64::from(!is_more);
        }
    }

    fn forget(&mut self) {
        if self.entries.len() > PATTERNS_MAX {
            let mut ages: Vec<u64> = self.entries.values().map(|entry| entry.met).collect();
            let middle = ages.len() / 2;
            let (_, &mut median, _) = ages.select_nth_unstable(middle);
            self.entries.retain(|_, entry| entry.met > median);
        }
    }

    /// True if nothing is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests;
