//! The HTTP clients: hyper's, with nothing on that a crawl decides itself.
//!
//! There are four, for each protocol one that keeps idle connections and one that closes each behind its answer: which
//! one a request needs is known before it is made ([`super::protocols`], [`super::idle`]).

use std::sync::Arc;

use hyper::Uri;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper_util::client::legacy;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

use super::connector::{Connector, Proxy};
use super::http::Client;
use super::idle::IDLE;
use super::resolver::GuardedResolver;
use super::{FetchOptions, StartError};

/// What every request accepts.
pub(super) const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
/// Codings that the link scan can undo.
pub(super) const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";
/// What a server may send over a connection of HTTP/2 before it is read: memory of each worker.
const HTTP2_WINDOW_BYTES: u32 = 512 << 10;

/// Clients that follow no redirect, decode nothing, repeat nothing, keep no cookies, ask only the guarded resolver for
/// addresses and verify certificates.
pub(super) struct Clients {
    negotiated: Kept,
    http1: Kept,
}

/// A client for connections that are kept, and one for those that are not.
#[derive(Clone)]
struct Kept {
    idle: Client,
    closed: Client,
}

impl Clients {
    /// Clients with these options.
    pub(super) fn build(options: &FetchOptions, resolver: &GuardedResolver) -> Result<Self, StartError> {
        let http1 = kept(options, resolver, false)?;
        let negotiated = if options.http2 { kept(options, resolver, true)? } else { http1.clone() };
        Ok(Clients { negotiated, http1 })
    }

    /// The client for a request over HTTP/1.1 alone or what the server chooses, whose connection is kept or not.
    pub(super) fn get(&self, http1_only: bool, keeps: bool) -> &Client {
        let kept = if http1_only { &self.http1 } else { &self.negotiated };
        if keeps { &kept.idle } else { &kept.closed }
    }
}

fn kept(options: &FetchOptions, resolver: &GuardedResolver, http2: bool) -> Result<Kept, StartError> {
    let tls = Arc::new(tls(options, http2)?);
    let proxy = options.proxy.as_deref().map(|proxy| self::proxy(proxy, &tls)).transpose()?;
    let headers = headers(options)?;
    let connector = Connector::new(resolver.clone(), tls, proxy.clone(), options.timeout_connect);
    let authorization = proxy.and_then(|proxy| proxy.authorization);
    let client = |idle_per_host| {
        let service = service(idle_per_host).build(connector.clone());
        Client { service, headers: headers.clone(), authorization: authorization.clone() }
    };
    Ok(Kept { idle: client(options.connections_per_host), closed: client(0) })
}

fn service(idle_per_host: usize) -> legacy::Builder {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(idle_per_host)
        .http2_initial_stream_window_size(HTTP2_WINDOW_BYTES)
        .http2_initial_connection_window_size(HTTP2_WINDOW_BYTES);
    builder
}

/// The proxy at `url`, which the configuration has checked.
fn proxy(url: &str, tls: &Arc<ClientConfig>) -> Result<Proxy, StartError> {
    let no_proxy = || StartError::Client(format!("fetch.proxy: {url:?} is no proxy"));
    let any = Uri::from_static("http://any.invalid/");
    let intercept = Matcher::builder().all(url).build().intercept(&any).ok_or_else(no_proxy)?;
    let mut tls = ClientConfig::clone(tls);
    tls.alpn_protocols.clear();
    Ok(Proxy { uri: intercept.uri().clone(), authorization: intercept.basic_auth().cloned(), tls: Arc::new(tls) })
}

/// What every request says beside its host and the user agent.
fn headers(options: &FetchOptions) -> Result<HeaderMap, StartError> {
    let mut headers = HeaderMap::new();
    let agent = HeaderValue::from_str(&options.user_agent);
    let agent = agent.map_err(|error| StartError::Client(format!("the user agent: {error}")))?;
    headers.insert(header::USER_AGENT, agent);
    headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(ACCEPT_ENCODING));
    Ok(headers)
}

fn tls(options: &FetchOptions, http2: bool) -> Result<ClientConfig, StartError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in &options.roots {
        roots.add(certificate.clone()).map_err(StartError::Root)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { vec![b"http/1.1".to_vec()] };
    Ok(config)
}
