//! The texts of two versions, and what differs between them.
//!
//! Of a page of HTML it is what a reader sees and hears, its title and alternative texts too, a line for each block;
//! other texts are taken as they are. Pages are
//! hostile: those that are too long or that no tree can be made of have no text here; the share of other words is
//! counted in linear time; and where the search for the fewest lines takes too long, more than the fewest are shown.

use std::collections::HashMap;
use std::time::Duration;

use similar::{Algorithm, TextDiff};

use super::Version;
use crate::cli::archive::{Entry, Response};
use crate::cli::page::{compared_of_page, decode};
use crate::reading::tree::{TIME_MAX, parse};
use crate::similar::pieces;
use crate::text::escape::Escaped;
use crate::web::charset;
use crate::web::html::is_html;
use crate::web::mime;

/// Bytes of a text that is compared.
const TEXT_BYTES_MAX: usize = 32 << 20;
/// Time for the fewest differences of two texts.
const SEARCH_MAX: Duration = Duration::from_secs(5);
/// Types of text that are not called so.
const TEXT_TYPES: [&str; 6] = [
    "application/json",
    "application/xml",
    "application/javascript",
    "application/ld+json",
    "application/manifest+json",
    "image/svg+xml",
];

/// Two texts that can be compared.
pub(in crate::cli) struct Texts {
    before: String,
    now: String,
}

impl Texts {
    /// Returns what readers see of two versions; `None` where one of them is no text.
    pub(in crate::cli) fn of(before: &Version<'_>, now: &Version<'_>) -> anyhow::Result<Option<Texts>> {
        let Some(before) = lines_of(before.entry, &before.shown()?) else { return Ok(None) };
        let Some(now) = lines_of(now.entry, &now.shown()?) else { return Ok(None) };
        Ok(Some(Texts { before, now }))
    }

    /// True if the texts differ, not only the bytes.
    pub(in crate::cli) fn differ(&self) -> bool {
        self.before != self.now
    }

    /// The share of the words of both that only one of them has, wherever they are: each word counts as often as it
    /// occurs in one more often than in the other. Where words have no blanks between them, letters are compared.
    pub(in crate::cli) fn share_changed(&self) -> f64 {
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
pub(in crate::cli) fn lines_of(entry: &Entry, response: &Response) -> Option<String> {
    let content_type = response.content_type();
    if !is_html(content_type.as_deref(), &response.decoded) {
        return source_of(entry, response);
    }
    if response.decoded.len() > TEXT_BYTES_MAX {
        return None;
    }
    Some(compared_of_page(&parse(&decode(response), TIME_MAX).ok()?))
}

/// A version as it was sent, if it is text, in UTF-8.
pub(in crate::cli) fn source_of(entry: &Entry, response: &Response) -> Option<String> {
    let mime = mime::essence(Some(&entry.mime));
    let is_text = mime.starts_with("text/") || mime.ends_with("+xml") || TEXT_TYPES.contains(&&*mime);
    let body = &response.decoded;
    let is_html = is_html(response.content_type().as_deref(), body);
    let has_nul = memchr::memchr(0, body).is_some();
    if !is_html && (!is_text || has_nul) || body.len() > TEXT_BYTES_MAX {
        return None;
    }
    let encoding = if is_html { None } else { Some(charset::of_xml(body, response.content_type().as_deref())) };
    Some(encoding.map_or_else(|| decode(response), |encoding| charset::to_utf8(body, encoding).into_owned()))
}

/// The differences in the unified format, below a head that names both; nothing where there are none. Control
/// characters of the texts are shown by their codes.
pub(in crate::cli) fn unified(before: &str, now: &str, name_before: &str, name_now: &str) -> String {
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
    fn texts_that_have_nothing_in_common_or_are_one_line_take_no_long_time() {
        let numbered = |from: u32| (from..from + 200_000).map(|n| format!("{n} ")).collect::<String>();
        assert_eq!(share(&numbered(0), &numbered(1_000_000)), 1.0);
        let alternating = |words: [&str; 2]| words.concat().repeat(20_000);
        assert_eq!(share(&alternating(["a ", "b "]), &alternating(["b ", "a "])), 0.0);
        let (before, now) = (alternating(["a\n", "b\n"]), alternating(["b\n", "a\n"]));
        assert!(unified(&before, &now, "a", "b").starts_with("--- a\n+++ b\n@@ "));
    }

    #[test]
    fn only_texts_have_text() {
        let of = |mime: &str, body: &[u8]| {
            let entry = Entry {
                url: String::new(),
                status: 200,
                kind: None,
                time: crate::clock::Time::ZERO,
                mime: mime.to_owned(),
                bytes: 0,
                digest_sha1: [0; 20],
                robots: false,
                payload: None,
                external: false,
                previous: None,
                handle: 0,
            };
            let headers = vec![(b"Content-Type".to_vec(), mime.as_bytes().to_vec())];
            lines_of(&entry, &Response { headers, decoded: body.to_vec(), ..Response::default() })
        };
        assert_eq!(of("text/html", b"<title>x</title><p>a<p>b").as_deref(), Some("title: x\na\nb"));
        assert_eq!(of("text/plain; charset=latin1", b"\xfc\nb").as_deref(), Some("\u{fc}\nb"));
        assert_eq!(of("application/json", b"{}").as_deref(), Some("{}"));
        assert_eq!(of("image/png", b"\x89PNG\0"), None);
        assert_eq!(of("text/plain", b"a\0"), None);
    }
}
