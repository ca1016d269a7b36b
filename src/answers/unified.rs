//! The lines in which two texts differ. Where the search for the fewest takes too long, more than the fewest are shown.

use std::time::Duration;

use similar::{Algorithm, TextDiff};

use crate::text::escape::Escaped;

/// Time for the fewest differences of two texts.
const SEARCH_MAX: Duration = Duration::from_secs(5);

/// The differences in the unified format, below a head that names both; nothing where there are none. Control
/// characters of the texts are shown by their codes.
pub(crate) fn unified(before: &str, now: &str, name_before: &str, name_now: &str) -> String {
    let (before, now) = (harmless(before), harmless(now));
    let mut search = TextDiff::configure();
    let diff = search.algorithm(Algorithm::Patience).timeout(SEARCH_MAX).diff_lines(&before, &now);
    diff.unified_diff().context_radius(3).header(name_before, name_now).to_string()
}

/// A text whose lines end in `\n` alone, without what a terminal would obey.
fn harmless(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        let mut pieces = line.split('\t');
        lines.extend(pieces.next().map(|first| Escaped(first).to_string()));
        pieces.for_each(|piece| {
            lines.push('\t');
            lines.push_str(&Escaped(piece).to_string());
        });
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_head_and_hunks_and_forge_nothing() {
        let before = "one\ntwo\nthree\n";
        assert_eq!(unified(before, before, "a", "b"), "");
        assert_eq!(
            unified(before, "one\n2\x1b[2J\r\nthree", "a", "b"),
            "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\\x1b[2J\n three\n"
        );
        let long = (0..20).map(|n| format!("{n}\n")).collect::<String>();
        let diff = unified(&long, &long.replace("10\n", "ten\n"), "a", "b");
        assert!(diff.contains("@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n"), "{diff}");
    }

    #[test]
    fn texts_that_have_nothing_in_common_take_no_long_time() {
        let alternating = |words: [&str; 2]| words.concat().repeat(20_000);
        let (before, now) = (alternating(["a\n", "b\n"]), alternating(["b\n", "a\n"]));
        assert!(unified(&before, &now, "a", "b").starts_with("--- a\n+++ b\n@@ "));
    }
}
