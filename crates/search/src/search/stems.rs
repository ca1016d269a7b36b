//! Stems of folded words, by the language of their page: an ISO 639-3 name, as `reading::facts` gives it.

use frostem::{Algorithm, Stemmer};

/// The languages that have a stemmer. Words of all others are taken as they are.
const STEMMERS: [(&str, Algorithm); 32] = [
    ("ara", Algorithm::Arabic),
    ("cat", Algorithm::Catalan),
    ("ces", Algorithm::Czech),
    ("dan", Algorithm::Danish),
    ("deu", Algorithm::German),
    ("ell", Algorithm::Greek),
    ("eng", Algorithm::English),
    ("epo", Algorithm::Esperanto),
    ("est", Algorithm::Estonian),
    ("fin", Algorithm::Finnish),
    ("fra", Algorithm::French),
    ("hin", Algorithm::Hindi),
    ("hun", Algorithm::Hungarian),
    ("hye", Algorithm::Armenian),
    ("ind", Algorithm::Indonesian),
    ("ita", Algorithm::Italian),
    ("lit", Algorithm::Lithuanian),
    ("nep", Algorithm::Nepali),
    ("nld", Algorithm::Dutch),
    ("nob", Algorithm::Norwegian),
    ("pes", Algorithm::Persian),
    ("pol", Algorithm::Polish),
    ("por", Algorithm::Portuguese),
    ("ron", Algorithm::Romanian),
    ("rus", Algorithm::Russian),
    ("spa", Algorithm::Spanish),
    ("srp", Algorithm::Serbian),
    ("swe", Algorithm::Swedish),
    ("tam", Algorithm::Tamil),
    ("tur", Algorithm::Turkish),
    ("ukr", Algorithm::Ukrainian),
    ("yid", Algorithm::Yiddish),
];

/// Takes the stems of words of one language.
pub(super) struct Stems(Option<Stemmer>);

impl Stems {
    /// The stemmer of `language`; one that changes nothing where there is none.
    pub fn of(language: &str) -> Stems {
        let found = STEMMERS.iter().find(|(name, _)| *name == language);
        Stems(found.map(|(_, algorithm)| Stemmer::new(*algorithm)))
    }

    /// Makes a folded word its stem.
    pub fn take(&self, word: &mut String) {
        if let Some(stemmer) = &self.0
            && let stem = stemmer.stem(word)
            && !stem.is_empty()
            && *stem != **word
        {
            *word = stem.into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::facts::code_of_tag;

    #[test]
    fn every_stemmer_is_of_a_language_that_a_text_is_recognised_by() {
        for (language, _) in STEMMERS {
            assert_eq!(code_of_tag(language), Some(language));
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem_and_a_language_without_a_stemmer_keeps_them() {
        let stem = |language: &str, word: &str| {
            let mut word = word.to_owned();
            Stems::of(language).take(&mut word);
            word
        };
        assert_eq!(stem("eng", "running"), stem("eng", "runs"));
        assert_eq!(stem("deu", "hausern"), stem("deu", "hauser"));
        assert_eq!(stem("fra", "maisons"), stem("fra", "maison"));
        assert_eq!(stem("rus", "книгами"), stem("rus", "книга"));
        assert_eq!(stem("cmn", "running"), "running");
        assert_eq!(stem("", "running"), "running");
    }
}
