//! Routes by path: the question that each puts to the source, on which lane, and within which limits.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{HOST, IF_NONE_MATCH};
use hyper::{Method, Request, StatusCode};
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;
use url::form_urlencoded;

use super::answer::{self, Answer};
use super::assets;
use super::guard;
use super::poller::Shared;
use super::readers::{Lane, Readers};
use super::source::Source;
use super::streams::Streams;
use crate::answers::Problem;
use crate::serve::{ArchiveService, Token};
use crate::server::guard::only;
use crate::server::{Caller, Service};

/// Bytes of an order.
const ORDER_BYTES_MAX: usize = 256 << 10;
/// The body of an order has to have come within this time.
const BODY_MAX: Duration = Duration::from_secs(5);
/// Rows of a table.
const ROWS_MAX: usize = 1_000;
/// Bytes of a URL that is asked for.
const URL_BYTES_MAX: usize = 16 << 10;

/// The router, which answers requests.
pub(super) struct Routes {
    pub token: Token,
    pub poller: Shared,
    pub readers: Readers,
    pub streams: Streams,
    /// Our own pages about archived ones.
    pub archive: ArchiveService,
    /// Port at which these are.
    pub replay_port: u16,
}

impl Service for Routes {
    async fn answer(&self, request: Request<Incoming>, caller: &Caller) -> Answer {
        if ArchiveService::has(request.uri().path()) {
            return self.archive.answer(request, caller).await;
        }
        if let Err((status, why)) = guard::check(&request, caller.local) {
            return answer::refused(status, why);
        }
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/api/ctl") => self.order(request, caller).await,
            (&Method::GET | &Method::HEAD, _) => self.read(&request, caller).await,
            _ => answer::refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here"),
        }
    }
}

impl Routes {
    async fn read<B>(&self, request: &Request<B>, caller: &Caller) -> Answer {
        let known_tag = request.headers().get(IF_NONE_MATCH).map(|tag| tag.as_bytes());
        let query = Query(request.uri().query().unwrap_or_default());
        match request.uri().path() {
            "/" => answer::page(&self.archive.frame_sources(host(request), caller.local), known_tag),
            "/api/history" => answer::document(&self.poller.history()),
            "/api/events" if request.method() == Method::HEAD => {
                answer::refused(StatusCode::METHOD_NOT_ALLOWED, "a stream has no HEAD")
            }
            "/api/events" => answer::stream(self.streams.open(self.poller.listen(), &caller.place)),
            path => match path.strip_prefix("/assets/").map(assets::find) {
                Some(Some(asset)) => answer::asset(asset, known_tag),
                Some(None) => answer::refused(StatusCode::NOT_FOUND, "there is no such file"),
                None => self.ask(path, &query, caller).await.unwrap_or_else(|problem| answer::problem(&problem)),
            },
        }
    }

    /// Asks the source.
    async fn ask(&self, path: &str, query: &Query<'_>, caller: &Caller) -> Result<Answer, Problem> {
        use Lane::{Quick, Slow};
        match path {
            "/api/state" => self.table(caller, Quick, |source| source.state()).await,
            "/api/hosts" => {
                let limit = query.limit(50)?;
                self.table(caller, Quick, move |source| source.hosts(limit)).await
            }
            "/api/budgets" => self.table(caller, Quick, |source| rows(source.budgets())).await,
            "/api/requests" => {
                let limit = query.limit(100)?;
                self.table(caller, Quick, move |source| rows(source.requests(limit))).await
            }
            "/api/warnings" => self.table(caller, Quick, |source| rows(source.warnings())).await,
            "/api/disk" => self.table(caller, Quick, |source| source.disk()).await,
            "/api/seeds" => {
                let (offset, limit) = (query.number("offset", 0)?, query.limit(100)?);
                self.table(caller, Slow, move |source| source.seeds(offset, limit)).await
            }
            "/api/explain" => {
                let url = query.url()?;
                self.table(caller, Slow, move |source| source.explain(&url)).await
            }
            "/api/versions" => {
                let url = query.url()?;
                let port = self.replay_port;
                let versions =
                    move |source: &dyn Source| Ok(json!({ "versions": source.versions(&url)?, "replay_port": port }));
                self.table(caller, Slow, versions).await
            }
            "/api/tree" => {
                let under = query.text("under")?.unwrap_or_default();
                self.table(caller, Slow, move |source| source.tree(&under)).await
            }
            _ => Err(Problem::Missing("there is nothing at this path".to_owned())),
        }
    }

