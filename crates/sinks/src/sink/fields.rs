//! The fields of a document as columns: the one list that mappings, tables and change files go over.

use crate::feed::Document;

/// A kind of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// One exact text: an id, a URL, a code.
    Keyword,
    /// Prose, which engines analyse.
    Prose,
    /// Exact texts.
    Keywords,
    /// A time in RFC 3339.
    Time,
}

/// The value of a document in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Absent,
    Text(&'a str),
    List(&'a [String]),
}

#[cfg(feature = "sqlite")]
impl Value<'_> {
    /// The bytes of its texts.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Value::Absent => 0,
            Value::Text(text) => text.len() as u64,
            Value::List(list) => list.iter().map(|text| text.len() as u64).sum(),
        }
    }
}

/// A field of a document.
pub(super) struct Field {
    pub name: &'static str,
    pub holds: Holds,
    #[cfg_attr(
        not(any(test, feature = "parquet", feature = "postgres", feature = "sqlite")),
        expect(dead_code, reason = "tables alone take a document apart")
    )]
    pub value: fn(&Document) -> Value<'_>,
}

/// All fields, in the order of [`Document`]; the id is the first.
pub(super) const FIELDS: [Field; 11] = [
    Field { name: "id", holds: Holds::Keyword, value: |document| Value::Text(&document.id) },
    Field { name: "url", holds: Holds::Keyword, value: |document| Value::Text(&document.url) },
    Field { name: "urls", holds: Holds::Keywords, value: |document| Value::List(&document.urls) },
    Field { name: "title", holds: Holds::Prose, value: |document| Value::Text(&document.title) },
    Field { name: "text", holds: Holds::Prose, value: |document| Value::Text(&document.text) },
    Field { name: "language", holds: Holds::Keyword, value: |document| Value::Text(&document.language) },
    Field { name: "mime", holds: Holds::Keyword, value: |document| Value::Text(&document.mime) },
    Field {
        name: "kind",
        holds: Holds::Keyword,
        value: |document| document.kind.as_deref().map_or(Value::Absent, Value::Text),
    },
    Field { name: "digest", holds: Holds::Keyword, value: |document| Value::Text(&document.digest) },
    Field { name: "captured", holds: Holds::Time, value: |document| Value::Text(&document.captured) },
    Field { name: "record", holds: Holds::Keyword, value: |document| Value::Text(&document.record) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_those_of_a_document_in_json() {
        let document = Document { kind: Some("wall".into()), urls: vec!["u".into()], ..Document::default() };
        let json = serde_json::to_value(&document).unwrap();
        let object = json.as_object().unwrap();
        assert_eq!(object.len(), FIELDS.len());
        for field in &FIELDS {
            match (field.value)(&document) {
                Value::Absent => panic!("{}", field.name),
                Value::Text(text) => assert_eq!(object[field.name], *text, "{}", field.name),
                Value::List(list) => assert_eq!(object[field.name], serde_json::json!(list), "{}", field.name),
            }
        }
    }
}
