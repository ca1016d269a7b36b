//! `recrawl.patterns`: for URLs that match a regular expression, other settings of `[recrawl]`.
//!
//! ```toml
//! [[recrawl.patterns]]
//! include = "/news/"
//! max = "24h"
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use super::value::Setting;

word! {
    /// Whether pages are visited again, and when.
    RecrawlMode, "\"off\", \"adaptive\" or \"fixed\"", "\"adaptive\"" {
        /// Each page is fetched once.
        Off = "off",
        /// By how often each page changes.
        Adaptive = "adaptive",
        /// After the same interval.
        Fixed = "fixed",
    }
}

/// Settings for URLs that match; those that are left out are those of `[recrawl]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecrawlPattern {
    /// The regular expression.
    pub include: String,
    /// As `recrawl.mode`.
    pub mode: Option<RecrawlMode>,
    /// As `recrawl.min`.
    pub min: Option<Duration>,
    /// As `recrawl.max`.
    pub max: Option<Duration>,
    /// As `recrawl.interval`.
    pub interval: Option<Duration>,
    /// As `recrawl.gain`.
    pub gain: Option<Duration>,
}

impl RecrawlPattern {
    /// The settings of a table; `None` where it has others, lacks `include`, or has a value of another type.
    fn of(table: &DeTable<'_>) -> Option<RecrawlPattern> {
        let mut pattern =
            RecrawlPattern { include: String::new(), mode: None, min: None, max: None, interval: None, gain: None };
        for (key, value) in table {
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "include" => pattern.include = String::from_toml(value)?,
                "mode" => pattern.mode = Some(RecrawlMode::from_toml(value)?),
                "min" => pattern.min = Some(Duration::from_toml(value)?),
                "max" => pattern.max = Some(Duration::from_toml(value)?),
                "interval" => pattern.interval = Some(Duration::from_toml(value)?),
                "gain" => pattern.gain = Some(Duration::from_toml(value)?),
                _ => return None,
            }
        }
        (!pattern.include.is_empty()).then_some(pattern)
    }

    fn to_toml(&self) -> String {
        let duration = |value: Option<Duration>| value.map(|duration| duration.to_toml());
        let values = [
            ("include", Some(self.include.to_toml())),
            ("mode", self.mode.map(|mode| mode.to_toml())),
            ("min", duration(self.min)),
            ("max", duration(self.max)),
            ("interval", duration(self.interval)),
            ("gain", duration(self.gain)),
        ];
        let written = values.into_iter().filter_map(|(key, value)| Some(format!("{key} = {}", value?)));
        format!("{{ {} }}", written.collect::<Vec<_>>().join(", "))
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
        assert_eq!((news.include.as_str(), news.max), ("/news/", Some(Duration::from_secs(86_400))));
        assert_eq!((pdf.include.as_str(), pdf.mode, pdf.max), ("\\.pdf$", Some(RecrawlMode::Off), None));
        assert_eq!(Config::parse(&config.to_toml(), "written.toml").unwrap(), config);
    }

    #[test]
    fn a_pattern_with_a_key_that_is_not_known_is_refused() {
        for wrong in ["{ include = \"/a\", mx = \"1h\" }", "{ max = \"1h\" }", "{ include = 5 }", "\"/a\""] {
            let said = Config::parse(&format!("[recrawl]\npatterns = [{wrong}]\n"), "my.toml").unwrap_err().to_string();
            assert!(said.contains("a list of tables with include"), "{wrong}: {said}");
        }
    }
}
