//! Excerpts of pages: the part of a text that has most of the words that were asked for.

use std::collections::HashSet;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use super::analyzer::TermsOfPage;
use super::plan::Marked;

/// Bytes of an excerpt, and those before its first word.
const BYTES_MAX: usize = 240;
const BEFORE_BYTES: usize = 60;
/// Bytes of a text that are looked at.
const LOOKED_AT_MAX: usize = 256 << 10;

/// An excerpt: plain text, never HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snippet {
    /// The text, in one line; `…` where it was cut.
    pub text: String,
    /// The words that were asked for: places in `text`, in bytes of UTF-8, in their order.
    pub marks: Vec<Range<usize>>,
}

/// A word that was asked for.
struct Marking {
    place: Range<usize>,
    term: String,
}

impl Snippet {
    /// The excerpt of `text`, of a page in `language`.
    pub(super) fn of(text: &str, language: &str, marked: &Marked) -> Snippet {
        let looked_at = &text[..text.floor_char_boundary(LOOKED_AT_MAX)];
        let (mut terms, mut found) = (TermsOfPage::of(language, looked_at), Vec::new());
        while let Some(place) = terms.next_place() {
            let term = terms.term(place.clone());
            if marked.has(term) {
                found.push(Marking { term: term.to_owned(), place });
            }
        }
        let part = part(text, best(&found));
        let places =
            found.iter().map(|word| &word.place).filter(|place| part.start <= place.start && place.end <= part.end);
        Snippet::written(text, part.clone(), places)
    }

    /// The part in one line.
    fn written<'a>(text: &str, part: Range<usize>, places: impl Iterator<Item = &'a Range<usize>>) -> Snippet {
        let mut snippet = Snippet::default();
        if part.start > 0 {
            snippet.text.push('…');
        }
        let mut at = part.start;
        for place in places {
            // pairs of letters overlap
            let start = place.start.max(at);
            snippet.push(&text[at..start]);
            let from = snippet.text.len();
            snippet.push(&text[start..place.end.max(start)]);
            match snippet.marks.last_mut().filter(|last| last.end == from) {
                Some(last) => last.end = snippet.text.len(),
                None => snippet.marks.push(from..snippet.text.len()),
            }
            at = place.end.max(start);
        }
        snippet.push(&text[at..part.end]);
        snippet.text.truncate(snippet.text.trim_end().len());
        if part.end < text.trim_end().len() {
            snippet.text.push('…');
        }
        snippet
    }

    /// Appends text with runs of white space made one blank.
    fn push(&mut self, text: &str) {
        for letter in text.chars() {
            match letter.is_whitespace() {
                true if self.text.is_empty() || self.text.ends_with([' ', '…']) => {}
                true => self.text.push(' '),
                false => self.text.push(letter),
            }
        }
    }
}

/// The place of the first word of the excerpt that has most different words, and of those the one with most at all.
fn best(found: &[Marking]) -> usize {
    let mut best = (0, 0, 0);
    let mut end = 0;
    for (first, word) in found.iter().enumerate() {
        end = end.max(first);
        while end < found.len() && found[end].place.end <= word.place.start + BYTES_MAX - BEFORE_BYTES {
            end += 1;
        }
        let words = &found[first..end];
        // an excerpt has no more words than half its bytes
        let different = words.iter().map(|word| &word.term).collect::<HashSet<_>>().len();
        if (different, words.len()) > (best.0, best.1) {
            best = (different, words.len(), word.place.start);
        }
    }
    best.2
}

/// The part of the text around a word, from a beginning of a word to an end of one.
fn part(text: &str, word: usize) -> Range<usize> {
    let is_blank = |letter: char| letter.is_whitespace();
    let from = text.ceil_char_boundary(word.saturating_sub(BEFORE_BYTES));
    let start = if word <= BEFORE_BYTES { 0 } else { text[from..word].find(is_blank).map_or(from, |at| from + at + 1) };
    let start = text.ceil_char_boundary(start);
    let to = text.floor_char_boundary(start + BYTES_MAX);
    let end = if to == text.len() { to } else { text[start..to].rfind(is_blank).map_or(to, |at| start + at) };
    start..if end > word { end } else { to }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(terms: &[&str]) -> Marked {
        Marked::of_terms(terms)
    }

    fn marks(snippet: &Snippet) -> Vec<&str> {
        snippet.marks.iter().map(|mark| &snippet.text[mark.clone()]).collect()
    }

    #[test]
    fn an_excerpt_is_where_most_words_are_and_marks_all_forms() {
        let filler = "nothing to see here and so on ".repeat(40);
        let text = format!("One page.\n{filler}The crawlers were\n\n running <b>pages</b> of crawls. {filler}");
        let snippet = Snippet::of(&text, "eng", &marked(&["crawl", "run", "page", "crawler"]));
        assert_eq!(marks(&snippet), ["crawlers", "running", "pages", "crawls"]);
        assert!(snippet.text.contains("were running <b>pages</b> of"), "{}", snippet.text);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…') && snippet.text.len() < 300);
    }

    #[test]
    fn a_text_without_the_words_begins_at_its_beginning() {
        let snippet = Snippet::of("  Short\ttext ", "", &marked(&["x"]));
        assert_eq!(snippet, Snippet { text: "Short text".to_owned(), marks: Vec::new() });
        assert_eq!(Snippet::of("", "eng", &marked(&["x"])), Snippet::default());
    }

    #[test]
    fn pairs_of_letters_are_one_mark() {
        let snippet = Snippet::of("日本語の東京都です", "jpn", &marked(&["東京", "京都"]));
        assert_eq!(marks(&snippet), ["東京都"]);
    }

    #[test]
    fn no_text_breaks_it() {
        let text = "é水\u{301} \u{200b}x".repeat(200);
        for length in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
            let snippet = Snippet::of(&text[..length], "", &marked(&["x", "水"]));
            marks(&snippet);
        }
    }
}
