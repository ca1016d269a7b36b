//! The texts of two versions, and how much of the words differs, counted in linear time.

use std::collections::HashMap;

use super::Version;
use crate::reading::compared;
use crate::similar::pieces;
use crate::stored::{Entry, Response};

/// Two texts that can be compared.
pub(crate) struct Texts {
    before: String,
    now: String,
}

impl Texts {
    /// Returns what readers see of two versions; `None` where one of them is no text.
    pub(crate) fn of(before: &Version<'_>, now: &Version<'_>) -> anyhow::Result<Option<Texts>> {
        let Some(before) = lines_of(before.entry, &before.shown()?) else { return Ok(None) };
        let Some(now) = lines_of(now.entry, &now.shown()?) else { return Ok(None) };
        Ok(Some(Texts { before, now }))
    }

    /// True if the texts differ, not only the bytes.
    pub(crate) fn differ(&self) -> bool {
        self.before != self.now
    }

    /// The share of the words of both that only one of them has, wherever they are: each word counts as often as it
    /// occurs in one more often than in the other. Where words have no blanks between them, letters are compared.
    pub(crate) fn share_changed(&self) -> f64 {
        let mut surplus: HashMap<&str, i64> = HashMap::new();
        let mut all = 0_u64;
        for (text, step) in [(&self.before, -1), (&self.now, 1)] {
            for word in pieces(text) {
                *surplus.entry(word).or_default() += step;
                all += 1;
            }
        }
        let changed: u64 = surplus.values().map(|surplus| surplus.unsigned_abs()).sum();
        if all == 0 { 0.0 } else { changed as f64 / all as f64 }
    }
}

/// Returns the text that a reader sees of a version, in lines; `None` where that is not known.
pub(crate) fn lines_of(entry: &Entry, response: &Response) -> Option<String> {
    compared::lines_of(&response.decoded, content_type(entry, response).as_deref())
}

/// A version as it was sent, if it is text, in UTF-8.
pub(crate) fn source_of(entry: &Entry, response: &Response) -> Option<String> {
    compared::source_of(&response.decoded, content_type(entry, response).as_deref())
}

/// The type that the head states; without one, the type in the index.
fn content_type(entry: &Entry, response: &Response) -> Option<String> {
    response.content_type().or_else(|| Some(entry.mime.clone()).filter(|mime| !mime.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(before: &str, now: &str) -> f64 {
        Texts { before: before.to_owned(), now: now.to_owned() }.share_changed()
    }

    #[test]
    fn the_share_is_that_of_the_words() {
        assert_eq!(share("", ""), 0.0);
        assert_eq!(share("a b c", "a  b\nc"), 0.0);
        assert_eq!(share("", "a"), 1.0);
        assert_eq!(share("a b c d", "a x c d"), 0.25);
        assert_eq!(share("灯台は海を照らす古い", "灯台は海を照らす新しい"), 3.0 / 21.0);
        assert_eq!(share("ประภาคารเก่า", "ประภาคารเก่า "), 0.0);
    }

    #[test]
    fn texts_that_have_nothing_in_common_or_are_one_line_take_no_long_time() {
        let numbered = |from: u32| (from..from + 200_000).map(|n| format!("{n} ")).collect::<String>();
        assert_eq!(share(&numbered(0), &numbered(1_000_000)), 1.0);
        let alternating = |words: [&str; 2]| words.concat().repeat(20_000);
        assert_eq!(share(&alternating(["a ", "b "]), &alternating(["b ", "a "])), 0.0);
    }
}
