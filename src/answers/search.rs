//! The question for pages by their words, in builds that have a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Operation, answered, schema_of};
use crate::search::Found;

/// Parameters of a search.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchFor {
    /// Words that must all be there; "words in their order" in quotation marks, -word to leave out, OR between
    /// alternatives, title:word, url:word, site:example.com, lang:en, type:application/pdf, kind:login,
    /// after:2026-11-01, before:2026-11-30. Without words the newest pages
    #[serde(default)]
    pub query: String,
    /// Hits to answer
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "hits")]
    pub limit: usize,
    /// Hits to skip
    #[schemars(range(max = 9_900))]
    #[serde(default)]
    pub offset: usize,
    /// False to have hits whose text is nearly that of a better one, too
    #[serde(default = "yes")]
    pub fold: bool,
    /// True to count the pages by host, media type, language, kind, year and month
    #[serde(default)]
    pub facets: bool,
}

/// The result of a search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Searched {
    /// Pages that were found
    #[serde(flatten)]
    pub found: Found,
    /// Pages in the index
    pub indexed: u64,
    /// False while the index does not have all pages of the archive yet
    pub complete: bool,
}

/// The question in the table.
pub(super) fn operation() -> Operation {
    Operation {
        name: "search",
        title: "Search the archive",
        about: "Pages of the archive by their words, in all languages: the newest capture of each URL, the best hits \
            first, with an excerpt and what it takes to cite it. Read a hit by its URL to have all of its text.",
        is_tool: true,
        parameters: schema_of::<SearchFor>(),
        answer: |schemas| schemas.subschema_for::<Searched>(),
        ask: |archive, given| answered(given, |question| archive.search(&question)),
    }
}

fn hits() -> usize {
    10
}

fn yes() -> bool {
    true
}
