//! Tables of names and values, both texts: fields of requests, of forms, of messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::reference::refers;
use super::value::{Setting, inline_table, named};

/// Fields of the head of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(pub BTreeMap<String, String>);

impl Headers {
    /// True if a value refers to a secret.
    pub(super) fn have_secrets(&self) -> bool {
        self.0.values().any(|value| refers(value) == Ok(true))
    }
}

impl Setting for Headers {
    const EXPECTED: &'static str = "a table of names and values, both strings";
    const EXAMPLE: &'static str = "{ \"X-Api-Version\" = \"2\" }";
    const IS_SECRET: bool = true;

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        named(value, String::from_toml).map(Headers)
    }

    fn to_toml(&self) -> String {
        inline_table(self.0.iter().map(|(name, value)| (name.to_toml(), value.to_toml())))
    }
}
