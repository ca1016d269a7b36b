//! `/.well-known/tdmrep.json` (TDM Reservation Protocol): which files of an origin are reserved from text and data
//! mining, and under which policy.
//!
//! A rule has a `location`, a pattern as robots.txt has them; of several that match a URL the longest counts. A file
//! that is longer than `BYTES_MAX`, or is no JSON, says nothing.

use serde_json::Value;

use super::pattern::{Subject, normalise_pattern};
use crate::web::statements::Statements;
use crate::web::url::CanonicalUrl;

/// Path of the file.
pub const TDMREP_PATH: &str = "/.well-known/tdmrep.json";
/// Bytes of a file that is read.
const BYTES_MAX: usize = 256 << 10;
/// Rules that are kept of a file.
const RULES_MAX: usize = 1_000;

/// The rules of a file.
#[derive(Clone, Debug, Default)]
pub struct TdmRep {
    /// Those with the longest pattern first.
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Vec<u8>,
    /// `0` or `1`, where that is stated.
    reservation: String,
    policy: Option<CanonicalUrl>,
}

impl TdmRep {
    /// Reads the file at `url`.
    pub fn parse(url: &CanonicalUrl, bytes: &[u8]) -> Self {
        let read = Some(bytes).filter(|bytes| bytes.len() <= BYTES_MAX);
        let Some(Value::Array(items)) = read.and_then(|bytes| serde_json::from_slice(bytes).ok()) else {
            return TdmRep::default();
        };
        let rule = |item: &Value| {
            let text = |name: &str| item.get(name).and_then(Value::as_str);
            let reservation = match item.get("tdm-reservation") {
                Some(Value::Number(number)) => number.to_string(),
                Some(Value::String(text)) => text.clone(),
                _ => String::new(),
            };
            let policy = text("tdm-policy").and_then(|policy| url.join(policy).ok());
            let location = text("location").filter(|location| location.starts_with(['/', '*']))?;
            Some(Rule { pattern: normalise_pattern(location.as_bytes()), reservation, policy })
        };
        let mut rules: Vec<Rule> = items.iter().filter_map(rule).take(RULES_MAX).collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.pattern.len()));
        TdmRep { rules }
    }

    /// Adds what the rules say of `url`.
    pub fn add_to(&self, url: &str, stated: &mut Statements) {
        if self.rules.is_empty() {
            return;
        }
        let subject = Subject::of_url(url);
        let Some(rule) = self.rules.iter().find(|rule| subject.matches(&rule.pattern)) else { return };
        stated.add_reservation(&rule.reservation);
        rule.policy.iter().for_each(|policy| stated.add_license(policy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"[
        {"location": "/", "tdm-reservation": 0},
        {"location": "/news/", "tdm-reservation": 1, "tdm-policy": "/policies/news.json"},
        {"location": "/news/free/*.html$", "tdm-reservation": "0"},
        {"tdm-reservation": 1}, {"location": "relative", "tdm-reservation": 1}, 7
    ]"#;

    fn stated(file: &str, path: &str) -> String {
        let url = CanonicalUrl::parse("https://a.example/.well-known/tdmrep.json").unwrap();
        let mut stated = Statements::default();
        TdmRep::parse(&url, file.as_bytes()).add_to(&format!("https://a.example{path}"), &mut stated);
        stated.fields().map(|(_, value)| value).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn the_longest_location_counts() {
        for (path, expected) in [
            ("/else", "tdm=y"),
            ("/news/1.html", "tdm=n | https://a.example/policies/news.json"),
            ("/news/free/1.html", "tdm=y"),
            ("/news/free/1.html?x", "tdm=n | https://a.example/policies/news.json"),
        ] {
            assert_eq!(stated(FILE, path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_such_file_says_nothing() {
        for file in ["", "{}", "[", "<html>", r#"[{"location": "/", "tdm-reservation": 2}]"#, r#"[{"location": 3}]"#] {
            assert_eq!(stated(file, "/"), "", "{file}");
        }
        let long = format!("{}{FILE}", " ".repeat(BYTES_MAX));
        assert_eq!(stated(&long, "/else"), "");
    }
}
