//! A filter before lists of short words that are known when the program is built: nearly all other words fail it, at
//! the price of one look into half a KiB.

/// Bits; a few hundred words leave most of them unset.
const BITS: usize = 4_096;

/// The filter.
pub(super) struct Filter([u64; BITS / 64]);

impl Filter {
    /// One that all these words pass. None of them is empty.
    pub(crate) const fn of(lists: &[&[&[u8]]]) -> Filter {
        let mut bits = [0; BITS / 64];
        let mut list = 0;
        while list < lists.len() {
            let mut word = 0;
            while word < lists[list].len() {
                let place = place(lists[list][word]);
                bits[place / 64] |= 1 << (place % 64);
                word += 1;
            }
            list += 1;
        }
        Filter(bits)
    }

    /// True if a word, which is not empty, may be in the lists.
    #[inline]
    pub(crate) fn passes(&self, word: &[u8]) -> bool {
        let place = place(word);
        self.0[place / 64] >> (place % 64) & 1 == 1
    }
}

/// The bit of a word, by its length, and its first, last and middle byte.
#[inline]
const fn place(word: &[u8]) -> usize {
    let length = word.len();
    let (first, last, middle) = (word[0] as usize, word[length - 1] as usize, word[length / 2] as usize);
    (first.wrapping_mul(389) ^ last.wrapping_mul(151) ^ middle.wrapping_mul(1_031) ^ length.wrapping_mul(53)) % BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_lists_pass_and_few_others() {
        const LISTS: [&[&[u8]]; 2] = [&[b"monday", b"a"], &[b"ago"]];
        const FILTER: Filter = Filter::of(&LISTS);
        for word in LISTS.concat() {
            assert!(FILTER.passes(word));
        }
        let mut random = fastrand::Rng::with_seed(3);
        let word = |random: &mut fastrand::Rng| -> Vec<u8> {
            (0..random.usize(1..12)).map(|_| random.lowercase() as u8).collect()
        };
        let passed = (0..10_000).filter(|_| FILTER.passes(&word(&mut random))).count();
        assert!(passed < 600, "{passed}");
    }
}
