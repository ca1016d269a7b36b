//! The number of pages of an origin that say nearly the same: the budget that ends traps without a pattern in their
//! URLs.
//!
//! A site that gives one page under ever new URLs (faceted lists without entries, calendars without events) is stored
//! as far as this budget goes. Of every page beyond it the links are not followed, so the trap grows no further: with N
//! pages of a budget and F new links on each, N (1 + F) pages or so are stored.
//!
//! - **What counts.** The text of an HTML page by its [`Wording`](crate::web::html::Wording): without numbers, dates
//!   and what frames it. From its minwise [`Signature`] eight keys are made ([`Likeness`]), and each is counted with
//!   the origin in a [`Sketch`] of 2 MiB. A page is one of many where five of its eight keys were counted more often
//!   than the limit says. So of pages that all resemble each other by 0.95 nearly every one is recognised, by 0.9 most,
//!   and of those that only have a template in common, by 0.7 and less, none. A page without words counts for nothing.
//! - **What is not stopped**, by `admission`: seeds, and where they redirect; what a page embeds as its requisite;
//!   redirects; sitemaps and feeds. Pages that are fetched again are judged and not counted: their URL was.
//! - **Over restarts.** The counts are part of every checkpoint, and pages are counted in the order of the archive. So
//!   a replay counts the same pages in the same order behind the same checkpoint, and stops at the same ones.
//! - Where link files were lost and are sent once more (`resend`), links of such pages are among them.
//!
//! Keys are digests by the crawl's own polynomial, so that nobody can aim at the texts of somebody else. Where there is
//! no limit, nothing is computed, counted or written.

use super::sketch::Sketch;
use crate::contract::Likeness;
use crate::fingerprint::Fingerprint;

/// Number of keys of a page that have to be beyond the limit.
const ENOUGH: usize = 5;

/// The budget and what is used of it.
pub struct TextBudget {
    used: Sketch,
}

impl TextBudget {
    /// A budget of `limit` pages a text, with what `saved` (from [`TextBudget::encode`]) says was used; `None` for
    /// bytes that are something else. Without a limit what was counted is forgotten.
    pub(crate) fn open(limit: Option<u64>, saved: &[u8]) -> Option<Self> {
        Some(TextBudget { used: Sketch::open(limit, if limit.is_some() { saved } else { &[] })? })
    }

    /// The number of pages of one text that an origin may have.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.used.limit()
    }

    /// Returns whether more pages of `origin` have nearly this text than the limit says, with one more that `is_new`.
    pub(crate) fn is_beyond(&mut self, origin: Fingerprint, likeness: &Likeness, is_new: bool) -> bool {
        let Some(limit) = self.used.limit() else { return false };
        let beyond = likeness.keys().iter().filter(|key| {
            let hash = key.rotate_left(32) ^ origin.bits();
            let met = if is_new { self.used.count(hash) } else { self.used.counted(hash) };
            u64::from(met) > limit
        });
        beyond.count() >= ENOUGH
    }

    /// Appends what was counted.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.used.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprinter;
    use crate::web::url::KeyMaker;

    const ORIGIN: Fingerprint = Fingerprint::from_bits(77);

    fn keys() -> KeyMaker {
        KeyMaker::new(Fingerprinter::random(5), &[])
    }

    /// A text of `words` words, of which the last `own` are of page `number` alone.
    fn text(number: usize, words: usize, own: usize) -> Likeness {
        let word = |n: usize| if n < words - own { format!("word{n}") } else { format!("page{number}word{n}") };
        let text: Vec<String> = (0..words).map(word).collect();
        Likeness::of(text.join(" ").as_bytes(), &keys()).unwrap()
    }

    fn beyond(budget: &mut TextBudget, own: usize) -> usize {
        (0..300).filter(|&number| budget.is_beyond(ORIGIN, &text(number, 300, own), true)).count()
    }

    #[test]
    fn pages_of_nearly_one_text_are_beyond_their_budget_and_pages_of_one_template_are_not() {
        let mut budget = TextBudget::open(Some(20), &[]).unwrap();
        assert_eq!(beyond(&mut budget, 0), 280, "the same text");
        // runs of five words in common, of all that two pages have: 292 of 300, 284 of 308, and 146 of 446
        let nearly = beyond(&mut TextBudget::open(Some(20), &[]).unwrap(), 4);
        assert!(nearly > 250, "{nearly}");
        assert_eq!(beyond(&mut TextBudget::open(Some(20), &[]).unwrap(), 150), 0, "half of it is a template");
        assert_eq!(beyond(&mut TextBudget::open(None, &[]).unwrap(), 0), 0, "no limit");
        assert!(!budget.is_beyond(Fingerprint::from_bits(78), &text(0, 300, 0), true), "another origin");
    }

    #[test]
    fn a_page_that_is_fetched_again_is_judged_and_not_counted() {
        let mut budget = TextBudget::open(Some(2), &[]).unwrap();
        let page = text(1, 30, 0);
        let mut of = |is_new| budget.is_beyond(ORIGIN, &page, is_new);
        assert_eq!(
            [of(true), of(true), of(false), of(false), of(true), of(false)],
            [false, false, false, false, true, true]
        );
    }

    #[test]
    fn what_was_counted_comes_back_and_nothing_is_written_without_a_limit() {
        let (mut budget, mut bytes) = (TextBudget::open(Some(2), &[]).unwrap(), Vec::new());
        budget.encode(&mut bytes);
        assert!(bytes.is_empty());
        (0..3).for_each(|_| _ = budget.is_beyond(ORIGIN, &text(1, 30, 0), true));
        budget.encode(&mut bytes);
        assert!(TextBudget::open(Some(2), &bytes).unwrap().is_beyond(ORIGIN, &text(1, 30, 0), false));
        assert!(TextBudget::open(Some(2), &bytes[..bytes.len() - 1]).is_none());
        let (without, mut nothing) = (TextBudget::open(None, &bytes).unwrap(), Vec::new());
        without.encode(&mut nothing);
        assert!(nothing.is_empty());
    }

    #[test]
    fn a_text_without_words_is_like_none() {
        assert_eq!(Likeness::of(b"", &keys()), None);
        assert_eq!(Likeness::of(b" . ", &keys()), None);
        assert!(Likeness::of(b"one", &keys()).is_some());
    }
}
