//! Apache Solr, by the JSON of its update handler.
//!
//! The URL is the one of Solr (`http://127.0.0.1:8983/solr`), `index` the core or collection. Fields that the schema
//! lacks are added by its API. A batch is one request with a hard commit, so it is durable when it is answered;
//! searches see it [`COMMIT_WITHIN_MS`] later.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::fields::{FIELDS, Holds};
use super::http::Endpoint;
use super::settings::Settings;
use super::{Applied, Batch, Entry, Failure, Sink};
use crate::feed::Change;
use crate::web::secret::Secret;

/// The longest time until searches see a change.
const COMMIT_WITHIN_MS: u32 = 10_000;

/// A core.
pub(super) struct Solr {
    endpoint: Endpoint,
    core: String,
    /// True once its schema is known to have the fields.
    is_ready: bool,
}

impl Solr {
    pub(super) fn new(settings: &Settings, secret: Option<&Secret>) -> Result<Solr, String> {
        let endpoint = Endpoint::trusting(&settings.url, settings.ca_file.as_deref())?.with_secret(
            &settings.user,
            "Bearer",
            secret,
        )?;
        Ok(Solr { endpoint, core: settings.index.clone(), is_ready: false })
    }

    fn post(&self, path: &[&str], query: &str, body: String) -> Result<Value, Failure> {
        let path: Vec<&str> = [&*self.core].iter().chain(path).copied().collect();
        let request = self.endpoint.request(Method::POST, &path, query).header(CONTENT_TYPE, "application/json");
        self.endpoint.send(request.body(body)).map_err(Failure::again)?.json(&format!("the request for {}", path[1]))
    }

    /// Adds the fields that the schema lacks.
    fn prepare(&mut self) -> Result<(), Failure> {
        if self.is_ready {
            return Ok(());
        }
        let request = self.endpoint.request(Method::GET, &[&self.core, "schema", "fields"], "");
        let schema = self.endpoint.send(request).map_err(Failure::again)?.json("the question for the schema")?;
        let there = schema["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
        let missing: Vec<Value> = FIELDS
            .iter()
            .filter(|field| there.iter().all(|there| there["name"] != field.name))
            .map(|field| json!({"name": field.name, "type": holds(field.holds), "stored": true, "indexed": true}))
            .collect();
        if !missing.is_empty() {
            let answer = self.post(&["schema"], "", json!({"add-field": missing}).to_string());
            answer.map_err(|failure| Failure::broken(format!("the schema lacks fields: {failure}")))?;
        }
        self.is_ready = true;
        Ok(())
    }
}

impl Sink for Solr {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        self.prepare()?;
        let body = commands(batch.changes);
        let bytes = body.len() as u64;
        self.post(&["update"], "commit=true&openSearcher=false", body)?;
        Ok(Applied { bytes, ..Applied::default() })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        self.prepare()?;
        if after.is_none() {
            self.post(&["update"], "commit=true", "{}".to_owned())?;
        }
        let mut query = json!({"query": "*:*", "sort": "id asc", "limit": most, "fields": ["id", "digest"]});
        if let Some(after) = after {
            let after = after.replace('\\', "\\\\").replace('"', "\\\"");
            query["filter"] = format!("id:{{\"{after}\" TO *]").into();
        }
        let answer = self.post(&["select"], "wt=json", query.to_string())?;
        let documents = answer["response"]["docs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |document: &Value, field: &str| document[field].as_str().unwrap_or_default().to_owned();
        Ok(documents.iter().map(|d| Entry { id: text(d, "id"), digest: text(d, "digest") }).collect())
    }
}

/// The changes as one object of commands, whose names may repeat.
fn commands(changes: &[Change]) -> String {
    let commands = changes.iter().map(|change| match change {
        Change::Upsert(document) => {
            let add = json!({"doc": document, "overwrite": true, "commitWithin": COMMIT_WITHIN_MS});
            format!("\"add\":{add}")
        }
        Change::Delete(deletion) => {
            format!("\"delete\":{}", json!({"id": deletion.id, "commitWithin": COMMIT_WITHIN_MS}))
        }
    });
    format!("{{{}}}", commands.collect::<Vec<_>>().join(",\n"))
}

/// The type of a field, as the default schema of Solr names it.
fn holds(holds: Holds) -> &'static str {
    match holds {
        Holds::Keyword => "string",
        Holds::Keywords => "strings",
        Holds::Prose => "text_general",
        Holds::Time => "pdate",
    }
}
