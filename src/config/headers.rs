//! Tables of names and values, both texts: fields of requests, of forms, of messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::value::Setting;

/// Fields of the head of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(pub BTreeMap<String, String>);

impl Setting for Headers {
    const EXPECTED: &'static str = "a table of names and values, both strings";
    const EXAMPLE: &'static str = "{ \"X-Api-Version\" = \"2\" }";

    fn from_toml(value: &DeValue<'_>) -> Option<Self> {
        let field = |(name, value): (&toml::Spanned<toml::de::DeString<'_>>, &toml::Spanned<DeValue<'_>>)| {
            Some((name.get_ref().to_string(), String::from_toml(value.get_ref())?))
        };
        value.as_table()?.iter().map(field).collect::<Option<_>>().map(Headers)
    }

    fn to_toml(&self) -> String {
        let fields: Vec<_> =
            self.0.iter().map(|(name, value)| format!("{} = {}", name.to_toml(), value.to_toml())).collect();
        if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
    }
}
