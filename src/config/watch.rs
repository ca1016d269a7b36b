//! `[watch.NAME]`: rules by which people are told that pages have changed.
//!
//! ```toml
//! [watch.prices]
//! urls = "^https://shop\\.example/"
//! field = { css = ".price", type = "number" }
//! mail = ["me@example.org"]
//! ```

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::value::{parse_duration, show_duration};
use crate::fields::Field;
use crate::sink::Reference;
use crate::web::expression::bounded_regex;

/// Most addresses that get a mail.
const MAIL_MAX: usize = 100;

/// Settings of a watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Expression that the URL of a document has to match; without one, all documents are watched.
    #[serde(default)]
    pub urls: String,
    /// The value that is watched; without one, the text of the document.
    #[serde(default)]
    pub field: WatchedField,
    /// Says that new documents are told of, too.
    #[serde(default)]
    pub new: bool,
    /// Time after which a later visit has to find the same value.
    #[serde(default)]
    pub confirm: Confirm,
    /// Time in which there is one message at most, or `run`: one at the end of a run.
    #[serde(default)]
    pub digest: Digest,
    /// Addresses that get mail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<String>,
    /// The sender of mail.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The program that takes mail.
    #[serde(default = "sendmail")]
    pub sendmail: PathBuf,
    /// A reference to the URL of a webhook, which is a secret.
    #[serde(default)]
    pub webhook: Reference,
    /// The form of its messages.
    #[serde(default)]
    pub form: MessageForm,
}

fn sendmail() -> PathBuf {
    PathBuf::from("/usr/sbin/sendmail")
}

/// A field as on the command line of `extract`, without its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value")]
pub struct WatchedField(String);

impl TryFrom<toml::Value> for WatchedField {
    type Error = &'static str;

    fn try_from(value: toml::Value) -> Result<WatchedField, &'static str> {
        match value {
            toml::Value::String(text) => Ok(WatchedField(text)),
            table @ toml::Value::Table(_) => Ok(WatchedField(table.to_string())),
            _ => Err("field must be a selector, such as \".price\", or a table, such as { css = \".price\" }"),
        }
    }
}

impl WatchedField {
    /// The field; none where it is the text of a document.
    pub(crate) fn field(&self) -> Result<Option<Field>, String> {
        if self.0.is_empty() { Ok(None) } else { Field::parse(&format!("value={}", self.0)).map(Some) }
    }
}

/// The time after which a later visit has to find the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Confirm(pub Duration);

impl Default for Confirm {
    fn default() -> Confirm {
        Confirm(Duration::from_secs(86_400))
    }
}

impl TryFrom<String> for Confirm {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Confirm, &'static str> {
        parse_duration(&text).map(Confirm).ok_or("confirm must be a duration, such as \"24h\", or \"0s\"")
    }
}

impl From<Confirm> for String {
    fn from(confirm: Confirm) -> String {
        show_duration(confirm.0)
    }
}

/// The time of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Digest {
    /// When something has changed, and this time after the message before.
    Every(Duration),
    /// At the end of a run.
    Run,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest::Every(Duration::ZERO)
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Digest, &'static str> {
        if text == "run" {
            return Ok(Digest::Run);
        }
        parse_duration(&text).map(Digest::Every).ok_or("digest must be a duration, such as \"24h\", or \"run\"")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        match digest {
            Digest::Every(time) => show_duration(time),
            Digest::Run => "run".to_owned(),
        }
    }
}

/// The form of the messages of a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageForm {
    /// An object with all changes, for programs.
    #[default]
    Json,
    /// Incoming webhooks of Slack, which Mattermost and Rocket.Chat take, too.
    #[serde(alias = "mattermost", alias = "rocketchat")]
    Slack,
    /// Webhooks of Discord.
    Discord,
    /// Workflows of Microsoft Teams: a message with an Adaptive Card.
    Teams,
}

impl Watch {
    /// Refuses settings by which nobody is told, or nothing is watched.
    pub(crate) fn check(&self) -> Result<(), String> {
        bounded_regex(&self.urls).map_err(|error| format!("urls: {error}"))?;
        self.field.field().map_err(|problem| format!("field: {problem}"))?;
        let (has_mail, has_webhook) = (!self.mail.is_empty(), !self.webhook.written().is_empty());
        if !has_mail && !has_webhook {
            return Err("nobody is told: set mail or webhook".to_owned());
        }
        if has_mail && self.from.is_empty() {
            return Err("from: mail needs a sender".to_owned());
        }
        if self.mail.len() > MAIL_MAX {
            return Err(format!("mail: more than {MAIL_MAX} addresses"));
        }
        if has_webhook && !self.webhook.is_reference() {
            let hint =
                "its URL is a secret: write ${NAME} for a variable of the environment, or ${file:PATH} for a file";
            return Err(format!("webhook: {hint}"));
        }
        Ok(())
    }
}
