//! Phrases that are looked for all at once, in any case of ASCII letters.
//!
//! A phrase is text in small letters. `^` before it means at the beginning, `$` behind it at the end; ` * ` in it is a
//! gap of some words. In what people read it begins where a word does, in scripts that part their words; its last word
//! may go on; and what is in quotation marks is not said by the page itself. In markup it may be anywhere.
//!
//! They are looked up by their first bytes. An automaton over all of them is as fast on a page and takes 50 ms to make,
//! which every short crawl would pay.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Bytes of a gap.
const GAP_BYTES: usize = 80;
/// Bytes before a phrase in which the quotation begins that it is in.
const QUOTE_BYTES: usize = 120;
/// First bytes of a phrase by which it is looked up.
const KEY_BYTES: usize = 4;
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
    /// Made when it is asked for first: many crawls never ask for some of them.
    starts: OnceLock<Starts>,
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
                Some((text, rest)) if !text.is_empty() => (text, Some(rest.to_owned())),
                _ => (text, None),
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
        let text = in_small_letters(text);
        self.each_start(&text, |phrase, at| {
            if found[phrase.list].is_none() && self.has(phrase, &text, at) {
                found[phrase.list] = Some(&*phrase.written);
            }
        });
        found
    }

    /// True if a phrase of any list is in `text`.
    pub(super) fn is_any_in(&self, text: &str) -> bool {
        let text = in_small_letters(text);
        let mut is_in = false;
        self.each_start(&text, |phrase, at| is_in |= self.has(phrase, &text, at));
        is_in
    }

    /// True if `phrase`, whose text or its beginning is at that place, is whole there and said.
    fn has(&self, phrase: &Phrase, text: &str, at: usize) -> bool {
        phrase.is_at(text, at) && !(self.begin_words && is_quoted(text, at))
    }

    /// Calls `look` for each place in `text` where the text of a phrase is.
    fn each_start<'a>(&'a self, text: &str, mut look: impl FnMut(&'a Phrase, usize)) {
        let starts = self.starts.get_or_init(|| Starts::of(&self.phrases));
        let mut is_within = false;
        for (at, c) in text.char_indices() {
            let goes_on = self.begin_words && is_of_word(c);
            if !(is_within && goes_on) {
                let rest = &text.as_bytes()[at..];
                let candidates = starts.candidates(rest).map(|number| &self.phrases[number]);
                candidates
                    .filter(|phrase| rest.starts_with(phrase.text.as_bytes()))
                    .for_each(|phrase| look(phrase, at));
            }
            is_within = goes_on;
        }
    }
}

/// Numbers of phrases by how they begin.
#[derive(Debug)]
struct Starts {
    /// The first of those with a key of this hash.
    long: Vec<Option<usize>>,
    /// The first of those that are shorter than a key, and begin with this byte.
    short: [Option<usize>; 256],
    /// The next one of the same place, of each.
    next: Vec<Option<usize>>,
}

impl Starts {
    fn of(phrases: &[Phrase]) -> Starts {
        let long = vec![None; (2 * phrases.len()).next_power_of_two()];
        let mut starts = Starts { long, short: [None; 256], next: vec![None; phrases.len()] };
        for (number, phrase) in phrases.iter().enumerate().rev() {
            let text = phrase.text.as_bytes();
            let place = match starts.place(text) {
                Some(place) => &mut starts.long[place],
                None => &mut starts.short[usize::from(text[0])],
            };
            starts.next[number] = place.replace(number);
        }
        starts
    }

    /// The place of what begins so; `None` for what is shorter than a key.
    fn place(&self, text: &[u8]) -> Option<usize> {
        const SPREAD: u32 = 0x9e37_79b1;
        let key: &[u8; KEY_BYTES] = text.first_chunk()?;
        let hash = u32::from_le_bytes(*key).wrapping_mul(SPREAD);
        Some((hash >> 12) as usize & (self.long.len() - 1))
    }

    /// Numbers of phrases that may be at the beginning of `text`, in order, those that are long first.
    fn candidates(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        let chain = |first: Option<usize>| std::iter::successors(first, |&number| self.next[number]);
        let long = self.place(text).and_then(|place| self.long[place]);
        chain(long).chain(chain(self.short[usize::from(text[0])]))
    }
}

/// The text with small letters of ASCII, as phrases are written.
fn in_small_letters(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => Cow::Borrowed(text),
    }
}

/// True for a letter or a number of a script that parts its words.
fn is_of_word(c: char) -> bool {
    c < FIRST_UNPARTED && c.is_alphanumeric()
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
    /// True if the phrase, whose text or its beginning is at that place, is whole there.
    fn is_at(&self, text: &str, at: usize) -> bool {
        let end = at + self.text.len();
        let is_placed = !self.is_at_start || at == 0;
        let Some(rest) = &self.rest else { return is_placed && (!self.is_at_end || end == text.len()) };
        let behind = &text.as_bytes()[end..];
        let behind = &behind[..behind.len().min(GAP_BYTES + rest.len())];
        is_placed && memchr::memmem::find(behind, rest.as_bytes()).is_some()
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
