//! Usage preferences and licences that a robots.txt states: `Content-Signal`, `Content-Usage` and `License` lines.
//!
//! A line may begin with a path that it is meant for; of several that concern a URL the longest path counts, for each
//! use by itself. Preferences are for anyone who uses the content, so those of the groups for `*` count, and those
//! before any group. A licence (Really Simple Licensing 1.0) is for all agents, in whatever group its line is.

use super::lines::{Directive, walk};
use super::pattern::{Subject, normalise_pattern};
use crate::web::preferences::Preferences;
use crate::web::url::CanonicalUrl;

/// Lines that are kept of a file.
const LINES_MAX: usize = 1_000;
/// Licences that are kept of a file.
const LICENSES_MAX: usize = 8;
/// Bytes of the URL of a licence.
const LICENSE_BYTES_MAX: usize = 1_024;

/// Preferences that a robots.txt states for users of its origin's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageLines {
    /// Normalised paths, one after the other, the longest first.
    patterns: Vec<u8>,
    lines: Vec<Line>,
    /// URLs of licences, separated by a comma and a blank.
    licenses: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// The index at which its path ends.
    end: u32,
    stated: Preferences,
}

impl UsageLines {
    /// Reads the lines of a robots.txt.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut lines: Vec<(Vec<u8>, Preferences)> = Vec::new();
        let (mut is_grouped, mut licenses) = (false, Vec::new());
        walk("*", bytes, |placed| {
            is_grouped |= matches!(placed.line, Directive::UserAgent(_));
            let value = match placed.line {
                Directive::Usage(value) => value,
                Directive::License(url) => return add_license(url, &mut licenses),
                _ => return,
            };
            let is_for_others = is_grouped && !placed.is_all;
            if is_for_others || lines.len() >= LINES_MAX {
                return;
            }
            let value = String::from_utf8_lossy(value);
            let (path, list) = match value.split_once(|c: char| c.is_ascii_whitespace()) {
                Some((path, list)) if path.starts_with('/') => (path, list),
                _ => ("/", &*value),
            };
            let (pattern, mut stated) = (normalise_pattern(path.as_bytes()), Preferences::default());
            stated.add_list(list);
            match lines.iter_mut().find(|(known, _)| *known == pattern) {
                Some((_, known)) => *known = known.with(stated),
                None => lines.push((pattern, stated)),
            }
        });
        lines.retain(|(_, stated)| !stated.is_empty());
        lines.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
        let mut compact = UsageLines { licenses: licenses.join(", ").into(), ..UsageLines::default() };
        lines.iter().for_each(|(pattern, stated)| compact.push(pattern, *stated));
        compact.patterns.shrink_to_fit();
        compact.lines.shrink_to_fit();
        compact
    }

    /// Preferences that they state for a URL.
    pub(crate) fn of(&self, url: &str) -> Preferences {
        if self.lines.is_empty() {
            return Preferences::default();
        }
        let subject = Subject::of_url(url);
        let said = self.iter().filter(|(pattern, _)| subject.matches(pattern)).map(|(_, stated)| stated);
        said.fold(Preferences::default(), Preferences::or)
    }

    /// True if nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.licenses.is_empty()
    }

    /// URLs of licences, separated by a comma and a blank.
    pub(crate) fn licenses(&self) -> &str {
        &self.licenses
    }

    /// Takes the licences of a stored file.
    pub(super) fn set_licenses(&mut self, licenses: &str) {
        self.licenses = licenses.into();
    }

    /// Bytes of memory that it has in addition to its own size.
    pub(super) fn heap_bytes(&self) -> usize {
        self.licenses.len() + self.patterns.capacity() + self.lines.capacity() * size_of::<Line>()
    }

    /// Number of lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The paths and what is stated for each, the longest path first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], Preferences)> {
        let starts = std::iter::once(0).chain(self.lines.iter().map(|line| line.end as usize));
        self.lines.iter().zip(starts).map(|(line, start)| (&self.patterns[start..line.end as usize], line.stated))
    }

    /// Adds what is stated for a path; what could not be addressed is left out.
    pub(super) fn push(&mut self, pattern: &[u8], stated: Preferences) {
        if let Ok(end) = u32::try_from(self.patterns.len() + pattern.len()) {
            self.patterns.extend_from_slice(pattern);
            self.lines.push(Line { end, stated });
        }
    }
}

/// Adds the licence of a line, which must be an absolute URL.
fn add_license(value: &[u8], licenses: &mut Vec<String>) {
    let url = std::str::from_utf8(value).ok().and_then(|text| CanonicalUrl::parse(text).ok());
    let Some(url) = url.map(|url| url.as_str().to_owned()) else { return };
    if licenses.len() < LICENSES_MAX && url.len() <= LICENSE_BYTES_MAX && !licenses.contains(&url) {
        licenses.push(url);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &str, url: &str) -> String {
        UsageLines::parse(file.as_bytes()).of(url).to_string()
    }

    #[test]
    fn lines_for_all_agents_count_wherever_they_stand_in_a_group() {
        let file = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nDisallow: /x\n";
        assert_eq!(of(file, "https://a.example/any"), "search=y, ai-train=n");
        assert_eq!(of("Content-Usage: train-ai=n # all", "https://a.example/"), "ai-train=n");
        assert_eq!(of("User-agent: other\nContent-Signal: ai-train=no\n", "https://a.example/"), "");
    }

    #[test]
    fn the_longest_path_counts_for_each_use() {
        let file = "User-Agent: *\nAllow: /\nContent-Usage: train-ai=n, search=y\nContent-Usage: /free/ train-ai=y\n";
        assert_eq!(of(file, "https://a.example/free/x"), "search=y, ai-train=y");
        assert_eq!(of(file, "https://a.example/else"), "search=y, ai-train=n");
    }

    #[test]
    fn licences_are_for_all_agents_wherever_they_stand_and_absolute() {
        let file = "User-agent: other\nLICENSE: https://a.example/L x.xml#top\nDisallow: /\n\nLicense: /own.xml\n\
                    License: https://a.example/L%20x.xml\nlicense: ftp://a.example/\nLicense: http://b.example";
        let found = UsageLines::parse(file.as_bytes());
        assert_eq!(found.licenses(), "https://a.example/L%20x.xml, http://b.example/");
        assert!(!found.is_empty());
        let many: String = (0..100).map(|number| format!("License: http://a.example/{number}\n")).collect();
        assert_eq!(UsageLines::parse(many.as_bytes()).licenses().split(", ").count(), LICENSES_MAX);
    }

    #[test]
    fn other_files_say_nothing() {
        for file in ["", "User-agent: *\nDisallow: /", "<html>Content-Signal", "Content-Signal: /only-a-path"] {
            assert_eq!(of(file, "https://a.example/"), "", "{file}");
        }
    }
}
