//! The words of a page as tantivy takes them. A value begins with the language of its page, by whose stemmer the words
//! are taken: one field for pages of all languages, and no more memory for a text that waits than its own.

use std::collections::HashMap;
use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::stems::Stems;
use super::words::Words;

/// The name by which fields refer to it.
pub(super) const NAME: &str = "page";
/// Ends the language at the beginning of a value.
const END: char = '\u{1}';

/// A value of a field with the words of a page in `language`.
pub(super) fn value(language: &str, text: &str) -> String {
    format!("{language}{END}{text}")
}

/// The terms of `text`, where it is of a page in `language`.
pub(super) fn terms<'t>(language: &str, text: &'t str) -> Terms<'t> {
    Terms { words: Words::of(text), stems: Stems::of(language) }
}

/// The terms of a text, each with its word.
pub(super) struct Terms<'t> {
    words: Words<'t>,
    stems: Stems,
}

impl Iterator for Terms<'_> {
    type Item = super::words::Lexeme;

    fn next(&mut self) -> Option<Self::Item> {
        let mut word = self.words.next()?;
        if !word.is_unspaced {
            self.stems.take(&mut word.folded);
        }
        Some(word)
    }
}

/// The terms of a page, most of whose words come again and again: each different one is folded and loses its ending
/// once.
pub(super) struct TermsOfPage<'t> {
    text: &'t str,
    words: Words<'t>,
    language: &'t str,
    known: HashMap<&'t str, String>,
}

impl<'t> TermsOfPage<'t> {
    /// The terms of `text`, of a page in `language`.
    pub fn of(language: &'t str, text: &'t str) -> Self {
        TermsOfPage { text, words: Words::of(text), language, known: HashMap::new() }
    }

    /// The bytes of the next word.
    pub fn next_place(&mut self) -> Option<Range<usize>> {
        self.words.next_place()
    }

    /// The term of the word at `place`.
    pub fn term(&mut self, place: Range<usize>) -> &str {
        let word = &self.text[place];
        let term = || terms(self.language, word).next().map(|term| term.folded).unwrap_or_default();
        self.known.entry(word).or_insert_with(term)
    }
}

/// The tokenizer.
#[derive(Clone, Default)]
pub(super) struct Analyzer;

impl Tokenizer for Analyzer {
    type TokenStream<'a> = Tokens<'a>;

    fn token_stream<'a>(&'a mut self, value: &'a str) -> Tokens<'a> {
        let (language, text) = value.split_once(END).unwrap_or_default();
        Tokens { terms: TermsOfPage::of(language, text), token: Token::default() }
    }
}

/// Its stream. Offsets are those in the text.
pub(super) struct Tokens<'a> {
    terms: TermsOfPage<'a>,
    token: Token,
}

impl TokenStream for Tokens<'_> {
    fn advance(&mut self) -> bool {
        let Some(place) = self.terms.next_place() else { return false };
        (self.token.offset_from, self.token.offset_to) = (place.start, place.end);
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        self.token.text.push_str(self.terms.term(place));
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
