//! Changes of the set of documents, as consumers get them.

use serde::{Deserialize, Serialize};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Change {
    /// A document that is new, or has changed: it replaces the one with its id.
    Upsert(Box<Document>),
    /// A document that is gone.
    Delete(Deletion),
}

impl Change {
    /// The id of the document.
    pub fn id(&self) -> &str {
        match self {
            Change::Upsert(document) => &document.id,
            Change::Delete(deletion) => &deletion.id,
        }
    }

    /// The canonical URL of the document.
    pub fn url(&self) -> &str {
        match self {
            Change::Upsert(document) => &document.url,
            Change::Delete(deletion) => &deletion.url,
        }
    }
}

/// A page with its texts. All URLs under which the crawl knows it are one document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// 32 digits of hexadecimal, from its URL: the same in all crawls.
    pub id: String,
    /// Its canonical URL.
    pub url: String,
    /// All its URLs, the canonical one first: those that redirect to it, and those whose pages name it as canonical.
    pub urls: Vec<String>,
    /// The title; empty where it has none.
    pub title: String,
    /// The main content, or all visible text of a page without.
    pub text: String,
    /// ISO 639-3; empty where it is not known.
    pub language: String,
    /// Media type of the answer.
    pub mime: String,
    /// The kind of the answer, where it is another than content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Digest of the body as it was sent, as WARC records have it.
    pub digest: String,
    /// The time at which this version was captured, in RFC 3339.
    pub captured: String,
    /// The id of its WARC record.
    pub record: String,
}

/// A document that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletion {
    /// The id that its upserts had.
    pub id: String,
    /// Its canonical URL.
    pub url: String,
    /// Why it is gone.
    pub reason: Reason,
    /// The id of the document that it is a part of now, where that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
}

/// Why a document is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// 404 or 410, confirmed by a second visit.
    Gone,
    /// The operator had it removed.
    Forgotten,
    /// A robots.txt that was read forbids it.
    Robots,
    /// The settings leave it out.
    Scope,
    /// The answers are no content any more, confirmed by a second visit.
    Kind,
    /// It is part of another document: it redirects there, or names it as canonical.
    Duplicate,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_flat_object_of_json() {
        let deletion = Deletion {
            id: "0f".into(),
            url: "https://a.example/".into(),
            reason: Reason::Duplicate,
            duplicate_of: Some("1e".into()),
        };
        let change = Change::Delete(deletion);
        let json = serde_json::to_string(&change).unwrap();
        let expected =
            r#"{"op":"delete","id":"0f","url":"https://a.example/","reason":"duplicate","duplicate_of":"1e"}"#;
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Change>(&json).unwrap(), change);
        let upsert = Change::Upsert(Box::new(Document { id: "0f".into(), ..Document::default() }));
        let json = serde_json::to_string(&upsert).unwrap();
        assert!(json.starts_with(r#"{"op":"upsert","id":"0f","url":"","urls":[]"#) && !json.contains("kind"), "{json}");
        assert_eq!(serde_json::from_str::<Change>(&json).unwrap().id(), "0f");
    }
}
