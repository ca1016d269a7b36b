//! Language and direction of a text.

use whatlang::Info;

/// Bytes of a text that are looked at: the middle of a longer one, past what is at its top.
const BYTES_MAX: usize = 16 << 10;
/// Letters of a text whose direction is told.
const LETTERS_MAX: usize = 100_000;

/// The language of `text` in ISO 639-3, if it is sure: by its letters, and by runs of three of them (the package
/// whatlang, 70 languages).
pub(super) fn of(text: &str) -> Option<&'static str> {
    let text = middle(text);
    whatlang::detect(text).filter(Info::is_reliable).map(|info| info.lang().code())
}

/// The part of a text that is looked at.
fn middle(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(BYTES_MAX) / 2);
    &text[start..text.floor_char_boundary(start + BYTES_MAX)]
}

/// Whether it is spelled as a language tag: subtags of at most eight letters and digits, the first of letters.
pub(super) fn is_tag(tag: &str) -> bool {
    let is_subtag = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    let first = tag.split('-').next().unwrap_or_default();
    tag.split('-').all(is_subtag) && first.bytes().all(|b| b.is_ascii_alphabetic())
}

/// The direction of most letters of a text; nothing where it has none.
pub(super) fn direction(text: &str) -> Option<&'static str> {
    let (mut right, mut all) = (0_usize, 0_usize);
    for letter in text.chars().filter(|letter| letter.is_alphabetic()).take(LETTERS_MAX) {
        all += 1;
        right += usize::from(is_from_right(letter));
    }
    (all > 0).then_some(if 2 * right > all { "rtl" } else { "ltr" })
}

/// Whether a letter is of a block whose letters are of class R or AL (Unicode Standard Annex 9): Hebrew to Arabic
/// Extended-A, their presentation forms, and the blocks of old scripts from U+10800 and U+1E800 on.
fn is_from_right(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0590..=0x08ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff | 0x10800..=0x10fff | 0x1e800..=0x1efff)
}
