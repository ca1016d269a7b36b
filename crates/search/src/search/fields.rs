//! The fields of the index.

use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};

use super::analyzer;

/// The fields.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub schema: Schema,
    /// The URL: the key of a document.
    pub url: Field,
    /// The host and every domain above it.
    pub site: Field,
    /// The host.
    pub host: Field,
    /// The media type.
    pub media_type: Field,
    /// The language, by its name in ISO 639-3.
    pub language: Field,
    /// The kind of the answer; `content` for a page that is what was asked for.
    pub kind: Field,
    /// The time of the capture, in milliseconds.
    pub captured: Field,
    /// Year and month of the capture: 202611.
    pub month: Field,
    /// Parts of the signature by which texts that are nearly the same are found.
    pub near: Field,
    /// The digest of the body.
    pub digest: Field,
    /// The id of the WARC record.
    pub record: Field,
    /// Words of the title, of the headings, of the text and of the URL.
    pub title: Field,
    pub headings: Field,
    pub text: Field,
    pub address: Field,
    /// The title and the text, as they are shown.
    pub shown_title: Field,
    pub shown_text: Field,
    /// The id that somebody else gave the document: its key, in an index of documents.
    pub id: Option<Field>,
}

impl Fields {
    /// Those of an index of a crawl.
    pub fn of_crawl() -> Fields {
        Fields::new(false)
    }

    /// Those of an index of documents.
    pub fn of_documents() -> Fields {
        Fields::new(true)
    }

    fn new(has_ids: bool) -> Fields {
        let mut schema = SchemaBuilder::new();
        let words = |frequencies| {
            let indexing = TextFieldIndexing::default().set_tokenizer(analyzer::NAME).set_index_option(frequencies);
            TextOptions::default().set_indexing_options(indexing)
        };
        let counted = || STRING.set_fast("raw") | STORED;
        let [host, media_type, language, kind] = Fields::COUNTED;
        let with_places = IndexRecordOption::WithFreqsAndPositions;
        let fields = Fields {
            url: schema.add_text_field("url", STRING | STORED),
            site: schema.add_text_field("site", STRING),
            host: schema.add_text_field(host, counted()),
            media_type: schema.add_text_field(media_type, counted()),
            language: schema.add_text_field(language, counted()),
            kind: schema.add_text_field(kind, counted()),
            captured: schema.add_u64_field(Fields::CAPTURED, FAST | STORED),
            month: schema.add_u64_field(Fields::MONTH, FAST),
            near: schema.add_u64_field(Fields::NEAR, FAST),
            digest: schema.add_text_field("digest", STORED),
            record: schema.add_text_field("record", STORED),
            title: schema.add_text_field("title", words(with_places)),
            headings: schema.add_text_field("headings", words(with_places)),
            text: schema.add_text_field("text", words(with_places)),
            address: schema.add_text_field("address", words(with_places)),
            shown_title: schema.add_text_field("shown-title", STORED),
            shown_text: schema.add_text_field("shown-text", STORED),
            id: has_ids.then(|| schema.add_text_field("id", STRING | STORED)),
            schema: SchemaBuilder::new().build(),
        };
        Fields { schema: schema.build(), ..fields }
    }

    /// The names of the fields whose values are counted as facets.
    pub const COUNTED: [&str; 4] = ["host", "type", "language", "kind"];

    /// The field of the months that are counted.
    pub const MONTH: &str = "month";
    /// The field of the times by which hits without words are sorted.
    pub const CAPTURED: &str = "captured";
    /// The field of the signatures.
    pub const NEAR: &str = "near";
}
