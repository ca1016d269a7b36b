//! Phrases that are looked for all at once, in any case of ASCII letters.
//!
//! A phrase is text. `^` before it means at the beginning, `$` behind it at the end; ` * ` in it is a gap of
//! some words. In what people read it begins where a word does, in scripts that part their words; its last word may go
//! on; and what is in quotation marks is not said by the page itself. In markup it may be anywhere.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Bytes of a gap.
const GAP_BYTES: usize = 80;
/// Bytes before a phrase in which the quotation begins that it is in.
const QUOTE_BYTES: usize = 120;
/// Bytes of a phrase that are looked up fastest: more of them cost memory.
const DENSE_DEPTH: usize = 3;
/// The first character behind those of scripts that part their words: kana, ideographs, Hangul syllables.
const FIRST_UNPARTED: char = '\u{3000}';
/// The mark of a gap.
const GAP: &str = " * ";

/// Lists of phrases; a number stands for each.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    phrases: Vec<Phrase>,
    lists: usize,
    /// True if phrases begin where words do.
    begin_words: bool,
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
    /// Lists for what people read.
    pub(super) fn of_words() -> Phrases {
        Phrases { begin_words: true, ..Phrases::default() }
    }

    /// Takes a list in; its number, none for an empty one.
    pub(super) fn take(&mut self, list: &[String]) -> Option<usize> {
        if list.is_empty() {
            return None;
        }
        for phrase in list {
            let at_start = phrase.strip_prefix('^').filter(|text| !text.is_empty());
            let text = at_start.unwrap_or(phrase);
            // the sign of a currency is text
            let at_end = text.strip_suffix('$').filter(|text| !text.is_empty());
            let (is_at_start, is_at_end) = (at_start.is_some(), at_end.is_some());
            let text = at_end.unwrap_or(text);
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
            if found[phrase.list].is_none() && self.has(phrase, text, end) {
                found[phrase.list] = Some(&*phrase.written);
            }
        }
        found
    }

    /// True if a phrase of any list is in `text`.
    pub(super) fn is_any_in(&self, text: &str) -> bool {
        self.found(text).any(|(phrase, end)| self.has(phrase, text, end))
    }

    fn has(&self, phrase: &Phrase, text: &str, end: usize) -> bool {
        let at = end - phrase.text.len();
        let is_said = || begins_word(text, at) && !is_quoted(text, at);
        phrase.is_at(text, end) && (!self.begin_words || is_said())
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

/// False within a word of a script that parts words.
fn begins_word(text: &str, at: usize) -> bool {
    let is_of_word = |c: &char| c.is_alphanumeric() && *c < FIRST_UNPARTED;
    let before = text[..at].chars().next_back();
    !(before.as_ref().is_some_and(is_of_word) && text[at..].chars().next().as_ref().is_some_and(is_of_word))
}

/// True within quotation marks that were opened a little before.
fn is_quoted(text: &str, at: usize) -> bool {
    // all texts of JSON are in them
    if text.starts_with(['{', '[']) {
        return false;
    }
    let start = text.floor_char_boundary(at.saturating_sub(QUOTE_BYTES));
    let mut behind = text[at..].chars().next();
    for (place, c) in text[start..at].char_indices().rev() {
        let before = text[..start + place].chars().next_back();
        let opens = behind.is_some_and(char::is_alphanumeric) && !before.is_some_and(char::is_alphanumeric);
        let is_apostrophe = c == '\'' && [before, behind].iter().all(|c| c.is_some_and(char::is_alphanumeric));
        match c {
            '„' | '«' | '「' | '『' => return true,
            // one that opens in English closes in German
            '“' | '"' | '\'' if !is_apostrophe => return opens,
            '»' | '”' | '」' | '』' => return false,
            _ => behind = Some(c),
        }
    }
    false
}

/// True for a phrase that is one word. Of scripts that do not part their words, it is a short one.
pub(super) fn is_word(phrase: &str) -> bool {
    const CHARS: usize = 3;
    let phrase = phrase.trim_matches(['^', '$', ' ']);
    let unparted = phrase.chars().filter(|c| *c >= FIRST_UNPARTED).count();
    !phrase.contains(char::is_whitespace) && unparted <= CHARS
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
            ("$", "free", false),
            ("$", "3 $ a month", true),
            ("ban", "urban", false),
            ("ban", "a ban, bans", true),
            ("бан", "урбан", false),
            ("404", "1404", false),
            ("見つかりません", "ページが見つかりません", true),
            ("log in", "fixed: \"log in again\" is shown", false),
            ("log in", "'log in again' is shown", false),
            ("rate limit", r#"{"message": "rate limit exceeded"}"#, true),
            ("accès refusé", "l'accès refusé", true),
            ("log in", "it says \"no\"; log in again", true),
            ("weiterlesen", "der satz „dieser text ist bezahlt. jetzt weiterlesen.“ steht da", false),
            ("weiterlesen", "„ein zitat“ jetzt weiterlesen", true),
            ("weiterlesen", "«ein zitat» jetzt weiterlesen", true),
            ("read on", "the words “read on” are gone", false),
            ("read on", "“a word” read on", true),
        ] {
            let mut phrases = Phrases::of_words();
            let list = phrases.take(&[phrase.to_owned()]).unwrap();
            assert_eq!(phrases.lists_in(text)[list], expected.then_some(phrase), "{phrase} in {text}");
            assert_eq!(phrases.is_any_in(text), expected, "{phrase} in {text}");
        }
        let mut anywhere = Phrases::default();
        anywhere.take(&["ban".to_owned()]);
        assert!(anywhere.is_any_in("<div class=urban>"));
    }
}
