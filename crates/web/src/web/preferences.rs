//! Usage preferences: what a page or its site asks of anyone who uses its content.
//!
//! They come in several vocabularies, which are brought to one:
//!
//! | where | what is said | here |
//! |---|---|---|
//! | `X-Robots-Tag`, `<meta name=robots>` | `noindex`, `none` | search = n |
//! | the same | `noai`, `noimageai` | ai-train = n, ai-input = n |
//! | `TDM-Reservation`, `<meta name=tdm-reservation>` (TDMRep) | `1`, `0` | tdm = n, y |
//! | `Content-Usage`, in answers and robots.txt (IETF AIPREF) | `train-ai=n`, `search=y` | ai-train = n, search = y |
//! | `Content-Signal` in robots.txt | `ai-train=no, ai-input=no, search=yes` | the same |
//!
//! A preference is no permission and no rule of access; what a crawl fetches does not depend on it. Where several
//! sources speak of one use, the most restrictive one counts. A reservation of text and data mining covers training.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::directives::{names_of, said_by_x_robots_tag};
use super::headers;

/// Uses of content that a preference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Usage {
    /// Being found by a search.
    Search,
    /// Input of a model that answers.
    AiInput,
    /// Training of a model.
    AiTrain,
    /// Text and data mining.
    Tdm,
}

impl Usage {
    /// All of them, in the order in which they are written.
    pub const ALL: [Usage; 4] = [Usage::Search, Usage::AiInput, Usage::AiTrain, Usage::Tdm];

    /// The name of it.
    pub fn name(self) -> &'static str {
        match self {
            Usage::Search => "search",
            Usage::AiInput => "ai-input",
            Usage::AiTrain => "ai-train",
            Usage::Tdm => "tdm",
        }
    }

    /// Reads a name, also as other vocabularies have it.
    pub fn parse(name: &str) -> Option<Usage> {
        let named = |usage: &Usage| name.eq_ignore_ascii_case(usage.name());
        let other = || name.eq_ignore_ascii_case("train-ai").then_some(Usage::AiTrain);
        Usage::ALL.into_iter().find(named).or_else(other)
    }
}

/// Preferences of each use, where stated; false is a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    stated: [Option<bool>; Usage::ALL.len()],
}

impl Preferences {
    /// Reads the header fields of an answer.
    pub(crate) fn of_header<B: AsRef<[u8]>>(fields: &[(B, B)]) -> Self {
        let mut found = Preferences::default();
        let values = |name: &'static str| headers::named(fields, name).map(String::from_utf8_lossy);
        let tags: Vec<_> = values("x-robots-tag").collect();
        for directives in said_by_x_robots_tag(tags.iter().map(|value| &**value), "*") {
            found.add_directives(directives);
        }
        values("tdm-reservation").for_each(|value| found.add_reservation(&value));
        values("content-usage").for_each(|value| found.add_list(&value));
        found
    }

    /// Adds robots directives, separated by commas or blanks.
    pub(in crate::web) fn add_directives(&mut self, list: &str) {
        for name in names_of(list) {
            match name.to_ascii_lowercase().as_str() {
                "noindex" | "none" => self.add(Usage::Search, false),
                "noai" | "noimageai" => {
                    self.add(Usage::AiTrain, false);
                    self.add(Usage::AiInput, false);
                }
                _ => {}
            }
        }
    }

    /// Adds the value of a `tdm-reservation`.
    pub(in crate::web) fn add_reservation(&mut self, value: &str) {
        match value.trim() {
            "1" => self.add(Usage::Tdm, false),
            "0" => self.add(Usage::Tdm, true),
            _ => {}
        }
    }

    /// Adds a list such as `train-ai=n, search=yes`. What is not known says nothing.
    pub(in crate::web) fn add_list(&mut self, list: &str) {
        for item in list.split(',') {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            // parameters may follow a value
            let value = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            let may = match value.as_str() {
                "n" | "no" => false,
                "y" | "yes" => true,
                _ => continue,
            };
            if let Some(usage) = Usage::parse(name.trim()) {
                self.add(usage, may);
            }
        }
    }

    fn add(&mut self, usage: Usage, may: bool) {
        let stated = &mut self.stated[usage as usize];
        *stated = Some(may && stated.unwrap_or(true));
    }

