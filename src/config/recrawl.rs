//! `[recrawl]`, and settings that hold in its place for some URLs: those that match a regular expression
//! (`recrawl.patterns`), and those of a site.
//!
//! ```toml
//! [recrawl]
//! mode = "adaptive"
//!
//! [[recrawl.patterns]]
//! include = "/news/"
//! max = "24h"
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use super::section::Section;
use super::value::{Mismatch, Setting, inline_table};
use crate::frontier::FrontierOptions;

const HOUR: Duration = Duration::from_secs(3_600);

word! {
    /// The mode by which pages are visited again, if at all.
    RecrawlMode, "\"off\", \"adaptive\" or \"fixed\"", "\"adaptive\"" {
        /// Each page is fetched once.
        Off = "off",
        /// Intervals follow from how often each page changes.
        Adaptive = "adaptive",
        /// Intervals are the same for all pages.
        Fixed = "fixed",
    }
}

word! {
    /// The kind of change of a page that counts.
    RecrawlChange, "\"text\" or \"payload\"", "\"text\"" {
        /// The text is another one; where a page has no text, the payload.
        Text = "text",
        /// The payload is another one.
        Payload = "payload",
    }
}

section! {
    /// Visits that keep the archive fresh.
    Recrawl {
        /// Mode by which pages are visited again, if at all.
        mode: RecrawlMode = RecrawlMode::Off,
        /// Shortest interval.
        min: Duration = HOUR,
        /// Longest interval.
        max: Duration = HOUR * 24 * 30,
        /// The interval of mode `fixed`.
        interval: Duration = HOUR * 24 * 7,
        /// Time that one more visit has to keep a copy fresh, in mode `adaptive`.
        gain: Duration = HOUR,
        /// Kind of change that counts.
        change: RecrawlChange = RecrawlChange::Text,
        /// Share of a host's requests for pages that are due again, while it has new ones.
        share: f64 = f64::from(FrontierOptions::default().due_share),
        /// Shortest interval of sitemaps and feeds.
        sitemap_min: Duration = HOUR,
        /// Longest interval of sitemaps and feeds.
        sitemap_max: Duration = HOUR * 24,
        /// Other settings for URLs that match a regular expression.
        patterns: Vec<RecrawlPattern> = Vec::new(),
    }
}

/// Makes the settings that may be in the place of those of `[recrawl]`, from their keys and types there.
macro_rules! settings_in_place {
    ($($key:ident: $type:ty,)+) => {
        /// Settings in the place of those of `[recrawl]`; what is left out is as there.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct RecrawlSettings {
            $(
                #[doc = concat!("As `recrawl.", stringify!($key), "`.")]
                pub $key: Option<$type>,
            )+
        }

        impl RecrawlSettings {
            /// Sets a key; `None` where there is no such key, or the value has another type.
            fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
                match key {
                    $(stringify!($key) => self.$key = Some(<$type>::from_toml(value)?),)+
                    _ => return None,
                }
                Some(())
            }

            /// Its keys with their values as TOML.
            fn written(&self) -> impl Iterator<Item = (&'static str, String)> {
                let values = [$((stringify!($key), self.$key.map(|value| value.to_toml())),)+];
                values.into_iter().filter_map(|(key, value)| Some((key, value?)))
            }
        }

        impl Recrawl {
            /// Returns these settings with `settings` in their place where set. It has no patterns: none counts there.
            pub(crate) fn with(&self, settings: &RecrawlSettings) -> Recrawl {
                Recrawl { $($key: settings.$key.unwrap_or(self.$key),)+ patterns: Vec::new(), ..*self }
            }
        }
    };
}

settings_in_place! {
    mode: RecrawlMode,
    min: Duration,
    max: Duration,
    interval: Duration,
    gain: Duration,
}

impl Setting for RecrawlSettings {
    const EXPECTED: &'static str = "a table with mode, min, max, interval or gain";
    const EXAMPLE: &'static str = "{ max = \"24h\" }";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let mut settings = RecrawlSettings::default();
        let mut keys = value.as_table()?.iter();
        keys.try_for_each(|(key, value)| settings.set(key.get_ref(), value.get_ref()))?;
        Some(settings)
    }

    fn to_toml(&self) -> String {
        inline_table(self.written())
    }
}

/// Settings for URLs that match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecrawlPattern {
    /// The regular expression.
    pub include: String,
    /// The settings that hold for them.
    #[serde(flatten)]
    pub settings: RecrawlSettings,
}

impl RecrawlPattern {
    /// The settings of a table; `None` where it has others, lacks `include`, or has a value of another type.
    fn of(table: &DeTable<'_>) -> Option<RecrawlPattern> {
        let mut pattern = RecrawlPattern::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "include" => pattern.include = String::from_toml(value.get_ref())?,
                key => pattern.settings.set(key, value.get_ref())?,
            }
        }
        (!pattern.include.is_empty()).then_some(pattern)
    }

    fn to_toml(&self) -> String {
        inline_table(std::iter::once(("include", self.include.to_toml())).chain(self.settings.written()))
    }
}

impl Setting for Vec<RecrawlPattern> {
    const EXPECTED: &'static str = "a list of tables with include, and with mode, min, max, interval or gain";
    const EXAMPLE: &'static str = "[{ include = \"/news/\", max = \"24h\" }]";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        value.as_array()?.iter().map(|item| RecrawlPattern::of(item.get_ref().as_table()?)).collect()
    }

    fn to_toml(&self) -> String {
        format!("[{}]", self.iter().map(RecrawlPattern::to_toml).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn patterns_are_read_as_tables_and_in_line_and_written_back_the_same() {
        let tables = "[recrawl]\nmode = \"adaptive\"\n\n[[recrawl.patterns]]\ninclude = \"/news/\"\nmax = \"24h\"\n\n\
                      [[recrawl.patterns]]\ninclude = '\\.pdf$'\nmode = \"off\"\n";
        let config = Config::parse(tables, "my.toml").unwrap();
        let [news, pdf] = &config.recrawl.patterns[..] else { panic!("{:?}", config.recrawl.patterns) };
        assert_eq!((news.include.as_str(), news.settings.max), ("/news/", Some(Duration::from_secs(86_400))));
        assert_eq!(
            (pdf.include.as_str(), pdf.settings.mode, pdf.settings.max),
            ("\\.pdf$", Some(RecrawlMode::Off), None)
        );
        assert_eq!(Config::parse(&config.to_toml(), "written.toml").unwrap(), config);
    }

    #[test]
    fn messages_name_every_key_that_a_rule_may_have() {
        let hour = Some(HOUR);
        let all = RecrawlSettings { mode: Some(RecrawlMode::Off), min: hour, max: hour, interval: hour, gain: hour };
        for (key, _) in all.written() {
            assert!(<RecrawlSettings as Setting>::EXPECTED.contains(key), "{key}");
            assert!(<Vec<RecrawlPattern> as Setting>::EXPECTED.contains(key), "{key}");
        }
    }

    #[test]
    fn a_pattern_with_a_key_that_is_not_known_is_refused() {
        for wrong in ["{ include = \"/a\", mx = \"1h\" }", "{ max = \"1h\" }", "{ include = 5 }", "\"/a\""] {
            let said = Config::parse(&format!("[recrawl]\npatterns = [{wrong}]\n"), "my.toml").unwrap_err().to_string();
            assert!(said.contains("a list of tables with include"), "{wrong}: {said}");
        }
    }
}
