//! The answer to a question.

use schemars::JsonSchema;
use serde::Serialize;
use tantivy::schema::Field;
use tantivy::schema::document::Value;
use tantivy::{DocAddress, Searcher, TantivyDocument};

use super::facets::Facets;
use super::fields::Fields;
use super::plan::Marked;
use super::snippet::Snippet;
use crate::clock::Time;
use crate::web::warc_date::format_date;

/// The answer. Its JSON is the JSON of the command and of servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Found {
    /// Pages that fit, near duplicates included.
    pub total: u64,
    /// Near duplicates that were left out before and among the hits.
    pub folded: u64,
    /// The hits: the best first or, of a question without words, the newest first.
    pub hits: Vec<Hit>,
    /// Counts of the values of all pages that fit; none where they were not asked for.
    pub facets: Facets,
}

/// A page that was found, with what it takes to cite it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// Its URL.
    pub url: String,
    /// The time of the capture: `2026-11-21T05:08:44.123Z`.
    pub captured: String,
    /// Its title; empty where it has none.
    pub title: String,
    /// An excerpt of its text.
    pub snippet: Snippet,
    /// Its host.
    pub host: String,
    /// Its media type.
    pub media_type: String,
    /// Its language by the name in ISO 639-3; empty where it is not known.
    pub language: String,
    /// `content`, or what came in its place.
    pub kind: String,
    /// SHA-1 of the body as it was sent: `sha1:...`.
    pub digest: String,
    /// The id of the WARC record.
    pub record_id: String,
    /// The score by which it fits, comparable within one answer.
    pub score: f32,
}

impl Hit {
    /// Reads the hit at `place`.
    pub(super) fn read(searcher: &Searcher, place: Scored, fields: &Fields, marked: &Marked) -> tantivy::Result<Hit> {
        let document: TantivyDocument = searcher.doc(place.address)?;
        let text = |field: Field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let captured = document.get_first(fields.captured).and_then(|value| value.as_u64()).unwrap_or_default();
        let language = text(fields.language);
        Ok(Hit {
            url: text(fields.url).to_owned(),
            captured: format_date(Time::from_ms(captured)),
            title: text(fields.shown_title).to_owned(),
            snippet: Snippet::of(text(fields.shown_text), language, marked),
            host: text(fields.host).to_owned(),
            media_type: text(fields.media_type).to_owned(),
            language: language.to_owned(),
            kind: text(fields.kind).to_owned(),
            digest: text(fields.digest).to_owned(),
            record_id: text(fields.record).to_owned(),
            score: place.score,
        })
    }
}

/// A document that fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scored {
    pub address: DocAddress,
    pub score: f32,
}
