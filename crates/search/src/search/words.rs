//! The words of a text: runs of letters, digits and marks; of scripts without blanks between words, pairs of letters.
//!
//! A run of such letters ABCD becomes AB, BC, CD and D: every letter begins one word, so a question of one letter is
//! answered by the words that begin with it, and a longer one by pairs that follow each other.

use std::ops::Range;

use super::folding::{fold, is_mark};

/// Letters of a word that count; what is behind them is left out.
const LETTERS_MAX: usize = 64;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme {
    /// The bytes of the text that it is.
    pub place: Range<usize>,
    /// The word, folded.
    pub folded: String,
    /// True if it is of a script without blanks, so that it has no stem.
    pub is_unspaced: bool,
}

/// The words of a text, in their order.
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Words<'t> {
    /// The words of `text`.
    pub fn of(text: &'t str) -> Self {
        Words { text, at: 0 }
    }

    fn letters(&self) -> impl Iterator<Item = (usize, char)> + use<'t> {
        let at = self.at;
        self.text[at..].char_indices().map(move |(offset, letter)| (at + offset, letter))
    }
}

impl Words<'_> {
    /// The bytes of the next word.
    pub fn next_place(&mut self) -> Option<Range<usize>> {
        let (start, first) = self.letters().find(|(_, letter)| letter.is_alphanumeric())?;
        self.at = start + first.len_utf8();
        if is_unspaced(first) {
            let second = self.letters().next().filter(|(_, letter)| is_unspaced(*letter));
            return Some(start..second.map_or(self.at, |(at, letter)| at + letter.len_utf8()));
        }
        let is_inside = |letter: char| (letter.is_alphanumeric() || is_mark(letter)) && !is_unspaced(letter);
        let behind = self.letters().find(|(_, letter)| !is_inside(*letter));
        self.at = behind.map_or(self.text.len(), |(at, _)| at);
        Some(start..self.at)
    }
}

impl Iterator for Words<'_> {
    type Item = Lexeme;

    fn next(&mut self) -> Option<Lexeme> {
        let place = self.next_place()?;
        let word = &self.text[place.clone()];
        let counts = word.char_indices().nth(LETTERS_MAX).map_or(word, |(end, _)| &word[..end]);
        Some(Lexeme { place, folded: fold(counts), is_unspaced: word.starts_with(is_unspaced) })
    }
}

/// True for letters and marks of scripts that are written without blanks between words, and for Korean, whose words
/// have their particles behind them.
fn is_unspaced(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e01..=0x0e4e | 0x0e81..=0x0ede | 0x1000..=0x109f | 0x1780..=0x17dd // Thai, Lao, Burmese, Khmer
        | 0x1100..=0x11ff | 0x3130..=0x318f | 0xac00..=0xd7ff // Hangul
        | 0x3005..=0x3007 | 0x3041..=0x312f | 0x31a0..=0x31bf | 0x31f0..=0x31ff | 0xff66..=0xff9f // kana, Bopomofo
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff) // Han
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Vec<String> {
        Words::of(text).map(|word| word.folded).collect()
    }

    #[test]
    fn words_end_at_what_is_no_letter_and_marks_belong_to_them() {
        assert_eq!(folded("Don't—stop, C++ 3.14!"), ["don", "t", "stop", "c", "3", "14"]);
        assert_eq!(folded("cafe\u{301} हिन्दी"), ["cafe", "हिन्दी"]);
        assert_eq!(folded(" \u{301}?"), [""; 0]);
        assert_eq!(folded(&"a".repeat(1_000)), ["a".repeat(LETTERS_MAX)]);
    }

    #[test]
    fn scripts_without_blanks_are_pairs_and_every_letter_begins_one() {
        assert_eq!(folded("Rust言語入門です"), ["rust", "言語", "語入", "入門", "門で", "です", "す"]);
        assert_eq!(folded("水"), ["水"]);
        assert_eq!(folded("한국어를"), ["한국", "국어", "어를", "를"]);
        assert_eq!(folded("ไทย"), ["ไท", "ทย", "ย"]);
    }

    #[test]
    fn places_are_the_bytes_of_the_text() {
        let text = "Zoë 東京 x";
        let found: Vec<&str> = Words::of(text).map(|word| &text[word.place.clone()]).collect();
        assert_eq!(found, ["Zoë", "東京", "京", "x"]);
    }
}
