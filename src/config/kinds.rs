//! `[kinds]`: what is done about answers that are no content, and `[[kind]]`, rules for more of them.
//!
//! ```toml
//! [kinds]
//! retries = { challenge = 7 }
//!
//! [[kind]]
//! kind = "login"
//! name = "our intranet"
//! signals = [{ weight = 6, header = "x-sso" }, { weight = 4, title = ["^sign in$"] }]
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::section::Section;
use super::value::{Mismatch, Setting, inline_table, integer, named};
use crate::web::kind::{Kind, KindRule};

/// The name of the tables of rules, which are those of `kinds.rules`.
pub(super) const KIND: &str = "kind";

section! {
    /// Treatment of answers that are no content: challenges, walls, empty shells.
    Kinds {
        /// True to judge answers.
        judge: bool = true,
        /// True to ask each host for one URL that cannot exist, to know its soft 404s.
        ask_missing: bool = false,
        /// Kinds of answers whose links are not followed.
        no_links: Vec<Kind> = vec![Kind::Challenge, Kind::Block, Kind::RateLimit, Kind::Parked],
        /// Attempts after the first, by kind; the host rests before each as after a 429.
        retries: KindRetries = KindRetries::default(),
        /// Rules beside the ones that everybody has.
        rules: Vec<KindRule> = Vec::new(),
    }
}

/// Attempts after the first one, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KindRetries(pub BTreeMap<Kind, u8>);

impl Default for KindRetries {
    /// A challenge may end within two hours, by the rests of hosts that say nothing of them; a block hardly does.
    fn default() -> Self {
        KindRetries(BTreeMap::from([(Kind::Challenge, 7), (Kind::Block, 3), (Kind::RateLimit, 7)]))
    }
}

impl Setting for KindRetries {
    const EXPECTED: &'static str = "a table of kinds and numbers up to 20";
    const EXAMPLE: &'static str = "{ challenge = 7, block = 3, rate-limit = 7 }";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let by_name = named(value, |value| u8::from_toml(value).filter(|retries| *retries <= 20))?;
        let by_kind = by_name.into_iter().map(|(name, retries)| Some((Kind::of_text(&name)?, retries)));
        by_kind.collect::<Option<_>>().map(KindRetries)
    }

    fn to_toml(&self) -> String {
        inline_table(self.0.iter().map(|(kind, retries)| (kind.text(), retries.to_string())))
    }
}

impl Setting for Vec<Kind> {
    const EXPECTED: &'static str = "a list of kinds, as the table of kinds has them";
    const EXAMPLE: &'static str = "[\"challenge\", \"block\"]";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        Vec::<String>::from_toml(value)?.iter().map(|name| Kind::of_text(name)).collect()
    }

    fn to_toml(&self) -> String {
        self.iter().map(Kind::to_string).collect::<Vec<_>>().to_toml()
    }
}

impl Setting for Vec<KindRule> {
    const EXPECTED: &'static str =
        "tables with kind, name and signals, each signal a table with its weight and conditions";
    const EXAMPLE: &'static str =
        "[{ kind = \"login\", name = \"ours\", signals = [{ weight = 10, header = \"x-sso\" }] }]";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        serde_json::from_value(plain(value)?).ok()
    }

    fn to_toml(&self) -> String {
        let rules = self.iter().map(|rule| toml::Value::try_from(rule).map_or(String::new(), |rule| rule.to_string()));
        format!("[{}]", rules.collect::<Vec<_>>().join(", "))
    }
}

/// A value without its places; `None` where it has a date or a number with a fraction.
fn plain(value: &DeValue<'_>) -> Option<serde_json::Value> {
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Integer(_) => integer(value)?.into(),
        DeValue::Array(list) => list.iter().map(|item| plain(item.get_ref())).collect::<Option<Vec<_>>>()?.into(),
        DeValue::Table(table) => {
            let entries = table.iter().map(|(key, item)| Some((key.get_ref().to_string(), plain(item.get_ref())?)));
            serde_json::Value::Object(entries.collect::<Option<_>>()?)
        }
        DeValue::Float(_) | DeValue::Datetime(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn kinds_are_read_and_written_back_the_same() {
        let text = "[kinds]\nno_links = [\"soft-404\"]\nretries = { block = 1 }\n\n[[kind]]\nkind = \"login\"\n\
                    name = \"ours\"\nsignals = [{ weight = 6, header = \"x-sso\" }, { weight = 4, status = [403] }]\n";
        let config = Config::parse(text, "my.toml").unwrap();
        assert_eq!(config.kinds.no_links, [Kind::SoftNotFound]);
        assert_eq!(config.kinds.retries.0, BTreeMap::from([(Kind::Block, 1)]));
        let [rule] = &config.kinds.rules[..] else { panic!("{:?}", config.kinds.rules) };
        assert_eq!((&*rule.kind, &*rule.name, rule.signals.len()), ("login", "ours", 2));
        assert_eq!(Config::parse(&config.to_toml(), "written.toml").unwrap(), config);
    }

    #[test]
    fn a_rule_that_cannot_be_is_refused_with_its_key() {
        for (text, said) in [
            ("[kinds]\nno_links = [\"spam\"]\n", "kinds.no_links"),
            ("[kinds]\nretries = { block = 21 }\n", "kinds.retries"),
            ("[[kind]]\nkind = \"login\"\nname = \"x\"\nsignals = [{ weigth = 6 }]\n", "kinds.rules"),
            ("[[kind]]\nkind = \"spam\"\nname = \"x\"\nsignals = [{ weight = 10, status = [403] }]\n", "spam"),
            ("[[kind]]\nkind = \"login\"\nname = \"x\"\nsignals = [{ weight = 10, url = \"(\" }]\n", "kinds.rules"),
        ] {
            let error = Config::parse(text, "my.toml").unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
