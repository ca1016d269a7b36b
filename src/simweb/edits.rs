//! Pages that are edited while the web runs: each by a Poisson process of its own, drawn from the seed.
//!
//! An edit replaces one paragraph, which says in letters which edition it is: no digest that leaves numbers aside takes
//! two editions for one.

use std::time::Duration;

use super::plan::{Plan, Purpose};

/// Letters that the numbers of editions are written with.
const LETTERS: &[u8; 16] = b"bcdfghjklmnpqrtv";
const END: &[u8] = b"</body>";

/// How often a page had been edited when the web had run for `elapsed`.
pub(super) fn edition(plan: &Plan, host: u32, url: u32, elapsed: Duration) -> u32 {
    let mean = plan.options.edit_every;
    if mean.is_zero() {
        return 0;
    }
    let mut dice = plan.dice(Purpose::Edits, host, url);
    let (mut edits, mut at) = (0, Duration::ZERO);
    loop {
        // in (0, 1]: its logarithm is finite
        let lot = 1.0 - dice.f64();
        at += mean.mul_f64(-lot.ln());
        if at > elapsed {
            return edits;
        }
        edits += 1;
    }
}

/// The paragraph of an edition that was edited before.
pub fn edition_text(edition: u32) -> String {
    let digits = format!("{edition:x}");
    let letters = digits.bytes().filter_map(|digit| char::from(digit).to_digit(16));
    let word: String = letters.map(|digit| char::from(LETTERS[digit as usize])).collect();
    format!("<p>This is edition e{word}e.</p>\n")
}

/// Puts the paragraph of an edition into a page; the first one has none.
pub(super) fn edit(body: &mut Vec<u8>, edition: u32) {
    if edition > 0
        && let Some(end) = memchr::memmem::rfind(body, END)
    {
        body.splice(end..end, edition_text(edition).into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simweb::SimOptions;

    const MEAN: Duration = Duration::from_secs(10);

    #[test]
    fn edits_come_at_their_rate_and_at_times_of_each_page() {
        let plan = Plan::new(SimOptions { pages: 400, edit_every: MEAN, ..Default::default() }).unwrap();
        let counts = |elapsed: Duration| -> Vec<u32> {
            (0..plan.len()).map(|place| plan.at(place)).map(|(h, u)| edition(&plan, h, u, elapsed)).collect()
        };
        assert!(counts(Duration::ZERO).iter().all(|&count| count == 0));
        let (earlier, later) = (counts(MEAN * 20), counts(MEAN * 25));
        assert!(earlier.iter().zip(&later).all(|(earlier, later)| earlier <= later));
        let mean = f64::from(later.iter().sum::<u32>()) / later.len() as f64;
        // five deviations of the mean of 400 counts
        assert!((mean - 25.0).abs() < 5.0 * (25.0_f64 / 400.0).sqrt(), "{mean}");
        let plan = Plan::new(SimOptions::default()).unwrap();
        assert_eq!(edition(&plan, 0, 0, Duration::MAX), 0);
    }

    #[test]
    fn an_edition_has_its_paragraph_and_nothing_else_is_changed() {
        let page = b"<html><body><p>a</p>\n</body>\n</html>".to_vec();
        let mut edited = page.clone();
        edit(&mut edited, 0);
        assert_eq!(edited, page);
        edit(&mut edited, 0x1f);
        let text = "<p>This is edition ecve.</p>\n";
        assert_eq!(edition_text(0x1f), text);
        assert_eq!(String::from_utf8(edited).unwrap(), format!("<html><body><p>a</p>\n{text}</body>\n</html>"));
        assert!(!edition_text(u32::MAX).contains(|c: char| c.is_ascii_digit()));
    }
}
