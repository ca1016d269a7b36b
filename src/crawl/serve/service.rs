//! The servers' side of a replay: who may ask, the request as a question, the reply as an answer of HTTP.
//!
//! Only requests whose `Host` is an address of ours are answered. A page of another site may lead the user here, and do
//! nothing else; archived pages, which are of the same site but not of the home origin, may not ask for home pages.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};

use super::asking::{Readers, body_of, fields, refused, without_body};
use crate::replay::{Home, Origins, Question, Replay};
use crate::server::guard::{FETCH_DESTINATION, FETCH_SITE, has_own_host, has_own_origin, only};
use crate::server::{Body, Caller, Service};

/// Fields that a replay looks at.
const FIELDS: [&str; 5] = ["accept-datetime", "content-type", "range", "sec-fetch-dest", "service-worker"];

/// The script before all others of a page.
const HEAD: &str = "/replay-head.js";

/// One of the two origins.
#[derive(Clone)]
pub(super) enum Side {
    /// Our own pages.
    Home(Arc<Home>),
    /// Archived pages.
    Replay(Arc<Replay>),
}

/// The ports of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub home: u16,
    pub replay: u16,
}

/// Answers the requests to one of them.
pub(super) struct ArchiveService {
    side: Side,
    ports: Ports,
    readers: Readers,
}

impl ArchiveService {
    /// Answers for `side`.
    pub(super) fn new(side: Side, ports: Ports) -> ArchiveService {
        ArchiveService { side, ports, readers: Readers::new() }
    }

    fn origins(&self, host: &str) -> Origins {
        let own = if matches!(self.side, Side::Home(_)) { self.ports.home } else { self.ports.replay };
        let name = host.strip_suffix(&format!(":{own}")).unwrap_or(host);
        Origins {
            home: format!("http://{name}:{}", self.ports.home),
            replay: format!("http://{name}:{}", self.ports.replay),
        }
    }

    /// Says why a request is not answered, if it is not.
    fn refusal<B>(&self, request: &Request<B>, caller: &Caller) -> Option<(StatusCode, &'static str)> {
        if !has_own_host(request, caller.local) {
            let why = "the Host of this request is not an address at which the archive is served";
            return Some((StatusCode::MISDIRECTED_REQUEST, why));
        }
        let headers = request.headers();
        let is_opened = only(headers, FETCH_DESTINATION).is_some_and(|to| to == "document");
        let site = only(headers, FETCH_SITE).map(HeaderValue::as_bytes);
        let is_own = match self.side {
            Side::Home(_) => matches!(site, None | Some(b"same-origin" | b"none")),
            Side::Replay(_) => matches!(site, None | Some(b"same-origin" | b"same-site" | b"none")),
        };
        // frames in a sandbox are of another site
        let is_head = request.uri().path() == HEAD;
        let is_foreign = !has_own_origin(headers) || !is_own && !is_opened && !is_head;
        is_foreign.then_some((StatusCode::FORBIDDEN, "the request comes from a page of another site"))
    }

    async fn question(&self, request: Request<Incoming>) -> Option<Question> {
        let (head, body) = request.into_parts();
        let host = only(&head.headers, HOST)?.to_str().ok()?;
        let origins = self.origins(host);
        let body = body_of(&head.method, body).await?;
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Some(Question {
            method: head.method.to_string(),
            target,
            fields: fields(&head.headers, &FIELDS),
            body,
            origins,
        })
    }
}

impl Service for ArchiveService {
    async fn answer(&self, request: Request<Incoming>, caller: &Caller) -> Response<Body> {
        if let Some((status, why)) = self.refusal(&request, caller) {
            return refused(status, why);
        }
        let Some(question) = self.question(request).await else { return without_body() };
        let side = self.side.clone();
        let answer = move || match side {
            Side::Home(home) => home.answer(&question),
            Side::Replay(replay) => replay.answer(&question),
        };
        self.readers.ask(&caller.place, answer).await
    }
}
