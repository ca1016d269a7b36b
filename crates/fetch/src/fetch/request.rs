//! One request: vetted address, head, body.

use std::net::IpAddr;
use std::sync::Arc;

use reqwest::RequestBuilder;
use reqwest::header::{HeaderValue, ORIGIN, REFERER};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout_at};

use super::body::End;
use super::client::{Clients, over_which_connection};
use super::failure::{cause_of, describe, http2_fault, is_of_dead_connection, is_out_of_files, is_unprocessed};
use super::protocols::Http2Fault;
use super::proxies::cause_by;
use super::{Arrived, FILES_PAUSE, Shared, head, transfer};
use crate::clock::Time;
use crate::container::Referrer;
use crate::contract::{
    Addressed, Fault, FetchFailed, FetchJob, Fetched, Judgement, Reply, RequestSettings, Response, SignatureFields,
    Target,
};
use crate::disk;
use crate::outcome::Cause;
use crate::warc::{HttpVersion, Truncation};
use crate::web::request::Method;
use crate::web::url::CanonicalUrl;

/// Makes the request of `job` and hands on what came of it.
pub(super) async fn run(shared: Arc<Shared>, Addressed { job, reply }: Addressed<FetchJob>) {
    let started = shared.clock.now();
    let clock = Instant::now();
    let result = exchange(&shared, &job, started, clock).await;
    match result {
        Ok((response, place)) => {
            // a receiver that is gone means that the process ends
            drop(shared.answers.send(Arrived { fetched: Box::new(Fetched { job, response }), reply, place }));
        }
        Err(NoAnswer::Failed(cause, detail)) => {
            let duration = clock.elapsed();
            let failed = Box::new(FetchFailed { job, failure: cause.failure(), cause, detail, started, duration });
            reply.send(with_referrer(failed).await);
        }
        Err(NoAnswer::Fault(fault)) => reply.send(Err(fault.into())),
    }
}

/// The event of a failure, whose line in the log names the page that named the URL. Its record is read where blocking
/// does no harm.
async fn with_referrer(mut failed: Box<FetchFailed>) -> Result<Reply, Fault> {
    if !matches!(failed.job.via, Referrer::Record(_)) {
        return Ok(Reply::Failed(failed));
    }
    let read = tokio::task::spawn_blocking(move || match failed.job.via.resolve() {
        Ok(()) => Ok(Reply::Failed(failed)),
        Err(fault) => Err(fault.into()),
    });
    read.await.unwrap_or_else(|error| Err(Fault::Panic(error.to_string())))
}

/// Reason for which there is no answer: the server's fault, or a disk that took no more.
enum NoAnswer {
    Failed(Cause, String),
    Fault(disk::Error),
}

impl From<disk::Error> for NoAnswer {
    fn from(fault: disk::Error) -> Self {
        NoAnswer::Fault(fault)
    }
}

async fn exchange(shared: &Shared, job: &FetchJob, started: Time, clock: Instant) -> Result<Placed, NoAnswer> {
    // the client asks its resolver for names only: a literal is checked here
    if let Some(literal) = shared.guard.refused_literal(&job.url) {
        return Err(NoAnswer::Failed(Cause::PrivateAddress, format!("{literal} is outside the public internet")));
    }
    let settings = job.settings.as_ref().unwrap_or(&shared.options.usual);
    let addresses = match settings.proxy {
        Some(_) => behind_proxy(shared, job).await?,
        None => job.addresses.clone(),
    };
    let _pinned = (!addresses.is_empty()).then(|| shared.resolver.pin(job.url.host(), &addresses));
    let clients = shared.clients.of(&shared.options, settings.proxy.as_ref());
    let clients = clients.map_err(|error| NoAnswer::Failed(Cause::Proxy, error.to_string()))?;
    let origin = job.url.origin();
    let kept = Kept { shared, origin: &origin, keeps: shared.idle.take(&origin, clock.into_std()) };
    let deadline = clock + settings.timeout_total;
    let exchange = Exchange { shared, job, settings, clients: &clients, origin: &origin, keeps: kept.keeps, deadline };
    exchange.make(started, clock).await
}

/// The place of a connection that is kept behind its request, whether that comes to its end or is dropped.
struct Kept<'a> {
    shared: &'a Shared,
    origin: &'a str,
    keeps: bool,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if self.keeps {
            self.shared.idle.leave_idle(self.origin, Instant::now().into_std());
        }
    }
}

/// No address of the server is ever connected to from here. So the name is resolved here before the proxy hears of it,
/// and has to mean an address that may be connected to. A `socks5` proxy gets that address; that any other one, which
/// resolves the name itself, finds the same nobody can promise.
async fn behind_proxy(shared: &Shared, job: &FetchJob) -> Result<Arc<[IpAddr]>, NoAnswer> {
    if job.url.literal_address().is_some() {
        return Ok(Arc::default());
    }
    let permitted = shared.resolver.permitted(job.url.host(), &job.addresses).await;
    permitted.map_err(|cause| NoAnswer::Failed(cause, format!("{} before the proxy is asked: {cause}", job.url.host())))
}

