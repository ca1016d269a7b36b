//! A replay over HTTP: who may ask, the request as a question, the reply as an answer.
//!
//! Only requests whose `Host` is an address of ours are answered, or the name of an archived origin with our secret. A
//! page of another site may lead the user here, and do nothing else; archived pages, which are of the same site but not
//! of the home origin, may not ask for home pages.

use std::net::{IpAddr, SocketAddr};
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
const FIELDS: [&str; 7] = [
    "accept-datetime",
    "access-control-request-headers",
    "content-type",
    "origin",
    "range",
    "sec-fetch-dest",
    "service-worker",
];

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

/// The addresses of both, as far as they are not in a request.
#[derive(Clone)]
pub(crate) struct Names {
    pub home_port: u16,
    pub replay_port: u16,
    /// Behind the hosts of archived origins, with the port: a secret of this process.
    pub sites: String,
}

/// Answers the requests to one of them.
pub(crate) struct ArchiveService {
    side: Side,
    names: Names,
    places: Arc<Semaphore>,
}

impl ArchiveService {
    /// Answers for `side`.
    pub(crate) fn new(side: Side, names: Names) -> ArchiveService {
        ArchiveService { side, names, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Origins of frames that show archived pages, as a policy has them, for a page at `host` of the address `local`.
    pub(crate) fn frame_sources(&self, host: &str, local: SocketAddr) -> String {
        self.origins(host, local).frame_sources()
    }

    /// The origins for a request to `host`, which came to the address `local`.
    fn origins(&self, host: &str, local: SocketAddr) -> Origins {
        let Names { home_port, replay_port, ref sites } = self.names;
        let own = if matches!(self.side, Side::Home(_)) { home_port } else { replay_port };
        let local = SocketAddr::new(local.ip().to_canonical(), own).to_string();
        let host = if self.site(host).is_some() { &local } else { host };
        let name = host.strip_suffix(&format!(":{own}")).unwrap_or(host);
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_here = name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback());
        Origins {
            home: format!("http://{name}:{home_port}"),
            replay: format!("http://{name}:{replay_port}"),
            sites: is_here.then(|| sites.clone()),
        }
    }

    /// The part of a host before the secret, if it has it: nobody else can ask for it.
    fn site<'a>(&self, host: &'a str) -> Option<&'a str> {
        let is_replay = matches!(self.side, Side::Replay(_));
        host.strip_suffix(&self.names.sites).and_then(|name| name.strip_suffix('.')).filter(|_| is_replay)
    }

    /// Says why a request is not answered, if it is not.
    fn refusal<B>(&self, request: &Request<B>, caller: &Caller) -> Option<(StatusCode, &'static str)> {
        let host = only(request.headers(), HOST).and_then(|host| host.to_str().ok());
        if host.is_some_and(|host| self.site(host).is_some()) && caller.local.ip().to_canonical().is_loopback() {
            return None;
        }
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

    async fn question(&self, request: Request<Incoming>, caller: &Caller) -> Option<Question> {
        let (head, body) = request.into_parts();
        let host = only(&head.headers, HOST)?.to_str().ok()?;
        let (origins, site) = (self.origins(host, caller.local), self.site(host).map(str::to_owned));
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
            site,
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
        let Some(question) = self.question(request, caller).await else {
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