    async fn table<T: Serialize + Send + 'static>(
        &self,
        caller: &Caller,
        lane: Lane,
        question: impl FnOnce(&dyn Source) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Answer, Problem> {
        Ok(answer::document(&self.asked(caller, lane, question).await?))
    }

    /// Asks a reader. While it answers, the connection is not closed for another one.
    async fn asked<T: Send + 'static>(
        &self,
        caller: &Caller,
        lane: Lane,
        question: impl FnOnce(&dyn Source) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        caller.place.stay();
        let answer = self.readers.ask(lane, question).await;
        caller.place.may_go();
        answer
    }

    /// Carries an order out, if it brings the token.
    async fn order<B>(&self, request: Request<B>, caller: &Caller) -> Answer
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        if let Err((status, why)) = guard::check_token(request.headers(), &self.token) {
            return answer::refused(status, why);
        }
        let body = match read_body(request.into_body()).await {
            Ok(body) => body,
            Err(problem) => return answer::problem(&problem),
        };
        let done = self.asked(caller, Lane::Quick, move |source| source.order(&body)).await;
        match done {
            Ok(reply) => answer::document(&reply),
            Err(problem) => answer::problem(&problem),
        }
    }
}

/// The name under which the console is asked.
fn host<B>(request: &Request<B>) -> &str {
    only(request.headers(), HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

fn rows<T: Serialize>(rows: Result<Vec<T>, Problem>) -> Result<serde_json::Value, Problem> {
    Ok(json!({ "rows": rows? }))
}

async fn read_body<B>(body: B) -> Result<Bytes, Problem>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let too_long = || Problem::TooMuch(format!("an order has at most {ORDER_BYTES_MAX} bytes"));
    if body.size_hint().lower() > ORDER_BYTES_MAX as u64 {
        return Err(too_long());
    }
    match timeout(BODY_MAX, Limited::new(body, ORDER_BYTES_MAX).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(error)) => Err(Problem::Question(format!("the order cannot be read: {error}"))),
        Err(_) => Err(Problem::Question("the order did not come in time".to_owned())),
    }
}

/// The parameters of a request.
struct Query<'a>(&'a str);

impl Query<'_> {
    /// The parameter of this name.
    fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        let mut found = form_urlencoded::parse(self.0.as_bytes()).filter(|(key, _)| key == name);
        match found.next() {
            Some((_, text)) if text.len() > URL_BYTES_MAX => {
                Err(Problem::Question(format!("{name} has more than {URL_BYTES_MAX} bytes")))
            }
            found => Ok(found.map(|(_, text)| text.into_owned())),
        }
    }

    fn number(&self, name: &str, usual: u64) -> Result<u64, Problem> {
        let Some(text) = self.text(name)? else { return Ok(usual) };
        text.parse().map_err(|_| Problem::Question(format!("{name} has to be a number")))
    }

    fn limit(&self, usual: usize) -> Result<usize, Problem> {
        let limit = self.number("limit", usual as u64)?;
        Ok(usize::try_from(limit).unwrap_or(ROWS_MAX).min(ROWS_MAX))
    }

    fn url(&self) -> Result<String, Problem> {
        let url = self.text("url")?.filter(|url| !url.is_empty());
        url.ok_or_else(|| Problem::Question("say which URL: ?url=https://example.com/".to_owned()))
    }
}
