//! Phrases that are looked for all at once, in any case of ASCII letters.
//!
//! A phrase is text. `^` before it means at the beginning, `$` behind it at the end; ` * ` in it is a gap of
//! some words.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Bytes of a gap.
const GAP_BYTES: usize = 80;
/// Bytes of a phrase that are looked up fastest: more of them cost memory.
const DENSE_DEPTH: usize = 3;
/// The mark of a gap.
const GAP: &str = " * ";

/// Lists of phrases; a number stands for each.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    phrases: Vec<Phrase>,
    lists: usize,
    /// Made when it is asked for first: most crawls never ask for some of them.
    automaton: OnceLock<AhoCorasick>,
}

#[derive(Debug)]
struct Phrase {
    list: usize,
    written: String,
    text: String,
    is_at_start: bool,
    is_at_end: bool,
    /// The part behind a gap.
    rest: Option<String>,
}

impl Phrases {
    /// Takes a list in; its number, none for an empty one.
    pub(super) fn take(&mut self, list: &[String]) -> Option<usize> {
        if list.is_empty() {
            return None;
        }
        for phrase in list {
            let (text, is_at_start) = phrase.strip_prefix('^').map_or((&**phrase, false), |text| (text, true));
            let (text, is_at_end) = text.strip_suffix('$').map_or((text, false), |text| (text, true));
            let (text, rest) = match text.split_once(GAP) {
                Some((text, rest)) => (text, Some(rest.to_owned())),
                None => (text, None),
            };
            let written = phrase.clone();
            self.phrases.push(Phrase {
                list: self.lists,
                written,
                text: text.to_owned(),
                is_at_start,
                is_at_end,
                rest,
            });
        }
        self.lists += 1;
        Some(self.lists - 1)
    }

    /// The first phrase of each list that is in `text`, as it is written.
    pub(super) fn lists_in<'a>(&'a self, text: &str) -> Vec<Option<&'a str>> {
        let mut found = vec![None; self.lists];
        for (phrase, end) in self.found(text) {
            if found[phrase.list].is_none() && phrase.is_at(text, end) {
                found[phrase.list] = Some(&*phrase.written);
            }
        }
        found
    }

    /// True if a phrase of any list is in `text`.
    pub(super) fn is_any_in(&self, text: &str) -> bool {
        self.found(text).any(|(phrase, end)| phrase.is_at(text, end))
    }

    fn found<'a>(&'a self, text: &str) -> impl Iterator<Item = (&'a Phrase, usize)> {
        let automaton = self.automaton.get_or_init(|| {
            let texts = self.phrases.iter().map(|phrase| &phrase.text);
            let made = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .dense_depth(DENSE_DEPTH)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(texts);
            made.expect("an automaton has room for far more phrases than rules can have")
        });
        automaton.find_overlapping_iter(text).map(|found| (&self.phrases[found.pattern().as_usize()], found.end()))
    }
}

impl Phrase {
    /// True if the phrase, whose text or its beginning ends at `end`, is whole there.
    fn is_at(&self, text: &str, end: usize) -> bool {
        let is_placed = !self.is_at_start || end == self.text.len();
        let Some(rest) = &self.rest else { return is_placed && (!self.is_at_end || end == text.len()) };
        let behind = &text.as_bytes()[end..];
        let behind = &behind[..behind.len().min(GAP_BYTES + rest.len())];
        let mut places = behind.windows(rest.len().max(1));
        is_placed && places.any(|place| place.eq_ignore_ascii_case(rest.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_where_it_says() {
        for (phrase, text, expected) in [
            ("not found", "Page NOT Found!", true),
            ("^not found", "Page not found", false),
            ("^page", "Page not found", true),
            ("found$", "not found", true),
            ("found$", "found it", false),
            ("you requested * not", "The page you requested could not be", true),
            ("you requested * not", "you requested x. not", true),
            ("you requested * not", &format!("you requested {} not", "x".repeat(90)), false),
            ("не найден", "страница не найдена", true),
        ] {
            let mut phrases = Phrases::default();
            let list = phrases.take(&[phrase.to_owned()]).unwrap();
            assert_eq!(phrases.lists_in(text)[list], expected.then_some(phrase), "{phrase} in {text}");
            assert_eq!(phrases.is_any_in(text), expected, "{phrase} in {text}");
        }
    }
}
