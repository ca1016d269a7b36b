//! A replay over HTTP: who may ask, the request as a question, the reply as an answer.
//!
//! Only requests whose `Host` is an address of ours are answered, or the name of an archived origin with our secret. A
//! page of another site may lead the user here, and do nothing else; archived pages, which are of the same site but not
//! of the home origin, may not ask for home pages.

mod admission;
pub(crate) mod asking;
mod programs;
#[cfg(feature = "search")]
mod results;
mod token;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};

use crate::answers::Readers;
use crate::replay::{Home, Origins, Question, Replay, is_home_path};
use crate::server::guard::{FETCH_DESTINATION, FETCH_SITE, has_own_host, has_own_origin, only};
use crate::server::{Body, Caller, Service};
use asking::{ask, body_of, fields, refused, without_body};
pub(crate) use programs::Programs;
pub(crate) use token::Token;

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
    /// Our own pages, and answers to programs.
    Home(Arc<Home>, Arc<Programs>),
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
    /// The token that requests have to bring, if they have to. At an archived origin its host is one.
    pub token: Option<Token>,
}

/// Answers the requests to one of them.
pub(crate) struct ArchiveService {
    side: Side,
    names: Names,
    readers: Readers,
}

impl ArchiveService {
    /// Answers for `side`.
    pub(crate) fn new(side: Side, names: Names) -> ArchiveService {
        ArchiveService { side, names, readers: Readers::new() }
    }

    /// Returns whether a path is answered here, the start page aside: a server may have other pages beside them.
    pub(crate) fn has(path: &str) -> bool {
        is_home_path(path) || Programs::has(path)
    }

    /// Origins of frames that show archived pages, as a policy has them, for a page at `host` of the address `local`.
    pub(crate) fn frame_sources(&self, host: &str, local: SocketAddr) -> String {
        self.origins(host, local).frame_sources()
    }

    /// The origins for a request to `host`, which came to the address `local`.
    fn origins(&self, host: &str, local: SocketAddr) -> Origins {
        let Names { home_port, replay_port, ref sites, .. } = self.names;
        let own = if matches!(self.side, Side::Home(..)) { home_port } else { replay_port };
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
            Side::Home(..) => matches!(site, None | Some(b"same-origin" | b"none")),
            Side::Replay(_) => matches!(site, None | Some(b"same-origin" | b"same-site" | b"none")),
        };
        // frames in a sandbox are of another site
        let is_head = request.uri().path() == HEAD;
        let is_foreign = !has_own_origin(headers) || !is_own && !is_opened && !is_head;
        is_foreign.then_some((StatusCode::FORBIDDEN, "the request comes from a page of another site"))
    }

    /// The answer to a request that does not have the token, where one is asked for.
    fn admission<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let token = self.names.token.as_ref()?;
        let host = only(request.headers(), HOST).and_then(|host| host.to_str().ok());
        let has_secret = host.is_some_and(|host| self.site(host).is_some());
        if has_secret { None } else { admission::answer(request, token, self.names.home_port) }
    }

    async fn question(&self, request: Request<Incoming>, caller: &Caller) -> Option<Question> {
        let (head, body) = request.into_parts();
        let host = only(&head.headers, HOST)?.to_str().ok()?;
        let (origins, site) = (self.origins(host, caller.local), self.site(host).map(str::to_owned));
        let body = body_of(&head.method, body).await?;
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Some(Question {
            method: head.method.to_string(),
            target,
            fields: fields(&head.headers, &FIELDS),
            body,
            origins,
            site,
        })
    }
}

impl Service for ArchiveService {
    async fn answer(&self, request: Request<Incoming>, caller: &Caller) -> Response<Body> {
        if let Some((status, why)) = self.refusal(&request, caller) {
            return refused(status, why);
        }
        if let Some(answer) = self.admission(&request) {
            return answer;
        }
        if let Side::Home(_, programs) = &self.side
            && Programs::has(request.uri().path())
        {
            return programs.answer(request, &caller.place).await;
        }
        let Some(question) = self.question(request, caller).await else { return without_body() };
        let side = self.side.clone();
        #[cfg(feature = "search")]
        if let Side::Home(home, programs) = &side
            && let Some(query) = results::asked(&question.target)
        {
            let (home, programs, query) = (home.clone(), programs.clone(), query.to_owned());
            return ask(&self.readers, &caller.place, move || {
                let found = results::results(programs.archive(), &query);
                home.page(&question, found.status, &found.words, &found.body)
            })
            .await;
        }
        let answer = move || match side {
            Side::Home(home, _) => home.answer(&question),
            Side::Replay(replay) => replay.answer(&question),
        };
        ask(&self.readers, &caller.place, answer).await
    }
}