/// A request for a URL whose address may be connected to.
struct Exchange<'a> {
    shared: &'a Shared,
    job: &'a FetchJob,
    settings: &'a RequestSettings,
    /// The clients of its proxy.
    clients: &'a Clients,
    origin: &'a str,
    /// True if the connection is kept after the exchange.
    keeps: bool,
    deadline: Instant,
}

/// An answer, and the place of its body if it is a large one.
type Placed = (Response, Option<OwnedSemaphorePermit>);

/// The head of an answer, and how the request was signed that it answers.
type Signed = (reqwest::Response, Option<SignatureFields>);

/// Reason for which no head came.
struct Failed {
    cause: Cause,
    detail: String,
    http2: Option<Http2Fault>,
    again: Option<Again>,
}

/// Reason for which a request without an answer is made once more at once, over a new connection, and counts for
/// nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    /// The server says that it has not processed it (RFC 9113, 8.7).
    Unprocessed,
    /// The connection was not of this request alone, and ended under it: it had been kept, and the server closed it
    /// while the request was on its way (RFC 9112, 9.3.1), or another stream of HTTP/2 brought it down.
    OfOthers,
}

impl Exchange<'_> {
    /// Bytes of the body that are read: rules that are cut off would be rules that are not kept to.
    fn body_max(&self) -> usize {
        match self.job.target {
            Target::Robots { .. } => self.settings.body_max.max(self.settings.robots_max),
            _ => self.settings.body_max,
        }
    }

    /// The answer, head and body.
    async fn make(&self, started: Time, clock: Instant) -> Result<Placed, NoAnswer> {
        let (answer, signature, (arrived, end)) = loop {
            let head = self.head().await;
            let (mut answer, signature) = head.map_err(|failed| NoAnswer::Failed(failed.cause, failed.detail))?;
            let read = tokio::select! {
                biased;
                // its connection goes with it, and the request is sent again when the right is back
                () = self.shared.options.lease.lost() => continue,
                read = self.shared.bodies.read(&mut answer, self.body_max(), self.deadline) => read?,
            };
            break (answer, signature, read);
        };
        let duration = clock.elapsed();
        match end {
            End::Broken(Some(fault)) if answer.version() == reqwest::Version::HTTP_2 => {
                self.shared.protocols.failed(self.origin, fault);
            }
            End::Whole | End::Cut(_) if self.job.url.is_https() => self.shared.protocols.worked(self.origin),
            _ => {}
        }
        let status = answer.status();
        let reason = match answer.extensions().get::<hyper::ext::ReasonPhrase>() {
            Some(sent) => String::from_utf8_lossy(sent.as_bytes()).into_owned(),
            None => status.canonical_reason().unwrap_or_default().to_owned(),
        };
        let headers =
            answer.headers().iter().map(|(name, value)| (name.as_str().as_bytes().into(), value.as_bytes().into()));
        // the address of a proxy says nothing of the server
        let address = answer.remote_addr().filter(|_| self.settings.proxy.is_none());
        let mut truncated = end.truncation();
        let (mut body, mut place) = arrived.load().await?;
        if let Some(codings) = transfer::codings(answer.headers()) {
            let failed = NoAnswer::Failed(Cause::Protocol, format!("the transfer coding {codings} cannot be decoded"));
            let undone = self.shared.bodies.undo(codings, body, place, truncated.is_none()).await?.ok_or(failed)?;
            (body, place) = (undone.body, undone.place);
            truncated = truncated.or(undone.is_cut.then_some(Truncation::Length));
        }
        let response = Response {
            status: status.as_u16(),
            reason,
            version: version(answer.version()),
            headers: headers.collect(),
            truncated,
            address: address.map(|socket| socket.ip()),
            request: head::text(self.job, self.settings, signature.as_ref()),
            started,
            duration,
            judgement: Judgement::Open,
            body,
        };
        Ok((response, place))
    }

    /// The answer's head. A server whose HTTP/2 turns out to be useless is asked once more, and from then on, over
    /// HTTP/1.1.
    async fn head(&self) -> Result<Signed, Failed> {
        let protocols = &self.shared.protocols;
        let offers_http2 = self.shared.options.http2 && self.job.url.is_https();
        if !offers_http2 || protocols.is_http1_only(self.origin) {
            return self.head_at_last(true).await;
        }
        match self.head_at_last(false).await {
            Err(Failed { http2: Some(fault), detail, .. }) if protocols.failed(self.origin, fault) => {
                tracing::debug!(origin = self.origin, detail, "requested over HTTP/1.1 from now on");
                self.head_at_last(true).await
            }
            head => head,
        }
    }

    /// The head, by a second request where the first one may not have reached the server.
    async fn head_at_last(&self, http1_only: bool) -> Result<Signed, Failed> {
        let failed = match self.head_over(http1_only, self.keeps).await {
            Err(failed) if failed.again.is_some() => failed,
            head => return head,
        };
        tracing::debug!(origin = self.origin, detail = failed.detail, "requested over a separate connection");
        if failed.again == Some(Again::OfOthers) {
            self.shared.idle.died(self.origin);
        }
        self.head_over(http1_only, false).await
    }

    async fn head_over(&self, http1_only: bool, keeps: bool) -> Result<Signed, Failed> {
        let options = &self.shared.options;
        let client = self.clients.get(http1_only, keeps);
        let url = self.job.url.plain();
        let own = self.job.url.request();
        let request = |signature: Option<&SignatureFields>| {
            let asked = match (self.job.submission(), &own) {
                (Some(sent), _) => {
                    let asked = client.post(url).body(sent.body.expose().to_owned());
                    let from = |request: RequestBuilder, page: &CanonicalUrl| {
                        request.header(REFERER, page.as_str()).header(ORIGIN, page.authority())
                    };
                    sent.referrer.iter().fold(asked, from)
                }
                (None, Some(own)) if own.method() == Method::Post => client.post(url).body(own.body().to_owned()),
                (None, _) => client.get(url),
            };
            let fields = head::of(self.job, self.settings, own.as_ref());
            fields.chain(head::of_signed(signature)).fold(asked, |request, field| {
                match HeaderValue::from_bytes(field.value) {
                    Ok(mut value) => {
                        value.set_sensitive(field.is_secret);
                        request.header(field.name, value)
                    }
                    // the client says what is wrong with it
                    Err(_) => request.header(field.name, field.value),
                }
            })
        };
        // the connection has its own time within this one
        let head_until = (Instant::now() + options.timeout_connect + self.settings.timeout_head).min(self.deadline);
        let late = |cause, detail| Failed { cause, detail, http2: None, again: None };
        let answer = async {
            loop {
                options.lease.may_send().await;
                // each attempt has its own time and nonce
                let signature = head::of_signature(self.job, self.settings, self.shared.clock.wall());
                let answer = tokio::select! {
                    biased;
                    // before anything of the request moves on, whenever the process was away
                    () = options.lease.lost() => continue,
                    answer = over_which_connection(request(signature.as_ref()).send()) => answer,
                };
                match answer {
                    // that is no fault of the server: a connection that ends leaves a file for this one
                    (Err(error), _) if is_out_of_files(&error) => {
                        self.shared.tell_out_of_files(&error);
                        sleep(FILES_PAUSE).await;
                    }
                    (answer, was_kept) => return (answer.map(|answer| (answer, signature)), was_kept),
                }
            }
        };
        match timeout_at(head_until, answer).await {
            Ok((Ok((answer, signature)), was_kept)) => {
                if was_kept {
                    self.shared.idle.survived(self.origin);
                }
                Ok((self.by_server(answer)?, signature))
            }
            Ok((Err(error), was_kept)) => {
                // over HTTP/2 other requests join one that has just been made; which protocol it had nobody says
                let is_joined = keeps && !http1_only && options.connections_per_host > 1;
                let was_shared = was_kept || is_joined;
                Err(self.failed(&error, was_shared))
            }
            Err(_) if head_until < self.deadline => {
                Err(late(Cause::TooSlow, format!("no whole head in {:?}", self.settings.timeout_head)))
            }
            Err(_) => Err(late(Cause::Timeout, format!("no answer in {:?}", self.settings.timeout_total))),
        }
    }

    /// `answer`, unless it is the proxy's own: what it says to a plain request whose user or password it does not like.
    fn by_server(&self, answer: reqwest::Response) -> Result<reqwest::Response, Failed> {
        match &self.settings.proxy {
            Some(proxy) if proxy.is_http() && !self.job.url.is_https() && answer.status().as_u16() == 407 => {
                let detail = format!("the proxy {proxy} answers {}", answer.status());
                Err(Failed { cause: Cause::ProxyCredentials, detail, http2: None, again: None })
            }
            _ => Ok(answer),
        }
    }

    fn failed(&self, error: &reqwest::Error, was_shared: bool) -> Failed {
        let (cause, detail) = match &self.settings.proxy {
            None => (cause_of(error), describe(error)),
            Some(proxy) => {
                let cause = cause_by(proxy, self.job.url.is_https(), error);
                (cause, format!("by the proxy {proxy}: {}", describe(error)))
            }
        };
        let again = match () {
            () if is_unprocessed(error) => Some(Again::Unprocessed),
            () if was_shared && self.is_safe() && is_of_dead_connection(error) => Some(Again::OfOthers),
            () => None,
        };
        Failed { cause, detail, http2: http2_fault(error), again }
    }

    /// Returns whether the request may be made twice: all but a POST, of a form or of a seed.
    fn is_safe(&self) -> bool {
        let is_post = self.job.url.request().is_some_and(|own| own.method() == Method::Post);
        self.job.submission().is_none() && !is_post
    }
}

fn version(version: reqwest::Version) -> HttpVersion {
    match version {
        reqwest::Version::HTTP_2 | reqwest::Version::HTTP_3 => HttpVersion::Http2,
        reqwest::Version::HTTP_09 | reqwest::Version::HTTP_10 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}
