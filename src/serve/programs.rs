//! The archive for programs over HTTP: the API at [`ROOT`], its OpenAPI document, and the tools of the Model Context
//! Protocol.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::asking::response;
use crate::answers::{Answers, HttpTools, Problem, ROOT, Readers, Tools, document, find, given};
use crate::replay::Reply;
use crate::server::{Body, ConnectionHandle};

/// The path of the tools.
const TOOLS: &str = "/mcp";
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
        path.starts_with(ROOT) || path == TOOLS
    }

    /// Answers a request for one of these paths. While the archive answers, the connection is not closed for another.
    pub(super) async fn answer(&self, request: Request<Incoming>, place: &ConnectionHandle) -> Response<Body> {
        place.stay();
        let answer = match request.uri().path().strip_prefix(ROOT) {
            None => self.tools.answer(request).await,
            Some(_) if !matches!(*request.method(), Method::GET | Method::HEAD) => {
                let mut answer = refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here");
                answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                answer
            }
            Some(DOCUMENT) => said(StatusCode::OK, &document()),
            Some(name) => self.asked(name, request.uri().query().unwrap_or_default()).await,
        };
        place.may_go();
        answer
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

/// A document of JSON, which no page of another site reads.
fn said(status: StatusCode, json: &Value) -> Response<Body> {
    let fields = [
        ("content-type", "application/json; charset=utf-8"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    response(Reply { status: status.as_u16(), fields, body: json.to_string().into_bytes() })
}
