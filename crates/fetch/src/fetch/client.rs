//! The HTTP clients: reqwest with everything off that a crawl decides itself.
//!
//! There are four for each proxy, and four for no proxy: for each protocol one that keeps idle connections and one that
//! closes each behind its answer. Which one a request needs is known before it is made ([`super::protocols`],
//! [`super::idle`], [`super::proxies`]).

use std::cell::Cell;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderValue};
use rustls::ClientConfig;
use tower::util::MapRequestLayer;

use super::head;
use super::idle::IDLE;
use super::resolver::GuardedResolver;
use super::tls::tls;
use super::{FetchOptions, StartError};
use crate::web::proxy::ProxyUrl;

/// Bytes that a server may send over a connection of HTTP/2 before they are read: memory of each worker.
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
    idle: reqwest::Client,
    closed: reqwest::Client,
}

impl Clients {
    /// Clients with these options, whose requests go by `proxy`.
    pub(super) fn build(
        options: &FetchOptions,
        resolver: &GuardedResolver,
        proxy: Option<&ProxyUrl>,
    ) -> Result<Self, StartError> {
        let kept = |http2| kept(options, resolver, proxy, http2);
        let http1 = kept(false)?;
        let negotiated = if options.http2 { kept(true)? } else { http1.clone() };
        Ok(Clients { negotiated, http1 })
    }

    /// The client for a request over HTTP/1.1 alone or what the server chooses, whose connection is kept or not.
    pub(super) fn get(&self, http1_only: bool, keeps: bool) -> &reqwest::Client {
        let kept = if http1_only { &self.http1 } else { &self.negotiated };
        if keeps { &kept.idle } else { &kept.closed }
    }
}

tokio::task_local! {
    /// True where the request that this task waits for began to connect.
    static CONNECTS: Cell<bool>;
}

/// Waits for `request`; says whether it went over a connection that was there before.
pub(super) async fn over_which_connection<T>(request: impl Future<Output = T>) -> (T, bool) {
    CONNECTS.scope(Cell::new(false), async { (request.await, !CONNECTS.with(Cell::get)) }).await
}

/// Is called with what a connection is made for, by the request that needs it: an idle one is taken without a call.
fn note_connecting<T>(target: T) -> T {
    // a connection that is finished beside its request is of no request any more
    let _ = CONNECTS.try_with(|connects| connects.set(true));
    target
}

fn kept(
    options: &FetchOptions,
    resolver: &GuardedResolver,
    proxy: Option<&ProxyUrl>,
    http2: bool,
) -> Result<Kept, StartError> {
    let alpn: &[&str] = if http2 { &["h2", "http/1.1"] } else { &["http/1.1"] };
    let tls = tls(options, alpn)?;
    let client = |idle_per_host| client(options, resolver, proxy, tls.clone(), http2, idle_per_host);
    Ok(Kept { idle: client(options.connections_per_host)?, closed: client(0)? })
}

fn client(
    options: &FetchOptions,
    resolver: &GuardedResolver,
    proxy: Option<&ProxyUrl>,
    tls: ClientConfig,
    http2: bool,
    idle_per_host: usize,
) -> Result<reqwest::Client, StartError> {
    let mut builder = reqwest::Client::builder()
        .user_agent(&options.usual.user_agent)
        .default_headers(HeaderMap::from_iter(
            head::EVERY_REQUEST.map(|(name, value)| (name, HeaderValue::from_static(value))),
        ))
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .connect_timeout(options.timeout_connect)
        .pool_max_idle_per_host(idle_per_host)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        // heads are read as browsers read them: folded lines are joined, a line that is no field is left out (RFC 9112,
        // section 5)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .connector_layer(MapRequestLayer::new(note_connecting))
        .dns_resolver(Arc::new(resolver.clone()));
    builder = if http2 {
        builder
            .http2_initial_stream_window_size(HTTP2_WINDOW_BYTES)
            .http2_initial_connection_window_size(HTTP2_WINDOW_BYTES)
    } else {
        builder.http1_only()
    };
    if let Some(proxy) = proxy {
        builder = builder.proxy(reqwest::Proxy::all(proxy.secret_url())?);
    }
    Ok(builder.build()?)
}
