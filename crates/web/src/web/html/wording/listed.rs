//! Lists of short words that are known when the program is built, searched by a hash table: nearly all other words cost
//! one look into 4 KiB.

/// Places of the table; a few hundred words leave most of them empty.
const PLACES: usize = 2_048;
/// Words of a list, at most.
const LIST_MAX: usize = 1_024;

/// The lists.
pub(super) struct Listed {
    lists: &'static [&'static [&'static [u8]]],
    /// For each place the number of its list times `LIST_MAX` and that of its word in the list, plus 1; 0 where there
    /// is none. A word whose place is taken has the next empty one.
    places: [u16; PLACES],
}

impl Listed {
    /// The words of these lists, none of which is empty.
    pub(crate) const fn of(lists: &'static [&'static [&'static [u8]]]) -> Listed {
        let mut places = [0; PLACES];
        let mut list = 0;
        while list < lists.len() {
            let mut word = 0;
            while word < lists[list].len() {
                let mut at = place(lists[list][word]);
                while places[at] != 0 {
                    at = (at + 1) % PLACES;
                }
                places[at] = (list * LIST_MAX + word + 1) as u16;
                word += 1;
            }
            list += 1;
        }
        Listed { lists, places }
    }

    /// Returns whether a word, which is not empty, is in one of the lists.
    #[inline]
    pub(crate) fn has(&self, word: &[u8]) -> bool {
        let mut at = place(word);
        while let Some(number) = usize::from(self.places[at]).checked_sub(1) {
            if self.lists[number / LIST_MAX][number % LIST_MAX] == word {
                return true;
            }
            at = (at + 1) % PLACES;
        }
        false
    }
}

/// The first place of a word, by its length, and its first, last and middle byte.
#[inline]
const fn place(word: &[u8]) -> usize {
    let length = word.len();
    let (first, last, middle) = (word[0] as usize, word[length - 1] as usize, word[length / 2] as usize);
    (first.wrapping_mul(389) ^ last.wrapping_mul(151) ^ middle.wrapping_mul(1_031) ^ length.wrapping_mul(53)) % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_if_it_is_in_a_list() {
        // the last two have one place
        const LISTS: [&[&[u8]]; 2] = [&[b"monday", b"a", b"axbyc"], &[b"ago", b"azbyc"]];
        static LISTED: Listed = Listed::of(&LISTS);
        assert_eq!(place(b"axbyc"), place(b"azbyc"));
        for word in LISTS.concat() {
            assert!(LISTED.has(word));
        }
        for word in [&b"b"[..], b"mondaz", b"aybyc", b"agoo"] {
            assert!(!LISTED.has(word));
        }
    }
}
