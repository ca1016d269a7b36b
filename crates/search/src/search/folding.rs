//! Words without case, accents, and the differences of forms that mean the same.
//!
//! By the compatibility decomposition of Unicode, which also makes wide letters narrow and takes ligatures apart. Then
//! the marks go that people leave out when they type: accents of Latin and Greek, stress and the dots of the Russian ё,
//! vowel signs of Arabic and Hebrew. Marks that make another letter stay, such as the breve of й, the voice marks of
//! kana and the vowels of Indian and Thai scripts. Pages and questions are folded alike, before their stems are
//! taken: so a word is found whether it was typed with its accents or without.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// The word as it is compared.
pub(super) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(word.len());
    let mut base = ' ';
    for letter in DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(word.chars()).flat_map(char::to_lowercase) {
        if is_left_out(letter, base) {
            continue;
        }
        if !is_mark(letter) {
            base = letter;
        }
        match plain(letter) {
            Some(letters) => folded.push_str(letters),
            None => folded.push(letter),
        }
    }
    ComposingNormalizerBorrowed::new_nfc().normalize(&folded).into_owned()
}

/// True for a mark that goes with the letter before it.
pub(super) fn is_mark(letter: char) -> bool {
    letter as u32 >= 0x300 && CanonicalCombiningClassMapBorrowed::new().get_u8(letter) != 0
}

/// Returns whether people leave out this mark of the letter `base`.
fn is_left_out(mark: char, base: char) -> bool {
    match mark {
        '\u{301}' | '\u{300}' if is_cyrillic(base) => true,
        '\u{308}' if is_cyrillic(base) => base == 'е',
        '\u{300}'..='\u{36f}' => !is_cyrillic(base),
        // Hebrew points; Arabic vowel signs, the hamza of an alef, and the stroke that makes a word longer
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' => true,
        '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{640}' => true,
        _ => false,
    }
}

fn is_cyrillic(letter: char) -> bool {
    matches!(letter, '\u{400}'..='\u{52f}')
}

/// Letters of Latin script that have no decomposition, as they are written without them.
fn plain(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ı' => "i",
        'ς' => "σ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_accents_and_forms_are_one_and_other_letters_stay() {
        for (word, folded) in [
            ("Crème", "creme"),
            ("ÄRGER", "arger"),
            ("Straße", "strasse"),
            ("İstanbul", "istanbul"),
            ("ﬁne", "fine"),
            ("ＡＢＣ１", "abc1"),
            ("ΆΝΕΜΟΣ", "ανεμοσ"),
            ("Ёлка", "елка"),
            ("мой", "мой"),
            ("їжак", "їжак"),
            ("ガギ", "ガギ"),
            ("ｶﾞ", "ガ"),
            ("한국", "한국"),
            ("हिन्दी", "हिन्दी"),
            ("كِتَابٌ", "كتاب"),
            ("שָׁלוֹם", "שלום"),
        ] {
            assert_eq!(fold(word), folded, "{word}");
            assert_eq!(fold(&fold(word)), folded, "{word}");
        }
    }
}
