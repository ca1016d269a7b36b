//! Language and direction of a text.

use whatlang::{Detector, Info, Lang};

/// Bytes of a text that are looked at: the middle of a longer one, past what is at its top.
const BYTES_MAX: usize = 16 << 10;
/// Letters of a text by which its direction is found.
const LETTERS_MAX: usize = 100_000;

/// Characters of a line that is a sentence, and no entry of a menu or a list.
const SENTENCE_CHARS_MIN: usize = 60;

/// The language of `text` in ISO 639-3, where it is known: by its letters, and by runs of three of them (the package
/// whatlang, 70 languages). Where that is not sure, lists of names and menus are left out, and then what the page
/// `states`, a language tag, counts, if it is a language with such letters.
pub(super) fn of(text: &str, states: impl FnOnce() -> Option<String>) -> Option<&'static str> {
    let sure = |text: &str| whatlang::detect(text).filter(Info::is_reliable).map(|info| info.lang());
    let of_sentences = || {
        let is_sentence = |line: &&str| line.chars().nth(SENTENCE_CHARS_MIN).is_some();
        sure(&middle(text).lines().filter(is_sentence).collect::<Vec<_>>().join("\n"))
    };
    let stated = || Detector::with_allowlist(vec![of_tag(&states()?)?]).detect(middle(text)).map(|info| info.lang());
    sure(middle(text)).or_else(of_sentences).or_else(stated).map(|language| language.code())
}

/// The name in ISO 639-3 of the language of a tag of BCP 47 such as `de` or `pt-BR`, or of such a name itself, if it is
/// one of the languages that are known by their text.
pub fn code_of_tag(tag: &str) -> Option<&'static str> {
    of_tag(tag).map(|language| language.code())
}

/// The language of a tag of BCP 47, if it is one of those that are known by their text.
fn of_tag(tag: &str) -> Option<Lang> {
    let language = tag.split('-').next()?.to_ascii_lowercase();
    let found = TWO_LETTERS.iter().find(|(two, _)| *two == language).map(|(_, three)| *three);
    Lang::from_code(found.unwrap_or(&language))
}

/// Languages by their names in ISO 639-1 and 639-3.
#[rustfmt::skip]
const TWO_LETTERS: [(&str, &str); 70] = [
    ("af", "afr"), ("ak", "aka"), ("am", "amh"), ("ar", "ara"), ("az", "aze"), ("be", "bel"), ("bg", "bul"),
    ("bn", "ben"), ("ca", "cat"), ("cs", "ces"), ("da", "dan"), ("de", "deu"), ("el", "ell"),
    ("en", "eng"), ("eo", "epo"), ("es", "spa"), ("et", "est"), ("fa", "pes"), ("fi", "fin"), ("fr", "fra"),
    ("gu", "guj"), ("he", "heb"), ("hi", "hin"), ("hr", "hrv"), ("hu", "hun"), ("hy", "hye"), ("id", "ind"),
    ("it", "ita"), ("ja", "jpn"), ("jv", "jav"), ("ka", "kat"), ("km", "khm"), ("kn", "kan"), ("ko", "kor"),
    ("la", "lat"), ("lt", "lit"), ("lv", "lav"), ("mk", "mkd"), ("ml", "mal"), ("mr", "mar"), ("my", "mya"),
    ("nb", "nob"), ("ne", "nep"), ("nl", "nld"), ("no", "nob"), ("or", "ori"), ("pa", "pan"), ("pl", "pol"),
    ("pt", "por"), ("ro", "ron"), ("ru", "rus"), ("si", "sin"), ("sk", "slk"), ("sl", "slv"), ("sn", "sna"),
    ("sr", "srp"), ("sv", "swe"), ("ta", "tam"), ("te", "tel"), ("th", "tha"), ("tk", "tuk"), ("tl", "tgl"),
    ("tr", "tur"), ("uk", "ukr"), ("ur", "urd"), ("uz", "uzb"), ("vi", "vie"), ("yi", "yid"), ("zh", "cmn"),
    ("zu", "zul"),
];

/// The part of a text that is looked at.
fn middle(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(BYTES_MAX) / 2);
    &text[start..text.floor_char_boundary(start + BYTES_MAX)]
}

/// True if it is spelled as a language tag: subtags of at most eight letters and digits, the first of letters.
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

/// True if a letter is of a block whose letters are of class R or AL (Unicode Standard Annex 9): Hebrew to Arabic
/// Extended-A, their presentation forms, and the blocks of old scripts from U+10800 and U+1E800 on.
fn is_from_right(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0590..=0x08ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff | 0x10800..=0x10fff | 0x1e800..=0x1efff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_language_is_of_one_that_is_known() {
        for (two, three) in TWO_LETTERS {
            assert!(of_tag(two).is_some(), "{two} {three}");
        }
        assert_eq!(of_tag("pt-BR"), Some(Lang::Por));
        assert_eq!(of_tag("DEU"), Some(Lang::Deu));
        assert_eq!((of_tag("x-klingon"), of_tag("")), (None, None));
    }
}
