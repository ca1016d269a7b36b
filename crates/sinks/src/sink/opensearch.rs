//! OpenSearch and Elasticsearch, by their bulk API.
//!
//! A document is one of the index with the same id. The index is made with a mapping if it is not there; one that is
//! has to have `id` and `digest` as keywords, by which the documents are read back. Each item of an answer counts for
//! itself: 429, 5xx and blocks (403) are tried again, all else that is no success is refused. A deletion of a document
//! that is not there is a success.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::fields::{FIELDS, Holds};
use super::http::Endpoint;
use super::settings::Settings;
use super::{Applied, Batch, Entry, Failure, Postponed, Refused, Sink};
use crate::feed::Change;
use crate::web::secret::Secret;

/// Documents that a search answers with at most, unless the index says otherwise.
const PAGE_MAX: usize = 10_000;
/// The longest text that is found by its exact words, in characters: Lucene refuses one of 32,766 bytes.
const KEYWORD_MAX: usize = 8_000;

/// An index.
pub(super) struct OpenSearch {
    endpoint: Endpoint,
    index: String,
    /// True once the index is known to be there.
    is_ready: bool,
}

/// The answer to a bulk request, by the fields that are asked for.
#[derive(Deserialize)]
struct Bulk {
    #[serde(default)]
    items: Vec<Map<String, Value>>,
}

impl OpenSearch {
    pub(super) fn new(settings: &Settings, secret: Option<&Secret>) -> Result<OpenSearch, String> {
        let endpoint = Endpoint::trusting(&settings.url, settings.ca_file.as_deref())?.with_secret(
            &settings.user,
            "ApiKey",
            secret,
        )?;
        Ok(OpenSearch { endpoint, index: settings.index.clone(), is_ready: false })
    }

    /// Makes the index where it is not there.
    fn prepare(&mut self) -> Result<(), Failure> {
        if self.is_ready {
            return Ok(());
        }
        let request = self.endpoint.request(Method::HEAD, &[&self.index], "");
        let answer = self.endpoint.send(request).map_err(Failure::again)?;
        if answer.status == 404 {
            let request = self.endpoint.request(Method::PUT, &[&self.index], "");
            let request = request.header(CONTENT_TYPE, "application/json").body(mapping().to_string());
            let answer = self.endpoint.send(request).map_err(Failure::again)?;
            // another process has made it meanwhile
            let is_there = String::from_utf8_lossy(&answer.body).contains("resource_already_exists_exception");
            if !answer.status.is_success() && !is_there {
                return Err(answer.failure("the request for the index"));
            }
        } else if !answer.status.is_success() {
            return Err(answer.failure("the question for the index"));
        }
        self.is_ready = true;
        Ok(())
    }

    /// The fate of each change by its item.
    fn settle(&mut self, changes: &[Change], bulk: Bulk) -> Result<Applied, Failure> {
        if bulk.items.len() != changes.len() {
            return Err(Failure::again(format!("{} items for {} changes", bulk.items.len(), changes.len())));
        }
        let (mut refused, mut postponed) = (Vec::new(), Postponed::default());
        for (at, (change, item)) in changes.iter().zip(bulk.items).enumerate() {
            let Some(item) = item.into_iter().next().map(|(_, item)| item) else { continue };
            let status = item["status"].as_u64().unwrap_or(500);
            match (status, change) {
                (200..300, _) | (404, Change::Delete(_)) => {}
                // the index is gone; the next try makes one
                (404 | 403 | 408 | 429 | 500.., _) => {
                    self.is_ready &= status != 404;
                    postponed.at.push(at);
                    postponed.why = reason(status, &item);
                }
                _ => refused.push(Refused { at, why: reason(status, &item) }),
            }
        }
        let postponed = (!postponed.at.is_empty()).then_some(postponed);
        Ok(Applied { bytes: 0, refused, postponed })
    }
}

impl Sink for OpenSearch {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        self.prepare()?;
        let body = lines(batch.changes);
        let bytes = body.len() as u64;
        let query = "filter_path=items.*.status,items.*.error";
        let request = self.endpoint.request(Method::POST, &[&self.index, "_bulk"], query);
        let request = request.header(CONTENT_TYPE, "application/x-ndjson").body(body);
        let answer = self.endpoint.send(request).map_err(Failure::again)?;
        let bulk = serde_json::from_value(answer.json("the bulk request")?);
        let bulk = bulk.map_err(|e| Failure::again(format!("the answer to the bulk request: {e}")))?;
        Ok(Applied { bytes, ..self.settle(batch.changes, bulk)? })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        self.prepare()?;
        if after.is_none() {
            let request = self.endpoint.request(Method::POST, &[&self.index, "_refresh"], "");
            self.endpoint.send(request).map_err(Failure::again)?.json("the refresh")?;
        }
        let mut search = json!({
            "size": most.min(PAGE_MAX),
            "_source": false,
            "docvalue_fields": ["id", "digest"],
            "sort": [{"id": "asc"}],
            "track_total_hits": false,
        });
        if let Some(after) = after {
            search["search_after"] = json!([after]);
        }
        let request = self.endpoint.request(Method::POST, &[&self.index, "_search"], "filter_path=hits.hits.fields");
        let request = request.header(CONTENT_TYPE, "application/json").body(search.to_string());
        let answer = self.endpoint.send(request).map_err(Failure::again)?.json("the search for ids")?;
        let hits = answer["hits"]["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |hit: &Value, field: &str| hit["fields"][field][0].as_str().unwrap_or_default().to_owned();
        Ok(hits.iter().map(|hit| Entry { id: text(hit, "id"), digest: text(hit, "digest") }).collect())
    }
}

/// The changes as lines of the bulk API.
fn lines(changes: &[Change]) -> Vec<u8> {
    let mut lines = Vec::new();
    for change in changes {
        let document = match change {
            Change::Upsert(document) => Some(document),
            Change::Delete(_) => None,
        };
        let action = if document.is_some() { "index" } else { "delete" };
        push_line(&mut lines, &json!({action: {"_id": change.id()}}));
        if let Some(document) = document {
            push_line(&mut lines, document);
        }
    }
    lines
}

fn push_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *lines, value).expect("texts are JSON");
    lines.push(b'\n');
}

/// The mapping of the fields of a document.
fn mapping() -> Value {
    let field = |holds| match holds {
        Holds::Prose => json!({"type": "text"}),
        Holds::Time => json!({"type": "date"}),
        Holds::Keyword | Holds::Keywords => json!({"type": "keyword", "ignore_above": KEYWORD_MAX}),
    };
    let properties: Map<String, Value> = FIELDS.iter().map(|f| (f.name.to_owned(), field(f.holds))).collect();
    json!({"mappings": {"properties": properties}})
}

fn reason(status: u64, item: &Value) -> String {
    let (error, cause) = (&item["error"], &item["error"]["caused_by"]["reason"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cause = cause.as_str().map(|cause| format!(" ({cause})")).unwrap_or_default();
    format!("{status} {}: {}{cause}", text(&error["type"]), text(&error["reason"]))
}
