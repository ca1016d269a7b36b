//! The archive for programs over HTTP: the API at [`ROOT`], its OpenAPI document, the tools of the Model Context
//! Protocol, and changes for feed readers.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::asking::response;
use crate::answers::{Answers, HttpTools, Problem, ROOT, Readers, Tools, document, find, given};
use crate::replay::Reply;
use crate::server::{Body, ConnectionHandle};

/// The path of the tools.
const TOOLS: &str = "/mcp";
/// The path of the newest changes, for feed readers.
const CHANGES: &str = "/changes.atom";
/// The name of the document, below the root.
const DOCUMENT: &str = "openapi.json";

/// Answers to programs.
pub(crate) struct Programs {
    archive: Arc<dyn Answers>,
    readers: Readers,
    tools: HttpTools,
}

impl Programs {
    /// Asks `archive` for them.
    pub(crate) fn new(archive: Arc<dyn Answers>) -> Programs {
        let readers = Readers::new();
        let tools = Tools::new(archive.clone(), readers.clone()).over_http();
        Programs { archive, readers, tools }
    }

    /// The archive that they ask.
    #[cfg(feature = "search")]
    pub(super) fn archive(&self) -> &dyn Answers {
        &*self.archive
    }

    /// True for the paths of programs.
    pub(super) fn has(path: &str) -> bool {
        path.starts_with(ROOT) || path == TOOLS || path == CHANGES
    }

    /// Answers a request for one of these paths. While the archive answers, the connection is not closed for another.
    pub(super) async fn answer(&self, request: Request<Incoming>, place: &ConnectionHandle) -> Response<Body> {
        place.stay();
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let answer = match path.strip_prefix(ROOT) {
            None if path == TOOLS => self.tools.answer(request).await,
            _ if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                let mut answer = refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here");
                answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                answer
            }
            None => self.changes(query).await,
            Some(DOCUMENT) => said(StatusCode::OK, &document()),
            Some(name) => self.asked(name, query).await,
        };
        place.may_go();
        answer
    }

    /// The feed of the newest changes, since the time of the query.
    async fn changes(&self, query: &str) -> Response<Body> {
        let since = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "since");
        let since = since.map(|(_, time)| time.into_owned());
        let archive = self.archive.clone();
        let feed = self.readers.run(move || archive.changes(since.as_deref())).await;
        match feed.unwrap_or_else(|| Err(Problem::internal())) {
            Ok(feed) => sent(StatusCode::OK, "application/atom+xml; charset=utf-8", feed),
            Err(problem) => problem_as_answer(&problem),
        }
    }

    async fn asked(&self, name: &str, query: &str) -> Response<Body> {
        let Some(operation) = find(name) else { return refused(StatusCode::NOT_FOUND, "there is no such question") };
        let answer = match given(operation, query) {
            Ok(parameters) => self.readers.ask(&self.archive, operation, parameters).await,
            Err(problem) => Err(problem),
        };
        answer.map_or_else(|problem| problem_as_answer(&problem), |answer| said(StatusCode::OK, &answer))
    }
}

/// A reason as an answer.
fn problem_as_answer(problem: &Problem) -> Response<Body> {
    let status = StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    refused(status, &problem.to_string())
}

fn refused(status: StatusCode, sentence: &str) -> Response<Body> {
    said(status, &json!({ "error": sentence }))
}

fn said(status: StatusCode, json: &Value) -> Response<Body> {
    sent(status, "application/json; charset=utf-8", json.to_string().into_bytes())
}

/// A document that no page of another site reads.
fn sent(status: StatusCode, content_type: &str, body: Vec<u8>) -> Response<Body> {
    let fields = [
        ("content-type", content_type),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    response(Reply { status: status.as_u16(), fields, body })
}
