//! A request and its answer over HTTP/1.1 or HTTP/2: hyper's client with a meter on its connections.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use hyper::http::Extensions;
use hyper::{StatusCode, Uri, Version};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, HttpInfo, capture_connection};

use super::connection::{Meter, Watch};
use super::connector::Connector;

/// A client with headers for every request.
#[derive(Clone)]
pub(super) struct Client {
    pub service: legacy::Client<Connector, Empty<Bytes>>,
    /// What every request says beside its host.
    pub headers: HeaderMap,
    /// What a proxy is told with every request over plain HTTP.
    pub authorization: Option<HeaderValue>,
}

/// A request that can be sent.
pub(super) struct Request<'a> {
    client: &'a Client,
    request: Result<hyper::Request<Empty<Bytes>>, Error>,
}

/// An answer whose head has come.
#[derive(Debug)]
pub(super) struct Answer {
    answer: hyper::Response<Incoming>,
    /// The connection is this request's until the body has ended.
    _watch: Option<Watch>,
}

/// Why there is no answer, or no more of its body.
#[derive(Debug)]
pub(super) struct Error {
    kind: Kind,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No request can be made of the URL or the headers.
    Builder,
    Connect,
    Request,
    /// Too much came before the head.
    Flood,
    Body,
}

impl Client {
    /// A request for `url`.
    pub(super) fn get(&self, url: &str) -> Request<'_> {
        let request = url.parse::<Uri>().map(|uri| {
            let mut request = hyper::Request::new(Empty::new());
            if let Some(authorization) = self.authorization.clone().filter(|_| uri.scheme_str() == Some("http")) {
                request.headers_mut().insert(PROXY_AUTHORIZATION, authorization);
            }
            request.headers_mut().extend(self.headers.clone());
            *request.uri_mut() = uri;
            request
        });
        Request { client: self, request: request.map_err(|error| Error::of(Kind::Builder, error)) }
    }
}

impl Request<'_> {
    /// The request with another header field.
    pub(super) fn header(mut self, name: &str, value: &[u8]) -> Self {
        if let Ok(request) = &mut self.request {
            let field = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value));
            match field {
                (Ok(name), Ok(value)) => drop(request.headers_mut().insert(name, value)),
                (Err(error), _) => self.request = Err(Error::of(Kind::Builder, error)),
                (_, Err(error)) => self.request = Err(Error::of(Kind::Builder, error)),
            }
        }
        self
    }

    /// Sends it, and waits for the head of the answer.
    pub(super) async fn send(self) -> Result<Answer, Error> {
        let mut request = self.request?;
        let mut connection = capture_connection(&mut request);
        let answer = self.client.service.request(request);
        tokio::pin!(answer);
        let mut watch = None;
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                meter = meter(&mut connection), if watch.is_none() => watch = Some(meter.as_ref().map(Meter::watch)),
            }
        };
        // another one than at first where that was closed meanwhile and the request was sent again
        let meter = connection.connection_metadata().as_ref().and_then(Meter::of);
        if let Some(meter) = &meter {
            meter.lift();
        }
        match answer {
            Ok(answer) => Ok(Answer { answer, _watch: watch.flatten() }),
            Err(error) if meter.is_some_and(|meter| meter.is_broken()) => Err(Error::of(Kind::Flood, error)),
            Err(error) if error.is_connect() => Err(Error::of(Kind::Connect, error)),
            Err(error) => Err(Error::of(Kind::Request, error)),
        }
    }
}

/// The meter of the connection that a request is sent over, once it is known.
async fn meter(connection: &mut CaptureConnection) -> Option<Meter> {
    connection.wait_for_connection_metadata().await.as_ref().and_then(Meter::of)
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        self.answer.status()
    }

    pub(super) fn version(&self) -> Version {
        self.answer.version()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.answer.headers()
    }

    pub(super) fn extensions(&self) -> &Extensions {
        self.answer.extensions()
    }

    /// Where it came from, a proxy perhaps.
    pub(super) fn remote_addr(&self) -> Option<SocketAddr> {
        self.extensions().get::<HttpInfo>().map(HttpInfo::remote_addr)
    }

    /// What it says of the length of its body.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.answer.body().size_hint().exact()
    }

    /// The next piece of its body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match self.answer.body_mut().frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    // what is no data are trailers
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => return Err(Error::of(Kind::Body, error)),
            }
        }
    }
}

impl Error {
    fn of(kind: Kind, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { kind, source: Some(Box::new(source)) }
    }

    /// Whether there was no connection.
    pub(super) fn is_connect(&self) -> bool {
        self.kind == Kind::Connect
    }

    /// Whether no request could be made.
    pub(super) fn is_builder(&self) -> bool {
        self.kind == Kind::Builder
    }

    /// Whether too much came before the head of the answer.
    pub(super) fn is_flood(&self) -> bool {
        self.kind == Kind::Flood
    }

    /// Whether something took too long.
    pub(super) fn is_timeout(&self) -> bool {
        let mut cause = self.source();
        while let Some(at) = cause {
            if at.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
                return true;
            }
            cause = at.source();
        }
        false
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Builder => "no request can be made",
            Kind::Connect | Kind::Request => "no answer",
            Kind::Flood => "too much before the answer",
            Kind::Body => "the body broke off",
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
