//! A replay over HTTP: who may ask, the request as a question, the reply as an answer.
//!
//! Only requests whose `Host` is an address of ours are answered. A page of another site may lead the user here, and do
//! nothing else; archived pages, which are of the same site but not of the home origin, may not ask for home pages.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::replay::{Home, Origins, Question, Replay, Reply};
use crate::server::guard::{FETCH_DESTINATION, FETCH_SITE, has_own_host, has_own_origin, only};
use crate::server::{Body, Caller, Service, whole};
use crate::web::request;

/// Questions that are answered at a time: each may hold a body.
const AT_ONCE: usize = 4;
/// Bytes of a body with which an archived page asks: no longer one is in an address.
const BODY_BYTES_MAX: usize = request::Request::BYTES_MAX;
/// It has to have come within this time.
const BODY_MAX: Duration = Duration::from_secs(5);
/// Fields that a replay looks at.
const FIELDS: [&str; 5] = ["accept-datetime", "content-type", "range", "sec-fetch-dest", "service-worker"];

/// The script before all others of a page.
const HEAD: &str = "/replay-head.js";

/// One of the two origins.
#[derive(Clone)]
pub(crate) enum Side {
    /// Our own pages.
    Home(Arc<Home>),
    /// Archived pages.
    Replay(Arc<Replay>),
}

/// The ports of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub home: u16,
    pub replay: u16,
}

/// Answers the requests to one of them.
pub(crate) struct ArchiveService {
    side: Side,
    ports: Ports,
    places: Arc<Semaphore>,
}

impl ArchiveService {
    /// Answers for `side`.
    pub(crate) fn new(side: Side, ports: Ports) -> ArchiveService {
        ArchiveService { side, ports, places: Arc::new(Semaphore::new(AT_ONCE)) }
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
        let body = match head.method.as_str() {
            "POST" => timeout(BODY_MAX, Limited::new(body, BODY_BYTES_MAX).collect()).await.ok()?.ok()?.to_bytes(),
            _ => Default::default(),
        };
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Some(Question {
            method: head.method.to_string(),
            target,
            fields: fields(&head.headers),
            body: body.to_vec(),
            origins,
        })
    }

    /// Asks the archive on a thread of its own. While it answers, the connection is not closed for another one.
    async fn asked(&self, question: Question, caller: &Caller) -> Option<Reply> {
        caller.place.stay();
        let place = self.places.clone().acquire_owned().await.ok()?;
        let side = self.side.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let _place = place;
            match side {
                Side::Home(home) => home.answer(&question),
                Side::Replay(replay) => replay.answer(&question),
            }
        });
        let reply = asked.await;
        caller.place.may_go();
        reply.ok()
    }
}

impl Service for ArchiveService {
    async fn answer(&self, request: Request<Incoming>, caller: &Caller) -> Response<Body> {
        if let Some((status, why)) = self.refusal(&request, caller) {
            return refused(status, why);
        }
        let Some(question) = self.question(request).await else {
            return refused(StatusCode::BAD_REQUEST, "the body of this request is too long, or did not come");
        };
        match self.asked(question, caller).await {
            Some(reply) => response(reply),
            None => refused(StatusCode::INTERNAL_SERVER_ERROR, "an internal fault; the log of the process has it"),
        }
    }
}

/// Fields of the head, as far as a replay looks at them.
fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    FIELDS.into_iter().filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
}

fn response(reply: Reply) -> Response<Body> {
    let mut response = Response::new(whole(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.fields {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn refused(status: StatusCode, why: &'static str) -> Response<Body> {
    let fields = [("content-type", "text/plain; charset=utf-8"), ("content-security-policy", "default-src 'none'")];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    response(Reply { status: status.as_u16(), fields, body: why.into() })
}
