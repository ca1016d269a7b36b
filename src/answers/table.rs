//! The table of all questions: their names, their use, their parameters and answers.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::answer::{Captures, Difference, Links, Stored, Text};
use super::operation::{Operation, answered, schema_of};
use super::question::{CapturesOf, DifferenceOf, ExplanationOf, LinksOf, Nothing, StoredAt, TextOf};

/// All of them.
pub(crate) static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let mut all = operations();
    #[cfg(feature = "search")]
    all.insert(0, super::search::operation());
    all
});

fn operations() -> Vec<Operation> {
    vec![
        Operation {
            name: "read",
            title: "Read a page",
            about: "The text of an archived page, such as an HTML page, a PDF or an Office document: its main \
                    content as Markdown, or all that a reader sees. Long texts come in parts.",
            is_tool: true,
            parameters: schema_of::<TextOf>(),
            answer: |schemas| schemas.subschema_for::<Text>(),
            ask: |archive, given| answered(given, |question| archive.text(&question)),
        },
        Operation {
            name: "captures",
            title: "List the captures of a URL",
            about: "The times at which the crawl stored an answer of a URL, with the status and type of each.",
            is_tool: true,
            parameters: schema_of::<CapturesOf>(),
            answer: |schemas| schemas.subschema_for::<Captures>(),
            ask: |archive, given| answered(given, |question| archive.captures(&question)),
        },
        Operation {
            name: "diff",
            title: "Compare two captures of a page",
            about: "The lines of text that differ between two captures of a page, in the unified format; without \
                    times, between the newest one and the last one before it with other content.",
            is_tool: true,
            parameters: schema_of::<DifferenceOf>(),
            answer: |schemas| schemas.subschema_for::<Difference>(),
            ask: |archive, given| answered(given, |question| archive.difference(&question)),
        },
        Operation {
            name: "links",
            title: "List the links of a page",
            about: "The URLs that an archived page links to or embeds, with the texts of the links.",
            is_tool: true,
            parameters: schema_of::<LinksOf>(),
            answer: |schemas| schemas.subschema_for::<Links>(),
            ask: |archive, given| answered(given, |question| archive.links(&question)),
        },
        Operation {
            name: "explain",
            title: "Explain a URL",
            about: "Everything that the crawl knows and decides about a URL: why it was fetched, waits, or never \
                    will be; the verdict is the whole in one sentence.",
            is_tool: true,
            parameters: schema_of::<ExplanationOf>(),
            answer: |schemas| schemas.subschema_for::<Map<String, Value>>(),
            ask: |archive, given| answered(given, |question| archive.explanation(&question)),
        },
        Operation {
            name: "coverage",
            title: "Say how much of the known URLs is archived",
            about: "The share of the URLs that the crawl knows whose content it has, and what became of the others.",
            is_tool: true,
            parameters: schema_of::<Nothing>(),
            answer: |schemas| schemas.subschema_for::<Map<String, Value>>(),
            ask: |archive, given| answered(given, |question| archive.coverage(&question)),
        },
        Operation {
            name: "get",
            title: "Get a capture",
            about: "A capture as it was received: the status, the fields of its head, and its body without content \
                    coding.",
            is_tool: false,
            parameters: schema_of::<StoredAt>(),
            answer: |schemas| schemas.subschema_for::<Stored>(),
            ask: |archive, given| answered(given, |question| archive.stored(&question)),
        },
    ]
}

/// The operation of this name.
pub(crate) fn find(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}
