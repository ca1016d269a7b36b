//! Meilisearch, by its documents API.
//!
//! Requests become tasks, which the server carries out in their order; a batch is applied when its tasks have
//! succeeded. To read the ids back takes memory for all of them, as the server has no order of ids.

use std::thread;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::http::Endpoint;
use super::listing::Sorted;
use super::settings::Settings;
use super::{Applied, Batch, Entry, Failure, Sink};
use crate::web::secret::Secret;

/// The time in which a task has to end.
const TASK_MAX: Duration = Duration::from_secs(600);
/// The first wait for a task, and the longest.
const LOOK_AFTER: Duration = Duration::from_millis(10);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Documents of a page.
const PAGE: usize = 1_000;
/// The code of an error: there is no such index, so nothing is in it.
const NO_INDEX: &str = "index_not_found";

/// An index.
pub(super) struct Meilisearch {
    api: Api,
    listing: Sorted,
}

/// The requests for it.
struct Api {
    endpoint: Endpoint,
    index: String,
}

impl Meilisearch {
    pub(super) fn new(settings: &Settings, secret: Option<&Secret>) -> Result<Meilisearch, String> {
        let endpoint = Endpoint::trusting(&settings.url, settings.ca_file.as_deref())?.with_secret(
            &settings.user,
            "Bearer",
            secret,
        )?;
        Ok(Meilisearch { api: Api { endpoint, index: settings.index.clone() }, listing: Sorted::default() })
    }
}

impl Api {
    /// Sends documents or ids; returns the number of the task.
    fn begin(&self, path: &[&str], body: Vec<u8>) -> Result<u64, Failure> {
        let path: Vec<&str> = ["indexes", &self.index, "documents"].iter().chain(path).copied().collect();
        let request = self.endpoint.request(Method::POST, &path, "primaryKey=id");
        let request =
            request.header(CONTENT_TYPE, if path.len() == 3 { "application/x-ndjson" } else { "application/json" });
        let answer = self.endpoint.send(request.body(body)).map_err(Failure::again)?.json("the batch")?;
        answer["taskUid"].as_u64().ok_or_else(|| Failure::again("the batch is answered without a task"))
    }

    /// Waits until a task has ended.
    fn end(&self, task: u64) -> Result<(), Failure> {
        let (start, mut wait) = (Instant::now(), LOOK_AFTER);
        loop {
            let request = self.endpoint.request(Method::GET, &["tasks", &task.to_string()], "");
            let answer = self.endpoint.send(request).map_err(Failure::again)?.json("the question for a task")?;
            let error = &answer["error"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let why = format!("task {task}: {}: {}", text(&error["code"]), text(&error["message"]));
            match (&*text(&answer["status"]), &*text(&error["type"])) {
                ("succeeded", _) => return Ok(()),
                ("failed", "invalid_request") if error["code"] == NO_INDEX => return Ok(()),
                ("failed", "invalid_request") => return Err(Failure::Refused { why }),
                ("failed" | "canceled", _) => return Err(Failure::again(why)),
                _ if start.elapsed() > TASK_MAX => return Err(Failure::again(format!("task {task} does not end"))),
                _ => thread::sleep(wait),
            }
            wait = (wait * 2).min(LOOK_EVERY);
        }
    }

    fn read(&self) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        loop {
            let query = format!("fields=id,digest&limit={PAGE}&offset={}", entries.len());
            let request = self.endpoint.request(Method::GET, &["indexes", &self.index, "documents"], &query);
            let answer = self.endpoint.send(request).map_err(Failure::again)?;
            if answer.status == 404 && String::from_utf8_lossy(&answer.body).contains(NO_INDEX) {
                return Ok(entries);
            }
            let answer = answer.json("the question for documents")?;
            let page = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
            if page.is_empty() {
                return Ok(entries);
            }
            let text = |document: &Value, field: &str| document[field].as_str().unwrap_or_default().to_owned();
            entries.extend(page.iter().map(|d| Entry { id: text(d, "id"), digest: text(d, "digest") }));
        }
    }
}

impl Sink for Meilisearch {
    fn apply(&mut self, batch: Batch<'_>) -> Result<Applied, Failure> {
        let deleted: Vec<&str> = batch.deleted().collect();
        let mut lines = Vec::new();
        for document in batch.documents() {
            serde_json::to_writer(&mut lines, document).expect("texts are JSON");
            lines.push(b'\n');
        }
        let mut bytes = lines.len() as u64;
        if !deleted.is_empty() {
            let body = json!(deleted).to_string().into_bytes();
            bytes += body.len() as u64;
            self.api.end(self.api.begin(&["delete-batch"], body)?)?;
        }
        if !lines.is_empty() {
            self.api.end(self.api.begin(&[], lines)?)?;
        }
        Ok(Applied { bytes, ..Applied::default() })
    }

    fn ids(&mut self, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Failure> {
        let (listing, api) = (&mut self.listing, &self.api);
        listing.page(after, most, || api.read())
    }
}
