//! Questions: the parameters of each, with their limits. Their documentation is what users of the API and models read.

use schemars::JsonSchema;
use serde::Deserialize;

/// Form of a URL.
const URL: &str = "^[Hh][Tt][Tt][Pp][Ss]?://[^/]+";
/// Forms of a time.
const TIME: &str = "^([0-9]{1,14}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z?)?)$";
/// Characters of a text that are answered at a time.
pub(crate) const CHARACTERS_MAX: usize = 100_000;
/// Characters of it unless the question says how many.
pub(crate) const CHARACTERS: usize = 20_000;
/// Rows of a list that are answered at a time.
pub(crate) const ROWS_MAX: usize = 1_000;
/// Rows of it unless the question says how many.
pub(crate) const ROWS: usize = 100;
/// Bytes of a body that are answered.
pub(crate) const BODY_BYTES_MAX: usize = 8 << 20;

/// Parameters of a question for the captures of a URL.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapturesOf {
    /// The URL, with its scheme
    #[schemars(regex(pattern = URL))]
    pub url: String,
    /// Captures to name, the newest first
    #[schemars(range(min = 1, max = ROWS_MAX))]
    #[serde(default = "rows")]
    pub limit: usize,
}

/// Parameters of a question for a capture as it was received.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredAt {
    /// The URL, with its scheme
    #[schemars(regex(pattern = URL))]
    pub url: String,
    /// The nearest capture to this time (1 to 14 digits, as 20261128, or a date, as 2026-11-28T10:00:00Z); the newest
    /// one with content without it
    #[schemars(regex(pattern = TIME))]
    pub time: Option<String>,
}

/// Parameters of a question for the text of a page.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextOf {
    /// The URL, with its scheme
    #[schemars(regex(pattern = URL))]
    pub url: String,
    /// The nearest capture to this time (1 to 14 digits, as 20261128, or a date, as 2026-11-28T10:00:00Z); the newest
    /// one with content without it
    #[schemars(regex(pattern = TIME))]
    pub time: Option<String>,
    /// True for all that a reader sees, with navigation and the like, as lines; otherwise the main content as Markdown
    #[serde(default)]
    pub whole: bool,
    /// Characters to skip: what an earlier answer named as next
    #[serde(default)]
    pub offset: usize,
    /// Characters to answer
    #[schemars(range(min = 1, max = CHARACTERS_MAX))]
    #[serde(default = "characters")]
    pub limit: usize,
}

/// Parameters of a question for the links of a page.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinksOf {
    /// The URL, with its scheme
    #[schemars(regex(pattern = URL))]
    pub url: String,
    /// The nearest capture to this time (1 to 14 digits, as 20261128, or a date, as 2026-11-28T10:00:00Z); the newest
    /// one with content without it
    #[schemars(regex(pattern = TIME))]
    pub time: Option<String>,
    /// Links to skip: what an earlier answer named as next
    #[serde(default)]
    pub offset: usize,
    /// Links to answer
    #[schemars(range(min = 1, max = ROWS_MAX))]
    #[serde(default = "rows")]
    pub limit: usize,
}

/// Parameters of a question for the differences of two captures.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DifferenceOf {
    /// The URL, with its scheme
    #[schemars(regex(pattern = URL))]
    pub url: String,
    /// Time of the earlier capture, the nearest to it (1 to 14 digits, or a date); without it the last one with other
    /// content
    #[schemars(regex(pattern = TIME))]
    pub from: Option<String>,
    /// Time of the later capture, the nearest to it; without it the newest one with content
    #[schemars(regex(pattern = TIME))]
    pub to: Option<String>,
    /// Characters to answer
    #[schemars(range(min = 1, max = CHARACTERS_MAX))]
    #[serde(default = "characters")]
    pub limit: usize,
}

/// Parameters of a question for an explanation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplanationOf {
    /// The URL, with its scheme
    #[schemars(regex(pattern = URL))]
    pub url: String,
}

/// No parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

fn rows() -> usize {
    ROWS
}

fn characters() -> usize {
    CHARACTERS
}
