//! Texts that are nearly the same, by eight parts of their signatures (`similar`).
//!
//! Two texts of resemblance J agree in one part with probability J^8. Two of the eight have to agree: that is so of
//! 99.7 % of the pairs with J = 0.95, 92 % at 0.9, 40 % at 0.8, and 0.04 % at 0.5.

use std::collections::HashMap;

use crate::similar::Signature;

/// Parts that have to agree.
const AGREE: usize = 2;

/// The parts of the signature of `text`, as numbers; none of a text without words. Each says which part it is, so their
/// order does not count.
pub(super) fn parts(text: &str) -> Vec<u64> {
    let Some(signature) = Signature::of(text) else { return Vec::new() };
    let number = |(at, part): (usize, &[u8; 8])| u64::from_le_bytes(*part) & !7 | at as u64;
    signature.parts().enumerate().map(number).collect()
}

/// Texts that were taken, none of which is nearly the same as another one.
#[derive(Default)]
pub(super) struct Taken {
    by_part: HashMap<u64, Vec<usize>>,
    count: usize,
}

impl Taken {
    /// Takes a text by its parts, unless it is nearly the same as one that was taken before.
    pub fn take(&mut self, parts: &[u64]) -> bool {
        let mut agreeing: HashMap<usize, usize> = HashMap::new();
        for text in parts.iter().filter_map(|part| self.by_part.get(part)).flatten() {
            let parts = agreeing.entry(*text).or_default();
            *parts += 1;
            if *parts >= AGREE {
                return false;
            }
        }
        parts.iter().for_each(|part| self.by_part.entry(*part).or_default().push(self.count));
        self.count += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_one_other_word_in_two_hundred_is_nearly_the_same_and_one_with_half_is_not() {
        let words: Vec<String> = (0..400).map(|at| format!("word{at}")).collect();
        let edited = |every: usize| {
            let word = |(at, word): (usize, &String)| if at % every == 7 { format!("x{at}") } else { word.clone() };
            words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
        };
        let mut taken = Taken::default();
        assert!(taken.take(&parts(&words.join(" "))));
        assert!(!taken.take(&parts(&words.join(" "))));
        assert!(!taken.take(&parts(&edited(200))));
        assert!(taken.take(&parts(&edited(10))));
        assert!(taken.take(&parts("")) && taken.take(&parts("")), "texts without words are none of them");
    }
}
