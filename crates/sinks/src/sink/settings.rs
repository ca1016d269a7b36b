//! The settings of a sink, in a file of TOML.
//!
//! ```toml
//! kind = "opensearch"
//! url = "https://search.example:9200"
//! index = "pages"
//! user = "crawler"
//! secret = "${file:/etc/crawler/opensearch}"
//! dead_letters = "/var/lib/crawler/search.dead.jsonl"
//! ```
//! The secret is a reference as in the configuration of a crawl. Who opens the sink looks it up.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::delivery::{BATCH, BATCH_BYTES, DEAD_LETTERS_MAX, Limits};
use crate::web::secret::{REDACTED, SecretAddress};

/// The most changes of a batch, and bytes, that can be set.
const BATCH_MAX: usize = 100_000;
const BATCH_BYTES_MAX: usize = 256 << 20;

/// A kind of sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The bulk API of OpenSearch and Elasticsearch.
    #[serde(alias = "elasticsearch")]
    OpenSearch,
    /// A table of PostgreSQL.
    Postgres,
    /// Change files of Apache Parquet in a directory.
    Parquet,
    /// A table of SQLite.
    Sqlite,
    /// An index of Meilisearch.
    Meilisearch,
    /// A core or collection of Apache Solr.
    Solr,
    /// An own full text index in a directory.
    Search,
}

impl Kind {
    /// Bytes that a sink of this kind keeps in memory beside its batch.
    pub fn memory(self) -> usize {
        match self {
            #[cfg(feature = "search")]
            Kind::Search => crate::search::WRITER_BYTES,
            _ => 0,
        }
    }
}

/// Settings of a sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Its kind.
    pub kind: Kind,
    /// The server; for files their path.
    #[serde(alias = "path")]
    pub url: SecretAddress,
    /// The index, core or table.
    #[serde(alias = "table", alias = "core", default = "index")]
    pub index: String,
    /// The user whose password the secret is; without one, the secret is a key of the API.
    #[serde(default)]
    pub user: String,
    /// A reference to a password or a key.
    #[serde(default)]
    pub secret: Reference,
    /// The file of authorities, in PEM, that are trusted besides the usual ones.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// Changes of a batch.
    #[serde(default = "batch")]
    pub batch: usize,
    /// Bytes of a batch.
    #[serde(default = "batch_bytes")]
    pub batch_bytes: usize,
    /// Tries after the first one; without a number, a batch is tried for ever.
    #[serde(default)]
    pub retries: Option<u32>,
    /// The file of documents that are refused for good; without one, the first such document ends the sink.
    #[serde(default)]
    pub dead_letters: Option<PathBuf>,
    /// Such documents in a run, of which one more ends the sink.
    #[serde(default = "dead_letters_max")]
    pub dead_letters_max: u64,
}

fn index() -> String {
    "pages".to_owned()
}

fn batch() -> usize {
    BATCH
}

fn batch_bytes() -> usize {
    BATCH_BYTES
}

fn dead_letters_max() -> u64 {
    DEAD_LETTERS_MAX
}

/// A problem with a setting.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error("{key}: {problem}")]
pub struct SettingsError {
    /// The key.
    pub key: &'static str,
    /// The problem.
    pub problem: String,
}

/// A reference to a secret: `${NAME}` is a variable of the environment, `${file:PATH}` the text of a file. A secret
/// that somebody writes in its place is not printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reference(String);

impl Reference {
    /// The reference as it is written.
    pub fn written(&self) -> &str {
        &self.0
    }

    /// False for text that is there itself.
    pub fn is_reference(&self) -> bool {
        self.0.starts_with("${") && self.0.ends_with('}')
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_reference() || self.0.is_empty() { &self.0 } else { REDACTED })
    }
}

impl Settings {
    /// The limits of its delivery.
    pub fn limits(&self) -> Limits {
        Limits {
            batch: self.batch,
            batch_bytes: self.batch_bytes,
            retries: self.retries,
            dead_letters: self.dead_letters.clone(),
            dead_letters_max: self.dead_letters_max,
        }
    }

    /// Refuses settings with which no sink can be opened. Nothing is connected to.
    pub fn check(&self) -> Result<(), SettingsError> {
        let require = |holds: bool, key, problem: &str| match holds {
            true => Ok(()),
            false => Err(SettingsError { key, problem: problem.to_owned() }),
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let is_name = self.index.bytes().all(is_plain) && self.index.starts_with(|c: char| c.is_ascii_alphanumeric());
        require(is_name && self.index.len() <= 127, "index", "has to be of letters, digits, _, - and .")?;
        require((1..=BATCH_MAX).contains(&self.batch), "batch", "has to be from 1 to 100000")?;
        let is_size = (1..=BATCH_BYTES_MAX).contains(&self.batch_bytes);
        require(is_size, "batch_bytes", "has to be from 1 to 268435456")?;
        let is_reference = self.secret.0.is_empty() || self.secret.is_reference();
        require(is_reference, "secret", "write ${NAME} for a variable of the environment, or ${file:PATH} for a file")?;
        let has_secret = self.user.is_empty() || !self.secret.0.is_empty();
        require(has_secret, "user", "has no secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings, String> {
        let settings: Settings = toml::from_str(text).map_err(|e| e.to_string())?;
        settings.check().map_err(|e| e.to_string())?;
        Ok(settings)
    }

    #[test]
    fn a_table_has_defaults_and_no_key_that_is_unknown() {
        let settings = parse("kind = 'elasticsearch'\nurl = 'http://127.0.0.1:9200'").unwrap();
        assert_eq!((settings.kind, &*settings.index, settings.batch), (Kind::OpenSearch, "pages", BATCH));
        for (text, words) in [
            ("kind = 'opensearch'", "url"),
            ("kind = 'x'\nurl = 'u'", "unknown variant"),
            ("kind = 'opensearch'\nurl = 'u'\nurls = 'v'", "unknown field"),
            ("kind = 'opensearch'\nurl = 'u'\nindex = '_all'", "index: has to be"),
            ("kind = 'opensearch'\nurl = 'u'\nindex = 'a/b'", "index: has to be"),
            ("kind = 'opensearch'\nurl = 'u'\nbatch = 0", "batch: has to be"),
            ("kind = 'opensearch'\nurl = 'u'\nuser = 'me'", "user: has no secret"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_secret_is_a_reference_and_anything_else_is_not_shown() {
        let text = "kind = 'opensearch'\nurl = 'http://127.0.0.1:9200'\nuser = 'me'\nsecret = ";
        let settings = parse(&format!("{text}'${{file:/run/secret}}'")).unwrap();
        assert_eq!(settings.secret.written(), "${file:/run/secret}");
        let error = parse(&format!("{text}'sesame'")).unwrap_err();
        assert!(error.starts_with("secret: write") && !error.contains("sesame"), "{error}");
        let settings: Settings = toml::from_str(&format!("{text}'sesame'")).unwrap();
        assert!(!format!("{settings:?}").contains("sesame"));
    }
}
