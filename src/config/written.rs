//! The configuration as people write it: TOML with units, and where each of its values comes from.
//!
//! Both follow from the list of keys of each section, so a new key is written and traced without another word here.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::Serialize;

use super::section::Section;
use super::{Config, SECTIONS, SINK, SITE, SourceLine, WATCH, each_section};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default value.
    Default,
    /// A line of a file.
    File(SourceLine),
    /// An option of the command line.
    CommandLine(&'static str),
    /// A value that follows from `crawl.memory`.
    Memory,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(place) => place.fmt(f),
            Origin::CommandLine(option) => write!(f, "command line, {option}"),
            Origin::Memory => f.write_str("crawl.memory"),
        }
    }
}

/// The origins of the values of a configuration, by key.
#[derive(Clone, Debug, Default)]
pub struct Origins(HashMap<String, Origin>);

impl Origins {
    /// Returns the origins of the keys that a file has, and of those that follow from `crawl.memory` in it.
    pub(super) fn of_file(places: HashMap<String, SourceLine>, derived: Vec<&'static str>) -> Self {
        let places = places.into_iter().map(|(key, place)| (key, Origin::File(place)));
        Origins(places.chain(derived.into_iter().map(|key| (key.to_owned(), Origin::Memory))).collect())
    }

    /// Notes that an option of the command line set `key`, written `section.key`.
    pub(crate) fn set_by_option(&mut self, key: &str, option: &'static str) {
        self.0.insert(key.to_owned(), Origin::CommandLine(option));
    }

    /// Returns the origin of the value of `key`.
    pub(crate) fn of(&self, key: &str) -> Origin {
        self.0.get(key).cloned().unwrap_or(Origin::Default)
    }
}

impl Config {
    /// Every key with its value, as a file that gives the same configuration.
    pub(crate) fn to_toml(&self) -> String {
        self.to_toml_with(|_, _| Some(String::new()))
    }

    /// Every key, as `section.key`, with its value as a file has it, in the order of the file.
    pub(crate) fn entries(&self) -> Vec<(String, String)> {
        let mut config = self.clone();
        let mut entries = Vec::new();
        for name in SECTIONS {
            let act = |section: &mut dyn Section| section.written();
            let written = each_section!(config, name, act).unwrap_or_default();
            entries.extend(written.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
        }
        entries
    }

    /// As [`to_toml`](Config::to_toml), each line with the comment that `comment` gives for its key (`section.key`) and
    /// value; a key for which it gives none is left out.
    pub(crate) fn to_toml_with(&self, comment: impl Fn(&str, &str) -> Option<String>) -> String {
        let mut config = self.clone();
        let mut text = String::new();
        for name in SECTIONS {
            let act = |section: &mut dyn Section| section.written();
            let lines: Vec<(String, String)> = each_section!(config, name, act)
                .unwrap_or_default()
                .into_iter()
                .filter_map(|(key, value)| {
                    let comment = comment(&format!("{name}.{key}"), &value)?;
                    Some((format!("{key} = {value}"), comment))
                })
                .collect();
            if lines.is_empty() {
                continue;
            }
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}[{name}]\n"));
            for (line, comment) in lines {
                let line = if comment.is_empty() { line } else { format!("{line:<31} # {comment}") };
                text.push_str(&line);
                text.push('\n');
            }
        }
        self.push_sites(&mut text, &comment);
        push_named(SINK, &self.sink, &mut text, &comment);
        push_named(WATCH, &self.watch, &mut text, &comment);
        text
    }

    fn push_sites(&self, text: &mut String, comment: impl Fn(&str, &str) -> Option<String>) {
        for (number, site) in self.site.iter().enumerate() {
            text.push_str(&format!("{}[[{SITE}]]\n", if text.is_empty() { "" } else { "\n" }));
            for (key, value) in site.written() {
                let line = format!("{key} = {value}");
                match comment(&format!("{SITE}.{number}.{key}"), &value).filter(|comment| !comment.is_empty()) {
                    Some(comment) => text.push_str(&format!("{line:<31} # {comment}\n")),
                    None => text.push_str(&format!("{line}\n")),
                }
            }
        }
    }
}

/// Adds the `[tables.NAME]`.
fn push_named<T: Serialize>(
    tables: &str,
    all: &BTreeMap<String, T>,
    text: &mut String,
    comment: impl Fn(&str, &str) -> Option<String>,
) {
    for (name, settings) in all {
        let head = format!("[{tables}.{name}]");
        let comment = comment(&format!("{tables}.{name}"), &head).filter(|comment| !comment.is_empty());
        let head = comment.map_or(head.clone(), |comment| format!("{head:<31} # {comment}"));
        let keys = toml::to_string(settings).expect("settings of one table have a form in TOML");
        text.push_str(&format!("{}{head}\n{keys}", if text.is_empty() { "" } else { "\n" }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_the_same() {
        let mut config = Config::default();
        assert_eq!(Config::parse(&config.to_toml(), "x").unwrap(), config);
        config.scope.exclude = vec!["a \"quoted\" \\\\ thing\n# \u{1b}[2J] \u{fc}".to_owned()];
        config.crawl.max_pages = Some(7);
        config.scope.include = vec!["a\"b".to_owned(), String::new()];
        config.politeness.delay_factor = 0.25;
        config.politeness.requests_per_second = Some(3.0);
        config.politeness.delay_min = std::time::Duration::from_micros(1_500);
        config.fetch.rate_min = super::super::Bytes(1_500);
        config.container.compression = crate::warc::Compression::Zstd;
        let text = config.to_toml();
        assert_eq!(Config::parse(&text, "x").unwrap(), config, "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn values_are_written_as_people_write_them() {
        let text = Config::default().to_toml();
        for line in ["delay_min = \"1s\"", "max_body = \"16MiB\"", "max_pages = \"unlimited\"", "delay_factor = 5.0"] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(!text.contains("secs"), "{text}");
    }

    #[test]
    fn every_key_there_is_has_a_line() {
        let text = Config::default().to_toml();
        let lines = text.lines().filter(|line| line.contains(" = ")).count();
        assert_eq!(lines, Config::keys().len());
    }

    #[test]
    fn every_value_knows_where_it_comes_from() {
        let text = "\n[crawl]\nmax_pages = 5\n\n[politeness]\ndelay_min = \"1s\"\n";
        let (config, mut origins) = Config::parse_with_origins(text, "my.toml").unwrap();
        origins.set_by_option("crawl.max_depth", "--max-depth");
        assert_eq!(origins.of("crawl.max_pages").to_string(), "my.toml:3");
        assert_eq!(origins.of("politeness.delay_min").to_string(), "my.toml:6");
        assert_eq!(origins.of("crawl.max_depth").to_string(), "command line, --max-depth");
        assert_eq!(origins.of("fetch.workers"), Origin::Default);
        let shown = config.to_toml_with(|key, _| {
            let origin = origins.of(key);
            (origin != Origin::Default).then(|| origin.to_string())
        });
        let line = |text: &str, comment: &str| format!("{text:<31} # {comment}\n");
        let expected = format!(
            "[crawl]\n{}{}\n[politeness]\n{}",
            line("max_pages = 5", "my.toml:3"),
            line("max_depth = \"unlimited\"", "command line, --max-depth"),
            line("delay_min = \"1s\"", "my.toml:6")
        );
        assert_eq!(shown, expected);
    }
}
