//! Words of a text: hashes, as shingles are made of them, and pieces, as versions are compared by them.

use crate::fingerprint::mix_next;

/// Calls `take` with a hash of each word of `text`, in lower case. A word is a run of letters and digits; where words
/// have no blanks between them (Han, kana, Thai, Lao, Khmer, Myanmar) each letter is one.
pub fn words(text: &str, mut take: impl FnMut(u64)) {
    let mut word = None;
    for letter in text.chars() {
        if !letter.is_alphanumeric() {
            word.take().into_iter().for_each(&mut take);
            continue;
        }
        let stands_alone = stands_alone(letter);
        if stands_alone {
            word.take().into_iter().for_each(&mut take);
        }
        for lower in letter.to_lowercase() {
            word = Some(mix_next(word.unwrap_or(0) ^ u64::from(lower)));
        }
        if stands_alone {
            word.take().into_iter().for_each(&mut take);
        }
    }
    word.into_iter().for_each(take);
}

/// The pieces of `text` between blanks; where words have no blanks between them, each letter is one.
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let end = match stands_alone(first) {
                true => first.len_utf8(),
                false => rest.find(stands_alone).unwrap_or(rest.len()),
            };
            let (piece, behind) = rest.split_at(end);
            rest = behind;
            Some(piece)
        })
    })
}

/// True if a letter is of a script that is written without blanks.
fn stands_alone(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        let mut count = 0;
        words(text, |_| count += 1);
        count
    }

    fn hashes(text: &str) -> Vec<u64> {
        let mut found = Vec::new();
        words(text, |word| found.push(word));
        found
    }

    #[test]
    fn pieces_are_what_stands_between_blanks_and_single_letters_of_scripts_without_blanks() {
        let all = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(all(" it's  3.14\n"), ["it's", "3.14"]);
        assert_eq!(all("日本語のabc。古い"), ["日", "本", "語", "の", "abc。", "古", "い"]);
        assert_eq!(all("กข 1"), ["ก", "ข", "1"]);
        assert_eq!(all(""), [""; 0]);
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_and_single_letters_of_scripts_without_blanks() {
        for (text, expected) in
            [("", 0), (" -, ", 0), ("one two\nthree", 3), ("it's 3.14", 4), ("日本語のabc", 5), ("Äpfel", 1)]
        {
            assert_eq!(count(text), expected, "{text}");
        }
        assert_eq!(hashes("One, TWO"), hashes("one two"));
        assert_ne!(hashes("one two"), hashes("two one"));
        assert_ne!(hashes("ab"), hashes("ba"));
    }
}