    /// Two bits for each use: 0 where nothing is stated, 1 for a refusal, 2 for leave.
    pub(in crate::web) fn bits(self) -> u8 {
        let stated = self.stated.iter().rev();
        stated.fold(0, |bits, stated| bits << 2 | stated.map_or(0, |may| 1 + u8::from(may)))
    }

    /// Reads [`Preferences::bits`].
    pub(in crate::web) fn from_bits(bits: u8) -> Option<Self> {
        let mut found = Preferences::default();
        for (number, stated) in found.stated.iter_mut().enumerate() {
            *stated = match bits >> (2 * number) & 3 {
                0 => None,
                1 => Some(false),
                2 => Some(true),
                _ => return None,
            };
        }
        Some(found)
    }

    /// Adds what another source states: the more restrictive of both counts.
    #[must_use]
    pub(crate) fn with(mut self, other: Preferences) -> Self {
        for usage in Usage::ALL {
            if let Some(may) = other.stated[usage as usize] {
                self.add(usage, may);
            }
        }
        self
    }

    /// Adds from `other` what is not stated here.
    #[must_use]
    pub(in crate::web) fn or(mut self, other: Preferences) -> Self {
        for (stated, other) in self.stated.iter_mut().zip(other.stated) {
            *stated = stated.or(other);
        }
        self
    }

    /// True if a use is refused.
    pub fn refuses(&self, usage: Usage) -> bool {
        let said = |usage: Usage| self.stated[usage as usize] == Some(false);
        said(usage) || usage == Usage::AiTrain && said(Usage::Tdm)
    }

    /// True if nothing is stated.
    pub fn is_empty(&self) -> bool {
        self.stated.iter().all(Option::is_none)
    }
}

/// `search=y, ai-train=n`.
impl fmt::Display for Preferences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = Usage::ALL.into_iter().filter_map(|usage| Some((usage, self.stated[usage as usize]?)));
        for (number, (usage, may)) in stated.enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{}={}", usage.name(), if may { "y" } else { "n" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::headers::Header;

    fn header(fields: &[(&str, &str)]) -> String {
        let fields: Vec<Header> =
            fields.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect();
        Preferences::of_header(&fields).to_string()
    }

    #[test]
    fn header_fields_of_all_vocabularies_say_the_same() {
        for (name, value, expected) in [
            ("X-Robots-Tag", "noai", "ai-input=n, ai-train=n"),
            ("x-robots-tag", "noindex, nofollow", "search=n"),
            ("X-Robots-Tag", "otherbot: noindex, *: noimageai", "ai-input=n, ai-train=n"),
            ("TDM-Reservation", "1", "tdm=n"),
            ("tdm-reservation", "0", "tdm=y"),
            ("Content-Usage", "train-ai=n;x=1, search=y, other=n", "search=y, ai-train=n"),
            ("Content-Usage", "ai-train", ""),
            ("X-Else", "noai", ""),
        ] {
            assert_eq!(header(&[(name, value)]), expected, "{name}: {value}");
        }
    }

    #[test]
    fn of_several_sources_the_most_restrictive_counts() {
        assert_eq!(header(&[("content-usage", "train-ai=y, search=n"), ("x-robots-tag", "noai")]), {
            "search=n, ai-input=n, ai-train=n"
        });
        let (mut yes, mut no) = (Preferences::default(), Preferences::default());
        yes.add_list("ai-train=y, search=y");
        no.add_list("ai-train=n");
        assert_eq!(yes.with(no), no.with(yes));
        assert_eq!(yes.with(no).to_string(), "search=y, ai-train=n");
    }

    #[test]
    fn preferences_are_read_back_from_their_bits_and_their_text() {
        for bits in 0..=u8::MAX {
            let Some(found) = Preferences::from_bits(bits) else {
                assert!((0..4).any(|number| bits >> (2 * number) & 3 == 3), "{bits:08b}");
                continue;
            };
            assert_eq!(found.bits(), bits);
            let mut read = Preferences::default();
            read.add_list(&found.to_string());
            assert_eq!(read, found);
        }
    }

    #[test]
    fn a_reservation_of_mining_covers_training_and_nothing_else() {
        let mut found = Preferences::default();
        found.add_reservation("1");
        assert!(found.refuses(Usage::AiTrain) && found.refuses(Usage::Tdm));
        assert!(!found.refuses(Usage::Search) && !found.refuses(Usage::AiInput));
    }
}
